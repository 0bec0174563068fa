# SPDX-License-Identifier: GPL-3.0-or-later
"""Known symbols among those that the equalizer decides: at its second input, and as a pattern."""

import threading
from dataclasses import replace

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments.bursts import network_for
from gnuradio.adann.experiments.coded import LINKS
from gnuradio.adann.links.radio_link import RadioLink
from gnuradio.adann.links.simulation import random_labels

LINK = RadioLink("qpsk", echo=0.3, delay=2, snr=5)
SYMBOLS, UNKNOWN = 1 << 15, 255


@pytest.fixture(scope="module")
def model():
    return network_for(LINK)


@pytest.fixture(scope="module")
def received():
    """Labels, and samples that jump by a quarter turn at symbol SYMBOLS / 2."""
    labels = random_labels(SYMBOLS, 21, 2)
    samples = normalized(LINK.receive(labels, [21, 1]))
    return labels, np.r_[samples[:SYMBOLS], 1j * samples[SYMBOLS:]].astype(np.complex64)


def pilots(labels, count=16, period=64, wrong=0.0):
    known = np.where(np.arange(labels.size) % period < count, labels, UNKNOWN).astype(np.uint8)
    false = (np.random.default_rng(3).random(labels.size) < wrong) & (known != UNKNOWN)
    known[false] ^= 1
    return known


def run(block, samples, known=None):
    sink, top = blocks.vector_sink_b(), gr.top_block()
    top.connect(blocks.vector_source_c(samples), block, sink)
    if known is not None:
        top.connect(blocks.vector_source_b(known), (block, 1))
    top.run()
    return np.array(sink.data(), np.uint8)


def errors(found, labels, first, end):
    return np.mean(found[first:end] != labels[first:end])


