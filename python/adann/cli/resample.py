# SPDX-License-Identifier: GPL-3.0-or-later
"""adann resample"""

import tempfile
from pathlib import Path

import click

from . import interrupts
from .terminal import about, check_outputs, part_options, recording_options


@click.command()
@click.argument("capture")
@click.option("--sps", default=4, type=click.IntRange(1, 64), help="Samples per symbol wanted.")
@click.option("--baud", type=click.FloatRange(0, min_open=True),
              help="Symbols per second; if neither it nor the capture tells, found.")
@recording_options
@part_options
@click.option("--clock-recovery", is_flag=True, help="Follow a symbol clock that wanders.")
@click.option("--carrier", is_flag=True,
              help="Take out a carrier, found from a power of the symbols, and follow one that moves; real "
                   "samples around "
                   "a carrier become complex ones.")
@click.option("--bursts", is_flag=True,
              help="Find bursts by their power, and give each its own power, phase and carrier; they are noted in the "
                   "capture, and what lies between them is not learnt from and not decided.")
@click.option("--threshold", type=float, metavar="DB",
              help="Of --bursts, over the quietest tenth of the record; if not given, halfway between bursts "
                   "and pauses.")
@click.option("-o", "--output", metavar="FILE", required=True,
              help="The capture: .sigmf-meta; the .sigmf-data is put beside it.")
def resample(capture: str, sps: int, baud: float | None, sample_rate: float | None, channel: str | None,
             kind: str | None, skip: int, symbols: int | None, clock_recovery: bool, carrier: bool, bursts: bool,
             threshold: float | None, output: str) -> None:
    """Bring CAPTURE, a file as of adann import or a capture, to --sps samples a symbol, sample i*sps the middle of
    symbol i.

    What train and equalize take. Symbol rate, a constant offset of the clock and the sampling phase
    are found from the spectral lines of power and slope, which needs no known symbols; each
    line of output says what was done. Memory does not grow with the capture.
    """
    from ..captures.files import cut, write_capture
    from ..captures.recordings import read_recording
    from ..offline.resample import find_rate, without_carrier
    from ..offline.resample import resample as resample_record

    if threshold is not None and not bursts:
        raise click.UsageError("--threshold is of --bursts")
    check_outputs(output)
    record, _ = read_recording([capture], channel, kind, sample_rate)
    rate = record.sample_rate or 1.0
    said: list[str] = []
    with about(capture), tempfile.TemporaryDirectory(dir=Path(output).parent, prefix=".adann-") as folder:
        scratch = Path(folder)
        if carrier:
            record.samples, said = without_carrier(record.samples, rate, scratch)
        baud = baud or record.symbol_rate
        if not baud:
            baud, sentence = find_rate(record.samples, rate)
            said.append(sentence)
        record = cut(record, skip, symbols, rate / baud)
        done = resample_record(record.samples, rate, baud, sps, clock_recovery, carrier, bursts, threshold, scratch)
        for sentence in (*said, *done.said):
            click.echo(sentence)
        known = rate != 1
        with interrupts.held():
            meta = write_capture(output, done.samples, done.symbol_rate * sps if known else None,
                                 f"{Path(capture).name}, resampled to {sps} a symbol",
                                 {"core:recorder": "adann resample"},
                                 done.symbol_rate if known else None, done.bursts)
    click.echo(f"{meta}: {done.samples.size} samples, {done.samples.size // sps} symbols")
