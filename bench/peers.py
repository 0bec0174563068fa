# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizer next to GNU Radio's own, each in a flowgraph of its own: per second of processor time."""

import time
from dataclasses import replace

import numpy as np
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments import comparators, compared
from gnuradio.adann.links.radio_link import RadioLink
from gnuradio.adann.links.simulation import random_labels
from measuring import interleave
from receiver import received

HALF_WINDOW = 6  # symbols: GNU Radio's equalizers have 25 taps at 2 samples a symbol, 49 at 4
RADIO = {"QPSK": RadioLink("qpsk", echo=0.3, delay=1.5, snr=14),
         "16QAM": RadioLink("16qam", echo=0.3, delay=1.5, snr=21)}
MOVES = 1e-5  # cycles per symbol that the echo of what is equalized rotates by
OURS = {"AdaNN, off": dict(mode="off"), "AdaNN, live": dict(mode="live"), "AdaNN, lockstep": dict(mode="lockstep"),
        "AdaNN, lockstep, without refinement": dict(mode="lockstep", decisions="network")}
STEP = 0.002  # of GNU Radio's algorithms: their rate does not depend on it
TRAINED = 4096  # symbols


class Stream:
    """What is equalized, its labels, and a model for it."""

    def __init__(self, model, samples, labels):
        self.model, self.samples, self.labels = model, samples, labels
        self.points = comparators.unit_points(model.constellation)

    def _rate(self, source, equalizer, size, symbols):
        top = gr.top_block("peers")
        source.set_min_output_buffer(1 << 18)
        top.connect(source, equalizer, blocks.head(size, symbols), blocks.null_sink(size))
        start = time.process_time()
        top.run()
        return symbols / (time.process_time() - start)

    def ours(self, settings, symbols):
        """Symbols per second of processor time, of both threads."""
        source = blocks.vector_source_c if np.iscomplexobj(self.samples) else blocks.vector_source_f
        return self._rate(source(self.samples, True), adann.equalizer(model=self.model, **settings), 1, symbols)

    def gnuradio(self, kind, symbols):
        """The same of one of GNU Radio, of complex samples. It does nothing until it is trained."""
        sps = self.model.sps
        equalizer = comparators.gnuradio_equalizer(kind, self.points, sps, HALF_WINDOW, STEP, self.labels[:TRAINED])
        tag = comparators.training_tag(sps, HALF_WINDOW)
        source = blocks.vector_source_c(self.samples.astype(np.complex64), True, 1, [tag])
        return self._rate(source, equalizer, gr.sizeof_gr_complex, symbols)


def _streams(quick):
    labelled, symbols = (2**13, 2**13) if quick else (2**16, 2**17)
    for name, link in RADIO.items():
        alphabet = core.constellation(link.constellation)
        labels = [random_labels(count, [8, seed], alphabet.bits_per_symbol)
                  for seed, count in enumerate((labelled, symbols))]
        still, moving = link.receive(labels[0], [8, 0]), replace(link, turns=MOVES).receive(labels[1], [8, 1])
        model = compared.train_model(normalized(still), labels[0], link.constellation, 2)
        yield name, Stream(model, normalized(moving), labels[1])
    model = compared.train_model(*received(labelled, "none", 1), "pam4", 4)
    yield "PAM4", Stream(model, *received(symbols, "reference", 2))


def measure(rounds, quick):
    """{constellation: {equalizer: Msymbols/s of processor time, and how many times LMS's rate that is}}."""
    symbols = 2**13 if quick else 2**18
    found = {}
    for name, stream in _streams(quick):
        contenders = {kind: lambda kind=kind, stream=stream: stream.gnuradio(kind, symbols)
                      for kind in (comparators.LINEAR, comparators.CMA, comparators.FEEDBACK)}
        contenders |= {row: lambda settings=settings, stream=stream: stream.ours(settings, symbols)
                       for row, settings in OURS.items()}
        measured = interleave(contenders, rounds)
        found[name] = {row: dict(msymbols_per_second=measured.median(row) / 1e6,
                                 vs_lms=measured.ratio(row, comparators.LINEAR)) for row in contenders}
    return found
