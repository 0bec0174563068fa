# SPDX-License-Identifier: GPL-3.0-or-later
"""The paper's figure of gamma: a network told the first symbols of each set."""

from .. import core
from ..offline.training import feature_view
from .cells import run_cells
from .page import ber_text, claim, plot_runs, write_page
from .vcsel import (BLOCK, DEFAULTS, HALF_WINDOW, SIZES, SPS, STEP, bit_errors, figures, load,
                    offline_network, run_rows, sets)

_ITERATIONS = 100


def run(directory, scale="full", progress=None):
    """Write results.json, table.md and plot.png to directory."""
    size = SIZES[scale]
    parts = [256, 8] if scale == "quick" else [256, 128, 64, 32, 16, 8]
    before = len(parts) + 1
    total = before + size.seeds
    model, _ = offline_network(size)
    if progress:
        progress(1, total)
    runs = run_cells(run_sequence, [(model, part, size) for part in parts],
                     progress and (lambda done: progress(done + 1, total)))
    errors = {f"γ = 1/{part}": [run] for part, run in zip(parts, runs)}
    errors |= run_rows({"AdaNN, the defaults": (model, DEFAULTS)}, size, progress, before)
    rows = {name: figures(run) for name, run in errors.items()}
    ours = rows["AdaNN, the defaults"]["final"]
    told = {part: rows[f"γ = 1/{part}"]["final"] for part in parts}
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
               ["equalizer", "labels told in each set", "paper", "final BER, 1e-4"],
               [[name, "none" if name.startswith("AdaNN") else
                 f"{size.symbols // int(name.split('/')[1]):,}",
                 "3.0" if name.startswith("AdaNN") else
                 "similar" if int(name.split("/")[1]) < 32 else
                 "–" if name.endswith("/32") else "unacceptable", ber_text(row["final"])]
                for name, row in rows.items()],
               f"Our reading of the paper's {_ITERATIONS} iterations: as many supervised steps of "
               f"Adam, {STEP}, each on the whole sequence at the beginning of a set; then the "
               "network is frozen until the next set. Blocks of the sequence are decided by the "
               "network trained on them.")
    plot_runs(directory / "plot.png", errors)


def run_sequence(model, part, size):
    """Bit errors of each block: the first 1/part of each set's symbols trains the network."""
    network, errors = load(model).network, []
    for samples, labels in zip(*sets(size)):
        features = feature_view(samples, SPS, HALF_WINDOW)
        count = size.symbols // part
        trainer = core.trainer(network, loss="supervised", learning_rate=STEP)
        for _ in range(_ITERATIONS):
            trainer.step(features[:count], labels[:count])
        network = trainer.network
        errors.append(sum((bit_errors(network.decide(features[start:start + BLOCK])[0],
                                      labels[start:start + BLOCK])
                           for start in range(0, len(features), BLOCK)), []))
    return errors
