# SPDX-License-Identifier: GPL-3.0-or-later
"""Named settings of the equalizer, as `adann equalize --preset` takes them: what is not its default."""

PRESETS: dict[str, dict] = {
    "default": {},
    # The paper's Section III: Aug-VAT by Algorithm 2 as printed, Adam from 0.01.
    "paper": dict(loss="aug_vat", pseudo_label="perturbed", batch=8192, average=0,
                  optimizer="adam", learning_rate=0.01, sigma=0.15, epsilon=0.3, balance=0.0,
                  guard=False, front_filter=False, decisions="network"),
}
WARNINGS = {"paper": "the paper's settings diverge as they are printed: docs/results/paper.md"}
