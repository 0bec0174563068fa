# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks in whole numbers, against the same sums by numpy."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.export.quantize import quantize
from gnuradio.adann.offline.training import feature_view


def by_hand(network, formats, windows):
    """The last layer's sums, from the weights in float and the formats alone."""
    largest = 2 ** (formats.bits - 1) - 1

    def whole(x, exponent, limit=largest):
        scaled = np.clip(np.asarray(x, np.float64) * 2.0 ** np.asarray(exponent, float), -limit, limit)
        return (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(np.int64)

    x = whole(windows, formats.values[0])
    most = 2 ** min(formats.bits, 15) - 1
    for k, rows in enumerate(map(np.array, formats.weights)):
        sums = x @ whole(network.weight(k), rows[:, None]).T + whole(
            network.bias(k), rows + formats.values[k], 2**31 - 1)
        assert np.abs(sums).max() < 2**31
        if k + 1 == len(formats.weights):
            return sums
        shift = rows + formats.values[k] - formats.values[k + 1]
        x = np.minimum(np.floor(np.maximum(sums, 0) / 2.0**shift + 0.5), most).astype(np.int64)


def windows_of(link, symbols, seed):
    samples, labels = link.record(symbols, seed)
    return feature_view(samples, link.model.sps, link.model.half_window), labels


def copy_of(network):
    made = core.network(network.sizes)
    made.parameters[:] = network.parameters
    return made


def quantized(network, windows, bits):
    """A copy of it, its formats, and both in whole numbers."""
    network = copy_of(network)
    formats = quantize(network, windows[:65536], bits)
    return network, formats, core.quantized_network(network, formats)


@pytest.mark.parametrize("bits", range(4, 17))
def test_the_core_s_sums_are_those_by_hand(link, bits):
    windows = windows_of(link, 4_000, 6)[0]
    network, formats, whole = quantized(link.model.network, windows, bits)
    labels, sums = whole.decide(windows)
    np.testing.assert_array_equal(sums, by_hand(network, formats, windows))
    np.testing.assert_array_equal(labels, sums.argmax(1))


@pytest.mark.parametrize("bits", [4, 8, 12])
def test_weights_are_what_their_whole_numbers_stand_for(link, bits):
    network, formats, whole = quantized(link.model.network, windows_of(link, 4_000, 6)[0], bits)
    for k, rows in enumerate(formats.weights):
        np.testing.assert_array_equal(network.weight(k), whole.weight(k) * 2.0 ** -np.array(rows)[:, None])


def test_eight_bits_cost_little_and_four_much(link):
    """At some 1e-3: the table in docs/export.md has what other links cost."""
    windows, labels = windows_of(link, 1_000_000, 7)
    network = link.model.network
    decided = {0: network.decide(windows)[0]} | {bits: quantized(network, windows, bits)[2].decide(windows)[0]
                                                 for bits in (4, 8, 12)}
    errors = {bits: np.count_nonzero(found != labels) for bits, found in decided.items()}
    assert errors[0] > 300
    assert errors[8] < 1.2 * errors[0] < errors[4]
    assert np.count_nonzero(decided[12] != decided[0]) < 0.1 * errors[0]


def test_logits_are_those_of_the_network_to_their_scale(link):
    windows = windows_of(link, 4_000, 8)[0]
    whole = quantized(link.model.network, windows, 16)[2]
    logits = whole.logit_scale * whole.decide(windows)[1]
    posteriors = np.exp(logits - logits.max(1, keepdims=True))
    np.testing.assert_allclose(posteriors / posteriors.sum(1, keepdims=True),
                               link.model.network.decide(windows)[1], atol=0.02)


def test_formats_are_kept_in_the_model(link, tmp_path):
    model = core.model.from_bytes(link.model.to_bytes())
    windows = windows_of(link, 5_000, 9)[0]
    model.formats = quantize(model.network, windows, 6)
    core.save_model(str(tmp_path / "model.safetensors"), model)
    again = core.load_model(str(tmp_path / "model.safetensors"))
    assert again.formats == model.formats and again.waveform is not None
    np.testing.assert_array_equal(again.network.parameters, model.network.parameters)
    has_polynomial = again.waveform.memory > 0
    assert (b'"format":"adann/4"' if has_polynomial else b'"format":"adann/3"') in model.to_bytes()
    again.formats = None
    assert (b'"format":"adann/4"' if has_polynomial else b'"format":"adann/2"') in again.to_bytes()
    assert b"quantization" not in again.to_bytes()


def test_a_network_with_dead_and_huge_neurons_is_quantised(pam4):
    """Rows of zeros, of tiny and of huge weights, and biases beyond all of them."""
    network = copy_of(pam4.network)
    network.weight(0)[0], network.bias(0)[0] = 0, 0
    network.weight(0)[1], network.bias(0)[1] = 1e-12, 3e4
    network.weight(0)[2] *= 1e4
    network.bias(0)[3] = -1e6
    windows = np.random.default_rng(1).standard_normal((5000, 14)).astype(np.float32)
    for bits in (4, 8, 16):
        moved, formats, whole = quantized(network, windows, bits)
        np.testing.assert_array_equal(whole.decide(windows)[1], by_hand(moved, formats, windows))


@pytest.mark.parametrize("bits", [3, 17, 8.5])
def test_bits_out_of_range_are_refused(pam4, bits):
    with pytest.raises(ValueError, match=f"bits is {bits}, allowed: 4 to 16"):
        quantize(copy_of(pam4.network), np.ones((10, 14), np.float32), bits)


def test_formats_of_another_network_are_refused(link, pam4):
    formats = quantize(copy_of(pam4.network), np.ones((10, 14), np.float32), 8)
    with pytest.raises(ValueError, match="layers of the quantization is 2, allowed: 3"):
        core.quantized_network(link.model.network, formats)
