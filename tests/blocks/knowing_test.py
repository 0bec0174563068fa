# SPDX-License-Identifier: GPL-3.0-or-later
"""What the equalizer knows about itself, and what it is told while it runs."""

import time
from pathlib import Path

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.radio_link import RadioLink
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.training import TrainingSettings, train
from waiting import wait_until

SYMBOLS, BATCH = 2**16, 512
VCSEL = Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"


@pytest.fixture(scope="module")
def link():
    """A model of a link, samples of it, and their labels."""
    sent = random_labels(SYMBOLS, 1, 2)
    samples = normalized(RadioLink("gr:qpsk", echo=0.4, snr=9).receive(sent, 2))
    model = train(samples, sent, "gr:qpsk", 2, 3, TrainingSettings(
        fraction=0.5, epochs=20, batch=1024, optimizer="adam")).model
    return model, samples, sent


def started(equalizer, source):
    """A flowgraph that repeats the samples live, and what it tells."""
    status, top = blocks.message_debug(), gr.top_block()
    top.connect(source, blocks.throttle(gr.sizeof_gr_complex, 1e6), equalizer,
                blocks.null_sink(1))
    top.msg_connect((equalizer, "status"), (status, "store"))
    top.start()
    return top, status


def told(status):
    return [pmt.to_python(status.get_message(i)) for i in range(status.num_messages())]


def labels_and_estimates(equalizer, samples, items=8192):
    """What the equalizer decides of pam4 or qpsk, and its float output."""
    is_complex = np.iscomplexobj(samples)
    source = blocks.vector_source_c if is_complex else blocks.vector_source_f
    labels, estimates = blocks.vector_sink_b(), blocks.vector_sink_f()
    top = gr.top_block()
    top.connect(source(samples), equalizer, labels)
    top.connect((equalizer, 1), blocks.null_sink(4 * gr.sizeof_float))
    top.connect((equalizer, 2), blocks.null_sink(gr.sizeof_gr_complex if is_complex else gr.sizeof_float))
    top.connect((equalizer, 3), estimates)
    top.run(items)
    return np.array(labels.data(), np.uint8), np.array(estimates.data())


@pytest.mark.parametrize("items", [8192, 300])
def test_the_estimated_error_rate_comes_once_a_batch(link, items):
    """It is within a factor of 2 of the true one: that is some 3e-3, of 131,072 bits, so that
    chance would need 15 standard deviations."""
    model, samples, sent = link
    equalizer = adann.equalizer(model, mode="lockstep", batch=BATCH)
    decided, found = labels_and_estimates(equalizer, samples, items)
    assert found.size == decided.size // BATCH
    assert np.isnan(found[0]) and found[-1] == np.float32(equalizer.estimated_bit_error_rate())
    wrong = decided[8192:] ^ sent[8192:decided.size]
    rate = np.unpackbits(wrong).sum() / wrong.size / 2
    assert rate / 2 < np.nanmean(found[16:]) < 2 * rate
    assert equalizer.network() in ("offline", "adaptive", "last good")
    assert abs(equalizer.frequency()) < 1e-4
    residual = equalizer.front_filter().residual
    assert equalizer.modulation_error_ratio() == -residual and 5 < -residual < 15


def test_what_was_asked_before_the_start_is_told(link):
    model, samples, _ = link
    equalizer = adann.equalizer(model, mode="live")
    equalizer.set_frozen(True)
    _, status = started(equalizer, blocks.vector_source_c(samples, True))
    wait_until(lambda: [each for each in told(status) if each["event"] == "frozen"])


