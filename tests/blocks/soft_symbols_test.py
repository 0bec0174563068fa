# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizer's soft symbols: the points of its decisions with the noise that was received."""

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core

SPS, HALF_WINDOW, SYMBOLS, NOISE = 2, 2, 30000, 0.06
# In the samples of the symbol before, its own ones, and those of the symbol behind.
PULSE = np.array([0.1, 0.05, 0.9, 1, 0.3, 0.1]) / np.sqrt(2)
KINDS = [("pam4", False), ("16qam", True), ("bpsk", True)]


def link(name, is_complex, seed, noise=NOISE):
    """Labels, their points, unit-power points and samples of a link with the pulse above."""
    random = np.random.default_rng(seed)
    alphabet = core.constellation(name)
    labels = random.integers(0, alphabet.size, SYMBOLS).astype(np.uint8)
    points = alphabet.points[labels]
    points = points if is_complex else points.real
    sent = np.zeros(SPS * SYMBOLS, points.dtype)
    sent[::SPS] = points / np.sqrt(np.mean(np.abs(alphabet.points) ** 2))
    samples = np.convolve(sent, PULSE)[3:][:sent.size]
    added = random.standard_normal((samples.size, 2)) @ [1, 1j if is_complex else 0]
    return labels, points, samples + noise * added


def model(name, is_complex):
    """A network of one layer that decides the point nearest to the middle sample."""
    alphabet = core.constellation(name)
    scaled = alphabet.points / np.sqrt(np.mean(np.abs(alphabet.points) ** 2))
    planes = 1 + is_complex
    net = core.network([planes * SPS * (2 * HALF_WINDOW + 1), alphabet.size])
    middle = planes * (SPS * HALF_WINDOW + SPS // 2)
    net.weight(0)[:, middle] = 10 * scaled.real
    if is_complex:
        net.weight(0)[:, middle + 1] = 10 * scaled.imag
    gain = PULSE[3]
    net.bias(0)[:] = -5 * gain * np.abs(scaled) ** 2
    made = core.model(net, SPS, HALF_WINDOW, is_complex, name)
    labels, _, samples = link(name, is_complex, 1)
    rows = np.roll(samples, SPS // 2).reshape(-1, SPS)
    made.waveform = core.expected_waveform.fit(
        alphabet, rows.astype(np.complex64 if is_complex else np.float32), labels)
    return made


def soft_symbols(model, samples, **settings):
    """Labels and soft symbols of samples that go through an equalizer."""
    is_complex = np.iscomplexobj(samples)
    source = (blocks.vector_source_c if is_complex else blocks.vector_source_f)(samples.tolist())
    equalizer = adann.equalizer(model, **dict(dict(mode="off"), **settings))
    sinks = [blocks.vector_sink_b(), blocks.vector_sink_f(model.constellation.size),
             (blocks.vector_sink_c if is_complex else blocks.vector_sink_f)()]
    top = gr.top_block()
    top.connect(source, equalizer)
    for port, sink in enumerate(sinks):
        top.connect((equalizer, port), sink)
    top.run()
    return [np.array(sink.data()) for sink in sinks]


@pytest.mark.parametrize("name, is_complex", KINDS)
def test_their_noise_is_that_of_a_matched_filter_without_interference(name, is_complex):
    _, points, samples = link(name, is_complex, 2)
    labels, _, soft = soft_symbols(model(name, is_complex), samples)
    lag = labels.size - soft.size
    assert 0 < lag <= 24
    inside = slice(50, soft.size - 50)
    error = soft[inside] - points[inside]
    right = core.constellation(name).points[labels[inside].astype(int)] == points[inside]
    assert right.mean() > 0.9
    alphabet = core.constellation(name).points
    scale = np.sqrt(np.mean(np.abs(alphabet) ** 2))
    bound = scale * NOISE / np.sqrt(np.sum(PULSE ** 2))  # in each dimension
    # Where no decision is wrong within the pulse: 20,000 symbols give it to 1 %.
    whole = np.convolve(right, np.ones(9), "same") > 8.5
    assert whole.sum() > 5000
    for part in [error.real, error.imag][:1 + is_complex]:
        assert abs(part[whole].mean()) < 0.05 * bound
        assert np.std(part[whole]) == pytest.approx(bound, rel=0.05)


def test_a_symbol_that_was_sent_beside_its_point_is_found_there():
    made = model("16qam", True)
    _, points, samples = link("16qam", True, 3, noise=0)
    moved = 0.3 - 0.2j
    at = 1000
    scale = np.sqrt(np.mean(np.abs(core.constellation("16qam").points) ** 2))
    place = np.zeros(samples.size, complex)
    place[SPS * at] = moved / scale
    samples = samples + np.convolve(place, PULSE)[3:][:samples.size]
    soft = soft_symbols(made, samples)[2]
    assert abs(soft[at] - points[at] - moved) < 0.02
    far = np.delete(np.arange(100, 2000), np.arange(at - 105, at - 94))
    assert np.abs(soft[far] - points[far]).max() < 0.05


def test_means_stay_selectable_and_are_all_there_is_without_a_waveform():
    made = model("pam4", False)
    _, _, samples = link("pam4", False, 4)
    labels, posteriors, soft = soft_symbols(made, samples, soft_symbol="mean")
    means = np.reshape(posteriors, (-1, 4)) @ core.constellation("pam4").points.real
    np.testing.assert_allclose(soft, means, atol=1e-5)
    assert soft.size == labels.size
    made.waveform = None
    np.testing.assert_array_equal(soft_symbols(made, samples)[2], soft)


def test_they_follow_what_the_front_filter_puts_right():
    """An echo and a carrier: behind the filter the points lie where they should."""
    made = model("16qam", True)
    _, points, samples = link("16qam", True, 5, noise=0.03)
    samples = samples + 0.15 * np.exp(1j) * np.roll(samples, 3)
    samples *= np.exp(2j * np.pi * 2e-5 * np.arange(samples.size) / SPS)
    soft = soft_symbols(made, samples, mode="lockstep")[2]
    late = slice(8192, soft.size - 50)
    error = np.sqrt(np.mean(np.abs(soft[late] - points[late]) ** 2))
    assert error < 0.4  # levels are 2 apart; a symbol at random: 4


def test_what_is_not_usable_leaves_a_finite_point():
    made = model("pam4", False)
    _, _, samples = link("pam4", False, 6)
    samples[1000:1010] = np.nan
    assert np.isfinite(soft_symbols(made, samples)[2]).all()


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="soft_symbol is 'hard'"):
        adann.equalizer(model("pam4", False), soft_symbol="hard")
