# SPDX-License-Identifier: GPL-3.0-or-later
"""report.json and the picture of the BER over blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.outputs import atomic_output
from .evaluate import CONVERGED, LATEST, Errors
from .scope import Measured


@dataclass(frozen=True)
class Run:
    """One capture after an equalizer. file: its name; symbols: decided ones, with the pauses between bursts;
    bits_per_symbol: of the constellation; block: symbols of a reported block; errors: None without a reference;
    gmi: generalized mutual information of the soft bits, bits a symbol, where decisions lie relative to the reference,
    None if it is not known; bursts: an entry of the report for each, [] where the capture is continuous;
    scope: what was measured of its waveform, None if it was not wanted; delay, symmetry: symbols and degrees by which
    the decided labels lie after the reference, None where they are not known."""

    file: str
    symbols: int
    bits_per_symbol: int
    block: int
    errors: Errors | None = None
    gmi: float | None = None
    bursts: list[dict] = field(default_factory=list)
    scope: Measured | None = None
    delay: int | None = None
    symmetry: float | None = None

    def entry(self) -> dict:
        """Its entry of report.json's "captures".

        ngmi: gmi over the bits of a symbol, the rate of an ideal code; code_rate: see core.highest_code_rate.
        """
        entry = {"file": self.file, "symbols": self.symbols, "bit_errors": None, "ber": None,
                 "ci95": None, "convergence_blocks": None, "final_ber": None}
        if self.errors:
            final = self.errors.final().ber
            entry.update(bit_errors=int(self.errors.bit_errors.sum()), **self.errors.rate(),
                         convergence_blocks=self.errors.convergence(),
                         final_ber=None if np.isnan(final) else final)
        if self.delay is not None:
            entry.update(delay=self.delay, symmetry=self.symmetry)
        if self.gmi is not None:
            ngmi = self.gmi / self.bits_per_symbol
            entry.update(gmi=self.gmi, ngmi=ngmi, code_rate=core.highest_code_rate(ngmi) or None)
        if self.bursts:
            entry["bursts"] = self.bursts
        if self.scope:
            entry["scope"] = self.scope.entry()
        return entry

    def latest(self) -> npt.NDArray[np.float64]:
        """The running BER after each block, nan where it is not known."""
        blocks = -(-self.symbols // self.block)
        return self.errors.latest() if self.errors else np.full(blocks, np.nan)

    def rows(self, number: int) -> Iterator[dict]:
        """Its entries of "blocks". number: of the capture, from 0."""
        if not self.errors:
            for i, start in enumerate(range(0, self.symbols, self.block)):
                n = min(self.block, self.symbols - start)
                yield dict(capture=number, index=i, symbols=n, symbol_errors=None,
                           bits=n * self.bits_per_symbol, bit_errors=None, ber=None)
            return
        columns = (self.errors.symbols, self.errors.symbol_errors, self.errors.bits,
                   self.errors.bit_errors)
        for i, (n, s, bits, e) in enumerate(zip(*(column.tolist() for column in columns))):
            yield dict(capture=number, index=i, symbols=n, symbol_errors=s, bits=bits, bit_errors=e,
                       ber=e / bits if bits else None)


def write_report(path: str | Path, report: Mapping, rows: Iterable[Mapping] | None = None) -> None:
    """Write report.json whole or not at all. Errors become the bit errors of their blocks.

    rows: the entries of "blocks", which are written one a line as they come; None: there are none.
    """
    def text(part, **form):
        return json.dumps(part, allow_nan=False, default=lambda errors: errors.bit_errors.tolist(), **form)

    with atomic_output(path) as temporary, open(temporary, "w") as file:
        whole = text(report, indent=1)
        if rows is not None:
            file.write('{\n "blocks": [')
            for number, row in enumerate(rows):
                file.write(f"{',' * bool(number)}\n  {text(row)}")
            file.write("\n ],")
            whole = whole[1:]
        file.write(whole + "\n")


def draw_bers(axes, captures: Iterable[npt.NDArray[np.float64]], **line) -> None:
    """Draw the BER over the blocks of captures that follow each other; a vertical line marks where
    the next one starts. captures: what latest() of each gives; line: of matplotlib's semilogy."""
    start = 0
    for ber in captures:
        if start:
            axes.axvline(start + 0.5, color="0.5", linestyle="--", linewidth=0.8)
        # No error in 8 blocks is not a BER of 0: the curve has a gap there.
        axes.semilogy(start + np.arange(1, ber.size + 1), np.where(ber > 0, ber, np.nan), **line)
        line.pop("label", None)
        start += ber.size


def write_plot(path: str | Path, curves: Mapping[str, Sequence[Run]], block: int,
               names: Sequence[str] = ()) -> None:
    """Draw the running BER over blocks.

    curves: {label: Run of each capture}. names: of the captures, written above their starts.
    path: .png, .pdf or .svg.
    """
    figure = new_figure(8, 4.5)
    axes = figure.subplots()
    for color, (label, runs) in enumerate(curves.items()):
        draw_bers(axes, [run.latest() for run in runs], color=f"C{color}", label=label)
    lengths = [run.latest().size for run in next(iter(curves.values()))]
    for name, start in zip(names, np.cumsum([0, *lengths])):
        axes.text(start + 1, 1.01, name, transform=axes.get_xaxis_transform())
    axes.axhline(CONVERGED, color="0.7", linewidth=1)
    axes.set_xlabel(f"blocks of {block} symbols")
    axes.set_ylabel(f"bit error rate, latest {LATEST} blocks")
    axes.grid(True, alpha=0.3)
    axes.legend()
    save_figure(path, figure, dpi=150)


def new_figure(width: float, height: float) -> Any:
    """An empty figure of matplotlib that needs no screen; inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(path: str | Path, figure, dpi: int = 110) -> None:
    """Write it whole or not at all."""
    with atomic_output(path) as temporary:
        figure.savefig(temporary, dpi=dpi)
