# SPDX-License-Identifier: GPL-3.0-or-later
"""Oscilloscope files of several makers and forms, read as channels that a capture is made of.

Whatever is wrong with a file is a ValueError of one line that names it. RigolWFM, h5py, scipy
and soundfile are imported only by the formats that need them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .files import check_file, first_line
from .hdf5 import check_hdf5, check_size, most_bytes, read_infiniium
from .matlab import check_mat, numbers73, refuse_variables
from .notes import note
from .sounds import SUFFIXES, read_sound, read_wav
from .tables import is_index, read_table, rises_evenly, unit_of_times, without_times

#: Names of a scalar in .mat files, in lower case without _: the time between two samples, samples per second.
_INTERVALS = ("tinterval", "increment", "xinc", "xdelta", "dt", "ts")
_RATES = ("fs", "samplerate", "samplingrate", "samplefrequency", "samplingfrequency")
#: Bytes of a number of those classes of a .mat that can be samples.
_MAT_SIZES = {"double": 8, "single": 4, "logical": 1, **{f"{sign}int{8 * size}": size for sign in ("", "u")
                                                        for size in (1, 2, 4, 8)}}
#: How the title of a column of times begins, and what looks like a unit at its end or a factor.
_TIME_TITLE = re.compile(r"(?i)(t|time|zeit|temps|tiempo|tempo|tid)\b")
_X = re.compile(r"(?i)x\b")
_NUMBERED = re.compile(r"[^\W\d]*\W?(\d{1,2})\b\D*")
_BRACKETED = re.compile(r"[(\[].+[)\]]$|\bin\s+\S+$|\d[eE]-?\d|\d\s*\^")
#: Samples per second below which times without a unit may well not be seconds.
_SLOW = 1000
_SKEW = 0.01  # samples
#: Of what packs files: how they begin.
_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd",
           b"PK\x03\x04": "zip, as spreadsheets and .npz are"}


@dataclass
class ScopeFile:
    """channels: {name: (n,) volts as the file has them, float64 or integers, or complex};
    sample_rate: samples per second, None where the file does not say; instrument: its model or
    ""."""

    channels: dict
    sample_rate: float | None = None
    instrument: str = ""


def read_scope_files(paths: Sequence[str | Path]) -> ScopeFile:
    """Read one file, or several of one channel each, which are then called 1, 2, ... in order.

    Formats: those of RigolWFM (Rigol, Agilent/Keysight .bin, LeCroy .trc, Tektronix .wfm and .isf,
    Rohde & Schwarz .bin with its .Wfm.bin, ...), Infiniium .h5, .csv and .txt, .mat, .npy, .wav, .flac and other
    sound files that are not compressed with loss.
    Channels have the oscilloscope's numbers where the file has them, the names of the variables
    in a .mat, else 1, 2, ...; .wav integers are scaled to ±1, mV and the like in the title of a table to volts, other
    values are kept. Raises ValueError for a file that is missing, truncated, segmented or of an unknown format, and
    warns (CaptureWarning) of a .wav whose header gives a length that is not there.

    Scale and offset of a Rigol DS1000Z's .wfm are rough, as that file does not have the right ones.
    """
    files = [_read(Path(path)) for path in paths]
    if len(files) == 1:
        return files[0]
    for path, file in zip(paths, files):
        if len(file.channels) != 1:
            raise ValueError(f"{path}: {len(file.channels)} channels, allowed: 1, as several "
                             "files are given")
        if file.sample_rate != files[0].sample_rate:
            raise ValueError(f"{path}: {file.sample_rate} samples per second, allowed: "
                             f"{files[0].sample_rate}, as in {paths[0]}")
    channels = [samples for file in files for samples in file.channels.values()]
    return ScopeFile({str(number): samples for number, samples in enumerate(channels, 1)},
                     files[0].sample_rate, files[0].instrument)


def select_channels(channels: Mapping[str, npt.NDArray],
                    expression: str | None = None) -> list[npt.NDArray]:
    """The samples (n,) of each channel of a capture, float32 or complex64.

    expression: a channel's name, a difference "1-2", I and Q "1,2", each of which may be a
    difference, or several complex channels as I and Q of each in turn, "1,2,3,4"; None for the only channel.
    Raises ValueError if it is none of these, and for channels that differ in length.
    """
    names = ", ".join([*itertools.islice(channels, 16), *["..."] * (len(channels) > 16)])
    if expression is None:
        if len(channels) != 1:
            raise ValueError(f"there are several channels, choose one of {names}, a difference "
                             "as 1-2, I and Q as 1,2, or several pairs of them as 1,2,3,4")
        expression = next(iter(channels))
    parts = [[name.strip() for name in part.split("-")] for part in expression.split(",")]
    used = [name for part in parts for name in part]
    if len(parts) > 1 and len(parts) % 2 or max(map(len, parts)) > 2 or not set(used) <= set(channels):
        raise ValueError(f"channel is {expression}, allowed: {names}, a difference as 1-2, I "
                         "and Q as 1,2, or several pairs of them as 1,2,3,4")
    sizes = {channels[name].size for name in used}
    if len(sizes) > 1:
        raise ValueError(f"channel is {expression}, whose lengths are "
                         f"{', '.join(str(channels[name].size) for name in used)}, allowed: equal")
    # In double precision, rounded once.
    signals = [np.subtract(*(channels[name].astype(np.result_type(channels[name], np.float64))
                             for name in part)) if len(part) == 2 else channels[part[0]]
               for part in parts]
    if len(signals) == 1:
        return [signals[0].astype(np.complex64 if np.iscomplexobj(signals[0]) else np.float32)]
    if any(map(np.iscomplexobj, signals)):
        raise ValueError(f"channel is {expression}, allowed as I and Q: channels that are not "
                         "complex")
    return [(i + 1j * q).astype(np.complex64) for i, q in zip(signals[::2], signals[1::2])]


def _read(path):
    check_file(path)
    reader = {".csv": _read_table, ".txt": _read_table, ".mat": _read_mat, ".npy": _read_npy, ".wav": _read_wav,
              **dict.fromkeys(SUFFIXES, _read_sound), **dict.fromkeys((".h5", ".hdf5", ".hdf"), _read_infiniium)}.get(
                  path.suffix.lower(), _read_rigolwfm)
    try:
        _check_unpacked(path)
        file = reader(path)
    except ImportError:
        raise
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or first_line(error)}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {_without_path(error, path)}") from error
    except Exception as error:  # the libraries let anything through
        raise ValueError(f"{path}: damaged, or of another kind: {_without_path(error, path)}") from error
    if not file.channels or not all(samples.size for samples in file.channels.values()):
        raise ValueError(f"{path}: no samples")
    return file


def _check_unpacked(path):
    with open(path, "rb") as file:
        head = file.read(8)
    for begin, name in _PACKED.items():
        if head.startswith(begin):
            raise ValueError(f"packed by {name}, allowed: a file of its own; unpack it, of a spreadsheet save a .csv")


def _note_seconds(path, interval, is_called_times):
    """Note that times without a unit are taken for seconds, where they may well be none."""
    if interval * _SLOW > 1 or not is_called_times:
        note(path, f"its times, whose unit is not given, are taken for seconds: {_rate(interval):g} samples per second")


def _note_skew(path, skew):
    if skew > _SKEW:
        note(path, f"its columns of times differ by up to {skew:.3g} samples: each channel is read from its first "
                   "sample on, as if they were sampled together")


def _without_path(error, path):
    """What a library says, without the file's name, which is put before it anyway."""
    said = f"{first_line(error):.400}"
    for name in (str(path), path.name):
        said = re.sub(rf" (in|file) '?{re.escape(name)}'?", "", said)
    return said


