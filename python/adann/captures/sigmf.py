# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings: the fields that say how samples lie in a file, read and written.

What is read: core:datatype, core:sample_rate, adann:symbol_rate, core:num_channels, core:offset, core:trailing_bytes,
core:sha512, core:dataset, core:header_bytes and core:sample_start of the first capture segment, and the annotations
whose core:label is "burst"; the samples are in the .sigmf-data next to the .sigmf-meta, or the file that core:dataset
names there, or in the archive, those of several channels in turn, I and Q of each together. Other annotations are
passed over; what lies before the first segment is left out, and further segments are read on, which is noted.
Errors are ValueErrors without the file's name. Source: SigMF specification 1.2.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .outputs import atomic_output, is_stream
from .statistics import portions

VERSION = "1.2.5"
BURST = "burst"  # core:label of its annotation
SUFFIXES = (".sigmf-meta", ".sigmf-data")
ARCHIVE = ".sigmf"
_DATATYPE = re.compile(r"([rc])(f32_le|f32_be|f64_le|f64_be|[iu]8|[iu]16_le|[iu]16_be|[iu]32_le|[iu]32_be)")
_LARGEST_META = 64 << 20  # bytes
_MOST_CHANNELS = 64


@dataclass(frozen=True)
class Burst:
    """first, size: in samples. level: its power over that of the pauses, dB; None where not known."""

    first: int
    size: int
    level: float | None = None

    @property
    def end(self) -> int:
        return self.first + self.size


class Converted:
    """Numbers of another type as float32 or complex64 samples (size,), converted where they are read: integers scaled
    to ±1, unsigned ones centred first. stored: (size, 1), or (size, 2) of I and Q."""

    ndim = 1

    def __init__(self, stored: npt.NDArray) -> None:
        self._stored = stored
        self.size, self.dtype = len(stored), np.dtype("<f4" if stored.shape[1] == 1 else "<c8")
        self.base = stored  # for statistics.release

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: slice) -> npt.NDArray:
        start, stop, step = index.indices(self.size)
        return self._converted(self._stored[start:stop])[::step]

    def part(self, first: int, end: int) -> Converted:
        """Samples first to before end, still to be converted."""
        return Converted(self._stored[first:end])

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> npt.NDArray:
        return self[:].astype(dtype or self.dtype, copy=False)

    def _converted(self, stored):
        if stored.dtype.kind != "f":
            full_scale = 2 ** (8 * stored.dtype.itemsize - 1)
            centre = full_scale if stored.dtype.kind == "u" else 0
            stored = (stored.astype(np.float64) - centre) / full_scale
        return stored.astype("<f4", "C").ravel().view(self.dtype)


@dataclass
class StoredCapture:
    """How samples lie in a file. path: of the samples; datatype: SigMF's name of their type, as
    rf32_le; offset: bytes before the first of them; size: samples of each channel; sample_rate, symbol_rate: per
    second, None where the file does not say; bursts: [] where it has none; channels: 1 to 64; notes: sentences
    about what is there and not read as a reader may expect."""

    path: Path
    datatype: str
    offset: int
    size: int
    sample_rate: float | None
    symbol_rate: float | None = None
    bursts: list[Burst] = field(default_factory=list)
    channels: int = 1
    notes: list[str] = field(default_factory=list)

    @property
    def component(self) -> np.dtype:
        """numpy's type of a sample, or of its real and its imaginary part."""
        kind, _, order = self.datatype[1:].partition("_")
        return np.dtype(f"{'>' if order == 'be' else '<'}{kind[0]}{int(kind[1:]) // 8}")

    @property
    def is_complex(self) -> bool:
        return self.datatype[0] == "c"

    def samples(self) -> list[Any]:
        """Each channel's as float32 or complex64 (size,): memory-mapped where they are that already, else Converted."""
        width = 1 + self.is_complex
        stored = np.memmap(self.path, self.component, "r", self.offset, self.size * self.channels * width)
        if stored.dtype == np.dtype("<f4"):
            samples = stored.view("<c8") if self.is_complex else stored
            return [samples[channel::self.channels] for channel in range(self.channels)]
        parts = stored.reshape(-1, self.channels, width)
        return [Converted(parts[:, channel]) for channel in range(self.channels)]


