#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings for sdr_live.grc and sdr_headless.grc: packets over a radio link with an echo."""

import sys
from pathlib import Path

import click
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.links.packet_radio import ECHO, SPS, SYMBOL_RATE, packets


@click.command()
@click.option("--frames", default=300, show_default=True, type=click.IntRange(1))
@click.option("-o", "--output", metavar="DIR", required=True,
              type=click.Path(file_okay=False, path_type=Path))
def record(frames, output):
    """Write two recordings of 9600 Bd BPSK packets at 48 kHz: clean, and echo.

    Each has its own carrier, clock, noise and frames of 128 random bytes. In echo a second path,
    1.2 symbols late and 3 dB weaker, comes up during the second quarter and stays. clean.u8 holds
    the symbols that clean was made of.
    """
    output.mkdir(parents=True, exist_ok=True)
    for seed, (name, echo) in enumerate((("clean", 0), ("echo", ECHO))):
        samples, labels = packets(frames, seed, echo)
        labels.tofile(output / f"{name}.u8")
        meta = write_capture(output / name, samples, SPS * SYMBOL_RATE,
                             f"{frames} frames, BPSK, {SYMBOL_RATE} Bd, {name}")
        click.echo(f"{meta}: {frames} frames in {labels.size} symbols")


if __name__ == "__main__":
    try:
        record()
    except (ValueError, OSError) as error:
        sys.exit(f"sdr_recording: {error}")