def _rate(interval):
    """Samples per second from seconds per sample, freed of the rounding of single precision."""
    if not 0 < interval < math.inf:
        raise ValueError(f"{interval} seconds between samples, allowed: above 0")
    single = np.float32(interval)
    rate = float(f"{1 / float(str(single) if single == interval else interval):.12g}")
    if not math.isfinite(rate):
        raise ValueError(f"{interval} seconds between samples, allowed: as many as make a rate")
    return rate


def _read_rigolwfm(path):
    from RigolWFM import Wfm
    from RigolWFM.wfm import Parse_WFM_Error, detect_model

    if path.suffix.lower() == ".sigmf-collection":
        raise ValueError("a collection of recordings, allowed: the .sigmf-meta of one of them")
    if path.name.lower().endswith(".wfm.bin"):
        raise ValueError(f"the samples that belong to {path.name[:-8]}.bin; import that file")
    try:
        model = detect_model(str(path))
    except Parse_WFM_Error as error:
        raise ValueError("unknown format; known are .csv, .mat, .npy, .wav, .flac, Infiniium .h5, and what RigolWFM "
                         "reads; for raw numbers give their type: cf32, ci16 (I and Q in turn), f32, i16 "
                         "...") from error
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it prints what it then raises
            wfm = Wfm.from_file(str(path), model)
    except EOFError as error:
        raise ValueError(f"truncated: {error}") from error
    segments = _lecroy_segments(path) if model == "LeCroy" else wfm.frame_count
    if segments > 1:
        raise ValueError(f"segmented: {segments} segments, allowed: 1")
    if not wfm.channels:
        raise ValueError("no analog channel")
    return ScopeFile({str(channel.channel_number): channel.volts for channel in wfm.channels},
                     _rate(wfm.channels[0].seconds_per_point), wfm.header_name)


