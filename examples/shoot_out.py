#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""AdaNN, MLSE and GNU Radio's own equalizers on one stream of a simulated link that drifts."""

import sys
from pathlib import Path

import click
import numpy as np
from gnuradio import adann, blocks, digital, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments.comparators import (
    CMA,
    FEEDBACK,
    LINEAR,
    gnuradio_constellation,
    gnuradio_equalizer,
    training_tag,
    unit_points,
)
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.evaluate import count_aligned
from rich.console import Console
from rich.table import Column, Table

MODEL = core.load_model(str(Path(__file__).resolve().parent / "models/vcsel_pam4.safetensors"))
SETS = {"set1": "none", "set2": "reference"}  # and their drifts, see simulation.VCSEL_DRIFTS
TRAINING = 8192  # known labels from the start of set1; no errors are counted there
START = 2**16  # symbols of set2 in which the filters that move soonest have followed
FLUSH = 512  # symbols of silence that push out the last decisions
BLOCK = 8192  # symbols of one call of the counter

# The best of a coarse search on set2.
LMS_STEP, CMA_STEP = 2e-4, 1e-4
MEMORY = 5  # symbols of the MLSE: 256 states


def add_networks(top, source):
    """The frozen network and the one that learns: the same model, and no label of this stream."""
    settings = {"frozen network": {"mode": "off"},
                "AdaNN": {"mode": "lockstep"}}
    sinks = {}
    for name, chosen in settings.items():
        sinks[name, "no label"] = sink = blocks.vector_sink_b()
        top.connect(source, adann.equalizer(model=MODEL, **chosen), sink)
    return sinks


def add_mlses(top, source, samples, labels):
    """Knows every label and is updated as often as AdaNN, as in the paper, which does not say how many
    samples a symbol its MLSE had. The response starts with least squares in the training part."""
    known = blocks.vector_source_b(labels)
    sinks = {}
    for sps in (MODEL.sps, 1):
        every = MODEL.sps // sps
        rows = np.concatenate([np.zeros(sps // 2, np.float32), samples[::every]])
        response = core.least_squares_response(rows[:sps * TRAINING].reshape(-1, sps),
                                               labels[:TRAINING], "pam4", MEMORY)
        block = adann.mlse("pam4", sps, MEMORY, response=response, adaptation="supervised",
                           update_interval=core.equalizer_settings()["batch"].default)
        sinks[f"MLSE at {sps} sps", "all labels"] = sink = blocks.vector_sink_b()
        # keep_one_in_n keeps the last one; delayed, that is the symbol's middle.
        top.connect(source, blocks.delay(gr.sizeof_float, every - 1),
                    blocks.keep_one_in_n(gr.sizeof_float, every), block, sink)
        top.connect(known, (block, 1))
    return sinks


def add_gnuradio(top, source, labels):
    """GNU Radio's equalizers: LMS learns from the training part, then from its own decisions; CMA
    learns from the modulus alone."""
    points = unit_points(MODEL.constellation)
    window, training = (points, MODEL.sps, MODEL.half_window), labels[:TRAINING]
    equalizers = {
        (CMA, "no label"): gnuradio_equalizer(CMA, *window, CMA_STEP),
        (LINEAR, f"{TRAINING} labels"): gnuradio_equalizer(LINEAR, *window, LMS_STEP, training),
        (FEEDBACK, f"{TRAINING} labels"): gnuradio_equalizer(FEEDBACK, *window, LMS_STEP, training)}
    to_complex = blocks.float_to_complex()
    top.connect(source, to_complex)
    sinks = {}
    for name, equalizer in equalizers.items():
        sinks[name] = blocks.vector_sink_b()
        decide = digital.constellation_decoder_cb(gnuradio_constellation(points).base())
        top.connect(to_complex, equalizer, decide,
                    blocks.skiphead(gr.sizeof_char, MODEL.half_window), sinks[name])
    return sinks


def error_rate(decided, sent):
    """BER and its exact 95 % interval as text; where they agree by chance only: unlocked."""
    errors = count_aligned(decided, sent, MODEL.constellation, BLOCK)
    if errors is None:
        return "–", "unlocked"
    rate = errors.rate()
    return f"{rate['ber']:.2e}", "{:.2e} to {:.2e}".format(*rate["ci95"])


@click.command()
@click.option("--symbols", default=2**20, show_default=True, type=click.IntRange(8 * BLOCK),
              help="Symbols in each of the two sets.")
def shoot_out(symbols):
    """Equalize one 56 Gb/s PAM4 stream in seven ways, before and after its fibre was moved.

    One flowgraph; each equalizer runs through set1 and then set2 without knowing where that
    begins. "start" is the first 65536 symbols of set2, "later" its second half, when all of
    them had time to follow.
    """
    labels = [random_labels(symbols, [1, number]) for number in (1, 2)]  # as in demo.py
    received = [normalized(simulate_vcsel(sent, drift, seed=3 + number))
                for number, (sent, drift) in enumerate(zip(labels, SETS.values()))]
    samples = np.concatenate([*received, np.zeros(MODEL.sps * FLUSH, np.float32)])
    labels = np.concatenate([*labels, np.zeros(FLUSH, np.uint8)])

    top = gr.top_block("shoot-out")
    source = blocks.vector_source_f(samples, False, 1,
                                    [training_tag(MODEL.sps, MODEL.half_window)])
    sinks = {**add_networks(top, source), **add_mlses(top, source, samples, labels),
             **add_gnuradio(top, source, labels)}
    top.run()

    table = Table("part", "equalizer", "known", *(Column(name, justify="right", no_wrap=True)
                                                 for name in ("BER", "95 % interval")))
    parts = {"set1": (TRAINING, symbols), "set2": (symbols, 2 * symbols),
             "set2, start": (symbols, symbols + START),
             "set2, later": (symbols + symbols // 2, 2 * symbols)}
    for part, (first, last) in parts.items():
        for (name, known), sink in sinks.items():
            decided = np.array(sink.data()[first:last], np.uint8)
            table.add_row(part, name, known, *error_rate(decided, labels[first:last]))
        table.add_section()
    Console(highlight=False).print(table)


if __name__ == "__main__":
    try:
        shoot_out()
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"shoot_out: {error}")
