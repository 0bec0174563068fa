# SPDX-License-Identifier: GPL-3.0-or-later
"""Several channels together: rotating polarisations, two antennas, and blind starts.

A model is trained with labels on one transmitter of a static link. AdaNN then knows no label;
OptiCommPy's mimoAdaptEqualizer knows those of the first symbols, or all. The paper's 960 km of fibre is two sets of
which nothing was recovered: trained is on dual1, all are of dual2, and OptiCommPy knows no label there, either. It
runs in an environment of its own: ADANN_OPTICOMMPY names that one's python; without it its rows are left out.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .. import core
from ..captures.files import Capture, read_channels
from ..captures.outputs import atomic_output
from ..captures.statistics import normalized
from ..links.dual_polarization_link import SPS, DualPolarizationLink
from ..links.radio_link import RadioLink
from ..links.simulation import random_labels
from ..offline.equalize import equalize_captures
from ..offline.evaluate import Errors, count, count_aligned
from ..offline.report import write_report
from ..offline.separate import prepare_channels, separate, separate_known
from ..offline.training import TrainingSettings, train
from . import COHERENT_SETS
from .cells import Progress, at_cell, run_cells
from .page import markdown

BAUD = 32e9
SETTLING = 8192  # symbols from the start that are not counted
HALF_WINDOW = 5
_BLOCK = 1024
LINKS = {"16QAM, 22 dB": DualPolarizationLink(),
         "16QAM, 18 dB": DualPolarizationLink(snr=18),
         "16QAM, 22 dB, driven hard": DualPolarizationLink(swing=0.5)}
RATES = (0, 1e3, 1e4, 1e5)  # of the polarisations, rad/s
FIBRE, FIBRE_RATE = "16QAM, 960 km, lasers 100 MHz from one another", 1e5
FROZEN, SLICED, FIXED, OURS = "frozen", "AdaNN's matrix, nearest points", "AdaNN, networks frozen", "AdaNN"
_NETWORKS: dict[str, dict] = {FIXED: dict(mode="off"), OURS: dict(mode="lockstep")}
TOLD = ["OptiCommPy, NLMS then DD-LMS, 4096 known", "OptiCommPy, NLMS, all known"]
UNTOLD = "OptiCommPy, CMA then RDE, its carrier recovery"
ANTENNAS = "two antennas"
# Each antenna has an echo of its own, which rotates at its own rate.
_FADING = (RadioLink("qpsk", echo=0.8, delay=1.0, turns=1e-5, snr=9),
           RadioLink("qpsk", echo=0.7, delay=2.0, turns=-2e-5, snr=9))
_TOLD_BLOCK = 2048  # symbols that the data-aided combiner's taps are fitted to, and decide


@dataclass(frozen=True)
class Size:
    """labelled: symbols to train on; symbols: of a stream; starts: from random mixtures."""

    labelled: int = 2**17
    symbols: int = 2**17
    starts: int = 100


_QUICK = Size(2**15, 2**16, 8)


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json and table.md to directory. scale: "full"; "quick", one link and few starts."""
    size = _QUICK if scale == "quick" else Size()
    links = list(LINKS)[:1] if scale == "quick" else list(LINKS)
    rows = [FROZEN, SLICED, *_NETWORKS]
    cells = [(link, rate, row, size) for link in links for rate in RATES for row in [*rows, *opticommpy_rows(TOLD)]]
    cells += [(FIBRE, FIBRE_RATE, row, size) for row in [*rows, *opticommpy_rows([UNTOLD])]]
    starts = [(name, seed) for name in ("qpsk", "16qam") for seed in range(size.starts)]
    trained = [*links, FIBRE, ANTENNAS]
    total = len(trained) + len(cells) + len(starts) + 1
    models = dict(zip(trained, run_cells(train_model, [(link, size) for link in trained], at_cell(progress, total))))
    found = run_cells(run_row, [(models[cell[0]], *cell) for cell in cells],
                      at_cell(progress, total, len(models)))
    apart = run_cells(ends_apart, starts, at_cell(progress, total, len(models) + len(cells)))
    antennas = run_antennas(models[ANTENNAS], size)
    _write(Path(directory), {
        "scale": scale, "sizes": vars(size),
        "runs": [dict(link=link, rate=rate, row=row, ber=errors.ber, bit_errors=int(errors.bit_errors.sum()))
                 for (link, rate, row, _), errors in zip(cells, found)],
        "starts": {name: [int(sum(apart[i] for i, cell in enumerate(starts) if cell[0] == name)), size.starts]
                   for name in ("qpsk", "16qam")},
        "antennas": antennas})


def opticommpy_rows(rows: list[str]) -> list[str]:
    """Those of OptiCommPy, if there is an environment for it."""
    return rows if os.environ.get("ADANN_OPTICOMMPY") else []


