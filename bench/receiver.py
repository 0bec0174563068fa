# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user gets: the equalizer with its default settings, in lockstep, on a link that has drifted."""

import time

import torch_network
from gnuradio import adann, blocks, gr
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.training import TrainingSettings, train
from measuring import SHAPES, interleave

SPS, HALF_WINDOW = 4, 5
SHAPE = SHAPES["d44_m4"]
# Which parts run; each row leaves out one more.
ROWS = {"default": {}, "no front filter": dict(front_filter=False),
        "no guard either": dict(front_filter=False, guard=False), "frozen": dict(mode="off")}


def received(symbols, drift, seed):
    """(samples, labels) of the simulated VCSEL link."""
    sent = random_labels(symbols, [0, seed], 2)
    return normalized(simulate_vcsel(sent, drift, seed)), sent


class Receiver(gr.top_block):
    """Samples from memory, without end, through an equalizer."""

    def __init__(self, model, samples, settings):
        super().__init__("receiver")
        self.source = blocks.vector_source_f(samples, True)
        self.source.set_min_output_buffer(1 << 18)
        self.equalizer = adann.equalizer(model=model, **{"mode": "lockstep", **settings})
        self.connect(self.source, self.equalizer, blocks.null_sink(1))

    def rate(self, seconds):
        """Symbols per second of wall-clock time: in lockstep one thread works at a time."""
        self.start()
        try:
            time.sleep(seconds / 2)  # it learns the link first
            start, before = time.perf_counter(), self.equalizer.nitems_written(0)
            time.sleep(seconds)
            after, end = self.equalizer.nitems_written(0), time.perf_counter()
        finally:
            self.stop()
            self.wait()
        return (after - before) / (end - start)


def measure(kernels, rounds, seconds, quick):
    """{row: Msymbols/s, and how many times torch's Aug-VAT step and the core's bare one that is}."""
    labelled, epochs = (2**13, 2) if quick else (2**16, 20)
    model = train(*received(labelled, "none", 1), "pam4", SPS, HALF_WINDOW,
                  TrainingSettings(optimizer="adam", batch=1024, epochs=epochs)).model
    samples, _ = received(2**17, "reference", 2)
    contenders = {name: lambda settings=settings: Receiver(model, samples, settings).rate(seconds)
                  for name, settings in ROWS.items()}
    contenders["torch"] = torch_network.step(SHAPE, 8192, "aug_vat", seconds)
    contenders["step"] = kernels.step(kernels.isas[-1], "aug_vat", "projected", SHAPE, 512)
    measured = interleave(contenders, rounds)
    return {name: dict(msymbols_per_second=measured.median(name) / 1e6,
                       vs_torch_step=measured.ratio(name, "torch"),
                       vs_step=measured.ratio(name, "step"))
            for name in ROWS}
