# SPDX-License-Identifier: GPL-3.0-or-later
"""Real records of a modulated carrier, as an SSB receiver's audio or an IF is, brought to complex baseband."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.signal

from .statistics import release

_RESOLUTION = 1024    # frequencies
_AT_ONCE = 1 << 9     # segments of them
_PORTION = 1 << 17    # samples that are shifted at once
_MARGIN = 1 << 14     # around them
_LEAST_BELOW = 0.08   # of the power below half of the middle frequency: baseband, line codes too, has 0.18


def middle_frequency(samples: npt.NDArray) -> float | None:
    """The frequency, in cycles per sample, with half of a real record's power on either side, if there is a carrier:
    if hardly any power lies below half of it. None for a record at baseband.

    samples: finite float (n,), or what is sliced like it.
    """
    if samples.size < _RESOLUTION:
        return None
    segments, density = samples.size // (_RESOLUTION // 2) - 1, 0.0
    for first in range(0, segments, _AT_ONCE):
        there = min(_AT_ONCE, segments - first)
        part = samples[first * _RESOLUTION // 2:(first + there + 1) * _RESOLUTION // 2]
        frequencies, mean = scipy.signal.welch(part, nperseg=_RESOLUTION)
        density = density + there * mean.astype(np.float64)
        release(samples)
    power = np.cumsum(density) / np.sum(density)
    middle = frequencies[np.searchsorted(power, 0.5)]
    return float(middle) if power[np.searchsorted(frequencies, middle / 2)] < _LEAST_BELOW else None


def to_baseband(samples: npt.NDArray, frequency: float, out: npt.NDArray | None = None) -> npt.NDArray[np.complex64]:
    """The analytic signal of a real record, shifted down by `frequency` cycles per sample.

    samples: finite float (n,), or what is sliced like it; out: complex64 (n,) to write it to, as of a file; None: a new
    array.
    """
    out = np.empty(samples.size, np.complex64) if out is None else out
    for first in range(0, samples.size, _PORTION):
        low, end = max(0, first - _MARGIN), min(first + _PORTION, samples.size)
        part = np.array(samples[low:end + _MARGIN], np.float64)
        analytic = scipy.signal.hilbert(part, scipy.fft.next_fast_len(part.size))[first - low:end - low]
        out[first:end] = analytic * np.exp(-2j * np.pi * frequency * np.arange(first, end))
        release(samples)
        release(out)
    return out
