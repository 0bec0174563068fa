# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions that the expected waveform refines: all of them come, and fewer are wrong."""

import threading
from pathlib import Path

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments import bursts
from gnuradio.adann.links.simulation import simulate_vcsel
from gnuradio.adann.offline.training import feature_view

MODEL = Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"
SYMBOLS = 2**16


@pytest.fixture(scope="module")
def signal():
    sent = np.random.default_rng(3).integers(0, 4, SYMBOLS).astype(np.uint8)
    return normalized(simulate_vcsel(sent, "reference", seed=5)), sent


def model(refined_rate):
    """refined_rate: symbol errors of refined labels on the model's own signal, over the network's."""
    loaded = core.load_model(str(MODEL))
    loaded.refined_symbol_error_rate = refined_rate * loaded.symbol_error_rate
    return loaded


def decide(of, samples, **settings):
    top = gr.top_block()
    equalizer = adann.equalizer(of, mode="lockstep", **settings)
    sink = blocks.vector_sink_b()
    top.connect(blocks.vector_source_f(samples.tolist()), equalizer, sink)
    top.run()
    return np.array(sink.data(), np.uint8)


def test_as_many_labels_come_and_fewer_are_wrong(signal):
    samples, sent = signal
    refined, network = (decide(model(0.5), samples, decisions=kind) for kind in ("refined", "network"))
    assert refined.size == network.size > SYMBOLS - 16
    # Behind the start of adaptation; the counts' deviation is that of Poisson's law.
    wrong = [np.count_nonzero(labels[2**14:] != sent[2**14:labels.size]) for labels in (refined, network)]
    assert wrong[0] + 3 * wrong[0] ** 0.5 < wrong[1]


def test_labels_that_are_worse_than_the_networks_teach_nothing(signal):
    features = feature_view(signal[0], 4, model(1).half_window)

    def learnt(rate, pseudo_label):
        batch = 512
        learner = core.learner(model(rate), pseudo_label=pseudo_label, batch=batch)
        for first in range(0, 2**13, batch):
            learner.step(features[first:first + batch])
        return list(learner.guard_estimates)  # of what adapts, too

    own = learnt(3, "confidence_weighted")
    assert learnt(3, "refined") == own
    assert learnt(0.5, "refined") != own


def outputs(samples, items=8192, tags=(), runs=1, **settings):
    """Labels, posteriors (n, 4) and soft symbols of a flowgraph, and the offsets of the labels' tags."""
    top = gr.top_block()
    source = blocks.vector_source_f(samples.tolist(), False, 1, list(tags))
    equalizer = adann.equalizer(model(0.5), **{"decisions": "refined", **settings})
    sinks = blocks.vector_sink_b(), blocks.vector_sink_f(4), blocks.vector_sink_f()
    top.connect(source, equalizer)
    for output, sink in enumerate(sinks):
        top.connect((equalizer, output), sink)
    for _ in range(runs):
        source.rewind()
        top.run(items)
    labels, posteriors, soft = (np.array(sink.data()) for sink in sinks)
    return labels.astype(np.uint8), posteriors.reshape(-1, 4), soft, [tag.offset for tag in sinks[0].tags()]


@pytest.mark.parametrize("mode", ["lockstep", "live"])
def test_they_fit_posteriors_soft_symbols_and_tags(signal, mode):
    samples, _ = signal
    tags = [gr.python_to_tag((4 * symbol, pmt.intern("mark"), pmt.PMT_NIL)) for symbol in (0, 1000, 8000)]
    labels, posteriors, soft, offsets = outputs(samples[:4 * 2**14], tags=tags, mode=mode)
    assert labels.size == len(posteriors)
    assert 0 <= labels.size - soft.size < 32
    assert offsets == [0, 1000, 8000]
    points = np.real(core.constellation("pam4").points)
    points = points * 2 / np.diff(np.sort(points)).min()  # as soft symbols are scaled
    shown = abs(soft[:, None] - points).argmin(axis=1)
    np.testing.assert_array_equal(posteriors.argmax(axis=1), labels)
    same = [np.mean(labels[64:12000] == shown[64 + late:12000 + late]) for late in (-1, 0, 1)]
    assert same[1] > 0.95 and max(same[0], same[2]) < 0.5


