# SPDX-License-Identifier: GPL-3.0-or-later
"""The front filter in the equalizer block, against the core on numpy arrays."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core

SPS, HALF_WINDOW, SYMBOLS, LENGTH = 2, 2, 60_000, 8


def samples_of(labels, points, echo):
    random = np.random.default_rng(7)
    held = np.repeat(points[labels], SPS)
    samples = held + echo * np.roll(held, 3)
    noise = random.standard_normal((2, samples.size))
    samples = samples + 0.08 * (noise[0] + 1j * noise[1])
    return samples.astype(np.complex64) if np.iscomplexobj(points) else samples.real.astype(np.float32)


@pytest.fixture(params=["pam4", "qpsk"])
def received(request):
    """A model of a clean link, and what comes of one with an echo."""
    alphabet = core.constellation(request.param)
    points = alphabet.points / np.sqrt(np.mean(np.abs(alphabet.points) ** 2))
    points = points if alphabet.is_complex else points.real
    planes = 2 if alphabet.is_complex else 1
    net = core.network([planes * SPS * (2 * HALF_WINDOW + 1), alphabet.size])
    middle = planes * (SPS * HALF_WINDOW + SPS // 2)
    net.weight(0)[:, middle] = 10 * points.real
    if alphabet.is_complex:
        net.weight(0)[:, middle + 1] = 10 * points.imag
    net.bias(0)[:] = -5 * np.abs(points) ** 2
    model = core.model(net, SPS, HALF_WINDOW, alphabet.is_complex, request.param)
    labels = np.random.default_rng(3).integers(0, alphabet.size, SYMBOLS).astype(np.uint8)
    clean = samples_of(labels, points, 0)
    model.waveform = core.expected_waveform.fit(
        alphabet, np.roll(clean, SPS // 2).reshape(-1, SPS), labels)
    return model, labels, samples_of(labels, points, 0.35 if planes == 1 else 0.8)


def run(equalizer, samples, tags=(), items=8192):
    source = blocks.vector_source_c if np.iscomplexobj(samples) else blocks.vector_source_f
    sink, status = blocks.vector_sink_b(), blocks.message_debug()
    top = gr.top_block()
    top.connect(source(samples, False, 1, list(tags)), equalizer, sink)
    top.msg_connect((equalizer, "status"), (status, "store"))
    top.run(items)
    return (np.array(sink.data(), np.uint8), [tag.offset for tag in sink.tags()],
            [pmt.to_python(status.get_message(i)) for i in range(status.num_messages())])


def test_decides_as_the_core_does_whatever_the_scheduler_hands_over(received):
    model, sent, samples = received
    reach = LENGTH * SPS // 2
    before, size = SPS * HALF_WINDOW + SPS // 2 + reach, SPS * (2 * HALF_WINDOW + 1) + 2 * reach
    padded = np.concatenate([np.zeros(before, samples.dtype), samples]).view(np.float32)
    floats = 2 if model.complex else 1
    windows = np.lib.stride_tricks.sliding_window_view(padded, size * floats)[::SPS * floats]
    expected = core.tracked_network(model, length=LENGTH).decide(windows)[0]
    for items in (8192, 1000):
        equalizer = adann.equalizer(model, mode="lockstep", learning_rate=0, decisions="network",
                                    front_filter_length=LENGTH)
        found, _, told = run(equalizer, samples, items=items)
        assert np.array_equal(found, expected)
    off, _, _ = run(adann.equalizer(model, mode="off"), samples)
    assert np.mean(off[4096:] != sent[4096:off.size]) > 0.02
    assert np.mean(found[4096:] != sent[4096:found.size]) < 2e-3
    steps = [each for each in told if each["event"] == "step"]
    last = steps[-1]
    assert last["mer"] == -last["residual"] and last["evm"] == pytest.approx(10 ** (last["residual"] / 20))
    assert last["memory"] > 0 and last["residual"] < -8
    # PAM4 has one in the first 1024 symbols in 7 of 20 draws; none later, of QPSK none, whose taps make 1e-3 of errors.
    assert last["filter_resets"] == steps[len(steps) // 4]["filter_resets"]
    state = equalizer.front_filter()
    assert state.state == last["tracking"] == "following"
    assert state.memory > 0 and len(state.taps) == 2 * reach + 1
    assert abs(state.taps[reach] - 1) < 0.5


def test_tags_stay_with_their_symbols(received):
    model, _, samples = received
    at = [0, 1, 2, 999, 20_001]
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("it"), pmt.from_long(i))) for i in at]
    _, offsets, _ = run(adann.equalizer(model, mode="lockstep"), samples, tags)
    assert offsets == [(i + SPS // 2) // SPS for i in at]


def test_length_out_of_range_is_refused(received):
    with pytest.raises(ValueError, match="length is 65, allowed: 1 to 64"):
        adann.equalizer(received[0], front_filter_length=65)


# Of a receiver that hands over whole numbers, or has 40 dB less gain than the one that the model was trained with.
@pytest.mark.parametrize("factor", [20_000, 0.01])
def test_any_level_is_decided_as_the_models_own(received, factor):
    model, sent, samples = received
    own, _, _ = run(adann.equalizer(model, mode="lockstep"), samples)
    equalizer = adann.equalizer(model, mode="lockstep")
    other, _, told = run(equalizer, np.float32(factor) * samples)
    cut, _, _ = run(adann.equalizer(model, mode="lockstep"), np.float32(factor) * samples, items=1000)
    assert np.array_equal(other, cut)
    late = slice(8192, other.size)
    # Two filters that start at different symbols: their errors, some 50, differ by chance.
    errors = [np.sum(each[late] != sent[late]) for each in (own, other)]
    assert abs(errors[1] - errors[0]) <= 6 * np.sqrt(sum(errors) + 1)
    # The echo adds up to 2.2 dB to the power.
    assert told[-1]["level"] == pytest.approx(20 * np.log10(factor) + 1, abs=2)
    assert 20 * np.log10(equalizer.front_filter().level) == pytest.approx(told[-1]["level"])
    assert "level" not in run(adann.equalizer(model, mode="lockstep"), samples)[2][-1]


# Their taps come from the training sequence, at any level; no look at the level disturbs them.
@pytest.mark.parametrize("factor", [3, 0.2])
def test_bursts_of_another_level(received, factor):
    model, sent, samples = received
    burst, training = 1500, 64
    tags = [gr.tag_utils.python_to_tag((start * SPS, pmt.intern("here"), pmt.PMT_T, pmt.PMT_F))
            for start in range(0, 8 * burst, burst)]
    # Each is the same one.
    repeated = np.tile(samples[4 * SPS:(4 + burst) * SPS], 8)
    errors = []
    for by in (1, factor):
        equalizer = adann.equalizer(model, mode="lockstep", training_sequence=sent[4:4 + training].tolist(),
                                    training_start_tag="here")
        found, _, _ = run(equalizer, np.float32(by) * repeated, tags)
        assert equalizer.bursts() == 8
        wrong = found[:7 * burst].reshape(7, burst) != sent[4:4 + burst]
        errors.append(np.sum(wrong[:, training:-50]))
    assert errors[1] <= errors[0] + 6 * np.sqrt(sum(errors) + 1)


# PAM4 and QPSK in noise of some 14 and 8 dB, the model is of 22. The residual of wrong sequences is 0.7 to
# 2 times the power, of right ones up to half (30 draws of each); at the limit of a lost stream none was found.
@pytest.mark.parametrize("is_right", [True, False])
def test_bursts_are_found_in_more_noise_than_was_trained(received, is_right):
    model, sent, samples = received
    random, training, burst = np.random.default_rng(8), 64, 1000
    noise = random.standard_normal((2, samples.size))
    samples = samples + (0.28 * (noise[0] + 1j * noise[1]) if model.complex else 0.2 * noise[0])
    wrong = 0
    for first in range(100, 20 * burst, burst):
        sequence = sent[first:first + training] if is_right else random.integers(0, 4, training)
        equalizer = adann.equalizer(model, mode="lockstep", training_sequence=sequence.tolist(),
                                    training_start_tag="here")
        tags = [gr.tag_utils.python_to_tag((0, pmt.intern("here"), pmt.PMT_T, pmt.PMT_F))]
        part = samples[first * SPS:(first + burst) * SPS].astype(np.complex64 if model.complex else np.float32)
        found, _, _ = run(equalizer, part, tags)
        assert equalizer.bursts() == is_right
        wrong += np.sum(found[training:900] != sent[first + training:first + 900])
    if is_right:
        assert wrong < 0.08 * 20 * (900 - training)


# Noise at a hundredth of the signal's amplitude is taken for it until that begins.
def test_a_sender_that_begins_late_is_found_at_its_level(received):
    model, sent, samples = received
    random, begins = np.random.default_rng(5), 20_000
    noise = 0.01 * random.standard_normal((2, begins * SPS))
    late = samples.copy()
    late[:begins * SPS] = noise[0] + 1j * noise[1] if model.complex else noise[0]
    found, _, told = run(adann.equalizer(model, mode="lockstep"), late)
    assert "level" not in told[-1] and told[-1]["tracking"] == "following"
    assert any(each["event"] == "reset" and "another level" in each["detail"] for each in told)
    assert np.mean(found[-20_000:] != sent[found.size - 20_000:found.size]) < 2e-3
