#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""AdaNN against the frozen network on a simulated link that drifts: what ./dev demo runs."""

import sys
from pathlib import Path

import click
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.cli.terminal import progress_bar
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.equalize import equalize_captures, prepare_capture
from gnuradio.adann.offline.evaluate import count_aligned
from gnuradio.adann.offline.report import Run, write_plot
from rich.console import Console
from rich.table import Column, Table

FOLDER = Path(__file__).resolve().parent
MODEL = FOLDER / "models/vcsel_pam4.safetensors"
SETS = {"set1": "none", "set2": "reference"}  # and their drifts, see simulation.VCSEL_DRIFTS
BLOCK = 8192  # symbols of one point in the picture


@click.command()
@click.option("--symbols", default=2**20, show_default=True, type=click.IntRange(16 * BLOCK),
              help="Symbols in each of the two sets.")
@click.option("-o", "--output", default=FOLDER.parent / "build/demo", metavar="DIR",
              type=click.Path(file_okay=False, path_type=Path), help="Folder for the picture.")
def demo(symbols, output):
    """Equalize a simulated 56 Gb/s PAM4 link before (set1) and after (set2) its fibre was moved.

    Two equalizers start with the same network, trained on a link like set1 with other symbols and
    noise. They run side by side in one flowgraph; one stays frozen, the other keeps learning from
    what it receives. Neither knows what was sent.
    """
    output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    model = core.load_model(str(MODEL))
    captures = []
    for number, (name, drift) in enumerate(SETS.items(), 1):
        console.print(f"Simulating {name}: {symbols:,} symbols, drift {drift}")
        sent = random_labels(symbols, [1, number])  # the model knows those of seed 0
        samples = simulate_vcsel(sent, drift, seed=2 + number)
        captures.append(prepare_capture(Capture(samples, path=name, reference=sent), model))

    console.print("Equalizing both, frozen and adaptive side by side")
    receivers = {"frozen": {"mode": "off"}, "adaptive": {"mode": "lockstep"}}
    with progress_bar("equalizing", 2 * symbols) as update:
        results, seconds = equalize_captures(
            model, captures, receivers, progress=lambda labels: update(
                len(labels["adaptive"]), f"{len(labels['adaptive']):,} symbols"))

    table = Table("set", "network", *(Column(name, justify="right", no_wrap=True) for name in (
        "BER", "95 % interval", "converged", "final BER")))
    curves = {name: [] for name in receivers}
    for number, capture in enumerate(captures):
        for name, result in results.items():
            errors = count_aligned(result.labels[number], capture.reference, model.constellation,
                                   BLOCK)
            run = Run(capture.path, symbols, model.constellation.bits_per_symbol, BLOCK, errors)
            curves[name].append(run)
            entry = run.entry()
            (low, high), converged = entry["ci95"], entry["convergence_blocks"]
            table.add_row(capture.path, name, f"{entry['ber']:.2e}", f"{low:.2e} to {high:.2e}",
                          f"{converged} blocks" if converged else "never",
                          f"{entry['final_ber']:.2e}")
    write_plot(output / "ber.png", curves, BLOCK, list(SETS))
    console.print(table)
    console.print(f"{2 * symbols / seconds / 1e6:.2f} Msymbols/s, "
                  f"{results['adaptive'].steps} adaptation steps. Picture: {output / 'ber.png'}")


if __name__ == "__main__":
    try:
        demo()
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"demo: {error}")
