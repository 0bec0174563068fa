# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands that decide captures have in common: counting, report and table."""

from pathlib import Path

import click

from .terminal import about


def count_all(constellation, sps, samples, decided, captures, sent, references, block):
    """Errors by block of each capture. Decisions that agree with no alignment of the reference are
    told on stderr, unless the reference is not this capture's at all: that is an error."""
    from ..captures.alignment import find_delay
    from ..offline.equalize import count_errors

    if sent is None:
        return [None] * len(captures)
    errors = []
    for number, labels in enumerate(decided):
        errors.append(count_errors(labels, sent[number], constellation, block))
        if errors[-1] is None:
            with about(references[number], captures[number]):
                find_delay(samples[number], sent[number], constellation.points, sps)
            click.echo(f"adann: {captures[number]}: the decisions agree with the reference no "
                       "better than by chance; errors are not counted", err=True)
    return errors


def write_results(decided, errors, constellation, captures, block, output, report_path, plot,
                  report):
    """The labels, the report, the picture (None: not wanted) and the table on the terminal."""
    from ..captures.files import atomic_output
    from ..offline.report import capture_report, write_plot, write_report

    bits = constellation.bits_per_symbol
    parts = [capture_report(number, path, len(labels), bits, block, counted) for
             number, (path, labels, counted) in enumerate(zip(captures, decided, errors))]
    entries = [entry for entry, _ in parts]
    blocks = [row for _, rows in parts for row in rows]
    if output:
        with atomic_output(output) as temporary:
            with open(temporary, "wb") as file:
                for labels in decided:
                    labels.tofile(file)
    if report_path:
        write_report(report_path, {"blocks": blocks, "captures": entries, **report})
    if plot:
        write_plot(plot, {report["adaptation"]["mode"]: [rows for _, rows in parts]}, block)
    _print_table(entries)


def _print_table(entries):
    from rich.console import Console
    from rich.table import Column, Table

    def shown(value, form="{:.2e}"):
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
