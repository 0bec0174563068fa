# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's figure of gamma: a network that knows the first symbols of each set."""

from pathlib import Path

import numpy as np

from .. import core
from ..offline.evaluate import Errors, count
from ..offline.training import feature_view
from .cells import Progress, at_cell, run_cells
from .page import ber_text, claim, plot_runs, write_page
from .vcsel import (
    BITS,
    BLOCK,
    DEFAULTS,
    DEFAULTS_NAME,
    HALF_WINDOW,
    SIZES,
    SPS,
    STEP,
    Size,
    figures,
    offline_network,
    run_rows,
    sets,
)

_ITERATIONS = 100


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory."""
    size = SIZES[scale]
    parts = [256, 8] if scale == "quick" else [256, 128, 64, 32, 16, 8]
    before = len(parts) + 1
    total = before + size.seeds
    model, _ = offline_network(size)
    if progress:
        progress(1, total)
    runs = run_cells(run_sequence, [(model, part, size) for part in parts],
                     at_cell(progress, total, 1))
    names = {part: f"γ = 1/{part}" for part in parts} | {None: DEFAULTS_NAME}
    errors = {names[part]: [run] for part, run in zip(parts, runs)}
    errors |= run_rows({DEFAULTS_NAME: (model, DEFAULTS)}, size, progress, before)
    rows = {name: figures(run) for name, run in errors.items()}
    ours = rows[DEFAULTS_NAME]["final"]
    told = {part: rows[names[part]]["final"] for part in parts}
    short = {part: rate for part, rate in told.items() if part > 32}
    best = min(short.values(), key=lambda rate: rate["ber"])
    longest = told[min(parts)]
    claims = [
        claim("no training sequence shorter than 1/32 does as well as AdaNN",
              f"AdaNN {ours['ber']:.1e}, the best of the shorter ones {best['ber']:.1e}",
              ours["ci95"][1] < best["ci95"][0]),
        claim("a longer one is similar to AdaNN (within a factor of 1.5)",
              f"γ = 1/{min(parts)} has {longest['ber']:.1e}",
              ours["ber"] / 1.5 <= longest["ber"] <= 1.5 * ours["ber"])]
    write_page(directory, "A network with a training sequence (Fig. gamma)",
               {"scale": scale, "seeds": size.seeds, "rows": rows, "errors": errors,
                "claims": claims},
               ["equalizer", "known labels in each set", "paper", "final BER, 1e-4"],
               [[name, f"{size.symbols // part:,}" if part else "none", _paper(part),
                 ber_text(rows[name]["final"])] for part, name in names.items()],
               f"Our reading of the paper's {_ITERATIONS} iterations: as many supervised steps of "
               f"Adam, {STEP}, each on the whole sequence at the beginning of a set; then the "
               "network is frozen until the next set. Blocks of the sequence are decided by the "
               "network trained on them.")
    plot_runs(directory / "plot.png", errors)


def _paper(part: int | None) -> str:
    """The paper's final BER, 1e-4, with a training sequence of 1/part of the set; None: without."""
    return ("3.0" if part is None else "similar" if part < 32 else
            "–" if part == 32 else "unacceptable")


def run_sequence(model: core.model, part: int, size: Size) -> list[Errors]:
    """Errors of each set: the first 1/part of its symbols trains the network."""
    network, errors = model.network, []
    for capture in sets(size):
        labels = capture.reference
        features = feature_view(capture.samples, SPS, HALF_WINDOW)
        sequence = slice(size.symbols // part)
        trainer = core.trainer(network, loss="supervised", learning_rate=STEP)
        for _ in range(_ITERATIONS):
            trainer.step(features[sequence], labels[sequence])
        network = trainer.network
        decided = np.concatenate([network.decide(features[start:start + BLOCK])[0]
                                  for start in range(0, len(features), BLOCK)])
        errors.append(count(decided, labels, BITS, BLOCK))
    return errors
