# SPDX-License-Identifier: GPL-3.0-or-later
"""adann import: a capture from an oscilloscope's files."""

from pathlib import Path

import click

from . import interrupts
from .terminal import about, check_outputs


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="SCOPE_FILE...")
@click.option("-o", "--output", metavar="FILE", required=True,
              help="The capture: .sigmf-meta; the .sigmf-data is put beside it.")
@click.option("--channel", metavar="CHANNEL",
              help="Which of several: one, a differential pair as 1-2, or I and Q as 1,2 (or "
                   "1-2,3-4), which gives complex samples.")
@click.option("--sample-rate", type=click.FloatRange(0, min_open=True),
              help="Samples per second, where the file does not tell or tells it wrongly.")
@click.option("--baud", type=click.FloatRange(0, min_open=True),
              help="Symbols per second, noted in the capture as adann:symbol_rate.")
def import_capture(files: tuple[str, ...], output: str, channel: str | None,
                   sample_rate: float | None, baud: float | None) -> None:
    """Make a capture of what an oscilloscope or a program has saved.

    Reads the files of Rigol, Agilent and Keysight (.bin, Infiniium .h5), LeCroy (.trc), Tektronix
    (.wfm, .isf), Rohde & Schwarz and others, and .csv, .txt, .mat, .npy and .wav. Several files,
    of one channel each, are called 1, 2, ... in their order: C1.trc C2.trc --channel 1-2.
    """
    from ..captures.files import write_capture
    from ..captures.oscilloscopes import read_scope_files, select_channel

    check_outputs(output)
    scope = read_scope_files(files)
    with about(*files):
        samples = select_channel(scope.channels, channel)
    rate = sample_rate or scope.sample_rate
    names = ", ".join(Path(file).name for file in files)
    fields = {"core:recorder": "adann import"}
    if scope.instrument:
        fields["core:hw"] = scope.instrument
    with interrupts.held():
        meta = write_capture(output, samples, rate,
                             f"{names}{f', channel {channel}' if channel else ''}", fields, baud)
    rate_told = f" at {rate:.12g} per second" if rate else ", at a rate that the file does not tell"
    per_symbol = f", {rate / baud:.6g} a symbol" if rate and baud else ""
    click.echo(f"{meta}: {samples.size} {'complex ' * (samples.dtype.kind == 'c')}samples"
               f"{rate_told}{per_symbol}")
