# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of any kind as a capture: captures, oscilloscopes' files, and raw numbers whose type somebody tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .files import CAPTURES, Capture, check_file, read_capture
from .oscilloscopes import ScopeFile, read_scope_files, select_channel
from .sigmf import Converted

_RAW = re.compile(r"(c?)([fiu])(8|16|32|64)(be)?")
_SIZES = {"f": ("32", "64"), "i": ("8", "16", "32"), "u": ("8", "16", "32")}


def read_recording(paths: Sequence[str | Path], channel: str | None = None, kind: str | None = None,
                   sample_rate: float | None = None) -> tuple[Capture, str]:
    """One capture from files of any kind, and the instrument's name or "".

    paths: one file, or several of one channel each; channel: as of select_channel; kind: the type of raw numbers, such
    as i16, f32, u8, ci16 (I and Q in turn), i16be; None: the file's name tells what it is. sample_rate: overrides what
    the files tell. Raises ValueError as the readers do, which names the file.
    """
    first = Path(paths[0])
    if kind is None and len(paths) == 1 and (first.suffix in CAPTURES or _is_stem(first)):
        if channel is not None:
            raise ValueError(f"{first}: a capture has one channel, channel is {channel}")
        capture = read_capture(first)
        capture.sample_rate = sample_rate or capture.sample_rate
        return capture, ""
    if kind and len(paths) == 1 and channel is None:
        return Capture(_raw_numbers(first, kind), sample_rate, first), ""
    scope = ScopeFile({str(number): np.asarray(_raw_numbers(Path(path), kind))
                       for number, path in enumerate(paths, 1)}) if kind else read_scope_files(paths)
    try:
        samples = select_channel(scope.channels, channel)
    except ValueError as error:
        raise ValueError(f"{', '.join(map(str, paths))}: {error}") from error
    return Capture(samples, sample_rate or scope.sample_rate, paths[0]), scope.instrument


def _is_stem(path):
    return not path.is_file() and path.with_name(f"{path.name}.sigmf-meta").is_file()


def _raw_numbers(path, kind):
    match = _RAW.fullmatch(kind)
    if not match or match[3] not in _SIZES[match[2]]:
        raise ValueError(f"type is {kind}, allowed: i8, i16, i32, u8, u16, u32, f32, f64, with c before it for "
                         f"I and Q in "
                         "turn, with be behind it for big-endian")
    dtype = np.dtype(f"{'>' if match[4] else '<'}{match[2]}{int(match[3]) // 8}")
    width = dtype.itemsize * (1 + bool(match[1]))
    size = check_file(path)
    if size % width:
        raise ValueError(f"{path}: truncated, or not {kind}: {size} bytes are not a multiple of {width}, the size of a "
                         "sample")
    return Converted(np.memmap(path, dtype, "r"), bool(match[1]))
