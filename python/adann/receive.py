# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures through a headless flowgraph of equalizers: what `adann equalize` runs."""

import threading
import time
from dataclasses import dataclass

import numpy as np
from gnuradio import gr

from . import core
from .adann_python import equalizer
from .alignment import find_delay
from .captures import normalized


@dataclass
class Received:
    """labels: decisions of each capture, uint8; the counters are the equalizer's."""

    labels: list
    steps: int
    dropped: int
    rejected: int


def equalize_captures(model, captures, receivers, references=None, progress=None):
    """Run captures, one after the other, through equalizers that work side by side.

    model: path of the model file. captures: arrays of samples (n,) of the model's kind and sps;
    each is normalised as a whole record, and samples after its last whole symbol are left out.
    receivers: {name: settings of adann.equalizer, e.g. dict(mode="off")}. references: labels of
    each capture, needed by the loss "supervised". progress: called as progress(symbols) of those
    decided so far, every 0.1 s. Returns ({name: Received}, seconds).
    Raises ValueError for what does not fit together.
    """
    trained = core.load_model(str(model))
    window = trained.sps * (2 * trained.half_window + 1)
    kinds = {False: "real", True: "complex"}
    for number, samples in enumerate(captures):
        if np.iscomplexobj(samples) != trained.complex:
            raise ValueError(f"capture {number} has {kinds[not trained.complex]} samples, the model "
                             f"is for {kinds[trained.complex]} ones")
        if samples.size < window:
            raise ValueError(f"capture {number} has {samples.size} samples, fewer than the model's "
                             f"window of {window}")
    symbols = [samples.size // trained.sps for samples in captures]

    top = gr.top_block("adann equalize")
    source = _sample_source(captures, symbols, trained)
    known = None
    sinks, blocks = {}, {}
    for name, settings in receivers.items():
        blocks[name] = equalizer(model=str(model), **settings)
        sinks[name] = _label_sink(sum(symbols))
        top.connect(source, blocks[name], sinks[name])
        if settings.get("loss") == "supervised" and settings.get("mode") != "off":
            known = known or _known_labels(captures, symbols, references, trained)
            top.connect(known, (blocks[name], 1))
    seconds = _run(top, sinks.values(), progress)

    ends = np.cumsum(symbols)[:-1]
    return {name: Received(np.split(sinks[name].labels, ends), block.steps(), block.dropped(),
                           block.rejected()) for name, block in blocks.items()}, seconds


def count_errors(decided, sent, constellation, block):
    """Errors of each block of decided labels: (compared symbols, symbol errors, bit errors).

    decided, sent: uint8 labels; constellation: its name. Returns a list, or None if no delay,
    inversion or rotation aligns the two.
    """
    counter = core.error_counter(constellation, batch=block)
    counter.push(decided, sent)
    counter.finish()
    counts = [result.counts for result in counter.batches()]
    return [(c.symbols, c.symbol_errors, c.bit_errors) for c in counts] or None


def _run(top, sinks, progress):
    """Run to the end in another thread, so that this one can tell progress and be interrupted."""
    start = time.perf_counter()
    top.start()
    waiter = threading.Thread(target=top.wait)
    waiter.start()
    try:
        while waiter.is_alive():
            waiter.join(0.1)
            if progress:
                progress(min(sink.filled for sink in sinks))
    finally:
        top.stop()
        waiter.join()
    for sink in sinks:
        if sink.filled < sink.labels.size:
            raise RuntimeError(f"the equalizer stopped after {sink.filled} of {sink.labels.size} "
                               "symbols; GNU Radio's log says why")
    return time.perf_counter() - start


class _array_source(gr.sync_block):
    """The arrays one after the other."""

    def __init__(self, arrays, dtype):
        gr.sync_block.__init__(self, "array source", None, [dtype])
        self.arrays = [array for array in arrays if array.size]
        self.position = 0

    def work(self, _, outputs):
        if not self.arrays:
            return gr.WORK_DONE
        part = self.arrays[0][self.position:self.position + len(outputs[0])]
        outputs[0][:part.size] = part
        self.position += part.size
        if self.position == self.arrays[0].size:
            del self.arrays[0]
            self.position = 0
        return part.size


class _label_sink(gr.sync_block):
    """The first `count` labels; what follows belongs to the zeros that pushed them out."""

    def __init__(self, count):
        gr.sync_block.__init__(self, "label sink", [np.uint8], None)
        self.labels = np.empty(count, np.uint8)
        self.filled = 0

    def work(self, inputs, _):
        part = inputs[0][:self.labels.size - self.filled]
        self.labels[self.filled:self.filled + part.size] = part
        self.filled += part.size
        return len(inputs[0])


def _sample_source(captures, symbols, trained):
    dtype = np.complex64 if trained.complex else np.float32
    # The last symbols come out when the rest of their windows has come in.
    flush = np.zeros(trained.sps * (trained.half_window + 1), dtype)
    return _array_source([normalized(samples)[:count * trained.sps]
                          for samples, count in zip(captures, symbols)] + [flush], dtype)


def _known_labels(captures, symbols, references, trained):
    if references is None:
        raise ValueError("loss supervised needs a reference for each capture")
    known = []
    for number, (samples, count, labels) in enumerate(zip(captures, symbols, references)):
        delay = find_delay(normalized(samples), labels, trained.constellation.points, trained.sps)
        if delay > 0 or labels.size + delay < count:
            raise ValueError(f"loss supervised needs a label for each symbol; reference {number} has "
                             f"those of symbols {max(0, delay)} to {labels.size + delay - 1} only, "
                             f"its capture has {count}")
        known.append(labels[-delay:][:count])
    flush = np.zeros(trained.half_window + 1, np.uint8)
    return _array_source(known + [flush], np.uint8)
