# SPDX-License-Identifier: GPL-3.0-or-later
"""A priori ratios at the equalizer's third input, and the extrinsic soft bits that it then gives."""

from dataclasses import replace

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments import bursts
from gnuradio.adann.offline.training import TrainingSettings, train
from scipy.special import logsumexp

RESPONSE = np.array([0.3, 0.8, 1, 0.5, 0.2])  # at two samples a symbol, the symbol's own one in the middle
SPS, HALF_WINDOW, NOISE, SYMBOLS, UNKNOWN = 2, 5, 0.9, 1 << 15, 255
LATER = slice(SYMBOLS // 2, SYMBOLS // 2 + 8000)  # the equalizer has found the signal
QPSK = np.array(core.constellation("qpsk").points) / np.sqrt(2)
UNLIMITED = core.soft_bit_convention(clip=60)


def received(labels, seed):
    sent = np.zeros(SPS * labels.size, complex)
    sent[::SPS] = QPSK[labels]
    white = np.random.default_rng(seed).standard_normal((2, sent.size))
    return (np.convolve(sent, RESPONSE)[2:2 + sent.size] + NOISE * np.sqrt(0.5) * (white[0] + 1j * white[1]))


def bits_of(labels):
    return np.unpackbits(np.asarray(labels, np.uint8)[:, None], axis=1)[:, -2:]


def drawn(bits, mean, seed=5):
    """Ratios as a decoder has them: Gaussian, of a variance of twice the mean."""
    normal = np.random.default_rng(seed).standard_normal(bits.shape)
    return (mean * (2.0 * bits - 1) + np.sqrt(2 * mean) * normal).astype(np.float32)


def information(ratios, bits):
    """Bits of each bit that ratios tell, as they are."""
    return 1 - np.mean(np.log2(1 + np.exp(-ratios * (2.0 * bits - 1))))


@pytest.fixture(scope="module")
def model():
    labels = np.random.default_rng(1).integers(0, 4, 1 << 16).astype(np.uint8)
    return train(received(labels, 2).astype(np.complex64), labels, "qpsk", SPS, HALF_WINDOW,
                 TrainingSettings(hidden=(20, 20), fraction=1, epochs=20, batch=512, optimizer="adam")).model


@pytest.fixture(scope="module")
def sent():
    return np.random.default_rng(3).integers(0, 4, SYMBOLS).astype(np.uint8)


@pytest.fixture(scope="module")
def samples(sent):
    return received(sent, 4)


def run(block, samples, a_priori=None, most=None):
    """Labels; posteriors; soft bits of these, extrinsic with a_priori (symbols, 2)."""
    labels, posteriors, soft = blocks.vector_sink_b(), blocks.vector_sink_f(4), blocks.vector_sink_f()
    top, soft_bits = gr.top_block(), adann.soft_bits(4, UNLIMITED)
    past = np.zeros(SPS * 64)
    top.connect(blocks.vector_source_c(np.r_[normalized(samples), past]), block, labels)
    top.connect((block, 1), posteriors)
    top.connect((block, 1), soft_bits, soft)
    if a_priori is not None:
        told = blocks.vector_source_f(np.r_[a_priori.ravel(), np.zeros(2 * 64)], False, 2)
        top.connect(blocks.vector_source_b([UNKNOWN], True), (block, 1))
        top.connect(told, (block, 2))
        top.connect(told, (soft_bits, 1))
    top.run(*[most] if most else [])
    n = len(samples) // SPS
    return (np.array(labels.data(), np.uint8)[:n], np.reshape(posteriors.data(), (-1, 4))[:n],
            np.reshape(soft.data(), (-1, 2))[:n])


def equalizer(model, **settings):
    return adann.equalizer(model, **{"mode": "lockstep", **settings})


def forward_backward(samples, priors):
    """ln of P(1)/P(0) of PAM2 symbols, by BCJR [Bahl et al. 1974]: samples (n, 2), real; priors (n,) ln P(1)/P(0)."""
    level = np.array([-1, 1]) / np.sqrt(2)
    before, now, after = level[:, None, None], level[None, :, None], level[None, None, :]
    expected = np.stack(np.broadcast_arrays(
        RESPONSE[4] * before + RESPONSE[2] * now + RESPONSE[0] * after, RESPONSE[3] * now + RESPONSE[1] * after))
    known = np.stack([np.zeros(len(priors) + 1), np.r_[priors, 0]], axis=1)
    branch = -((samples[:, :, None, None, None] - expected) ** 2).sum(1) / NOISE ** 2 + known[1:, None, None, :]
    forward, backward = np.zeros((len(samples) + 1, 2, 2)), np.zeros((len(samples) + 1, 2, 2))
    forward[0] += known[0]
    for i, each in enumerate(branch):
        forward[i + 1] = logsumexp(forward[i][:, :, None] + each, axis=0)
    for i in reversed(range(len(branch))):
        backward[i] = logsumexp(backward[i + 1][None] + branch[i], axis=2)
    both = logsumexp((forward + backward)[:-1], axis=1)
    return both[:, 1] - both[:, 0]


def test_nothing_known_is_the_same_to_the_bit_as_no_input(model, samples):
    part = samples[:SPS * 16384]
    for found, expected in zip(run(equalizer(model), part, np.zeros((16384, 2)), 1000), run(equalizer(model), part)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mean", [1, 4])
def test_extrinsic_ratios_tell_nearly_as_much_as_those_of_bcjr(model, sent, samples, mean):
    """0.014 bits less, of 0.70 without what is known, 0.73 and 0.77; the noise of 16,000 bits is 0.005."""
    bits = bits_of(sent)
    known = drawn(bits, mean)
    exact = np.stack([forward_backward(part.reshape(-1, SPS)[LATER], known[LATER, i])
                      for i, part in enumerate((samples.real, samples.imag))], axis=1) - known[LATER]
    labels, _, found = run(equalizer(model), samples, known)
    inside = slice(20, -20)  # of BCJR's stretch, whose ends do not know what is around
    found, exact, bits = (each[inside] for each in (found[LATER], exact, bits[LATER]))
    without = information(run(equalizer(model), samples)[2][LATER], bits_of(sent)[LATER])
    told, most = information(found, bits), information(exact, bits)
    assert without + 0.015 < told and most - 0.025 < told < most
    wrong = np.mean(bits_of(labels)[LATER][inside] != bits)
    assert wrong < 1.15 * np.mean((exact + known[LATER][inside] > 0) != bits)


def test_posteriors_are_the_extrinsic_ratios_and_those_known(model, sent, samples):
    known = drawn(bits_of(sent), 2)
    _, posteriors, extrinsic = run(equalizer(model), samples, known)
    of_labels = bits_of(np.arange(4))
    ratios = np.log(posteriors @ of_labels) - np.log(posteriors @ (1 - of_labels))
    np.testing.assert_allclose(extrinsic, ratios - known, atol=1e-3)


def test_what_is_certain_is_decided(model, sent, samples):
    """One label in 16 is told as another one. The samples are against it with 5 nats and a deviation of 3.2."""
    told = sent ^ (np.arange(sent.size) % 16 == 5)
    certain = np.where(bits_of(told), np.inf, -np.inf)  # counts as 20
    labels, posteriors, _ = run(equalizer(model), samples, certain)
    np.testing.assert_array_equal(labels, told)
    assert np.isfinite(posteriors).all()


@pytest.mark.parametrize("settings", [{"decisions": "network"}, {"mode": "off"}], ids=str)
def test_the_networks_posteriors_are_multiplied(model, sent, samples, settings):
    known = drawn(bits_of(sent), 2)
    known[::7] = np.nan  # says nothing
    expected = run(equalizer(model, **settings), samples)[1] * np.exp(np.nan_to_num(known) @ bits_of(np.arange(4)).T)
    expected /= expected.sum(axis=1, keepdims=True)
    labels, posteriors, _ = run(equalizer(model, **settings), samples, known)
    np.testing.assert_allclose(posteriors, expected, atol=1e-5)
    assert np.mean(labels == expected.argmax(axis=1)) > 0.9999  # where two are equal


def test_bursts_are_decided_by_them_however_the_scheduler_cuts_them():
    """QPSK at 2 dB behind a second ray, 12 packets. A ratio of 4 with a deviation of 2.8 is wrong in 8 %."""
    received = bursts.receive(replace(bursts.STILL, snr=2), 12, 3)
    model = bursts.network_for(received.packets.link)
    length, symbols = received.sent.shape[1], received.samples.size // SPS
    tags = sorted(received.tags("start") + received.tags("end", length), key=lambda tag: tag.offset)
    known = np.zeros((symbols, 2), np.float32)
    for k, first in enumerate(range(received.packets.gap, symbols - length, received.packets.symbols)):
        known[first:first + length] = drawn(bits_of(received.sent[k]), 4, seed=k)

    def labels(a_priori, items):
        block = equalizer(model, batch=64, training_sequence=received.packets.preamble,
                          training_start_tag="start", burst_end_tag="end")
        top, sink = gr.top_block(), blocks.vector_sink_b()
        top.connect(blocks.vector_source_c(received.samples, False, 1, tags), block, sink)
        top.connect((block, 1), blocks.null_sink(16))
        top.connect(blocks.vector_source_b([UNKNOWN], True), (block, 1))
        top.connect(blocks.vector_source_f(a_priori.ravel(), False, 2), (block, 2))
        top.run(items)
        return np.array(sink.data(), np.uint8)

    def wrong(found):
        return np.mean(bits_of(received.of_packets(found).ravel()) != bits_of(received.sent.ravel()))

    found, nothing = labels(known, 8192), labels(0 * known, 8192)
    assert wrong(found) < wrong(nothing) / 2 and wrong(nothing) > 0.02
    for items in (1000, 37):
        cut = labels(known, items)
        n = min(cut.size, found.size) - 100
        np.testing.assert_array_equal(cut[:n], found[:n])


def test_they_need_the_output_of_posteriors(model, capfd):
    block, top = equalizer(model), gr.top_block()
    top.connect(blocks.null_source(8), block, blocks.null_sink(1))
    top.connect(blocks.vector_source_b([UNKNOWN], True), (block, 1))
    top.connect(blocks.null_source(8), (block, 2))
    with pytest.raises(RuntimeError):
        top.start()
    assert "a priori ratios at input 2 need output 1, the posteriors" in "".join(capfd.readouterr())
