# SPDX-License-Identifier: GPL-3.0-or-later
"""What is exported: a model's network as it is, with the scale of the samples it takes."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.statistics import record_statistics

_GOLDEN = 32  # windows
_CLEAR = 1e-2  # a golden decision's distance, in logits, from one that rounding could turn


@dataclass(frozen=True)
class Frozen:
    """model: core.model, of which the network is exported and no front filter. mean, rms: of the
    samples that will come, taken off in what is exported; 0 and 1 for samples that are normalised
    already, as an equalizer's are."""

    model: core.model
    mean: complex = 0
    rms: float = 1

    @classmethod
    def of(cls, model: core.model, record: npt.NDArray | None = None) -> Frozen:
        """record: float32 or complex64 (n,), a record of samples as they will come, or None for
        those that are normalised. Raises ValueError for samples that do not fit the model."""
        if record is None:
            return cls(model)
        if np.iscomplexobj(record) != model.complex:
            raise ValueError(f"{'complex' if np.iscomplexobj(record) else 'real'} samples, the model "
                             f"is for {'complex' if model.complex else 'real'} ones")
        mean, rms = record_statistics(record)
        return cls(model, complex(mean), rms)

    @property
    def floats(self) -> int:
        """Of a sample: 2 of a complex one, I and Q."""
        return 1 + self.model.complex

    @property
    def stride(self) -> int:
        """Floats of a symbol."""
        return self.model.sps * self.floats

    @property
    def inputs(self) -> int:
        """Floats of a window."""
        return self.model.network.sizes[0]

    @property
    def floats_before(self) -> int:
        """Floats of a window before its symbol's middle sample."""
        return (self.model.half_window * self.model.sps + self.model.sps // 2) * self.floats

    @property
    def offset(self) -> npt.NDArray[np.float32]:
        """The mean of each float of a sample."""
        return np.array([self.mean.real, self.mean.imag][:self.floats], np.float32)

    @property
    def scaled(self) -> bool:
        """Whether mean and rms are there to be taken off."""
        return (self.mean, self.rms) != (0, 1)

    @functools.cached_property
    def layers(self) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
        """Weights (outputs, inputs) and biases (outputs,) of each layer."""
        network = self.model.network
        return [(network.weight(k).copy(), network.bias(k).copy())
                for k in range(len(network.sizes) - 1)]

    def golden_record(self, symbols: int) -> npt.NDArray[np.float32]:
        """Normalised samples, floats (symbols, stride): random symbols in noise, each one's own in a row."""
        random = np.random.default_rng(0)
        points = self.model.constellation.points
        sent = np.repeat(points[random.integers(0, points.size, symbols)], self.model.sps)
        samples = (sent if self.model.complex else sent.real) / np.sqrt(np.mean(np.abs(points) ** 2))
        floats = samples.astype(np.complex64 if self.model.complex else np.float32).view(np.float32)
        floats += 0.2 * random.standard_normal(floats.size, np.float32)
        return floats.reshape(symbols, self.stride)

    def golden_windows(self) -> npt.NDArray[np.float32]:
        """Normalised windows (n, inputs) that each class is decided in, if the network ever does, none of them
        close to another."""
        record = self.golden_record(512 + 2 * self.model.half_window)
        windows = np.lib.stride_tricks.sliding_window_view(record.ravel(), self.inputs)[::self.stride].copy()
        labels, posteriors = self.model.network.decide(windows)
        second, first = np.log(np.maximum(np.sort(posteriors)[:, -2:].T, 1e-37))
        clear = np.flatnonzero(first - second > _CLEAR)
        rank = np.zeros(labels.size, int)  # how many of its class came before
        for label in np.unique(labels[clear]):
            own = clear[labels[clear] == label]
            rank[own] = np.arange(own.size)
        return windows[clear[np.argsort(rank[clear], kind="stable")][:_GOLDEN]]

    def as_they_come(self, windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Normalised windows (n, inputs) as samples with this mean and rms."""
        return (windows * np.float32(self.rms) + self._mean_of_inputs).astype(np.float32)

    def prepared(self, windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The reverse, in the arithmetic of what is exported."""
        return (windows - self._mean_of_inputs) / np.float32(self.rms)

    @property
    def _mean_of_inputs(self):
        return np.tile(self.offset, self.inputs // self.floats)

    @functools.cached_property
    def quantized(self) -> core.quantized_network | None:
        """The network in whole numbers, if the model has formats for it."""
        formats = self.model.formats
        return None if formats is None else core.quantized_network(self.model.network, formats)

    def logits(self, windows: npt.NDArray[np.float32]) -> npt.NDArray:
        """Of normalised windows (n, inputs): int32 by the core if quantized, else float32 by doubles."""
        if self.quantized is not None:
            return self.quantized.decide(windows)[1]
        x = windows.astype(np.float64)
        for k, (weights, biases) in enumerate(self.layers):
            x = (np.maximum(x, 0) if k else x) @ weights.T.astype(np.float64) + biases
        return x.astype(np.float32)
