# SPDX-License-Identifier: GPL-3.0-or-later
"""What the generality experiment came to: results.json, table.md and plot.png."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import core
from ..captures.outputs import atomic_output
from ..offline.report import write_report
from .page import markdown, plot

_PART = 16        # blocks of a part of the run in which nothing may be worse than frozen
_LARGEST = 0.1    # frozen BER of the draws that the bars are for
_HARM = 1.1       # times the frozen BER
_NEAR = 1.5       # times the final BER, and the run has arrived
_ENOUGH = 30      # errors of a stretch that an estimate is compared in


def write_results(directory: Path, results: dict) -> None:
    """results: as generality.run makes them, all blocks counted."""
    directory.mkdir(parents=True, exist_ok=True)
    for each in results["sets"]:
        rows = [name for name in each["draws"][0]["errors"] if name not in ("frozen", "oracle")]
        each["summary"] = {name: [summarize(draw, name, results["block"]) for draw in each["draws"]] for name in rows}
    write_report(directory / "results.json", results)
    with atomic_output(directory / "table.md") as path:
        path.write_text("\n".join(["## Randomly drawn links\n", *(_table(each, results["scale"])
                                                               for each in results["sets"])]))
    _plot(directory / "plot.png", results["sets"])


def summarize(draw: dict, row: str, block: int) -> dict:
    """A draw's figures, the worst of its seeds one by one.

    frozen, oracle, final: BER of the drifted capture's last quarter; genie, viterbi: at its end. over_oracle,
    over_frozen, over_viterbi: its errors over theirs, one error at least. near: symbols until the BER of the latest
    eighth of the final quarter's length comes within 1.5 times the final one, or within chance of it. gain: part
    of the errors that oracle saves and this does too, None where oracle saves nothing. harm: the
    largest BER of a part of the run over the frozen one's there, as far as the 95 % intervals of
    both do not explain it; 0 if they always do.
    """
    bits, errors = draw["bits"] * block, draw["errors"]
    count = len(errors["frozen"][1]) // 4
    last = slice(-count, None)
    frozen, oracle = (sum(errors[name][1][last]) for name in ("frozen", "oracle"))
    finals = [sum(run[1][last]) for run in errors[row]]
    final = max(finals)
    return {
        "frozen": frozen / count / bits, "oracle": oracle / count / bits,
        "final": final / count / bits, "over_oracle": max(1, final) / max(1, oracle),
        "over_frozen": max(1, final) / max(1, frozen), **draw["limits"],
        "over_viterbi": max(1, final) / max(1, draw["limits"]["viterbi"] * count * bits),
        "gain": (frozen - final) / (frozen - oracle) if frozen > 1.2 * oracle + 10 else None,
        "near": max(_symbols_to(run[1], sum(run[1][last]) / count, count, block)
                    for run in errors[row]),
        "harm": max(_harm(ours, still, bits) for run in errors[row]
                    for ours, still in zip(run, errors["frozen"]))}


def _symbols_to(errors: Sequence[int], final: float, count: int, block: int) -> int:
    width = max(1, count // 8)
    mean = np.convolve(errors, np.full(width, 1 / width), "valid")
    limit = _NEAR * final + 3 * np.sqrt((final + 1 / width) / width)
    return int((np.argmax(mean <= limit) + width) * block)


def _harm(ours: Sequence[int], frozen: Sequence[int], bits: int) -> float:
    found = 0
    for start in range(0, len(ours), _PART):
        size = len(ours[start:start + _PART]) * bits
        ours_low = core.clopper_pearson(sum(ours[start:start + _PART]), size)[0]
        frozen_high = core.clopper_pearson(sum(frozen[start:start + _PART]), size)[1]
        if ours_low > _HARM * frozen_high:
            found = max(found, ours_low / frozen_high)
    return found


def bars(summary: list[dict]) -> list[tuple]:
    """[(what, value, wanted, met)] of one row's draws."""
    some = [draw for draw in summary if draw["frozen"] <= _LARGEST]
    near = [draw["over_oracle"] for draw in some]
    gains = [draw["gain"] for draw in some if draw["gain"] is not None]
    within = {limit: np.mean([ratio <= limit for ratio in near]) for limit in (1.2, 2)}
    possible = {limit: np.mean([draw["over_viterbi"] <= limit for draw in some]) for limit in (1.2, 2)}
    harmed = sum(draw["harm"] > 0 for draw in summary)
    return [(f"draws of frozen BER up to {_LARGEST} at 1.2 times the oracle's BER or below",
             f"{within[1.2]:.0%}", "95 %", within[1.2] >= 0.95),
            ("the same, 2 times", f"{within[2]:.0%}", "99 %", within[2] >= 0.99),
            ("at 1.2 times Viterbi's BER or below", f"{possible[1.2]:.0%}", "80 %", possible[1.2] >= 0.8),
            ("the same, 2 times", f"{possible[2]:.0%}", "95 %", possible[2] >= 0.95),
            ("draws where half of the oracle's gain is had",
             f"{sum(gain >= 0.5 for gain in gains)} of {len(gains)}", "all",
             all(gain >= 0.5 for gain in gains)),
            (f"draws with a part of the run worse than {_HARM} times frozen", str(harmed), "0",
             harmed == 0)]


