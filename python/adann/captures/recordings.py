# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of any kind as a capture: captures, oscilloscopes' files, and raw numbers whose type is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from .contents import looked_at, other_layout, other_type
from .files import CAPTURES, Capture, check_file, only_channel, read_channels
from .notes import note
from .oscilloscopes import ScopeFile, read_scope_files, select_channels
from .sigmf import Converted

_RAW = re.compile(r"(c?)([fiu])(8|16|32|64)(_le|_?be)?")
_SIZES = {"f": ("32", "64"), "i": ("8", "16", "32"), "u": ("8", "16", "32")}


def read_recording(paths: Sequence[str | Path], channel: str | None = None, kind: str | None = None,
                   sample_rate: float | None = None) -> tuple[Capture, str]:
    """A capture of one channel from files of any kind, and the instrument's name or ""; arguments and errors as of
    recorded_channels."""
    captures, instrument = recorded_channels(paths, channel, kind, sample_rate)
    return only_channel(captures), instrument


def recorded_channels(paths: Sequence[str | Path], channel: str | None = None, kind: str | None = None,
                      sample_rate: float | None = None) -> tuple[list[Capture], str]:
    """A capture from files of any kind, channel by channel, and the instrument's name or "".

    paths: one file, or several of one channel each; channel: as of select_channels, None: of a capture all that it
    has; kind: the type of raw numbers, such as i16, f32, u8, ci16 (I and Q in turn), i16be, cf32_le; None: the file's
    name says what it is. sample_rate: overrides what the files say. Raises ValueError as the readers do, which names
    the file, and for several captures.
    """
    first = Path(paths[0])
    there: list[Capture] = []  # what need not be held
    if kind:
        there = [Capture(_raw_numbers(Path(path), kind), None, path) for path in paths]
    elif len(paths) == 1 and (first.suffix in CAPTURES or _is_stem(first)):
        there = read_channels(first)
    elif len(paths) > 1 and any(Path(path).suffix in CAPTURES for path in paths):
        raise ValueError(f"{', '.join(map(str, paths))}: {len(paths)} files are one channel each, as an oscilloscope "
                         "writes them; of captures, allowed: 1")
    scope = ScopeFile({str(number): each.samples for number, each in enumerate(there, 1)},
                      there[0].sample_rate) if there else read_scope_files(paths)
    if there and channel is None and len(paths) == 1:
        samples = list(scope.channels.values())
    else:
        held = {name: np.asarray(each) for name, each in scope.channels.items()}
        try:
            samples = select_channels(held, channel)
        except ValueError as error:
            raise ValueError(f"{', '.join(map(str, paths))}: {error}") from error
    told = there[0] if there else Capture(samples[0], path=paths[0])
    rate = sample_rate or scope.sample_rate
    return [replace(told, samples=each, sample_rate=rate) for each in samples], scope.instrument


def _is_stem(path):
    return not path.is_file() and path.with_name(f"{path.name}.sigmf-meta").is_file()


def _raw_numbers(path, kind):
    match = _RAW.fullmatch(kind)
    if not match or match[3] not in _SIZES[match[2]]:
        raise ValueError(f"type is {kind}, allowed: i8, i16, i32, u8, u16, u32, f32, f64, with c before it for "
                         f"I and Q in "
                         "turn, followed by be for big-endian")
    dtype = np.dtype(f"{'>' if (match[4] or '').endswith('be') else '<'}{match[2]}{int(match[3]) // 8}")
    width = dtype.itemsize * (1 + bool(match[1]))
    size = check_file(path)
    if size % width:
        raise ValueError(f"{path}: truncated, or not {kind}: {size} bytes are not a multiple of {width}, the size of a "
                         "sample")
    is_complex = bool(match[1])
    parts = looked_at(path, dtype, 0, size // dtype.itemsize)
    if said := other_type(parts, is_complex) or other_layout(parts, is_complex):
        note(path, said)
    return Converted(np.memmap(path, dtype, "r").reshape(-1, 1 + is_complex))
