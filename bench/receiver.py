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
ROWS = {"default": {}, "the network's decisions": dict(decisions="network"),
        "no front filter": dict(decisions="network", front_filter=False),
        "no guard either": dict(decisions="network", front_filter=False, guard=False), "frozen": dict(mode="off")}


def received(symbols, drift, seed):
    """(samples, labels) of the simulated VCSEL link."""
    sent = random_labels(symbols, [0, seed], 2)
    return normalized(simulate_vcsel(sent, drift, seed)), sent


def rate(model, samples, settings, symbols):
    """Symbols per second of wall-clock time, from the first one on: in lockstep one thread works at a
    time."""
    top = gr.top_block("receiver")
    source = blocks.vector_source_f(samples, True)
    source.set_min_output_buffer(1 << 18)
    equalizer = adann.equalizer(model=model, **{"mode": "lockstep", **settings})
    top.connect(source, equalizer, blocks.head(1, symbols), blocks.null_sink(1))
    start = time.perf_counter()
    top.run()
    return symbols / (time.perf_counter() - start)


def measure(kernels, rounds, seconds, quick):
    """{row: Msymbols/s, and how many times torch's Aug-VAT step and the core's bare one that is}."""
    labelled, symbols = (2**14, 2**14) if quick else (2**16, 2**20)
    model = train(*received(labelled, "none", 1), "pam4", SPS, HALF_WINDOW,
                  TrainingSettings(optimizer="adam", batch=1024, epochs=20)).model
    samples, _ = received(2**17, "reference", 2)
    contenders = {name: lambda settings=settings: rate(model, samples, settings, symbols)
                  for name, settings in ROWS.items()}
    contenders["torch"] = torch_network.step(SHAPE, 8192, "aug_vat", seconds)
    contenders["step"] = kernels.step(kernels.isas[-1], "aug_vat", "projected", SHAPE, 256)
    measured = interleave(contenders, rounds)
    return {name: dict(msymbols_per_second=measured.median(name) / 1e6,
                       vs_torch_step=measured.ratio(name, "torch"),
                       vs_step=measured.ratio(name, "step"))
            for name in ROWS}
