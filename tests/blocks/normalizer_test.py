# SPDX-License-Identifier: GPL-3.0-or-later
"""The normalizer under GNU Radio's scheduler; its mathematics is tested in the core."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr


def run(block, samples, buffer_items=0, tags=()):
    is_complex = np.iscomplexobj(samples)
    source = (blocks.vector_source_c if is_complex else blocks.vector_source_f)(
        samples, False, 1, list(tags))
    sink = (blocks.vector_sink_c if is_complex else blocks.vector_sink_f)()
    if buffer_items:
        source.set_max_output_buffer(buffer_items)
        block.set_max_noutput_items(7)
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data()), sink.tags()


def samples(kind, size=30_000):
    random = np.random.default_rng(1)
    x = 3 + 2 * random.standard_normal(size)
    if kind == "complex":
        x = x + 1j * (2 * random.standard_normal(size) - 1)
    return x.astype(np.complex64 if kind == "complex" else np.float32)


@pytest.mark.parametrize("kind", ["float", "complex"])
def test_running_statistics_give_the_same_output_whatever_the_buffers(kind):
    x = samples(kind)
    x[5000:5100] = np.nan
    out, _ = run(adann.normalizer(kind == "complex", 4096), x)
    small, _ = run(adann.normalizer(kind == "complex", 4096), x, buffer_items=512)
    np.testing.assert_array_equal(out, small)
    assert not out[5000:5100].any()
    later = out[5100:]
    assert abs(later.mean()) < 0.03
    assert np.var(later) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("kind", ["float", "complex"])
def test_fixed_statistics_are_applied_to_every_finite_sample(kind):
    x = samples(kind)
    mean = 3 - 1j if kind == "complex" else 3
    expected = (x - mean) / 2
    x[100], expected[100] = np.inf, 0
    out, _ = run(adann.normalizer.fixed(mean, 2, kind == "complex"), x)
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)


def test_tags_keep_their_samples():
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("here"), pmt.from_long(i)))
            for i in (0, 1023, 20_000)]
    _, passed = run(adann.normalizer(), samples("float"), tags=tags)
    assert [(t.offset, pmt.to_long(t.value)) for t in passed] == [
        (i, i) for i in (0, 1023, 20_000)]


def test_a_parameter_out_of_range_is_named():
    with pytest.raises(ValueError, match="window is 1000, allowed: 1024 to"):
        adann.normalizer(False, 1000)
    with pytest.raises(ValueError, match="rms is 0, allowed"):
        adann.normalizer.fixed(0, 0)
