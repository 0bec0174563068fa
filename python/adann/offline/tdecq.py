# SPDX-License-Identifier: GPL-3.0-or-later
"""TDECQ of PAM4: IEEE 802.3, 121.8.5.3. docs/scope.md has the definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.signal
import scipy.special

from .eye import PHASES, Labels, Reals, levels_of

TDECQ_ERROR_RATE = 4.8e-4    # of symbols, and what it is in deviations of the noise: IEEE 802.3, 121.8.5.3
TDECQ_Q = 3.414
TDECQ_TAPS = 5               # of the reference equalizer, one a symbol
_HISTOGRAMS = ((-3, -2), (2, 3))  # instants of two windows 0.04 UI wide, whose centres are 0.05 UI off the eye's
_BINS = 2000                 # of such a histogram
_RECEIVER_BANDWIDTH = 0.5    # of the symbol rate: Bessel-Thomson of order 4, IEEE 802.3, 121.8.5.1


@dataclass
class Penalty:
    """TDECQ in dB; taps (5,) of the reference equalizer, their sum 1; phase: of the eye's centre, 0 to PHASES - 1;
    noise: that could be added, rms, and the outer modulation amplitude."""

    tdecq: float
    taps: Reals
    phase: int
    noise: float
    amplitude: float


def tdecq(waveform: Reals, labels: Labels, points: npt.NDArray, amplitude: float, scope_noise: float = 0.0,
          phases: Sequence[int] = range(PHASES // 2 - 10, PHASES // 2 + 11, 2)) -> Penalty:
    """Transmitter and dispersion eye closure of PAM4: IEEE 802.3, 121.8.5.3.

    waveform: (n, PHASES); labels: (n,), all known; points: real (4,); amplitude: OMA_outer, between runs of the
    outer levels; scope_noise: rms of the scope's own noise, which is in the samples; phases: at which the eye's centre
    is looked for. The taps and the phase are those of the least penalty. Raises ValueError where more symbols than
    4.8e-4 are wrong before noise is added.
    """
    order = np.argsort(np.argsort(points))[labels]
    average = levels_of(waveform.mean(axis=1), labels, points).mean()  # as if all labels came alike often
    thresholds = average + amplitude / 3 * np.array([-1, 0, 1])
    target = amplitude * (order / 3 - 0.5) + average
    found: list[tuple[float, Reals, int]] = []
    for phase in phases:
        taps = _reference_taps(_windows(waveform, phase), target)
        found.append((_most_noise(waveform, order, thresholds, taps, phase), taps, phase))
    noise, taps, phase = max(found, key=lambda each: each[0])
    if noise <= 0:
        raise ValueError(f"more than {TDECQ_ERROR_RATE} of the symbols are wrong after the reference equalizer")
    free = [k for k in range(TDECQ_TAPS) if k != abs(taps).argmax()]

    def whole(some):
        full = np.empty(TDECQ_TAPS)
        full[free] = some
        full[abs(taps).argmax()] = 1 - np.sum(some)
        return full

    best = scipy.optimize.minimize(
        lambda some: -_most_noise(waveform, order, thresholds, whole(some), phase), taps[free],
        method="Nelder-Mead", options={
            "maxfev": 120, "xatol": 1e-3, "fatol": 1e-4 * noise,
            "initial_simplex": taps[free] + np.vstack([np.zeros(len(free)), 0.02 * np.eye(len(free))])})
    noise, taps = max((noise, taps), (-float(best.fun), whole(best.x)), key=lambda each: each[0])
    total = np.hypot(noise, scope_noise)
    return Penalty(float(10 * np.log10(amplitude / (6 * TDECQ_Q * total))), taps, phase, float(noise), amplitude)


def noise_gain(taps: npt.ArrayLike) -> float:
    """C_eq: what the reference equalizer makes of the rms of noise that a Bessel-Thomson filter of order 4 and half
    the symbol rate has shaped; IEEE 802.3, equation 121-9."""
    frequency = np.linspace(0, 4, 4001)  # cycles a symbol
    _, shape = scipy.signal.freqs(*scipy.signal.bessel(4, 2 * np.pi * _RECEIVER_BANDWIDTH, analog=True, norm="mag"),
                                  2 * np.pi * frequency)
    weight = abs(shape) ** 2
    taps = np.asarray(taps)
    gain = abs(np.exp(-2j * np.pi * np.outer(frequency, np.arange(taps.size))) @ taps) ** 2
    return float(np.sqrt(np.sum(weight * gain) / np.sum(weight)))


def _windows(waveform, instant):
    """(n-4, 5): the values at an instant, which may be in a neighbouring symbol, of each symbol and those around it."""
    column = np.roll(waveform.reshape(-1), -instant)[::PHASES]
    return np.lib.stride_tricks.sliding_window_view(column, TDECQ_TAPS)


def _reference_taps(windows, target):
    """Least squares to the levels, with taps whose sum is 1."""
    inner = TDECQ_TAPS // 2
    wanted = target[inner:len(target) - inner] - windows[:, inner]
    others = [k for k in range(TDECQ_TAPS) if k != inner]
    some = np.linalg.lstsq(windows[:, others] - windows[:, [inner]], wanted, rcond=None)[0]
    taps = np.empty(TDECQ_TAPS)
    taps[others], taps[inner] = some, 1 - some.sum()
    return taps


def _most_noise(waveform, order, thresholds, taps, phase):
    """The rms of noise at the equalizer's input at which the worse of both histograms has the target error rate; 0 or
    less where it has that without noise."""
    inner = TDECQ_TAPS // 2
    sides = np.sign(order[inner:order.size - inner, None] - (np.arange(3) + 0.5))
    spread = thresholds[1] - thresholds[0]
    least = np.inf
    for instants in _HISTOGRAMS:
        values = np.concatenate([_windows(waveform, phase + instant) @ taps for instant in instants])
        margins = (np.tile(sides, (len(instants), 1)) * (values[:, None] - thresholds)).reshape(-1)
        centres = 4 * spread * ((np.arange(_BINS) + 0.5) / _BINS - 0.5)
        bins = np.clip((margins / (4 * spread) + 0.5) * _BINS, 0, _BINS - 1).astype(int)
        counts = np.bincount(bins, minlength=_BINS) / values.size

        def excess(deviation, counts=counts, centres=centres):
            return counts @ scipy.special.ndtr(-centres / deviation) - TDECQ_ERROR_RATE

        if excess(1e-6 * spread) >= 0:
            return -float(excess(1e-6 * spread))
        least = min(least, scipy.optimize.brentq(excess, 1e-6 * spread, 2 * spread, xtol=1e-6 * spread))
    return least / noise_gain(taps)
