# SPDX-License-Identifier: GPL-3.0-or-later
"""One stream of a radio link through several receivers: errors and information, part by part.

The frozen network, AdaNN without a label, GNU Radio's LMS equalizer in the best of its steps, and
least squares that know all labels, with the best of their forgetting time constants.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from .. import core
from ..captures.files import Capture
from ..offline.equalize import equalize_captures
from ..offline.training import TrainingSettings, train
from .comparators import LINEAR, equalize_with_gnuradio, unit_points

FROZEN, OURS, KNOWN = "frozen", "AdaNN", "least squares, all labels known"
ROWS = FROZEN, OURS, LINEAR, KNOWN
PARTS = 4             # of a stream, that figures are given of
HALF_WINDOW = 6
LABELLED = 4096       # symbols that LMS knows the labels of
_STEPS = 3e-4, 1e-3, 3e-3, 1e-2
MEMORIES = 512, 2048, 8192
_BLOCK = 64           # symbols from one solution of least squares to the next
_STRETCH = 4096       # symbols over which a soft symbol's gain and noise are measured
_LEAST = 1e-9         # of a probability


def train_model(samples: np.ndarray, labels: np.ndarray, constellation: str, sps: int) -> core.model:
    """core.model from a labelled record."""
    settings = TrainingSettings.fitted(labels.size, core.constellation(constellation))
    return train(samples, labels, constellation, sps, HALF_WINDOW, settings).model


def compare(model: core.model, samples: np.ndarray, labels: np.ndarray) -> dict:
    """{row: {"ber", "gmi": of each part, "step": of LMS, or the memory, None else}}.

    samples: complex64 (sps*n,), normalised; labels: uint8 (n,), known to be in step with them.
    """
    points = unit_points(model.constellation)
    found = {FROZEN: measure_network(model, samples, labels, dict(mode="off")),
             OURS: measure_network(model, samples, labels, dict(mode="lockstep"))}
    found[LINEAR] = _best({step: measure(equalize_with_gnuradio(
        LINEAR, samples, points, model.sps, HALF_WINDOW, step, labels[:LABELLED]), labels, points)
        for step in _STEPS})
    sent = points[labels]
    found[KNOWN] = _best({memory: measure(known_least_squares(samples, sent, model.sps, memory), labels, points)
                          for memory in MEMORIES})
    return found


def known_least_squares(samples: np.ndarray, sent: np.ndarray, sps: int, memory: float) -> np.ndarray:
    """Soft symbols, complex (n,): exponentially weighted least squares that know every symbol before.

    sent: complex (n,) points. memory: symbols after which one weighs 1/e. The taps span as much as a
    network does, and are found anew for each 64 symbols.
    """
    taps = 2 * sps * HALF_WINDOW + 1
    padded = np.concatenate([np.zeros(taps // 2), samples, np.zeros(taps // 2)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps)[::sps][:sent.size]
    keep = np.exp(-_BLOCK / memory)
    covariance = correlation = 0.0
    soft = np.empty(sent.size, complex)
    for first in range(0, sent.size, _BLOCK):
        some = windows[first:first + _BLOCK]
        if first != _BLOCK:  # the first one has no other before it
            known = slice(max(first - _BLOCK, 0), max(first, _BLOCK))
            before = windows[known]
            covariance = keep * covariance + before.conj().T @ before
            correlation = keep * correlation + before.conj().T @ sent[known]
        ridge = 1e-4 * np.trace(covariance).real / taps * np.eye(taps)
        soft[first:first + _BLOCK] = some @ np.linalg.solve(covariance + ridge, correlation)
    return soft


class _Posteriors:
    """What equalize_captures hands over: labels, and probabilities of the labels that were sent.

    Errors and information are summed as they come; labels are known to be in step."""

    def __init__(self, labels: np.ndarray, bits: int):
        self._labels, self._done = labels, 0
        self.wrong, self.lost = np.zeros(labels.size, np.uint8), np.zeros(labels.size, np.float32)
        self._bits = _bits_of(np.arange(2 ** bits), bits)

    def take(self, decided: np.ndarray, posteriors: np.ndarray) -> None:
        count = min(len(decided), self._labels.size - self._done)
        here = slice(self._done, self._done + count)
        self.wrong[here], self.lost[here] = _losses(
            decided[:count], np.asarray(posteriors)[:count], self._labels[here], self._bits)
        self._done += count


def measure_network(model: core.model, samples: np.ndarray, labels: np.ndarray, settings: dict,
                    known: np.ndarray | None = None) -> dict:
    """measure() of what adann.equalizer decides with these settings, and of its posteriors.

    known: uint8 (n,), its known labels, 255 where one is not."""
    counted = _Posteriors(labels, model.constellation.bits_per_symbol)
    equalize_captures(model, [Capture(samples)], {"it": settings}, counted={"it": counted},
                      known=None if known is None else [known])
    return _by_parts(counted.wrong, counted.lost, model.constellation.bits_per_symbol)


def measure(soft: np.ndarray, labels: np.ndarray, points: np.ndarray) -> dict:
    """{"ber", "gmi": of each part, "step": None} of soft symbols.

    soft: complex (n,), whose gain and noise are estimated by the known labels, uint8 (n,), in each
    stretch of 4096; points: complex (M,) of unit power.
    """
    bits = int(np.log2(points.size))
    of_label = _bits_of(np.arange(points.size), bits)
    wrong, lost = np.empty(labels.size, np.uint8), np.empty(labels.size, np.float32)
    for here, posteriors in soft_posteriors(soft, labels, points):
        decided = abs(soft[here, None] - points).argmin(axis=1)
        wrong[here], lost[here] = _losses(decided, posteriors, labels[here], of_label)
    return _by_parts(wrong, lost, bits)


def soft_posteriors(soft: np.ndarray, labels: np.ndarray, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """(symbols, their posteriors (n, M)) of each stretch of 4096; the arguments are those of measure()."""
    for first in range(0, labels.size, _STRETCH):
        here = slice(first, first + _STRETCH)
        sent, got = points[labels[here]], soft[here]
        gain = np.vdot(sent, got) / np.vdot(sent, sent)
        noise = max(np.mean(abs(got - gain * sent) ** 2), _LEAST)
        distance = -abs(got[:, None] - gain * points) ** 2 / noise
        posteriors = np.exp(distance - distance.max(axis=1, keepdims=True))
        yield here, posteriors / posteriors.sum(axis=1, keepdims=True)


def _bits_of(labels: np.ndarray, bits: int) -> np.ndarray:
    """bool (n, bits), the first one first."""
    return (labels[:, None] >> np.arange(bits)[::-1] & 1).astype(bool)


def _losses(decided: np.ndarray, posteriors: np.ndarray, sent: np.ndarray,
            of_label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(wrong bits, bits of information that are lost) of each symbol: Σ log2(1 + e^(-L)) over the log-likelihood
    ratios L of the bits that were sent over the others. (Alvarado et al., "Achievable information rates for fiber
    optics", J. Lightwave Technol. 36, 2018, Eq. 29.)"""
    ones = np.clip(posteriors.astype(float) @ of_label, _LEAST, 1 - _LEAST)
    right = np.where(of_label[sent], ones, 1 - ones)
    return (of_label[decided] != of_label[sent]).sum(axis=1), -np.log2(right).sum(axis=1)


def _by_parts(wrong: np.ndarray, lost: np.ndarray, bits: int) -> dict:
    return {"ber": [float(part.mean() / bits) for part in np.array_split(wrong, PARTS)],
            "gmi": [float(bits - part.mean()) for part in np.array_split(lost, PARTS)], "step": None}


def _best(runs: Mapping[float, dict]) -> dict:
    """The run with the least errors after its first part."""
    step = min(runs, key=lambda each: sum(runs[each]["ber"][1:]))
    return {**runs[step], "step": step}
