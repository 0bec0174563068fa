# SPDX-License-Identifier: GPL-3.0-or-later
"""The carrier's offset and phase, found without a decision."""

import numpy as np
import pytest
from gnuradio import adann, blocks, digital, gr
from gnuradio.adann import core
from gnuradio.adann.links.simulation import random_labels


def symbols(name, count, noise, seed=1):
    """Of unit power, one sample each, and their noise."""
    alphabet = core.constellation(name)
    points = alphabet.points / np.sqrt(np.mean(abs(alphabet.points) ** 2))
    sent = points[random_labels(count, seed, alphabet.bits_per_symbol)]
    random = np.random.default_rng(seed + 1)
    return sent, noise / 2**0.5 * (random.standard_normal((count, 2)) @ [1, 1j])


def recover(block, samples, items=8192):
    sink, top = blocks.vector_sink_c(), gr.top_block()
    top.connect(blocks.vector_source_c(samples.astype(np.complex64)), block, sink)
    top.run(items)
    return np.array(sink.data())


@pytest.mark.parametrize("name, noise, offset", [
    ("bpsk", 0.3, 0.24), ("qpsk", 0.2, 0.12), ("qpsk", 0.5, -0.1), ("8psk", 0.12, 0.06), ("16qam", 0.1, -0.12),
    ("64qam", 0.05, 0.1), ("16apsk", 0.1, 0.1)])
def test_offset_and_phase_are_removed_but_for_the_constellations_rotation(name, noise, offset):
    """Behind the first 8192 symbols the mean phase error is below a degree and a half: ten times what averaging over
    100 symbols of this noise leaves in 2^15 of them."""
    sent, scatter = symbols(name, 2**15 + 8192, noise)
    turned = sent * np.exp(2j * np.pi * (offset * np.arange(sent.size) + 0.1)) + scatter
    block = adann.carrier_recovery(name, 1)
    out = recover(block, turned)
    assert out.size == sent.size
    rotations = len(core.constellation(name).symmetries)
    left = np.angle(np.vdot(sent[8192:], out[8192:]))
    step = 2 * np.pi / rotations
    assert abs(left - step * round(left / step)) < np.radians(1.5)
    assert abs(np.vdot(sent[8192:], out[8192:])) > 0.98 * np.vdot(sent[8192:], sent[8192:]).real
    assert abs(block.frequency() - offset) < 1 / 8192 / rotations


def test_samples_between_symbols_turn_with_them():
    sent, _ = symbols("qpsk", 2**14, 0)
    smooth = np.repeat(sent, 4) * np.exp(2j * np.pi * 0.05 / 4 * np.arange(4 * sent.size))
    out = recover(adann.carrier_recovery("qpsk", 4), smooth).reshape(-1, 4)[4096:]
    assert abs(np.angle(out[:, 1:] / out[:, :1])).max() < 1e-3


def test_a_drifting_carrier_is_followed_beyond_its_reach():
    """The largest step of a part's mean phase is 0.131 rad, with a deviation of 0.002 over 20 draws; at 5e-7 it was a
    quarter turn in 5 of 20."""
    sent, scatter = symbols("qpsk", 2**18, 0.2)
    time = np.arange(sent.size)
    offset = 0.1 + 2e-7 * time  # 0.152 at the end
    out = recover(block := adann.carrier_recovery("qpsk", 1),
                  sent * np.exp(2j * np.pi * np.cumsum(offset)) + scatter)
    parts = [np.angle(np.vdot(sent[i:i + 1024], out[i:i + 1024])) for i in range(8192, sent.size, 1024)]
    assert abs(np.diff(np.unwrap(parts))).max() < np.pi / 4  # no quarter turn from one to the next
    assert abs(block.frequency() - offset[-1]) < 2e-3


@pytest.mark.parametrize("name, before, after", [("8psk", 0.05, -0.03), ("qpsk", 0.1, -0.09)])
def test_after_a_jump_the_offset_is_the_one_nearest_to_zero(name, before, after):
    """As when a coarse recovery has moved, which leaves a small one. Nearer to the earlier one: 0.095, and 0.16."""
    sent, scatter = symbols(name, 2**15, 0.1)
    offset = np.where(np.arange(sent.size) < sent.size / 2, before, after)
    recover(block := adann.carrier_recovery(name, 1), sent * np.exp(2j * np.pi * np.cumsum(offset)) + scatter)
    assert abs(block.frequency() - after) < 1e-4


def test_noise_has_no_line():
    block = adann.carrier_recovery("qpsk", 1)
    noise = symbols("qpsk", 2**18, 1)[1].astype(np.complex64)
    np.testing.assert_array_equal(recover(block, noise), noise)
    assert block.frequency() == 0


def test_the_output_does_not_depend_on_how_the_stream_is_cut_nor_on_what_is_no_number():
    sent, scatter = symbols("16qam", 2**14, 0.1)
    samples = np.repeat(sent, 2) * np.exp(0.1j * np.arange(2 * sent.size)) + np.repeat(scatter, 2)
    whole, cut = (recover(adann.carrier_recovery("16qam"), samples, items) for items in (8192, 130))
    np.testing.assert_array_equal(whole, cut)
    samples[3000:3010] = np.nan
    samples[5000] = 1e30
    out = recover(adann.carrier_recovery("16qam"), samples)
    assert np.all(np.isfinite(np.delete(out, range(3000, 3010))))
    np.testing.assert_allclose(abs(out[-1000:]), abs(samples[-1000:]), rtol=1e-5)


def test_constellations_as_gnuradio_has_them():
    sent, _ = symbols("qpsk", 8192, 0)
    block = adann.carrier_recovery(digital.constellation_qpsk(), 1)
    recover(block, sent * np.exp(0.2j * np.arange(sent.size)))
    assert abs(block.frequency() - 0.2 / 2 / np.pi) < 1e-5


@pytest.mark.parametrize("given, message", [
    (dict(constellation="17qam"), "constellation is '17qam', allowed"),
    (dict(constellation=[1, 1j, -1, -0.5j]), "constellation is .*, allowed: one of 2, 4 or 8 rotations"),
    (dict(sps=0), "sps is 0, allowed: 1 to 64"),
    (dict(bandwidth=0.5), "bandwidth is 0.5, allowed: above 0, below 0.5"),
    (dict(bandwidth=np.nan), "bandwidth is nan, allowed: above 0")])
def test_a_parameter_out_of_range_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        adann.carrier_recovery(**given)