def test_the_result_is_the_same_however_the_scheduler_cuts_it(signal):
    samples = signal[0][:4 * 2**14]
    whole, parts = (outputs(samples, items, mode="lockstep")[:2] for items in (8192, 300))
    for one, other in zip(whole, parts):
        np.testing.assert_array_equal(one, other)


def test_their_posteriors_tell_more_than_the_networks():
    """No drift: the network is as good as it gets. BER 5e-4, GMI 1.99 bit; refined 1e-4."""
    sent = np.random.default_rng(4).integers(0, 4, SYMBOLS).astype(np.uint8)
    samples = normalized(simulate_vcsel(sent, seed=6))
    soft, told = core.soft_bits(4), {}
    for kind in ("refined", "network"):
        labels, posteriors, *_ = outputs(samples, mode="lockstep", decisions=kind)
        np.testing.assert_array_equal(decide(model(0.5), samples, decisions=kind), labels)
        np.testing.assert_array_equal(posteriors.argmax(axis=1), labels)
        here = slice(2**14, min(labels.size, sent.size))
        told[kind] = soft.gmi(soft.process(posteriors[here]), sent[here])
    # Of what is missing to 2 bits, the deviation of some hundred errors' part is a tenth.
    assert 2 - told["refined"] < 0.7 * (2 - told["network"])


@pytest.mark.parametrize("symbols", [20, 40, 100])
def test_short_streams_come_whole_each_time(signal, symbols):
    samples = signal[0][:4 * symbols]
    once, twice = (outputs(samples, runs=runs, mode="lockstep") for runs in (1, 2))
    assert once[0].size == len(once[1]) > 0
    assert twice[0].size == len(twice[1]) == 2 * once[0].size


class held_back(gr.sync_block):
    """Passes `first` items, and the rest once it is told to."""

    def __init__(self, first):
        gr.sync_block.__init__(self, "held back", [np.complex64], [np.complex64])
        self.first, self.released, self.in_time = first, threading.Event(), None

    def work(self, input_items, output_items):
        left = self.first - self.nitems_written(0)
        if left <= 0 and self.in_time is None:
            self.in_time = self.released.wait(600)
        n = len(input_items[0]) if left <= 0 else min(left, len(input_items[0]))
        output_items[0][:n] = input_items[0][:n]
        return n


class until_there(gr.sync_block):
    """Takes labels, and tells once there are so many."""

    def __init__(self, wanted, tell):
        gr.sync_block.__init__(self, "until there", [np.uint8], None)
        self.wanted, self.tell, self.labels = wanted, tell, b""

    def work(self, input_items, output_items):
        self.labels += input_items[0].tobytes()
        if len(self.labels) >= self.wanted:
            self.tell()
        return len(input_items[0])


@pytest.mark.parametrize("after_burst", ["freeze", "keep"])
@pytest.mark.parametrize("early", [0, 1])
def test_a_bursts_last_labels_do_not_wait_for_the_next_burst(after_burst, early):
    """What is behind a burst is as much as its last symbols' windows need, and one symbol."""
    received = bursts.receive(bursts.STILL, 12, 3)
    of = bursts.network_for(bursts.STILL)
    of.symbol_error_rate, of.refined_symbol_error_rate = 1e-3, 1e-4
    tags = received.tags("training_start") + received.tags("burst_end", received.sent.shape[1])
    end = received.packets.gap + received.sent.shape[1]  # symbols
    for tag in tags:
        tag.offset -= early  # between two symbols: the later one
    source = blocks.vector_source_c(received.samples, False, 1, sorted(tags, key=lambda tag: tag.offset))
    gate = held_back(of.sps * (end + of.half_window + 6 + 1))
    sink = until_there(end, gate.released.set)
    top = gr.top_block()
    top.connect(source, gate, adann.equalizer(
        of, mode="lockstep", batch=256, training_sequence=received.packets.preamble, decisions="refined",
        training_start_tag="training_start", burst_end_tag="burst_end", after_burst=after_burst), sink)
    top.run()
    assert gate.in_time
    labels = np.frombuffer(sink.labels, np.uint8)
    assert received.wrong(received.of_packets(labels)) <= 1 / 12
    assert labels.size == received.samples.size // of.sps - of.half_window - 6


