# SPDX-License-Identifier: GPL-3.0-or-later
"""Where codes work: links with raw bit error rates of 1e-3 to 0.15, that stand still and that move.

A network is trained with labels on each link and at each noise while it stands still. Each stream
then goes through the receivers of `compared`, and through AdaNN with a network trained at less noise.
Frames of a convolutional code go through those of `decoded`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill

import numpy as np

from .. import core
from ..captures.outputs import atomic_output
from ..captures.statistics import normalized
from ..links.radio_link import SPS, RadioLink
from ..links.simulation import random_labels
from ..offline.report import new_figure, save_figure, write_report
from . import compared, decoded
from .cells import Progress, at_cell, run_cells
from .comparators import LINEAR, unit_points
from .compared import FROZEN, KNOWN, OURS, PARTS
from .page import markdown

_RAYS: dict = dict(echo=0.3, delay=1.25)
LINKS = {"QPSK": RadioLink("qpsk", **_RAYS),
         "QPSK, amplifier": RadioLink("qpsk", **_RAYS, amplifier="rapp", back_off=1),
         "8PSK": RadioLink("8psk", **_RAYS),
         "16QAM": RadioLink("16qam", **_RAYS),
         "16QAM, amplifier": RadioLink("16qam", **_RAYS, amplifier="rapp", back_off=5),
         "16APSK": RadioLink("16apsk", **_RAYS),
         "32APSK": RadioLink("32apsk", **_RAYS),
         "64QAM": RadioLink("64qam", **_RAYS)}
MOTIONS: dict[str, dict] = {
    "still": {}, "echo 1e-6": dict(turns=1e-6), "echo 1e-5": dict(turns=1e-5), "echo 3e-5": dict(turns=3e-5),
    "jumps": dict(jump_every=2**16), "carrier 1e-5": dict(carrier=1e-5), "linewidth 1e-5": dict(linewidth=1e-5)}
BERS = 1e-3, 1e-2, 5e-2, 0.1, 0.15
_SEARCHED = 2**15  # symbols that a noise is found with
# What a receiver is meant to reach: times the frozen network's errors, bits a symbol below its information, and of
# that of least squares which know all labels, up to the first rate and beyond it.
_TIMES, _BELOW, _PART, _PART_BEYOND, _USUAL = 1.02, 0.005, 0.97, 0.9, 0.1
_MORE, _LOST = 15, 0.05  # dB, of a training record; bits a symbol that this may cost
BETTER = f"AdaNN, trained at {_MORE} dB more"
ROWS = FROZEN, OURS, BETTER, LINEAR, KNOWN
# Frames through a decoder: motions, the rate that a network is trained at, dB more than at that rate, and what may be
# needed more than by least squares.
_DECODED, _TRAINED, _MORE_NEEDED = ("still", "echo 1e-5", "echo 3e-5"), 5e-2, 0.3
_OFFSETS = -2, -1.5, -1, -0.5, 0, 0.5


@dataclass(frozen=True)
class Size:
    """labelled: symbols of a record to train on; symbols: of a stream; seeds: of streams; links, motions, bers;
    frames: through a decoder, of the links `decoded`, at each ratio."""

    labelled: int = 2**17
    symbols: int = 2**17
    seeds: int = 1
    links: tuple = tuple(LINKS)
    motions: tuple = tuple(MOTIONS)
    bers: tuple = (1e-2, 5e-2, 0.1, 0.15)
    frames: int = 2000
    decoded: tuple = ("QPSK", "16QAM")


SIZES = {"full": Size(), "long": Size(symbols=2**20, seeds=5, bers=BERS),
         "quick": Size(labelled=2**15, symbols=2**15, links=("QPSK",), motions=("still", "echo 1e-5"), bers=(_TRAINED,),
                       frames=64, decoded=("QPSK",))}


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and gmi.png to directory. scale: "quick", "full" or "long", see SIZES."""
    size = SIZES[scale]
    points = [(link, ber) for link in size.links for ber in size.bers]
    streams = [(*point, motion, seed) for point in points for motion in size.motions for seed in range(size.seeds)]
    framed = [(link, motion, offset) for link in size.decoded for motion in _DECODED for offset in _OFFSETS]
    total = 2 * len(points) + len(streams) + len(framed)
    models = dict(zip(points, run_cells(train_at, [(*point, size) for point in points], at_cell(progress, total))))
    better = dict(zip(points, run_cells(
        train_with, [(link, snr + _MORE, size) for (link, _), (_, snr) in models.items()],
        at_cell(progress, total, len(points)))))
    found = run_cells(run_stream, [(better[each[:2]], *models[each[:2]], *each, size) for each in streams],
                      at_cell(progress, total, 2 * len(points)))
    at_snr = [(link, motion, models[link, _TRAINED][1] + offset) for link, motion, offset in framed]
    lost = run_cells(decoded.lost_frames, [
        (models[link, _TRAINED][0], replace(LINKS[link], snr=snr, **MOTIONS[motion]), size.frames, [4, number])
        for number, (link, motion, snr) in enumerate(at_snr)], at_cell(progress, total, total - len(framed)))
    _write({"scale": scale, "sizes": vars(size), "parts": PARTS,
            "snr": [[*point, snr] for point, (_, snr) in models.items()],
            "runs": [dict(zip(("link", "target", "motion", "seed"), each), rows=rows)
                     for each, rows in zip(streams, found)],
            "frames": [dict(zip(("link", "motion", "snr"), each), lost=rows) for each, rows in zip(at_snr, lost)]},
           Path(directory))


