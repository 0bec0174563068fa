# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole records through a core.mlse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.labels import UNKNOWN

_PORTION = 1 << 18  # symbols between two calls of progress


def symbol_rows(samples: npt.NDArray, sps: int, skip: int = 1) -> npt.NDArray:
    """Each symbol's own samples, (symbols, sps): its middle one is sample sps // 2 of a row.

    samples: (n,), sample i*sps*skip the middle of symbol i; skip: only each skip-th one is taken.
    """
    kept = samples[::skip]
    before = np.zeros(sps // 2, kept.dtype)
    return np.concatenate([before, kept])[:kept.size // sps * sps].reshape(-1, sps)


def decide(estimator: core.mlse, rows: Sequence[npt.NDArray],
           known: Sequence[npt.NDArray[np.uint8]],
           progress: Callable[[int], None] | None = None,
           stop: Callable[[], bool] | None = None) -> tuple[list, float]:
    """Decide captures one after the other.

    rows: of each capture, see symbol_rows; NaN tells nothing. known: uint8 (symbols,) of each, its
    labels or UNKNOWN. progress: called as progress(symbols decided so far). stop: asked after each
    portion; True ends it early.
    Returns ([labels of each capture], seconds); of one that was stopped those that it had come to.
    """
    # Symbols that tell nothing push out the last ones.
    nothing = np.full((estimator.latency, rows[0].shape[1]), np.nan, rows[0].dtype)
    unknown = np.full(len(nothing), UNKNOWN, np.uint8)
    total = sum(map(len, rows))
    parts: list = []
    taken, seconds, stopped = 0, 0.0, False
    for samples, labels in zip([*rows, nothing], [*known, unknown]):
        for start in range(0, len(samples), _PORTION):
            if stopped:
                break
            here = slice(start, start + _PORTION)
            begin = time.perf_counter()
            parts.append(estimator.process(samples[here], labels[here]))
            seconds += time.perf_counter() - begin
            taken = min(taken + len(samples[here]), total)
            if progress:
                progress(taken)
            stopped = bool(stop and stop())
    return np.split(np.concatenate(parts)[:total], np.cumsum([len(r) for r in rows])[:-1]), seconds