def test_control_takes_values_and_dictionaries(link):
    model, samples, _ = link
    equalizer = adann.equalizer(model, mode="live")
    top, status = started(equalizer, blocks.vector_source_c(samples, True))
    port = pmt.intern("control")

    def send(message):
        equalizer.to_basic_block()._post(port, message)

    def events(name):
        return [each for each in told(status) if each["event"] == name]

    wait_until(lambda: equalizer.updates() > 5)
    send(pmt.cons(pmt.intern("freeze"), pmt.PMT_T))
    wait_until(lambda: events("frozen"))
    send(pmt.cons(pmt.intern("freeze"), pmt.PMT_T))  # no change, no event
    send(pmt.cons(pmt.intern("freeze"), pmt.PMT_F))
    wait_until(lambda: events("unfrozen"))
    assert len(events("frozen")) == 1
    both = pmt.dict_add(pmt.make_dict(), pmt.intern("freeze"), pmt.PMT_T)
    both = pmt.dict_add(both, pmt.intern("learning_rate"), pmt.from_double(1e-3))
    send(both)
    wait_until(lambda: len(events("frozen")) == 2)
    send(pmt.intern("resume"))
    wait_until(lambda: len(events("unfrozen")) == 2)
    # While the filter is off, and until its first block, there is no residual.
    wait_until(lambda: np.isfinite(equalizer.front_filter().residual))
    send(pmt.cons(pmt.intern("front_filter"), pmt.PMT_F))
    wait_until(lambda: np.isnan(equalizer.front_filter().residual))
    send(pmt.cons(pmt.intern("front_filter"), pmt.PMT_T))
    wait_until(lambda: np.isfinite(equalizer.front_filter().residual))
    for wrong in (pmt.cons(pmt.intern("learning_rate"), pmt.from_double(-1)),
                  pmt.cons(pmt.intern("learning_rate"), pmt.intern("fast")), pmt.from_long(3)):
        send(wrong)  # logged, and nothing else
    before = equalizer.updates()
    wait_until(lambda: equalizer.updates() > before)
    top.stop()
    top.wait()


def test_live_steps_are_told_at_most_20_times_a_second(link):
    model, samples, _ = link
    equalizer = adann.equalizer(model, mode="live", batch=128)
    start = time.monotonic()
    top, status = started(equalizer, blocks.vector_source_c(samples, True))
    wait_until(lambda: equalizer.steps() > 1000)
    top.stop()
    top.wait()
    steps = [each for each in told(status) if each["event"] == "step"]
    assert 1 <= len(steps) <= 20 * (time.monotonic() - start) + 1


def test_a_start_says_which_network_decides(link):
    _, samples, _ = link
    equalizer = adann.equalizer(constellation="gr:qpsk", sps=2, half_window=3, mode="lockstep")
    assert equalizer.network() == "linear"
    assert np.isnan(equalizer.estimated_bit_error_rate())
    top = gr.top_block()
    top.connect(blocks.vector_source_c(samples), equalizer, blocks.null_sink(1))
    top.run()
    assert equalizer.network() in ("offline", "adaptive", "last good")


def test_the_estimate_does_not_jump_where_a_waveform_explains_a_record_that_repeats():
    """The same symbols come several times within what it remembers. A record has some four bit errors, which
    repeat: the rate of the link is that of eight records, which varies by a sixth."""
    record, times = 16384, 12
    wrong, estimates, trusted = 0, [], []
    for seed in range(8):
        sent = np.tile(random_labels(record, [9, seed]), times)
        samples = np.tile(simulate_vcsel(sent[:record], "none", 20 + seed), times).astype(np.float32)
        equalizer = adann.equalizer(str(VCSEL), mode="lockstep", batch=BATCH, front_filter=False)
        decided, found = labels_and_estimates(equalizer, samples)
        wrong += np.unpackbits(decided[record:] ^ sent[record:decided.size]).sum() / (decided.size - record) / 2
        estimates.append(found[2 * record // BATCH:])
        trusted.append(equalizer.estimated_ber().trustworthy)
    rate = wrong / len(estimates)
    assert rate / 3 < np.min(estimates) and np.max(estimates) < 3 * rate
    assert trusted[0]  # of most others the noise repeats in a way that is called not stationary
