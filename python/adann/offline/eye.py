# SPDX-License-Identifier: GPL-3.0-or-later
"""Levels, and the eye of a signal whose symbols are known. docs/scope.md has the definitions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.special

PHASES = 50                  # instants of a symbol that the waveform is interpolated to: 0.02 UI
_TAIL = 0.1                  # part of a level's samples that its tail is fitted to, but for
_OUTERMOST = 10              # samples: fewer have no certain quantile

Labels = npt.NDArray[np.uint8]
Reals = npt.NDArray[np.float64]


def levels_of(values: npt.NDArray, labels: Labels, points: npt.NDArray) -> Reals:
    """The mean value of each level, the lowest point first; nan of a level that does not occur.

    values: real (n,); labels: (n,), all known; points: real (M,), in label order.
    """
    counts = np.bincount(labels, minlength=len(points))
    with np.errstate(invalid="ignore"):
        means = np.bincount(labels, values, len(points)) / counts
    return means[np.argsort(points)]


def level_mismatch_ratio(levels: npt.ArrayLike) -> float:
    """RLM of four levels, the lowest first: IEEE 802.3, equation 120D-4. 1: equally spaced."""
    lowest, low, high, highest = np.asarray(levels, float)
    middle = (lowest + highest) / 2
    lower, upper = (low - middle) / (lowest - middle), (high - middle) / (highest - middle)
    return float(min(3 * lower, 3 * upper, 2 - 3 * lower, 2 - 3 * upper))


def inner_edge(values: npt.NDArray, error_rate: float) -> float:
    """The value below which a level's samples are with a probability of error_rate.

    values: (n,). A straight line in Q, x = mean - deviation * Q^-1(p), is fitted to the quantiles of the lowest
    tenth but for the 10 lowest samples. Gaussian noise lies on it; so do the outer edges of bounded interference.
    """
    quantiles = np.sort(values)[:max(2, int(_TAIL * values.size))]
    inside = np.unique(np.geomspace(_OUTERMOST, quantiles.size, 40).astype(int)) - 1
    deviations = scipy.special.ndtri((inside + 0.5) / values.size)
    slope, mean = np.polyfit(deviations, quantiles[inside], 1)
    return float(mean + slope * scipy.special.ndtri(error_rate))


def eye_edges(values: npt.NDArray, labels: Labels, points: npt.NDArray, error_rate: float) -> Reals:
    """(M-1, 2): of each eye, the lowest first, its lower and upper edge at an error rate; arguments as of levels_of."""
    parts = [values[labels == label] for label in np.argsort(points)]
    return np.array([(-inner_edge(-lower, error_rate), inner_edge(upper, error_rate))
                     for lower, upper in zip(parts[:-1], parts[1:])])


def eye_heights(values: npt.NDArray, labels: Labels, points: npt.NDArray, error_rate: float) -> Reals:
    """(M-1,): the height of each eye over the mean spacing of the levels; 0: closed. Of Gaussian noise
    1 - 2 Q^-1(error_rate) deviation / spacing. Arguments as of levels_of."""
    spacing = np.ptp(levels_of(values, labels, points)) / (len(points) - 1)
    return np.maximum(0, np.diff(eye_edges(values, labels, points, error_rate))[:, 0] / spacing)


def interpolated(samples: npt.NDArray, sps: int) -> Reals:
    """(n, PHASES): the waveform of each symbol, band-limited; phase PHASES/2 is its middle."""
    symbols = samples.size // sps
    padded = scipy.fft.next_fast_len(symbols, real=True)  # a transform of another length takes ten times the memory
    periodic = np.pad(np.asarray(samples[:symbols * sps], np.float64), (0, (padded - symbols) * sps), "wrap")
    dense = scipy.signal.resample(periodic, padded * PHASES)
    return np.roll(dense, PHASES // 2).reshape(padded, PHASES)[:symbols]


def eye_widths(waveform: Reals, labels: Labels, points: npt.NDArray, error_rate: float) -> tuple[Reals, int]:
    """(M-1,): of each eye, in symbols, how long both edges are on their sides of the threshold; and the best phase.

    waveform: (n, PHASES); the best phase is that of which the levels explain most; the threshold of an eye is the
    middle of its edges there.
    """
    edges = np.array([eye_edges(column, labels, points, error_rate) for column in waveform.T])
    shares = np.bincount(labels, minlength=len(points))[np.argsort(points)] / labels.size
    means = np.array([levels_of(column, labels, points) for column in waveform.T])
    between = (means ** 2) @ shares - (means @ shares) ** 2
    best = int((between / waveform.var(axis=0)).argmax())
    thresholds = edges[best].mean(axis=1)
    margins = np.minimum(thresholds - edges[:, :, 0], edges[:, :, 1] - thresholds)
    return np.array([_opening(margin, best) for margin in margins.T]), best


def _opening(margin, best):
    """Of margins (PHASES,) how long they are positive around `best`, the crossings interpolated, in symbols."""
    if margin[best] <= 0:
        return 0.0
    length = 0.0
    for step in (-1, 1):
        at = best
        while 0 <= at + step < margin.size and margin[at + step] > 0:
            at += step
        length += abs(at - best)
        if 0 <= at + step < margin.size:
            length += margin[at] / (margin[at] - margin[at + step])
        else:
            length += 0.5
    return length / margin.size
