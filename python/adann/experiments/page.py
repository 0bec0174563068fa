# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of an experiment of the paper: results.json, table.md and plot.png; and all claims on
one page."""

import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..captures.outputs import atomic_output
from ..offline.evaluate import CONVERGED, LATEST, Errors
from ..offline.report import draw_bers, new_figure, save_figure, write_report

_SIMULATED = ("The link is simulated ({}): no measured record of the paper's links is public. The "
              "paper's figures are of its own measured link; what can be compared is which "
              "equalizer does better, and by how much.")

_CLAIM_HEAD = ["the paper's claim", "found here", "holds"]


def claim(text: str, value: str, holds: object) -> dict:
    """What the paper says, what was found here, and whether that agrees."""
    return {"claim": text, "found": value, "holds": bool(holds)}


def write_page(directory: Path, title: str, results: dict, head: Sequence[str],
               rows: Sequence[Sequence[str]], note: str = "",
               simulated_by: str = "`adann simulate vcsel`") -> None:
    """results: all numbers, with "scale" and "claims"; head and rows: the table's, strings."""
    directory.mkdir(parents=True, exist_ok=True)
    write_report(directory / "results.json", {"title": title, **results})
    seeds = (f" Of an equalizer that draws noise the worst of {results['seeds']} seeds counts, "
             "figure by figure, and the plot shows the one with most errors."
             if "seeds" in results else "")
    parts = [f"## {title}\n", _wrapped(f"{_SIMULATED.format(simulated_by)} {note}"),
             _wrapped(f"Scale: {results['scale']}.{seeds}"), markdown(head, rows),
             f"![{title}](plot.png)\n",
             markdown(_CLAIM_HEAD, [_claim_row(one) for one in results["claims"]])]
    with atomic_output(directory / "table.md") as path:
        path.write_text("\n".join(parts))


def write_summary(directory: Path, names: Iterable[str]) -> None:
    """Write summary.md: the claims of the experiments whose pages lie in folders of these names."""
    found = {name: json.loads((directory / name / "results.json").read_text()) for name in names}
    rows = [[f"[{page['title']}]({name}/table.md)", *_claim_row(one)]
            for name, page in found.items() for one in page["claims"]]
    held = sum(one["holds"] for page in found.values() for one in page["claims"])
    parts = ["# The paper's claims, on simulated links\n",
             _wrapped("No measured record of the paper's links is public. Scale: "
                      f"{', '.join(dict.fromkeys(page['scale'] for page in found.values()))}. "
                      f"{held} of {len(rows)} claims hold."),
             markdown(["experiment", *_CLAIM_HEAD], rows)]
    with atomic_output(directory / "summary.md") as path:
        path.write_text("\n".join(parts))


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def _claim_row(one: dict) -> list[str]:
    return [one["claim"], one["found"], "yes" if one["holds"] else "**no**"]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table. head: (columns,) strings; rows: (rows, columns)."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def ber_text(rate: dict) -> str:
    """A BER and its interval, in units of 1e-4 as the paper's Table I has them."""
    return "{:.2f} [{:.2f}, {:.2f}]".format(*(1e4 * x for x in [rate["ber"], *rate["ci95"]]))


def plot(path: Path, draw: Callable[[Any], None]) -> None:
    """Write what draw(axes) draws."""
    figure = new_figure(8, 4.8)
    axes = figure.subplots()
    draw(axes)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    save_figure(path, figure)


def plot_runs(path: Path, runs: dict[str, list], limit: float = CONVERGED,
              limit_name: str | None = None) -> None:
    """BER over set1 and set2, the mean of 8 blocks. runs: {name: Errors of each seed and set}, of
    which the seed with most errors is drawn; limit: a BER that a line is drawn at."""
    def draw(axes: Any) -> None:
        for color, (name, seeds) in enumerate(runs.items()):
            captures = max(seeds, key=lambda captures: Errors.join(captures).bit_errors.sum())
            draw_bers(axes, [errors.latest() for errors in captures], color=f"C{color % 10}",
                      linestyle="-" if color < 10 else "--", label=name)
        axes.axhline(limit, color="0.7", linewidth=0.8, label=limit_name)
        axes.set_xlabel(f"blocks of {captures[0].symbols[0]} symbols, set1 and then set2")
        axes.set_ylabel(f"bit error rate, latest {LATEST} blocks")
    plot(path, draw)
