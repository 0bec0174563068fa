# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole arrays in and out of a flowgraph, without a list of Python's numbers between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gnuradio import gr


class array_source(gr.sync_block):
    """The arrays (n,) of one type, one after the other."""

    def __init__(self, arrays: Sequence[npt.NDArray]) -> None:
        gr.sync_block.__init__(self, "array source", None, [arrays[0].dtype])
        self.arrays = [array for array in arrays if array.size]
        self.position = 0

    def work(self, _: Any, outputs: list) -> int:
        if not self.arrays:
            return -1  # WORK_DONE, which a Python source of GNU Radio 3.10.5 cannot return
        part = self.arrays[0][self.position:self.position + len(outputs[0])]
        outputs[0][:part.size] = part
        self.position += part.size
        if self.position == self.arrays[0].size:
            del self.arrays[0]
            self.position = 0
        return part.size


class array_sink(gr.sync_block):
    """The first `count` items, of numpy's type `dtype`; what follows is dropped."""

    def __init__(self, count: int, dtype: npt.DTypeLike) -> None:
        gr.sync_block.__init__(self, "array sink", [dtype], None)
        self._items = np.empty(count, dtype)
        self._filled = 0

    @property
    def items(self) -> npt.NDArray:
        """Those that have come."""
        return self._items[:self._filled]

    @property
    def full(self) -> bool:
        return self._filled == self._items.size

    def work(self, inputs: list, _: Any) -> int:
        part = inputs[0][:self._items.size - self._filled]
        self._items[self._filled:self._filled + part.size] = part
        self._filled += part.size
        return len(inputs[0])