def train_at(link: str, ber: float, size: Size) -> tuple[core.model, float]:
    """(core.model of the link that stands still, at which SNR in dB): see snr_at."""
    snr = snr_at(link, ber)
    return train_with(link, snr, size), snr


def train_with(link: str, snr: float, size: Size) -> core.model:
    """core.model of the link that stands still, with this SNR in dB."""
    samples, labels = stream(link, snr, {}, size.labelled, 0)
    return compared.train_model(samples, labels, LINKS[link].constellation, SPS)


def snr_at(link: str, ber: float) -> float:
    """dB at which a linear equalizer with all labels known has this bit error rate, by bisection."""
    low, high = -5.0, 50.0
    points = unit_points(core.constellation(LINKS[link].constellation))
    while high - low > 0.05:
        middle = (low + high) / 2
        samples, labels = stream(link, middle, {}, _SEARCHED, 1)
        soft = compared.known_least_squares(samples, points[labels], SPS, _SEARCHED)
        wrong = np.mean(compared.measure(soft, labels, points)["ber"][1:])
        low, high = (middle, high) if wrong > ber else (low, middle)
    return high


def stream(link: str, snr: float, motion: dict, symbols: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(samples normalised as a whole, labels)."""
    moving = replace(LINKS[link], snr=snr, **motion)
    labels = random_labels(symbols, [3, seed], core.constellation(moving.constellation).bits_per_symbol)
    return normalized(moving.receive(labels, [3, seed])), labels


def run_stream(better: core.model, model: core.model, snr: float, link: str, ber: float, motion: str, seed: int,
               size: Size) -> dict:
    """What compared.compare() has of a stream, and BETTER."""
    samples, labels = stream(link, snr, MOTIONS[motion], size.symbols, seed + 2)
    found = compared.compare(model, samples, labels)
    found[BETTER] = compared.measure_network(better, samples, labels, dict(mode="lockstep"))
    return {row: found[row] for row in ROWS}


def bars(runs: list[dict], symbols: int) -> list[dict]:
    """What a receiver is meant to reach: [{link, target, motion, seed, bar, found, limit, met}]."""
    found = []
    for each in runs:
        rows, bits = each["rows"], core.constellation(LINKS[each["link"]].constellation).bits_per_symbol
        part = symbols // PARTS * bits

        def judge(bar: str, value: float, limit: float, met: bool) -> None:
            found.append({**{key: each[key] for key in ("link", "target", "motion", "seed")},
                          "bar": bar, "found": value, "limit": limit, "met": bool(met)})

        later = {row: np.mean(rows[row]["gmi"][1:]) for row in rows}
        less = later[OURS] - later[BETTER]
        judge(f"bits a symbol of {BETTER} below {OURS}", less, _LOST, less <= _LOST)
        if each["motion"] == "still":
            times = [ours / _highest(_TIMES * ber, part) for ours, ber in zip(rows[OURS]["ber"], rows[FROZEN]["ber"])]
            judge("errors over the frozen network's, each quarter", max(times), 1, max(times) <= 1)
            less = max(np.subtract(rows[FROZEN]["gmi"], rows[OURS]["gmi"]))
            judge("bits a symbol below the frozen network", less, _BELOW, less <= _BELOW)
            continue
        least = _PART if each["target"] <= _USUAL else _PART_BEYOND
        judge("GMI over that of least squares, all labels known", later[OURS] / later[KNOWN], least,
              later[OURS] >= least * later[KNOWN])
        for row in (FROZEN, LINEAR):
            less = later[row] - later[OURS]
            judge(f"bits a symbol below {row}", less, _BELOW, less <= _BELOW)
    return found


def decoder_bars(frames: list[dict], count: int) -> list[dict]:
    """What frames are meant to need at most, in dB more than with least squares: as bars(); none of so few that less
    than ten of `count` are lost where the ratios are compared."""
    found: list[dict] = []
    if count * decoded.LOST < 10:
        return found
    for link, motion in dict.fromkeys((each["link"], each["motion"]) for each in frames):
        points = [each for each in frames if (each["link"], each["motion"]) == (link, motion)]
        needed = {row: decoded.ratio_at([each["snr"] for each in points], [each["lost"][row] for each in points], count)
                  for row in (OURS, KNOWN)}
        ours, known = needed[OURS], needed[KNOWN]
        more = None if ours is None or known is None else ours - known
        found.append(dict(link=link, target=_TRAINED, motion=motion, seed=0,
                          bar=f"dB more than {KNOWN} need, {decoded.LOST:.0%} of frames lost",
                          found=more, limit=_MORE_NEEDED,
                          met=more is not None and bool(more <= _MORE_NEEDED)))
    return found


def _highest(ber: float, bits: int) -> float:
    """What the error rate of so many bits exceeds by chance in one of 40 streams."""
    return core.clopper_pearson(round(ber * bits), bits)[1]


def _write(results: dict, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    size = results["sizes"]
    results["bars"] = (bars(results["runs"], size["symbols"]) +
                       decoder_bars(results["frames"], _counted(size["frames"])))
    write_report(directory / "results.json", results)
    met, of = sum(bar["met"] for bar in results["bars"]), len(results["bars"])
    parts = ["# Where codes work\n",
             fill(f"All links are simulated. Scale: {results['scale']}; streams of {size['symbols']} symbols. A "
                  "network is trained with labels on the static link at the same noise, another one with "
                  f"{_MORE} dB less noise. Figures are of what "
                  "follows the first quarter: bit error rate, GMI in bits a symbol; the worst seed counts. LMS "
                  f"has the best of its steps and the first {compared.LABELLED} labels, and the gain and noise "
                  "found from all labels; AdaNN knows no label.", 100) + "\n"]
    for link in size["links"]:
        for motion in size["motions"]:
            parts += [f"### {link}, {motion}\n", _table(results, link, motion)]
    for link in size["decoded"]:
        parts += [f"### {link}, through a decoder\n",
                  fill(f"The share of {size['frames']} frames of {decoded.BITS} bits that is lost after the first "
                       "quarter. Convolutional code of rate 1/2 and K = 7; the network is trained at a rate of "
                       f"{_TRAINED:g}.", 100) + "\n", _frame_table(results, link)]
    parts += [f"### Bars: {met} of {of} met\n", markdown(
        ["link", "bit error rate", "motion", "bar", "found", "limit"],
        [[bar["link"], f"{bar['target']:g}", bar["motion"], bar["bar"],
          "not found" if bar["found"] is None else f"{bar['found']:.3f}", f"{bar['limit']:g}"]
         for bar in results["bars"] if not bar["met"]])]
    with atomic_output(directory / "table.md") as path:
        path.write_text("\n".join(parts))
    _plot(directory / "gmi.png", results)


def _runs(results: dict, link: str, motion: str, target: float) -> list[dict]:
    return [each["rows"] for each in results["runs"]
            if (each["link"], each["motion"], each["target"]) == (link, motion, target)]


def _table(results: dict, link: str, motion: str) -> str:
    targets = results["sizes"]["bers"]

    def text(row: str, target: float) -> str:
        runs = _runs(results, link, motion, target)
        return (f"{max(np.mean(rows[row]['ber'][1:]) for rows in runs):.2e}, "
                f"{min(np.mean(rows[row]['gmi'][1:]) for rows in runs):.3f}")
    return markdown(["equalizer", *(f"at {target:g}" for target in targets)],
                    [[row, *(text(row, target) for target in targets)] for row in ROWS])


def _counted(frames: int) -> int:
    return frames - frames // PARTS


def _frame_table(results: dict, link: str) -> str:
    of_link = [each for each in results["frames"] if each["link"] == link]
    snrs = sorted({each["snr"] for each in of_link})
    lost = {(each["motion"], each["snr"]): each["lost"] for each in of_link}
    return markdown(["motion", "equalizer", *(f"{snr:.2f} dB" for snr in snrs)],
                    [[motion, row, *(f"{lost[motion, snr][row]:.2e}" for snr in snrs)]
                     for motion in _DECODED for row in (FROZEN, OURS, KNOWN)])


def _plot(path: Path, results: dict) -> None:
    """GMI over that of least squares that know all labels, a panel for each motion; the worst seed."""
    size = results["sizes"]
    rows = -(-len(size["motions"]) // 4)
    figure = new_figure(14, 3.4 * rows)
    panels = figure.subplots(rows, min(4, len(size["motions"])), squeeze=False, sharex=True, sharey=True).flat
    for axis, motion in zip(panels, size["motions"]):
        for color, link in enumerate(size["links"]):
            shares = [min(np.mean(each[OURS]["gmi"][1:]) / np.mean(each[KNOWN]["gmi"][1:])
                          for each in _runs(results, link, motion, target)) for target in size["bers"]]
            axis.semilogx(size["bers"], np.maximum(shares, 0), "o-", markersize=3, color=f"C{color}", label=link)
        axis.axhline(_PART, color="0.7", linewidth=0.8)
        axis.set_title(motion, fontsize="medium")
        axis.set_ylim(0, 1.05)
        axis.grid(True, alpha=0.3)
    panels[0].legend(fontsize="x-small")
    figure.supxlabel("bit error rate of a linear equalizer on the static link")
    figure.supylabel("GMI over that of least squares, all labels known")
    save_figure(path, figure)
