# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a transmitter was on: bursts, by their power, or by the symbol clock where that shows more.

The threshold between two groups of levels is the one that parts them best. Source: Otsu, "A threshold selection method
from gray-level histograms", IEEE Trans. Syst. Man Cybern. 9, 1979. After an FM discriminator pauses are as loud as
packets, or louder; the noise outside the signal's band shows them, as in a receiver's squelch, or the clock's line.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.ndimage

from .sigmf import Burst
from .statistics import PORTION, portions, release

BLOCK = 16          # symbols that the power is the mean of
_APART = 6.0        # dB between the groups: less is one signal
_SHORTEST = 4       # blocks: a pause within a burst, or a burst, that is shorter is none
_QUIETEST = -120.0  # dB: of a block without a signal
_WITH_CLOCK = 9     # blocks together in which the clock's line shows
_IN_PAUSES = 0.1    # of the clock's line in the bursts: these are no pauses
_DEVIATIONS = 6     # of chance
_OUTSIDE = 0.8, 1.8 # of the symbol rate: frequencies that hold noise
_FINER = 8          # parts of a portion that are transformed at once
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

    samples: (n,), sps a symbol. threshold: power, dB over the pauses (the quietest tenth of the blocks, or fewer),
    above which a signal is there; None: halfway between the medians of the two groups that the blocks' levels part
    into, if these differ by 6 dB. Where they do not, or the pauses have the clearer symbol clock, the noise outside the
    signal's band (which is the lower one in bursts) or else the clock's line over 144 symbols is used likewise; of that
    no threshold is returned. If nothing shows one, there are no bursts: ([], None).
    A burst begins and ends half a block outside the blocks that hold it. Below 3 samples a symbol only power is used.
    """
    levels = block_levels(samples, sps)
    floor = float(np.quantile(levels, 0.1)) if levels.size else 0.0
    at = find_threshold(levels)
    if at is not None:  # where less than a tenth is quiet, that tenth is no pause
        floor = min(floor, float(np.median(levels[levels <= at])))
    if threshold is not None:
        return _bursts(levels, _steady(levels > floor + threshold), samples.size, sps), threshold
    clock, outside = _clock_and_noise(samples, sps)
    together = 20 * np.log10(np.maximum(abs(_together(clock)), 1e-6))
    for each, between, shortest in ((levels, at, _SHORTEST), (-outside, find_threshold(-outside), _SHORTEST),
                                    (together, find_threshold(together), 2 * _WITH_CLOCK)):
        if between is None:
            continue
        on = _steady(each > between, shortest)
        bursts, pauses = _clock_power(clock, on), _clock_power(clock, ~on)
        if not pauses > max(_clock_chance(clock, ~on), bursts * (1 if each is levels else _IN_PAUSES)):
            return _bursts(levels, on, samples.size, sps), between - floor if each is levels else None
    return [], None


def _clock_and_noise(samples, sps):
    """Of each whole block: the line of the symbol clock in the power of the slope over half a symbol, relative to that
    power, complex; and the power outside the signal's band, dB over the largest. 0 below 3 samples a symbol."""
    length, half = BLOCK * sps, sps // 2
    clock, outside = (np.zeros(samples.size // length, dtype) for dtype in (np.complex64, np.float32))
    if sps < 3:
        return clock, outside
    turn = np.exp(-2j * np.pi * np.arange(length) / sps)
    frequencies = abs(scipy.fft.fftfreq(length)) * sps
    beside = (frequencies > _OUTSIDE[0]) & (frequencies < _OUTSIDE[1])
    step = max(1, PORTION // _FINER // length) * length
    for first in range(0, clock.size * length, step):
        end = min(first + step, clock.size * length)
        part = samples[first:end + 2 * half]
        part = np.concatenate([part, np.zeros(end - first + 2 * half - part.size, part.dtype)])
        sums = np.convolve(part, np.ones(half, part.dtype), "valid")
        slope = (abs(sums[half:] - sums[:-half]) ** 2)[:end - first].reshape(-1, length)
        at = slice(first // length, end // length)
        clock[at] = slope @ turn / np.maximum(slope.sum(axis=1), 1e-30)
        blocks = part[:end - first].reshape(-1, length) * np.hanning(length).astype(np.float32)
        outside[at] = 10 * np.log10(np.maximum((abs(scipy.fft.fft(blocks)[:, beside]) ** 2).mean(axis=1), 1e-30))
        release(samples)
    return clock, np.maximum(outside - outside.max(initial=-np.inf), _QUIETEST)


def _together(clock):
    """Its mean over neighbouring blocks."""
    return sum(factor * scipy.ndimage.uniform_filter1d(part, _WITH_CLOCK, mode="nearest")
               for factor, part in ((1, clock.real), (1j, clock.imag)))


def _lines(clock, on):
    """Of windows of blocks that are on: the power of the clock's line in each, without what chance has in it."""
    whole = clock.size // _WITH_CLOCK * _WITH_CLOCK
    there = np.where(on, clock, 0)[:whole].reshape(-1, _WITH_CLOCK)
    own = np.sum(abs(there) ** 2, axis=1)
    return abs(there.sum(axis=1)) ** 2 - own, own


def _clock_power(clock, on):
    """Of the clock's line, for each block that is on."""
    return float(_lines(clock, on)[0].sum()) / max(1, np.count_nonzero(on))


def _clock_chance(clock, on):
    """What that may be by chance where there is no clock."""
    return float(_DEVIATIONS * np.sqrt(np.sum(_lines(clock, on)[1] ** 2))) / max(1, np.count_nonzero(on))


def _steady(on, shortest=_SHORTEST):
    return _filled(_filled(on, False, _SHORTEST), True, shortest)


def _bursts(levels, on, size, sps):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(np.int8), [0]])))
    quiet = _mean_level(levels[~on]) if not on.all() else float(levels.min(initial=0))
    margin, bursts = BLOCK // 2 * sps, []
    for first, end in edges.reshape(-1, 2):
        level = _mean_level(levels[first:end]) - quiet
        start = max(0, first * BLOCK * sps - margin)
        stop = min(end * BLOCK * sps + margin, size // sps * sps)
        bursts.append(Burst(int(start), int(stop - start), round(float(level), 1)))
    return bursts


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


def _filled(on, value, shortest):
    """`on` without its runs of `value` that are too short, but at the ends."""
    on = on.copy()
    edges = np.concatenate([[0], np.flatnonzero(np.diff(on)) + 1, [on.size]])
    for first, end in zip(edges, edges[1:]):
        if on[first] == value and end - first < shortest and (value or (first > 0 and end < on.size)):
            on[first:end] = not value
    return on
