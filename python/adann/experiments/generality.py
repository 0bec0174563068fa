# SPDX-License-Identifier: GPL-3.0-or-later
"""Randomly drawn links: the default settings on links that they were not tuned on.

A cell is one link of links.makers: a network is trained with labels on it, then the link drifts so
far that the network's error rate is a drawn one, from hardly more than before to 0.15; each eighth
link does not drift. The frozen network, the adaptive one and the oracle then decide the same
symbols, and the genie and Viterbi's algorithm of experiments.limits the last of them. Constants are chosen on the sets
"development" and "third_development"; "long" runs "untouched" and "third_untouched" instead.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import core
from ..captures.files import Capture
from ..links.makers import Link, draw_link
from ..offline.equalize import equalize_captures
from ..offline.evaluate import count
from ..offline.training import Score, TrainingSettings, feature_view, train
from .cells import Progress, at_cell, run_cells
from .generality_report import write_results
from .limits import limits

BLOCK = 1024  # symbols that errors are counted over
HALF_WINDOW = 5
_MOST = 0.15  # frozen BER
# Symbols: from one look at the estimate to the next; that these are averaged over.
_EVERY, _STRETCH = 8192, 2**16
# The oracle's learning rates: Adam, each for as many epochs.
_RATES = 0.005, 0.0015, 0.0004


@dataclass(frozen=True)
class Size:
    """links: the set. first, draws: number of the first link, and how many. labelled: symbols trained
    on. before, after: symbols received without and with the drift. epochs: of the offline training,
    and of each of the oracle's rates. seeds: of adaptation."""

    links: str = "development"
    first: int = 0
    draws: int = 104
    labelled: int = 2**17
    epochs: int = 40
    before: int = 2**16
    after: int = 2**20
    seeds: int = 5


