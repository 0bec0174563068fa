# SPDX-License-Identifier: GPL-3.0-or-later
"""What SciPy's reader of .mat files does not do: it crashes on numbers of a type that there is not, and keeps files
of version 7.3, which are HDF5, to others.

Source: MathWorks, MAT-File Format, version 5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt

_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13}  # miINT8 ... miUINT64
_CLASSES = range(6, 16)  # mxDOUBLE ... mxUINT64
_COMPLEX = 0x800  # of an array's flags
_HEADER, _VERSION = 128, slice(124, 128)


def check_mat(content: bytes, most: int) -> None:
    """Raises ValueError for a file of version 5 with a damaged array of numbers, and for one of which a variable has
    more than `most` bytes. Others are not looked at."""
    if 0 in content[:4] or content[_VERSION] not in (b"\x00\x01IM", b"\x01\x00MI"):
        return
    order = "<" if content[_VERSION].endswith(b"IM") else ">"
    for kind, data in _elements(memoryview(content)[_HEADER:], order):
        if kind == _COMPRESSED:
            kind, data = next(_elements(_decompressed(data, most), order), (0, data))
        parts = list(_elements(data, order)) if kind == _MATRIX else []
        if not parts or len(parts[0][1]) < 4:
            continue
        flags = struct.unpack_from(f"{order}I", parts[0][1])[0]
        if flags & 255 in _CLASSES:
            numbers = [number for number, _ in parts[3:]]  # after flags, dimensions and name
            if len(numbers) < 1 + bool(flags & _COMPLEX):
                raise ValueError("damaged: an array without its numbers")
            if wrong := set(numbers) - _NUMBERS:
                raise ValueError(f"damaged: numbers of type {min(wrong)}, allowed: those of MATLAB")


def numbers73(file: Mapping[str, Any]) -> dict[str, npt.NDArray]:
    """{name: array} of the variables of an h5py.File that are numbers. Raises ValueError where there are none."""
    import h5py

    arrays, others = {}, {}
    for name, item in file.items():
        if name.startswith("#") or item is None:
            continue
        kind = item.attrs.get("MATLAB_class", b"numbers" if isinstance(item, h5py.Dataset) else b"group").decode()
        for special in "empty", "sparse":
            kind = special if f"MATLAB_{special}" in item.attrs else kind
        if isinstance(item, h5py.Dataset) and kind not in ("char", "cell", "empty"):
            arrays[name] = item[()]
        else:
            others[name] = kind
    if not arrays:
        refuse_variables(others)
    return {name: array["real"] + 1j * array["imag"] if array.dtype.names == ("real", "imag")
            else array for name, array in arrays.items()}


def refuse_variables(kinds: Mapping[str, str]) -> None:
    """Raise ValueError that names variables, {name: its class}, of which none has samples."""
    others = ", ".join(f"{name} ({kind})" for name, kind in kinds.items()) or "none"
    raise ValueError(f"no samples: its variables are {others:.200}, allowed: vectors and matrices of numbers, "
                     "as save a.mat x writes them")


def _decompressed(data, most):
    stream = zlib.decompressobj()
    try:
        contents = stream.decompress(data, most)
    except zlib.error as error:
        raise ValueError(f"damaged: {error}") from error
    if stream.unconsumed_tail:
        raise ValueError(f"a variable of more than {most} bytes, allowed: as many as its shape needs")
    return memoryview(contents)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Type and contents of the elements that follow one another; the last may be truncated."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind >> 16:  # a small one, within its own tag
            kind, size, begin, following = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            begin = at + 8
            following = begin + size + (-size % 8 if kind != _COMPRESSED else 0)
        yield kind, data[begin:begin + size]
        at = following