def estimate_bars(draws: list[dict], row: str) -> list[tuple]:
    """The same of its estimates, where trustworthy and of enough errors, counted or estimated."""
    off = [max(estimated / max(1, counted), counted / estimated)
           for draw in draws for counted, estimated, trusted in draw["estimates"][row]
           if trusted and max(counted, estimated) >= _ENOUGH]
    near = np.mean([factor <= 1.5 for factor in off]) if off else 0
    return [(f"trustworthy estimates of {_ENOUGH} errors or more within a factor 1.5 of the count",
             f"{near:.0%} of {len(off)}", "95 %", near >= 0.95),
            ("the farthest off", f"{max(off, default=0):.2f} times", "3", max(off, default=0) <= 3)]


def _table(results: dict, scale: str) -> str:
    sizes = results["sizes"]
    parts = [f"{sizes['draws']} random links of the set \"{sizes['links']}\", {sizes['after']} "
             f"symbols after the drift; the worst of {sizes['seeds']} seeds. All are simulated. "
             f"Scale: {scale}.\n"]
    for row, summary in results["summary"].items():
        ratios = {name: [draw[name] for draw in summary]
                  for name in ("over_oracle", "over_frozen", "over_viterbi", "near")}
        parts += [f"### {row}\n", markdown(
            ["", "least", "10 %", "median", "90 %", "95 %", "most"],
            [[text, *(f"{value:.3g}" for value in np.percentile(ratios[name],
                                                              [0, 10, 50, 90, 95, 100]))]
             for name, text in (("over_oracle", "final BER over the oracle's"),
                                ("over_frozen", "final BER over the frozen network's"),
                                ("over_viterbi", "final BER over Viterbi's"),
                                ("near", f"symbols to {_NEAR} times the final BER"))]),
            markdown(["bar", "value", "wanted", "met"],
                     [[what, value, wanted, "yes" if met else "**no**"]
                      for what, value, wanted, met in
                      [*bars(summary), *estimate_bars(results["draws"], row)]]),
            markdown(["draw", "link", "drift", "frozen", "final", "oracle", "genie", "Viterbi", "symbols", "worse"],
                     [[str(draw["number"]),
                       f"{draw['family']}, {draw['constellation']}, {draw['sps']} samples a symbol",
                       f"{draw['drift']:.2f}", f"{one['frozen']:.1e}", f"{one['final']:.1e}",
                       *(f"{one[name]:.1e}" for name in ("oracle", "genie", "viterbi")), str(one["near"]),
                       f"{one['harm']:.2f}" if one["harm"] else ""]
                      for draw, one in zip(results["draws"], summary)])]
    return "\n".join(parts)


def _plot(path: Path, sets: list[dict]) -> None:
    def draw(axes: Any) -> None:
        for each in sets:
            for row, summary in each["summary"].items():
                for name, text in (("over_viterbi", "Viterbi's"), ("over_oracle", "the oracle's"),
                                   ("over_frozen", "frozen")):
                    ratios = np.sort([one[name] for one in summary])
                    axes.step(ratios, np.arange(1, ratios.size + 1) / ratios.size, where="post",
                              label=f"{each['sizes']['links']}, {row}: final BER over {text}")
        axes.set_xscale("log")
        axes.set_xlabel("ratio")
        axes.set_ylabel("part of the draws")
    plot(path, draw)
