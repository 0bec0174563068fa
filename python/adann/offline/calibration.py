# SPDX-License-Identifier: GPL-3.0-or-later
"""Temperatures: what a network's posteriors are worth, found while the labels are known.

Logits divided by the temperature give posteriors that are right on average. Source: Guo et al., "On
Calibration of Modern Neural Networks", ICML 2017, Section 4.2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from .. import core
from ..captures.labels import known

LIMITS = 0.05, 20  # of a temperature in a model file
_BATCH = core.equalizer_settings()["batch"].default
_TOGETHER = 16384  # windows that are copied out of a view at once
_LEAST_ERRORS = 30  # that a temperature or a ratio is found from: their count's deviation is a fifth
_WEIGHED = 2**17  # symbols that it is found from, at most
_MOST = 2**18  # symbols that a network adapts to before it is calibrated
_MANY = 0.1  # wrong decisions, of all


def fit_temperature(posteriors: npt.NDArray[np.float32], labels: npt.NDArray[np.uint8]) -> float:
    """The temperature that makes labels uint8 (n,) most likely under posteriors float32 (n, M), which it overwrites.

    One pseudo-observation, the least confident decision counted once more as an error, keeps it
    from going to 0 where there are no errors.
    """
    logits = np.maximum(posteriors, 1e-37, out=posteriors)
    np.log(logits, out=logits)
    parts = [slice(start, start + _TOGETHER) for start in range(0, labels.size, _TOGETHER)]
    second, first = np.concatenate([np.partition(logits[part], -2, axis=1)[:, -2:] for part in parts]).astype(float).T
    least_sure = int(np.argmin(first - second))
    own = logits[np.arange(labels.size), labels].astype(float)

    def cross_entropy(log_temperature):
        scale = np.exp(-log_temperature)
        total = _log_sum(scale * logits[least_sure].astype(float)) - scale * second[least_sure]
        return (total + sum(np.sum(_log_sum(scale * logits[part].astype(float)) - scale * own[part])
                            for part in parts)) / (labels.size + 1)

    found = minimize_scalar(cross_entropy, bounds=np.log(LIMITS), method="bounded")
    return float(np.exp(found.x))


def calibrated_losses(network: core.network, features: npt.NDArray[np.float32],
                      labels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """The cross-entropy of each of the labels uint8 (n,) at the temperature that fits them, (n,)."""
    if not labels.size:
        return np.zeros(0)
    _, posteriors = decide_portions(network, features)
    scale = 1 / fit_temperature(posteriors, labels)  # they are logits from here on
    return _log_sum(scale * posteriors.astype(float)) - scale * posteriors[np.arange(labels.size), labels]


def _log_sum(logits):
    """log of the sum of exp over the last axis."""
    return np.logaddexp.reduce(logits, axis=-1)


def decide_portions(network: core.network, features: npt.NDArray[np.float32],
                    index: npt.NDArray[np.int64] | None = None) -> tuple[npt.NDArray, npt.NDArray]:
    """network.decide of the windows that index names, None: of all, with few of them copied out of their view at once:
    labels uint8 (n,) and posteriors float32 (n, M)."""
    index = np.arange(len(features)) if index is None else index
    labels, posteriors = np.empty(index.size, np.uint8), np.empty((index.size, network.sizes[-1]), np.float32)
    for start in range(0, index.size, _TOGETHER):
        here = slice(start, start + _TOGETHER)
        labels[here], posteriors[here] = network.decide(features[index[here]])
    return labels, posteriors


def refined_error_rate(refined: npt.NDArray[np.uint8], decided: npt.NDArray[np.uint8],
                       sent: npt.NDArray[np.uint8]) -> float:
    """Symbol error rate of refined labels; that of the decisions where refined ones have more errors by less than two
    standard deviations of the difference, and less than a tenth of the decisions is wrong. With more errors refined
    posteriors of a link that does not change have less information, even where labels are as good."""
    worse = np.count_nonzero((refined != sent) & (decided == sent))
    better = np.count_nonzero((refined == sent) & (decided != sent))
    by_chance = 0 < worse - better <= 2 * np.sqrt(worse + better)
    wrong = np.mean(decided != sent)
    return float(wrong if by_chance and wrong < _MANY else np.mean(refined != sent))


def calibrate(model: core.model, features: npt.NDArray[np.float32],
              labels: npt.NDArray[np.uint8]) -> None:
    """Set the symbol error rates and both temperatures of a core.model from labelled windows.

    features: float32 (n, D), consecutive; labels: uint8 (n,), UNKNOWN where not known. The second
    temperature is that of a copy that has adapted to the features without labels, by the default
    settings.
    """
    last = np.flatnonzero(known(labels, model.constellation.size))[-_MOST:]
    decided, posteriors = decide_portions(model.network, features, last)
    model.symbol_error_rate = np.mean(decided != labels[last])
    model.temperature = fit_temperature(posteriors, labels[last])
    model.calibrated = np.count_nonzero(decided != labels[last]) >= _LEAST_ERRORS
    if model.waveform is not None and last.size:
        of = slice(last[0], last[-1] + 1)
        refined, _ = core.refine_labels(model, features[of], decide_portions(model.network, features[of])[0])
        model.refined_symbol_error_rate = refined_error_rate(refined[last - last[0]], decided, labels[last])
    half = min(labels.size // 2, _MOST)
    adapted = _adapted(model, features[:half])
    rest = np.flatnonzero(known(labels[half:half + _MOST], model.constellation.size)) + half
    if not rest.size:
        model.adapted_temperature = model.temperature
        return
    unadapted = decide_portions(model.network, features, rest)[0]
    decided, posteriors = decide_portions(adapted, features, rest)
    wrong = np.count_nonzero(decided != labels[rest])
    # Only if adaptation did not fail here.
    model.adapted_temperature = (
        fit_temperature(posteriors, labels[rest])
        if wrong <= 2 * np.count_nonzero(unadapted != labels[rest]) + 10 else model.temperature)


def weigh_doubts(model: core.model, features: npt.NDArray[np.float32],
                 labels: npt.NDArray[np.uint8]) -> None:
    """Set refined_errors_per_doubt of a core.model with a waveform from the latest 2^17 windows, if there are errors
    enough. They may have been trained on: a waveform has few parameters.

    features: float32 (n, D), consecutive; labels: uint8 (n,), UNKNOWN where not known.
    """
    features, labels = features[-_WEIGHED:], labels[-_WEIGHED:]
    refined, doubts = core.refine_labels(model, features, decide_portions(model.network, features)[0])
    counts = known(labels, model.constellation.size) & ~np.isnan(doubts)
    errors = np.count_nonzero(refined[counts] != labels[counts])
    if errors >= _LEAST_ERRORS:
        model.refined_errors_per_doubt = np.clip(errors / max(np.sum(doubts[counts]), 1.0), 0.01, 100)


def _adapted(model, features):
    """A copy of the network after the equalizer's adaptation to the features, unguarded."""
    learner = core.learner(model, guard=False)
    for start in range(0, len(features) - _BATCH + 1, _BATCH):
        learner.step(features[start:start + _BATCH])
    return learner.network
