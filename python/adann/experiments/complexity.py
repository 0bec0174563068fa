# SPDX-License-Identifier: GPL-3.0-or-later
"""Section III: what adaptation costs beside deciding, by the paper's formulas and by the clock."""

import time

import numpy as np

from .. import core
from ..training import feature_view
from .page import claim, plot, write_page
from .vcsel import BLOCK, HALF_WINDOW, SIZES, SPS, load, offline_network, sets

# loss: (forward, backward propagations of a step, the paper's ratio)
_LOSSES = {"self_training": (1, 1, 3), "pi_model": (2, 1, 4), "aug_vat": (3, 2, 7)}


def run(directory, scale="full", progress=None):
    """Write results.json, table.md and plot.png to directory."""
    model = load(offline_network(SIZES[scale])[0])
    forward, backward = multiplications(model.network.sizes)
    counted = {loss: (forwards * forward + backwards * backward) / forward
               for loss, (forwards, backwards, _) in _LOSSES.items()}
    features = feature_view(sets(SIZES[scale])[0][0], SPS, HALF_WINDOW)[:BLOCK]
    rounds = 7 if scale == "quick" else 101
    timed = measure(model.network, features, rounds,
                    progress and (lambda done: progress(done, rounds)))
    ratios = {(loss, noise): timed[loss, noise] / timed["decide"]
              for loss in _LOSSES for noise in core.noises}
    claims = []
    for loss, (*_, paper) in _LOSSES.items():
        claims.append(claim(f"{loss}: about {paper} times a decision, in multiplications",
                            f"{counted[loss]:.2f}", abs(counted[loss] - paper) < 0.25))
        for noise, how in (("literal", "as written"), ("reduced", "reduced")):
            ratio = ratios[loss, noise]
            claims.append(claim(f"the same in time, the noise {how} (within a quarter)",
                                f"{ratio:.1f}", abs(ratio - paper) <= 0.25 * paper))
    results = {"scale": scale, "sizes": model.network.sizes, "k_nn": forward, "k_back": backward,
               "counted": counted, "claims": claims, "seconds_decide": timed["decide"],
               "timed": {f"{loss}, {noise}": ratio for (loss, noise), ratio in ratios.items()}}
    write_page(directory, "Complexity (Section III)", results,
               ["loss", "ratio: paper", "by formula", "by time, noise as written",
                "by time, noise reduced"],
               [[loss, str(paper), f"{counted[loss]:.2f}", f"{ratios[loss, 'literal']:.2f}",
                 f"{ratios[loss, 'reduced']:.2f}"] for loss, (*_, paper) in _LOSSES.items()],
               f"A decision takes k_NN = {forward} multiplications a symbol, a back-propagation "
               f"k_back = {backward}. Times are medians of {rounds} batches of {BLOCK} symbols on "
               "one core, taken in turns; they are this machine's, and include the noise and the "
               "softmax, which the formulas do not count.")

    def draw(axes):
        places = np.arange(len(_LOSSES))
        bars = {"paper": [paper for *_, paper in _LOSSES.values()], "formula": counted.values(),
                **{f"time, noise {noise}": [ratios[loss, noise] for loss in _LOSSES]
                   for noise in core.noises}}
        for k, (name, heights) in enumerate(bars.items()):
            axes.bar(places + 0.2 * (k - 1.5), list(heights), 0.2, label=name)
        axes.set_xticks(places, list(_LOSSES))
        axes.set_ylabel("cost of a step, in decisions")
    plot(directory / "plot.png", draw)


def multiplications(sizes):
    """(k_NN, k_back) of a fully-connected network: sizes of its layers, the input's first.

    k_back by Appendix A: at each layer g * act' (as many as its neurons), g h^T and W^T g.
    """
    forward = sum(a * b for a, b in zip(sizes, sizes[1:]))
    return forward, 2 * forward + sum(sizes[1:])


def measure(network, features, rounds, progress=None):
    """{"decide" or (loss, noise): median seconds of a batch}, all measured in turns."""
    trainers = {(loss, noise): core.trainer(network, loss, noise=noise, balance=0.0)
                for loss in _LOSSES for noise in core.noises}
    calls = {"decide": network.decide, **{key: it.step for key, it in trainers.items()}}
    seconds = {key: [] for key in calls}
    for done in range(1, rounds + 1):
        for key, call in calls.items():
            start = time.perf_counter()
            call(features)
            seconds[key].append(time.perf_counter() - start)
        if progress:
            progress(done)
    return {key: float(np.median(values)) for key, values in seconds.items()}
