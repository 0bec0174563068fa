# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tracking suite's runs come to: results.json, table.md and the plots."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import core
from ..captures.outputs import atomic_output
from ..offline.report import new_figure, save_figure, write_report
from .comparators import LINEAR
from .page import markdown

# {kind: (heading, what the columns are)}
_KINDS = {
    "turns": ("Rotating echo", "cycles per symbol"),
    "jumps": ("Jumps of the echo's phase", "symbols between them"),
    "carrier": ("Carrier offset", "cycles a symbol"),
    "linewidth": ("Phase noise", "linewidth times symbol time"),
    "drift": ("A drift that takes its time", "symbols it lasts"),
    "sender": ("Another sender", "its change"),
    "event": ("A disturbance while the echo rotates by 1e-6 cycles per symbol, BER after it", "disturbance")}
OURS, FROZEN = "AdaNN", "frozen"
# Beyond this rate the bars are lower. {whether: (times the best LMS's BER, BER where it has none)}
_FAST = 3e-5
_TURNING = {False: (1.5, 2e-5), True: (3, 5e-5)}
_PHASE = {"carrier": (1e-2, 1.5), "linewidth": (1e-5, 2)}  # up to here, so many times the BER without


def write_results(directory: Path, results: dict) -> None:
    """results: what tracking.run collects. Adds their summary and the bars to results.json."""
    directory.mkdir(parents=True, exist_ok=True)
    for run in results["runs"]:
        run["ber"] = run["errors"].ber
    results["summary"] = summarize(results["runs"])
    results["bars"] = bars(results)
    write_report(directory / "results.json", results)
    with atomic_output(directory / "table.md") as path:
        path.write_text(_table(results))
    _plot(directory / "turns.png", results, "turns")
    if any(entry["kind"] == "drift" for entry in results["summary"]):
        _plot(directory / "drift.png", results, "drift")


def summarize(runs: list[dict]) -> list[dict]:
    """[{kind, link, value, rows: {equalizer: [BER of each seed]}}] in the order of the runs."""
    found: dict = {}
    for run in runs:
        rows = found.setdefault((run["kind"], run["link"], run["value"]), {})
        rows.setdefault(run["row"], []).append(run["ber"])
    return [dict(zip(("kind", "link", "value"), case), rows=rows) for case, rows in found.items()]


def bars(results: dict) -> list[dict]:
    """What a receiver is meant to reach: [{kind, link, value, bar, ber, limit, met}], the seed that
    is worst against its own limit."""
    found = []
    still = {entry["link"]: entry["rows"][OURS] for entry in results["summary"]
             if (entry["kind"], entry["value"]) == ("turns", 0)}

    def judge(entry: dict, bar: str, limits: Sequence[float]) -> None:
        ber, limit = max(zip(entry["rows"][OURS], limits), key=lambda pair: pair[0] / pair[1])
        found.append({**{key: entry[key] for key in ("kind", "link", "value")}, "bar": bar,
                      "ber": ber, "limit": limit, "met": ber <= limit})

    for entry in results["summary"]:
        kind, rows = entry["kind"], entry["rows"]
        if kind == "turns":
            times, least = _TURNING[entry["value"] > _FAST]
            judge(entry, f"{times:g} times the best LMS's, or {least:g}",
                  [max(least, times * lms) for lms in rows[LINEAR]])
        # A phase modulation carries nothing that an amplifier bends.
        if kind == "sender" or kind == "turns" and entry["link"] == "16QAM, amplifier":
            judge(entry, "half the best LMS's", [lms / 2 or 1e-9 for lms in rows[LINEAR]])
        if kind in _PHASE and entry["value"] <= _PHASE[kind][0]:
            times = _PHASE[kind][1]
            judge(entry, f"{times:g} times its own without, or 2e-05",
                  [max(2e-5, times * ber) for ber in still[entry["link"]]])
        judge(entry, "the frozen network's", [_highest(ber, entry, results)
                                              for ber in rows[FROZEN]])
    return found


