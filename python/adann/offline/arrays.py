# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays in and out of a flowgraph, without a list of Python's numbers between; labels into files, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gnuradio import gr

from ..captures.labels import UNKNOWN

if TYPE_CHECKING:
    from .evaluate import Counter


class array_source(gr.sync_block):
    """Arrays (n,) of one type, one after the other, taken as they are needed."""

    def __init__(self, arrays: Iterable[npt.NDArray], dtype: npt.DTypeLike) -> None:
        gr.sync_block.__init__(self, "array source", None, [dtype])
        self._arrays = iter(arrays)
        self._left = np.empty(0, dtype)

    def work(self, _: Any, outputs: list) -> int:
        while not self._left.size:
            following = next(self._arrays, None)
            if following is None:
                return -1  # WORK_DONE, which a Python source of GNU Radio 3.10.5 cannot return
            self._left = following
        part = self._left[:len(outputs[0])]
        outputs[0][:part.size] = part
        self._left = self._left[part.size:]
        return part.size


class array_sink(gr.sync_block):
    """The first `count` items, of numpy's type `dtype`; what follows is dropped. path: of a file that is written as
    they come; None: they are kept in memory."""

    def __init__(self, count: int, dtype: npt.DTypeLike, path: Path | None = None) -> None:
        gr.sync_block.__init__(self, "array sink", [dtype], None)
        self._count, self._dtype, self._path = count, dtype, path
        self._items = np.empty(0 if path else count, dtype)
        self._file = open(path, "wb", buffering=0) if path else None
        self._filled = 0

    @property
    def items(self) -> npt.NDArray:
        """Those that have come."""
        if self._path is None or not self._filled:
            return self._items[:self._filled]
        return np.memmap(self._path, self._dtype, "r+", shape=self._filled)

    def close(self) -> None:
        """No more will come."""
        if self._file:
            self._file.close()

    def work(self, inputs: list, _: Any) -> int:
        part = inputs[0][:self._count - self._filled]
        if self._file:
            self._file.write(part.tobytes())
        else:
            self._items[self._filled:self._filled + part.size] = part
        self._filled += part.size
        return len(inputs[0])


class label_sink(gr.sync_block):
    """Labels as they are decided, laid out as the captures are: UNKNOWN where nothing was sent.

    spans: [(first, end)] of the symbols decided, rising; total: symbols in all. path: of a file that is written as
    they come; None: they are kept in memory.
    """

    def __init__(self, spans: Sequence[tuple[int, int]], total: int, path: Path | None = None) -> None:
        gr.sync_block.__init__(self, "label sink", [np.uint8], None)
        self._spans, self._total, self._path = list(spans), total, path
        self._span = self._size = 0
        self._array = np.empty(0 if path else total, np.uint8)
        self._file = open(path, "wb", buffering=0) if path else None
        self._pause()

    @property
    def items(self) -> npt.NDArray[np.uint8]:
        """Those that have come, with the pauses between them."""
        if self._path is None:
            return self._array[:self._size]
        return np.memmap(self._path, np.uint8, "r", shape=self._size) if self._size else np.empty(0, np.uint8)

    @property
    def full(self) -> bool:
        return self._size == self._total

    def close(self) -> None:
        """No more will come."""
        if self._file:
            self._file.close()

    def work(self, inputs: list, _: Any) -> int:
        part = inputs[0]
        while part.size and self._span < len(self._spans):
            here = part[:self._spans[self._span][1] - self._size]
            self._put(here)
            part = part[here.size:]
            if self._size == self._spans[self._span][1]:
                self._span += 1
                self._pause()
        return len(inputs[0])

    def _pause(self):
        """Up to the next span, or the end."""
        until = self._spans[self._span][0] if self._span < len(self._spans) else self._total
        while self._size < until:
            self._put(np.full(min(until - self._size, 1 << 20), UNKNOWN, np.uint8))

    def _put(self, labels):
        if self._file:
            self._file.write(labels.tobytes())
        else:
            self._array[self._size:self._size + labels.size] = labels
        self._size += labels.size


class part_sink(gr.sync_block):
    """The items of parts of a stream, of numpy's type `dtype`; spans: [(first, end)] of the parts, rising."""

    def __init__(self, spans: Sequence[tuple[int, int]], dtype: npt.DTypeLike) -> None:
        gr.sync_block.__init__(self, "part sink", [dtype], None)
        self._spans, self._position = spans, 0
        self._parts = [np.empty(end - first, dtype) for first, end in spans]

    @property
    def parts(self) -> list[npt.NDArray]:
        """Of each part the items that have come."""
        return [part[:max(0, self._position - first)] for part, (first, _) in zip(self._parts, self._spans)]

    def work(self, inputs: list, _: Any) -> int:
        begin, size = self._position, len(inputs[0])
        for part, (first, end) in zip(self._parts, self._spans):
            here = slice(max(first, begin), min(end, begin + size))
            if here.start < here.stop:
                part[here.start - first:here.stop - first] = inputs[0][here.start - begin:here.stop - begin]
        self._position += size
        return size


class counting_sink(gr.sync_block):
    """Decided labels and their posteriors, `size` floats each, for `errors` to count."""

    def __init__(self, errors: Counter, size: int) -> None:
        gr.sync_block.__init__(self, "counting sink", [np.uint8, (np.float32, size)], None)
        self._errors = errors

    def work(self, inputs: list, _: Any) -> int:
        self._errors.take(*inputs)
        return len(inputs[0])
