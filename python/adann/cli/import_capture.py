# SPDX-License-Identifier: GPL-3.0-or-later
"""adann import: a capture from an oscilloscope's files, or from raw numbers."""

from pathlib import Path

import click

from . import interrupts
from .terminal import POSITIVE, capture_files, check_outputs, recording_options


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="SCOPE_FILE...")
@click.option("-o", "--output", metavar="FILE", required=True,
              help="The capture: .sigmf-meta; the .sigmf-data is written next to it.")
@recording_options
@click.option("--baud", type=POSITIVE,
              help="Symbols per second, noted in the capture as adann:symbol_rate.")
def import_capture(files: tuple[str, ...], output: str, channel: str | None, kind: str | None,
                   sample_rate: float | None, baud: float | None) -> None:
    """Make a capture of what an oscilloscope or a program has saved.

    Reads the files of Rigol, Agilent and Keysight (.bin, Infiniium .h5), LeCroy (.trc), Tektronix (.wfm, .isf),
    Rohde & Schwarz and others, .csv, .txt, .mat, .npy, .wav, .flac, .w64, .aiff, .au and .caf, and with --type
    raw numbers of any name. Several files, of one channel each, are called 1, 2, ... in their order: C1.trc
    C2.trc --channel 1-2. So are the channels of a capture, of which --channel takes one or some.

    With --channel 1,2,3,4 one capture gets two complex channels, as of both polarisations' I and Q; adann separate
    makes a capture of each transmitter in them.
    """
    from ..captures.files import write_capture
    from ..captures.recordings import recorded_channels

    check_outputs(*capture_files(output), inputs=files)
    records, instrument = recorded_channels(files, channel, kind, sample_rate)
    samples, rate, baud = records[0].samples, records[0].sample_rate, baud or records[0].symbol_rate
    names = ", ".join(Path(file).name for file in files)
    fields = {"core:recorder": "adann import"}
    if instrument:
        fields["core:hw"] = instrument
    with interrupts.held():
        meta = write_capture(output, [each.samples for each in records], rate,
                             f"{names}{f', channel {channel}' if channel else ''}", fields, baud, records[0].bursts)
    at_rate = f" at {rate:.12g} per second" if rate else ", at a rate that is not in the file"
    per_symbol = f", {rate / baud:.6g} a symbol" if rate and baud else ""
    in_each = f" in each of {len(records)} channels" if len(records) > 1 else ""
    click.echo(f"{meta}: {samples.size} {'complex ' * (samples.dtype.kind == 'c')}samples"
               f"{in_each}{at_rate}{per_symbol}")
