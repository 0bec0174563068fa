#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Equalize a measured 10GBASE-R line whose labels its own protocol proves.

CAPTURE is 10Gbase-R_w1_40GSps_f32.bin of github.com/ngscopeclient/scopehal-testdata: volts of an
oscilloscope at 40 GS/s, raw little-endian float32; at 10.31245 GBd that is 3.87881 samples/symbol.

Nobody noted what was sent. But the eye is open, and what such a line carries is known: 64b/66b
blocks of scrambled idles and, here, one Ethernet frame (IEEE 802.3, clause 49). The sliced bits
become labels only if every one of them fits: block type, idle code and the frame's checksum.
"""

import argparse
import zlib

import numpy as np
from gnuradio import adann, blocks, gr
from measured import train_and_equalize

SAMPLE_RATE = 40e9
SYMBOL_RATE = 10.31245e9
SPS = 4
BLOCK = 66  # bits: a header of 2, 64 of payload
CONTROL = 0b10  # the header of a block that starts with its type; others have 0b01
IDLE = bytes([0x1E, 0, 0, 0, 0, 0, 0, 0])
START = bytes.fromhex("78555555555555d5")  # type, preamble, start of frame
END = bytes.fromhex("8799aab4ccd2e1ff")  # types: 0, 1, ... 7 octets of the frame are left


def resample(volts):
    """4 samples a symbol, zero mean and unit power."""
    mean, rms = adann.record_statistics(volts)
    resampler = adann.resampler(SAMPLE_RATE, SYMBOL_RATE, SPS, normalization="record", mean=mean,
                                rms=rms)
    source = blocks.vector_source_f(np.append(volts, np.zeros(resampler.tail(), np.float32)))
    sink = blocks.vector_sink_f()
    flowgraph = gr.top_block()
    flowgraph.connect(source, resampler, sink)
    flowgraph.run()
    return np.array(sink.data(), np.float32)[:int(volts.size * SPS * SYMBOL_RATE / SAMPLE_RATE)]


def from_the_middle(samples):
    """The samples from the phase on whose eye is open widest: the symbols' middles."""
    opening = [np.percentile(abs(samples[phase::SPS]), 1) for phase in range(SPS)]
    phase = int(np.argmax(opening))
    print(f"symbol middles: every {SPS} samples from {phase}")
    return samples[phase:]


def find_blocks(bits):
    """The first bit of the first 64b/66b block, and all whole blocks, uint8 (blocks, 66)."""
    for first in range(BLOCK):
        aligned = bits[first:][:(bits.size - first) // BLOCK * BLOCK].reshape(-1, BLOCK)
        if np.all(aligned[:, 0] != aligned[:, 1]):
            print(f"64b/66b: all {len(aligned)} headers valid, the first at bit {first}")
            return first, aligned
    raise SystemExit("64b/66b: there is no position at which all headers are valid")


def check_payload(aligned):
    """Exit unless the descrambled blocks are idles and one frame with a right checksum.

    The descrambler of x^58 + x^39 + 1 follows the received bits: any wrong one shows up two more
    times, 39 and 58 bits later. So this also covers block 0, which merely fills it.
    """
    scrambled = aligned[:, 2:].ravel()
    payload = scrambled.copy()
    payload[39:] ^= scrambled[:-39]
    payload[58:] ^= scrambled[:-58]
    octets = np.packbits(payload.reshape(-1, 64), axis=1, bitorder="little")
    received = [(2 * header[0] + header[1], bytes(block))
                for header, block in zip(aligned[1:, :2], octets[1:])]
    busy = [i for i, block in enumerate(received) if block != (CONTROL, IDLE)]
    print(f"payload: {len(received) - len(busy)} idle blocks, {len(busy)} blocks of a frame")
    if len(busy) < 2 or busy[-1] - busy[0] != len(busy) - 1:
        raise SystemExit("payload: not idles and one frame")

    start, *data, (end_header, end) = received[busy[0]:busy[-1] + 1]
    left = END.find(end[0])
    if not (start == (CONTROL, START) and all(header != CONTROL for header, _ in data)
            and end_header == CONTROL and left >= 0 and not any(end[1 + left:])):
        raise SystemExit("frame: a block of the wrong type")
    frame = b"".join(octets for _, octets in data) + end[1:1 + left]
    if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "little"):
        raise SystemExit("frame: wrong checksum")
    print(f"frame: {len(frame)} octets from {frame[6:12].hex(':')} to {frame[:6].hex(':')}, "
          f"checksum {frame[-4:].hex()} right")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", metavar="CAPTURE", type=argparse.FileType("rb"))
    parser.add_argument("-o", metavar="DIR", dest="directory", required=True,
                        help="where capture, labels, model and reports go")
    arguments = parser.parse_args()

    samples = from_the_middle(resample(np.fromfile(arguments.capture, "<f4")))
    bits = (samples[::SPS] > 0).astype(np.uint8)
    first, aligned = find_blocks(bits)
    check_payload(aligned)

    # Only the bits of whole blocks are proven: they are the labels, and the capture starts there.
    labels = aligned.ravel()
    samples = samples[first * SPS:][:labels.size * SPS]
    train_and_equalize(
        arguments.directory, samples, SPS * SYMBOL_RATE, labels, labels.size // 2,
        ["--constellation", "pam2", "--sps", SPS, "--half-window", 5, "--optimizer", "adam",
         "--lr", 0.003, "--batch", 1024, "--epochs", 40])


if __name__ == "__main__":
    main()