# Of the set "untouched" draws 0 to 103, some after 202, and the first 104 from 1000, 2000, 3000, 4000, 5000 and 6000 on
# have been looked at by now.
SIZES = {"full": [Size(), Size("third_development")], "long": [Size("untouched", 7000), Size("third_untouched")],
         "quick": [Size(draws=3, labelled=2**14, epochs=20, before=2**13, after=2**15, seeds=1)]}


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory.

    scale: "full", the development sets; "long", the held-out ones; "quick", three small draws.
    """
    sizes = SIZES[scale]
    cells = [(size.links, number, size) for size in sizes for number in range(size.first, size.first + size.draws)]
    draws = run_cells(run_draw, cells, at_cell(progress, len(cells)))
    write_results(Path(directory), {"scale": scale, "block": BLOCK, "sets": [
        {"sizes": vars(size), "draws": [draw for draw in draws if draw["links"] == size.links]} for size in sizes]})


def run_draw(links: str, number: int, size: Size, rows: dict | None = None) -> dict:
    """One link: a dictionary of what it is and of the bit errors in each block.

    rows: {name: settings of adann.equalizer}, by default {"ours": those of adann.equalizer}.
    errors: {"frozen", "oracle": blocks of both captures; each row: those of each seed}. estimates:
    {each row: [errors, errors as estimated without labels, whether that was called trustworthy] of
    stretches of 2^16 symbols of all seeds}. limits: {"genie", "viterbi": BER at the end of the second capture}.
    """
    link = draw_link(links, number)
    settings = TrainingSettings(optimizer="adam", batch=1024, epochs=size.epochs, fraction=0.8)
    samples, sent = link.receive(size.labelled * 5 // 4, 0, 1)
    offline = train(samples, sent, link.constellation, link.sps, HALF_WINDOW, settings)
    drift = find_drift(link, offline.model.network, target_ber(number, offline.test))
    captures = [Capture(samples, reference=sent) for samples, sent in
                (link.receive(size.before, 0, 2), link.receive(size.after, drift, 3))]
    oracle = train_oracle(link, drift, offline.model, size)

    errors: dict = {}
    estimates: dict[str, list] = {}
    receivers: dict = {"frozen": dict(mode="off")}
    for name, row in (rows or {"ours": {}}).items():
        for seed in range(size.seeds):
            receivers[name, seed] = dict(row, mode="lockstep", seed=seed)
    for key, row in receivers.items():
        received, _ = equalize_captures(offline.model, captures, {"it": row}, events=key != "frozen")
        counted = [bit_errors(decided, capture.reference)
                   for decided, capture in zip(received["it"].labels, captures)]
        if key == "frozen":
            errors[key] = counted
        else:
            errors.setdefault(key[0], []).append(counted)
            estimates.setdefault(key[0], []).extend(
                find_estimates(received["it"].events, np.concatenate(counted), link.bits))
    errors["oracle"] = [bit_errors(_decide(oracle, capture.samples, link.sps), capture.reference)
                        for capture in captures]
    return dict(links=links, number=number, family=link.family, constellation=link.constellation,
                bits=link.bits, sps=link.sps, drift=drift, errors=errors, estimates=estimates,
                limits=limits(offline.model, captures[1].samples, captures[1].reference))


def find_estimates(events: list[dict], errors: np.ndarray, bits: int) -> list[tuple[int, float, bool]]:
    """What run_draw's `estimates` has: of the stretches for which all estimates were made, the mean of
    these, trustworthy if all are. events: status messages. errors: of each block."""
    ends = [event["decided"] for event in events]
    found = []
    for start in range(0, len(errors) * BLOCK - _STRETCH + 1, _STRETCH):
        latest = np.searchsorted(ends, range(start + _EVERY, start + _STRETCH + 1, _EVERY), "right") - 1
        some = [events[number] for number in latest if number >= 0 and "ber" in events[number]]
        if len(some) == len(latest):
            found.append((int(sum(errors[start // BLOCK:(start + _STRETCH) // BLOCK])),
                          float(np.mean([one["ber"] for one in some])) * _STRETCH * bits,
                          all(one["trustworthy"] for one in some)))
    return found


def target_ber(number: int, test: Score) -> float | None:
    """The frozen BER that a draw drifts to, or None for no drift. test: the offline Score."""
    if number % 8 == 7:
        return None
    least = 1.2 * (test.bit_errors + 1) / test.bits
    part = np.random.default_rng([5, number]).random()
    return least * (max(_MOST, least) / least) ** part


def find_drift(link: Link, network: core.network, target: float | None,
               symbols: int = 2**14) -> float:
    """How far the link has to drift for the network's BER on it: by bisection, 0 to 1."""
    if target is None:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(9):
        middle = (low + high) / 2
        samples, sent = link.receive(symbols, middle, 9)
        wrong = sum(bit_errors(_decide(network, samples, link.sps), sent))
        low, high = (low, middle) if wrong > target * symbols * link.bits else (middle, high)
    return low


def train_oracle(link: Link, drift: float, model: core.model, size: Size) -> core.network:
    """The network that is best on a quarter, held out, of a labelled record of the drifted link.

    Of three that Adam trains to convergence, one from `model`, and of the paper's recipe.
    """
    samples, sent = link.receive(size.labelled * 4 // 3, drift, 4)
    features = feature_view(samples, link.sps, HALF_WINDOW)
    taught, kept = slice(0, size.labelled), slice(size.labelled, None)
    paper = train(samples, sent, link.constellation, link.sps, HALF_WINDOW,
                  TrainingSettings(fraction=0.75, epochs=3 * size.epochs))
    found = [paper.model.network]
    for restart in range(3):
        network = core.network(model.network.sizes)
        network.initialize(restart)
        if restart == 0:
            network.parameters[:] = model.network.parameters
        random = np.random.default_rng(restart)
        for rate in _RATES:
            trainer = core.trainer(network, loss="supervised", learning_rate=rate)
            for _ in range(size.epochs):
                for some in np.array_split(random.permutation(size.labelled),
                                           -(-size.labelled // 1024)):
                    trainer.step(features[taught][some], sent[taught][some])
            network = trainer.network
        found.append(network)
    return min(found, key=lambda one: sum(bit_errors(one.decide(features[kept])[0], sent[kept])))


def bit_errors(decided: np.ndarray, sent: np.ndarray) -> list[int]:
    """Of each block. The alignment is known: a decision that is late or inverted is wrong."""
    return count(decided, sent, 1, BLOCK).bit_errors.tolist()


def _decide(network: core.network, samples: np.ndarray, sps: int) -> np.ndarray:
    return network.decide(feature_view(samples, sps, HALF_WINDOW))[0]
