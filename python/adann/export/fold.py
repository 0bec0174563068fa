# SPDX-License-Identifier: GPL-3.0-or-later
"""A front filter and the network behind it as one network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import core


def fold(model: core.model, taps: npt.NDArray[np.complex64], offset: float = 0.0) -> core.model:
    """A model whose network decides as model's does behind a filter.

    Both are linear up to the first layer's sums: its weights become those of a window that is wider by what the
    filter reaches. taps: complex64 (odd,), the earliest sample's first, real ones for real samples; offset: what
    the filter adds to these. The expected waveform and formats are not taken over.
    """
    reach, sps, floats = taps.size // 2, model.sps, 1 + model.complex
    wider = -(-reach // sps)  # symbols on either side
    sizes = list(model.network.sizes)
    samples = sizes[0] // floats
    network = core.network([sizes[0] + 2 * wider * sps * floats, *sizes[1:]])
    for k in range(len(sizes) - 1):
        network.weight(k)[:], network.bias(k)[:] = (0 if k == 0 else model.network.weight(k)), model.network.bias(k)
    old = model.network.weight(0).reshape(sizes[1], samples, floats)
    new = network.weight(0).reshape(sizes[1], -1, floats)
    for k, tap in enumerate(taps):
        # One sample's I, Q by a complex product, or a float.
        product = np.array([[tap.real, -tap.imag], [tap.imag, tap.real]], np.float32)[:floats, :floats]
        first = wider * sps - reach + k
        new[:, first:first + samples] += old @ product
    network.bias(0)[:] += np.float32(offset) * old.sum((1, 2))
    network.weight(0)[:] = new.reshape(sizes[1], -1)
    return core.model(network, sps, model.half_window + wider, model.complex, model.constellation, model.training)