def _lecroy_segments(path):
    """How many segments a LeCroy file has, which RigolWFM joins silently."""
    content = path.read_bytes()
    block = content[content.find(b"WAVEDESC"):]
    template = "1_0" if block[16:].startswith(b"LECROY_1_0") else "2_3"
    order = "le" if block[34] else "be"
    module = importlib.import_module(f"RigolWFM.lecroy_{template}_{order}_trc")
    parser = getattr(module, f"Lecroy{template.replace('_', '')}{order.title()}Trc")
    return parser.from_bytes(block).wavedesc.subarray_count


def _read_infiniium(path):
    channels, interval, model = read_infiniium(path)
    return ScopeFile(channels, _rate(interval), model)


def _read_table(path):
    """A table of numbers, one row per sample, below any header; times, and numbers of the samples, may stand first.

    What has millivolts or so in its title is scaled to volts."""
    table = read_table(path.read_bytes())
    if (rows := next(iter(table.columns.values())).size) < len(table.columns):
        raise ValueError(f"{len(table.columns)} numbers in each of {rows} row{'s' * (rows > 1)}, allowed: one row for "
                         "each sample; transpose it")
    units = {column: table.unit(column) for column in table.columns}
    kinds = {}
    for column, values in table.columns.items():
        titles, kind = table.title(column), units[column][0] if units[column] else None
        is_named = len(table.columns) > 1 and any(map(_TIME_TITLE.match, titles))
        title = " ".join(titles)
        kinds[column] = "time" if kind is None and is_named else kind
        is_time = kinds[column] == "time" or column == min(table.columns) and kind is None and _X.match(title)
        if is_time and not rises_evenly(values):
            raise ValueError("segmented: its times do not rise evenly, allowed: 1 segment, of equal steps")
        if kind == "frequency" and rises_evenly(values):
            raise ValueError(f"a spectrum, over {title}, allowed: samples over time")
    signals, interval, skew = without_times(table.columns, list(kinds.values()))
    _note_skew(path, skew)
    if interval is None:
        interval = table.interval()
    else:
        times = next(column for column in table.columns if column not in signals
                     and (kinds[column] == "time" or not is_index(table.columns[column])))
        unit = (units[times][1] if units[times] else
                table.common_unit("time") or table.unit_of_step(interval))
        if unit:
            interval *= unit
        elif table.interval():
            interval = table.interval()
        elif is_index(table.columns[times]):
            interval = None  # it may count samples as well as seconds
        elif _BRACKETED.search(" ".join(table.title(times))) or table.has_unplaced_times():
            interval = None  # in units that are not known
        else:
            titles = table.title(times)
            _note_seconds(path, interval, not titles or any(map(_TIME_TITLE.match, titles)))
    volts = table.common_unit("value") or 1
    for column in signals:
        scale = volts if units[column] is None else units[column][1] if kinds[column] == "value" else 1
        signals[column] = signals[column] * scale
    numbers = [next((told[1] for told in map(_NUMBERED.fullmatch, table.title(column)) if told), "")
               for column in signals]
    if "" in numbers or len(set(numbers)) < len(numbers):  # the header does not number them
        numbers = list(map(str, range(1, len(signals) + 1)))
    return ScopeFile(dict(zip(numbers, signals.values())), interval and _rate(interval))


