# SPDX-License-Identifier: GPL-3.0-or-later
"""The status monitor, heard by a real ZeroMQ subscriber."""

import contextlib
import json
import pathlib
import re
import socket
import time

import pmt
import pytest
import zmq
from gnuradio import adann, blocks, gr
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from ports import free_port

MODEL = pathlib.Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"


@pytest.fixture
def address(tmp_path):
    return f"ipc://{tmp_path}/status"


def subscribe(address):
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.connect(address)
    socket.subscribe("")
    socket.rcvtimeo = 120_000  # ms, which no machine takes
    return socket


def published(socket, wanted):
    """What comes, up to the first message that `wanted` likes."""
    messages = []
    while not messages or not wanted(messages[-1]):
        messages.append(json.loads(socket.recv_string(), parse_constant=pytest.fail))
    return messages


def handle(monitor, **entries):
    """Give a dictionary to the port, as the flowgraph does."""
    message = pmt.make_dict()
    for key, value in entries.items():
        message = pmt.dict_add(message, pmt.intern(key), pmt.to_pmt(value))
    monitor._listen(message)


def joined(address):
    """A monitor and a subscriber that it knows."""
    monitor, socket = adann.status_monitor(address), subscribe(address)
    socket.rcvtimeo = 10
    for attempt in range(30_000):  # a subscription takes a while to arrive
        handle(monitor, event="hello", attempt=attempt)
        try:
            published(socket, lambda message: message["attempt"] == attempt)
            break
        except zmq.Again:
            pass
    socket.rcvtimeo = 120_000
    return monitor, socket


def test_an_equalizer_and_a_counter_are_heard_while_they_run(address):
    """Every entry of the dictionaries arrives."""
    sent = random_labels(2**16, 1)
    equalizer = adann.equalizer(str(MODEL), mode="lockstep")
    counter = adann.ber_counter("pam4")
    monitor = adann.status_monitor(address)
    top = gr.top_block()
    source = blocks.vector_source_f(simulate_vcsel(sent, seed=2), True)
    labels = blocks.vector_source_b(sent.tolist(), True)
    top.connect(source, equalizer, counter)
    top.connect(labels, (counter, 1))
    top.msg_connect(equalizer, "status", monitor, "status")
    top.msg_connect(counter, "ber", monitor, "status")
    sent_by = blocks.message_debug()
    top.msg_connect(equalizer, "status", sent_by, "store")
    socket = subscribe(address)
    begin = time.time()
    top.start()
    messages = published(socket, lambda message: message.get("batch", 0) > 40)
    top.stop()
    top.wait()
    steps = [message for message in messages if message.get("event") == "step"]
    batches = [message for message in messages if "ber" in message and "batch" in message]
    assert begin <= steps[-1]["time"] <= time.time()
    for step in steps:
        del step["time"]
        assert step == pmt.to_python(sent_by.get_message(step["step"] - 1))
    assert 0 < batches[-1]["ber"] < 1e-2
    assert batches[-1]["ber"] == batches[-1]["bit_errors"] / batches[-1]["bits"]


def test_steps_are_thinned_out_and_everything_else_gets_through(address):
    monitor, socket = joined(address)
    start = time.monotonic()
    for step in range(1000):
        handle(monitor, event="step", step=step)
        handle(monitor, ber=0.5, batch=step)
        if step % 100 == 0:
            handle(monitor, event="rollback", step=step)
            handle(monitor, locked=True, delay=step)
    seconds = time.monotonic() - start
    handle(monitor, event="end")
    messages = published(socket, lambda message: message["event" if "event" in message else
                                                         "time"] == "end")
    few = 10 * seconds + 1
    assert 1 <= sum(message.get("event") == "step" for message in messages) <= few
    assert 1 <= sum("ber" in message for message in messages) <= few
    hundreds = list(range(0, 1000, 100))
    assert [message["step"] for message in messages
            if message.get("event") == "rollback"] == hundreds
    assert [message["delay"] for message in messages if "locked" in message] == hundreds


def test_json_has_no_nan_and_what_is_no_dictionary_is_passed_over(address):
    monitor, socket = joined(address)
    monitor._listen(pmt.intern("freeze"))
    handle(monitor, event="rollback", loss=float("nan"), confidence=float("inf"), step=3,
           trustworthy=False, detail="words")
    message, = published(socket, lambda message: True)
    del message["time"]
    assert message == {"event": "rollback", "loss": None, "confidence": None, "step": 3,
                       "trustworthy": False, "detail": "words"}


def test_an_address_that_cannot_be_bound_is_named():
    for bad in "here", ":", "tcp://*", "udp://127.0.0.1:5555":
        with pytest.raises(ValueError, match=f"address is '{re.escape(bad)}': .*, allowed: a free one"):
            adann.status_monitor(bad)
    with zmq.Context.instance().socket(zmq.PUB) as taken:
        port = taken.bind_to_random_port("tcp://127.0.0.1")
        with pytest.raises(ValueError, match="Address already in use"):
            adann.status_monitor(f"tcp://127.0.0.1:{port}")


def monitor_of(address):
    """ZeroMQ's own thread closes the one before, and tells nobody when: five minutes are waited at most."""
    for _ in range(15_000):
        try:
            return adann.status_monitor(address)
        except ValueError:
            time.sleep(0.02)
    pytest.fail("still in use")


def test_an_address_is_free_again_when_its_monitor_is_gone():
    address = f"tcp://127.0.0.1:{free_port()}"
    for _ in range(5):
        monitor = monitor_of(address)
        handle(monitor, event="hello")
        del monitor


def test_a_port_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="address is 'tcp://127.0.0.1:99999', allowed: ports up to 65535"):
        adann.status_monitor("tcp://127.0.0.1:99999")


def test_garbage_sent_to_the_port_is_no_command():
    """A PUB socket takes subscriptions and nothing else; raw TCP is no ZeroMQ."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    monitor = adann.status_monitor(address)
    # ZeroMQ may hang up before it has all of it.
    with socket.create_connection(("127.0.0.1", port)) as raw, \
            contextlib.suppress(ConnectionResetError, BrokenPipeError):
        raw.sendall(bytes(range(256)) * 4096)
    speaker = zmq.Context.instance().socket(zmq.PUSH)
    speaker.linger = 0
    speaker.connect(address)
    listener = subscribe(address)
    for attempt in range(30_000):
        handle(monitor, event="alive", attempt=attempt)
        listener.rcvtimeo = 10
        try:
            assert json.loads(listener.recv_string())["event"] == "alive"
            break
        except zmq.Again:
            pass
    else:
        pytest.fail("nothing is heard any more")
    speaker.close()
    listener.close()
