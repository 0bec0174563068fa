# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts whose known symbols lie where those of TETRA, VDL2, HFDL, DVB-S2 and DMR do, and streams with pilots.

A burst is lost where more than one in a hundred of its other symbols is wrong. Receivers:

the burst equalizer, which knows the known symbols
the same that knows all symbols: taps by least squares, with the memory that suits the burst
LMS, which knows them and the carrier; from there it follows its own decisions in both directions, in the best of its
steps
least squares over the known symbols only, which then stands still, and knows the carrier, too

Streams are those of experiments.coded that move, with 8 known symbols in each 64.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.outputs import atomic_output
from ..links.known_frames import FRAMES, Frame
from ..offline.report import write_report
from . import coded, compared
from .cells import Progress, at_cell, run_cells
from .comparators import unit_points
from .page import markdown

LENGTHS = {"TETRA": 5, "VDL2": 6, "HFDL": 14, "DVB-S2": 6, "DMR": 4}  # symbols that taps span, of all receivers
POINTS = {"TETRA": (10, 13, 16, 20), "VDL2": (14, 15, 16, 18), "HFDL": (18, 22, 26, 30), "DVB-S2": (14, 15, 16, 18),
          "DMR": (15, 18, 21, 24)}
STEPS = (0.03, 0.1, 0.3)
OURS, ALL_KNOWN, LMS, STILL = "AdaNN", "all symbols known", "LMS", "known symbols only"
LOST = 0.01  # part of the symbols
_TIMES = 1.5  # of the losses of the one that knows all symbols
_RIDGE = 0.01  # of least squares over the known symbols, relative to the mean diagonal


# Bursts at each point.
SIZES = {"full": {"TETRA": 100, "VDL2": 100, "HFDL": 30, "DVB-S2": 30, "DMR": 200}, "quick": {"TETRA": 60}}


# Streams: see experiments.coded. Pilots of each period, the part of them that is false, meant to be reached.
STREAMS: dict[str, list[tuple]] = {
    "full": [(link, ber) for link in ("QPSK", "8PSK", "16QAM") for ber in (0.05, 0.1)], "quick": []}
MOTIONS = "echo 1e-5", "carrier 1e-5", "linewidth 1e-5"
PILOTS, PERIOD, FALSE, PART = 8, 64, 0.1, 0.98
WITHOUT, WITH, WITH_FALSE = "none", "8 of 64", "a tenth of these false"


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json and table.md to directory. scale: "quick" or "full", see SIZES."""
    cells = [(name, es_n0, bursts) for name, bursts in SIZES[scale].items() for es_n0 in POINTS[name]]
    streams = STREAMS[scale]
    total = len(cells) + len(streams)
    found = run_cells(losses, cells, at_cell(progress, total))
    parts = run_cells(information, streams, at_cell(progress, total, len(cells)))
    _write({"scale": scale, "runs": [dict(frame=name, es_n0=es_n0, bursts=bursts, lost=lost)
                                     for (name, es_n0, bursts), lost in zip(cells, found)],
            "streams": [dict(link=link, target=ber, motion=motion, parts=part)
                        for (link, ber), of in zip(streams, parts) for motion, part in of.items()]}, Path(directory))


def losses(name: str, es_n0: float, bursts: int) -> dict[str, float]:
    """Part of the bursts that each receiver loses."""
    frame = FRAMES[name]
    symbols = core.constellation(frame.constellation)
    points = unit_points(symbols)
    ours = core.burst_equalizer(frame.constellation, frame.SPS, complex=symbols.is_complex,
                                length=LENGTHS[name], most=frame.known.size)
    lost: dict[str, list] = {OURS: [], ALL_KNOWN: [], STILL: [], **{f"{LMS}, step {step:g}": [] for step in STEPS}}
    for seed in range(bursts):
        samples, labels = frame.receive(es_n0, seed)
        data = frame.known == 255
        decided = {OURS: ours.equalize(_around(samples, frame, ours.reach), frame.known)[0]}
        estimates = ours.equalize(_around(samples, frame, ours.reach), labels)[1]
        decided[ALL_KNOWN] = abs(estimates[:, None] - points).argmin(axis=1)
        windows = _still(samples, frame, seed, ours.reach)
        decided[STILL] = abs((windows @ _taps(windows, frame, points))[:, None] - points).argmin(axis=1)
        for step in STEPS:
            decided[f"{LMS}, step {step:g}"] = lms(windows, frame, points, step)
        for receiver, found in decided.items():
            lost[receiver].append(np.mean((found != labels)[data]) > LOST)
    return {receiver: float(np.mean(each)) for receiver, each in lost.items()}


def information(link: str, ber: float) -> dict[str, dict[str, float]]:
    """{motion: {known symbols: GMI, over that of least squares that know all labels}}, after the first quarter."""
    size = coded.Size()
    model, snr = coded.train_at(link, ber, size)
    points = unit_points(model.constellation)
    found = {}
    for motion in MOTIONS:
        samples, labels = coded.stream(link, snr, coded.MOTIONS[motion], size.symbols, 2)
        pilots = np.where(np.arange(labels.size) % PERIOD < PILOTS, labels, 255).astype(np.uint8)
        false = (np.random.default_rng(1).random(labels.size) < FALSE) & (pilots < 255)
        best = max(_later(compared.measure(compared.known_least_squares(samples, points[labels], model.sps, memory),
                                           labels, points)) for memory in compared.MEMORIES)
        found[motion] = {name: _later(compared.measure_network(model, samples, labels, dict(mode="lockstep"), known))
                         / best for name, known in
                         ((WITHOUT, None), (WITH, pilots),
                          (WITH_FALSE, np.where(false, (pilots + 1) % points.size, pilots).astype(np.uint8)))}
    return found


def _later(measured: dict) -> float:
    return float(np.mean(measured["gmi"][1:]))


def lms(windows: npt.NDArray[np.complex128], frame: Frame, points: npt.NDArray, step: float) -> npt.NDArray[np.uint8]:
    """Labels that normalised LMS decides from windows (N, taps), outwards from the longest run of known symbols, which
    teach it ten times first."""
    known = frame.known
    first, end = _longest_run(known)
    labels = np.zeros(known.size, np.uint8)
    power = np.mean(np.sum(abs(windows) ** 2, axis=1))
    taps = np.zeros(windows.shape[1], complex)
    taps[taps.size // 2] = 1

    def follow(symbols: range, taps: npt.NDArray) -> npt.NDArray:
        for i in symbols:
            estimate = windows[i] @ taps
            labels[i] = abs(estimate - points).argmin() if known[i] == 255 else known[i]
            taps = taps + step / power * (points[labels[i]] - estimate) * windows[i].conj()
        return taps

    for _ in range(10):
        taps = follow(range(first, end), taps)
    follow(range(end, known.size), taps)
    follow(range(first - 1, -1, -1), taps)
    return labels


def _longest_run(known: npt.NDArray) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.r_[False, known != 255, False]))
    runs = list(zip(edges[::2], edges[1::2]))
    first, end = max(runs, key=lambda run: run[1] - run[0])
    return int(first), int(end)


def _taps(windows: npt.NDArray, frame: Frame, points: npt.NDArray) -> npt.NDArray:
    known = frame.known != 255
    rows = windows[known]
    correlation = rows.conj().T @ rows
    ridge = _RIDGE * np.trace(correlation).real / len(correlation)
    return np.linalg.solve(correlation + ridge * np.eye(len(correlation)), rows.conj().T @ points[frame.known[known]])


def _around(samples: npt.NDArray, frame: Frame, reach: int) -> npt.NDArray:
    first = frame.SPS * frame.MARGIN
    return samples[first - reach:first + frame.SPS * (frame.known.size - 1) + 1 + reach]


def _still(samples: npt.NDArray, frame: Frame, seed: int, reach: int) -> npt.NDArray:
    """Windows (N, taps) without the carrier's offset, of unit power."""
    around = _around(frame.without_carrier(samples, seed), frame, reach)
    windows = np.lib.stride_tricks.sliding_window_view(around, 2 * reach + 1)[::frame.SPS].astype(complex)
    return windows / np.sqrt(np.mean(abs(windows) ** 2))


