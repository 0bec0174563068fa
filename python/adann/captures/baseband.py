# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of a modulated carrier, as an SSB receiver's audio, an IF or a part of a wide band is, brought to complex
baseband.

What lies outside the signal is noise: its density, that of the quietest frequencies, counts for no part of the signal.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.ndimage
import scipy.signal

from .statistics import release
from .timing import find_line, telling_part

_RESOLUTION = 1024    # frequencies
_AT_ONCE = 1 << 9     # segments of them
_PORTION = 1 << 17    # samples that are shifted at once
_MARGIN = 1 << 14     # around them
_LEAST_BELOW = 0.08   # of the power below half of the middle frequency: baseband, line codes too, has 0.18
_NOISE = 0.1          # of the frequencies that hold hardly anything but noise
_DEVIATIONS = 4       # of a density's mean above which it is no noise
_SYMMETRIC = 0.2      # asymmetry of a carrier's sidebands; raised cosines at baseband have 0.9, NRZ 0.7
_SMOOTHED = 17        # frequencies
_SEGMENTS = 1 << 10   # that are correlated
_AT_ZERO = 0.25       # of the highest correlation: with a carrier it is below 0.01 there
_NEAR = 0.1           # relative: where half of a line's frequency may be the carrier's
_OUTSIDE = 0.02       # of the signal's power, at either end of its band
_WIDER = 1.5          # the band that is kept
_WIDEST = 2.1         # symbol rates: of a band that holds one signal, of roll-off 1 at most


@dataclass
class Band:
    """Of a carrier's sidebands, in cycles per sample: the carrier, and how far they reach on either side."""

    carrier: float
    half_width: float


def find_band(samples: npt.NDArray) -> Band | None:
    """The band around a record's carrier, or None for a record at baseband.

    samples: finite float or complex (n,), or what is sliced like it. The line of the symbol clock (timing.find_line),
    if there is one, shows where in the record to search, and what repeats itself is left out. BPSK has its clearest
    line at twice the carrier, and sidebands that are alike: then half of the line's frequency is the carrier. Of
    other signals the line is the symbol rate, and the carrier is the frequency with half of the power on either side,
    if those at a distance of the symbol rate are correlated around it. Without a line: if hardly any power lies below
    half of that frequency. Complex samples are at baseband unless all but the tails of their power lies in a band
    without the frequency 0, as wide as one signal needs; one that reaches over half of the sample rate is not found.
    """
    if samples.size < _RESOLUTION:
        return None
    rate, part = 0.0, samples
    with contextlib.suppress(ValueError):
        line = find_line(samples)
        rate, part = line.frequency, telling_part(samples, line)
    frequencies, density = _signal_density(part)
    power = np.cumsum(density) / max(np.sum(density), 1e-300)
    low, middle, high = frequencies[np.searchsorted(power, (_OUTSIDE, 0.5, 1 - _OUTSIDE))]
    if np.iscomplexobj(samples):
        is_off = rate and not low <= 0 <= high and rate / 2 < high - low < _WIDEST * rate
        return Band(float(middle), float(_WIDER * max(high - middle, middle - low))) if is_off else None
    # Of real samples the line at twice the carrier may lie beyond the highest frequency.
    carrier = next((each for each in (rate / 2, 0.5 - rate / 2) if rate and abs(each - middle) < _NEAR * middle
                    and _asymmetry(frequencies, density, each) < _SYMMETRIC), None)
    if carrier is None and rate:
        apart = _correlated_around(part, rate)
        if apart is not None:
            carrier = middle if abs(apart - middle) < rate / 2 else apart
    elif carrier is None:
        below = power[np.searchsorted(frequencies, middle / 2)]
        carrier = middle if below < _LEAST_BELOW else None
    return None if carrier is None else Band(float(carrier), float(_WIDER * max(high - carrier, carrier - low)))


