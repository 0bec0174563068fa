# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiments that `adann reproduce` runs.

Each is a function run(directory, scale, progress) that writes results.json, table.md and plots.
scale: "quick", a small form for the tests; "full"; or "long", with what takes longest. progress:
called as progress(cells done, all cells).
"""

from . import drift, frozen, sweeps

# On the VCSEL link.
PAPER = {"frozen": frozen.run, "batch": sweeps.run_batch, "optimizers": sweeps.run_optimizers,
         "losses": sweeps.run_losses}
EXPERIMENTS = {**PAPER, "drift": drift.run}