def read_record(meta: Path) -> dict:
    """The JSON object of a .sigmf-meta. Raises ValueError, OSError."""
    _check_meta(meta.stat().st_size)
    return parsed(meta.read_bytes())


def dataset(record: dict, meta: Path) -> Path:
    """The file of samples that belongs to a .sigmf-meta. Raises ValueError."""
    fields = _object(record, "global")
    if fields.get("core:metadata_only") is True:
        raise ValueError("core:metadata_only is true: its samples are in no file, allowed: a recording with samples")
    return meta.with_name(_dataset_name(fields, meta.with_suffix(".sigmf-data").name))


def read_archive(path: Path) -> StoredCapture:
    """StoredCapture of the one recording in a .sigmf archive, which is left as it is. Raises ValueError, OSError."""
    try:
        with tarfile.open(path, "r:") as archive:
            files = {member.name: member for member in archive if member.isreg() and not member.issparse()}
            metas = [name for name in files if name.endswith(SUFFIXES[0])]
            if len(metas) != 1:
                raise ValueError(f"{len(metas)} recordings in the archive, allowed: 1; unpacked by tar xf, each of "
                                 "them can be read")
            meta = files[metas[0]]
            _check_meta(meta.size)
            record = parsed(archive.extractfile(meta).read())  # type: ignore[union-attr]
    except tarfile.TarError as error:
        raise ValueError(f"no archive of SigMF, which is a tar file that is not compressed: {error}") from error
    data = files.get(str(dataset(record, Path(meta.name))))
    if data is None:
        raise ValueError(f"no {dataset(record, Path(meta.name)).name} in the archive next to {Path(meta.name).name}")
    if data.offset_data + data.size > path.stat().st_size:
        raise ValueError("truncated: its samples end after it")
    return described(record, path, data.size, data.offset_data)


def parsed(text: bytes) -> dict:
    """The JSON object of a .sigmf-meta's text. Raises ValueError."""
    try:
        return json.loads(text)  # by its byte-order mark, too
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error


def described(record: dict, data: Path, size: int, begin: int = 0) -> StoredCapture:
    """StoredCapture of `data`, `size` bytes of it from byte `begin` on, by the object of its .sigmf-meta. The file is
    opened for a hash alone. Raises ValueError, OSError."""
    fields = _object(record, "global")
    datatype = fields.get("core:datatype")
    if not (isinstance(datatype, str) and _DATATYPE.fullmatch(datatype)):
        raise ValueError(f"core:datatype is {datatype!r:.60}, allowed: r or c, then f32_le, i16_le, u8, ...")
    channels = _count(fields, "core:num_channels", 1)
    if not 1 <= channels <= _MOST_CHANNELS:
        raise ValueError(f"core:num_channels is {channels}, allowed: 1 to {_MOST_CHANNELS}")
    sample_rate, symbol_rate = _rate(fields, "core:sample_rate"), _rate(fields, "adann:symbol_rate")
    offset = _offset(record, fields)
    segments = _segments(record, offset)
    stored = StoredCapture(data, datatype, 0, 0, sample_rate, symbol_rate, channels=channels)
    item = stored.component.itemsize * (1 + stored.is_complex) * channels
    header = segments[0].header + segments[0].start * item
    length = size - header - _count(fields, "core:trailing_bytes", 0)
    if length <= 0:
        raise ValueError(f"{data.name} has no samples between its header and trailing bytes")
    if length % item:
        raise ValueError(f"{data.name} is truncated: {length} bytes are not a multiple of {item}, the "
                         f"size of a sample{f' of {channels} channels' if channels > 1 else ''}")
    wanted = fields.get("core:sha512")
    if wanted is not None and str(wanted).lower() != _hash(data, begin, size):
        raise ValueError(f"{data.name} has changed: its hash is not core:sha512")
    stored.offset, stored.size = begin + header, length // item
    stored.bursts = _bursts(record, offset + segments[0].start, stored.size)
    stored.notes = _notes(segments)
    return stored


