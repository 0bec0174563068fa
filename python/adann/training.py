# SPDX-License-Identifier: GPL-3.0-or-later
"""Offline training with torch: a network from a capture and the labels that were sent.

The paper's Section II-A: cross-entropy, momentum SGD, batches drawn at random.
"""

import contextlib
import math
from dataclasses import dataclass

import numpy as np

from . import core
from .alignment import find_delay
from .captures import normalized

LEARNING_RATES = {"momentum": 0.004, "adam": 0.005}


@dataclass
class TrainingSettings:
    """hidden: neurons of each hidden layer. fraction: the part of the labelled symbols, from the
    first on, that is trained on; the rest tests. optimizer: momentum (SGD, 0.9) or adam.
    learning_rate: None takes the optimizer's own in LEARNING_RATES."""

    hidden: tuple = (10, 10, 10, 10)
    fraction: float = 0.25
    epochs: int = 200
    batch: int = 16384
    optimizer: str = "momentum"
    learning_rate: float | None = None
    seed: int = 0

    def __post_init__(self):
        if self.optimizer not in LEARNING_RATES:
            raise ValueError(f"optimizer is {self.optimizer}, allowed: {', '.join(LEARNING_RATES)}")
        if self.learning_rate is None:
            self.learning_rate = LEARNING_RATES[self.optimizer]
        for name, value, good in (
            ("fraction", self.fraction, 0 < self.fraction <= 1),
            ("epochs", self.epochs, self.epochs > 0),
            ("batch", self.batch, self.batch > 0),
            ("learning_rate", self.learning_rate, self.learning_rate > 0),
        ):
            if not good:
                raise ValueError(f"{name} is {value}, allowed: above 0"
                                 + (" to 1" if name == "fraction" else ""))

    def __str__(self):
        return (f"{self.optimizer}, learning rate {self.learning_rate:g}, batch {self.batch}, "
                f"{self.epochs} epochs, fraction {self.fraction:g}, seed {self.seed}")


@dataclass
class Score:
    """What a network does on some symbols: mean cross-entropy (natural log), errors."""

    loss: float
    symbols: int
    symbol_errors: int
    bits: int
    bit_errors: int


@dataclass
class Trained:
    """model: core.model. delay: see alignment.find_delay. train, test: Score of the symbols trained
    on and of the rest; test is None if there is no rest."""

    model: object
    delay: int
    train: Score
    test: Score | None


def train(samples, labels, constellation, sps, half_window, settings=None, progress=None):
    """Train an equalizer on one capture.

    samples: float32 or complex64 (n,), sps a symbol, sample i*sps the middle of symbol i up to a
    whole delay; they are normalised here as a whole record. labels: uint8 (m,), 0 … M-1.
    constellation: a name of core.constellation.names(). progress: called as progress(epoch, loss)
    after each epoch, epoch from 1. Returns Trained.
    Raises ValueError for what does not fit together, RuntimeError if the loss diverges.
    """
    import torch

    settings = settings or TrainingSettings()
    symbols = core.constellation(constellation)
    is_complex = np.iscomplexobj(samples)
    if symbols.is_complex and not is_complex:
        raise ValueError(f"constellation {constellation} needs complex samples, these are real")
    if sps < 1:
        raise ValueError(f"sps is {sps}, allowed: 1 to 64")
    sizes = [sps * (2 * half_window + 1) * (1 + is_complex), *settings.hidden, symbols.size]
    model = core.model(core.network(sizes), sps, half_window, is_complex, constellation,
                       str(settings))
    samples = normalized(samples)
    features = feature_view(samples, sps, half_window)
    delay = find_delay(samples, labels, symbols.points, sps)
    features = features[max(0, delay):labels.size + delay]
    labels = labels[max(0, -delay):][:len(features)]
    part = max(1, round(settings.fraction * labels.size))

    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(settings.seed)
        network = _make_network(sizes)
        _fit(network, torch.from_numpy(features[:part]),
             torch.from_numpy(labels[:part].astype(np.int64)), settings, progress)
    vector = torch.nn.utils.parameters_to_vector(network.parameters())
    model.network.parameters[:] = vector.detach().numpy()
    return Trained(model, delay, _score(model, features[:part], labels[:part]),
                   _score(model, features[part:], labels[part:]) if part < labels.size else None)


def feature_view(samples, sps, half_window):
    """The windows around all symbols, float32 (symbols, dimension): a view whose rows overlap.

    They lie as window_geometry in lib/core/features.h says; outside the record there are zeros.
    Raises ValueError for a record shorter than one window.
    """
    before, length = sps // 2 + half_window * sps, sps * (2 * half_window + 1)
    if samples.size < length:
        raise ValueError(f"{samples.size} samples are fewer than one window of {length}")
    padded = np.pad(samples, (before, length)).view(np.float32)
    floats = padded.size // (samples.size + before + length)
    windows = np.lib.stride_tricks.sliding_window_view(padded, length * floats, writeable=True)
    return windows[::sps * floats][:samples.size // sps]


@contextlib.contextmanager
def _one_thread():
    """Layers this small gain nothing from more threads, lose a lot to them on a busy machine, and
    sum in an order that depends on their number."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _make_network(sizes):
    """He's initialisation, as core.network: weights normal of variance 2 / inputs, biases zero."""
    import torch

    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layer = torch.nn.Linear(inputs, outputs)
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _fit(network, features, targets, settings, progress):
    import torch

    if settings.optimizer == "adam":
        optimizer = torch.optim.Adam(network.parameters(), settings.learning_rate)
    else:
        optimizer = torch.optim.SGD(network.parameters(), settings.learning_rate, momentum=0.9)
    for epoch in range(1, settings.epochs + 1):
        total = 0
        for index in torch.randperm(len(targets)).split(settings.batch):
            # Only the batch's windows are copied out of the view.
            loss = torch.nn.functional.cross_entropy(network(features[index]), targets[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(index)
        if not math.isfinite(total):
            raise RuntimeError(f"training diverged in epoch {epoch}; learning_rate is "
                               f"{settings.learning_rate:g}, try a smaller one")
        if progress:
            progress(epoch, total / len(targets))


def _score(model, features, labels):
    """Score of the network as the receiver will run it."""
    loss = symbol_errors = bit_errors = 0
    for start in range(0, len(labels), 65536):  # bounds the memory that the posteriors take
        sent = labels[start:start + 65536]
        decided, posteriors = model.network.decide(features[start:start + 65536])
        loss -= np.log(np.maximum(posteriors[np.arange(sent.size), sent], 1e-38)).sum()
        symbol_errors += np.count_nonzero(decided != sent)
        bit_errors += np.unpackbits(decided ^ sent).sum()
    return Score(float(loss) / len(labels), len(labels), int(symbol_errors),
                 len(labels) * model.constellation.bits_per_symbol, int(bit_errors))