@pytest.mark.parametrize("loss", ["aug_vat", "self_training"])
def test_nothing_known_is_the_same_to_the_bit_as_no_input(model, received, loss):
    labels, samples = received
    part = slice(SYMBOLS // 2, SYMBOLS * 3 // 2)  # with the jump
    found = [run(adann.equalizer(model, mode="lockstep", loss=loss), samples[part], known)
             for known in (None, np.full(SYMBOLS // 2, UNKNOWN, np.uint8))]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("loss", ["aug_vat", "supervised"])
@pytest.mark.parametrize("wrong", [0, 0.1])
def test_pilots_settle_the_rotation_after_a_jump(model, received, loss, wrong):
    """As many errors as without the jump, in the same noise: 1.01 times in the mean of 44 runs, with a deviation of
    0.02. (What is learnt from wrong labels alone makes a third more, jump or not.)"""
    labels, samples = received
    half = SYMBOLS // 2
    known = pilots(labels, wrong=wrong)
    still = np.r_[samples[:SYMBOLS], -1j * samples[SYMBOLS:]].astype(np.complex64)
    found = run(adann.equalizer(model, mode="lockstep", loss=loss), still, known)
    usual = errors(found, labels, half + 512, SYMBOLS - 16)
    assert usual < 0.15
    block = adann.equalizer(model, mode="lockstep", loss=loss)
    assert errors(run(block, samples, known), labels, half + 512, SYMBOLS - 16) < 1.15 * usual
    assert block.front_filter().slips == 1


@pytest.fixture(scope="module")
def noisy():
    """8PSK with one wrong bit in ten, whose decisions hide a phase; and a model of the link."""
    link = replace(LINKS["8PSK"], snr=6.5)
    return link, network_for(link)


@pytest.mark.parametrize("moves", [{"carrier": 1e-5}, {"linewidth": 1e-5}], ids=["carrier", "linewidth"])
def test_pilots_measure_the_carrier_where_decisions_hide_it(noisy, moves):
    """0.29 to 0.32 of the symbols are wrong, of seeds 22 to 24, as on a link that stands still; without pilots 0.35
    to 1. Of 16,384 symbols one deviation is 0.004."""
    link, model = noisy
    labels = random_labels(SYMBOLS, 22, 3)
    samples = normalized(replace(link, **moves).receive(labels, [22, 1])).astype(np.complex64)
    told = pilots(labels, count=8)
    false = told.copy()
    some = (np.random.default_rng(3).random(told.size) < 0.1) & (told != UNKNOWN)
    false[some] = (false[some] + 1) % 8
    middle = SYMBOLS // 4, SYMBOLS * 3 // 4
    wrong = [errors(run(adann.equalizer(model, mode="lockstep"), samples, known), labels, *middle)
             for known in (told, false, None)]
    assert max(wrong[:2]) < 0.335 < wrong[2]


def test_without_pilots_the_rotation_stays(model, received):
    labels, samples = received
    found = run(adann.equalizer(model, mode="lockstep"), samples)
    assert errors(found, labels, SYMBOLS // 2 + 512, found.size) > 0.7


def test_labels_come_out_as_decided(model, received):
    """Wrongly known ones do not replace decisions."""
    labels, samples = received
    known = pilots(labels)
    known[known != UNKNOWN] ^= 3 * (np.arange((known != UNKNOWN).sum()) % 20 == 0).astype(np.uint8)
    found = run(adann.equalizer(model, mode="lockstep"), samples[:SYMBOLS], known[:SYMBOLS // 2])
    told = known[:found.size]
    false = (told != UNKNOWN) & (told != labels[:found.size])
    assert np.mean(found[false] == told[false]) < 0.1


def test_a_pattern_is_found_and_does_what_the_input_does(model, received):
    labels, samples = received
    sent = labels.copy()
    pattern = random_labels(16, 5, 2)
    at = (np.arange(SYMBOLS) - 40) % 64
    sent[at < 16] = pattern[at[at < 16]]
    samples = normalized(LINK.receive(sent, [21, 1]))
    samples = np.r_[samples[:SYMBOLS], 1j * samples[SYMBOLS:]].astype(np.complex64)
    block = adann.equalizer(model, mode="lockstep", known_symbols=[(list(pattern), 64, 3)])
    store, sink, top = blocks.message_debug(), blocks.vector_sink_b(), gr.top_block()
    top.connect(blocks.vector_source_c(samples), block, sink)
    top.msg_connect(block, "status", store, "store")
    top.run()
    found = np.array(sink.data(), np.uint8)
    assert block.known_position() == 40 - 3
    status = [pmt.to_python(store.get_message(i)) for i in range(store.num_messages())]
    assert status[-1]["known_position"] == 40 - 3
    half = SYMBOLS // 2
    assert errors(found, sent, half + 512, found.size) < 1.3 * errors(found, sent, half // 2, half)


@pytest.mark.parametrize("known_symbols, message", [
    ([([0, 1, 2], 2, 0)], "known_symbols' number of labels is 3, allowed: 1 to 2"),
    ([([0, 4], 64, 0)], "known_symbols' label is 4, allowed: 0 to 3"),
    ([([0], 64, 64)], "known_symbols' offset is 64, allowed: 0 to 63"),
    ("word", "known_symbols is 'word', allowed"),
])
def test_a_pattern_that_does_not_fit_is_refused(model, known_symbols, message):
    with pytest.raises(ValueError, match=message):
        adann.equalizer(model, known_symbols=known_symbols)


def test_a_frozen_network_knows_nothing(model):
    with pytest.raises(ValueError, match="known_symbols is given, allowed: with a mode other than 'off'"):
        adann.equalizer(model, mode="off", known_symbols=[([0, 1], 64, 0)])


@pytest.mark.parametrize("period", [1000, 2048])
def test_supervised_passes_over_batches_without_a_pilot(model, received, period):
    """Pilots farther apart than a batch of 512 is long: no step, no error."""
    labels, samples = received
    known = pilots(labels[:SYMBOLS], period=period)
    block = adann.equalizer(model, mode="lockstep", loss="supervised", batch=512)
    store, top = blocks.message_debug(), gr.top_block()
    top.connect(blocks.vector_source_c(samples[:2 * SYMBOLS]), block, blocks.null_sink(1))
    top.connect(blocks.vector_source_b(known), (block, 1))
    top.msg_connect(block, "status", store, "store")
    top.run()
    batches = (known[:SYMBOLS - 512] != UNKNOWN).reshape(-1, 512)  # of the last one the end is not decided
    assert block.steps() == batches.any(axis=1).sum()
    assert block.rejected() == 0
    events = [pmt.to_python(store.get_message(i))["event"] for i in range(store.num_messages())]
    assert set(events) == {"step"}


def test_supervised_learns_the_known_symbols_alone():
    """Its gradient is that of a batch of these."""
    random = np.random.default_rng(2)
    features = random.standard_normal((40, 6)).astype(np.float32)
    labels = random.integers(0, 4, 40).astype(np.uint8)
    known = np.where(random.random(40) < 0.3, labels, UNKNOWN).astype(np.uint8)
    net = core.network([6, 5, 4])
    net.initialize(3)

    def of(rows, targets):
        noise = np.zeros((1, len(rows), 6), np.float32)
        return core.loss_gradient(net, rows, noise, targets, loss="supervised")

    told = known != UNKNOWN
    expected, found = of(features[told], labels[told]), of(features, known)
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-6)
    assert not core.trainer(net, loss="supervised", learning_rate=0.01).step(
        features, np.full(40, UNKNOWN, np.uint8))[2]


def test_every_loss_learns_known_labels_as_certain_ones():
    """All known: the gradient is the supervised one, at the samples as they are."""
    random = np.random.default_rng(2)
    features = random.standard_normal((40, 6)).astype(np.float32)
    labels = random.integers(0, 4, 40).astype(np.uint8)
    net = core.network([6, 5, 4])
    net.initialize(3)
    noise = np.zeros((3, 40, 6), np.float32)
    expected = core.loss_gradient(net, features, noise, labels, loss="supervised")
    for pseudo_label in "clean", "confidence_weighted", "refined":
        found = core.loss_gradient(net, features, noise, known=labels, loss="self_training", balance=0,
                                   pseudo_label=pseudo_label)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-6)


class Decoder(gr.sync_block):
    """Decodes packets of 256 symbols, whatever their rotation, where fewer than one in four is wrong."""

    def __init__(self, labels, size=256, late=0):
        gr.sync_block.__init__(self, "decoder", [np.uint8], None)
        self.labels, self.size, self.found, self.late = labels, size, np.empty(0, np.uint8), late
        self.rotations = np.array(core.constellation("qpsk").symmetries)
        self.sent, self.decoded = [], threading.Condition()
        self.message_port_register_out(pmt.intern("packets"))

    def work(self, input_items, output_items):
        with self.decoded:
            self.found = np.r_[self.found, input_items[0]]
            self.decoded.notify()
        first = len(self.sent) * self.size
        while first + self.size + self.late <= self.found.size:
            told = self.labels[first:first + self.size]
            wrong = [np.mean(turned[told] != self.found[first:first + self.size]) for turned in self.rotations]
            self.sent.append(min(wrong) < 0.25)
            if self.sent[-1]:
                position = pmt.dict_add(pmt.make_dict(), pmt.intern("position"), pmt.from_uint64(first))
                self.message_port_pub(pmt.intern("packets"),
                                      pmt.cons(position, pmt.init_u8vector(self.size, list(told))))
            first += self.size
        return len(input_items[0])


class Paced(gr.sync_block):
    """Lets samples pass no more than `ahead` symbols before their decoder: packets are late by as much at most."""

    def __init__(self, decoder, ahead=8192):
        gr.sync_block.__init__(self, "paced", [np.complex64], [np.complex64])
        self.decoder, self.ahead = decoder, ahead

    def work(self, input_items, output_items):
        n = min(len(input_items[0]), self.ahead // 4)
        with self.decoder.decoded:
            self.decoder.decoded.wait_for(
                lambda: self.nitems_written(0) // 2 - self.decoder.found.size < self.ahead, timeout=600)
        output_items[0][:n] = input_items[0][:n]
        return n


@pytest.mark.parametrize("tells", [False, True])
def test_decoded_packets_settle_the_rotation_and_count(model, tells):
    size, half = 1 << 17, 1 << 16
    labels = random_labels(size, 22, 2)
    samples = normalized(LINK.receive(labels, [22, 1]))
    samples = np.r_[samples[:size], 1j * samples[size:]].astype(np.complex64)
    block, decoder = adann.equalizer(model, mode="lockstep"), Decoder(labels)
    paced = Paced(decoder)
    store, sink, top = blocks.message_debug(), blocks.vector_sink_b(), gr.top_block()
    top.connect(blocks.vector_source_c(samples), paced, block, sink)
    top.connect(block, decoder)
    top.msg_connect(block, "status", store, "store")
    if tells:
        top.msg_connect(decoder, "packets", block, "known")
    top.run()
    found = np.array(sink.data(), np.uint8)
    before, after = errors(found, labels, half // 2, half), errors(found, labels, half * 3 // 2, found.size)
    if not tells:
        assert after > 0.7 and np.isnan(block.packet_ber())
        return
    assert after < 1.3 * before
    status = pmt.to_python(store.get_message(store.num_messages() - 1))
    assert status["packet_ber"] == pytest.approx(status["packet_errors"] / status["packet_bits"])
    assert 0.5 * len(decoder.sent) < status["packets"] <= sum(decoder.sent)
    wrong = np.unpackbits((found ^ labels[:found.size])[:, None], axis=1).sum() / (2 * found.size)
    assert block.packet_ber() == pytest.approx(wrong, rel=0.2)


def steps_with_packets(block, late, symbols=1 << 16, **link):
    """Steps, and the last status: with packets that come so many symbols after the least delay, None: without any.

    A batch has 512 symbols and makes one step, as a packet of
    512 does. Packets come at most 1024 symbols after they were decided, and so much later."""
    labels = random_labels(symbols, 23, 2)
    samples = normalized(replace(LINK, **link).receive(labels, [23, 1]))
    decoder = Decoder(labels, 512, late or 0)
    paced, store, top = Paced(decoder, 1024), blocks.message_debug(), gr.top_block()
    top.connect(blocks.vector_source_c(samples), paced, block, blocks.null_sink(1))
    top.connect(block, decoder)
    top.msg_connect(block, "status", store, "store")
    if late is not None:
        top.msg_connect(decoder, "packets", block, "known")
    top.run(1024)
    return block.steps(), pmt.to_python(store.get_message(store.num_messages() - 1))


def test_packets_older_than_the_memory_of_the_taps_are_not_learnt(model):
    """The taps' memory is some 2000 symbols."""
    (without, told), (at_once, _), (late, told_late) = (
        steps_with_packets(adann.equalizer(model, mode="lockstep"), late, snr=8, turns=1e-5)
        for late in (None, 0, 20_000))
    assert 0 < told["memory"] < 20_000
    assert late == without
    assert told_late["packets"] > 5
    assert at_once > without + 20


def test_where_the_taps_change_nothing_packets_of_any_age_are_learnt():
    """The network that a blind start has trained is right without taps."""
    (without, told), (late, _) = (
        steps_with_packets(adann.equalizer("", constellation="qpsk", sps=2, half_window=5, mode="lockstep"),
                           late, 1 << 17, snr=14) for late in (None, 20_000))
    assert told["memory"] == 0
    assert late > without + 20


@pytest.mark.parametrize("message, said", [
    (pmt.intern("packet"), "position is ()"),
    (pmt.cons(pmt.make_dict(), pmt.init_u8vector(2, [0, 1])), "position is ()"),
    (pmt.cons(pmt.from_long(-1), pmt.init_u8vector(2, [0, 1])), "position is -1"),
    (pmt.cons(pmt.from_double(7.5), pmt.init_u8vector(2, [0, 1])), "position is 7.5"),
    (pmt.cons(pmt.from_long(0), pmt.init_f32vector(2, [0, 1])), "labels are no u8vector"),
    (pmt.cons(pmt.from_long(0), pmt.init_u8vector(2, [255, 255])), "labels is none that is known"),
    (pmt.cons(pmt.from_long(0), pmt.init_u8vector(2, [0, 4])), "label is 4"),
    (pmt.cons(pmt.from_uint64(10**9), pmt.init_u8vector(2, [0, 1])), "packet's symbols is 1000000000 and 2 on"),
])
def test_a_packet_that_does_not_fit_is_refused_by_name(model, message, said, capfd):
    block = adann.equalizer(model)
    block.to_basic_block()._post(pmt.intern("known"), message)
    top = gr.top_block()
    top.connect(blocks.vector_source_c(np.zeros(1 << 14, np.complex64)), block, blocks.null_sink(1))
    top.run()
    logged = capfd.readouterr()
    assert said in logged.out + logged.err
