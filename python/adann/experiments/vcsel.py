# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's VCSEL link, simulated: its two sets, its network, and equalizers that run through
both sets."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import core
from ..captures.files import Capture
from ..captures.statistics import normalized
from ..links.simulation import VCSEL_DRIFTS, random_labels, simulate_changing
from ..links.vcsel_mmf_link import vcsel_mmf_link
from ..offline.equalize import equalize_captures
from ..offline.evaluate import Errors, count, rate
from ..offline.training import TrainingSettings, train
from .cells import Progress, at_cell, run_cells
from .drift_report import summarize, worst

CONSTELLATION, SPS, HALF_WINDOW, BITS = "pam4", 4, 5, 2
BLOCK = 8192  # symbols, the paper's batch: what errors are counted over
SETS = ("none", "reference")  # the drifts of set1 and set2

# The paper's equalizer is a network, so that refining its decisions would be no part of the comparison.
DEFAULTS = dict(mode="lockstep", decisions="network")
DEFAULTS_NAME = "AdaNN, the defaults"  # of their row in each table
# The paper's settings without the project's additions. Its step of 0.01 is the experiment
# losses' to judge; the others take this one, with the stable reading of the pseudo-label.
PAPER_STEP, STEP = 0.01, 0.003
PLAIN = dict(mode="lockstep", pseudo_label="clean", batch=BLOCK, average=0, optimizer="adam",
             learning_rate=STEP, balance=0.0, guard=False, front_filter=False, decisions="network")
SELF_TRAINING = dict(PLAIN, loss="self_training")
AUG_VAT = dict(PLAIN, loss="aug_vat", sigma=0.15, epsilon=0.3)
FROZEN = dict(mode="off")


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    symbols: int = 2**20    # of each set, and of the record trained on
    fraction: float = 0.25  # of that record that is trained on
    epochs: int = 200       # of the offline training
    batch: int = 16384      # of it, symbols
    seeds: int = 3          # runs of an equalizer that draws noise


SIZES = {"full": Size(), "long": Size(), "quick": Size(2**18, 0.375, 120, 4096, 2)}


@functools.lru_cache(maxsize=2)
def training_record(size: Size, noise: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels of the undrifted link. noise: of the link, None for its own."""
    labels = random_labels(size.symbols, [0, 1])
    parameters: dict = {} if noise is None else {"noise": noise}
    return simulate_changing(vcsel_mmf_link, labels, [parameters], 1, SPS), labels


@functools.lru_cache(maxsize=4)
def offline_network(size: Size, half_window: int = HALF_WINDOW,
                    noise: float | None = None) -> tuple[core.model, dict]:
    """(core.model, BER on the record's rest): the paper's offline training."""
    samples, labels = training_record(size, noise)
    settings = TrainingSettings(fraction=size.fraction, epochs=size.epochs, batch=size.batch)
    trained = train(samples, labels, CONSTELLATION, SPS, half_window, settings)
    return trained.model, rate(trained.test.bit_errors, trained.test.bits)


@functools.lru_cache(maxsize=1)
def sets(size: Size) -> list[Capture]:
    """Capture of set1 and of set2; neither is the record trained on."""
    captures = []
    for number, drift in enumerate(SETS):
        labels = random_labels(size.symbols, [1, number])
        samples = simulate_changing(vcsel_mmf_link, labels, [VCSEL_DRIFTS[drift]],
                                    1000 * (number + 1), SPS)
        captures.append(Capture(normalized(samples), path=f"set{number + 1}", reference=labels))
    return captures


def run_equalizer(model: core.model, settings: dict, size: Size) -> list[Errors]:
    """Errors of set1 and of set2, decided one after the other."""
    captures = sets(size)
    received, _ = equalize_captures(model, captures, {"it": settings})
    return [count(decided, capture.reference, BITS, BLOCK)
            for decided, capture in zip(received["it"].labels, captures)]


def run_rows(rows: dict, size: Size, progress: Progress | None = None,
             done: int = 0) -> dict[str, list]:
    """Run each row's equalizer with each seed, once if it draws no noise.

    rows: {name: (model, settings)}. progress: called as progress(cells done, all cells), `done` of
    which came before. Returns {name: [what run_equalizer returns, of each seed]}.
    """
    cells = {name: [(model, dict(settings, seed=seed), size)
                    for seed in range(size.seeds if _draws_noise(settings) else 1)]
             for name, (model, settings) in rows.items()}
    total = done + sum(map(len, cells.values()))
    if progress:
        progress(done, total)
    runs = iter(run_cells(run_equalizer, sum(cells.values(), []),
                          at_cell(progress, total, done)))
    return {name: [next(runs) for _ in row] for name, row in cells.items()}


def _draws_noise(settings: dict) -> bool:
    loss = settings.get("loss", core.equalizer_settings()["loss"].default)
    return settings["mode"] != "off" and core.losses[loss].perturbs


def figures(runs: Sequence[Sequence[Errors]]) -> dict:
    """What the runs of a row come to, the worst of its seeds figure by figure: see
    drift_report.summarize; "before" is set1, the rest set2. And "time": the paper's own
    convergence_so_far() of set2."""
    times = [set2.convergence_so_far() for _, set2 in runs]
    return {**worst([summarize(errors) for errors in runs]),
            "time": None if None in times else max(times)}
