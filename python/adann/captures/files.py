# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures and reference labels in files: SigMF pairs, raw samples, raw labels.

Whatever is wrong with a file is a ValueError of one line that names it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from . import sigmf
from .contents import looked_at, other_layout, other_type
from .labels import UNKNOWN
from .notes import note
from .statistics import PORTION, portions

_SAME_RATE = 1e-3  # relative: what a clock may be off
#: SigMF's name of the type of raw samples, by the file's suffix.
RAW_TYPES = {".f32": "rf32_le", **dict.fromkeys((".c64", ".cfile", ".cf32", ".fc32"), "cf32_le"),
             **dict.fromkeys((".cs16", ".ci16"), "ci16_le")}
_TEXT = 512  # bytes, from the start, that are looked at: samples are not all printable
#: How files of other formats begin, which have been given the name of raw samples.
_OTHERS = {b"RIFF": ".wav", b"RIFX": ".wav", b"RF64": ".wav", b"fLaC": ".flac", b"\x93NUMPY": ".npy",
           b"\x89HDF\r\n": ".h5", b"MATLAB 5.0 MAT": ".mat", b"MATLAB 7.3 MAT": ".mat", b"PK\x03\x04": ".zip",
           b"\x1f\x8b\x08\0": ".gz", b"\x1f\x8b\x08\x08": ".gz", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
#: Keys of the headers that GNU Radio's File Meta Sink puts between samples.
_META_KEYS = b"rx_rate", b"rx_time", b"cplx"
CAPTURES = *sigmf.SUFFIXES, sigmf.ARCHIVE, *RAW_TYPES  # suffixes of what read_capture and read_channels take


@dataclass
class Capture:
    """Received samples of one channel, and the labels that were sent if they are known.

    samples: float32 or complex64 (n,), memory-mapped where the file allows it; may be NaN or
    infinite. sample_rate, symbol_rate: per second, None where the file does not say. path: of the file as
    it was given, None of what lies in no file. reference: uint8 (m,), the labels sent, or None;
    reference_path: of their file, likewise. bursts: between them nothing is sent; [] where it is continuous.
    """

    samples: np.ndarray
    sample_rate: float | None = None
    path: str | Path | None = None
    reference: np.ndarray | None = None
    reference_path: str | Path | None = None
    symbol_rate: float | None = None
    bursts: list[sigmf.Burst] = field(default_factory=list)


def read_capture(path: str | Path) -> Capture:
    """Open a capture.

    path: a SigMF pair (its .sigmf-meta, its .sigmf-data or their common stem) or an archive of one (.sigmf), of float
    and integer types, integers scaled to ±1; or raw little-endian float32 (.f32), complex64 (.c64, .cfile, .cf32,
    .fc32) or I and Q of 16 bits in turn (.cs16, .ci16).
    Raises ValueError for a file that is missing, empty, truncated, of another kind or of several channels.
    """
    return only_channel(read_channels(path))


def read_channels(path: str | Path) -> list[Capture]:
    """Open a capture of one channel or of several that were sampled together; a Capture of each, in their order.

    path and errors as for read_capture; several channels lie in a SigMF pair, core:num_channels.
    """
    stored = _stored(Path(path))
    return [Capture(samples, stored.sample_rate, path, symbol_rate=stored.symbol_rate, bursts=stored.bursts)
            for samples in stored.samples()]


def only_channel(channels: Sequence[Capture]) -> Capture:
    """The one channel of a capture. Raises ValueError where it has several."""
    _check_one(channels[0].path, len(channels))
    return channels[0]


def _check_one(path, channels):
    if channels > 1:
        raise ValueError(f"{path}: {channels} channels, allowed: 1; adann separate makes a capture of each transmitter "
                         f"in them, adann import --channel 1 of one of them alone")


def check_rates(capture: Capture, sps: int) -> None:
    """Raises ValueError if the rates of a capture's metadata are not sps samples a symbol."""
    if capture.sample_rate and capture.symbol_rate:
        told = capture.sample_rate / capture.symbol_rate
        if abs(told / sps - 1) > _SAME_RATE:
            raise ValueError(f"{capture.sample_rate:.9g} samples and {capture.symbol_rate:.9g} symbols a "
                             f"second, by its metadata, are {told:.6g} samples a symbol, sps is {sps}; "
                             f"adann resample --sps {sps} makes them so")


def cut(capture: Capture, skip: int, symbols: int | None, samples_per_symbol: float) -> Capture:
    """The part of a capture, and of its reference alike, that begins `skip` symbols after its start and is
    `symbols` long; None: to its end.

    Raises ValueError where nothing is left.
    """
    if not samples_per_symbol <= capture.samples.size:
        raise ValueError(f"a symbol is {samples_per_symbol:.6g} samples long, allowed: up to the "
                         f"{capture.samples.size} of the capture")
    first = round(skip * samples_per_symbol)
    end = capture.samples.size if symbols is None else min(
        capture.samples.size, first + round(symbols * samples_per_symbol))
    if not first < end:
        raise ValueError(f"skip is {skip}, allowed: below the {capture.samples.size / samples_per_symbol:.0f} symbols "
                         "of the capture")
    reference = capture.reference
    if skip and reference is not None:
        if skip >= reference.size:
            raise ValueError(f"skip is {skip}, allowed: below the {reference.size} labels of the reference")
        reference = reference[skip:]
    bursts = [replace(burst, first=max(burst.first, first) - first,
                      size=min(burst.end, end) - max(burst.first, first)) for burst in capture.bursts
              if max(burst.first, first) < min(burst.end, end)]
    if capture.bursts and not bursts:
        raise ValueError("no burst lies between skip and symbols")
    samples = capture.samples
    samples = samples.part(first, end) if isinstance(samples, sigmf.Converted) else samples[first:end]
    return replace(capture, samples=samples, reference=reference, bursts=bursts)


def read_captures(paths: Sequence[str | Path], references: Sequence[str | Path],
                  size: int) -> list[Capture]:
    """Capture of each path, with its reference. references: paths of .u8 files, one for each
    capture or none at all; size: as of read_reference, which raises the same errors as read_capture."""
    captures = [read_capture(path) for path in paths]
    for capture, path in zip(captures, references):
        capture.reference = read_reference(path, size)
        capture.reference_path = path
    return captures


def stored_capture(path: str | Path) -> sigmf.StoredCapture:
    """sigmf.StoredCapture of a capture of one channel, checked; no sample is read.

    path and errors as for read_capture.
    """
    stored = _stored(Path(path))
    _check_one(path, stored.channels)
    return stored


def _stored(path):
    if path.suffix not in RAW_TYPES:
        return _read_sigmf(path)
    size = check_file(path)
    with open(path, "rb") as file:
        head = file.read(_TEXT)
    for begin, suffix in _OTHERS.items():
        if head.startswith(begin):
            raise ValueError(f"{path}: it begins as a {suffix} does, allowed: samples alone; name it {suffix}")
    if all(key in head for key in _META_KEYS):
        raise ValueError(f"{path}: headers of GNU Radio's File Meta Sink lie between its samples, allowed: samples "
                         "alone; File Meta Source and File Sink write them")
    if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head):
        raise ValueError(f"{path}: it looks like text: name it .csv")
    stored = sigmf.StoredCapture(path, RAW_TYPES[path.suffix], 0, 0, None)
    stored.size = _whole(path, size, stored.component.itemsize * (1 + stored.is_complex))
    _check_contents(stored, path)
    return stored


