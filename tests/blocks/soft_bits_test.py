# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft bits under GNU Radio's scheduler, and what gr-fec's decoders gain from them."""

import contextlib
import os

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, fec, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.training import TrainingSettings, train

SPS, HALF_WINDOW, NOISE = 2, 2, 1.05  # the levels are 2 apart


def run(source, *path, sink):
    top = gr.top_block()
    top.connect(source, *path, sink)
    top.run()
    return np.array(sink.data())


@pytest.mark.parametrize("size", [2, 4, 16])
@pytest.mark.parametrize("buffer_items", [0, 512])
def test_the_ratios_are_those_of_the_bits_marginals_whatever_the_buffers(size, buffer_items):
    bits = size.bit_length() - 1
    posteriors = np.random.default_rng(1).dirichlet(np.full(size, 0.3), 20_011).astype(np.float32)
    source = blocks.vector_source_f(posteriors.ravel(), False, size)
    block = adann.soft_bits(size)
    if buffer_items:
        source.set_max_output_buffer(buffer_items)
        block.set_max_noutput_items(7 * bits)
    found = run(source, block, sink=blocks.vector_sink_f()).reshape(-1, bits)
    of_label = np.unpackbits(np.arange(size, dtype=np.uint8)[:, None], axis=1)[:, -bits:]
    expected = np.log(posteriors.astype(float) @ of_label) - np.log(
        posteriors.astype(float) @ (1 - of_label))
    np.testing.assert_allclose(found, np.clip(expected, -20, 20), atol=1e-3)


def test_a_tag_moves_to_the_first_bit_of_its_symbol():
    at = [0, 1, 500, 4095]
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("here"), pmt.from_long(i))) for i in at]
    sink = blocks.vector_sink_f()
    run(blocks.vector_source_f(np.full(16 * 4096, 1 / 16), False, 16, tags), adann.soft_bits(16),
        sink=sink)
    assert [(tag.offset, pmt.to_long(tag.value)) for tag in sink.tags()] == [(4 * i, i) for i in at]


def test_a_size_that_is_no_power_of_two_is_named():
    with pytest.raises(ValueError, match="size is 12, allowed: powers of two from 2 to 256"):
        adann.soft_bits(12)


def received(labels, seed, noise=NOISE):
    """PAM4 through one symbol of interference in noise."""
    points = np.array(core.constellation("pam4").points).real[labels]
    samples = np.roll(np.repeat(points + 0.3 * np.roll(points, 1), SPS), -(SPS // 2))
    white = np.random.default_rng(seed).standard_normal(samples.size)
    return (samples + noise * white).astype(np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("model") / "model.safetensors")
    labels = np.random.default_rng(2).integers(0, 4, 40_000).astype(np.uint8)
    core.save_model(path, train(received(labels, 3), labels, "pam4", SPS, HALF_WINDOW,
                                TrainingSettings(hidden=(10, 10), fraction=1, epochs=20, batch=512,
                                                 optimizer="adam")).model)
    return path


def transmitted(coded, model, noise=NOISE):
    """What the equalizer gives for coded bits, in pairs as labels: soft bits, decided bits."""
    labels = coded.reshape(-1, 2) @ np.array([2, 1], np.uint8)
    samples = normalized(received(labels, 5, noise))
    source = blocks.vector_source_f(np.append(samples, np.zeros(SPS * HALF_WINDOW)))
    equalizer = adann.equalizer(model, mode="off")
    soft, decided = blocks.vector_sink_f(), blocks.vector_sink_b()
    top = gr.top_block()
    top.connect(source, equalizer, decided)
    top.connect((equalizer, 1), adann.soft_bits(4), soft)
    top.run()
    decided = np.array(decided.data(), np.uint8)[:, None]
    return np.array(soft.data()), np.unpackbits(decided, axis=1)[:, -2:].ravel()


def decode(values, decoder, payload):
    """Bit error rate behind a decoder, over what it gives of the payload."""
    decoded = run(blocks.vector_source_f(values), decoder, sink=blocks.vector_sink_b())
    assert decoded.size > 0.9 * payload.size
    return np.mean(decoded != payload[:decoded.size])


def test_a_viterbi_decoder_gains_from_them(model):
    """Rate 1/2, constraint length 7, where 7 % of the coded bits are wrong."""
    code = (2000, 7, 2, [79, 109], 0)
    payload = np.random.default_rng(4).integers(0, 2, 40_000).astype(np.uint8)
    encoder = fec.extended_encoder(fec.cc_encoder.make(*code, fec.CC_STREAMING, False), None, "11")
    coded = run(blocks.vector_source_b(payload), encoder, sink=blocks.vector_sink_b())
    soft, decided = transmitted(coded, model)
    assert 0.06 < np.mean(decided != coded[:decided.size]) < 0.09

    hard, gained = (decode(values, fec.extended_decoder(
        fec.cc_decoder.make(*code, -1, fec.CC_STREAMING, False), None, puncpat="11"), payload)
        for values in (2.0 * decided - 1, 0.25 * soft))
    assert hard > 1e-2  # 2.4e-2
    assert gained < 1e-3  # 1.3e-4


def test_an_ldpc_decoder_gains_from_them(model):
    """Length 1100, rate 0.4, where 10 % of the coded bits are wrong."""
    alist = os.path.join(gr.prefix(), "share/gnuradio/fec/ldpc/n_1100_k_0442_gap_24.alist")
    payload = np.random.default_rng(6).integers(0, 2, 442 * 180).astype(np.uint8)
    coded = run(blocks.vector_source_b(payload), fec.encoder(fec.ldpc_encoder_make(alist), 1, 1),
                sink=blocks.vector_sink_b())
    soft, decided = transmitted(coded, model, noise=1.2)
    assert 0.08 < np.mean(decided != coded[:decided.size]) < 0.12

    def decoder():
        """Before GNU Radio 3.10.8 it made ratios y/(2 sigma^2) of its own; where they are exact, it overflows."""
        with contextlib.suppress(TypeError):
            return fec.ldpc_decoder_make(alist, 1, 50)
        return fec.ldpc_decoder_make(alist, 50)

    # How sure hard decisions are taken for matters to this decoder: the best of three.
    hard, gained = (min(decode(values, fec.decoder(decoder(), 4, 1), payload) for values in choices)
                    for choices in ([ratio * (2.0 * decided - 1) for ratio in (5, 8, 15)], [soft]))
    assert hard > 5e-3  # GNU Radio 3.10.5: 1.5e-2, 3.10.12: 1.1e-2
    assert gained < 1e-3  # 0, 0
