# SPDX-License-Identifier: GPL-3.0-or-later
"""What is exported: a model's network as it is, with the scale of the samples it takes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.statistics import record_statistics
from .fold import Matrix

_GOLDEN = 32  # windows
_CLEAR = 1e-2  # a golden decision's distance, in logits, from one that rounding could turn


@dataclass(frozen=True)
class Frozen:
    """model: of which the network is exported and no front filter; or several channels' Matrix. mean, rms: of the
    samples of each channel that will come, taken off in what is exported; 0 and 1 for samples that are normalised
    already, as an equalizer's are."""

    model: core.model | Matrix
    mean: complex | Sequence[complex] = 0
    rms: float | Sequence[float] = 1
    channels: int = field(init=False, default=1)
    outputs: int = field(init=False, default=1)  # transmitters whose labels come

    def __post_init__(self) -> None:
        if isinstance(self.model, Matrix):
            object.__setattr__(self, "channels", self.model.channels)
            object.__setattr__(self, "outputs", self.model.outputs)

    @classmethod
    def of(cls, model: core.model | Matrix, *records: npt.NDArray) -> Frozen:
        """records: float32 or complex64 (n,), of each channel a record of samples as they will come; none for
        samples that are normalised. Raises ValueError for samples that do not fit the model."""
        frozen = cls(model)
        if not records:
            return frozen
        if len(records) != frozen.channels:
            raise ValueError(f"{len(records)} channels of samples, allowed: {frozen.channels}, as the network takes")
        for record in records:
            if np.iscomplexobj(record) != model.complex:
                raise ValueError(f"{'complex' if np.iscomplexobj(record) else 'real'} samples, the model "
                                 f"is for {'complex' if model.complex else 'real'} ones")
        mean, rms = zip(*map(record_statistics, records))
        return cls(model, mean, rms)

    @property
    def floats(self) -> int:
        """Of a sample of all channels: 2 of a complex one, I and Q."""
        return self.channels * (1 + self.model.complex)

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
        means = np.broadcast_to(np.asarray(self.mean, complex), self.channels)
        return np.stack([means.real, means.imag][:1 + self.model.complex], 1).ravel().astype(np.float32)

    @property
    def scale(self) -> npt.NDArray[np.float32]:
        """The rms by which each float of a sample is divided."""
        return np.repeat(np.broadcast_to(np.asarray(self.rms, np.float32), self.channels), 1 + self.model.complex)

    @property
    def scaled(self) -> bool:
        """Whether mean and rms are there to be taken off."""
        return bool(self.offset.any() or (self.scale != 1).any())

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
        sent = np.repeat(points[random.integers(0, points.size, (symbols, self.channels))], self.model.sps, 0)
        samples = (sent if self.model.complex else sent.real) / np.sqrt(np.mean(np.abs(points) ** 2))
        floats = samples.ravel().astype(np.complex64 if self.model.complex else np.float32).view(np.float32)
        floats += 0.2 * random.standard_normal(floats.size, np.float32)
        return floats.reshape(symbols, self.stride)

    def windows(self, floats: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Those (n, inputs), of a record's floats, that lie in it as a whole."""
        if floats.size < self.inputs:
            raise ValueError(f"{floats.size // self.floats} samples are fewer than one window of "
                             f"{self.inputs // self.floats}")
        return np.lib.stride_tricks.sliding_window_view(floats, self.inputs)[::self.stride].copy()

    def golden_windows(self) -> npt.NDArray[np.float32]:
        """Normalised windows (n, inputs) that each class is decided in, if the network ever does, none of them
        close to another. Raises ValueError where it decides none clearly."""
        record = self.golden_record(512 + 2 * self.model.half_window)
        windows = self.windows(record.ravel())
        logits = self._float_logits(windows).reshape(len(windows), self.outputs, -1)
        labels = logits.argmax(2)[:, 0]
        second, first = np.moveaxis(np.sort(logits)[..., -2:], 2, 0)
        clear = np.flatnonzero((first - second).min(1) > _CLEAR)
        if not clear.size:
            raise ValueError("the network decides nothing: its outputs are alike for every window, allowed: a trained "
                             "one")
        rank = np.zeros(labels.size, int)  # how many of its class came before
        for label in np.unique(labels[clear]):
            own = clear[labels[clear] == label]
            rank[own] = np.arange(own.size)
        return windows[clear[np.argsort(rank[clear], kind="stable")][:_GOLDEN]]

    def as_they_come(self, windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Normalised windows (n, inputs) as samples with this mean and rms."""
        return (windows * self._of_inputs(self.scale) + self._of_inputs(self.offset)).astype(np.float32)

    def prepared(self, windows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The reverse, in the arithmetic of what is exported."""
        return (windows - self._of_inputs(self.offset)) / self._of_inputs(self.scale)

    def _of_inputs(self, values):
        return np.tile(values, self.inputs // self.floats)

    @functools.cached_property
    def quantized(self) -> core.quantized_network | None:
        """The network in whole numbers, if the model has formats for it."""
        formats = self.model.formats
        return None if formats is None else core.quantized_network(self.model.network, formats)

    def logits(self, windows: npt.NDArray[np.float32]) -> npt.NDArray:
        """Of normalised windows (n, inputs): int32 by the core if quantized, else float32 by doubles."""
        if self.quantized is not None:
            return self.quantized.decide(windows)[1]
        return self._float_logits(windows)

    def labels(self, logits: npt.NDArray) -> npt.NDArray[np.uint8]:
        """(n, outputs) of logits (n, outputs * M)."""
        return logits.reshape(len(logits), self.outputs, -1).argmax(2).astype(np.uint8)

    def _float_logits(self, windows):
        x = windows.astype(np.float64)
        for k, (weights, biases) in enumerate(self.layers):
            x = (np.maximum(x, 0) if k else x) @ weights.T.astype(np.float64) + biases
        return x.astype(np.float32)
