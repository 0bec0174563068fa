# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters and the networks after them as one network: a front filter, or a matrix of filters for several channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.files import check_file, first_line

_MOST_BYTES = 2**24


@dataclass
class Matrix:
    """A matrix of filters and a network after each output, as one network.

    Its windows take a sample of each channel in turn, I and Q; its outputs are the logits of each transmitter in turn.
    formats: core.quantization of whole numbers, or None. The rest as in core.model.
    """

    network: core.network
    sps: int
    half_window: int
    constellation: core.constellation
    training: str
    channels: int
    outputs: int
    formats: Any = None
    complex: bool = True


def fold(model: core.model, taps: npt.NDArray[np.complex64], offset: float = 0.0) -> core.model:
    """A model whose network decides as model's does after a filter.

    Both are linear up to the first layer's sums: its weights become those of a window that is wider by what the
    filter reaches. taps: complex64 (odd,), the earliest sample's first, real ones for real samples; offset: what
    the filter adds to these. The expected waveform and formats are not taken over.
    """
    sizes, floats = list(model.network.sizes), 1 + model.complex
    weights = _behind(model.network.weight(0), taps[None], model.sps, floats)
    network = core.network([weights.shape[1], *sizes[1:]])
    for k in range(len(sizes) - 1):
        network.weight(k)[:] = model.network.weight(k) if k else weights
        network.bias(k)[:] = model.network.bias(k)
    network.bias(0)[:] += np.float32(offset) * model.network.weight(0).sum(1)
    return core.model(network, model.sps, model.half_window + _wider(taps, model.sps), model.complex,
                      model.constellation, model.training)


def fold_matrix(models: Sequence[core.model], taps: npt.NDArray[np.complex64]) -> Matrix:
    """A matrix of filters and the networks after its outputs, one for all or one for each.

    taps: complex64 (outputs, channels, odd), the earliest sample's first. After the first layer the networks stand
    side by side, with zeros between them. Raises ValueError for networks that are not alike, or for real samples.
    """
    first, outputs = models[0], len(taps)
    if not first.complex:
        raise ValueError("the model is for real samples, allowed with a matrix: one for complex samples")
    if len(models) not in (1, outputs):
        raise ValueError(f"{len(models)} models, allowed: 1, or one for each of the matrix's {outputs} outputs")
    for each in models:
        if ((list(each.network.sizes), each.sps, each.half_window, each.constellation.text) !=
                (list(first.network.sizes), first.sps, first.half_window, first.constellation.text)):
            raise ValueError("models of different size or constellation, allowed after one matrix: alike ones")
    behind = list(models) * (outputs // len(models))
    rows = [_behind(each.network.weight(0), filters, first.sps, 2) for each, filters in zip(behind, taps)]
    sizes = list(first.network.sizes)
    network = core.network([rows[0].shape[1], *(outputs * size for size in sizes[1:])])
    for k in range(len(sizes) - 1):
        network.weight(k)[:] = 0
        for o, each in enumerate(behind):
            own = slice(o * sizes[k + 1], (o + 1) * sizes[k + 1])
            network.bias(k)[own] = each.network.bias(k)
            if k == 0:
                network.weight(k)[own] = rows[o]
            else:
                network.weight(k)[own, o * sizes[k]:(o + 1) * sizes[k]] = each.network.weight(k)
    return Matrix(network, first.sps, first.half_window + _wider(taps, first.sps), first.constellation, first.training,
                  taps.shape[1], outputs)


def read_matrix(path: str | Path) -> npt.NDArray[np.complex64]:
    """The taps of a .npy file, complex (outputs, channels, odd). Raises ValueError for anything else."""
    try:
        if check_file(Path(path)) > _MOST_BYTES:
            raise ValueError(f"larger than {_MOST_BYTES >> 20} MiB")
        taps = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: no matrix of filters, as adann separate --matrix writes it: "
                         f"{first_line(error)}") from error
    if not isinstance(taps, np.ndarray) or not np.iscomplexobj(taps) or taps.ndim != 3 or not taps.size or not (
            taps.shape[0] <= taps.shape[1] <= 8) or taps.shape[2] % 2 == 0:
        raise ValueError(f"{path}: {getattr(taps, 'dtype', 'no array')} {getattr(taps, 'shape', '')}, allowed: complex "
                         "(outputs, channels, taps), 1 to 8 channels, as many outputs or fewer, an odd number of taps")
    if not np.isfinite(taps).all():
        raise ValueError(f"{path}: taps that are not finite")
    return taps.astype(np.complex64)


def _wider(taps, sps):
    """Symbols on either side that filters reach."""
    return -(-(taps.shape[-1] // 2) // sps)


def _behind(weights, taps, sps, floats):
    """Weights (rows, samples * floats) of filtered samples as those of the channels' samples in turn.

    taps: (channels, odd).
    """
    reach, wider = taps.shape[1] // 2, _wider(taps, sps)
    old = weights.reshape(len(weights), -1, floats)
    samples = old.shape[1]
    new = np.zeros((len(weights), samples + 2 * wider * sps, len(taps), floats), np.float32)
    for c, k in np.ndindex(taps.shape):
        tap, first = taps[c, k], wider * sps - reach + k
        # One sample's I, Q by a complex product, or a float.
        product = np.array([[tap.real, -tap.imag], [tap.imag, tap.real]], np.float32)[:floats, :floats]
        new[:, first:first + samples, c] += old @ product
    return new.reshape(len(weights), -1)
