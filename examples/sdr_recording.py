#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings for sdr_live.grc and sdr_headless.grc: packets over a radio link with an echo."""

import sys
from pathlib import Path

import click
import numpy as np
from gnuradio import blocks, channels, digital, filter, gr
from gnuradio.adann.captures.files import write_capture

SYMBOL_RATE, SPS = 9600, 5
FLAG = "01111110"
CARRIER_OFFSET = 40.0  # Hz
CLOCK_OFFSET = 20e-6
NOISE = 0.5            # rms at 5 samples a symbol of unit power: Es/N0 of 13 dB
ECHO_DELAY = 6         # samples: 1.2 symbols
ECHO = 0.7 * np.exp(1j)


def frame_bits(payload):
    """An HDLC frame: the payload's bits (LSB first) and their checksum, stuffed, and a flag."""
    checksum = digital.crc(16, 0x1021, 0xFFFF, 0xFFFF, True, True).compute(list(payload))
    octets = bytes(payload) + checksum.to_bytes(2, "little")
    return "".join(f"{octet:08b}"[::-1] for octet in octets).replace("11111", "111110") + FLAG


def line_labels(bits):
    """Scrambled (x^17 + x^12 + 1) and NRZI coded: 9600 Bd packet radio's (G3RUH) line code."""
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b(bits), digital.scrambler_bb(0x21, 0, 16),
                digital.map_bb([1, 0]), digital.diff_encoder_bb(2), sink)
    top.run()
    return np.array(sink.data(), np.uint8)


def received(labels, seed, echo):
    """BPSK samples at 5 a symbol, complex64. The echo grows during the second quarter."""
    taps = filter.firdes.root_raised_cosine(SPS, SPS, 1, 0.35, 11 * SPS)
    top, sink = gr.top_block(), blocks.vector_sink_c()
    top.connect(blocks.vector_source_c((2.0 * labels - 1).tolist()),
                filter.interp_fir_filter_ccf(SPS, taps),
                channels.channel_model(0, CARRIER_OFFSET / (SYMBOL_RATE * SPS), 1 + CLOCK_OFFSET),
                sink)
    top.run()
    samples = np.array(sink.data(), np.complex64)
    strength = np.clip(np.arange(samples.size) / samples.size * 4 - 1, 0, 1) * echo
    random = np.random.default_rng(seed)
    noise = random.standard_normal(2 * samples.size).view(complex) * NOISE / 2**0.5
    return (samples + strength * np.roll(samples, ECHO_DELAY) + noise).astype(np.complex64)


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
        random = np.random.default_rng(seed)
        payloads = random.integers(0, 256, (frames, 128), np.uint8)
        bits = 100 * FLAG + "".join(map(frame_bits, payloads.tolist())) + 20 * FLAG
        labels = line_labels([int(bit) for bit in bits])
        labels.tofile(output / f"{name}.u8")
        meta = write_capture(output / name, received(labels, seed, echo), SPS * SYMBOL_RATE,
                             f"{frames} frames, BPSK, {SYMBOL_RATE} Bd, {name}")
        click.echo(f"{meta}: {frames} frames in {labels.size} symbols")


if __name__ == "__main__":
    try:
        record()
    except (ValueError, OSError) as error:
        sys.exit(f"sdr_recording: {error}")
