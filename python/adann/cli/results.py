# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands that decide captures have in common: counting, report and table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from .. import core
from .terminal import about, check_outputs

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
             constellation: core.constellation, sps: int, block: int) -> list[Run]:
    """What each capture's decided labels come to.

    captures: as they were equalized; one without a decision, where it was stopped, is left out.
    Decisions that agree with no alignment of the reference are
    told on stderr, unless the reference is not this capture's at all: that is an error.
    """
    from ..captures.alignment import find_delay
    from ..offline.evaluate import SEARCH, count_aligned, permutation
    from ..offline.report import Run

    runs = []
    for capture, labels in zip(captures, decided):
        if not len(labels):
            continue
        errors = None
        if capture.reference is not None:
            errors = count_aligned(labels, capture.reference, constellation, block)
            if errors is None and len(labels) == capture.samples.size // sps:
                with about(capture.reference_path, capture.path):
                    delay = find_delay(capture.samples, capture.reference, constellation.points,
                                       sps)
                permuted = permutation(labels, capture.reference, constellation)
                why = (f"the reference begins {delay} symbols after it, allowed: up to {SEARCH} "
                       "either way" if abs(delay) > SEARCH else
                       f"the labels are permuted, the sent ones 0, 1 … are decided as {permuted}"
                       if permuted else
                       "the decisions agree with the reference no better than by chance")
                click.echo(f"adann: {capture.path}: {why}; errors are not counted", err=True)
            elif errors and errors.slips:
                click.echo(f"adann: {capture.path}: slips: {errors.slips}, symbols were lost or "
                           "came twice; errors are counted at the first alignment", err=True)
        runs.append(Run(str(capture.path), len(labels), constellation.bits_per_symbol, block,
                        errors))
    return runs


def write_results(runs: Sequence[Run], decided: Sequence[np.ndarray], outputs: Outputs,
                  report: dict) -> None:
    """The labels, the report, the picture and the table on the terminal.

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
        rows = [row for number, run in enumerate(runs) for row in run.rows(number)]
        write_report(outputs.report, {"blocks": rows, "captures": entries, **report})
    if outputs.plot and runs:
        write_plot(outputs.plot, {report["adaptation"]["mode"]: runs}, report["block"])
    _print_table(entries)


def _print_table(entries: Sequence[dict]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    def shown(value: float | None, form: str = "{:.2e}") -> str:
        return "–" if value is None else form.format(value)

    table = Table("capture", *(Column(name, justify="right") for name in (
        "symbols", "bit errors", "BER", "95 % interval", "blocks to 1e-3", "final BER")))
    for entry in entries:
        table.add_row(Path(entry["file"]).name, f"{entry['symbols']:,}",
                      shown(entry["bit_errors"], "{:,}"), shown(entry["ber"]),
                      shown(entry["ci95"], "{0[0]:.1e} to {0[1]:.1e}"),
                      shown(entry["convergence_blocks"], "{}"), shown(entry["final_ber"]))
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has no width
    console.print(table)
