#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turbo equalization: what GNU Radio's soft-output decoder knows of the bits goes back to the equalizer."""

import click
import numpy as np
from gnuradio import adann, blocks, gr, trellis
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.radio_link import SPS, RadioLink

HALF_WINDOW = 5
TRAINING = 2**16  # symbols at the start that the receiver knows
STEPS = 1024  # of the code in a frame, with those that end it
CODE = trellis.fsm(1, 2, [0o171, 0o133])  # rate 1/2, K = 7
TAIL = 6
CODED = 2 * STEPS
NOTHING_KNOWN, UNKNOWN = 0.0, 255
BITS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # of the code's output at each step


def run(top, *sinks):
    top.run()
    return [np.array(sink.data()) for sink in sinks]


def encode(payload):
    """Coded bits (frames, CODED) of information bits (frames, STEPS - TAIL)."""
    ended = np.pad(payload, [(0, 0), (0, TAIL)])
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b(ended.ravel().tolist()), trellis.encoder_bb(CODE, 0), sink)
    return BITS[run(top, sink)[0]].reshape(-1, CODED)


def decode(ratios):
    """Information bits, and extrinsic ratios of the coded bits, by GNU Radio's decoder.

    ratios: (frames, CODED), ln(P(1) / P(0)) of the coded bits. The decoder adds costs, -ln of probabilities.
    """
    pairs = ratios.reshape(-1, 2)
    costs = -pairs @ BITS.T
    decoder = trellis.siso_f(CODE, STEPS, 0, 0, True, True, trellis.TRELLIS_SUM_PRODUCT)
    top, sink = gr.top_block(), blocks.vector_sink_f()
    top.connect(blocks.vector_source_f(np.zeros(2 * len(pairs))), decoder, sink)
    top.connect(blocks.vector_source_f(costs.ravel()), (decoder, 1))
    found = run(top, sink)[0].reshape(-1, 2 + 4)
    decided = found[:, 1] < found[:, 0]
    posterior = -(found[:, 2:] + costs)  # what the decoder has found is extrinsic, of both bits of a step
    extrinsic = np.stack([np.logaddexp(*posterior[:, BITS[:, i] == 1].T) -
                          np.logaddexp(*posterior[:, BITS[:, i] == 0].T) for i in range(2)], axis=1) - pairs
    return decided.reshape(-1, STEPS)[:, :-TAIL], extrinsic.reshape(-1, CODED)


def equalize(samples, known, a_priori, constellation):
    """Labels that are decided, and extrinsic ratios of their bits.

    known: labels, UNKNOWN where they are not; a_priori: a ratio for each bit.
    """
    bits, size = constellation.bits_per_symbol, constellation.size
    top, labels, ratios = gr.top_block(), blocks.vector_sink_b(), blocks.vector_sink_f()
    equalizer = adann.equalizer("", constellation=constellation.name, sps=SPS, half_window=HALF_WINDOW,
                                mode="lockstep")
    soft_bits = adann.soft_bits(size)
    priors = blocks.vector_source_f(a_priori, False, bits)
    top.connect(blocks.vector_source_c(samples), equalizer, labels)
    top.connect(blocks.vector_source_b(known), (equalizer, 1))
    top.connect(priors, (equalizer, 2))
    top.connect((equalizer, 1), soft_bits, ratios)
    top.connect(priors, (soft_bits, 1))
    return run(top, labels, ratios)


@click.command()
@click.option("--constellation", default="qpsk", show_default=True, help="A name of core.constellation.names().")
@click.option("--frames", default=200, show_default=True, type=click.IntRange(1), help="That are sent.")
@click.option("--iterations", default=2, show_default=True, type=click.IntRange(1, 10))
@click.option("--echo", default=0.9, show_default=True, type=click.FloatRange(0, 2), help="Second ray's amplitude.")
@click.option("--delay", default=1.0, show_default=True, type=click.FloatRange(0, 8), help="Its delay in symbols.")
@click.option("--snr", default=1.5, show_default=True, type=click.FloatRange(-10, 60), help="Es/N0 in dB.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Of bits and noise.")
def main(constellation, frames, iterations, echo, delay, snr, seed):
    """Receive coded frames over two rays, and again with what the decoder has found.

    Frames of 1018 bits, convolutional code of rate 1/2 and K = 7, an interleaver for each frame. The receiver knows
    the first 65,536 symbols. Each iteration equalizes the same record: the first knows nothing of the coded bits, each
    later one has the decoder's extrinsic ratios.
    """
    symbols, random = core.constellation(constellation), np.random.default_rng(seed)
    bits = symbols.bits_per_symbol
    payload = random.integers(0, 2, (frames, STEPS - TAIL))
    places = np.argsort(random.random((frames, CODED)), axis=1)
    sent_bits = np.take_along_axis(encode(payload), places, axis=1).ravel()
    sent_bits = np.pad(sent_bits, (0, -sent_bits.size % bits))
    sent = np.r_[random.integers(0, symbols.size, TRAINING), sent_bits.reshape(-1, bits) @ (1 << np.arange(bits)[::-1])]
    link = RadioLink(constellation, echo=echo, delay=delay, snr=snr)
    samples = normalized(link.receive(sent.astype(np.uint8), seed)).astype(np.complex64)
    samples = np.r_[samples, np.zeros(SPS * 64, np.complex64)]  # so that the last symbols come out
    known = np.full(samples.size // SPS, UNKNOWN, np.uint8)
    known[:TRAINING] = sent[:TRAINING]
    a_priori = np.full(known.size * bits, NOTHING_KNOWN, np.float32)
    of_frames = slice(TRAINING * bits, TRAINING * bits + frames * CODED)
    for iteration in range(1, iterations + 1):
        labels, ratios = equalize(samples, known, a_priori, symbols)
        decided = np.unpackbits(labels.astype(np.uint8)[:, None], axis=1)[:, -bits:].ravel()[of_frames]
        interleaved = ratios[of_frames].reshape(frames, CODED)
        ordered = np.empty_like(interleaved)
        np.put_along_axis(ordered, places, interleaved, axis=1)
        found, extrinsic = decode(ordered)
        a_priori[of_frames] = np.take_along_axis(extrinsic, places, axis=1).ravel()
        wrong = found != payload
        print(f"iteration {iteration}: BER before the decoder {np.mean(decided != sent_bits[:decided.size]):.2e}, "
              f"after it {wrong.mean():.2e}, {wrong.any(axis=1).sum()} of {frames} frames wrong")


if __name__ == "__main__":
    main()
