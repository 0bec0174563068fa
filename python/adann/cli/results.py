# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands that decide captures have in common: counting, report and table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .. import core
from .terminal import about, check_outputs

_HARDLY = 0.3  # of the symbols wrong: hardly an equalizer's

if TYPE_CHECKING:
    from ..captures.files import Capture
    from ..offline.report import Run


@dataclass
class Outputs:
    """The files that a command writes, None where one is not wanted: the decided labels (.u8), the
    report (.json) and the picture."""

    labels: str | None
    report: str | None
    plot: str | None = None

    def check(self) -> None:
        """Raises ValueError for a path that cannot be written."""
        check_outputs(self.labels, self.report, self.plot)


def evaluate(captures: Sequence[Capture], decided: Sequence[np.ndarray],
             constellation: core.constellation, sps: int, block: int, quiet: bool = False) -> list[Run]:
    """What each capture's decided labels come to.

    captures: as they were equalized; one without a decision, where it was stopped, is left out.
    Decisions that agree with no alignment of the reference are
    told on stderr, unless `quiet` or the reference is not this capture's at all: that is an error.
    """
    from ..offline.evaluate import count_aligned
    from ..offline.report import Run

    runs = []
    for capture, labels in zip(captures, decided):
        if not len(labels):
            continue
        errors = None
        if capture.reference is not None:
            errors = count_aligned(labels, capture.reference, constellation, block)
            if errors is None and not quiet and len(labels) == capture.samples.size // sps:
                why = _why_not_counted(capture, labels, constellation, sps)
                click.echo(f"adann: {capture.path}: {why}; errors are not counted", err=True)
            elif errors and not quiet and errors.symbol_errors.sum() > _HARDLY * errors.symbols.sum():
                wrong = errors.symbol_errors.sum() / errors.symbols.sum()
                click.echo(f"adann: {capture.path}: {100 * wrong:.0f} % of the symbols differ from "
                           f"{capture.reference_path}: are model ({constellation.name}), capture and reference of the "
                           "same signal?", err=True)
            elif errors and errors.slips and not quiet:
                click.echo(f"adann: {capture.path}: slips: {errors.slips}, symbols were lost or "
                           "came twice; errors are counted at the first alignment", err=True)
        runs.append(Run(str(capture.path), len(labels), constellation.bits_per_symbol, block,
                        errors, bursts=_bursts(capture, labels, constellation, sps, block)))
    return runs


def _why_not_counted(capture: Any, labels: np.ndarray, constellation: core.constellation, sps: int) -> str:
    from ..captures.alignment import find_delay, is_conjugated
    from ..offline.evaluate import CORRELATED, SEARCH, permutation

    samples, reference = capture.samples[:CORRELATED * sps], capture.reference[:CORRELATED]
    with about(capture.reference_path, capture.path):
        delay = find_delay(samples, reference, constellation.centred, sps)
    if abs(delay) > SEARCH:
        return f"the reference begins {delay} symbols after it, allowed: up to {SEARCH} either way"
    if constellation.is_complex and is_conjugated(samples, reference, constellation.centred, sps):
        return ("the samples of the labels sent lie as mirrored points do: the capture is conjugated (its spectrum "
                "inverted, or I and Q exchanged)")
    if permuted := permutation(labels, reference, constellation):
        return f"the labels are permuted, the sent ones 0, 1 … are decided as {permuted}"
    return "the decisions agree with the reference no better than by chance"


def _bursts(capture: Capture, labels: np.ndarray, constellation: core.constellation, sps: int,
            block: int) -> list[dict]:
    """Entries of the report: where each burst lies, in symbols, and what is wrong in it."""
    from ..offline.equalize import spans
    from ..offline.evaluate import align, count_at

    alignment = None
    if capture.bursts and capture.reference is not None:
        alignment = align(labels, capture.reference, constellation, block)
    entries: list[dict] = []
    for burst, (first, end) in zip(capture.bursts, spans(capture, sps)):
        entry: dict = {"start": first, "symbols": end - first, "level_db": burst.level, "bits": None,
                       "bit_errors": None}
        if alignment and capture.reference is not None:
            errors = count_at(labels, capture.reference, alignment, constellation, block, (first, end))
            entry.update(bits=int(errors.bits.sum()), bit_errors=int(errors.bit_errors.sum()))
        entries.append(entry)
    return entries


def write_results(runs: Sequence[Run], decided: Sequence[np.ndarray], outputs: Outputs,
                  report: dict) -> None:
    """The labels, the report and the picture.

    report: what report.json has beside blocks and captures.
    """
    from ..captures.files import atomic_output
    from ..offline.report import write_plot, write_report

    entries = [run.entry() for run in runs]
    if outputs.labels:
        with atomic_output(outputs.labels) as temporary, open(temporary, "wb") as file:
            for labels in decided:
                labels.tofile(file)
    if outputs.report:
        write_report(outputs.report, {"captures": entries, **report},
                     (row for number, run in enumerate(runs) for row in run.rows(number)))
    if outputs.plot and runs:
        write_plot(outputs.plot, {report["adaptation"]["mode"]: runs}, report["block"])


def print_table(runs: Sequence[Run]) -> None:
    """Errors of each capture, on the terminal."""
    from rich.console import Console
    from rich.table import Column, Table

    def shown(value: float | None, form: str = "{:.2e}") -> str:
        return "–" if value is None else form.format(value)

    table = Table("capture", *(Column(name, justify="right") for name in (
        "symbols", "bit errors", "BER", "95 % interval", "blocks to 1e-3", "final BER")))
    for entry in (run.entry() for run in runs):
        table.add_row(Path(entry["file"]).name, f"{entry['symbols']:,}",
                      shown(entry["bit_errors"], "{:,}"), shown(entry["ber"]),
                      shown(entry["ci95"], "{0[0]:.1e} to {0[1]:.1e}"),
                      shown(entry["convergence_blocks"], "{}"), shown(entry["final_ber"]))
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has no width
    console.print(table)
