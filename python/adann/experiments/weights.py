# SPDX-License-Identifier: GPL-3.0-or-later
"""Appendix B: how much adaptation changes the weights of each layer."""

from pathlib import Path
from typing import Any

import numpy as np

from .. import core
from ..offline.training import feature_view
from .cells import Progress, at_cell, run_cells
from .page import claim, plot, write_page
from .vcsel import AUG_VAT, DEFAULTS, HALF_WINDOW, PAPER_STEP, SIZES, SPS, Size, offline_network, sets

# k: S(W), S(change), r
_PAPER = [(71.122, 5.788, 0.081), (30.641, 0.929, 0.030), (31.368, 0.250, 0.008),
          (34.080, 0.189, 0.006), (21.338, 0.172, 0.008)]
ROWS = {"paper's step, 0.01": dict(AUG_VAT, learning_rate=PAPER_STEP),
        "step 0.003": AUG_VAT, "the defaults": DEFAULTS}


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory."""
    model, _ = offline_network(SIZES[scale])
    if progress:
        progress(1, len(ROWS) + 1)
    changes = dict(zip(ROWS, run_cells(
        weight_changes, [(model, settings, SIZES[scale]) for settings in ROWS.values()],
        at_cell(progress, len(ROWS) + 1, 1))))
    claims = []
    for name, layers in changes.items():
        ratios = [ratio for *_, ratio in layers]
        claims.append(claim(f"the first layer changes most ({name})",
                            ", ".join(f"{ratio:.3f}" for ratio in ratios),
                            ratios[0] == max(ratios)))
        claims.append(claim(f"the changes are minor, at most 0.1 ({name})",
                            f"{max(ratios):.3f}", max(ratios) <= 0.1))
    write_page(directory, "Weight changes (Appendix B)",
               {"scale": scale, "rows": changes, "claims": claims},
               ["k", "S(W) paper", "S(ΔW)", "r", "S(W) here",
                *sum(([f"{name}: S(ΔW)", "r"] for name in changes), [])],
               [[str(k + 1), *(f"{number:.3f}" for number in _PAPER[k]),
                 f"{next(iter(changes.values()))[k][0]:.3f}",
                 *sum(([f"{layers[k][1]:.3f}", f"{layers[k][2]:.3f}"]
                       for layers in changes.values()), [])] for k in range(len(_PAPER))],
               "Aug-VAT with σ 0.15, ε 0.3 and the clean label adapts over set1 and set2; S sums "
               "magnitudes, r = S(ΔW) / S(W). Of the defaults these are the weights that learn, "
               "not their average, which decides.")

    def draw(axes: Any) -> None:
        layers = np.arange(1, len(_PAPER) + 1)
        axes.semilogy(layers, [ratio for *_, ratio in _PAPER], "ko--", label="paper")
        for name, found in changes.items():
            axes.semilogy(layers, [ratio for *_, ratio in found], "o-", label=f"here, {name}")
        axes.set_xticks(layers)
        axes.set_xlabel("weight matrix k, from the input on")
        axes.set_ylabel("relative change r")
    plot(directory / "plot.png", draw)


def weight_changes(model: core.model, settings: dict,
                   size: Size) -> list[tuple[float, float, float]]:
    """[(S(W), S(change), r) of each layer] after a learner with an equalizer's settings has gone
    through both sets; of the weights that learn, not of their average."""
    settings = {name: value for name, value in settings.items()
                if name not in ("mode", "front_filter", "decisions")}  # which are not the learner's
    learner = core.learner(model, **dict(settings, average=0, guard=False))
    batch = settings.get("batch", core.equalizer_settings()["batch"].default)
    for capture in sets(size):
        features = feature_view(capture.samples, SPS, HALF_WINDOW)
        for start in range(0, len(features), batch):
            learner.step(features[start:start + batch])
    before, after = model.network, learner.network
    sums = [(float(np.abs(before.weight(k)).sum()),
             float(np.abs(after.weight(k) - before.weight(k)).sum()))
            for k in range(len(before.sizes) - 1)]
    return [(whole, change, change / whole) for whole, change in sums]
