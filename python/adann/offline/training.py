# SPDX-License-Identifier: GPL-3.0-or-later
"""Offline training: a network from a capture and the labels that were sent.

The paper's Section II-A: cross-entropy, momentum SGD, batches drawn at random. The core does it, or
torch as the reference, and on a GPU if it finds one. Without known labels a blind linear
equalizer's decisions take their place. TrainingSettings() are the paper's; TrainingSettings.fitted are those that
fit a record. Two networks are trained then. One starts from random weights, and noise added to the samples keeps a
short record from being learnt by heart (Bishop, "Training with noise is equivalent to Tikhonov regularization", Neural
Computation 7, 1995); but where interference is strong, such noise hides the symbols. So the other one starts from the
linear equalizer of the record, without noise. Held-out symbols say when to stop, and which of both is the better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import CLEAR_AGREEMENT, DOUBTFUL_AGREEMENT, agreement, find_delay
from ..captures.labels import known
from ..captures.sigmf import Burst
from ..captures.statistics import normalized
from .blind import blind_labels, check_window, open_eye
from .calibration import calibrate, calibrated_losses, decide_portions, weigh_doubts
from .conventional import linear_equalizer, middles_of, nearest, slicer
from .evaluate import count
from .guess import name_of
from .learners import CoreLearner, TorchLearner

BACKENDS = ("core", "torch")
STARTS = {"random": ("random",), "either": ("random", "linear")}  # what each network starts from
_CALIBRATION = 4096  # symbols: of fewer that were not trained on, all are taken
_FEWEST_FOR_WAVEFORM = 200  # symbols
_HELD_BACK = 16384  # symbols at most
_FITTED = 16384  # symbols that the linear equalizer of a start is fitted to, at most
_TOGETHER = 16384  # symbols whose windows are copied out at once
_LEAST_SEEN, _MOST_SEEN = 2_500_000, 10_000_000  # symbols in all epochs
_DEVIATIONS = 2  # standard errors of what the linear equalizer's start gains: else noise has made the wider margins
_GAIN = 1e-3  # of the loss held back: less is none
_LAST_RATE = 0.2  # of the learning rate, for the last part
_MOST_NOISE = 0.3  # deviation added to samples of unit power
LEARNING_RATES = {"momentum": 0.004, "adam": 0.005}


@dataclass
class TrainingSettings:
    """hidden: neurons of each hidden layer. fraction: the part of the labelled symbols, from the
    first on, that is trained on; the rest tests. optimizer: momentum (SGD, 0.9) or adam.
    learning_rate: None takes the optimizer's own in LEARNING_RATES. seed: of the first weights and
    the order of the symbols, the same ones for both backends: core, the faster one, or torch.
    start: random, of the weights; or either: a second network starts from the linear equalizer of the labels, without
    noise, and is kept if its calibrated loss on the part held back is less by two standard errors. That needs patience,
    and hidden layers of two neurons or more, of complex points four; else start is random.
    noise: deviation of the Gaussian noise added to the samples, of unit power, of each batch anew.
    patience: epochs without a gain on the last fifth of the trained part, which is held back for that, after which the
    learning rate falls to a fifth, as it does after two thirds of the epochs, and after as many again the training
    ends; 0: all epochs, nothing is held back."""

    hidden: tuple = (10, 10, 10, 10)
    fraction: float = 0.25
    epochs: int = 200
    batch: int = 16384
    optimizer: str = "momentum"
    learning_rate: float | None = None
    seed: int = 0
    backend: str = "core"
    start: str = "random"
    noise: float = 0.0
    patience: int = 0

    @classmethod
    def fitted(cls, symbols: int, constellation: core.constellation, **given) -> TrainingSettings:
        """Those for training on so many symbols of a constellation, but for what is given.

        Adam; batches of some 1/128 of the symbols, 64 to 1024; at most so many epochs that 2.5 million symbols are
        seen, or each 64 times, at most 10 million; twice as many of 16 points and more. Either start; noise of a
        third of the distance between the points, 0.3 at most.
        """
        points = constellation.centred / np.sqrt(np.mean(abs(constellation.centred) ** 2))
        apart = abs(points[:, None] - points)[~np.eye(points.size, dtype=bool)].min()
        seen = min(max(_LEAST_SEEN, 64 * symbols), _MOST_SEEN) * (1 + (points.size >= 16))
        return cls(**{"optimizer": "adam", "batch": 2 ** min(10, max(6, round(math.log2(symbols / 128)))),
                      "epochs": max(2, -(-seen // symbols)), "noise": round(min(_MOST_NOISE, apart / 3), 3),
                      "patience": max(8, 80_000 // symbols) if symbols >= _FEWEST_FOR_WAVEFORM else 0,
                      "start": "either", **given})

    def __post_init__(self):
        for name, value, allowed in (("optimizer", self.optimizer, LEARNING_RATES),
                                     ("backend", self.backend, BACKENDS), ("start", self.start, STARTS)):
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
        for name, value in ("noise", self.noise), ("patience", self.patience):
            if not value >= 0:
                raise ValueError(f"{name} is {value}, allowed: 0 and above")
        if not 0 <= self.seed < 2**64:
            raise ValueError(f"seed is {self.seed}, allowed: 0 to 2^64 - 1")

    @property
    def most_epochs(self) -> int:
        """Of all starts together."""
        return self.epochs * len(STARTS[self.start])

    def __str__(self):
        return (f"{self.optimizer}, learning rate {self.learning_rate:g}, batch {self.batch}, "
                f"{self.epochs} epochs, fraction {self.fraction:g}, seed {self.seed}, "
                f"backend {self.backend}" + f", noise {self.noise:g}" * bool(self.noise)
                + f", patience {self.patience}" * bool(self.patience)
                + ", either start" * (self.start == "either"))


@dataclass
class Score:
    """What is decided of some symbols: mean cross-entropy (natural log; nan but for a network), errors."""

    loss: float
    symbols: int
    symbol_errors: int
    bits: int
    bit_errors: int


@dataclass
class Trained:
    """model: core.model, with an expected waveform unless trained on fewer than 200 symbols.
    delay: see alignment.find_delay; 0 of a blind start. train, test: Score of the known symbols of the part trained
    on and of the rest; test is None if there is no rest. conventional: {"slicer", "linear equalizer": Score} of the
    same rest, fitted to the same part, see conventional.py; {} without a rest. blind_ratio: the blind equalizer's
    modulation error ratio in dB, None if the labels were given; teacher: whose decisions are its labels, a slicer (see
    blind.open_eye) or a linear equalizer, "" if they were given. disagreement: a sentence if the
    samples of the labels given do not lie as the constellation has them, else "". epochs: that were
    trained, from all starts; complete: whether it was not stopped. symbols: of the capture, those that have labels
    and lie within its bursts: a slice, or numbers (n,); labels: theirs, uint8 (n,), given or blindly found; part: how
    many of them, from the first on, were trained on."""

    model: object
    delay: int
    train: Score
    test: Score | None
    conventional: dict
    blind_ratio: float | None
    teacher: str
    disagreement: str
    epochs: int
    complete: bool
    symbols: slice | npt.NDArray[np.int64]
    labels: npt.NDArray[np.uint8]
    part: int


def train(samples: npt.NDArray, labels: npt.NDArray[np.uint8] | None,
          constellation: core.constellation | str, sps: int, half_window: int,
          settings: TrainingSettings | None = None, progress: Callable | None = None,
          stop: Callable[[], bool] | None = None, bursts: Sequence[Burst] = ()) -> Trained:
    """Train an equalizer on one capture.

    samples: float32 or complex64 (n,), sps a symbol, sample i*sps the middle of symbol i up to a
    whole delay; they are normalised here as a whole record. labels: uint8 (m,), 0 … M-1 or alignment.UNKNOWN, or None
    for those of blind.blind_labels, which the scores then count the differences from.
    constellation: as core.constellation takes it. progress: called as progress(epoch, loss)
    after each epoch, epoch from 1 to settings.most_epochs at most. stop: asked after each batch; True ends the
    training with what it has come to. bursts: of the capture, each normalised by itself; what lies between them is left
    out. Returns Trained.
    Raises ValueError for what does not fit together, RuntimeError if the loss diverges,
    KeyboardInterrupt if it was stopped in the first epoch.
    """
    settings = settings or TrainingSettings()
    symbols = core.constellation(constellation)
    is_complex = np.iscomplexobj(samples)
    check_kind(samples, symbols)
    if sps < 1:
        raise ValueError(f"sps is {sps}, allowed: 1 to 64")
    if labels is None:
        check_window(sps, half_window)
    sizes = [sps * (2 * half_window + 1) * (1 + is_complex), *settings.hidden, symbols.size]
    model = core.model(core.network(sizes), sps, half_window, is_complex, symbols,
                       f"{settings}{', blind' * (labels is None)}")
    samples = normalized(samples, [(burst.first, burst.end) for burst in bursts] or None)
    features = feature_view(samples, sps, half_window)
    delay, blind_ratio, teacher, disagreement = 0, None, "", ""
    blind = labels is None
    if labels is not None:
        delay = find_delay(samples, labels, symbols.centred, sps)
        disagreement = _disagreement(samples, labels, symbols, sps, delay)
    end = len(features) if labels is None else min(len(features), labels.size + delay)
    here = within(bursts, end, sps, max(0, delay))
    features, middles = features[here], middles_of(samples, sps, symbols)[here].copy()
    del samples  # the windows have their own
    if labels is None:
        labels, blind_ratio = blind_labels(features, symbols, is_complex, round(settings.fraction * len(features)), sps)
        closed = symbols.is_offset or open_eye(features, symbols, is_complex) is None
        teacher = "linear equalizer" if closed else "slicer"
    else:
        labels = labels[here.start - delay:here.stop - delay] if isinstance(here, slice) else labels[here - delay]
    part = max(1, round(settings.fraction * labels.size))
    there = known(labels, symbols.size)
    told = np.flatnonzero(there[:part])
    if not told.size:
        raise ValueError(f"none of the first {part} labels is known")

    learner = (TorchLearner if settings.backend == "torch" else CoreLearner)(model.network, settings)
    epochs, complete = _fit(learner, model.network, symbols, features[:part], labels[:part], settings, progress, stop)
    if not complete:
        model.training += f", stopped after epoch {epochs}"
    if told.size >= _FEWEST_FOR_WAVEFORM:
        # It wants consecutive symbols: what is not known between them, the network decides.
        filled = np.where(there[:part], labels[:part], decide_portions(model.network, features[:part])[0])
        model.waveform = fit_waveform(model, features[:part], filled, blind)
    if not blind:  # a blind equalizer's own errors are no measure of what posteriors are worth
        rest = np.count_nonzero(there[part:])
        untrained = slice(part if rest >= _CALIBRATION else 0, None)
        calibrate(model, features[untrained], labels[untrained])
        if model.waveform is not None:
            weigh_doubts(model, features, labels)
    scores = _scores(model, features, labels, part, middles)
    return Trained(model, delay, _score(model, features, labels, told), scores.pop("network", None),
                   scores, blind_ratio, teacher, disagreement, epochs, complete, here, labels, part)


def check_kind(samples: npt.NDArray, constellation: core.constellation) -> None:
    """Raises ValueError for real samples of a complex constellation."""
    if constellation.is_complex and not np.iscomplexobj(samples):
        raise ValueError(f"constellation {name_of(constellation)} needs complex samples, these are real")


def within(bursts: Sequence[Burst], count: int, sps: int, first: int = 0) -> slice | npt.NDArray[np.int64]:
    """The symbols, from number `first` to before `count`, that lie within bursts, or all where there are none: what
    indexes them."""
    if not bursts:
        return slice(first, count)
    numbers = np.concatenate([np.arange(-(-burst.first // sps), burst.end // sps) for burst in bursts])
    return numbers[(numbers >= first) & (numbers < count)]


def _disagreement(samples, labels, constellation, sps, delay):
    found = agreement(samples, labels, constellation.centred, sps, delay)
    if found > DOUBTFUL_AGREEMENT:
        return ""
    candidates = {f"those of {name}": core.constellation(name).centred
                  for name in (*core.constellation.names(), *core.constellation.in_tree())
                  if core.constellation(name).size == constellation.size and not core.constellation(name).is_offset}
    candidates["mirrored ones (inverted spectrum)"] = constellation.centred.conj()
    fitting = [name for name, points in candidates.items()
               if agreement(samples, labels, points, sps, delay) > CLEAR_AGREEMENT]
    hint = f"; they lie as {' or '.join(fitting)}" if fitting else ""
    return (f"the samples of the labels given do not lie as those of {name_of(constellation)} (agreement "
            f"{found:.2f}, allowed: from {DOUBTFUL_AGREEMENT} on){hint}. The network learns the "
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


def own_samples(features: npt.NDArray[np.float32], sps: int, half_window: int, is_complex: bool) -> npt.NDArray:
    """Of windows (n, dimension) the samples (n, sps) around the middle of each one's own symbol."""
    floats = sps * (1 + is_complex)
    own = np.ascontiguousarray(features[:, half_window * floats:][:, :floats])
    return own.view(np.complex64) if is_complex else own


