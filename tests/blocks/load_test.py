# SPDX-License-Identifier: GPL-3.0-or-later
"""Another model by message, `(load . path)`, while the flowgraph runs."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.radio_link import RadioLink
from gnuradio.adann.links.simulation import random_labels
from gnuradio.adann.offline.training import TrainingSettings, train
from waiting import wait_until

BATCH, SYMBOLS = 256, 2**15


def untrained(path, hidden, seed, constellation="qpsk", sps=2, half_window=2):
    """Saves a network that decides anything."""
    points = core.constellation(constellation).size
    network = core.network([2 * sps * (2 * half_window + 1), *hidden, points])
    network.initialize(seed)
    core.save_model(str(path), core.model(network, sps, half_window, True, constellation))
    return str(path)


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    """Paths of a model of a link and of one that was trained without its echo, samples, and their labels."""
    folder = tmp_path_factory.mktemp("link")
    paths = []
    for echo in 0.0, 0.5:
        sent = random_labels(SYMBOLS, 1, 2)
        samples = normalized(RadioLink("qpsk", echo=echo, snr=12).receive(sent, 2))
        model = train(samples, sent, "qpsk", 2, 3, TrainingSettings(
            fraction=0.5, epochs=5, batch=1024, optimizer="adam")).model
        paths.append(str(folder / f"{echo}.safetensors"))
        core.save_model(paths[-1], model)
    return *paths, samples, sent


class Running:
    """A flowgraph that repeats samples until `end` symbols have come, and what it tells."""

    def __init__(self, equalizer, samples, rate=None, end=None):
        self.equalizer, self.top = equalizer, gr.top_block()
        self.status, self.labels = blocks.message_debug(), blocks.vector_sink_b()
        chain = [blocks.vector_source_c(samples, True)]
        if end:
            chain.append(blocks.head(gr.sizeof_gr_complex, 2 * end))
        if rate:
            chain.append(blocks.throttle(gr.sizeof_gr_complex, 2 * rate))
        self.top.connect(*chain, equalizer, self.labels)
        self.top.msg_connect((equalizer, "status"), (self.status, "store"))

    def load(self, path):
        self.equalizer.to_basic_block()._post(pmt.intern("control"), pmt.cons(pmt.intern("load"),
                                                                            pmt.intern(str(path))))

    def told(self, event):
        messages = [pmt.to_python(self.status.get_message(i)) for i in range(self.status.num_messages())]
        return [each for each in messages if each["event"] == event]

    def wait_for(self, event, count=1):
        wait_until(lambda: len(self.told(event)) >= count)

    def wait_for_labels(self, count):
        wait_until(lambda: len(self.labels.data()) >= count)

    def stop(self):
        self.top.stop()
        self.top.wait()
        return np.array(self.labels.data(), np.uint8)


@pytest.mark.parametrize("mode", ["off", "live"])
def test_a_batch_is_the_first_that_it_decides(tmp_path, mode):
    """Of networks of other layers, without a front filter; live it is frozen. No label is lost."""
    paths = untrained(tmp_path / "a", [8], 1), untrained(tmp_path / "b", [20, 6], 2)
    samples = np.random.default_rng(3).standard_normal((2 * SYMBOLS, 2)) @ np.array([1, 1j]) / np.sqrt(2)
    settings = dict(mode=mode, batch=BATCH, front_filter=False)
    alone = []
    for path in paths:
        equalizer = adann.equalizer(path, **settings)
        equalizer.set_frozen(True)
        run = Running(equalizer, samples, end=8 * SYMBOLS)
        run.top.run()
        alone.append(run.stop())
    equalizer = adann.equalizer(paths[0], **settings)
    equalizer.set_frozen(True)
    run = Running(equalizer, samples, rate=2e5, end=8 * SYMBOLS)
    run.top.start()
    run.load(paths[1])
    run.wait_for("loaded")
    run.top.wait()
    found = run.stop()
    assert found.size == alone[0].size
    first = int(np.flatnonzero(found != alone[0])[0]) // BATCH * BATCH
    assert np.array_equal(found[:first], alone[0][:first])
    assert np.array_equal(found[first:], alone[1][first:])
    assert [each["detail"] for each in run.told("loaded")] == [paths[1]]


@pytest.mark.parametrize("mode", ["live", "lockstep"])
def test_it_learns_and_refines_as_the_new_one_does(link, mode, tmp_path):
    """From a model that has the echo wrong, with all that belongs to it; what is saved then is the new one's."""
    wrong, right, samples, sent = link
    equalizer = adann.equalizer(wrong, mode=mode, batch=BATCH)
    run = Running(equalizer, samples, rate=2e5)
    run.top.start()
    run.wait_for("step", 3)
    run.load(right)
    run.wait_for("loaded")
    saved = tmp_path / "saved"
    for message in pmt.intern("reset"), pmt.cons(pmt.intern("save"), pmt.intern(str(saved))):
        equalizer.to_basic_block()._post(pmt.intern("control"), message)
    run.wait_for("saved")
    run.wait_for_labels(len(run.labels.data()) + 4 * SYMBOLS)
    labels = run.stop()
    assert np.array_equal(core.load_model(str(saved)).network.parameters, core.load_model(right).network.parameters)
    latest = np.arange(labels.size)[-2 * SYMBOLS:]
    alone = Running(adann.equalizer(right, mode="lockstep", batch=BATCH), samples, end=4 * SYMBOLS)
    alone.top.run()
    expected = np.mean(alone.stop()[SYMBOLS:][:2 * SYMBOLS] != sent[np.arange(SYMBOLS, 3 * SYMBOLS) % SYMBOLS])
    # Some 200 errors: five deviations of a count.
    assert np.mean(labels[latest] != sent[latest % SYMBOLS]) < 1.5 * expected + 1e-3
    assert run.told("step")[-1]["refined"]


