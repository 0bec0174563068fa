# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's figure of AdaNN against MLSE, whose channel response learns from all labels."""

from dataclasses import dataclass
from pathlib import Path

from .. import core
from ..offline.evaluate import Errors, count
from ..offline.mlse import decide, symbol_rows
from .cells import Progress, at_cell, run_cells
from .page import ber_text, claim, plot_runs, write_page
from .vcsel import (
    BITS,
    BLOCK,
    CONSTELLATION,
    DEFAULTS,
    DEFAULTS_NAME,
    SIZES,
    SPS,
    Size,
    figures,
    offline_network,
    run_rows,
    sets,
)

_MEMORIES = (1, 3, 5, 7)


@dataclass(frozen=True)
class Estimator:
    """An MLSE: samples a symbol that it sees, of those that there are, and its memory."""

    sps: int
    memory: int

    def __str__(self) -> str:
        return f"MLSE, memory {self.memory}, {_samples(self.sps)}"


def _samples(sps: int) -> str:
    return f"{sps} sample{'s' * (sps > 1)} a symbol"


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory."""
    size = SIZES[scale]
    estimators = [Estimator(sps, memory) for sps in (1, SPS)
                  for memory in (_MEMORIES[1:3] if scale == "quick" else _MEMORIES)]
    before = len(estimators) + 1
    total = before + size.seeds
    model, _ = offline_network(size)
    if progress:
        progress(1, total)
    runs = run_cells(run_mlse, [(estimator, size) for estimator in estimators],
                     at_cell(progress, total, 1))
    errors = {str(estimator): [run] for estimator, run in zip(estimators, runs)}
    errors |= run_rows({DEFAULTS_NAME: (model, DEFAULTS)}, size, progress, before)
    rows = {name: figures(run) for name, run in errors.items()}
    ours = rows[DEFAULTS_NAME]["final"]
    claims = []
    for sps in (1, SPS):
        best = min((rows[str(one)]["final"] for one in estimators if one.sps == sps),
                   key=lambda rate: rate["ber"])
        claims.append(claim(
            "AdaNN's final BER is far below the best MLSE's, 3.0e-4 against 2.4e-3: five times or "
            f"more ({_samples(sps)})",
            f"{ours['ber']:.1e} against {best['ber']:.1e}", 5 * ours["ber"] <= best["ber"]))
    write_page(directory, "AdaNN against MLSE (Fig. MLSE)",
               {"scale": scale, "seeds": size.seeds, "rows": rows, "errors": errors,
                "claims": claims},
               ["equalizer", "known labels", "final BER, 1e-4: paper", "here", "set1: here"],
               [[name, told, paper, ber_text(rows[name]["final"]), ber_text(rows[name]["before"])]
                for name, told, paper in (
                    *((str(one), "all", "24, its memory is not given" if one.sps == 1 else "–")
                      for one in estimators), (DEFAULTS_NAME, "none", "3.0"))],
               "The paper does not say how many samples a symbol its MLSE had; with four it knows "
               "as much as the network. Its response starts with a least-squares fit to 8192 "
               "labels and follows by LMS, updated every 8192 symbols.")
    plot_runs(directory / "plot.png", errors)


def run_mlse(estimator: Estimator, size: Size) -> list[Errors]:
    """Errors of set1 and of set2: an MLSE that knows all labels. With one sample a symbol it sees the
    middle one."""
    captures = sets(size)
    rows = [symbol_rows(capture.samples, estimator.sps, SPS // estimator.sps)
            for capture in captures]
    labels = [capture.reference for capture in captures]
    response = core.least_squares_response(rows[0][:BLOCK], labels[0][:BLOCK], CONSTELLATION,
                                           estimator.memory)
    decided, _ = decide(
        core.mlse(CONSTELLATION, estimator.sps, estimator.memory, adaptation="supervised",
                  update_interval=BLOCK, response=response), rows, labels)
    return [count(*pair, BITS, BLOCK) for pair in zip(decided, labels)]