def fit_waveform(model: core.model, features: npt.NDArray[np.float32],
                 labels: npt.NDArray[np.uint8], blind: bool = False) -> core.expected_waveform:
    """The core.expected_waveform of a core.model's signal.

    features: the windows (n, dimension) around consecutive symbols; labels: uint8 (n,), theirs. blind: they were found
    as equally probable ones; else the waveform has their frequencies.
    Raises ValueError for fewer than some 100 symbols.
    """
    own = own_samples(features, model.sps, model.half_window, model.complex)
    waveform = core.expected_waveform.fit(model.constellation, own, labels)
    if not blind:
        waveform.learn_probabilities(labels)
    return waveform


def residual_of(waveform: core.expected_waveform) -> float:
    """The power of the residual of an expected waveform, relative to its signal, dB."""
    return 20 * math.log10(waveform.noise * math.sqrt(1 + waveform.complex))


def _fit(learner, network, symbols, features, labels, settings, progress, stop):
    """Teach the network the known ones of the labels. Returns how many epochs were finished, and whether
    it was not stopped.

    With patience the last fifth of them is held back to judge by: which epoch's parameters are kept, and which start's.
    """
    taught = np.flatnonzero(known(labels, network.sizes[-1]))
    held = taught[taught.size - taught.size // 5 if settings.patience else taught.size:]
    taught, held = taught[:taught.size - held.size], held[:_HELD_BACK]
    can_be_linear = taught.size and held.size and min(settings.hidden, default=2) >= 2 * (1 + symbols.is_complex)
    least, parameters, before = np.zeros(held.size), network.parameters.copy(), 0
    for start in STARTS[settings.start if can_be_linear else "random"]:
        if start == "linear":
            some = taught[:_FITTED]
            network.initialize_linear(settings.seed, symbols, features[some], labels[some])
            settings = replace(settings, noise=0.0)
        else:
            network.initialize(settings.seed)
        epochs, complete = _descend(
            learner, network, features, labels, taught, held, settings,
            progress and (lambda epoch, loss, before=before: progress(before + epoch, loss)), stop)
        if start == "random" and not complete and not epochs:
            raise KeyboardInterrupt
        losses = calibrated_losses(network, features[held], labels[held])
        gains = least - losses
        if start == "random" or gains.mean() > _DEVIATIONS * gains.std() / math.sqrt(held.size):
            least, parameters = losses, network.parameters.copy()
        before += epochs
        if not complete:
            break
    network.parameters[:] = parameters
    return before, complete


def _descend(learner, network, features, labels, taught, held, settings, progress, stop):
    """Train the network from its present parameters.

    Returns how many epochs were finished, and whether it was not stopped. The parameters are those of the least loss of
    the symbols held back, or the last ones where there are none.
    """
    random = np.random.default_rng(settings.seed)
    best, parameters, waited, rate = math.inf, network.parameters.copy(), 0, settings.learning_rate
    if held.size:
        best = _cross_entropy(network, features[held], labels[held])
    learner.start(parameters, rate)
    epoch, complete = 0, True
    while epoch < settings.epochs:
        order = taught[random.permutation(taught.size)]
        total = 0.0
        for start in range(0, taught.size, settings.batch):
            if stop and stop():
                complete = False
                break
            index = order[start:start + settings.batch]
            # Only the batch's windows are copied out of the view.
            windows = features[index]
            if settings.noise:
                windows += np.float32(settings.noise) * random.standard_normal(windows.shape, dtype=np.float32)
            total += learner.step(windows, labels[index]) * index.size
        if not complete:
            break
        epoch += 1
        if not math.isfinite(total):
            raise RuntimeError(f"training diverged in epoch {epoch}; learning_rate is "
                               f"{settings.learning_rate:g}, try a smaller one")
        if progress:
            progress(epoch, total / taught.size)
        network.parameters[:] = learner.parameters()
        if not held.size:
            parameters = network.parameters.copy()
            continue
        loss = _cross_entropy(network, features[held], labels[held])
        waited = 0 if loss < (1 - _GAIN) * best else waited + 1
        if loss < best:
            best, parameters = loss, network.parameters.copy()
        if rate == settings.learning_rate:
            if waited >= settings.patience or epoch >= settings.epochs * 2 // 3:
                rate, waited = settings.learning_rate * _LAST_RATE, 0
                learner.start(parameters, rate)
        elif waited >= settings.patience:
            break
    network.parameters[:] = parameters
    return epoch, complete


def _cross_entropy(network, features, labels):
    """Mean, natural log, of the labels under the network's posteriors."""
    _, posteriors = network.decide(features)
    return -float(np.log(np.maximum(posteriors[np.arange(labels.size), labels], 1e-38)).mean())


def _scores(model, features, labels, part, samples_of_middles):
    """{name: Score} of each way to decide the known symbols from `part` on."""
    bits = model.constellation.bits_per_symbol
    here = np.flatnonzero(known(labels[part:], model.constellation.size)) + part
    if not here.size:
        return {}
    sent = labels[here]
    soft = linear_equalizer(features, labels, part, model.constellation)[here]
    decided = {"slicer": slicer(samples_of_middles, labels, part, model.constellation)[here],
               "linear equalizer": nearest(soft, model.constellation)}
    scores = {name: _errors(labels, sent, bits) for name, labels in decided.items()}
    return {**scores, "network": _score(model, features, labels, here)}


def _errors(decided, sent, bits_per_symbol, loss=math.nan):
    errors = count(decided, sent, bits_per_symbol, sent.size)
    return Score(loss, sent.size, int(errors.symbol_errors.sum()), int(errors.bits.sum()),
                 int(errors.bit_errors.sum()))


def _score(model, features, labels, index):
    """Score of the network as the receiver will run it, on the symbols of index."""
    loss, decided = 0.0, np.empty(index.size, np.uint8)
    for start in range(0, index.size, _TOGETHER):
        here = slice(start, start + _TOGETHER)
        sent = labels[index[here]]
        decided[here], posteriors = model.network.decide(features[index[here]])
        loss -= np.log(np.maximum(posteriors[np.arange(sent.size), sent], 1e-38)).sum()
    return _errors(decided, labels[index], model.constellation.bits_per_symbol,
                   float(loss) / index.size)
