# SPDX-License-Identifier: GPL-3.0-or-later
"""What a network is compared with: a slicer, and a linear equalizer by least squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.labels import known

_PORTION = 8192   # symbols that are converted to double precision at once
_RIDGE = 1e-6     # of the mean power of the windows' numbers: directions without a signal

Labels = npt.NDArray[np.uint8]


def middles_of(samples: npt.NDArray, sps: int, constellation: core.constellation) -> npt.NDArray:
    """Each symbol's middle sample, (n // sps,); of an offset constellation with Q of half a symbol later."""
    middles = samples[::sps][:samples.size // sps]
    if not constellation.is_offset:
        return middles
    late = np.pad(samples, (0, sps))[sps // 2::sps][:middles.size]
    return middles.real + np.complex64(1j) * late.imag


def slicer(middles: npt.NDArray, labels: Labels, part: int, constellation: core.constellation) -> Labels:
    """Decide each symbol by its middle sample alone: the nearest of the classes' means.

    middles: (n,); labels: uint8 (n,), UNKNOWN where not known; the first `part` symbols give the means.
    """
    told = known(labels[:part], constellation.size)
    means = np.full(constellation.size, np.inf, np.complex128)
    for label in np.unique(labels[:part][told]):
        means[label] = middles[:part][labels[:part] == label].mean()
    return np.concatenate([np.argmin(
        [abs(here - mean) if np.isfinite(mean) else np.full(here.shape, np.inf) for mean in means],
        axis=0).astype(np.uint8) for here in np.array_split(middles, max(1, middles.size // _PORTION))])


def linear_equalizer(features: npt.NDArray[np.float32], labels: Labels, part: int,
                     constellation: core.constellation) -> npt.NDArray:
    """The soft symbols, float32 or complex64 (n,), of the linear equalizer of the windows, with a constant.

    features: float32 (n, dimension); labels: as for slicer. Least squares to the first `part` symbols'
    points; of complex samples I and Q have taps of their own (widely linear).
    """
    points = constellation.centred if constellation.is_complex else constellation.centred.real
    dimension = features.shape[1] + 1
    power, cross = np.zeros((dimension, dimension)), np.zeros(dimension, points.dtype)

    def windows(index):
        return np.column_stack([features[index], np.ones(len(features[index]))]).astype(np.float64)

    told = np.flatnonzero(known(labels[:part], constellation.size))
    for start in range(0, told.size, _PORTION):
        index = told[start:start + _PORTION]
        x = windows(index)
        power += x.T @ x
        cross = cross + x.T @ points[labels[index]]
    power += _RIDGE * np.trace(power) / dimension * np.eye(dimension)
    taps = np.linalg.solve(power, cross)
    single = np.complex64 if constellation.is_complex else np.float32
    return np.concatenate([(windows(slice(start, start + _PORTION)) @ taps).astype(single)
                           for start in range(0, len(features), _PORTION)])


def nearest(soft: npt.NDArray, constellation: core.constellation) -> Labels:
    """The label of the point nearest to each soft symbol (n,)."""
    points = constellation.centred if constellation.is_complex else constellation.centred.real
    return np.concatenate([abs(part[:, None] - points).argmin(axis=1).astype(np.uint8)
                           for part in np.array_split(soft, max(1, soft.size // _PORTION))])
