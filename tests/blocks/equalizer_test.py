# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizer block in real flowgraphs, against the core on numpy arrays."""

import pickle
import threading
from pathlib import Path

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from waiting import wait_until

SPS, HALF_WINDOW, SYMBOLS = 2, 3, 20_000
ROUNDING = 2e-6  # of posteriors: windows on samples are decided in pairs, vectors one by one
LEARNT = 1e-5    # of what has been learnt from them, and of points up to 3; of 5 draws 2.4e-6 at most


def same_labels(found, expected, posteriors):
    """But where two labels are as probable as each other."""
    best = np.sort(posteriors, axis=1)
    sure = best[:, -1] - best[:, -2] > 2 * LEARNT
    np.testing.assert_array_equal(found[sure], expected[sure])
    assert np.mean(sure) > 0.99


class Signal:
    """Random labels, a two-tap channel with noise, and a network for it: float or complex."""

    def __init__(self, directory, kind):
        self.kind = kind
        self.constellation = core.constellation("pam4" if kind == "float" else "16qam")
        random = np.random.default_rng(4)
        self.sent = random.integers(0, self.constellation.size, SYMBOLS).astype(np.uint8)
        points = self.constellation.points[self.sent]
        samples = np.repeat(points / np.sqrt(np.mean(abs(points) ** 2)), SPS)
        samples = samples + 0.2 * np.roll(samples, SPS)
        noise = random.standard_normal((2, samples.size))
        samples = samples + 0.05 * (noise[0] + 1j * noise[1])
        if kind == "float":
            self.samples = samples.real.astype(np.float32)
        else:
            self.samples = samples.astype(np.complex64)
        floats = 2 if kind == "complex" else 1
        self.dimension = SPS * (2 * HALF_WINDOW + 1) * floats
        net = core.network([self.dimension, 12, self.constellation.size])
        net.initialize(1)
        self.model = str(directory / f"{kind}.safetensors")
        core.save_model(self.model, core.model(
            net, SPS, HALF_WINDOW, kind == "complex", self.constellation.name))
        self.network = net

    def source(self, samples=None):
        samples = self.samples if samples is None else samples
        return (blocks.vector_source_f if self.kind == "float" else blocks.vector_source_c)(samples)

    def features(self):
        """All windows that are complete, zeros before the first sample."""
        before = SPS * HALF_WINDOW + SPS // 2
        padded = np.concatenate([np.zeros(before, self.samples.dtype), self.samples])
        floats = padded.view(np.float32)
        stride = SPS * (2 if self.kind == "complex" else 1)
        return np.lib.stride_tricks.sliding_window_view(floats, self.dimension)[::stride]


@pytest.fixture(params=["float", "complex"])
def signal(request, tmp_path):
    return Signal(tmp_path, request.param)


def run(source, equalizer, *between, items=None):
    """Runs source -> ... -> equalizer with sinks on all outputs: labels, posteriors, soft."""
    classes = equalizer.output_signature().sizeof_stream_item(1) // 4
    soft_item = equalizer.output_signature().sizeof_stream_item(2)
    sinks = [blocks.vector_sink_b(), blocks.vector_sink_f(classes),
             blocks.vector_sink_f() if soft_item == 4 else blocks.vector_sink_c()]
    top = gr.top_block()
    top.connect(source, *between, equalizer)
    for port, sink in enumerate(sinks):
        top.connect((equalizer, port), sink)
    if items:
        top.run(items)
    else:
        top.run()
    return (np.array(sinks[0].data(), np.uint8),
            np.reshape(sinks[1].data(), (-1, classes)), np.array(sinks[2].data()))


