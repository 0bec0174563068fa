# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a reference's labels lie in a capture, by correlation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.fft

from .labels import UNKNOWN, known

_LOOKED_AT = 1 << 19, 1 << 22  # symbols, from the start, that a delay is searched in: more where these show none

DOUBTFUL_AGREEMENT, CLEAR_AGREEMENT = 0.5, 0.8  # of mean samples and points, see agreement()


def find_delay(samples: npt.NDArray, labels: npt.NDArray, points: npt.NDArray, sps: int) -> int:
    """The whole delay d, in symbols: label j is the symbol whose middle is sample (j + d)*sps.

    samples: normalised float or complex (n,); labels: integers (m,), UNKNOWN where not known; points: complex (M,),
    the constellation in label order. Complex samples are also correlated with the conjugate symbols,
    so that neither a rotation nor an imbalance of I and Q hides the peak. Of long records the first 2^19 symbols are
    looked at, and where these show no delay the first 2^22.
    Raises ValueError where no delay stands out of the noise.
    """
    for longest in _LOOKED_AT:
        try:
            return _delay(samples[:longest * sps], labels[:longest], points, sps)
        except ValueError:
            if longest == _LOOKED_AT[-1] or max(samples.size // sps, labels.size) <= longest:
                raise
    raise AssertionError


def find_delay_of_turning(samples: npt.NDArray, labels: npt.NDArray, points: npt.NDArray, sps: int) -> int:
    """The same of complex samples with a carrier offset: of what is between neighbouring symbols, where it does not.

    Noise counts twice there, so find_delay comes first. Arguments and errors as of find_delay.
    """
    received = samples[:_LOOKED_AT[0] * sps:sps]
    sent = points_of(labels[:_LOOKED_AT[0]], points).astype(np.complex64)
    return _lag(*(each[1:] * each[:-1].conj() for each in (received, sent)))


def _delay(samples, labels, points, sps):
    sent = points_of(labels, points).astype(np.complex64)
    return _lag(samples[::sps], sent if np.iscomplexobj(samples) else sent.real)


def _lag(received, sent):
    # Long enough that the circular correlation does not wrap; scipy keeps single precision.
    length = scipy.fft.next_fast_len(received.size + sent.size)
    spectrum = _spectrum(received, length)
    power = _correlated(spectrum, sent)
    if sent.imag.any():
        power += _correlated(spectrum, sent.conj())
    peak = int(power.argmax())
    delay = peak if peak < received.size else peak - length
    received = received[max(0, delay):sent.size + delay]
    sent = sent[max(0, -delay):][:received.size]
    received = received[sent != 0]
    sent = sent[sent != 0]
    energy = np.vdot(received, received).real * np.vdot(sent, sent).real
    coefficient = np.sqrt(power[peak] / energy) if energy else 0
    # Noise over n symbols correlates to 1/sqrt(n); the largest of 10^6 lags, to 5.3 times that.
    needed = 7 / np.sqrt(received.size)
    if not coefficient > needed:
        raise ValueError("the reference does not align with the capture: the largest correlation, "
                         f"at a delay of {delay} symbols, is {coefficient:.2g} (needed: {needed:.2g})")
    return delay


def _spectrum(x, length):
    """In place: of a long record each copy counts."""
    padded = np.zeros(length, np.complex64)
    padded[:x.size] = x
    return scipy.fft.fft(padded, overwrite_x=True)


def _correlated(spectrum, sent):
    """The power of the circular correlation of what has a spectrum with symbols."""
    product = _spectrum(sent, spectrum.size)
    np.conj(product, out=product)
    product *= spectrum
    power = np.abs(scipy.fft.ifft(product, overwrite_x=True))
    return np.square(power, out=power)


def points_of(labels: npt.NDArray, points: npt.NDArray) -> npt.NDArray:
    """The points of labels (n,), 0 of those that are not known; points: complex (M,)."""
    told = known(labels, len(points))
    return np.where(told, points[np.where(told, labels, 0)], 0)


def agreement(samples: npt.NDArray, labels: npt.NDArray[np.uint8], points: npt.NDArray, sps: int,
              delay: int) -> float:
    """How well the mean sample of each label lies where the constellation has its point: 0 to 1.

    Arguments as of find_delay, and its result. It is the part of the means' power that a gain, a
    rotation and an offset of the points explain. Interference of other symbols averages out.
    """
    received = samples[::sps][max(0, delay):labels.size + delay]
    labels = labels[max(0, -delay):][:received.size]
    told = known(labels, len(points))
    received, labels = received[told], labels[told]
    counts = np.bincount(labels, minlength=len(points))
    means = sum(factor * np.bincount(labels, part, len(points)) for factor, part in
                ((1, received.real), (1j, received.imag))) / np.maximum(counts, 1)
    points = points if np.iscomplexobj(samples) else points.real
    means, points = (each - np.average(each, weights=counts) for each in (means, points))
    power = np.sum(counts * abs(means) ** 2) * np.sum(counts * abs(points) ** 2)
    return float(abs(np.sum(counts * points.conj() * means)) ** 2 / power) if power else 0.0


def is_conjugated(samples: npt.NDArray, labels: npt.NDArray[np.uint8], points: npt.NDArray, sps: int) -> bool:
    """Whether the means of complex samples lie as the conjugate points do, and not as the points: the spectrum is
    inverted, or I and Q are exchanged. Arguments as of find_delay; False where the labels do not align."""
    try:
        delay = find_delay(samples, labels, points, sps)
    except ValueError:
        return False
    as_they_are, mirrored = (agreement(samples, labels, each, sps, delay) for each in (points, points.conj()))
    return as_they_are < DOUBTFUL_AGREEMENT and mirrored > CLEAR_AGREEMENT


class AlignedLabels:
    """The label of each of `size` symbols of a capture, UNKNOWN where none is known, taken from labels (m,) where they
    are read: label j is that of symbol j + delay."""

    dtype = np.dtype(np.uint8)

    def __init__(self, labels: npt.NDArray[np.uint8], delay: int, size: int) -> None:
        self._labels, self._delay, self.size = labels, delay, size
        self.base = labels  # for statistics.release

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: slice) -> npt.NDArray[np.uint8]:
        start, stop, step = index.indices(self.size)
        there = np.full(max(0, stop - start), UNKNOWN, np.uint8)
        first = max(start, self._delay)
        end = min(stop, self._labels.size + self._delay)
        if first < end:
            there[first - start:end - start] = self._labels[first - self._delay:end - self._delay]
        return there[::step]


def known_labels(samples: npt.NDArray, labels: npt.NDArray[np.uint8], points: npt.NDArray,
                 sps: int) -> AlignedLabels:
    """The label of each whole symbol of a capture, (n // sps,). Arguments and errors as of find_delay."""
    return AlignedLabels(labels, find_delay(samples, labels, points, sps), samples.size // sps)