def test_what_cannot_be_loaded_is_one_warning_and_changes_nothing(link, tmp_path, capfd):
    model, _, samples, _ = link
    (tmp_path / "text").write_text("no model")
    bad = {"text": "text: ", "none": "No such file or directory", ".": "is not a file",
           "sps": "sps is 4, the running equalizer's is 2", "labels": "constellation is 8psk",
           "window": "half_window is 2, the running equalizer's is 3",
           "waveform": "expected waveform is not there, the running equalizer's is there"}
    untrained(tmp_path / "sps", [4], 1, sps=4, half_window=3)
    untrained(tmp_path / "labels", [4], 1, "8psk", half_window=3)
    untrained(tmp_path / "window", [4], 1, half_window=2)
    untrained(tmp_path / "waveform", [4], 1, half_window=3)
    runs = [Running(adann.equalizer(model, mode="lockstep", batch=BATCH), samples, rate, 4 * SYMBOLS)
            for rate in (None, 1e5)]
    runs[0].top.run()
    expected = runs[0].stop()
    capfd.readouterr()
    runs[1].top.start()
    for i, name in enumerate(bad):
        runs[1].load(tmp_path / name)
        runs[1].wait_for("refused", i + 1)
    runs[1].top.wait()
    assert np.array_equal(runs[1].stop(), expected)
    log = capfd.readouterr()
    warnings = [line for line in (log.out + log.err).splitlines() if "not loaded" in line]
    assert len(warnings) == len(bad)
    for (name, reason), line, event in zip(bad.items(), warnings, runs[1].told("refused")):
        for text in line, event["detail"]:
            assert f"model file {tmp_path / name}" in text and reason in text
        assert ":warning:" in line


def test_a_start_without_a_model_goes_on_from_one(link):
    _, right, samples, sent = link
    equalizer = adann.equalizer("", constellation="qpsk", sps=2, half_window=3, complex=True, mode="live",
                                batch=BATCH)
    run = Running(equalizer, samples, rate=1e5)
    run.top.start()
    run.wait_for_labels(2000)
    assert equalizer.network() == "linear"
    run.load(right)
    run.wait_for("loaded")
    assert equalizer.network() == "offline"
    run.wait_for_labels(len(run.labels.data()) + 2 * SYMBOLS)
    labels = run.stop()
    latest = np.arange(labels.size)[-SYMBOLS:]
    assert np.mean(labels[latest] != sent[latest % SYMBOLS]) < 0.05  # by chance 0.75
