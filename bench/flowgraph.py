# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizer among GNU Radio's blocks: its rate, and whether live adaptation keeps up."""

import tempfile
import time
from pathlib import Path

import numpy as np
from gnuradio import adann, blocks, gr

SYMBOL_RATE = 4e6  # of the throttled run
SPS, HALF_WINDOW = 4, 5
BATCH = 8192
LARGE_BUFFER = 1 << 18  # floats


def model_file(folder):
    """D = 44, M = 4 with random weights: what it decides is of no matter here."""
    network = adann.core.network([44, 10, 10, 10, 10, 4])
    network.initialize(1)
    path = str(Path(folder, "bench.safetensors"))
    adann.core.save_model(path, adann.core.model(network, SPS, HALF_WINDOW, False, "pam4"))
    return path


def samples(count=1 << 18):
    return np.random.default_rng(2).standard_normal(count).astype(np.float32)


class Flowgraph(gr.top_block):
    """`chain` before an equalizer, a null sink after it."""

    def __init__(self, model, mode, *chain):
        super().__init__("bench")
        self.equalizer = adann.equalizer(model=model, mode=mode, batch=BATCH)
        self.chain = chain  # GNU Radio wants a reference to be kept
        self.connect(*chain, self.equalizer, blocks.null_sink(1))

    def rate(self, seconds):
        """Symbols per second of wall-clock time."""
        self.start()
        try:
            time.sleep(seconds / 4)
            start, before = time.perf_counter(), self.equalizer.nitems_written(0)
            time.sleep(seconds)
            after, end = self.equalizer.nitems_written(0), time.perf_counter()
        finally:
            self.stop()
            self.wait()
        return (after - before) / (end - start)


def memory(large_buffer=False):
    """Repeats without end. GNU Radio's buffers hold 16384 floats if nobody asks for more."""
    source = blocks.vector_source_f(samples(), True)
    if large_buffer:
        source.set_min_output_buffer(LARGE_BUFFER)
    return source


def contenders(folder, seconds):
    """{name: measure}: a memory source right in front of the equalizer, and a file that is
    resampled from 7 to 4 samples per symbol and repeats without end."""
    model = model_file(folder)
    file = str(Path(folder, "samples.f32"))
    samples().tofile(file)

    def resampled():
        return blocks.file_source(gr.sizeof_float, file, True), adann.resampler(7, 1, SPS)

    chains = {"memory": lambda: [memory()], "memory, large buffer": lambda: [memory(True)],
              "file and resampler": resampled}
    return {f"{name}, {mode}": lambda mode=mode, chain=chain: Flowgraph(
        model, mode, *chain()).rate(seconds)
        for name, chain in chains.items() for mode in ("off", "live")}


def throttled(seconds):
    """A live equalizer after a source of SYMBOL_RATE: (symbols/s, steps, batches dropped)."""
    with tempfile.TemporaryDirectory() as folder:
        graph = Flowgraph(model_file(folder), "live", memory(),
                          blocks.throttle(gr.sizeof_float, SYMBOL_RATE * SPS))
        rate = graph.rate(seconds)
        return rate, graph.equalizer.steps(), graph.equalizer.dropped()