def _columns(array):
    """{number: (n,)} of an array (n,), (n, channels) or (channels, n)."""
    if array.ndim > 2 or array.dtype.kind not in "iufc":
        raise ValueError(f"an array of type {array.dtype} and shape {array.shape}, allowed: "
                         "numbers in one or two dimensions")
    rows = np.atleast_2d(array)
    rows = rows if rows.shape[0] <= rows.shape[1] else rows.T
    return {str(number): row for number, row in enumerate(rows, 1)}


def _read_npy(path):
    channels, interval, skew = without_times(_columns(np.load(path, allow_pickle=False)))
    _note_skew(path, skew)
    if interval:
        _note_seconds(path, interval, is_called_times=False)
    return ScopeFile(channels, interval and _rate(interval))


def _read_mat(path):
    """Vectors are channels, and so are the columns of a matrix, by the names "NAME 1" ..."""
    import scipy.io

    try:
        found = scipy.io.whosmat(path)
        numbers = [(name, shape, kind) for name, shape, kind in found if kind in _MAT_SIZES]
        if not numbers:
            refuse_variables({name: kind for name, _, kind in found})
        check_size(sum(math.prod(shape) * _MAT_SIZES[kind] for _, shape, kind in numbers), path)
        check_mat(path.read_bytes(), most_bytes(path))
        variables = scipy.io.loadmat(path, variable_names=[name for name, _, _ in numbers])
    except NotImplementedError:  # version 7.3 is HDF5
        variables = _read_mat73(path)
    except ValueError as error:
        if not str(error).startswith("Unknown mat file type"):
            raise
        raise ValueError("of no version of MATLAB's, as Octave's text and HDF5 are, allowed: 4 to 7.3, as "
                         "save -v7 a.mat x writes it") from error
    channels, interval, told = {}, None, ""
    for name, array in variables.items():
        array = np.asarray(array).squeeze()
        if name.startswith("__") or array.dtype.kind not in "iufc":
            continue
        if not array.ndim:
            called, value = name.lower().replace("_", ""), float(array.real)
            if called in _RATES and value:
                value = 1 / value
            if called in _INTERVALS + _RATES:
                if interval and abs(value / interval - 1) > 1e-6:
                    raise ValueError(f"two different sample rates, {name} and another, allowed: 1")
                interval, told = value, name
            continue
        columns = _columns(array)
        channels |= {name if len(columns) == 1 else f"{name} {number}": samples
                     for number, samples in columns.items()}
    if interval and interval * _SLOW > 1:
        note(path, f"its {told}, whose unit is not given, is taken for seconds or hertz: {_rate(interval):g} samples "
                   "per second")
    has_times = any(map(_TIME_TITLE.match, channels))  # then others are delays, widths or the like
    units = {name: None if has_times else unit_of_times(name) for name in channels}
    signals, found, skew = without_times(channels, ["time" if units[name] else None for name in channels])
    _note_skew(path, skew)
    if found and not interval:
        times = next(name for name in channels if name not in signals and (units[name] or not is_index(channels[name])))
        if units[times] is None:
            _note_seconds(path, found, bool(_TIME_TITLE.match(times)))
        interval = found * (units[times] or 1)
    return ScopeFile(signals, interval and _rate(interval))


def _read_mat73(path):
    import h5py

    with h5py.File(path) as file:
        check_hdf5(file, path)
        return numbers73(file)


def _read_wav(path):
    return ScopeFile(*read_wav(path))


def _read_sound(path):
    return ScopeFile(*read_sound(path))
