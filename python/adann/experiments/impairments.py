# SPDX-License-Identifier: GPL-3.0-or-later
"""What real front ends and long channels cost: one impairment at a time, in three strengths.

A network is trained with labels on a link without it. A stream of the link with it then goes
through the receivers of `compared`.
"""

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np

from .. import core
from ..captures.outputs import atomic_output
from ..links.radio_link import SPS
from ..offline.report import new_figure, save_figure, write_report
from . import compared
from .cells import Progress, at_cell, run_cells
from .comparators import LINEAR
from .compared import FROZEN, KNOWN, OURS, PARTS
from .impaired_signals import KINDS, stream
from .page import markdown

# Symbol energy over the noise's power density, dB, at which some 1e-3 of the bits are wrong without impairment.
SNR = {"qpsk": 11.5, "16qam": 18.0, "64qam": 24.5}
_TIMES, _TIMES_FROZEN = 1.1, 1.05  # that a receiver's errors may exceed the best one's, the frozen network's


@dataclass(frozen=True)
class Size:
    """labelled: symbols of a record to train on; symbols: of a stream; seed: of the first one; seeds: how many."""

    labelled: int = 2**17
    symbols: int = 2**17
    seed: int = 10
    seeds: int = 1
    constellations: tuple = tuple(SNR)
    kinds: tuple = tuple(KINDS)
    strengths: tuple = (0, 1, 2)


# Constants are chosen with the seeds of "full"; "long" has others.
SIZES = {"full": Size(), "long": Size(symbols=2**19, seed=1000, seeds=3),
         "quick": Size(labelled=2**15, symbols=2**15, constellations=("qpsk",),
                       kinds=("I/Q imbalance", "tone"), strengths=(2,))}


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and errors.png to directory. scale: "quick", "full" or "long", see SIZES."""
    size = SIZES[scale]
    streams = [(constellation, kind, strength, seed) for constellation in size.constellations for kind in size.kinds
               for strength in size.strengths for seed in range(size.seed, size.seed + size.seeds)]
    total = len(size.constellations) + len(streams)
    models = dict(zip(size.constellations, run_cells(
        train_model, [(each, size) for each in size.constellations], at_cell(progress, total))))
    found = run_cells(run_stream, [(models[each[0]], *each, size) for each in streams],
                      at_cell(progress, total, len(models)))
    _write({"scale": scale, "sizes": vars(size), "parts": PARTS,
            "runs": [dict(zip(("constellation", "kind", "strength", "seed"), each), rows=rows)
                     for each, rows in zip(streams, found)]}, Path(directory))


def train_model(constellation: str, size: Size) -> core.model:
    samples, labels = stream(constellation, SNR[constellation], None, 0, size.labelled, 0)
    return compared.train_model(samples, labels, constellation, SPS)


def run_stream(model: core.model, constellation: str, kind: str, strength: int, seed: int, size: Size) -> dict:
    """What compared.compare() has of a stream."""
    samples, labels = stream(constellation, SNR[constellation], kind, strength, size.symbols, seed)
    return compared.compare(model, samples, labels)


def bars(runs: list[dict], symbols: int) -> list[dict]:
    """What a receiver is meant to reach in the last half: [{constellation, kind, strength, seed, bar, found, limit,
    met}]; a limit is beyond the 95 % interval of what it compares with."""
    found = []
    for each in runs:
        bits = symbols // 2 * core.constellation(each["constellation"]).bits_per_symbol
        ber = {row: late(of) for row, of in each["rows"].items()}
        best = min(ber[row] for row in (FROZEN, LINEAR, KNOWN))
        for bar, than, times in (("the best of the others", best, _TIMES),
                                 ("the frozen network", ber[FROZEN], _TIMES_FROZEN)):
            limit = core.clopper_pearson(min(bits, round(times * than * bits)), bits)[1]
            found.append({**{key: each[key] for key in ("constellation", "kind", "strength", "seed")},
                          "bar": f"{times:g} times {bar}", "found": ber[OURS], "limit": limit,
                          "met": ber[OURS] <= limit})
    return found


def late(row: dict) -> float:
    """Bit error rate of the last half."""
    return float(np.mean(row["ber"][PARTS // 2:]))


def _write(results: dict, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    size = results["sizes"]
    results["bars"] = bars(results["runs"], size["symbols"])
    write_report(directory / "results.json", results)
    parts = ["# Front ends and long channels\n",
             fill(f"All links are simulated. Scale: {results['scale']}; streams of {size['symbols']} symbols. A "
                  "network is trained with labels on the link without impairment. Bit error rates of the last "
                  "half of a stream; the worst seed counts. LMS has the best of its steps and the first "
                  f"{compared.LABELLED} labels; AdaNN knows no label.", 100) + "\n"]
    for constellation in size["constellations"]:
        parts += [f"### {constellation.upper()}, {SNR[constellation]:g} dB\n", _table(results, constellation)]
    for bar in dict.fromkeys(each["bar"] for each in results["bars"]):
        of = [each for each in results["bars"] if each["bar"] == bar]
        parts.append(f"At most {bar}: {sum(each['met'] for each in of)} of {len(of)}.\n")
    with atomic_output(directory / "table.md") as path:
        path.write_text("\n".join(parts))
    _plot(directory / "errors.png", results)


def _of(results: dict, constellation: str, kind: str, strength: int) -> dict:
    runs = [each["rows"] for each in results["runs"]
            if (each["constellation"], each["kind"], each["strength"]) == (constellation, kind, strength)]
    return {row: max(late(rows[row]) for rows in runs) for row in compared.ROWS}


def _table(results: dict, constellation: str) -> str:
    size, rows = results["sizes"], []
    for kind in size["kinds"]:
        for strength in size["strengths"]:
            found = _of(results, constellation, kind, strength)
            rows.append([kind, ("weak", "middle", "strong")[strength],
                         *(f"{ber:.1e}" if ber else "0" for ber in found.values())])
    return markdown(["impairment", "strength", *compared.ROWS], rows)


def _plot(path: Path, results: dict) -> None:
    """AdaNN's errors over those of the best of the others, strength by strength; a panel for each constellation."""
    size = results["sizes"]
    figure = new_figure(5 * len(size["constellations"]), 1 + 0.3 * len(size["kinds"]))
    panels = figure.subplots(1, len(size["constellations"]), squeeze=False, sharex=True, sharey=True).flat
    least = 1 / (size["symbols"] // 2)
    for axis, constellation in zip(panels, size["constellations"]):
        for place, kind in enumerate(size["kinds"]):
            found = [_of(results, constellation, kind, strength) for strength in size["strengths"]]
            for strength, ber in zip(size["strengths"], found):
                best = min(ber[row] for row in (FROZEN, LINEAR, KNOWN))
                axis.semilogx((ber[OURS] + least) / (best + least), place, "o", color=f"C{strength}",
                              label=("weak", "middle", "strong")[strength] if place == 0 else None)
        axis.axvline(_TIMES, color="0.7", linewidth=0.8)
        axis.set_yticks(range(len(size["kinds"])), size["kinds"])
        axis.set_title(constellation.upper(), fontsize="medium")
        axis.grid(True, alpha=0.3)
    panels[0].legend(fontsize="x-small")
    figure.supxlabel("AdaNN's errors over those of the best of frozen, LMS and least squares")
    save_figure(path, figure)