def train_model(name: str, size: Size) -> core.model:
    """core.model of one transmitter of a link that stands still, or of an antenna without an echo."""
    settings = TrainingSettings(fraction=0.75, epochs=60, optimizer="adam", batch=2048)
    if name == ANTENNAS:
        labels = random_labels(size.labelled, [0, 2])
        received = replace(_FADING[0], echo=0.0).receive(labels, [0, 2])
        return train(received, labels, "qpsk", SPS, HALF_WINDOW, settings).model
    channels, labels = received_of(name, 0, [0, 1], size.labelled) if name != FIBRE else fibre_set("dual1")
    streams = separate_known(channels, labels, core.constellation("16qam"), SPS).streams
    return train(np.concatenate(streams), np.concatenate(labels), "16qam", SPS, HALF_WINDOW, settings).model


@functools.lru_cache(maxsize=1)  # the rows of a case follow each other
def _stream(link: str, rate: float, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    return fibre_set("dual2") if link == FIBRE else received_of(link, rate, [1, 1], symbols)


def received_of(link: str, rate: float, seed: list[int], symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """(channels, normalised, and labels), of so many symbols, of polarisations that turn at rate, rad/s."""
    labels = np.stack([random_labels(symbols, [*seed, number], 4) for number in (0, 1)])
    received = replace(LINKS[link], turning=rate / BAUD).receive(labels, seed)
    return prepare_channels(list(received), SPS), labels


def fibre_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The same of a set of the 960 km link."""
    channels = prepare_channels([channel.samples for channel in read_channels(COHERENT_SETS / name)], SPS)
    return channels, np.stack([np.fromfile(COHERENT_SETS / f"{name}_{axis}.u8", np.uint8) for axis in "xy"])


def run_row(model: core.model, link: str, rate: float, row: str, size: Size) -> Errors:
    """Errors of both polarisations after the first SETTLING symbols."""
    channels, labels = _stream(link, rate, size.symbols)
    if row == FROZEN:  # the taps of a data-aided start, which then stay
        known = np.where(np.arange(labels.shape[1]) < SETTLING, labels, 255).astype(np.uint8)
        streams = separate_known(channels, known, model.constellation, SPS).streams
        decided = _decided(model, streams, dict(mode="off"))
    elif row == SLICED:
        points = model.constellation.points / np.sqrt(np.mean(abs(model.constellation.points) ** 2))
        decided = [abs(stream[::SPS, None] - points).argmin(1).astype(np.uint8)
                   for stream in separate(model, channels, 2).streams]
    elif row in _NETWORKS:
        decided = _decided(model, separate(model, channels, 2).streams, _NETWORKS[row])
    elif row == UNTOLD:
        runs = [_aligned(list(each), labels, model.constellation) for each in _with_opticommpy(channels, labels, 0)]
        return min(runs, key=lambda errors: errors.ber)
    else:
        told = labels.shape[1] if row == TOLD[1] else 4096
        runs = [_counted(each, labels, 4) for each in _with_opticommpy(channels, labels, told)]
        return min(runs, key=lambda errors: errors.ber)
    return _aligned(decided, labels, model.constellation)


def _decided(model: core.model, streams: np.ndarray, settings: dict) -> list:
    received, _ = equalize_captures(model, [Capture(normalized(stream)) for stream in streams], {"it": settings})
    return received["it"].labels


def _aligned(decided: list, labels: np.ndarray, constellation: core.constellation) -> Errors:
    """By the transmitter, delay and rotation that fit best; half of all bits where none does."""
    parts = []
    for mine in decided:
        each = [count_aligned(mine[SETTLING:-64], sent[SETTLING:-64], constellation, _BLOCK) for sent in labels]
        found = [errors for errors in each if errors]
        parts.append(min(found, key=lambda errors: errors.ber) if found else count(
            mine[SETTLING:-64], labels[0][SETTLING:-64], constellation.bits_per_symbol, _BLOCK))
    return Errors.join(parts)


def _counted(decided: np.ndarray, labels: np.ndarray, bits: int) -> Errors:
    return Errors.join([count(mine[SETTLING:-64], sent[SETTLING:-64], bits, _BLOCK)
                        for mine, sent in zip(decided, labels)])


def _with_opticommpy(channels: np.ndarray, labels: np.ndarray, told: int) -> list[np.ndarray]:
    """The labels that OptiCommPy decides with each of several steps, uint8 (2, n); it knows so many of them."""
    points = core.constellation("16qam").points / np.sqrt(10)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "in.npz"), channels=channels, sent=points[labels].astype(np.complex64),
                 told=told)
        subprocess.run([os.environ["ADANN_OPTICOMMPY"], Path(__file__).with_name("opticommpy_equalizer.py"),
                        Path(folder, "in.npz"), Path(folder, "out.npy")], check=True, capture_output=True)
        soft = np.load(Path(folder, "out.npy"))
    return [np.stack([abs(part[:, None] - points).argmin(1) for part in each]).astype(np.uint8) for each in soft]


def ends_apart(name: str, seed: int) -> bool:
    """Whether both outputs of a blind start, from a mixture drawn at random, end on transmitters of their own."""
    random = np.random.default_rng([5, seed])
    link = DualPolarizationLink(name, angle=random.uniform(-np.pi, np.pi), delay=random.uniform(0, 1),
                                loss=random.uniform(0, 3), turning=random.uniform(0, 3e-6),
                                snr=20 if name == "16qam" else 13)
    alphabet = core.constellation(name)
    labels = np.stack([random_labels(16384, [6, seed, k], alphabet.bits_per_symbol) for k in (0, 1)])
    channels = prepare_channels(list(link.receive(labels, [5, seed])), SPS)
    streams = separate(_slicer_of(name), channels, 2).streams
    points = alphabet.points / np.sqrt(np.mean(abs(alphabet.points) ** 2))
    ends = []
    for stream in streams:
        mine = abs(stream[SPS * SETTLING::SPS, None] - points).argmin(1).astype(np.uint8)
        errors = [count_aligned(mine, sent[SETTLING:], alphabet, _BLOCK) for sent in labels]
        ends.append([each is not None and each.ber < 0.1 for each in errors])
    return sorted(ends) == [[False, True], [True, False]]


@functools.lru_cache
def _slicer_of(name: str) -> core.model:
    """A network that decides the nearest point, and the waveform of one polarisation alone."""
    alphabet = core.constellation(name)
    labels = np.stack([random_labels(2**15, [4, k], alphabet.bits_per_symbol) for k in (0, 1)])
    samples = DualPolarizationLink(name, angle=0, delay=0, snr=20 if name == "16qam" else 13).receive(labels, 4)
    points = alphabet.points / np.sqrt(np.mean(abs(alphabet.points) ** 2))
    net = core.network([2 * SPS * (2 * HALF_WINDOW + 1), alphabet.size])
    middle = 2 * (SPS * HALF_WINDOW + SPS // 2)
    net.weight(0)[:, middle:middle + 2] = 10 * np.column_stack([points.real, points.imag])
    net.bias(0)[:] = -5 * abs(points) ** 2
    model = core.model(net, SPS, HALF_WINDOW, True, name)
    model.waveform = core.expected_waveform.fit(alphabet, np.roll(samples[0], SPS // 2).reshape(-1, SPS), labels[0])
    return model


def run_antennas(model: core.model, size: Size) -> dict[str, float]:
    """{receiver: BER}: AdaNN with each antenna alone and with both, its network frozen too, and least
    squares that know all labels, block by block."""
    labels = random_labels(size.symbols, [7, 1])
    channels = prepare_channels([link.receive(labels, [7, k]) for k, link in enumerate(_FADING)], SPS)

    def ours(received: np.ndarray, row: str = OURS) -> float:
        decided = _decided(model, separate(model, received, 1).streams, _NETWORKS[row])
        return _aligned(decided, labels[None], model.constellation).ber

    points = model.constellation.points / np.sqrt(np.mean(abs(model.constellation.points) ** 2))
    told = []
    for first in range(0, labels.size, _TOLD_BLOCK):
        last = first + _TOLD_BLOCK
        around = channels[:, max(0, first - 16) * SPS:(last + 16) * SPS]
        known = np.full(around.shape[1] // SPS, 255, np.uint8)
        begin = min(first, 16)
        known[begin:begin + _TOLD_BLOCK] = labels[first:last]
        stream = separate_known(around, known[None], model.constellation, SPS).streams[0]
        told.append(abs(stream[::SPS, None] - points).argmin(1)[begin:begin + _TOLD_BLOCK].astype(np.uint8))
    return {"antenna 0": ours(channels[:1]), "antenna 1": ours(channels[1:]), "both": ours(channels),
            "both, network frozen": ours(channels, FIXED),
            "least squares, all labels known": _counted(np.concatenate(told)[None], labels[None], 2).ber}


def _write(directory: Path, results: dict) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_report(directory / "results.json", results)
    rows = list(dict.fromkeys(run["row"] for run in results["runs"]))
    ber = {(run["link"], run["rate"], run["row"]): run["ber"] for run in results["runs"]}
    table = [[link, f"{rate / 1e3:g}", *(f"{ber[link, rate, row]:.1e}" if (link, rate, row) in ber else "–"
                                         for row in rows)]
             for link, rate in dict.fromkeys((run["link"], run["rate"]) for run in results["runs"])]
    parts = ["# Several channels together\n", f"Scale: {results['scale']}. Simulated, 32 GBd, "
             f"{results['sizes']['symbols']} symbols of each polarisation, or 201600 of the 960 km link, without the "
             f"first {SETTLING}, one seed.\n",
             markdown(["link", "polarisations rotate, krad/s", *rows], table),
             "Blind starts from random mixtures that end with a transmitter at each output: " + ", ".join(
                 f"{name} {there} of {all}" for name, (there, all) in results["starts"].items()) + ".\n",
             markdown(["QPSK, two fading antennas", "BER"],
                      [[name, f"{rate:.1e}"] for name, rate in results["antennas"].items()])]
    with atomic_output(directory / "table.md") as path:
        path.write_text("\n".join(parts))