def _check_contents(stored, path):
    """Raises ValueError for numbers of another type than is said, and notes it where I and Q may be real samples in
    turn, or the other way round."""
    parts = looked_at(stored.path, stored.component, stored.offset,
                      stored.size * stored.channels * (1 + stored.is_complex))
    if said := other_type(parts, stored.is_complex):
        raise ValueError(f"{path}: {said}")
    if stored.channels == 1 and (said := other_layout(parts, stored.is_complex)):
        note(path, said)


def _find_meta(path):
    meta = sigmf.pair(path)[0]
    if meta.is_file():
        return meta
    if path.is_file() and path.suffix not in sigmf.SUFFIXES:
        raise ValueError(f"{path}: not a capture; allowed: .sigmf-meta, .sigmf, {', '.join(RAW_TYPES)}; adann import "
                         "makes one of other files")
    raise ValueError(f"{meta if path.suffix in sigmf.SUFFIXES else path}: no such file")


def read_reference(path: str | Path, size: int) -> npt.NDArray[np.uint8]:
    """The labels in a raw .u8 file as uint8 (n,); size: M, so that labels are 0 … M-1, or 255: not
    known.

    Raises ValueError for a file that is missing or empty, for a label out of range, and where none is
    known. Of 256 points 255 is a label as others are.
    """
    check_file(Path(path))
    labels = np.memmap(path, np.uint8, "r")
    none_known = size < 256
    for number, part in enumerate(portions(labels)):
        wrong = (part >= size) & (part != UNKNOWN)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ValueError(f"{path}: label {number * PORTION + first} is {part[first]}, allowed: 0 to "
                             f"{size - 1}, and {UNKNOWN} where not known")
        none_known = none_known and bool((part == UNKNOWN).all())
    if none_known:
        raise ValueError(f"{path}: none of the {labels.size} labels is known")
    return labels


def write_capture(meta_path: str | Path, samples: npt.NDArray | Sequence[npt.NDArray], sample_rate: float | None = None,
                  description: str = "", extra: dict | None = None,
                  symbol_rate: float | None = None, bursts: Sequence[sigmf.Burst] = ()) -> Path:
    """Write a SigMF pair, rf32_le or cf32_le; nothing half-written is ever seen under its name.

    meta_path: the .sigmf-meta or the stem, or a device or a FIFO, which gets the samples alone; samples: (n,), or
    (channels, n) of channels that were sampled together, an array or a list; written as float32 or complex64, complex
    if any of them is;
    sample_rate, symbol_rate: per second, None: not written; extra: further fields of the
    metadata's global object, e.g. {"core:hw": "DSA91604A"}; bursts: noted as annotations.
    Returns the path of the .sigmf-meta, or of what got the samples.
    """
    return sigmf.write(Path(meta_path), samples, sample_rate, description, extra or {}, symbol_rate, bursts)


def check_file(path: Path) -> int:
    """Its size in bytes. Raises ValueError if it is missing, empty or not a file."""
    if not path.is_file():
        raise ValueError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    size = path.stat().st_size
    if not size:
        raise ValueError(f"{path}: empty")
    return size


def _whole(path, size, item):
    """How many samples of `item` bytes there are in `size` bytes."""
    if size % item:
        raise ValueError(f"{path}: truncated: {size} bytes are not a multiple of {item}, the size of a sample")
    return size // item


def _read_sigmf(path):
    is_archive = path.suffix == sigmf.ARCHIVE and path.is_file()
    meta = path if is_archive else _find_meta(path)
    check_file(meta)
    with _named(meta):
        if is_archive:
            stored = sigmf.read_archive(path)
        else:
            record = sigmf.read_record(meta)
            data = sigmf.dataset(record, meta)
    if not is_archive:
        size = check_file(data)
        with _named(meta):
            stored = sigmf.described(record, data, size)
    _check_contents(stored, meta)
    for sentence in stored.notes:
        note(meta, sentence)
    return stored


@contextlib.contextmanager
def _named(path):
    """Puts a file's name before what is wrong with it."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """What an exception says, or else is."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
