# SPDX-License-Identifier: GPL-3.0-or-later
"""Real records of a modulated carrier, as an SSB receiver's audio or an IF is, brought to complex baseband."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.signal

_RESOLUTION = 1024    # frequencies
_LEAST_BELOW = 0.08   # of the power below half of the middle frequency: baseband, line codes too, has 0.18


def middle_frequency(samples: npt.NDArray) -> float | None:
    """The frequency, in cycles per sample, with half of a real record's power on either side, if there is a carrier:
    if hardly any power lies below half of it. None for a record at baseband.

    samples: finite float (n,).
    """
    if samples.size < _RESOLUTION:
        return None
    frequencies, density = scipy.signal.welch(samples, nperseg=_RESOLUTION)
    power = np.cumsum(density) / density.sum()
    middle = frequencies[np.searchsorted(power, 0.5)]
    return float(middle) if power[np.searchsorted(frequencies, middle / 2)] < _LEAST_BELOW else None


def to_baseband(samples: npt.NDArray, frequency: float) -> npt.NDArray[np.complex64]:
    """The analytic signal of a real record (n,), shifted down by `frequency` cycles per sample."""
    length = scipy.fft.next_fast_len(samples.size)
    spectrum = scipy.fft.fft(samples, length)
    spectrum[length // 2 + 1:] = 0  # which is twice the real one's half
    analytic = 2 * scipy.fft.ifft(spectrum)[:samples.size]
    return (analytic * np.exp(-2j * np.pi * frequency * np.arange(samples.size))).astype(np.complex64)