def _signal_density(samples):
    """Frequencies, cycles per sample, and the power density that is no noise."""
    segments, density = max(1, samples.size // (_RESOLUTION // 2) - 1), 0.0
    for start in range(0, segments, _AT_ONCE):
        there = min(_AT_ONCE, segments - start)
        part = samples[start * _RESOLUTION // 2:(start + there + 1) * _RESOLUTION // 2]
        frequencies, mean = scipy.signal.welch(part, nperseg=_RESOLUTION, return_onesided=not np.iscomplexobj(part))
        density = density + there / segments * mean.astype(np.float64)
        release(samples)
    if np.iscomplexobj(samples):
        frequencies, density = np.fft.fftshift(frequencies), np.fft.fftshift(density)
    noise = np.quantile(density, _NOISE)
    return frequencies, np.where(density > noise * (1 + _DEVIATIONS / np.sqrt(segments)), density - noise, 0.0)


def _asymmetry(frequencies, density, middle):
    """0 to 1: how much of the power around a frequency lies on one of its sides and not on the other."""
    smooth = scipy.ndimage.uniform_filter1d(density, _SMOOTHED)
    off = np.arange(0, min(middle, 0.5 - middle), frequencies[1])
    above, below = (np.interp(middle + sign * off, frequencies, smooth) for sign in (1, -1))
    return float(abs(above - below).sum() / max(np.sum(above + below), 1e-300))


def _correlated_around(samples, rate):
    """The frequency around which frequencies at a distance of the symbol rate are correlated: the carrier. None of a
    signal at baseband, where it is 0. Noise is not correlated. Source: Gardner, "Exploitation of spectral redundancy in
    cyclostationary signals", IEEE Signal Process. Mag. 8, 1991."""
    starts = np.arange(0, samples.size - _RESOLUTION + 1, _RESOLUTION // 2)[:_SEGMENTS]
    at = np.arange(_RESOLUTION)
    window = np.hanning(_RESOLUTION)
    cross, powers = np.zeros(_RESOLUTION, complex), np.zeros((2, _RESOLUTION))
    for start in starts:
        turn = np.exp(1j * np.pi * rate * (start + at))
        part = samples[start:start + _RESOLUTION] * window
        above, below = scipy.fft.fft(part / turn), scipy.fft.fft(part * turn)
        cross += above * below.conj()
        powers += abs(above) ** 2, abs(below) ** 2
    coherent = abs(cross) ** 3 / np.maximum(powers[0] * powers[1], 1e-300)
    folded = scipy.ndimage.uniform_filter1d(coherent, _SMOOTHED, mode="wrap")[:_RESOLUTION // 2]
    at_zero = folded[:int(rate / 4 * _RESOLUTION) + 1].max()
    return None if at_zero > _AT_ZERO * folded.max() else float(folded.argmax() / _RESOLUTION)


def to_baseband(samples: npt.NDArray, band: Band, out: npt.NDArray | None = None) -> npt.NDArray[np.complex64]:
    """A record's band, of real samples the analytic signal, shifted down by its carrier.

    samples: finite float or complex (n,), or what is sliced like it; out: complex64 (n,) to write it to, as of a file;
    None: a new array. What lies outside the band is left out.
    """
    out = np.empty(samples.size, np.complex64) if out is None else out
    is_complex = np.iscomplexobj(samples)
    for first in range(0, samples.size, _PORTION):
        low, end = max(0, first - _MARGIN), min(first + _PORTION, samples.size)
        part = np.array(samples[low:end + _MARGIN], np.complex128 if is_complex else np.float64)
        length = scipy.fft.next_fast_len(part.size)
        off = abs(scipy.fft.fftfreq(length) - band.carrier)
        off = np.minimum(off, 1 - off) if is_complex else off
        # A raised cosine from the band's end on: no edge that rings.
        kept = np.cos(np.pi / 2 * np.clip(off / band.half_width - 1, 0, 1)) ** 2
        if not is_complex:
            kept *= 2 * (scipy.fft.fftfreq(length) > 0)
        analytic = scipy.fft.ifft(kept * scipy.fft.fft(part, length))[first - low:end - low]
        out[first:end] = analytic * np.exp(-2j * np.pi * band.carrier * np.arange(first, end))
        release(samples)
        release(out)
    return out
