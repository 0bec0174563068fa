# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures through a headless flowgraph of equalizers: what `adann equalize` runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr

from .. import core
from ..adann_python import equalizer
from ..blocks.flowgraphs import run_flowgraph
from ..blocks.status_monitor import status_listener
from ..captures.alignment import known_labels
from ..captures.files import Capture, check_rates
from ..captures.statistics import Normalized, portions
from .arrays import array_source, counting_sink, label_sink, part_sink
from .evaluate import Counter
from .scope import MEASURED, Measured, measure


@dataclass
class Received:
    """labels: decisions of each capture, uint8, UNKNOWN between its bursts, all of them if complete; else it was
    stopped, and the rest is missing, of captures not reached all. The counters are the equalizer's, at the end, and so
    are mer, the modulation error ratio in dB, None without a front filter, and estimated_ber: a dictionary of ber, low,
    high, trustworthy and untrusted, or None if it is not known. known_position: where frames of known_symbols start,
    None if that is not found. events: all status messages as dictionaries, or None if they were
    not wanted."""

    labels: list
    complete: bool
    steps: int
    dropped: int
    rejected: int
    rollbacks: int
    mer: float | None
    estimated_ber: dict | None
    soft: list
    known_position: int | None
    events: list | None


def prepare_capture(capture: Capture, model: core.model) -> Capture:
    """Normalise a whole record, or each of its bursts, and cut it to whole symbols, for equalize_captures.

    capture: files.Capture at the model's sps; model: core.model. Returns another Capture, whose samples are
    statistics.Normalized and are read as they are equalized. Raises ValueError if the samples do not fit.
    """
    kinds = {False: "real", True: "complex"}
    if np.iscomplexobj(capture.samples) != model.complex:
        raise ValueError(f"{kinds[not model.complex]} samples, the model is for "
                         f"{kinds[model.complex]} ones")
    check_rates(capture, model.sps)
    window, size = model.sps * (2 * model.half_window + 1), capture.samples.size
    if size < window:
        raise ValueError(f"{size} samples are fewer than the model's window of {window}")
    bursts = [(burst.first, burst.end) for burst in capture.bursts] or None
    return replace(capture, samples=Normalized(capture.samples, bursts).cut(size // model.sps * model.sps))


def spans(capture: Capture, sps: int) -> list[tuple[int, int]]:
    """[(first, end)] of a capture's symbols: all of them, or those that lie wholly within its bursts."""
    if not capture.bursts:
        return [(0, capture.samples.size // sps)]
    return [(-(-burst.first // sps), burst.end // sps) for burst in capture.bursts
            if burst.first < burst.end // sps * sps]


def measured_span(capture: Capture, sps: int) -> tuple[int, int]:
    """(first, end) of the symbols whose waveform is measured: the last of a capture, or of its longest burst."""
    first, end = max(spans(capture, sps), key=lambda span: span[1] - span[0])
    return max(first, end - MEASURED), end


def measure_capture(capture: Capture, soft: np.ndarray, decided: np.ndarray,
                    sent: Callable[[slice], np.ndarray | None], constellation: core.constellation,
                    sps: int) -> Measured:
    """Scope figures of its measured_span.

    capture: as prepared; soft: of the span, as many as there are (of the last labels there are none); decided: labels
    of the whole capture; sent: those of a part of it, see scope.measure. A capture that was stopped before the span has
    no figures.
    """
    first, end = measured_span(capture, sps)
    end = min(first + len(soft), len(decided))
    if end <= first:
        return Measured(left_out={"all": "it was stopped before the symbols that are measured"})
    samples = capture.samples[first * sps:end * sps]
    if constellation.is_offset:  # Q as if it came with I
        samples = samples.real + np.complex64(1j) * np.roll(samples.imag, -(sps // 2))
    return measure(samples, soft[:end - first], decided[first:end],
                   sent(slice(first, end)), constellation, sps)


def equalize_captures(model: core.model | str | Path, captures: Sequence[Capture],
                      receivers: Mapping[str, dict], progress: Callable | None = None,
                      on_status: Callable[[dict], None] | None = None, events: bool = False,
                      stop: Callable[[], bool] | None = None,
                      files: Mapping[str, Path] | None = None,
                      counted: Mapping[str, Counter] | None = None,
                       soft: Collection[str] = (),
                       known: Sequence[np.ndarray] | None = None) -> tuple[dict[str, Received], float]:
    """Run captures, one after the other, through equalizers that work side by side.

    model: core.model, or the path of a model file. captures: what prepare_capture made of each;
    losses with known labels need their references, or known. receivers: {name: settings of adann.equalizer,
    e.g. dict(mode="off")}.
    progress: called as progress(labels) with {name: those decided so far}, every 0.1 s.
    on_status: called in another thread with status dictionaries of the equalizers, see
    status_listener.
    events: whether Received.events is wanted. stop: asked every 0.1 s; True ends it early. files: where labels are
    written as they are decided, {name: path}; those not named stay in memory.
    counted: what counts labels and posteriors of receivers as they come, {name: RunningErrors, or another Counter}.
    soft: names of receivers whose soft symbols are kept, of what is measured.
    known: labels of each capture, as its reference, UNKNOWN where one is not known: every loss learns from them.
    Returns ({name: Received}, seconds). Raises ValueError for settings that are out of range.
    """
    given, model = model, model if isinstance(model, core.model) else core.load_model(str(model))
    symbols = [capture.samples.size // model.sps for capture in captures]
    starts = np.cumsum([0, *symbols])
    layout = [(int(start) + first, int(start) + end) for start, capture in zip(starts, captures)
              for first, end in spans(capture, model.sps)]
    top = gr.top_block("adann equalize")
    told = None
    listener = status_listener(on_status) if on_status else None
    sinks, equalizers, stores, counters, parts = {}, {}, {}, [], {}
    for name, settings in receivers.items():
        equalizers[name] = equalizer(model=given, **settings)
    # The last symbols come out when the rest of their windows has come in.
    past = max(block.history() for block in equalizers.values())
    source = array_source(_samples(captures, model.sps, past + model.sps), captures[0].samples.dtype)
    for name, settings in receivers.items():
        sinks[name] = label_sink(layout, int(starts[-1]), (files or {}).get(name))
        top.connect(source, equalizers[name], sinks[name])
        if counter := (counted or {}).get(name):
            rates = counting_sink(counter, model.constellation.size)
            top.connect(equalizers[name], (rates, 0))
            top.connect((equalizers[name], 1), (rates, 1))
            counters.append(rates)  # GNU Radio keeps no Python block
        if name in soft:
            kind = np.complex64 if model.complex else np.float32
            parts[name] = part_sink(_measured_items(captures, model.sps), kind)
            if not counter:
                top.connect((equalizers[name], 1), blocks.null_sink(4 * model.constellation.size))
            top.connect((equalizers[name], 2), parts[name])
        if listener:
            top.msg_connect(equalizers[name], "status", listener, "status")
        if events:
            stores[name] = blocks.message_debug()
            top.msg_connect((equalizers[name], "status"), (stores[name], "store"))
        loss = settings.get("loss")
        supervised = loss and core.losses[loss].supervised and not settings.get("known_symbols")
        if (supervised or known is not None) and settings.get("mode") != "off":
            told = told or _known_labels(captures, known, model)
            top.connect(told, (equalizers[name], 1))
    seconds = _run(top, sinks, progress, stop)

    return {name: Received(np.split(sinks[name].items, starts[1:-1]), sinks[name].full, block.steps(),
                           block.dropped(), block.rejected(), block.rollbacks(), _known(block.modulation_error_ratio()),
                           _estimate(block.estimated_ber()), parts[name].parts if name in soft else [],
                           _position(block.known_position()),
                           _messages(stores.get(name)))
            for name, block in equalizers.items()}, seconds


def _measured_items(captures: Sequence[Capture], sps: int) -> list[tuple[int, int]]:
    """[(first, end)] of each measured_span among the symbols that are equalized, without the pauses."""
    items, passed = [], 0
    for capture in captures:
        first, end = measured_span(capture, sps)
        for begin, until in spans(capture, sps):
            if begin <= first and end <= until:
                items.append((passed + first - begin, passed + end - begin))
            passed += until - begin
    return items


def _samples(captures: Sequence[Capture], sps: int, past: int) -> Iterator[np.ndarray]:
    """What is equalized, one after the other, and `past` zeros."""
    for capture in captures:
        for first, end in spans(capture, sps):
            yield from portions(capture.samples, first * sps, end * sps)
    yield np.zeros(past, captures[0].samples.dtype)


def _known(figure):
    return None if math.isnan(figure) else figure


def _estimate(estimate):
    if math.isnan(estimate.ber):
        return None
    return {name: getattr(estimate, name) for name in ("ber", "low", "high", "trustworthy", "untrusted")}


def _position(symbol):
    return None if symbol < 0 else symbol


def _run(top, sinks, progress, stop):
    """Run to the end, or until stop(), and report progress. Returns the seconds that it took."""
    stopped = False

    def meanwhile():
        nonlocal stopped
        if progress:
            progress({name: sink.items for name, sink in sinks.items()})
        stopped = bool(stop and stop())
        return stopped

    start = time.perf_counter()
    run_flowgraph(top, meanwhile)
    if progress:
        progress({name: sink.items for name, sink in sinks.items()})
    for sink in sinks.values():
        sink.close()
        if not (sink.full or stopped):
            raise RuntimeError(f"the equalizer stopped too early, after {sink.items.size} symbols; GNU "
                               "Radio's log says why")
    return time.perf_counter() - start


def _messages(store):
    return store and [pmt.to_python(store.get_message(i)) for i in range(store.num_messages())]


def _known_labels(captures, known, model):
    """A source of the label of each symbol that is equalized, UNKNOWN where it is not known."""
    aligned = []
    for capture, labels in zip(captures, known or [capture.reference for capture in captures]):
        if labels is None:
            raise ValueError("loss supervised needs a reference, or known labels, for each capture")
        aligned.append(known_labels(capture.samples, labels, model.constellation.centred, model.sps))

    def told():
        for labels, capture in zip(aligned, captures):
            for first, end in spans(capture, model.sps):
                yield from portions(labels, first, end)
        yield np.zeros(model.half_window + 1, np.uint8)

    return array_source(told(), np.uint8)
