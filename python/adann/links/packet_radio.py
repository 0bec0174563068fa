# SPDX-License-Identifier: GPL-3.0-or-later
"""HDLC frames over a radio link with an echo: 9600 Bd BPSK, scrambled and NRZI coded as packet radio does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gnuradio import blocks, channels, digital, filter, gr

from ..blocks.flowgraphs import run_flowgraph

SYMBOL_RATE, SPS = 9600, 5
FLAG = "01111110"
CARRIER_OFFSET = 40.0  # Hz
CLOCK_OFFSET = 20e-6
NOISE = 0.5            # rms at 5 samples a symbol of unit power: Es/N0 of 13 dB
ECHO_DELAY = 6         # samples: 1.2 symbols
ECHO = 0.7 * np.exp(1j)


def frame_bits(payload: bytes) -> str:
    """An HDLC frame: the payload's bits (LSB first) and their checksum, stuffed, and a flag."""
    checksum = digital.crc(16, 0x1021, 0xFFFF, 0xFFFF, True, True).compute(list(payload))
    octets = bytes(payload) + checksum.to_bytes(2, "little")
    return "".join(f"{octet:08b}"[::-1] for octet in octets).replace("11111", "111110") + FLAG


def line_labels(bits: str) -> npt.NDArray[np.uint8]:
    """Scrambled (x^17 + x^12 + 1) and NRZI coded: 9600 Bd packet radio's (G3RUH) line code."""
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b([int(bit) for bit in bits]), digital.scrambler_bb(0x21, 0, 16),
                digital.map_bb([1, 0]), digital.diff_encoder_bb(2), sink)
    run_flowgraph(top)
    return np.array(sink.data(), np.uint8)


def received(labels: npt.NDArray[np.uint8], seed: int, echo: complex) -> npt.NDArray[np.complex64]:
    """BPSK samples at 5 a symbol, complex64. The echo grows during the second quarter."""
    taps = filter.firdes.root_raised_cosine(SPS, SPS, 1, 0.35, 11 * SPS)
    top, sink = gr.top_block(), blocks.vector_sink_c()
    top.connect(blocks.vector_source_c((2.0 * labels - 1).tolist()), filter.interp_fir_filter_ccf(SPS, taps),
                channels.channel_model(0, CARRIER_OFFSET / (SYMBOL_RATE * SPS), 1 + CLOCK_OFFSET), sink)
    run_flowgraph(top)
    samples = np.array(sink.data(), np.complex64)
    strength = np.clip(np.arange(samples.size) / samples.size * 4 - 1, 0, 1) * echo
    random = np.random.default_rng(seed)
    noise = random.standard_normal(2 * samples.size).view(complex) * NOISE / 2**0.5
    return (samples + strength * np.roll(samples, ECHO_DELAY) + noise).astype(np.complex64)


def packets(frames: int, seed: int, echo: complex) -> tuple[npt.NDArray[np.complex64], npt.NDArray[np.uint8]]:
    """(samples, labels) of so many frames of 128 random bytes, flags before and after them."""
    payloads = np.random.default_rng(seed).integers(0, 256, (frames, 128), np.uint8)
    labels = line_labels(100 * FLAG + "".join(map(frame_bits, payloads.tolist())) + 20 * FLAG)
    return received(labels, seed, echo), labels
