# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole records through a core.mlse."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import AlignedLabels
from ..captures.labels import UNKNOWN
from ..captures.statistics import release

_PORTION = 1 << 18  # symbols between two calls of progress


class SymbolRows:
    """symbol_rows(samples, sps) of whole symbols, made where they are read. samples: (n,), or what is sliced so."""

    def __init__(self, samples: Any, sps: int) -> None:
        self._samples, self._sps = samples, sps
        self.base = samples  # for statistics.release
        self.dtype = samples.dtype

    def __len__(self) -> int:
        return self._samples.size // self._sps

    def __getitem__(self, index: slice) -> npt.NDArray:
        start, stop, step = index.indices(len(self))
        before = self._sps // 2
        first, end = start * self._sps - before, stop * self._sps - before
        part = self._samples[max(0, first):max(0, end)]
        return np.concatenate([np.zeros(max(0, -first), part.dtype), part]).reshape(-1, self._sps)[::step]


def symbol_rows(samples: npt.NDArray, sps: int, skip: int = 1) -> npt.NDArray:
    """Each symbol's own samples, (symbols, sps): its middle one is sample sps // 2 of a row.

    samples: (n,), sample i*sps*skip the middle of symbol i; skip: only each skip-th one is taken.
    """
    kept = samples[::skip]
    before = np.zeros(sps // 2, kept.dtype)
    return np.concatenate([before, kept])[:kept.size // sps * sps].reshape(-1, sps)


def decide(estimator: core.mlse, rows: Sequence[npt.NDArray | SymbolRows],
           known: Sequence[npt.NDArray[np.uint8] | AlignedLabels],
           progress: Callable[[int], None] | None = None,
           stop: Callable[[], bool] | None = None, path: Path | None = None) -> tuple[list, float]:
    """Decide captures one after the other.

    rows: of each capture, see symbol_rows; NaN: no information. known: uint8 (symbols,) of each, its
    labels or UNKNOWN. progress: called as progress(symbols decided so far). stop: asked after each
    portion; True ends it early. path: of a file that labels are written to as they are decided; None: they are
    kept in memory.
    Returns ([labels of each capture], seconds); of one that was stopped those that it had come to.
    """
    # Arbitrary symbols push out the last ones.
    nothing = np.full((estimator.latency, rows[0][:1].shape[1]), np.nan, rows[0].dtype)
    unknown = np.full(len(nothing), UNKNOWN, np.uint8)
    total = sum(map(len, rows))
    taken, seconds, stopped = 0, 0.0, False
    kept = io.BytesIO()
    with open(path, "wb") if path else kept as store:
        for samples, labels in zip([*rows, nothing], [*known, unknown]):
            for start in range(0, len(samples), _PORTION):
                if stopped:
                    break
                here = slice(start, start + _PORTION)
                part, told = samples[here], labels[here]
                begin = time.perf_counter()
                decided = estimator.process(part, told)
                seconds += time.perf_counter() - begin
                store.write(decided[:total - store.tell()].tobytes())
                release(samples)
                release(labels)
                taken = min(taken + len(part), total)
                if progress:
                    progress(taken)
                stopped = bool(stop and stop())
        size = store.tell()
        in_memory = kept.getvalue()
    decided = np.memmap(path, np.uint8, "r") if path and size else np.frombuffer(in_memory, np.uint8)
    return np.split(decided, np.cumsum([len(r) for r in rows])[:-1]), seconds
