# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's figure of AdaNN against MLSE, whose channel response learns from all labels."""

import numpy as np

from .. import core
from .cells import run_cells
from .page import ber_text, claim, plot_runs, write_page
from .vcsel import (BLOCK, CONSTELLATION, DEFAULTS, SIZES, SPS, bit_errors, figures,
                    offline_network, run_rows, sets)

_MEMORIES = (1, 3, 5, 7)


def run(directory, scale="full", progress=None):
    """Write results.json, table.md and plot.png to directory."""
    size = SIZES[scale]
    cells = [(sps, memory, size) for sps in (1, SPS)
             for memory in (_MEMORIES[1:3] if scale == "quick" else _MEMORIES)]
    before = len(cells) + 1
    total = before + size.seeds
    model, _ = offline_network(size)
    if progress:
        progress(1, total)
    runs = run_cells(run_mlse, cells, progress and (lambda done: progress(done + 1, total)))
    errors = {f"MLSE, memory {memory}, {sps} sample{'s' * (sps > 1)} a symbol": [run]
              for (sps, memory, _), run in zip(cells, runs)}
    errors |= run_rows({"AdaNN, the defaults": (model, DEFAULTS)}, size, progress, before)
    rows = {name: figures(run) for name, run in errors.items()}
    ours = rows["AdaNN, the defaults"]["final"]
    claims = []
    for sps in (1, SPS):
        best = min((rows[name]["final"] for name, cell in zip(rows, cells) if cell[0] == sps),
                   key=lambda rate: rate["ber"])
        claims.append(claim(
            "AdaNN's final BER is far below the best MLSE's, 3.0e-4 against 2.4e-3: five times or "
            f"more ({sps} sample{'s' * (sps > 1)} a symbol)",
            f"{ours['ber']:.1e} against {best['ber']:.1e}", 5 * ours["ber"] <= best["ber"]))
    write_page(directory, "AdaNN against MLSE (Fig. MLSE)",
               {"scale": scale, "seeds": size.seeds, "rows": rows, "errors": errors,
                "claims": claims},
               ["equalizer", "told", "final BER, 1e-4: paper", "here", "set1: here"],
               [[name, "no label" if name.startswith("AdaNN") else "all labels",
                 "3.0" if name.startswith("AdaNN") else
                 "24, of a memory not told" if " 1 sample " in name else "–",
                 ber_text(row["final"]), ber_text(row["before"])] for name, row in rows.items()],
               "The paper does not say how many samples a symbol its MLSE had; with four it knows "
               "as much as the network. Its response starts with a least-squares fit to 8192 "
               "labels and follows by LMS, updated every 8192 symbols.")
    plot_runs(directory / "plot.png", errors)


def run_mlse(sps, memory, size):
    """Bit errors of each block of set1 and of set2: an MLSE told all labels.

    sps: samples a symbol that it sees, of those that there are; 1: the middle one.
    """
    captures, sent = sets(size)
    rows = []
    for samples in captures:
        kept = samples[::SPS // sps]
        rows.append(np.concatenate([np.zeros(sps // 2, np.float32), kept])[:kept.size]
                    .reshape(-1, sps))
    rows, labels = np.concatenate(rows), np.concatenate(sent)
    estimator = core.mlse(
        CONSTELLATION, sps, memory, adaptation="supervised", update_interval=BLOCK,
        response=core.least_squares_response(rows[:BLOCK], labels[:BLOCK], CONSTELLATION, memory))
    # Symbols that tell nothing push out the last ones.
    flush = np.full((estimator.latency, sps), np.nan, np.float32)
    decided = np.concatenate([estimator.process(rows, labels),
                              estimator.process(flush, np.full(len(flush), 255, np.uint8))])
    ends = np.cumsum([labels.size for labels in sent])
    return [bit_errors(part, labels)
            for part, labels in zip(np.split(decided[:ends[-1]], ends[:-1]), sent)]
