# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a transmitter was on: bursts, by their power.

The threshold between two groups of powers is the one that parts them best. Source: Otsu, "A threshold selection method
from gray-level histograms", IEEE Trans. Syst. Man Cybern. 9, 1979.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .sigmf import Burst
from .statistics import PORTION, portions

BLOCK = 16          # symbols that the power is the mean of
_APART = 6.0        # dB between the groups: less is one signal
_SHORTEST = 4       # blocks: a pause within a burst, or a burst, that is shorter is none
_QUIETEST = -120.0  # dB: of a block without a signal
_SORTED = 1 << 20   # blocks at most that the threshold is found from


def block_levels(samples: npt.NDArray, sps: int) -> npt.NDArray[np.float32]:
    """The power of each whole block of BLOCK symbols, dB over the largest; sps: samples a symbol."""
    length = BLOCK * sps
    levels = np.empty(samples.size // length, np.float32)
    at = 0
    for part in portions(samples, 0, levels.size * length, max(1, PORTION // length) * length):
        power = (abs(part) ** 2).reshape(-1, length).mean(axis=1, dtype=np.float64)
        levels[at:at + power.size] = 10 * np.log10(np.maximum(power, 1e-300))
        at += power.size
    levels -= levels.max(initial=-np.inf)
    return np.maximum(levels, _QUIETEST, out=levels)


def find_threshold(levels: npt.NDArray) -> float | None:
    """The level, dB, that parts bursts from pauses; None where levels (blocks,) are of one signal."""
    levels = np.sort(levels[::-(-levels.size // _SORTED) or 1]).astype(np.float64)
    if levels.size < 2 * _SHORTEST:
        return None
    below = np.arange(1, levels.size)
    low = np.cumsum(levels)[:-1] / below
    high = (levels.sum() - low * below) / (levels.size - below)
    between = below * (levels.size - below) * (high - low) ** 2
    best = int(between.argmax())
    # The medians: an edge lies in neither group.
    apart = np.median(levels[best + 1:]) - np.median(levels[:best + 1])
    return float((np.median(levels[best + 1:]) + np.median(levels[:best + 1])) / 2) if apart > _APART else None


def find_bursts(samples: npt.NDArray, sps: int, threshold: float | None = None) -> tuple[list[Burst], float | None]:
    """The bursts of a record, and the threshold.

    samples: (n,), sps a symbol, its noise limited to about the signal's band. threshold: power, dB over the pauses (the
    quietest tenth of the blocks, or fewer), above which a signal is there; None: halfway between the medians of the two
    groups that the blocks' levels part into, if they lie 6 dB apart; if not, there are no bursts: ([], None).
    A burst begins and ends half a block outside the blocks whose power is above the threshold.
    """
    levels = block_levels(samples, sps)
    floor = float(np.quantile(levels, 0.1)) if levels.size else 0.0
    at = find_threshold(levels)
    if at is not None:  # where less than a tenth is quiet, that tenth is no pause
        floor = min(floor, float(np.median(levels[levels <= at])))
    if threshold is not None:
        at = floor + threshold
    if at is None:
        return [], None
    on = _filled(_filled(levels > at, False), True)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(np.int8), [0]])))
    quiet = _mean_level(levels[~on]) if not on.all() else floor
    margin, bursts = BLOCK // 2 * sps, []
    for first, end in edges.reshape(-1, 2):
        level = _mean_level(levels[first:end]) - quiet
        start = max(0, first * BLOCK * sps - margin)
        stop = min(end * BLOCK * sps + margin, samples.size // sps * sps)
        bursts.append(Burst(int(start), int(stop - start), round(float(level), 1)))
    return bursts, at - floor


class Gated:
    """A record (n,), 0 outside its bursts, computed where it is read."""

    def __init__(self, samples: npt.NDArray, bursts: list[Burst]) -> None:
        self._samples = self.base = samples  # base: for release
        self.size, self.dtype = samples.size, samples.dtype
        self._bursts, self._ends = bursts, np.array([burst.end for burst in bursts])

    def __getitem__(self, index: slice) -> npt.NDArray:
        start, stop, step = index.indices(self.size)
        gated = np.zeros(max(0, stop - start), self.dtype)
        for burst in self._bursts[int(np.searchsorted(self._ends, start, "right")):]:
            if burst.first >= stop:
                break
            part = self._samples[max(burst.first, start):min(burst.end, stop)]
            gated[max(burst.first - start, 0):][:part.size] = part
        return gated[::step]


def _mean_level(levels):
    """Of the mean power."""
    return 10 * np.log10((10 ** (levels / 10)).mean(dtype=np.float64))


def _filled(on, value):
    """`on` without its runs of `value` that are too short, but at the ends."""
    on = on.copy()
    edges = np.concatenate([[0], np.flatnonzero(np.diff(on)) + 1, [on.size]])
    for first, end in zip(edges, edges[1:]):
        if on[first] == value and end - first < _SHORTEST and (value or (first > 0 and end < on.size)):
            on[first:end] = not value
    return on
