#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's packet decoder, whose packets teach the equalizer through the message port `known`."""

import click
import numpy as np
import pmt
from gnuradio import adann, blocks, digital, fec, gr, pdu
from gnuradio.adann import core
from gnuradio.adann.links.radio_link import RadioLink

CONSTELLATION = core.constellation("16qam")
OCTETS = 62  # of a packet, before its CRC-32
BITS = 8 * (OCTETS + 4)
CODED = 2 * BITS
SYNC_WORD = "101000010000110010001101101011100111110001110111000111010010"
MAY_BE_WRONG = 12  # of its bits
SYMBOLS = (len(SYNC_WORD) + CODED) // CONSTELLATION.bits_per_symbol
LENGTH = "packet_len"  # key of tags
CODE = dict(frame_size=BITS, k=7, rate=2, polys=[79, 109], start_state=0, mode=fec.CC_TAILBITING)
RATE = 25e3  # symbols per second
AT_ONCE = 4096  # items that a block takes at most: between these the equalizer takes packets


class Packets(gr.basic_block):
    """What follows sync words, as soft bits: a tagged stream.

    Inputs: the same bits, in each rotation of the constellation; after the sync word they have a tag "sync", as
    Correlate Access Code - Tag sets it. The first bit of a packet has the tag "position" at the output: the symbol
    that it begins, which the port `known` asks for.
    """

    def __init__(self, rotations):
        gr.basic_block.__init__(self, "Packets", rotations * [np.uint8], [np.float32])
        self.set_tag_propagation_policy(gr.TPP_DONT)
        self.set_output_multiple(CODED)
        self.bits, self.first = np.zeros((rotations, 0), np.uint8), 0  # the latest, and which the first of these is
        self.starts = []  # (bit, rotation)

    def forecast(self, noutput_items, inputs):
        return [int(not self.is_complete())] * inputs

    def is_complete(self):
        return bool(self.starts) and self.starts[0][0] + CODED <= self.first + self.bits.shape[1]

    def general_work(self, inputs, outputs):
        new = min(map(len, inputs))
        for rotation in range(len(inputs)):
            tags = self.get_tags_in_window(rotation, 0, new, pmt.intern("sync"))
            self.starts += [(tag.offset, rotation) for tag in tags
                            if tag.offset % CONSTELLATION.bits_per_symbol == 0]
            self.consume(rotation, new)
        self.starts.sort()
        self.bits = np.hstack([self.bits, [each[:new] for each in inputs]])
        done = 0
        while self.is_complete() and done + CODED <= len(outputs[0]):
            start, rotation = self.starts.pop(0)
            outputs[0][done:done + CODED] = 2.0 * self.bits[rotation, start - self.first:][:CODED] - 1
            for key, value in (LENGTH, CODED), ("position", start // CONSTELLATION.bits_per_symbol):
                self.add_item_tag(0, self.nitems_written(0) + done, pmt.intern(key), pmt.from_long(value))
            done += CODED
        wanted = self.starts[0][0] if self.starts else self.first + self.bits.shape[1]
        self.bits, self.first = self.bits[:, wanted - self.first:], wanted
        return done


def coder():
    """From octets with a checksum to coded bits."""
    return [blocks.repack_bits_bb(8, 1, LENGTH, False, gr.GR_MSB_FIRST),
            fec.tagged_encoder(fec.cc_encoder_make(**CODE), gr.sizeof_char, gr.sizeof_char, LENGTH, BITS // 8)]


def send(packets, seed):
    """Labels of so many packets, one after the other, with a sync word before each."""
    octets = np.random.default_rng(seed).integers(0, 256, packets * OCTETS)
    top, coded = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b(octets.tolist()), blocks.stream_to_tagged_stream(1, 1, OCTETS, LENGTH),
                digital.crc32_bb(False, LENGTH), *coder(), coded)
    top.run()
    bits = np.reshape(coded.data(), (packets, CODED))
    framed = np.hstack([np.tile([int(bit) for bit in SYNC_WORD], (packets, 1)), bits]).astype(np.uint8)
    bits_per_symbol = CONSTELLATION.bits_per_symbol
    return np.packbits(framed.reshape(-1, bits_per_symbol), axis=1)[:, 0] >> (8 - bits_per_symbol)


class Receiver(gr.top_block):
    """Equalizer, sync word, Viterbi decoder, CRC-32. What passes is coded again, and goes back to the equalizer."""

    def __init__(self, samples, teaches):
        gr.top_block.__init__(self)
        bits, rotations = CONSTELLATION.bits_per_symbol, CONSTELLATION.symmetries
        self.equalizer = adann.equalizer("", constellation=CONSTELLATION.name, sps=2, half_window=5, mode="lockstep")
        self.labels, self.decoded, self.status = blocks.vector_sink_b(), blocks.message_debug(), blocks.message_debug()
        self.connect(blocks.vector_source_c(samples), blocks.throttle(gr.sizeof_gr_complex, 2 * RATE),
                     self.equalizer, self.labels)
        self.packets = Packets(len(rotations))
        for k, rotation in enumerate(rotations):  # the label that is decided, if labels are rotated so
            self.connect(self.equalizer, digital.map_bb(np.argsort(rotation).tolist()), blocks.unpack_k_bits_bb(bits),
                         digital.correlate_access_code_tag_bb(SYNC_WORD, MAY_BE_WRONG, "sync"), (self.packets, k))
        decoder = fec.extended_tagged_decoder(fec.cc_decoder_make(**CODE), lentagname=LENGTH, mtu=BITS // 8)
        known = pdu.tagged_stream_to_pdu(gr.types.byte_t, LENGTH)  # tags become the dictionary, "position" too
        self.connect(self.packets, decoder, blocks.repack_bits_bb(1, 8, LENGTH, False, gr.GR_MSB_FIRST),
                     digital.crc32_bb(True, LENGTH), digital.crc32_bb(False, LENGTH), *coder(),
                     blocks.repack_bits_bb(1, bits, LENGTH, False, gr.GR_MSB_FIRST), known)
        self.msg_connect(known, "pdus", self.decoded, "store")
        self.msg_connect(self.equalizer, "status", self.status, "store")
        if teaches:
            self.msg_connect(known, "pdus", self.equalizer, "known")


@click.command()
@click.option("--symbols", default=2**17, show_default=True, type=click.IntRange(2**16), help="That are sent.")
@click.option("--linewidth", default=1e-5, show_default=True, type=click.FloatRange(0, 1e-3),
              help="Of the oscillators, times the symbol's duration.")
@click.option("--turns", default=0.0, show_default=True, type=click.FloatRange(-1e-3, 1e-3),
              help="Of the second ray's phase, cycles per symbol.")
@click.option("--phase", default=2.0, show_default=True, type=float, help="Of the receiver's oscillator, rad.")
@click.option("--snr", default=14.0, show_default=True, type=click.FloatRange(0, 60), help="Es/N0 in dB.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Of packets and noise.")
def main(symbols, linewidth, turns, phase, snr, seed):
    """Receive packets over two rays, with decoded packets that teach the equalizer and without.

    16QAM, convolutional code of rate 1/2, CRC-32. The equalizer starts with nothing, so the rotation of its labels is
    one of four, and phase noise changes it. The decoder looks for the sync word in each.
    """
    gr.logging().set_default_level(gr.log_levels.info)  # else each tag is named
    sent = send(symbols // SYMBOLS, seed)
    link = RadioLink(CONSTELLATION.name, echo=0.3, delay=1.25, linewidth=linewidth, turns=turns, snr=snr)
    samples = (np.exp(1j * phase) * link.receive(sent, seed)).astype(np.complex64)
    for name, teaches in ("without", False), ("taught by packets", True):
        receiver = Receiver(samples, teaches)
        receiver.run(AT_ONCE)
        labels = np.array(receiver.labels.data(), np.uint8)
        wrong = np.unpackbits((labels ^ sent[:labels.size])[:, None], axis=1).sum(1) / CONSTELLATION.bits_per_symbol
        print(f"{name}: {receiver.decoded.num_messages()} of {symbols // SYMBOLS} packets, BER of the last quarter "
              f"{wrong[-(wrong.size // 4):].mean():.2e}")
        status = pmt.to_python(receiver.status.get_message(receiver.status.num_messages() - 1))
        if teaches:
            print(f"status: packets {status['packets']}, packet_ber {status['packet_ber']:.2e}, "
                  f"cycle_slips {status['cycle_slips']}; estimated without packets {status['ber']:.2e}")


if __name__ == "__main__":
    main()