def _write(results: dict, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    held = [one["lost"][OURS] <= max(_TIMES * one["lost"][ALL_KNOWN], 0.01) and one["lost"][OURS] <= _best_lms(one)
            for one in results["runs"]]
    reached = [one["parts"][WITH] >= PART for one in results["streams"]]
    write_report(directory / "results.json", {**results, "met": int(sum(held) + sum(reached))})
    rows = [[one["frame"], f"{one['es_n0']:g}", str(one["bursts"]), *(f"{100 * value:.1f} %" for value in
                                                   (one["lost"][OURS], one["lost"][ALL_KNOWN], _best_lms(one),
                                                    one["lost"][STILL])), "yes" if holds else "**no**"]
            for one, holds in zip(results["runs"], held)]
    parts = ["# Known symbols in bursts\n",
             f"All links are simulated. Scale: {results['scale']}. Lost: "
             "more than one in a hundred of the other symbols wrong. LMS and least squares over the known symbols know "
             "the carrier; LMS has the best of its steps.\n",
             f"Meant to be reached: at most {_TIMES} times the losses of least squares that know all symbols (one "
             f"in a hundred where these lose none), and no more than LMS. {sum(held)} of {len(held)} do.\n",
             markdown(["frame", "Es/N0, dB", "bursts", OURS, ALL_KNOWN, LMS, STILL, "met"], rows)]
    if reached:
        parts += ["## Streams\n",
                  f"GMI over that of least squares that know all labels, of {coded.Size().symbols} symbols without the "
                  "first quarter; columns are the known symbols. Links are those of `adann reproduce coded`.\n",
                  f"Meant to be reached: {PART:g} with {WITH} known. {sum(reached)} of {len(reached)} do.\n",
                  markdown(["link", "raw bit error rate", "moves by", WITHOUT, WITH, WITH_FALSE, "met"],
                           [[one["link"], f"{one['target']:g}", one["motion"],
                             *(f"{one['parts'][name]:.3f}" for name in (WITHOUT, WITH, WITH_FALSE)),
                             "yes" if holds else "**no**"] for one, holds in zip(results["streams"], reached)])]
    with atomic_output(directory / "table.md") as path:
        path.write_text("\n".join(parts))


def _best_lms(one: dict) -> float:
    return min(value for receiver, value in one["lost"].items() if receiver.startswith(LMS))
