# SPDX-License-Identifier: GPL-3.0-or-later
"""Mean and power of a whole record, and the record without them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def record_statistics(samples: npt.ArrayLike) -> tuple[complex, float]:
    """Mean and rms (standard deviation) of a record's finite samples.

    samples: array, real or complex. Returns (mean, rms) for `normalizer.fixed` and
    `resampler(normalization="record")`; of complex samples rms is sqrt(mean of |x - mean|^2).
    Raises ValueError if no sample is finite or all of them are alike.
    """
    samples = np.asarray(samples)
    finite = samples[np.isfinite(samples)].astype(np.result_type(samples, np.float64))
    if not finite.size:
        raise ValueError(f"samples has {samples.size} samples and none is finite, "
                         "allowed: a record with finite samples")
    mean, rms = finite.mean().item(), finite.std().item()
    if rms == 0:
        raise ValueError(f"samples is {mean} throughout, allowed: a record with a signal")
    return mean, rms


def normalized(samples: npt.NDArray) -> npt.NDArray:
    """The whole record with zero mean and unit power; samples that are not finite become 0.

    samples: float32 or complex64 (n,). Raises ValueError as record_statistics does.
    """
    samples = np.asarray(samples)
    mean, rms = record_statistics(samples)
    with np.errstate(invalid="ignore"):
        scaled = (samples - samples.dtype.type(mean)) / np.float32(rms)
    scaled[~np.isfinite(scaled)] = 0
    return scaled
