# SPDX-License-Identifier: GPL-3.0-or-later
"""The MIMO filter under GNU Radio's scheduler; its mathematics is tested in the core."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.links.dual_polarization_link import DualPolarizationLink


@pytest.fixture(scope="module")
def model():
    """A slicer of QPSK at two samples a symbol, and the waveform of one polarisation alone."""
    labels = np.random.default_rng(1).integers(0, 4, (2, 20000)).astype(np.uint8)
    samples = DualPolarizationLink("qpsk", angle=0, delay=0, snr=12).receive(labels, 1)[0]
    points = core.constellation("qpsk").points
    net = core.network([20, 4])
    net.weight(0)[:, 10:12] = 10 * np.column_stack([points.real, points.imag])
    made = core.model(net, 2, 2, True, "qpsk")
    made.waveform = core.expected_waveform.fit(core.constellation("qpsk"),
                                               np.roll(samples, 1).reshape(-1, 2), labels[0])
    return made


def run(block, channels, most_items=0, tags=()):
    top, sinks = gr.top_block(), []
    for port, samples in enumerate(channels):
        source = blocks.vector_source_c(samples, False, 1, list(tags) if port == 0 else [])
        top.connect(source, (block, port))
    for port in range(block.output_signature().max_streams()):
        sinks.append(blocks.vector_sink_c())
        top.connect((block, port), sinks[-1])
    if most_items:
        block.set_max_noutput_items(most_items)
    top.run()
    return np.array([sink.data() for sink in sinks]), sinks[0].tags()


@pytest.fixture(scope="module")
def received():
    labels = np.random.default_rng(2).integers(0, 4, (2, 8192)).astype(np.uint8)
    return DualPolarizationLink("qpsk", snr=14, turning=1e-5).receive(labels, 2)


def test_is_the_core_whatever_the_buffers(model, received):
    expected = core.mimo_filter(model).run(received)
    block = adann.mimo_filter(model)
    assert block.found() == 0 and np.isnan(block.residual())
    found, _ = run(block, received)
    np.testing.assert_array_equal(found, expected)
    small, _ = run(adann.mimo_filter(model), received, most_items=96)
    np.testing.assert_array_equal(small, expected)
    assert block.found() == 2 and block.starts() == 2 and -30 < block.residual() < -5
    assert block.delay() == 32 and np.abs(block.frequencies()).max() < 1e-3


def test_another_run_is_another_stream(model, received):
    block = adann.mimo_filter(model)
    first, _ = run(block, received)
    assert block.found() == 2
    again, _ = run(block, received[:, :64])  # too few for a start
    assert block.found() == block.starts() == 0 and np.isnan(block.residual())
    again, _ = run(block, received)
    np.testing.assert_array_equal(again, first)


def test_a_tag_moves_with_its_sample(model, received):
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("here"), pmt.from_long(i))) for i in (0, 1000)]
    block = adann.mimo_filter(model, 2, 1)
    _, passed = run(block, received, tags=tags)
    assert [(tag.offset, pmt.to_long(tag.value)) for tag in passed] == [(64, 0), (1064, 1000)]


def test_what_is_out_of_range_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="outputs is 3, allowed: 1 to 2"):
        adann.mimo_filter(model, 2, 3)
    with pytest.raises(ValueError, match="channels is 0"):
        adann.mimo_filter(model, 0)
    with pytest.raises(core.ModelFileError, match="none.safetensors"):
        adann.mimo_filter(tmp_path / "none.safetensors")
