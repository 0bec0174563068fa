# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiments that `adann reproduce` runs.

Each is a function run(directory, scale, progress), to be called within cells.cluster(), that writes
results.json, table.md and plots. scale: "quick", a small form for the tests; "full"; or "long",
with what takes longest. progress: called as progress(cells done, all cells).
"""

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path

# name: module and function. They are imported when they are run: the command line starts at once.
PAPER = {
    "frozen": "frozen.run", "taps": "taps.run", "batch": "sweeps.run_batch",
    "optimizers": "sweeps.run_optimizers", "losses": "sweeps.run_losses", "mlse": "mlse.run",
    "training": "training_sequence.run", "weights": "weights.run", "complexity": "complexity.run",
    "coherent": "coherent.run"}
EXPERIMENTS = {**PAPER, "drift": "drift.run", "generality": "generality.run",
               "tracking": "tracking.run", "known": "known.run", "polarisations": "polarisations.run",
               "quantization": "quantization.run", "coded": "coded.run", "impairments": "impairments.run"}

# Captures of 960 km of fibre, and the script that made them. Source and build tree have them; they are not installed.
COHERENT_SETS = Path(__file__).parent / "coherent_sets"
_READ_THEM = {"coherent", "polarisations"}


def check_captures(names: Iterable[str]) -> None:
    """FileNotFoundError where an experiment of these names reads captures that are not here."""
    if not COHERENT_SETS.exists() and (them := sorted(_READ_THEM.intersection(names))):
        raise FileNotFoundError(
            f"the captures that {' and '.join(them)} reads are not installed; the source archive has them: "
            "./dev build there, then ./dev run adann reproduce")


def experiment(name: str) -> Callable:
    """The function of an experiment. name: a key of EXPERIMENTS."""
    module, function = EXPERIMENTS[name].split(".")
    return getattr(importlib.import_module(f".{module}", __name__), function)
