# SPDX-License-Identifier: GPL-3.0-or-later
"""Section III: what adaptation costs in addition to deciding: by the paper's formulas, in multiplications
counted while they are made, and by the clock."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import core
from ..offline.training import feature_view
from .cells import Progress, at_cell
from .page import claim, plot, write_page
from .vcsel import BLOCK, HALF_WINDOW, SIZES, SPS, offline_network, sets

# loss: (forward, backward propagations of a step, the paper's ratio)
_LOSSES = {"self_training": (1, 1, 3), "pi_model": (2, 1, 4), "aug_vat": (3, 2, 7)}
_NOISES = {"full": "as written", "projected": "projected"}
_STEPS = [(loss, noise) for loss in _LOSSES for noise in _NOISES]


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory."""
    model, _ = offline_network(SIZES[scale])
    k_nn, k_back = multiplications(model.network.sizes)
    features = feature_view(sets(SIZES[scale])[0].samples, SPS, HALF_WINDOW)[:BLOCK]
    counted = count(model.network, features)
    rounds = 7 if scale == "quick" else 101
    timed = measure(model.network, features, rounds,
                    at_cell(progress, rounds))
    formula = {loss: (forwards * k_nn + backwards * k_back) / k_nn
               for loss, (forwards, backwards, _) in _LOSSES.items()}
    ratios = {name: {key: cost[key] / cost["decide"] for key in _STEPS}
              for name, cost in (("counted", counted), ("timed", timed))}
    claims = []
    for loss, (*_, paper) in _LOSSES.items():
        claims.append(claim(f"{loss}: about {paper} times a decision's multiplications, by formula",
                            f"{formula[loss]:.2f}", abs(formula[loss] - paper) < 0.25))
        for noise, how in _NOISES.items():
            ratio = ratios["counted"][loss, noise]
            claims.append(claim(f"the same or less, counted in a step, the noise {how}",
                                f"{ratio:.2f}", ratio < paper + 0.25))
        for noise, how in _NOISES.items():
            ratio = ratios["timed"][loss, noise]
            claims.append(claim(f"the same or less in time, the noise {how} (a quarter allowed)",
                                f"{ratio:.1f}", ratio <= 1.25 * paper))
    counted_back = counted["self_training", "full"] - counted["decide"]
    results = {"scale": scale, "sizes": model.network.sizes, "k_nn": k_nn, "k_back": k_back,
               "counted_k_nn": counted["decide"], "counted_k_back": counted_back,
               "formula": formula, "seconds_decide": timed["decide"], "claims": claims,
               **{name: {f"{loss}, {noise}": ratio for (loss, noise), ratio in found.items()}
                  for name, found in ratios.items()}}
    write_page(directory, "Complexity (Section III)", results,
               ["loss", "ratio: paper", "by formula",
                *(f"{name}, noise {how}" for name in ratios for how in _NOISES.values())],
               [[loss, str(paper), f"{formula[loss]:.2f}",
                 *(f"{found[loss, noise]:.2f}" for found in ratios.values() for noise in _NOISES)]
                for loss, (*_, paper) in _LOSSES.items()],
               f"By the paper's formulas a decision takes k_NN = {k_nn} multiplications a symbol "
               f"and a back-propagation k_back = {k_back}; counted while the core's plain kernels "
               f"run they are {counted['decide']:g} and {counted_back:g}, of self-training's step: "
               "the core forms no gradient that a step has no use for, such as the one by the "
               "input without a perturbation, and a ReLU's derivative is a choice. The drawing of "
               "noise, the softmax and the optimizer are in the times only: medians of "
               f"{rounds} batches of {BLOCK} symbols on one core, taken alternately, on this machine.")

    def draw(axes: Any) -> None:
        places = np.arange(len(_LOSSES))
        bars = {"paper": [paper for *_, paper in _LOSSES.values()],
                "formula": list(formula.values()),
                **{f"{name}, noise {how}": [found[loss, noise] for loss in _LOSSES]
                   for name, found in ratios.items() for noise, how in _NOISES.items()}}
        for k, (name, heights) in enumerate(bars.items()):
            axes.bar(places + 0.13 * (k - 2.5), heights, 0.13, label=name)
        axes.set_xticks(places, list(_LOSSES))
        axes.set_ylabel("cost of a step, in decisions")
    plot(directory / "plot.png", draw)


def count(network: core.network, features: np.ndarray) -> dict:
    """{"decide" or (loss, noise): multiplications a symbol}, counted while they are made."""
    calls: dict = {"decide": (), **{key: key for key in _STEPS}}
    return {key: core.multiplications(network, features, *step) / len(features)
            for key, step in calls.items()}


def multiplications(sizes: Sequence[int]) -> tuple[int, int]:
    """(k_NN, k_back) of a fully-connected network: sizes of its layers, the input's first.

    k_back by Appendix A: at each layer g * act' (as many as its neurons), g h^T and W^T g.
    """
    forward = sum(a * b for a, b in zip(sizes, sizes[1:]))
    return forward, 2 * forward + sum(sizes[1:])


def measure(network: core.network, features: np.ndarray, rounds: int,
            progress: Callable[[int], None] | None = None) -> dict:
    """{"decide" or (loss, noise): median seconds of a batch}, all measured alternately."""
    trainers = {(loss, noise): core.trainer(
        network, noise, loss=loss, pseudo_label="clean", balance=0.0, learning_rate=0.002, sigma=0.1,
        epsilon=0.1)
                for loss, noise in _STEPS}
    calls = {"decide": network.decide, **{key: it.step for key, it in trainers.items()}}
    seconds: dict = {key: [] for key in calls}
    for done in range(1, rounds + 1):
        for key, call in calls.items():
            start = time.perf_counter()
            call(features)
            seconds[key].append(time.perf_counter() - start)
        if progress:
            progress(done)
    return {key: float(np.median(values)) for key, values in seconds.items()}