def _highest(ber: float, entry: dict, results: dict) -> float:
    """End of the 95 % interval of a BER that was counted on an entry's streams."""
    run = next(run for run in results["runs"] if
               all(run[key] == entry[key] for key in ("kind", "link", "value")))
    bits = run["symbols"] * results["bits"][run["link"]]
    return core.clopper_pearson(round(ber * bits), bits)[1]


def _table(results: dict) -> str:
    sizes = results["sizes"]
    parts = ["# Links that keep moving\n",
             f"All links are simulated. Scale: {results['scale']}; streams of {sizes['symbols']} "
             f"symbols unless a column says more, seeds 0 to {sizes['seeds'] - 1} of stream and "
             "equalizer, of which the worst counts (feedback, CMA, Volterra: seed 0, Volterra 65536 "
             "symbols). Errors of the first 8192 symbols do not count. AdaNN knows no label "
             "and starts from the network of the static link. Each of the others has the best of its "
             "steps, and the first 4096 labels; CMA has no label but its carrier phase.\n"]
    for kind, link in dict.fromkeys((entry["kind"], entry["link"]) for entry in results["summary"]):
        entries = [entry for entry in results["summary"]
                   if (entry["kind"], entry["link"]) == (kind, link)]
        heading, unit = _KINDS[kind]
        parts.append(f"### {heading}: {link}\n")
        parts.append(markdown([unit, *(_value(entry["value"]) for entry in entries)], [
            [row, *(_ber(max(entry["rows"][row])) if row in entry["rows"] else "–"
                    for entry in entries)] for row in _rows(entries)]))
    parts.append("### Bars\n")
    parts.append(markdown(
        ["case", "link", "value", "at most", "limit", "BER", "met"],
        [[_KINDS[bar["kind"]][0].split(",")[0], bar["link"], _value(bar["value"]), bar["bar"],
          _ber(bar["limit"]), _ber(bar["ber"]), "yes" if bar["met"] else "**no**"]
         for bar in results["bars"]]))
    return "\n".join(parts)


def _rows(entries: list[dict]) -> list[str]:
    """All equalizers of some entries, some of which only some of them have."""
    return list(dict.fromkeys(row for entry in entries for row in entry["rows"]))


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _ber(ber: float) -> str:
    return f"{ber:.1e}" if ber else "0"


def _plot(path: Path, results: dict, kind: str) -> None:
    """BER over the values of a kind, a panel for each link; the worst seed."""
    entries = [entry for entry in results["summary"] if entry["kind"] == kind]
    links = list(dict.fromkeys(entry["link"] for entry in entries))
    figure = new_figure(4.8 * 2, 3.6 * -(-len(links) // 2))
    panels = figure.subplots(-(-len(links) // 2), 2, squeeze=False, sharex=True, sharey=True).flat
    for axis, link in zip(panels, links):
        of_link = [entry for entry in entries if entry["link"] == link]
        least = min(float(entry["value"]) for entry in of_link if entry["value"])
        for color, row in enumerate(_rows(of_link)):
            # What is 0 has its place one decade left of the least, or at the bottom.
            points = [(entry["value"] or least / 10, max(*entry["rows"][row], 1e-7))
                      for entry in of_link if row in entry["rows"]]
            axis.loglog(*np.transpose(points), "o-", color=f"C{color}",
                        linewidth=2 if row == OURS else 1, markersize=3, label=row)
        axis.set_title(link, fontsize="medium")
        axis.set_ylim(7e-8, 1)
        axis.grid(True, alpha=0.3)
        axis.legend(fontsize="x-small")
    figure.supxlabel(_KINDS[kind][1] + (", left: none" if kind == "turns" else ""))
    figure.supylabel("bit error rate, bottom: none")
    save_figure(path, figure)
