# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands that decide captures have in common: counting, report and table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .. import core
from .terminal import about

_HARDLY = 0.3  # of the symbols wrong: hardly an equalizer's

if TYPE_CHECKING:
    from ..captures.files import Capture
    from ..offline.evaluate import Alignment
    from ..offline.report import Run


def evaluate(captures: Sequence[Capture], decided: Sequence[np.ndarray],
             constellation: core.constellation, sps: int, block: int, quiet: bool = False) -> list[Run]:
    """What each capture's decided labels come to.

    captures: as they were equalized; one without a decision, where it was stopped, is left out.
    Decisions that agree with no alignment of the reference are
written to stderr, unless `quiet` or the reference is not this capture's at all: that is an error.
    """
    from ..offline.evaluate import align, count_at
    from ..offline.report import Run

    runs = []
    for capture, labels in zip(captures, decided):
        if not len(labels):
            continue
        errors = alignment = None
        if capture.reference is not None:
            alignment = align(labels, capture.reference, constellation, block)
            errors = count_at(labels, capture.reference, alignment, constellation, block) if alignment else None
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
            if alignment and (alignment.delay or alignment.symmetry) and not quiet:
                click.echo(f"{capture.path}: reference found at a delay of {alignment.delay} symbols, labels rotated "
                           f"by {alignment.angle(constellation):.0f} degrees: errors are counted after that, the "
                           "labels written are as decided")
        runs.append(Run(str(capture.path), len(labels), constellation.bits_per_symbol, block, errors,
                        bursts=_bursts(capture, labels, alignment, constellation, sps, block),
                        delay=alignment.delay if alignment else None,
                        symmetry=alignment.angle(constellation) if alignment else None))
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


def _bursts(capture: Capture, labels: np.ndarray, alignment: Alignment | None, constellation: core.constellation,
            sps: int, block: int) -> list[dict]:
    """Entries of the report: where each burst lies, in symbols, and what is wrong in it."""
    from ..offline.equalize import spans
    from ..offline.evaluate import count_at

    entries: list[dict] = []
    for burst, (first, end) in zip(capture.bursts, spans(capture, sps)):
        entry: dict = {"start": first, "symbols": end - first, "level_db": burst.level, "bits": None,
                       "bit_errors": None}
        if alignment and capture.reference is not None:
            errors = count_at(labels, capture.reference, alignment, constellation, block, (first, end))
            entry.update(bits=int(errors.bits.sum()), bit_errors=int(errors.bit_errors.sum()))
        entries.append(entry)
    return entries


def write_results(runs: Sequence[Run], report: dict, report_path: str | None, plot: str | None = None) -> None:
    """The report and the picture, where they are wanted.

    report: what report.json has besides blocks and captures.
    """
    from ..offline.report import write_plot, write_report

    entries = [run.entry() for run in runs]
    if report_path:
        write_report(report_path, {"captures": entries, **report},
                     (row for number, run in enumerate(runs) for row in run.rows(number)))
    if plot and runs:
        write_plot(plot, {report["adaptation"]["mode"]: runs}, report["block"])


def print_table(runs: Sequence[Run]) -> None:
    """Errors of each capture, on the terminal."""
    from rich.console import Console
    from rich.table import Column, Table

    def shown(value: object, form: str = "{:.2e}") -> str:
        return "–" if value is None else form.format(value)

    entries = [run.entry() for run in runs]
    soft = any("ngmi" in entry for entry in entries)
    table = Table("capture", *(Column(name, justify="right") for name in (
        "symbols", "bit errors", "BER", "95 % interval", "blocks to 1e-3", "final BER",
        *(("NGMI", "code rate") if soft else ()))))
    for entry in entries:
        table.add_row(Path(entry["file"]).name, f"{entry['symbols']:,}",
                      shown(entry["bit_errors"], "{:,}"), shown(entry["ber"]),
                      shown(entry["ci95"], "{0[0]:.1e} to {0[1]:.1e}"),
                      shown(entry["convergence_blocks"], "{}"), shown(entry["final_ber"]),
                      *((shown(entry.get("ngmi"), "{:.3f}"), shown(entry.get("code_rate"), "{}")) if soft else ()))
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)  # a file has no width
    console.print(table)
