# SPDX-License-Identifier: GPL-3.0-or-later
"""What takes a training step: the core, or torch as the reference, on a GPU if it finds one.

Both have start(parameters, learning_rate), step(windows, labels), which returns the batch's mean
cross-entropy, and parameters().
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .. import core

if TYPE_CHECKING:
    from .training import TrainingSettings


class CoreLearner:
    """The core's trainer."""

    def __init__(self, network: core.network, settings: TrainingSettings) -> None:
        self._network, self._settings = network, settings

    def start(self, parameters: npt.NDArray[np.float32], learning_rate: float) -> None:
        self._network.parameters[:] = parameters
        self._trainer = core.trainer(self._network, loss="supervised",
                                     optimizer=self._settings.optimizer,
                                     learning_rate=learning_rate)

    def step(self, windows: npt.NDArray[np.float32], labels: npt.NDArray[np.uint8]) -> float:
        loss, _, accepted = self._trainer.step(windows, labels)
        return loss if accepted else math.nan

    def parameters(self) -> npt.NDArray[np.float32]:
        return self._trainer.network.parameters


class TorchLearner:
    """The same by torch, in one thread."""

    def __init__(self, network: core.network, settings: TrainingSettings) -> None:
        import torch

        self._torch, self._network, self._settings = torch, network, settings
        self._device = "cuda" if torch.cuda.is_available() else "cpu"

    def start(self, parameters: npt.NDArray[np.float32], learning_rate: float) -> None:
        torch, network = self._torch, self._network
        network.parameters[:] = parameters
        self._depth = len(network.sizes) - 1
        self._parameters = [torch.tensor(array, device=self._device, requires_grad=True)
                            for k in range(self._depth)
                            for array in (network.weight(k), network.bias(k))]
        self._optimizer = (
            torch.optim.Adam(self._parameters, learning_rate) if self._settings.optimizer == "adam"
            else torch.optim.SGD(self._parameters, learning_rate, momentum=0.9))

    def step(self, windows: npt.NDArray[np.float32], labels: npt.NDArray[np.uint8]) -> float:
        torch = self._torch
        with _one_thread(torch):
            x = torch.from_numpy(windows).to(self._device)
            for k in range(self._depth):
                x = torch.nn.functional.linear(torch.relu(x) if k else x,
                                               *self._parameters[2 * k:2 * k + 2])
            targets = torch.tensor(labels, dtype=torch.int64, device=self._device)
            loss = torch.nn.functional.cross_entropy(x, targets)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            return loss.item()

    def parameters(self) -> npt.NDArray[np.float32]:
        vector = self._torch.nn.utils.parameters_to_vector(self._parameters)
        return vector.detach().cpu().numpy()


@contextlib.contextmanager
def _one_thread(torch):
    """Layers this small gain nothing from more threads, lose a lot to them on a busy machine, and
    sum in an order that depends on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
