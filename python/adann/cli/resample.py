# SPDX-License-Identifier: GPL-3.0-or-later
"""adann resample"""

from pathlib import Path

import click

from . import interrupts
from .terminal import about, check_outputs


@click.command()
@click.argument("capture")
@click.option("--sps", default=4, type=click.IntRange(1, 64), help="Samples per symbol wanted.")
@click.option("--baud", type=click.FloatRange(0, min_open=True),
              help="Symbols per second; if neither it nor the capture tells, found.")
@click.option("--sample-rate", type=click.FloatRange(0, min_open=True),
              help="Samples per second, where the capture does not tell or tells it wrongly.")
@click.option("--clock-recovery", is_flag=True, help="Follow a symbol clock that wanders.")
@click.option("--carrier", is_flag=True,
              help="Take out a frequency offset, found from a power of the symbols, of complex samples.")
@click.option("-o", "--output", metavar="FILE", required=True,
              help="The capture: .sigmf-meta; the .sigmf-data is put beside it.")
def resample(capture: str, sps: int, baud: float | None, sample_rate: float | None,
             clock_recovery: bool, carrier: bool, output: str) -> None:
    """Bring CAPTURE to --sps samples a symbol, sample i*sps the middle of symbol i.

    What train and equalize take. Symbol rate, a constant offset of the clock and the sampling phase
    are found from the spectral lines of power and slope, which needs no known symbols; each
    line of output says what was done.
    """
    from ..captures.files import read_capture, write_capture
    from ..captures.timing import find_symbol_rate
    from ..offline.resample import resample as resample_record

    check_outputs(output)
    record = read_capture(capture)
    rate = sample_rate or record.sample_rate or 1.0
    baud = baud or record.symbol_rate
    with about(capture):
        if not baud:
            found, clearness = find_symbol_rate(record.samples)
            baud = found * rate
            click.echo(f"symbol rate found: {baud:.9g} a second, {1 / found:.6g} samples a symbol "
                       f"(line {clearness:.0f} times what is around it)" if rate != 1 else
                       f"symbol rate found: {1 / found:.6g} samples a symbol (line {clearness:.0f} "
                       "times what is around it)")
        done = resample_record(record.samples, rate, baud, sps, clock_recovery, carrier)
    for sentence in done.said:
        click.echo(sentence)
    known = rate != 1
    with interrupts.held():
        meta = write_capture(output, done.samples, done.symbol_rate * sps if known else None,
                             f"{Path(capture).name}, resampled to {sps} a symbol",
                             {"core:recorder": "adann resample"},
                             done.symbol_rate if known else None)
    click.echo(f"{meta}: {done.samples.size} samples, {done.samples.size // sps} symbols")