@pytest.mark.parametrize("network, more, refines", [
    (1.5e-3, 7.5e-4, False), (1.5e-3, 1.1e-4, False), (1.5e-3, 0.9e-4, True), (4e-5, 3e-5, True), (4e-5, 5e-5, False)])
def test_they_are_the_networks_where_refining_had_clearly_more_errors(signal, network, more, refines):
    """By more than 1e-4 of the symbols, or twice as many: a record with few errors has one more by chance."""
    samples = signal[0][:4 * 2**14]

    def decided(refined, kind="refined"):
        of = model(1)
        of.symbol_error_rate, of.refined_symbol_error_rate = network, refined
        return decide(of, samples, decisions=kind)

    expected = decided(network / 2) if refines else decided(network, "network")
    np.testing.assert_array_equal(decided(network + more), expected)


def test_they_are_refined_where_nobody_counted(signal):
    samples = signal[0][:4 * 2**14]
    unknown, known = (decide(model(rate), samples) for rate in (np.nan, 0.5))
    np.testing.assert_array_equal(unknown, known)


def test_labels_of_a_record_are_refined(signal):
    samples, sent = signal
    of = model(1)
    features = feature_view(samples, of.sps, of.half_window)
    decided = of.network.decide(features)[0]
    refined, doubts = core.refine_labels(of, features, decided)
    wrong = [np.count_nonzero(labels[2048:] != sent[2048:labels.size]) for labels in (refined, decided)]
    assert wrong[0] < wrong[1] / 2
    np.testing.assert_array_equal(refined[:1536], decided[:1536])
    unknown = np.isnan(doubts)
    assert unknown[:1536].all() and np.mean(unknown[2048:]) < 0.1
    np.testing.assert_array_equal(refined[unknown], decided[unknown])
    assert doubts[~unknown].min() >= 0 and doubts[~unknown].max() < 1
    # Their sum is the expected count, up to the factor that `adann train` finds.
    found = np.count_nonzero(refined[:sent.size][~unknown] != sent[:refined.size][~unknown])
    assert np.nansum(doubts) / 3 < found < 3 * np.nansum(doubts)
    with pytest.raises(ValueError, match=r"labels\[[0-9]+\] is 4, allowed: 0 to 3"):
        core.refine_labels(of, features, np.full_like(decided, 4))


@pytest.mark.parametrize("cut", [3000, 4900, 6400])
def test_they_go_on_from_a_checkpoint_to_the_bit(signal, tmp_path, cut):
    """Their blocks of 16 symbols end where they would have; the first hundred labels or so have no past. In so much
    noise more than one label in a hundred is refined."""
    features = feature_view(signal[0] + 0.15 * np.random.default_rng(8).standard_normal(signal[0].size).astype(
        np.float32), 4, model(1).half_window)[:10_000]
    checkpoint = str(tmp_path / "checkpoint.safetensors")

    def decide_vectors(of, vectors, **settings):
        top, sink = gr.top_block(), blocks.vector_sink_b()
        block = adann.equalizer(of, input="vectors", mode="lockstep", batch=100, **settings)
        top.connect(blocks.vector_source_f(vectors.ravel().tolist(), False, vectors.shape[1]), block, sink)
        top.run()
        return np.array(sink.data(), np.uint8)

    whole = decide_vectors(model(0.5), features)
    assert np.mean(whole != decide_vectors(model(0.5), features, decisions="network")) > 0.01
    decide_vectors(model(0.5), features[:cut], checkpoint=checkpoint)
    rest = decide_vectors(checkpoint, features[cut:])
    np.testing.assert_array_equal(rest[150:], whole[cut + 150:])
