# SPDX-License-Identifier: GPL-3.0-or-later
"""The feature windower against numpy's sliding windows."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr


def windows(samples, sps, half_window):
    """The same windows by numpy: zeros before the first sample."""
    before = sps * half_window + sps // 2
    padded = np.concatenate([np.zeros(before, samples.dtype), samples])
    length = sps * (2 * half_window + 1)
    return np.lib.stride_tricks.sliding_window_view(padded, length)[::sps]


@pytest.mark.parametrize("sps, half_window", [(1, 0), (1, 7), (2, 3), (4, 5), (5, 1)])
@pytest.mark.parametrize("kind", ["float", "complex"])
@pytest.mark.parametrize("buffer_items", [0, 512])
def test_windows_equal_numpys_whatever_the_buffers(sps, half_window, kind, buffer_items):
    random = np.random.default_rng(1)
    samples = random.standard_normal(20_011).astype(np.float32)
    source = blocks.vector_source_f(samples)
    if kind == "complex":
        samples = (samples + 1j * random.standard_normal(samples.size)).astype(np.complex64)
        source = blocks.vector_source_c(samples)
    block = adann.feature_windower(sps, half_window, kind == "complex")
    if buffer_items:
        source.set_max_output_buffer(buffer_items)
        block.set_max_noutput_items(7)
    sink = blocks.vector_sink_f(block.dimension())
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    expected = np.ascontiguousarray(windows(samples, sps, half_window)).view(np.float32)
    np.testing.assert_array_equal(np.reshape(sink.data(), (-1, block.dimension())), expected)


@pytest.mark.parametrize("sps", [1, 3, 4])
def test_a_tag_lands_on_the_vector_of_the_symbol_that_owns_its_sample(sps):
    at = [0, 1, 2, 3, 4, 5, 6, 400, 1001]
    tags = [gr.tag_utils.python_to_tag((j, pmt.intern("sample"), pmt.from_long(j))) for j in at]
    source = blocks.vector_source_f(np.zeros(8000), False, 1, tags)
    block = adann.feature_windower(sps, 5)
    sink = blocks.vector_sink_f(block.dimension())
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    assert [(t.offset, pmt.to_long(t.value)) for t in sink.tags()] == [
        ((j + sps // 2) // sps, j) for j in at]


@pytest.mark.parametrize("arguments, named", [((0, 5), "sps is 0"), ((4, 256), "half_window is 256")])
def test_a_parameter_out_of_range_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        adann.feature_windower(*arguments)
