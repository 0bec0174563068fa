# SPDX-License-Identifier: GPL-3.0-or-later
"""adann resample"""

from pathlib import Path

import click

from . import interrupts
from .terminal import (
    POSITIVE,
    Finite,
    about,
    capture_files,
    check_outputs,
    part_options,
    recording_options,
    settled,
    symbol_rate_of,
)


@click.command()
@click.argument("capture")
@click.option("--sps", default=4, type=click.IntRange(1, 64), help="Samples per symbol wanted.")
@click.option("--baud", type=POSITIVE,
              help="Symbols per second; found if the capture has none either.")
@recording_options
@part_options
@click.option("--clock-recovery", is_flag=True, help="Follow a symbol clock that wanders.")
@click.option("--carrier", is_flag=True,
              help="Remove a carrier, found from a power of the symbols, and track one that moves; real samples "
                   "around a carrier become complex ones.")
@click.option("--bursts", is_flag=True,
              help="Find bursts by their power, or where pauses are as loud by the noise next to the signal or the "
                   "symbol clock, and give each its own power, phase and carrier; they are noted in the capture, and "
                   "what lies between them is not learnt from and not decided.")
@click.option("--threshold", type=Finite(0, 120), metavar="DB",
              help="Of --bursts, over the pauses, the quietest tenth of the record or less; if not given, halfway "
                   "between bursts and pauses.")
@click.option("-o", "--output", metavar="FILE", required=True,
              help="The capture: .sigmf-meta; the .sigmf-data is written next to it.")
def resample(capture: str, sps: int, baud: float | None, sample_rate: float | None, channel: str | None,
             kind: str | None, skip: int, symbols: int | None, clock_recovery: bool, carrier: bool, bursts: bool,
             threshold: float | None, output: str) -> None:
    """Bring CAPTURE, a file as of adann import or a capture, to --sps samples a symbol, sample i*sps the middle of
    symbol i.

    What train and equalize take. Symbol rate, a constant offset of the clock and the sampling phase
    are found from the spectral lines of power and slope, which needs no known symbols; each
    line of output says what was done. Memory does not grow with the capture, except for
    a byte or two per symbol with --bursts.

    Of several channels, as adann separate takes them, all get the same rate and phase, those of their power together
    or of the clearest one.
    """
    from ..captures.files import cut, write_capture
    from ..captures.outputs import scratch_folder
    from ..captures.recordings import recorded_channels
    from ..offline.resample import find_rate, resample_channels, without_carrier
    from ..offline.resample import resample as resample_record

    if threshold is not None and not bursts:
        raise click.UsageError("--threshold is of --bursts")
    check_outputs(*capture_files(output), inputs=[capture])
    records, _ = recorded_channels([capture], channel, kind, sample_rate)
    if len(records) > 1 and (clock_recovery or carrier or bursts):
        raise click.UsageError(f"{capture} has {len(records)} channels; --clock-recovery, --carrier and --bursts are "
                               "of one, as adann separate makes it for each transmitter")
    record = records[0]
    baud = symbol_rate_of(record, baud)
    rate = record.sample_rate or 1.0
    said: list[str] = []
    with about(capture), scratch_folder(capture_files(output)[0]) as scratch:
        if carrier:
            record.samples, said = without_carrier(record.samples, rate, scratch)
        if not baud:
            baud, sentence, doubt = find_rate(record.samples, rate)
            said += [f"doubtful: {settled(doubt)}"] if doubt else []
            said.append(sentence)
        parts = [cut(each, skip, symbols, rate / baud).samples for each in records]
        channels = resample_channels(parts, rate, baud, sps, scratch) if len(parts) > 1 else [
            resample_record(parts[0], rate, baud, sps, clock_recovery, carrier, bursts, threshold, scratch)]
        done = channels[0]
        for sentence in (*said, *done.said):
            click.echo(sentence)
        known = rate != 1
        with interrupts.held():
            meta = write_capture(output, [each.samples for each in channels], done.symbol_rate * sps if known else None,
                                 f"{Path(capture).name}, resampled to {sps} a symbol",
                                 {"core:recorder": "adann resample"},
                                 done.symbol_rate if known else None, done.bursts)
    in_each = f" in each of {len(channels)} channels" if len(channels) > 1 else ""
    click.echo(f"{meta}: {done.samples.size} samples, {done.samples.size // sps} symbols{in_each}")