def test_frozen_decisions_are_the_networks(signal):
    labels, posteriors, soft = run(signal.source(), adann.equalizer(signal.model, mode="off"))
    expected_labels, expected = signal.network.decide(signal.features())
    same_labels(labels, expected_labels, expected)
    np.testing.assert_allclose(posteriors, expected, atol=ROUNDING)
    points = signal.constellation.points
    np.testing.assert_allclose(soft, expected @ (points if signal.kind == "complex"
                                                 else points.real), atol=1e-5)
    assert labels.size == SYMBOLS - HALF_WINDOW  # the last ones wait for samples to come


def test_a_model_in_memory_is_as_good_as_its_file(signal):
    model = core.load_model(signal.model)
    for same in (core.model.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert same.to_bytes() == model.to_bytes() == Path(signal.model).read_bytes()
    settings = dict(mode="lockstep", batch=512, guard=False)
    labels = [run(signal.source(), adann.equalizer(given, **settings))[0]
              for given in (signal.model, Path(signal.model), model)]
    for other in labels[1:]:
        np.testing.assert_array_equal(other, labels[0])


def test_lockstep_is_the_trainer_whatever_the_buffers(signal):
    settings = dict(loss="aug_vat", pseudo_label="confidence_weighted", learning_rate=0.003, sigma=0.1,
                    epsilon=0.1, seed=11)
    trainer = core.trainer(signal.network, constellation=signal.constellation, **settings)
    features, expected, batch = signal.features(), [], 1024
    for first in range(0, len(features), batch):
        piece = features[first:first + batch]
        expected.append(trainer.network.decide(piece)[1])
        if len(piece) == batch:
            trainer.step(piece)
    expected, found = np.concatenate(expected), []
    for items in (None, 1, 37, 4096):
        equalizer = adann.equalizer(
            signal.model, mode="lockstep", batch=batch, average=0, **settings)
        found.append(run(signal.source(), equalizer, items=items)[1])
        np.testing.assert_allclose(found[-1], expected, atol=ROUNDING)
        np.testing.assert_array_equal(found[-1], found[0])
        assert equalizer.steps() == equalizer.updates() == SYMBOLS // batch


def test_feature_vectors_give_the_same_as_samples(signal):
    settings = dict(mode="lockstep", batch=512, seed=3)
    expected = run(signal.source(), adann.equalizer(signal.model, **settings))
    found = run(signal.source(), adann.equalizer(signal.model, input="vectors", **settings),
                adann.feature_windower(SPS, HALF_WINDOW, signal.kind == "complex"))
    same_labels(found[0], expected[0], expected[1])
    for a, b in zip(found[1:], expected[1:]):
        np.testing.assert_allclose(a, b, atol=LEARNT)


def test_known_labels_train_it(signal):
    equalizer = adann.equalizer(signal.model, mode="lockstep", loss="supervised", batch=256,
                                learning_rate=0.02, average=0)
    sink = blocks.vector_sink_b()
    top = gr.top_block()
    top.connect(signal.source(), equalizer, sink)
    top.connect(blocks.vector_source_b(signal.sent), (equalizer, 1))
    top.run()
    labels = np.array(sink.data(), np.uint8)
    late = slice(SYMBOLS * 3 // 4, labels.size)
    # By chance 15/16. Ten draws 0.001 to 0.011, one 0.031: a step of this rate may throw weights back for a while.
    assert np.mean(labels[late] != signal.sent[late]) < 0.1
    assert equalizer.steps() == labels.size // 256


def test_a_known_label_that_is_none_is_not_known():
    """Of a model with an expected waveform, which has no row for it."""
    model = core.load_model(str(Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"))
    sent = random_labels(2**14, 3)
    samples = normalized(simulate_vcsel(sent, "reference", 5))
    decided = []
    for unknown in 255, 254, 4:
        given = sent.copy()
        given[4000:4512] = unknown
        equalizer = adann.equalizer(model, mode="lockstep", loss="supervised")
        sink, top = blocks.vector_sink_b(), gr.top_block()
        top.connect(blocks.vector_source_f(samples), equalizer, sink)
        top.connect(blocks.vector_source_b(given), (equalizer, 1))
        top.run()
        assert equalizer.rejected() == 0
        decided.append(sink.data())
    assert decided[0] == decided[1] == decided[2]


def tagged(name, offsets):
    return [gr.tag_utils.python_to_tag((i, pmt.intern(name), pmt.from_long(i))) for i in offsets]


@pytest.mark.parametrize("input", ["samples", "vectors"])
@pytest.mark.parametrize("items", [None, 37])
def test_tags_move_to_their_symbols_at_every_output(tmp_path, input, items):
    """Those of sample j to symbol (j + sps//2)//sps, those of a known label to its symbol."""
    signal = Signal(tmp_path, "float")
    at, known = list(range(0, 300, 7)) + [15_001], [0, 1, 500, 9_999]
    equalizer = adann.equalizer(signal.model, input=input, mode="lockstep", loss="supervised")
    windows = [adann.feature_windower(SPS, HALF_WINDOW)] if input == "vectors" else []
    sinks = [blocks.vector_sink_b(), blocks.vector_sink_f(4), blocks.vector_sink_f()]
    top = gr.top_block()
    top.connect(blocks.vector_source_f(signal.samples, False, 1, tagged("sample", at)), *windows,
                equalizer)
    top.connect(blocks.vector_source_b(signal.sent, False, 1, tagged("known", known)),
                (equalizer, 1))
    for port, sink in enumerate(sinks):
        top.connect((equalizer, port), sink)
    top.run(*[items] * bool(items))
    for sink in sinks:
        found = [(pmt.symbol_to_string(tag.key), tag.offset, pmt.to_long(tag.value))
                 for tag in sink.tags()]
        assert sorted(found) == sorted([("sample", (j + SPS // 2) // SPS, j) for j in at]
                                       + [("known", j, j) for j in known])


def test_supervised_without_labels_is_refused(tmp_path):
    signal = Signal(tmp_path, "float")
    equalizer = adann.equalizer(signal.model, loss="supervised")
    top = gr.top_block()
    top.connect(signal.source(), equalizer, blocks.null_sink(1))
    with pytest.raises(RuntimeError, match="topology"):
        top.run()


def test_a_nan_burst_costs_the_symbols_it_touches_and_one_batch(tmp_path):
    signal = Signal(tmp_path, "float")
    expected = run(signal.source(), adann.equalizer(signal.model, mode="off"))[0]
    samples = signal.samples.copy()
    burst = slice(10_001, 10_011)
    samples[burst] = [np.nan, np.inf] * 5
    found, posteriors, soft = run(signal.source(samples), adann.equalizer(signal.model, mode="off"))
    touched = np.abs(np.arange(found.size) - 10_005 / SPS) <= HALF_WINDOW + 10 / SPS
    np.testing.assert_array_equal(found[~touched], expected[~touched])
    assert np.isfinite(posteriors).all() and np.isfinite(soft).all()

    adaptive = adann.equalizer(signal.model, mode="lockstep", batch=500)
    _, posteriors, _ = run(signal.source(samples), adaptive)
    assert np.isfinite(posteriors).all()
    # Symbol 5000 opens a batch, so its windows and those of the batch before hold the burst.
    assert adaptive.rejected() == 2
    assert adaptive.updates() == adaptive.steps() - 2


class StatusSink(gr.sync_block):
    """Keeps every message it gets."""

    def __init__(self):
        gr.sync_block.__init__(self, "status sink", None, None)
        self.messages = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.keep)

    def keep(self, message):
        self.messages.append(pmt.to_python(message))


def test_status_and_control_while_it_runs(tmp_path):
    signal = Signal(tmp_path, "float")
    source = blocks.vector_source_f(signal.samples, True)
    throttle = blocks.throttle(gr.sizeof_float, 2e6)
    equalizer = adann.equalizer(signal.model, batch=256, mode="live")
    status = StatusSink()
    top = gr.top_block()
    top.connect(source, throttle, equalizer, blocks.null_sink(1))
    top.msg_connect(equalizer, "status", status, "in")
    control = equalizer.to_basic_block()

    def send(message):
        control._post(pmt.intern("control"), message)

    def told(event):
        return [m for m in status.messages if m["event"] == event]

    top.start()
    wait_until(lambda: len(told("step")) > 5)
    step = told("step")[-1]
    assert set(step) == {"event", "loss", "confidence", "network", "refined", "decided", "step", "updates",
                         "dropped", "rejected", "rollbacks", "queued"}
    assert 0 < step["confidence"] <= 1 and step["loss"] > 0
    saved = tmp_path / "saved.safetensors"
    send(pmt.cons(pmt.intern("save"), pmt.intern(str(saved))))
    wait_until(lambda: told("saved"))
    learnt = core.load_model(str(saved)).network.parameters
    assert not np.array_equal(learnt, signal.network.parameters)
    send(pmt.intern("freeze"))
    send(pmt.intern("reset"))
    wait_until(lambda: told("reset"))
    send(pmt.cons(pmt.intern("save"), pmt.intern(str(tmp_path / "no" / "such" / "file"))))
    wait_until(lambda: told("error"))
    assert "no/such/file" in told("error")[0]["detail"]
    send(pmt.intern("nonsense"))  # logged, and nothing else
    send(pmt.intern("resume"))
    before = equalizer.steps()
    wait_until(lambda: equalizer.steps() > before + 5)
    send(pmt.intern("freeze"))
    for garbage in (pmt.PMT_NIL, pmt.cons(pmt.intern("freeze"), pmt.from_double(float("nan"))),
                    pmt.cons(pmt.intern("save"), pmt.PMT_NIL), pmt.make_u8vector(100_000, 7)):
        send(garbage)
    send(pmt.cons(pmt.intern("freeze"), pmt.PMT_F))
    before = equalizer.steps()
    wait_until(lambda: equalizer.steps() > before + 5)
    top.stop()
    top.wait()


def test_a_flowgraph_goes_on_from_a_checkpoint_to_the_bit(signal, tmp_path):
    settings = dict(input="vectors", mode="lockstep", batch=512, seed=3)
    checkpoint = str(tmp_path / "checkpoint.safetensors")

    def decide(model, features, **more):
        equalizer = adann.equalizer(model, **settings, **more)
        source = blocks.vector_source_f(features.ravel(), False, signal.dimension)
        return run(source, equalizer), equalizer.steps()

    features = signal.features()
    expected, steps = decide(signal.model, features)
    part = 20 * settings["batch"]
    before, _ = decide(signal.model, features[:part], checkpoint=checkpoint)
    # It is the next run's model and is written again.
    after, all_steps = decide(checkpoint, features[part:], checkpoint=checkpoint)
    for a, b, whole in zip(before, after, expected):
        np.testing.assert_array_equal(np.concatenate([a, b]), whole)
    assert all_steps == steps == len(features) // 512
    assert adann.equalizer(checkpoint).steps() == steps
    with pytest.raises(core.ModelFileError, match="'adam', but the optimizer is set to 'sgd'"):
        adann.equalizer(checkpoint, optimizer="sgd")
    assert adann.equalizer(checkpoint, optimizer="sgd", mode="off").steps() == 0


def test_live_at_full_speed_drops_batches_rather_than_wait(tmp_path):
    signal = Signal(tmp_path, "float")
    equalizer = adann.equalizer(signal.model, batch=1024, mode="live")
    head = blocks.head(gr.sizeof_float, 200 * SYMBOLS * SPS)
    sink = blocks.null_sink(1)
    top = gr.top_block()
    top.connect(blocks.vector_source_f(signal.samples, True), head, equalizer, sink)
    top.run()
    batches = 200 * SYMBOLS // 1024
    assert equalizer.steps() > 0
    assert 0 <= equalizer.queued() <= 65536 // 1024
    told = equalizer.steps() + equalizer.dropped() + equalizer.queued()
    assert batches <= told <= batches + 1  # one is dropped as it begins


def test_a_hundred_restarts_leave_no_thread(tmp_path):
    signal = Signal(tmp_path, "float")
    equalizer = adann.equalizer(signal.model, batch=128, mode="live")
    source = blocks.vector_source_f(signal.samples, True)
    top = gr.top_block()
    top.connect(source, equalizer, blocks.null_sink(1))

    def threads():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Threads"))

    top.start()
    top.stop()
    top.wait()
    before, busy = threads(), 0
    for _ in range(100):
        steps = equalizer.steps()
        top.start()
        if busy < 10:  # some of them with steps made for sure
            wait_until(lambda: equalizer.steps() > steps)
            busy += 1
        top.stop()
        top.wait()
    wait_until(lambda: threads() <= before)  # the scheduler's last one may be on its way out
    assert threading.active_count() < 10


@pytest.mark.parametrize("argument, message", [
    (dict(mode="on"), "mode is 'on', allowed: live, lockstep, off"),
    (dict(input="bits"), "input is 'bits'"),
    (dict(loss="mse"), "loss is 'mse'"),
    (dict(pseudo_label="soft"), "pseudo_label is 'soft'"),
    (dict(optimizer="adamw"), "optimizer is 'adamw'"),
    (dict(batch=15), "batch is 15, allowed: 16 to 1048576"),
    (dict(average=10**10), "average is 10000000000"),
    (dict(balance=-1), "balance is -1"),
    (dict(learning_rate=-1), "learning_rate is -1, allowed: 0 to 10, or automatic"),
    (dict(batch=-1), "batch is -1, allowed: 16 to 1048576"),
    (dict(batch="many"), "batch is 'many', allowed: 16 to 1048576"),
    (dict(sigma=float("nan")), "sigma is nan"),
    (dict(epsilon=11), "epsilon is 11"),
    (dict(xi=0), "xi is 0"),
    (dict(checkpoint="no/such/file"), "checkpoint is 'no/such/file', allowed: a file in a folder"),
    (dict(checkpoint_interval=10**10), "checkpoint_interval is 10000000000")])
def test_a_setting_out_of_range_is_named(tmp_path, argument, message):
    signal = Signal(tmp_path, "float")
    with pytest.raises(ValueError, match=message):
        adann.equalizer(signal.model, **argument)


def test_what_is_no_setting_is_named(signal):
    with pytest.raises(TypeError, match="los is no setting, allowed: input, mode, .* loss, pseudo_label, "):
        adann.equalizer(signal.model, los="vat")


def test_a_missing_model_is_named():
    with pytest.raises(core.ModelFileError, match="model file no/such: No such file"):
        adann.equalizer("no/such")


@pytest.mark.parametrize("told, message", [
    (dict(complex=False), "complex is False, allowed: True, for the model is of complex samples"),
    (dict(classes=16), "classes is 16, allowed: 4, for the model decides among as many points"),
    (dict(sps=4), "sps is 4, allowed: 2, as the model has it, or None"),
    (dict(half_window=6), "half_window is 6, allowed: 5, as the model has it, or None"),
    (dict(constellation="16qam"), "constellation is 16qam, allowed: qpsk, as the model has it, or None"),
    (dict(sps=2.5), "sps is 2.5, allowed: a whole number")])
def test_what_is_told_of_a_model_and_is_not_so_is_refused(told, message):
    model = core.model(core.network([44, 4]), 2, 5, True, "qpsk")
    adann.equalizer(model, constellation="qpsk", sps=96e3 / 48e3, half_window=5, complex=True, classes=4)
    adann.equalizer(model, constellation=0.3 * core.constellation("qpsk").points + (1 + 2j))  # at any scale and mean
    with pytest.raises(ValueError, match=message):
        adann.equalizer(model, **told)
