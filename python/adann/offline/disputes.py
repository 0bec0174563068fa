# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is right where receivers decide differently and no symbols are known: those with the smallest residual.

The expected waveform is fitted to what most of them decide, and then to the labels with the smallest residual.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.ndimage

from .. import core

_FITTED = 1 << 16  # symbols at most, from the first on, that the waveform is fitted to
_ROUNDS = 2        # of it

Labels = npt.NDArray[np.uint8]


def refuted(samples: npt.NDArray, decided: Mapping[str, Labels],
            constellation: core.constellation) -> dict[str, npt.NDArray[np.bool_]]:
    """Which of each receiver's labels the samples refute: where others decide differently, and what one of these
    decides has a smaller residual around the symbol than its own.

    samples: float32 or complex64 (n, sps), row i those around the middle of consecutive symbol i; decided: {name: uint8
    (n,)}. Returns {name: bool (n,)}; {} where there are too few symbols for a waveform to be fitted.
    """
    labels = np.stack(list(decided.values()))
    best = np.argmax([np.sum(labels == label, axis=0) for label in range(constellation.size)], axis=0).astype(np.uint8)
    for _ in range(_ROUNDS):
        try:
            waveform = core.expected_waveform.fit(constellation, samples[:_FITTED], best[:_FITTED])
        except ValueError:
            return {}
        errors = [_unexplained(samples, each, waveform) for each in labels]
        best = np.take_along_axis(labels, np.argmin(errors, axis=0)[None], axis=0)[0]
    return {name: each != best for name, each in zip(decided, labels)}


def _unexplained(samples, labels, waveform):
    """(n,): the power that labels leave of the samples around each symbol."""
    expected = waveform.expect(np.pad(labels, waveform.reach, mode="edge"))
    left = np.sum(abs(samples - expected) ** 2, axis=1, dtype=np.float64)
    return scipy.ndimage.uniform_filter1d(left, 2 * waveform.reach + 1, mode="nearest")
