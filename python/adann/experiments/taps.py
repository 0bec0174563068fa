# SPDX-License-Identifier: GPL-3.0-or-later
"""Section IV-A: how long the network's window has to be, by its BER right after offline training."""

from pathlib import Path
from typing import Any

from .cells import Progress, at_cell, run_cells
from .page import ber_text, claim, plot, write_page
from .vcsel import HALF_WINDOW, SIZES, SPS, offline_network


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory."""
    widths = [1, 3, 5] if scale == "quick" else [1, 3, 5, 7, 9, 11]
    trained = run_cells(offline_network, [(SIZES[scale], half_window) for half_window in widths],
                        at_cell(progress, len(widths)))
    rates = dict(zip(widths, (rate for _, rate in trained)))
    chosen, least = rates[HALF_WINDOW], min(rates.values(), key=lambda rate: rate["ber"])
    results = {
        "scale": scale, "rates": rates,
        "claims": [
            claim("L = 5 achieves a satisfying BER, below 1e-3", f"{chosen['ber']:.1e}",
                  chosen["ber"] < 1e-3),
            claim("more taps than those gain little: the best L is at most 1.5 times better",
                  f"{least['ber']:.1e}", chosen["ber"] <= 1.5 * least["ber"])]}
    write_page(directory, "Taps (Section IV-A)", results,
               ["L", "window, samples", "paper", "BER, 1e-4"],
               [[str(width), str(SPS * (2 * width + 1)),
                 "chosen, below 10" if width == HALF_WINDOW else "–", ber_text(rate)]
                for width, rate in rates.items()],
               "The paper gives no figures but that L = 5 was chosen, with a BER below 1e-3. "
               "Errors are counted where the network was not trained.")

    def draw(axes: Any) -> None:
        axes.semilogy(widths, [rates[width]["ber"] for width in widths], "o-",
                      label="frozen network")
        axes.set_xlabel("L, symbols on either side")
        axes.set_ylabel("bit error rate on the undrifted link")
    plot(directory / "plot.png", draw)
