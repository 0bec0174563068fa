# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks in whole numbers: what bits cost, on three links that stand still.

A link's network is trained with labels, its whole numbers are chosen on a first part of another record, and errors
are counted on the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import core
from ..captures.outputs import atomic_output
from ..captures.statistics import normalized
from ..export.quantize import BITS, SYMBOLS, quantize
from ..links.radio_link import RadioLink
from ..links.simulation import random_labels, simulate_coherent, simulate_vcsel
from ..offline.evaluate import count
from ..offline.report import write_report
from ..offline.training import TrainingSettings, feature_view, train
from .cells import Progress, at_cell, run_cells
from .page import markdown, plot

_BLOCK = 8192
_RADIO = RadioLink("qpsk", echo=0.6, amplifier="rapp", back_off=3, snr=12)


@dataclass(frozen=True)
class Link:
    constellation: str
    sps: int
    half_window: int
    receive: Callable  # samples of labels and a seed


LINKS = {"PAM4, VCSEL": Link("pam4", 4, 5, lambda labels, seed: simulate_vcsel(labels, "none", seed)),
         "16QAM, coherent": Link("16qam", 4, 5, lambda labels, seed: simulate_coherent(labels, "none", seed)),
         "QPSK, radio": Link("qpsk", 2, 5, _RADIO.receive)}


@dataclass(frozen=True)
class Size:
    """labelled: symbols trained on; chosen: those that whole numbers are chosen by; symbols: of the rest."""

    labelled: int = 2**18
    chosen: int = SYMBOLS
    symbols: int = 2**20
    epochs: int = 100


_QUICK = Size(2**14, 2**13, 2**17, 20)


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plot.png to directory."""
    size = _QUICK if scale == "quick" else Size()
    found = dict(zip(LINKS, run_cells(error_rates, [(name, size) for name in LINKS], at_cell(progress, len(LINKS)))))
    write_report(directory / "results.json", {"scale": scale, "sizes": vars(size), "links": found})
    rows = [[bits, *(f"{ber[bits]:.2e} ({ber[bits] / ber['float']:.2f})" for ber in found.values())]
            for bits in map(str, BITS)]
    rows.append(["float", *(f"{ber['float']:.2e}" for ber in found.values())])
    with atomic_output(directory / "table.md") as path:
        path.write_text("Bit error rate, and in brackets in parts of that in float:\n\n"
                        + markdown(["bits", *found], rows) + "\n![bits](plot.png)\n")

    def draw(axes: Any) -> None:
        for name, ber in found.items():
            axes.semilogy(list(BITS), [ber[str(bits)] / ber["float"] for bits in BITS], "o-", label=name)
        axes.set_xlabel("bits of weights and values")
        axes.set_ylabel("BER over that in float")
    plot(directory / "plot.png", draw)


def error_rates(name: str, size: Size) -> dict[str, float]:
    """BER of the rest of a record, of "float" and of each number of bits as a string."""
    link = LINKS[name]
    alphabet = core.constellation(link.constellation)
    (training, taught), (samples, sent) = [_record(link, count, seed) for count, seed in (
        (size.labelled, 1), (size.chosen + size.symbols, 2))]
    settings = TrainingSettings(fraction=1.0, epochs=size.epochs, batch=2048, optimizer="adam")
    model = train(training, taught, alphabet, link.sps, link.half_window, settings).model
    windows, chosen = feature_view(samples, model.sps, model.half_window), size.chosen

    def ber(decide: Callable) -> float:
        decided = decide(windows[chosen:])[0]
        return count(decided, sent[chosen:chosen + decided.size], alphabet.bits_per_symbol, _BLOCK).ber
    found = {"float": ber(model.network.decide)}
    for bits in BITS:
        network = core.network(model.network.sizes)
        network.parameters[:] = model.network.parameters
        formats = quantize(network, windows[:chosen], bits)
        found[str(bits)] = ber(core.quantized_network(network, formats).decide)
    return found


def _record(link: Link, symbols: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    bits = core.constellation(link.constellation).bits_per_symbol
    labels = random_labels(symbols, [seed, 7], bits)
    return normalized(link.receive(labels, 70 + seed)), labels