def write(path: Path, samples: npt.NDArray | Sequence[npt.NDArray], sample_rate: float | None, description: str,
          extra: dict, symbol_rate: float | None = None, bursts: Sequence[Burst] = ()) -> Path:
    """Write the pair that `path` names; arguments and result as for files.write_capture.

    Neither file is ever seen half-written.
    """
    channels: list[Any] = [samples] if getattr(samples, "ndim", 2) == 1 else list(samples)
    if not 1 <= len(channels) <= _MOST_CHANNELS:
        raise ValueError(f"{len(channels)} channels, allowed: 1 to {_MOST_CHANNELS}")
    for name, rate in ("sample_rate", sample_rate), ("symbol_rate", symbol_rate):
        if rate is not None and not 0 < rate < math.inf:
            raise ValueError(f"{name} is {rate}, allowed: above 0 and finite")
    sizes = {channel.size for channel in channels}
    if len(sizes) != 1:
        raise ValueError(f"channels are of {', '.join(map(str, sorted(sizes)))} samples, allowed: of as many each")
    is_complex = any(map(np.iscomplexobj, channels))
    fields: dict = {"core:datatype": "cf32_le" if is_complex else "rf32_le",
                    "core:version": VERSION, **extra}
    if len(channels) > 1:
        fields["core:num_channels"] = len(channels)
    if sample_rate is not None:
        fields["core:sample_rate"] = float(sample_rate)
    if symbol_rate is not None:
        fields["adann:symbol_rate"] = float(symbol_rate)
    if symbol_rate is not None or bursts:
        fields["core:extensions"] = [{"name": "adann", "version": "0.1.0", "optional": True}]
    annotations = [{"core:sample_start": burst.first, "core:sample_count": burst.size, "core:label": BURST,
                    **({} if burst.level is None else {"adann:level_db": burst.level})} for burst in bursts]
    if description:
        fields["core:description"] = description
    if is_stream(path):
        with atomic_output(path) as data:
            _write_samples(data, channels, is_complex)
        return path
    names = pair(path)
    with atomic_output(names[0]) as meta, atomic_output(names[1]) as data:
        _write_samples(data, channels, is_complex)
        fields["core:sha512"] = _hash(data, 0, data.stat().st_size)
        meta.write_text(json.dumps({"global": fields, "captures": [{"core:sample_start": 0}],
                                    "annotations": annotations}, indent=4) + "\n", encoding="utf-8")
    return names[0]


def pair(path: Path) -> tuple[Path, Path]:
    """The .sigmf-meta and the .sigmf-data of a capture that is named by one of them or by their stem."""
    stem = path.with_suffix("") if path.suffix in SUFFIXES else path
    return Path(f"{stem}.sigmf-meta"), Path(f"{stem}.sigmf-data")


def _write_samples(path, channels, is_complex):
    with open(path, "wb") as file:
        for parts in zip(*map(portions, channels)):
            file.write(np.stack(parts, axis=1).astype("<c8" if is_complex else "<f4").data)


def _object(record, name):
    fields = record.get(name) if isinstance(record, dict) else None
    if not isinstance(fields, dict):
        raise ValueError(f"no object '{name}' in it")
    return fields


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rate(fields, name):
    rate = fields.get(name)
    if rate is not None and not (_is_number(rate) and 0 < rate <= sys.float_info.max):
        raise ValueError(f"{name} is {rate!r:.60}, allowed: above 0")
    return None if rate is None else float(rate)


def _count(fields, name, default):
    value = fields.get(name, default)
    if not (_is_number(value) and 0 <= value < 2**63 and value == int(value)):  # 2000.0 is a whole number in JSON
        raise ValueError(f"{name} is {value!r:.60}, allowed: whole numbers from 0 on")
    return int(value)


