# SPDX-License-Identifier: GPL-3.0-or-later
"""Offline training: a network from a capture and the labels that were sent.

The paper's Section II-A: cross-entropy, momentum SGD, batches drawn at random. The core does it, or
torch as the reference, and on a GPU if it finds one. Without known labels a blind linear
equalizer's decisions take their place.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import agreement, find_delay
from ..captures.statistics import normalized
from .blind import blind_labels
from .calibration import calibrate
from .evaluate import Errors, count

BACKENDS = ("core", "torch")
_CALIBRATION = 4096  # symbols: of fewer that were not trained on, all are taken
_FEWEST_FOR_WAVEFORM = 1000  # symbols
_DOUBTFUL_AGREEMENT, _CLEAR_AGREEMENT = 0.5, 0.8  # of mean samples and points, see agreement()
LEARNING_RATES = {"momentum": 0.004, "adam": 0.005}


@dataclass
class TrainingSettings:
    """hidden: neurons of each hidden layer. fraction: the part of the labelled symbols, from the
    first on, that is trained on; the rest tests. optimizer: momentum (SGD, 0.9) or adam.
    learning_rate: None takes the optimizer's own in LEARNING_RATES. seed: of the first weights and
    the order of the symbols, the same ones for both backends: core, the faster one, or torch."""

    hidden: tuple = (10, 10, 10, 10)
    fraction: float = 0.25
    epochs: int = 200
    batch: int = 16384
    optimizer: str = "momentum"
    learning_rate: float | None = None
    seed: int = 0
    backend: str = "core"

    def __post_init__(self):
        for name, value, allowed in (("optimizer", self.optimizer, LEARNING_RATES),
                                     ("backend", self.backend, BACKENDS)):
            if value not in allowed:
                raise ValueError(f"{name} is {value}, allowed: {', '.join(allowed)}")
        if self.learning_rate is None:
            self.learning_rate = LEARNING_RATES[self.optimizer]
        for name, value, most in (("fraction", self.fraction, 1), ("epochs", self.epochs, math.inf),
                                  ("batch", self.batch, math.inf),
                                  ("learning_rate", self.learning_rate, 10)):
            if not 0 < value <= most:
                raise ValueError(f"{name} is {value}, allowed: above 0"
                                 + (f" to {most}" if most < math.inf else ""))
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed is {self.seed}, allowed: 0 to 2^64 - 1")

    def __str__(self):
        return (f"{self.optimizer}, learning rate {self.learning_rate:g}, batch {self.batch}, "
                f"{self.epochs} epochs, fraction {self.fraction:g}, seed {self.seed}, "
                f"backend {self.backend}")


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
    """model: core.model, with an expected waveform unless trained on fewer than 1000 symbols.
    delay: see alignment.find_delay; 0 of a blind start. train, test: Score of the symbols trained
    on and of the rest; test is None if there is no rest. blind_ratio: the blind equalizer's
    modulation error ratio in dB, None if the labels were given. disagreement: a sentence if the
    samples of the labels given do not lie as the constellation has them, else "". epochs: that were
    trained, fewer than wanted where it was stopped."""

    model: object
    delay: int
    train: Score
    test: Score | None
    blind_ratio: float | None
    disagreement: str
    epochs: int


def train(samples: npt.NDArray, labels: npt.NDArray[np.uint8] | None,
          constellation: core.constellation | str, sps: int, half_window: int,
          settings: TrainingSettings | None = None, progress: Callable | None = None,
          stop: Callable[[], bool] | None = None) -> Trained:
    """Train an equalizer on one capture.

    samples: float32 or complex64 (n,), sps a symbol, sample i*sps the middle of symbol i up to a
    whole delay; they are normalised here as a whole record. labels: uint8 (m,), 0 … M-1, or None
    for those of blind.blind_labels, which the scores then count the differences from.
    constellation: as core.constellation takes it. progress: called as progress(epoch, loss)
    after each epoch, epoch from 1. stop: asked after each batch; True ends the training with what it has
    come to. Returns Trained.
    Raises ValueError for what does not fit together, RuntimeError if the loss diverges,
    KeyboardInterrupt if it was stopped in the first epoch.
    """
    settings = settings or TrainingSettings()
    symbols = core.constellation(constellation)
    is_complex = np.iscomplexobj(samples)
    if symbols.is_complex and not is_complex:
        raise ValueError(f"constellation {symbols.name} needs complex samples, these are real")
    if sps < 1:
        raise ValueError(f"sps is {sps}, allowed: 1 to 64")
    sizes = [sps * (2 * half_window + 1) * (1 + is_complex), *settings.hidden, symbols.size]
    model = core.model(core.network(sizes), sps, half_window, is_complex, symbols,
                       f"{settings}{', blind' * (labels is None)}")
    samples = normalized(samples)
    features = feature_view(samples, sps, half_window)
    delay, blind_ratio, disagreement = 0, None, ""
    blind = labels is None
    if labels is None:
        labels, blind_ratio = blind_labels(features, symbols, is_complex)
    else:
        delay = find_delay(samples, labels, symbols.points, sps)
        disagreement = _disagreement(samples, labels, symbols, sps, delay)
    features = features[max(0, delay):labels.size + delay]
    labels = labels[max(0, -delay):][:len(features)]
    part = max(1, round(settings.fraction * labels.size))

    model.network.initialize(settings.seed)
    fit = _fit_with_torch if settings.backend == "torch" else _fit_with_core
    epochs = fit(model.network, features[:part], labels[:part], settings, progress, stop)
    if epochs < settings.epochs:
        model.training += f", stopped after epoch {epochs}"
    if part >= _FEWEST_FOR_WAVEFORM:
        model.waveform = fit_waveform(model, features[:part], labels[:part])
    if not blind:  # a blind equalizer's own errors are no measure of what posteriors are worth
        untrained = slice(part if labels.size - part >= _CALIBRATION else 0, None)
        calibrate(model, features[untrained], labels[untrained])
    return Trained(model, delay, _score(model, features[:part], labels[:part]),
                   _score(model, features[part:], labels[part:]) if part < labels.size else None,
                   blind_ratio, disagreement, epochs)


def _disagreement(samples, labels, constellation, sps, delay):
    found = agreement(samples, labels, constellation.points, sps, delay)
    if found > _DOUBTFUL_AGREEMENT:
        return ""
    candidates = {f"those of --constellation {name}": core.constellation(name).points
                  for name in (*core.constellation.names(), *core.constellation.in_tree())
                  if core.constellation(name).size == constellation.size}
    candidates["mirrored ones (inverted spectrum)"] = constellation.points.conj()
    fitting = [name for name, points in candidates.items()
               if agreement(samples, labels, points, sps, delay) > _CLEAR_AGREEMENT]
    hint = f"; they lie as {' or '.join(fitting)}" if fitting else ""
    return (f"the samples of the labels given do not lie as those of {constellation.name} (agreement "
            f"{found:.2f}, allowed: from {_DOUBTFUL_AGREEMENT} on){hint}. The network learns the "
            "labels given, but soft symbols are wrong")


def feature_view(samples: npt.NDArray, sps: int, half_window: int) -> npt.NDArray[np.float32]:
    """The windows around all symbols, float32 (symbols, dimension): a view whose rows overlap.

    They lie as window_geometry in lib/core/signal/windows.h says; outside the record there are zeros.
    Raises ValueError for a record shorter than one window.
    """
    before, length = sps // 2 + half_window * sps, sps * (2 * half_window + 1)
    if samples.size < length:
        raise ValueError(f"{samples.size} samples are fewer than one window of {length}")
    padded = np.pad(samples, (before, length)).view(np.float32)
    floats = padded.size // (samples.size + before + length)
    windows = np.lib.stride_tricks.sliding_window_view(padded, length * floats, writeable=True)
    return windows[::sps * floats][:samples.size // sps]


def fit_waveform(model: core.model, features: npt.NDArray[np.float32],
                 labels: npt.NDArray[np.uint8]) -> core.expected_waveform:
    """The core.expected_waveform of a core.model's signal.

    features: the windows (n, dimension) around consecutive symbols; labels: uint8 (n,), theirs.
    Raises ValueError for fewer than some 100 symbols.
    """
    floats = model.sps * (1 + model.complex)
    own = np.ascontiguousarray(features[:, model.half_window * floats:][:, :floats])
    if model.complex:
        own = own.view(np.complex64)
    return core.expected_waveform.fit(model.constellation, own, labels)


def _fit(step, count, settings, progress, stop):
    """Call step(index), which returns the loss, with the batches of all epochs in random order.

    Returns how many epochs were finished.
    """
    random = np.random.default_rng(settings.seed)
    for epoch in range(1, settings.epochs + 1):
        order = random.permutation(count)
        total = 0
        for start in range(0, count, settings.batch):
            if stop and stop():
                if epoch == 1:
                    raise KeyboardInterrupt
                return epoch - 1
            index = order[start:start + settings.batch]
            total += step(index) * index.size
        if not math.isfinite(total):
            raise RuntimeError(f"training diverged in epoch {epoch}; learning_rate is "
                               f"{settings.learning_rate:g}, try a smaller one")
        if progress:
            progress(epoch, total / count)
    return settings.epochs


def _fit_with_core(network, features, labels, settings, progress, stop):
    trainer = core.trainer(network, loss="supervised", optimizer=settings.optimizer,
                           learning_rate=settings.learning_rate)

    def step(index):
        # Only the batch's windows are copied out of the view.
        loss, _, accepted = trainer.step(features[index], labels[index])
        return loss if accepted else math.nan

    epochs = _fit(step, labels.size, settings, progress, stop)
    network.parameters[:] = trainer.network.parameters
    return epochs


def _fit_with_torch(network, features, labels, settings, progress, stop):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    # On a GPU all windows, copied once; else still the view, whose batches are copied.
    features = torch.from_numpy(features).to(device)
    targets = torch.tensor(labels, dtype=torch.int64, device=device)
    depth = len(network.sizes) - 1
    parameters = [torch.tensor(array, device=device, requires_grad=True) for k in range(depth)
                  for array in (network.weight(k), network.bias(k))]
    if settings.optimizer == "adam":
        optimizer = torch.optim.Adam(parameters, settings.learning_rate)
    else:
        optimizer = torch.optim.SGD(parameters, settings.learning_rate, momentum=0.9)

    def logits(x):
        for k in range(depth):
            x = torch.nn.functional.linear(torch.relu(x) if k else x, *parameters[2 * k:2 * k + 2])
        return x

    def step(index):
        index = torch.from_numpy(index).to(device)
        loss = torch.nn.functional.cross_entropy(logits(features[index]), targets[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    with _one_thread(torch):
        epochs = _fit(step, labels.size, settings, progress, stop)
    network.parameters[:] = torch.nn.utils.parameters_to_vector(parameters).detach().cpu().numpy()
    return epochs


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


def _score(model, features, labels):
    """Score of the network as the receiver will run it."""
    loss, counted = 0, []
    for start in range(0, len(labels), 65536):  # bounds the memory that the posteriors take
        sent = labels[start:start + 65536]
        decided, posteriors = model.network.decide(features[start:start + 65536])
        loss -= np.log(np.maximum(posteriors[np.arange(sent.size), sent], 1e-38)).sum()
        counted.append(count(decided, sent, model.constellation.bits_per_symbol, sent.size))
    errors = Errors.join(counted)
    return Score(float(loss) / len(labels), len(labels), int(errors.symbol_errors.sum()),
                 int(errors.bits.sum()), int(errors.bit_errors.sum()))
