# SPDX-License-Identifier: GPL-3.0-or-later
"""Mean and power of a record, and the record without them: in portions, however long it is."""

from __future__ import annotations

import copy
import mmap
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

PORTION = 1 << 18  # samples that are in memory at once
_LEAST = 1e-15     # of a power


def record_statistics(samples: npt.ArrayLike, first: int = 0, end: int | None = None) -> tuple[complex, float]:
    """Mean and rms (standard deviation) of a record's finite samples.

    samples: array, real or complex; of those from `first` to before `end`. Returns (mean, rms) for
    `normalizer.fixed` and `resampler(normalization="record")`; of complex samples rms is sqrt(mean of |x - mean|^2).
    Raises ValueError if no sample is finite or all of them are alike.
    """
    return _statistics(samples if hasattr(samples, "dtype") else np.asarray(samples), first, end)[1:]


def _statistics(array, first, end):
    """How many samples are finite, their mean and rms."""
    count, mean, variance = 0, 0.0, 0.0
    for part in portions(array, first, end):
        finite = part[np.isfinite(part)].astype(np.result_type(part, np.float64))
        if not count:
            count = finite.size
            mean, variance = (finite.mean(), finite.var()) if count else (mean, variance)
        elif finite.size:  # Chan, Golub and LeVeque, 1979
            share, step = finite.size / (count + finite.size), finite.mean() - mean
            variance += share * (finite.var() - variance + (1 - share) * abs(step) ** 2)
            mean, count = mean + share * step, count + finite.size
    if not count:
        raise ValueError(f"samples has {array.size} samples and none is finite, "
                         "allowed: a record with finite samples")
    if variance == 0:
        raise ValueError(f"samples is {mean} throughout, allowed: a record with a signal")
    return count, np.asarray(mean).item(), float(np.sqrt(variance))


def modulation_error_ratio(values: npt.NDArray, sent: npt.NDArray) -> float:
    """MER in dB: power of the points over that of their errors, after the best gain; ETSI TR 101 290.

    values, sent: received values and points sent, (n,) each. Raises ValueError where all points are 0.
    """
    power = np.vdot(sent, sent).real
    if not power:
        raise ValueError("no symbol but 0")
    gained = np.vdot(sent, values) / power * sent
    signal, error = np.vdot(gained, gained).real, np.sum(abs(values - gained) ** 2)
    return float(10 * np.log10(max(signal, _LEAST) / max(error, _LEAST)))


def error_vector_magnitude(ratio: float) -> float:
    """EVM: the rms error of symbols over the rms of the points, of a modulation error ratio in dB.

    As in 3GPP TS 36.104, Annex E. ETSI TR 101 290 has the largest point's magnitude in place of the rms.
    """
    return 10 ** (-ratio / 20)


class Normalized:
    """A record with zero mean and unit power, computed where it is read; samples that are not finite become 0.

    samples: float32 or complex64 (n,), or what is sliced like it. bursts: [(first, end)] in samples, rising, each
    with a mean and a power of its own, all else being 0; None: the record as a whole. Raises ValueError as
    record_statistics does. lost: how many samples, of the bursts if there are some, are not finite.
    """

    ndim = 1

    def __init__(self, samples: npt.NDArray, bursts: Sequence[tuple[int, int]] | None = None) -> None:
        self._samples = self.base = samples  # base: for release
        self._unusable = 0.0
        self.size, self.dtype = samples.size, samples.dtype
        self._spans, self.lost = [], 0
        for first, end in [(0, samples.size)] if bursts is None else bursts:
            count, mean, rms = _statistics(samples, first, end)
            self._spans.append((first, end, mean, rms))
            self.lost += end - first - count

    def __getitem__(self, index: slice) -> npt.NDArray:
        start, stop, step = index.indices(self.size)
        scaled = np.zeros(max(0, stop - start), self.dtype)
        for first, end, mean, rms in self._spans:
            high = min(end, stop)
            for low in range(max(first, start), high, PORTION):
                part = self._samples[low:min(low + PORTION, high)]
                with np.errstate(invalid="ignore"):
                    part = (part - part.dtype.type(mean)) / np.float32(rms)
                part[~np.isfinite(part)] = self._unusable
                scaled[low - start:][:part.size] = part
                if stop - start > PORTION:
                    release(self._samples)
        return scaled[::step]

    def __len__(self) -> int:
        return self.size

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> npt.NDArray:
        return self[:].astype(dtype or self.dtype, copy=False)

    def marked(self) -> Normalized:
        """The same, but samples that are not finite become NaN."""
        other = copy.copy(self)
        other._unusable = np.nan
        return other

    def cut(self, size: int) -> Normalized:
        """The same, ending after `size` samples."""
        self.size = size
        return self


def normalized(samples: npt.NDArray, bursts: Sequence[tuple[int, int]] | None = None) -> npt.NDArray:
    """All of Normalized(samples, bursts), in memory."""
    return Normalized(np.asarray(samples), bursts)[:]


def portions(samples: npt.NDArray, first: int = 0, end: int | None = None,
             size: int = PORTION) -> Iterator[npt.NDArray]:
    """An array's items from `first` to before `end`, `size` at a time. What was read of a file is given back:
    it does not fill the memory."""
    end = samples.size if end is None else end
    for start in range(first, end, size):
        yield samples[start:min(start + size, end)]
        release(samples)


def release(array: object) -> None:
    """Give the pages of a memory-mapped array back; they are read again where they are wanted."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    if array is not None:
        array.madvise(mmap.MADV_DONTNEED)
