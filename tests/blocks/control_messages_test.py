# SPDX-License-Identifier: GPL-3.0-or-later
"""What widgets and scripts send to the equalizer's port `control`, and what it tells of itself while it runs."""

import re
import time
from pathlib import Path

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel

MODEL = str(Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors")
SYMBOLS = 20_000


@pytest.fixture(scope="module")
def samples():
    return simulate_vcsel(random_labels(SYMBOLS, 3), "reference", seed=4)


def flowgraph(samples, equalizer, *messages, repeat=1):
    """Run to the end; the messages are there when it starts. Returns its status messages."""
    told = blocks.message_debug()
    top = gr.top_block()
    kind = (blocks.vector_source_c if np.iscomplexobj(samples) else blocks.vector_source_f)
    head = blocks.head(samples.itemsize, repeat * samples.size)
    top.connect(kind(samples, repeat > 1), head, equalizer, blocks.null_sink(1))
    top.msg_connect(equalizer, "status", told, "store")
    for word, value in messages:
        equalizer.to_basic_block()._post(pmt.intern("control"), pmt.cons(pmt.intern(word), value))
    top.run()
    # Those that the store had no time for are in its queue.
    stored, queue = [told.get_message(k) for k in range(told.num_messages())], told.to_basic_block()
    waiting = [queue.delete_head_nowait(pmt.intern("store")) for _ in range(queue.nmsgs(pmt.intern("store")))]
    return [pmt.to_python(each) for each in stored + waiting]


def logged(capfd, *words):
    said = capfd.readouterr()
    return [line for line in (said.out + said.err).splitlines() if any(word in line for word in words)]


NUMBERS = [pmt.from_long, pmt.from_uint64, pmt.from_double]


@pytest.mark.parametrize("number", [*NUMBERS, pmt.from_bool])
def test_a_whole_number_is_a_boolean(samples, capfd, number):
    """As a QT GUI Push Button of type int sends it."""
    equalizer = adann.equalizer(MODEL, mode="lockstep")
    events = flowgraph(samples, equalizer, ("freeze", number(1)), ("resume", number(1)), ("freeze", number(1)))
    assert [event["event"] for event in events][0] == "frozen" and equalizer.steps() == 0
    equalizer = adann.equalizer(MODEL, mode="lockstep")
    flowgraph(samples, equalizer, ("freeze", number(1)), ("freeze", number(0)), ("reset", number(0)))
    assert equalizer.steps() > 20 and not logged(capfd, "control message")


@pytest.mark.parametrize("number", [*NUMBERS[:2]])
def test_a_whole_number_is_a_number(samples, capfd, number):
    equalizer = adann.equalizer(MODEL, mode="lockstep")
    flowgraph(samples, equalizer, ("learning_rate", number(0)))
    assert equalizer.steps() > 20 and not logged(capfd, "control message")


@pytest.mark.parametrize("value", [pmt.from_long(2), pmt.from_double(0.5), pmt.from_double(float("nan")),
                                   pmt.from_complex(1), pmt.PMT_NIL, pmt.intern("on")])
def test_another_value_is_no_boolean(samples, capfd, value):
    equalizer = adann.equalizer(MODEL, mode="lockstep")
    flowgraph(samples, equalizer, ("freeze", value))
    assert equalizer.steps() > 20 and len(logged(capfd, "control message", "(freeze . bool)")) == 1


@pytest.mark.parametrize("by", ["message", "setter"])
def test_another_loss_learns_as_one_that_was_there_from_the_start(samples, tmp_path, by):
    learnt = {}
    for loss, change in ("aug_vat", None), ("vat", None), ("aug_vat", "vat"):
        file = str(tmp_path / f"{loss}{change}.safetensors")
        equalizer = adann.equalizer(MODEL, mode="lockstep", loss=loss, checkpoint=file)
        if change and by == "setter":
            equalizer.set_loss(change)
        sent = [("loss", pmt.intern(change))] if change and by == "message" else []
        flowgraph(samples, equalizer, *sent)
        learnt[loss, change] = core.load_model(file).to_bytes()
    assert learnt["aug_vat", "vat"] == learnt["vat", None] != learnt["aug_vat", None]


@pytest.mark.parametrize("loss, said", [
    ("supervised", "loss is 'supervised', allowed: one that needs no known labels"),
    ("huber", "loss is 'huber', allowed: self_training, pi_model, vat, aug_vat, supervised"), ("", "loss is ''")])
def test_a_loss_that_cannot_be_is_refused(samples, capfd, loss, said):
    equalizer = adann.equalizer(MODEL, mode="lockstep")
    with pytest.raises(ValueError, match=said):
        equalizer.set_loss(loss)
    flowgraph(samples, equalizer, ("loss", pmt.intern(loss)))
    assert equalizer.steps() > 20 and said in logged(capfd, "control message")[0]


def test_known_labels_alone_cannot_be_left(samples):
    equalizer = adann.equalizer(MODEL, mode="lockstep", loss="supervised")
    equalizer.set_loss("supervised")
    with pytest.raises(ValueError, match="loss is 'vat', allowed: 'supervised'"):
        equalizer.set_loss("vat")


def test_what_is_frozen_before_it_has_started_says_so(capfd):
    random = np.random.default_rng(1)
    points = (random.choice([-1, 1], (50_000, 2)) / 2**0.5).astype(np.float32).view(np.complex64)[:, 0]
    equalizer = adann.equalizer(constellation="qpsk", sps=1, half_window=1, mode="lockstep")
    flowgraph(points, equalizer, ("freeze", pmt.PMT_T))
    line, = logged(capfd, "frozen")
    assert "frozen before it has started: linear decides until it is resumed" in line
    equalizer = adann.equalizer(MODEL, mode="lockstep")  # has nothing to start
    flowgraph(np.zeros(1000, np.float32), equalizer, ("freeze", pmt.PMT_T))
    assert not logged(capfd, "frozen")


def test_what_the_getters_give_can_be_printed():
    equalizer = adann.equalizer(MODEL)
    assert repr(equalizer.estimated_ber()) == (
        "ber_estimate(ber=nan, low=nan, high=nan, trustworthy=False, untrusted='too few symbols')")
    assert re.fullmatch(r"front_filter_state\(state='following', memory=0, residual=\S+ dB, frequency=0, \d+ taps\)",
                        repr(equalizer.front_filter()))


def test_drops_are_told_as_they_grow(samples, capfd):
    """Once a minute, and whenever the share that is trained on has fallen by ten."""
    network = core.network([11, 64, 64, 4])
    network.initialize(1)
    equalizer = adann.equalizer(core.model(network, 1, 5, False, "pam4"), batch=1024, front_filter=False)
    begin = time.monotonic()
    flowgraph(samples, equalizer, repeat=300)
    minutes = (time.monotonic() - begin) / 60
    told = [int(steps) / int(batches) for line in logged(capfd, "trained on")
            for steps, batches in re.findall(r"trained on (\d+) of (\d+) batches", line)]
    steps, dropped = equalizer.steps(), equalizer.dropped()
    assert dropped and 1 <= len(told) <= 12 + minutes
    assert sum(later >= before / 10 for before, later in zip(told, told[1:])) <= minutes
    assert steps / (steps + dropped) > min(told) / 11 - 1e-9


def test_training_that_starts_over_again_and_again_is_told_once(samples):
    equalizer = adann.equalizer(MODEL, mode="lockstep", learning_rate=1.0, batch=256)
    events = flowgraph(samples, equalizer, repeat=20)
    rollbacks = [k for k, event in enumerate(events) if event["event"] == "rollback"]
    assert rollbacks and len(rollbacks) < equalizer.rollbacks() / 2
    for first, second in zip(rollbacks, rollbacks[1:]):
        assert len({event["network"] for event in events[first:second + 1]}) > 1


def test_a_start_that_is_tried_again_and_again_is_bounded_in_the_log(capfd):
    """A second ray that turns once in 8192 symbols: no linear equalizer holds for all that a start takes."""
    random = np.random.default_rng(2)
    points = (random.choice([-1, 1], (400_000, 2)) / 2**0.5).astype(np.float32).view(np.complex64)[:, 0]
    turning = 0.5 * np.exp(2j * np.pi * np.arange(points.size) / 8192)
    received = (points + turning * np.roll(points, 1) + 0.05 * random.standard_normal((points.size, 2)) @ [1, 1j])
    equalizer = adann.equalizer(constellation="qpsk", sps=1, half_window=3, mode="lockstep")
    begin = time.monotonic()
    events = flowgraph(received.astype(np.complex64), equalizer, repeat=4)
    most = 11 * (1 + int((time.monotonic() - begin) / 60))
    assert len(logged(capfd, "adann_equalizer")) <= most
    assert len([event for event in events if event["event"] == "start"]) <= most
