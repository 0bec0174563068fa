# SPDX-License-Identifier: GPL-3.0-or-later
"""The MLSE block in real flowgraphs, against the core on numpy arrays."""

import threading
import time

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core

SYMBOLS = 20_000


class Signal:
    """Random labels through a three-tap channel with noise; sample i*sps is symbol i's middle."""

    def __init__(self, kind, sps):
        self.kind, self.sps = kind, sps
        self.name = "pam4" if kind == "float" else "qpsk"
        points = core.constellation(self.name).points
        random = np.random.default_rng(3)
        self.labels = random.integers(0, 4, SYMBOLS).astype(np.uint8)
        a = np.pad(points[self.labels], 1)
        self.response = 0.3 * random.standard_normal((sps, 3)) + [0, 1, 0]
        own = np.lib.stride_tricks.sliding_window_view(a, 3)[:, ::-1] @ self.response.T
        noise = random.standard_normal((2, *own.shape))
        own = own + 0.2 * (noise[0] + 1j * noise[1])
        # The rows hold each symbol's own samples, the stream begins in the first one's middle.
        self.rows = (own.real if kind == "float" else own).astype(
            np.float32 if kind == "float" else np.complex64)
        self.rows[0, :sps // 2] = 0
        self.samples = self.rows.ravel()[sps // 2:]

    @property
    def arguments(self):
        return self.name, self.sps, 3, self.kind == "complex"

    def run(self, block, known=None, tags=(), small=False, known_tags=()):
        source = (blocks.vector_source_f if self.kind == "float" else blocks.vector_source_c)(
            self.samples, False, 1, list(tags))
        sink = blocks.vector_sink_b()
        top = gr.top_block()
        top.connect(source, block, sink)
        if known is not None:
            top.connect(blocks.vector_source_b(known, False, 1, list(known_tags)), (block, 1))
        if small:
            source.set_max_output_buffer(512)
            block.set_max_noutput_items(7)
        top.run()
        return np.array(sink.data(), np.uint8), sink.tags()


@pytest.fixture(params=[("float", 1), ("float", 4), ("complex", 3)], ids=lambda p: f"{p[0]}{p[1]}")
def signal(request):
    return Signal(*request.param)


@pytest.mark.parametrize("small", [False, True])
def test_the_labels_are_the_cores_whatever_the_buffers(signal, small):
    options = dict(response=signal.response, adaptation="decision_directed", update_interval=1000)
    expected = core.mlse(*signal.arguments, **options).process(signal.rows[:-1])
    decided, _ = signal.run(adann.mlse(*signal.arguments, **options), small=small)
    assert abs(decided.size - expected.size) <= 256
    common = min(decided.size, expected.size)
    assert common > SYMBOLS - 400
    np.testing.assert_array_equal(decided[:common], expected[:common])
    assert np.mean(decided != signal.labels[:decided.size]) < 0.02


def test_another_run_is_another_stream(signal):
    options = dict(response=signal.response, adaptation="decision_directed", update_interval=500, step=0.01)
    block = adann.mlse(*signal.arguments, **options)
    signal.run(block)
    fresh = adann.mlse(*signal.arguments, **{**options, "response": block.response()})
    np.testing.assert_array_equal(signal.run(block)[0], signal.run(fresh)[0])


def test_known_labels_at_the_second_input_teach_the_response(signal):
    block = adann.mlse(*signal.arguments, adaptation="supervised", update_interval=1000)
    decided, _ = signal.run(block, signal.labels)
    taps = np.reshape(block.response(), (signal.sps, 3))
    np.testing.assert_allclose(taps, signal.response, atol=0.1)
    assert block.updates() >= 19
    assert np.mean(decided[5000:] != signal.labels[5000:decided.size]) < 0.02


def test_a_training_sequence_begins_with_each_tag(signal):
    start = 3000
    tag = gr.tag_utils.python_to_tag(
        (start * signal.sps, pmt.intern("training"), pmt.PMT_T))
    settings = dict(adaptation="supervised", update_interval=500, step=0.02,
                    training=signal.labels[start:start + 4000].tolist())
    told = adann.mlse(*signal.arguments, training_tag="training", **settings)
    decided, tags = signal.run(told, tags=[tag])
    np.testing.assert_allclose(np.reshape(told.response(), signal.response.shape), signal.response,
                               atol=0.15)
    assert np.mean(decided[8000:] != signal.labels[8000:decided.size]) < 0.02
    assert [t.offset for t in tags] == [start]
    never = adann.mlse(*signal.arguments, training_tag="another", **settings)
    before = never.response()
    signal.run(never, tags=[tag])
    assert never.response() == before
    from_the_first = adann.mlse(*signal.arguments, **{
        **settings, "training": signal.labels[:4000].tolist()})
    signal.run(from_the_first)
    np.testing.assert_allclose(np.reshape(from_the_first.response(), signal.response.shape),
                               signal.response, atol=0.15)


def test_another_equalizers_decisions_are_a_blind_start():
    signal = Signal("float", 1)
    sliced = np.digitize(signal.samples, [-2, 0, 2])
    decisions = np.array([0, 1, 3, 2], np.uint8)[sliced]
    assert np.mean(decisions != signal.labels) > 0.1
    block = adann.mlse(*signal.arguments, adaptation="supervised", update_interval=1000)
    decided, _ = signal.run(block, decisions)
    assert np.mean(decided[5000:] != signal.labels[5000:decided.size]) < 0.02


def test_tags_move_to_the_symbol_that_has_the_sample(signal):
    tags = [gr.tag_utils.python_to_tag((j, pmt.intern("here"), pmt.from_long(j)))
            for j in range(0, 1000, 7)]
    _, passed = signal.run(adann.mlse(*signal.arguments), tags=tags)
    assert [(t.offset, pmt.to_long(t.value)) for t in passed] == [
        ((j + signal.sps // 2) // signal.sps, j) for j in range(0, 1000, 7)]


def test_tags_of_known_labels_move_to_their_symbols(signal):
    at = [0, 1, 500, 9_999]
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("known"), pmt.from_long(i))) for i in at]
    _, passed = signal.run(adann.mlse(*signal.arguments), signal.labels, known_tags=tags)
    assert [(t.offset, pmt.to_long(t.value)) for t in passed] == [(i, i) for i in at]


def test_blocks_are_decided_on_their_own(signal):
    options = dict(block_length=100, guard=2, response=signal.response)
    expected = core.mlse(*signal.arguments, **options).process(signal.rows)
    decided, _ = signal.run(adann.mlse(*signal.arguments, **options))
    np.testing.assert_array_equal(decided, expected[:decided.size])
    assert decided.size >= SYMBOLS - 100


def test_setters_are_safe_while_the_flowgraph_runs():
    signal = Signal("float", 2)
    block = adann.mlse(*signal.arguments, adaptation="decision_directed", update_interval=64)
    top = gr.top_block()
    top.connect(blocks.vector_source_f(signal.samples, True), block, blocks.null_sink(1))
    top.start()
    errors = []

    def turn(setter, *values):
        try:
            for i in range(300):
                setter(values[i % len(values)])
        except Exception as error:  # the thread's would be lost
            errors.append(error)

    threads = [threading.Thread(target=turn, args=arguments) for arguments in (
        (block.set_response, signal.response, 2 * signal.response),
        (block.set_adaptation, "off", "supervised", "decision_directed"),
        (block.set_step, 0.0, 0.5))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(0.05)
    top.stop()
    top.wait()
    assert not errors
    assert np.isfinite(block.response()).all()
    with pytest.raises(ValueError, match="step is 2"):
        block.set_step(2)
    with pytest.raises(ValueError, match="response is 1 taps, allowed: sps x memory = 2 x 3"):
        block.set_response([1])
    with pytest.raises(ValueError, match="a label of training is 4, allowed: 0 to 3"):
        adann.mlse(*signal.arguments, training=[0, 4])