def _dataset_name(fields, default):
    if "core:dataset" not in fields:
        return default
    name = fields["core:dataset"]
    if not (isinstance(name, str) and name.isprintable() and len(name.encode()) < 256
            and Path(name).name == name and name not in ("", "..")):
        raise ValueError(f"core:dataset is {name!r:.60}, allowed: the name of a file next to the .sigmf-meta")
    return name


def _check_meta(size):
    if size > _LARGEST_META:
        raise ValueError(f"{size} bytes of metadata, allowed: {_LARGEST_META}")


@dataclass(frozen=True)
class _Segment:
    """start: in samples of the file; header: bytes before it; frequency: as it is given."""

    start: int
    header: int
    frequency: Any


def _offset(record, fields):
    """The number of the file's first sample; 0 where the segments are not counted from core:offset on."""
    offset = _count(fields, "core:offset", 0)
    segments = record.get("captures")
    first = segments[0] if isinstance(segments, list) and segments else {}
    start = first.get("core:sample_start", offset) if isinstance(first, dict) else offset
    return 0 if start == 0 else offset


def _segments(record, offset):
    """One at least; offset: the number of the file's first sample."""
    segments = record.get("captures", [])
    if not (isinstance(segments, list) and all(isinstance(each, dict) for each in segments)):
        raise ValueError("'captures' is not a list of objects")
    found = [_Segment(_count(each, "core:sample_start", offset) - offset, _count(each, "core:header_bytes", 0),
                      each.get("core:frequency")) for each in segments or [{}]]
    # Headers between segments would cut the samples in pieces.
    if any(each.header for each in found[1:]):
        raise ValueError("core:header_bytes in a later capture segment, allowed: in the first one; with a file for "
                         "each segment they can be read")
    if [each.start for each in found] != sorted(max(each.start, 0) for each in found):
        raise ValueError(f"core:sample_start of the capture segments, less core:offset, is "
                         f"{', '.join(str(each.start) for each in found):.60}, allowed: 0 and above, rising")
    return found


def _notes(segments):
    notes = []
    if segments[0].start:
        notes.append(f"{segments[0].start} samples before the first capture segment are left out")
    if len(segments) > 1:
        starts = ", ".join(str(each.start - segments[0].start) for each in segments[:5])
        retuned = len({str(each.frequency) for each in segments}) > 1
        notes.append(f"{len(segments)} capture segments, from samples {starts}{', ...' if len(segments) > 5 else ''}, "
                     f"{'tuned to different frequencies, ' if retuned else ''}are read as one; skip and symbols "
                     "take a part")
    return notes


def _bursts(record, first, size):
    """In samples from `first` on; those that overlap are one."""
    annotations = record.get("annotations", [])
    if not (isinstance(annotations, list) and all(isinstance(each, dict) for each in annotations)):
        raise ValueError("'annotations' is not a list of objects")
    bursts: list[Burst] = []
    told = []
    for each in (each for each in annotations if each.get("core:label") == BURST):
        start = _count(each, "core:sample_start", 0) - first
        level = each.get("adann:level_db")
        told.append(Burst(start, _count(each, "core:sample_count", size - start) if start < size else 0,
                          float(level) if _is_number(level) else None))
        if not (0 <= start and told[-1].size and told[-1].end <= size):
            raise ValueError(f"burst {len(told) - 1} lies at {start} to {told[-1].end}, allowed: within the "
                             f"{size} samples")
    for burst in sorted(told, key=lambda burst: burst.first):
        if bursts and burst.first < bursts[-1].end:
            before = bursts.pop()
            burst = replace(before, size=max(burst.end, before.end) - before.first)
        bursts.append(burst)
    return bursts


def _hash(path, begin, size):
    digest = hashlib.sha512()
    with open(path, "rb") as file:
        file.seek(begin)
        while size > 0 and (piece := file.read(min(size, 1 << 20))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()
