#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""AdaNN in place of the slicer, in a satellite receiver made of GNU Radio's own blocks.

CAPTURE is picsat_9k6.wav of github.com/daniestevez/satellite-recordings: audio of an SSB receiver
with the BPSK telemetry of PicSat at 9600 Bd, carrier at 12192 Hz; AX.25 frames, scrambled (G3RUH).
Nobody knows the symbols. The network starts from the decisions of a blind linear equalizer on what
the chain in front of it gives, and goes on learning in the chain. Frames with a right checksum are
counted, of the recording as it is and with an echo added to it, whose phase may turn.
"""

import argparse
import cmath
import json
from pathlib import Path

import pmt
from gnuradio import adann, analog, blocks, digital, filter, gr
from gnuradio.filter import firdes
from measured import adann as command

SAMPLE_RATE, CARRIER, SYMBOL_RATE = 48000, 12192, 9600
SPS = 2  # at the equalizer's input
ECHO_DELAY = 6  # samples: 125 us, 1.2 symbols
ROLL_OFF = 0.35


class second_path(gr.hier_block2):
    """Adds what comes ECHO_DELAY samples late at the carrier's frequency, here brought to 0.

    echo: its gain. turns: cycles of its phase per second, the Doppler shift in Hz.
    """

    def __init__(self, echo, turns):
        signature = gr.io_signature(1, 1, gr.sizeof_gr_complex)
        super().__init__("second path", signature, signature)
        start = echo * cmath.exp(-2j * cmath.pi * CARRIER / SAMPLE_RATE * ECHO_DELAY)
        phase = analog.sig_source_c(SAMPLE_RATE, analog.GR_COS_WAVE, turns, 1)
        turned, both = blocks.multiply_cc(), blocks.add_cc()
        self.connect(self, both, self)
        self.connect(self, blocks.delay(gr.sizeof_gr_complex, ECHO_DELAY),
                     blocks.multiply_const_cc(start), turned, (both, 1))
        self.connect(phase, (turned, 1))


def front_end(recording, echo, turns=0):
    """Blocks from the recording to SPS samples a symbol, carrier and clock recovered.

    echo, turns: of a second path.
    """
    sps = SAMPLE_RATE / SYMBOL_RATE
    return [
        blocks.wavfile_source(str(recording)),
        filter.freq_xlating_fir_filter_fcf(
            1, firdes.low_pass(1, SAMPLE_RATE, 8500, 2000), CARRIER, SAMPLE_RATE),
        second_path(echo, turns),
        analog.agc_cc(1e-3, 1.0, 1.0),
        filter.fir_filter_ccf(1, firdes.root_raised_cosine(
            1, SAMPLE_RATE, SYMBOL_RATE, ROLL_OFF, int(11 * sps))),
        digital.symbol_sync_cc(digital.TED_GARDNER, sps, 0.02, 1.0, 1.0, 0.01 * sps, SPS),
        digital.costas_loop_cc(0.02, 2)]


def record(recording, echo, path):
    """Keep what the front end gives, to train on."""
    top = gr.top_block()
    top.connect(*front_end(recording, echo), blocks.file_sink(gr.sizeof_gr_complex, str(path)))
    top.run()


def deciders(model):
    """From the front end to bits: {name: blocks}."""
    bpsk = digital.constellation_bpsk().base()
    cma = digital.adaptive_algorithm_cma(bpsk, 1e-3, 1).base()

    def network(mode):
        return [adann.normalizer(True), adann.equalizer(str(model), mode=mode)]

    def slicer():
        return [blocks.complex_to_real(), digital.binary_slicer_fb()]

    return {"slicer": [blocks.keep_m_in_n(gr.sizeof_gr_complex, 1, SPS, 0), *slicer()],
            "linear_equalizer, CMA": [digital.linear_equalizer(11 * SPS, SPS, cma), *slicer()],
            "AdaNN, frozen": network("off"),
            "AdaNN": network("lockstep")}


def deframer():
    """From bits to frames: NRZI, G3RUH's descrambler (x^17 + x^12 + 1), HDLC with CRC."""
    return [digital.diff_decoder_bb(2), digital.map_bb([1, 0]),
            digital.descrambler_bb(0x21, 0, 16), digital.hdlc_deframer_bp(16, 500)]


def receive(recording, echo, turns, model):
    """All deciders side by side after one front end: {name: frames with a right checksum}."""
    top = gr.top_block()
    front = front_end(recording, echo, turns)
    top.connect(*front)
    found = {}
    for name, decider in deciders(model).items():
        bits_to_frames = deframer()
        found[name] = blocks.message_debug()
        top.connect(front[-1], *decider, *bits_to_frames)
        top.msg_connect(bits_to_frames[-1], "out", found[name], "store")
    top.run()
    return {name: [bytes(pmt.u8vector_elements(pmt.cdr(sink.get_message(i))))
                   for i in range(sink.num_messages())] for name, sink in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", metavar="CAPTURE", type=argparse.FileType("rb"))
    parser.add_argument("-o", metavar="DIR", dest="directory", required=True, type=Path,
                        help="where the front end's output, models and frames.json go")
    parser.add_argument("--echo", metavar="GAIN", type=float, nargs="+",
                        default=[0, 0.3, 0.4, 0.5, 0.7, 0.9],
                        help="of the second path, 125 us late (default: 0 0.3 0.4 0.5 0.7 0.9)")
    parser.add_argument("--turns", metavar="HZ", type=float, default=0,
                        help="of the second path's phase a second; not while it is trained on")
    arguments = parser.parse_args()
    arguments.capture.close()
    arguments.directory.mkdir(parents=True, exist_ok=True)

    frames = {}
    for echo in arguments.echo:
        capture, model = (arguments.directory / f"echo_{echo:g}{suffix}"
                          for suffix in (".c64", ".safetensors"))
        record(arguments.capture.name, echo, capture)
        command("train", "--blind", "--capture", capture, "--constellation", "pam2", "--sps", SPS,
                "--half-window", 5, "--fraction", 1, "--optimizer", "adam", "--batch", 1024,
                "--epochs", 40, "-o", model)
        frames[f"{echo:g}"] = receive(arguments.capture.name, echo, arguments.turns, model)

    print(f"\n{'frames with an echo of':24}" + "".join(f"{echo:>6}" for echo in frames))
    for name in next(iter(frames.values())):
        print(f"{name:24}" + "".join(f"{len(of_echo[name]):6}" for of_echo in frames.values()))
    (arguments.directory / "frames.json").write_text(json.dumps(
        {echo: {name: [frame.hex() for frame in found] for name, found in of_echo.items()}
         for echo, of_echo in frames.items()}, indent=1))


if __name__ == "__main__":
    main()
