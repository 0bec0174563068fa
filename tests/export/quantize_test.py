# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks in whole numbers, against the same sums by numpy."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.export.quantize import choose_formats
from gnuradio.adann.offline.training import feature_view


def by_hand(network, formats, windows):
    """The last layer's sums, from the weights in float and the formats alone."""
    largest = 2 ** (formats.bits - 1) - 1

    def whole(x, exponent, limit=largest):
        scaled = np.clip(np.asarray(x, np.float64) * 2.0 ** np.asarray(exponent, float), -limit, limit)
        return (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(np.int64)

    x = whole(windows, formats.values[0])
    for k, rows in enumerate(map(np.array, formats.weights)):
        sums = x @ whole(network.weight(k), rows[:, None]).T + whole(
            network.bias(k), rows + formats.values[k], 2**31 - 1)
        assert np.abs(sums).max() < 2**31
        if k + 1 == len(formats.weights):
            return sums
        shift = rows + formats.values[k] - formats.values[k + 1]
        x = np.minimum(np.floor(np.maximum(sums, 0) / 2.0**shift + 0.5), largest).astype(np.int64)


def windows_of(link, symbols, seed):
    samples, labels = link.record(symbols, seed)
    return feature_view(samples, link.model.sps, link.model.half_window), labels


@pytest.mark.parametrize("bits", range(4, 17))
def test_the_core_s_sums_are_those_by_hand(link, bits):
    windows = windows_of(link, 20_000, 6)[0]
    formats = choose_formats(link.model.network, windows, bits)
    labels, sums = core.quantized_network(link.model.network, formats).decide(windows)
    np.testing.assert_array_equal(sums, by_hand(link.model.network, formats, windows))
    np.testing.assert_array_equal(labels, sums.argmax(1))


def test_eight_bits_cost_next_to_nothing_and_four_more(link):
    """Errors of the same symbols: 3 % is the bound of 8 bits on links with some 1e-3."""
    windows, labels = windows_of(link, 1_000_000, 7)
    network = link.model.network
    decided = {0: network.decide(windows)[0]} | {
        bits: core.quantized_network(network, choose_formats(network, windows[:65536], bits)).decide(windows)[0]
        for bits in (4, 8, 16)}
    errors = {bits: np.count_nonzero(found != labels) for bits, found in decided.items()}
    assert errors[0] > 300
    spread = 4 * np.sqrt(np.count_nonzero(decided[8] != decided[0]))  # 1e-4 of the ones that turn
    assert errors[8] <= 1.03 * errors[0] + spread
    assert np.count_nonzero(decided[16] != decided[0]) < 0.1 * errors[0]
    assert errors[4] > errors[8]


def test_logits_are_those_of_the_network_to_their_scale(link):
    windows = windows_of(link, 20_000, 8)[0]
    network = link.model.network
    formats = choose_formats(network, windows, 16)
    quantized = core.quantized_network(network, formats)
    logits = quantized.logit_scale * quantized.decide(windows)[1]
    posteriors = np.exp(logits - logits.max(1, keepdims=True))
    np.testing.assert_allclose(posteriors / posteriors.sum(1, keepdims=True), network.decide(windows)[1], atol=0.02)


def test_formats_are_kept_in_the_model(link, tmp_path):
    model = core.model.from_bytes(link.model.to_bytes())
    windows = windows_of(link, 5_000, 9)[0]
    model.formats = choose_formats(model.network, windows, 6)
    core.save_model(str(tmp_path / "model.safetensors"), model)
    again = core.load_model(str(tmp_path / "model.safetensors"))
    assert again.formats == model.formats and again.waveform is not None
    np.testing.assert_array_equal(again.network.parameters, link.model.network.parameters)
    assert b'"format":"adann/3"' in model.to_bytes()
    again.formats = None
    assert again.to_bytes() == link.model.to_bytes()


def test_a_network_with_dead_and_huge_neurons_is_quantised(pam4):
    """Rows of zeros, of tiny and of huge weights, and biases beyond all of them."""
    network = core.network(pam4.network.sizes)
    network.parameters[:] = pam4.network.parameters
    network.weight(0)[0], network.bias(0)[0] = 0, 0
    network.weight(0)[1], network.bias(0)[1] = 1e-12, 3e4
    network.weight(0)[2] *= 1e4
    network.bias(0)[3] = -1e6
    windows = np.random.default_rng(1).standard_normal((5000, 14)).astype(np.float32)
    for bits in (4, 8, 16):
        formats = choose_formats(network, windows, bits)
        np.testing.assert_array_equal(core.quantized_network(network, formats).decide(windows)[1],
                                      by_hand(network, formats, windows))


@pytest.mark.parametrize("bits", [3, 17, 8.5])
def test_bits_out_of_range_are_refused(pam4, bits):
    with pytest.raises(ValueError, match=f"bits is {bits}, allowed: 4 to 16"):
        choose_formats(pam4.network, np.ones((10, 14), np.float32), bits)


def test_formats_of_another_network_are_refused(link, pam4):
    formats = choose_formats(pam4.network, np.ones((10, 14), np.float32), 8)
    with pytest.raises(ValueError, match="layers of the quantization is 2, allowed: 3"):
        core.quantized_network(link.model.network, formats)
