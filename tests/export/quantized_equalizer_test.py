# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizer block with models in whole numbers, against core.quantized_network."""

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.export.quantize import quantize
from gnuradio.adann.offline.training import feature_view
from scipy.special import softmax


def whole_numbers(link, bits):
    """A model in so many bits, samples, and their windows."""
    model, samples = core.model.from_bytes(link.model.to_bytes()), link.record(20_000, 6)[0]
    windows = feature_view(samples, model.sps, model.half_window)
    model.formats = quantize(model.network, windows, bits)
    return model, samples, windows


def equalize(model, samples, **settings):
    """Labels (n,) and posteriors (n, M) of the block."""
    equalizer = adann.equalizer(model, front_filter=False, guard=False, **settings)
    classes = model.constellation.size
    labels, posteriors, top = blocks.vector_sink_b(), blocks.vector_sink_f(classes), gr.top_block()
    source = blocks.vector_source_c if model.complex else blocks.vector_source_f
    top.connect(source(samples), equalizer, labels)
    top.connect((equalizer, 1), posteriors)
    top.connect((equalizer, 2), blocks.null_sink(equalizer.output_signature().sizeof_stream_item(2)))
    top.run()
    return np.array(labels.data(), np.uint8), np.reshape(posteriors.data(), (-1, classes))


@pytest.mark.parametrize("bits", [6, 12])
def test_a_quantised_model_decides_in_whole_numbers(link, bits):
    model, samples, windows = whole_numbers(link, bits)
    whole = core.quantized_network(model.network, model.formats)
    expected, sums = whole.decide(windows)
    labels, posteriors = equalize(model, samples, mode="off")
    np.testing.assert_array_equal(labels, expected[:labels.size])
    np.testing.assert_allclose(posteriors, softmax(sums * whole.logit_scale, axis=1)[:labels.size], atol=2e-6)


def test_what_a_quantised_model_learns_is_quantised_again(link):
    """Every 512 symbols: logits are whole numbers of units of the last layer, of weights that have moved."""
    model, samples, _ = whole_numbers(link, 8)
    posteriors = equalize(model, samples, mode="lockstep", batch=512)[1][-512:]
    unchanged = equalize(model, samples, mode="off")[1][-512:]
    assert (posteriors != unchanged).mean() > 0.5
    scale = core.quantized_network(model.network, model.formats).logit_scale
    logits = np.log(np.maximum(posteriors.astype(float), 1e-37))
    steps = (logits - logits.max(1, keepdims=True)) / scale
    told = (posteriors > 1e-30) & (steps < 0)  # not rounded to 0
    assert told.sum() > 1000
    np.testing.assert_allclose(steps[told], np.rint(steps[told]), atol=0.1)
