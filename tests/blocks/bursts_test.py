# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts in the equalizer block: tags, what happens between them, corr_est, packet error rates."""

from dataclasses import replace

import numpy as np
import pmt
import pytest
from gnuradio import adann, analog, blocks, digital, gr
from gnuradio.adann.experiments import bursts

COUNT = 12


@pytest.fixture(scope="module")
def model():
    return bursts.network_for(bursts.STILL)


@pytest.fixture(scope="module")
def received():
    return bursts.receive(bursts.STILL, COUNT, 3)


def marks(received, early=0):
    tags = received.tags("training_start") + received.tags("burst_end", received.sent.shape[1])
    for tag in tags:
        tag.offset -= early
    return sorted(tags, key=lambda tag: tag.offset)


def equalizer(model, received, **settings):
    return adann.equalizer(model, **{**dict(
        mode="lockstep", batch=64, training_sequence=received.packets.preamble,
        training_start_tag="training_start", burst_end_tag="burst_end"), **settings})


def run(received, tags, block, items=8192):
    source = blocks.vector_source_c(received.samples, False, 1, tags)
    sink = blocks.vector_sink_b()
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run(items)
    return np.array(sink.data(), np.uint8), [(tag.offset, str(tag.key)) for tag in sink.tags()]


def test_packets_are_received_and_the_tags_stay_at_their_symbols(model, received):
    block = equalizer(model, received)
    labels, tags = run(received, marks(received), block)
    assert received.wrong(received.of_packets(labels)) <= 1 / COUNT
    assert block.bursts() == COUNT
    step = received.packets.symbols
    assert [offset for offset, key in tags if key == "training_start"] == [
        k * step + received.packets.gap for k in range(COUNT)]
    # A batch begins behind each training sequence, and what is not complete is not learnt from.
    assert block.steps() == COUNT * (received.packets.payload // 64)


def test_the_result_is_the_same_whatever_the_scheduler_hands_over(model, received):
    # Tags between two symbols belong to the later one; some are at the end of what is handed over.
    found = [run(received, marks(received, early=1), equalizer(model, received), items)[0]
             for items in (8192, 1000, 37)]
    assert received.wrong(received.of_packets(found[0])) <= 1 / COUNT
    assert all(np.array_equal(one[:found[0].size - 100], found[0][:found[0].size - 100]) for one in found)


@pytest.mark.parametrize("after", ["freeze", "reset", "keep"])
def test_refined_labels_are_the_same_however_they_are_cut_behind_false_alarms(after):
    """16QAM, whose front filter looks back at each step; tags within bursts, where no training sequence is."""
    link = replace(bursts.STILL, constellation="16qam", snr=16)
    received, random = bursts.receive(link, COUNT, 3), np.random.default_rng(6)
    model = bursts.network_for(link, 2**14)

    def run(decisions, tags, items):
        block = equalizer(model, received, after_burst=after, decisions=decisions)
        block.set_max_noutput_items(items)
        sinks = blocks.vector_sink_b(), blocks.vector_sink_f(16)
        top = gr.top_block()
        top.connect(blocks.vector_source_c(received.samples, False, 1, tags), block)
        for port, sink in enumerate(sinks):
            top.connect((block, port), sink)
        top.run()
        return [np.array(sink.data()) for sink in sinks]

    refined = 0
    for items in 1, 2, 5, 33:
        tags = marks(received)
        for at in random.integers(0, received.samples.size // 2, 3 * COUNT):
            tags.append(gr.tag_utils.python_to_tag((2 * int(at), pmt.intern("training_start"), pmt.PMT_T)))
        tags.sort(key=lambda tag: tag.offset)
        whole = run("refined", tags, 8192)
        for cut, expected in zip(run("refined", tags, items), whole):
            assert np.array_equal(cut, expected)
        refined += np.count_nonzero(whole[0] != run("network", tags, 8192)[0])
    assert refined > 20  # of four draws; 136 to 968 in 20, seven deviations of its logarithm off


@pytest.mark.parametrize("after, nothing", [("freeze", False), ("reset", True)])
def test_after_a_burst_the_filter_stays_or_does_nothing(model, received, after, nothing):
    block = equalizer(model, received, after_burst=after)
    run(received, marks(received), block)
    assert block.steps() == COUNT * (received.packets.payload // 64)
    taps = block.front_filter().taps
    lone = np.zeros(taps.size)
    lone[taps.size // 2] = 1
    assert np.allclose(taps, lone) == nothing


def test_keep_goes_on_learning(model, received):
    """Of what comes after the burst, up to the pause; of the first pause the level is not known yet."""
    left = 128
    starts, ends = received.tags("training_start"), received.tags("burst_end", received.sent.shape[1] - left)
    block = equalizer(model, received, after_burst="keep")
    run(received, sorted(starts + ends, key=lambda tag: tag.offset), block)
    least = COUNT * (received.packets.payload // 64)
    assert least <= block.steps() < least + COUNT / 2


def test_a_false_alarm_changes_nothing(model, received):
    false = received.tags("training_start", -received.packets.gap)  # noise
    block = equalizer(model, received)
    labels, _ = run(received, sorted(marks(received) + false, key=lambda tag: tag.offset), block)
    assert block.bursts() == COUNT
    assert received.wrong(received.of_packets(labels)) <= 1 / COUNT


ODD = {"no number": pmt.from_double(float("nan")), "a dictionary": pmt.make_dict(), "long": pmt.intern("x" * 100_000),
       "bytes": pmt.init_u8vector(3, [1, 2, 3])}


def tagged(offsets, value=pmt.PMT_T):
    return [gr.tag_utils.python_to_tag((int(at), pmt.intern("training_start"), value)) for at in offsets]


@pytest.mark.parametrize("value", ODD)
def test_what_a_tag_of_a_training_sequence_holds_does_not_matter(model, received, value):
    """Estimators write correlations, phases, dictionaries."""
    starts = [tag.offset for tag in received.tags("training_start")]
    ends = received.tags("burst_end", received.sent.shape[1])

    def labels_of(tags):
        return run(received, sorted(tags + ends, key=lambda tag: tag.offset), equalizer(model, received))[0]
    np.testing.assert_array_equal(labels_of(tagged(starts, ODD[value])), labels_of(tagged(starts)))


@pytest.mark.parametrize("shifts", [(0, 0), (-1, 0), (-2, -1, 0, 1)], ids=["twice", "a sample early", "its neighbours"])
def test_tags_that_come_in_numbers_cost_no_packet(model, received, shifts):
    """As a correlator with a low threshold makes them: a packet's labels lie behind the last one."""
    starts = [tag.offset + shift for tag in received.tags("training_start") for shift in shifts]
    tags = tagged(starts) + received.tags("burst_end", received.sent.shape[1])
    labels, _ = run(received, sorted(tags, key=lambda tag: tag.offset), equalizer(model, received))
    assert received.wrong(received.of_packets(np.roll(labels, -(shifts[-1] + 1 >> 1)))) <= 1 / COUNT


def noise(symbols, tags=()):
    """A source of it, two samples a symbol, with a tag at each of these symbols."""
    made = [gr.tag_utils.python_to_tag((2 * at, pmt.intern("training_start"), pmt.PMT_T))
            for at in tags]
    samples = 0.12 * (np.random.default_rng(5).standard_normal((2 * symbols, 2)) @ [1, 1j])
    return blocks.vector_source_c(samples.tolist(), False, 1, made)


def test_between_bursts_a_false_alarm_teaches_nothing(model, received):
    block = equalizer(model, received)
    top = gr.top_block()
    top.connect(noise(4000, [100, 150, 2000]), block, blocks.null_sink(1))
    top.run()
    assert block.steps() == block.bursts() == 0


def test_a_run_that_ends_in_a_training_sequence_leaves_nothing_to_the_next(model, received):
    block = equalizer(model, received)
    for source in noise(150, [100]), noise(4000):
        top = gr.top_block()
        top.connect(source, block, blocks.null_sink(1))
        top.run()
        top.disconnect_all()
    assert block.steps() == block.bursts() == 0


def test_corr_est_finds_them(model):
    """GNU Radio's Correlation Estimator in front, its tag as it comes."""
    received = bursts.receive(bursts.STILL, COUNT, 4)
    length = len(received.packets.preamble)
    finder = digital.corr_est_cc(received.packets.sought(), 2, 0, 0.4, digital.THRESHOLD_ABSOLUTE)
    source = blocks.vector_source_c(received.samples)
    block = equalizer(model, received, training_start_tag="corr_est", burst_end_tag="")
    sink = blocks.vector_sink_b()
    top = gr.top_block()
    top.connect(source, finder, block, sink)
    top.run()
    labels = np.array(sink.data(), np.uint8)
    starts = sorted({tag.offset for tag in sink.tags() if str(tag.key) == "corr_est"})
    right = 0
    for start in starts:
        payload = labels[start + length:][:received.packets.payload]
        right += any(np.array_equal(payload, sent[length:]) for sent in received.sent)
    assert right >= COUNT - 2


@pytest.mark.parametrize("gate", [False, True])
def test_the_power_squelch_ends_them(model, gate):
    """GNU Radio's own in front, which with `gate` cuts out the pauses: then a packet's end is told where the next one
    has begun, or within its preamble."""
    received = bursts.receive(bursts.STILL, COUNT, 4)
    length = len(received.packets.preamble)
    squelch = analog.pwr_squelch_cc(-8, 0.1, 0, gate)  # noise is at -14.7 dB
    finder = digital.corr_est_cc(received.packets.sought(), 2, 0, 0.4, digital.THRESHOLD_ABSOLUTE)
    block = equalizer(model, received, training_start_tag="corr_est", burst_end_tag="squelch_eob")
    sink = blocks.vector_sink_b()
    top = gr.top_block()
    top.connect(blocks.vector_source_c(received.samples), squelch, finder, block, sink)
    top.run()
    labels = np.array(sink.data(), np.uint8)
    tags = {key: {tag.offset for tag in sink.tags() if str(tag.key) == key} for key in ("corr_est", "squelch_eob")}
    assert block.bursts() == COUNT == len(tags["corr_est"]) and len(tags["squelch_eob"]) == COUNT - 1
    right = sum(np.array_equal(labels[start + length:][:received.packets.payload], sent[length:])
                for start, sent in zip(sorted(tags["corr_est"]), received.sent))
    assert right >= COUNT - 1
    assert block.steps() <= COUNT * (received.packets.payload // 64)  # nothing is learnt between them


@pytest.mark.parametrize("settings, message", [
    (dict(training_sequence=[0] * 20), r"training_sequence's length is 20, allowed: \d+ to 192"),
    (dict(training_sequence=[4] * 64), "training_sequence's largest label is 4, allowed: 0 to 3"),
    (dict(training_sequence=[0] * 64, mode="off"), "training_sequence is given, allowed: with a front filter"),
    (dict(training_sequence=[0] * 64, front_filter=False), "training_sequence is given, allowed"),
    (dict(training_sequence="abc"), "training_sequence is 'abc', allowed"),
    (dict(after_burst="stop"), "after_burst is 'stop', allowed: freeze, reset, keep")])
def test_what_does_not_fit_is_refused_in_a_sentence(model, settings, message):
    with pytest.raises(ValueError, match=message):
        adann.equalizer(model, **settings)


@pytest.mark.parametrize("settings, message", [
    (dict(training_sequence=[0] * 39), "training_sequence's length is 39, allowed: 40 to 192"),
    (dict(training_sequence=[4] * 64), "training_sequence's largest label is 4, allowed: 0 to 3"),
    (dict(training_sequence=[0] * 64, front_filter=False), "training_sequence is given, allowed: with a front filter")])
def test_without_a_model_too(settings, message):
    with pytest.raises(ValueError, match=message):
        adann.equalizer("", "qpsk", **settings)


@pytest.mark.parametrize("case, part", [("static", 1.0), ("Doppler, amplifier", 0.5)])
def test_packet_error_rates_beside_gnuradios(case, part):
    """100 packets; the figures of 1000 stand in docs/results/bursts.md."""
    received = bursts.receive(bursts.CASES[case], 100, 1)
    linear = min(bursts.gnuradio_errors(received, step, goes_on)
                 for step in bursts.STEPS for goes_on in (True, False))
    found = bursts.adann_errors(received, bursts.network_for(bursts.CASES[case]))
    assert found <= part * linear
    assert found < bursts.slicer_errors(received)
