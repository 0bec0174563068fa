# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF pairs: the fields that say how samples lie in a file, read and written.

What is read: core:datatype, core:sample_rate, adann:symbol_rate, core:num_channels, core:trailing_bytes,
core:sha512, core:header_bytes of the first capture segment, and the annotations whose core:label is "burst";
the samples are in the .sigmf-data beside the .sigmf-meta and nowhere else, those of several channels in turn, I and Q
of each together. Other annotations and further segments are passed over.
Errors are ValueErrors without the file's name. Source: SigMF specification 1.2.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .outputs import atomic_output, is_stream
from .statistics import portions

VERSION = "1.2.5"
BURST = "burst"  # core:label of its annotation
SUFFIXES = (".sigmf-meta", ".sigmf-data")
_DATATYPE = re.compile(r"([rc])(f32_le|f32_be|f64_le|f64_be|[iu]8|[iu]16_le|[iu]16_be|[iu]32_le|[iu]32_be)")
_LARGEST_META = 64 << 20  # bytes
_MOST_CHANNELS = 64


@dataclass(frozen=True)
class Burst:
    """first, size: in samples. level: its power over that of the pauses, dB; None where not told."""

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
    second, None where the file does not say; bursts: [] where it tells of none; channels: 1 to 64."""

    path: Path
    datatype: str
    offset: int
    size: int
    sample_rate: float | None
    symbol_rate: float | None = None
    bursts: list[Burst] = field(default_factory=list)
    channels: int = 1

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


def read(meta: Path) -> StoredCapture:
    """StoredCapture of a pair by its .sigmf-meta. Raises ValueError, OSError."""
    if meta.stat().st_size > _LARGEST_META:
        raise ValueError(f"{meta.stat().st_size} bytes of metadata, allowed: {_LARGEST_META}")
    data = meta.with_suffix(".sigmf-data")
    return described(meta.read_bytes(), data, data.stat().st_size)


def described(text: bytes, data: Path, size: int) -> StoredCapture:
    """StoredCapture of `data`, a file of `size` bytes, by the text of its .sigmf-meta. The file is
    opened for a hash alone. Raises ValueError, OSError."""
    try:
        record = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    fields = _object(record, "global")
    datatype = fields.get("core:datatype")
    if not (isinstance(datatype, str) and _DATATYPE.fullmatch(datatype)):
        raise ValueError(f"core:datatype is {datatype!r:.60}, allowed: r or c, then f32_le, i16_le, u8, ...")
    channels = _count(fields, "core:num_channels", 1)
    if not 1 <= channels <= _MOST_CHANNELS:
        raise ValueError(f"core:num_channels is {channels}, allowed: 1 to {_MOST_CHANNELS}")
    sample_rate, symbol_rate = _rate(fields, "core:sample_rate"), _rate(fields, "adann:symbol_rate")
    offset = _header_bytes(record)
    if "core:dataset" in fields:
        raise ValueError(f"core:dataset names another file of samples, allowed: {data.name} beside it")
    stored = StoredCapture(data, datatype, offset, 0, sample_rate, symbol_rate, channels=channels)
    length = size - offset - _count(fields, "core:trailing_bytes", 0)
    item = stored.component.itemsize * (1 + stored.is_complex) * channels
    if length <= 0:
        raise ValueError(f"{data.name} has no samples between its header and trailing bytes")
    if length % item:
        raise ValueError(f"{data.name} is truncated: {length} bytes are not a multiple of {item}, the "
                         f"size of a sample{f' of {channels} channels' if channels > 1 else ''}")
    wanted = fields.get("core:sha512")
    if wanted is not None and wanted != _hash(data):
        raise ValueError(f"{data.name} has changed: its hash is not core:sha512")
    stored.size = length // item
    stored.bursts = _bursts(record, stored.size)
    return stored


def write(path: Path, samples: npt.NDArray | Sequence[npt.NDArray], sample_rate: float | None, description: str,
          extra: dict, symbol_rate: float | None = None, bursts: Sequence[Burst] = ()) -> Path:
    """Write the pair that `path` names; arguments and result as for files.write_capture.

    Neither file is ever seen half-written.
    """
    channels: list[Any] = [samples] if getattr(samples, "ndim", 2) == 1 else list(samples)
    if not 1 <= len(channels) <= _MOST_CHANNELS:
        raise ValueError(f"{len(channels)} channels, allowed: 1 to {_MOST_CHANNELS}")
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
        fields["core:sha512"] = _hash(data)
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
    if not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63):
        raise ValueError(f"{name} is {value!r:.60}, allowed: whole numbers from 0 on")
    return value


def _header_bytes(record):
    """Before the first sample. Headers between segments would cut the samples in pieces."""
    segments = record.get("captures", [])
    if not (isinstance(segments, list) and all(isinstance(each, dict) for each in segments)):
        raise ValueError("'captures' is not a list of objects")
    headers = [_count(each, "core:header_bytes", 0) for each in segments]
    if any(headers[1:]):
        raise ValueError("core:header_bytes in a later capture segment, allowed: in the first one")
    return headers[0] if headers else 0


def _bursts(record, size):
    annotations = record.get("annotations", [])
    if not (isinstance(annotations, list) and all(isinstance(each, dict) for each in annotations)):
        raise ValueError("'annotations' is not a list of objects")
    bursts = []
    for each in (each for each in annotations if each.get("core:label") == BURST):
        level = each.get("adann:level_db")
        bursts.append(Burst(_count(each, "core:sample_start", 0), _count(each, "core:sample_count", size),
                            float(level) if _is_number(level) else None))
        if bursts[-1].end > size or not bursts[-1].size or (
                len(bursts) > 1 and bursts[-1].first < bursts[-2].end):
            raise ValueError(f"burst {len(bursts) - 1} lies at {bursts[-1].first} to {bursts[-1].end}, allowed: "
                             f"within the "
                             f"{size} samples, behind the one before it")
    return bursts


def _hash(path):
    digest = hashlib.sha512()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
