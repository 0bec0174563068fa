# SPDX-License-Identifier: GPL-3.0-or-later
"""DualPolarizationLink against closed forms: what it sends, turns, delays, loses and adds."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.links.dual_polarization_link import SPS, DualPolarizationLink
from gnuradio.adann.links.simulation import random_labels

CLEAN = dict(swing=0.01, angle=0, delay=0, snr=100)
INSIDE = slice(64, -64)


def labels_for(count, seed=1):
    return np.random.default_rng(seed).integers(0, 16, (2, count)).astype(np.uint8)


def sent_points(labels):
    return core.constellation("16qam").points[labels] / np.sqrt(10)


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def middles(labels, **parameters):
    received = DualPolarizationLink(**{**CLEAN, **parameters}).receive(labels, 1)
    assert received.dtype == np.complex64 and received.shape == (2, SPS * labels.shape[1])
    assert np.mean(abs(received) ** 2) == pytest.approx(1, rel=1e-3)
    # The filtered waveform has another mean power than its middles.
    points = received[:, ::SPS]
    return points * np.sqrt(1 / np.mean(abs(points) ** 2))


@pytest.mark.parametrize("angle", [0, 0.4, -2.5])
def test_the_middles_are_the_symbols_in_turned_polarisations(angle):
    labels = labels_for(4096)
    error = middles(labels, angle=angle) - turned(angle) @ sent_points(labels)
    assert np.sqrt(np.mean(abs(error[:, INSIDE]) ** 2)) < 0.02


def test_the_polarisations_turn_and_so_does_the_phase_between_them():
    labels = labels_for(8192)
    rate = 1e-3
    t = np.arange(labels.shape[1])
    x, y = sent_points(labels) * np.exp([0.3j * rate * t, -0.3j * rate * t])
    expected = np.stack([np.cos(rate * t) * x - np.sin(rate * t) * y, np.sin(rate * t) * x + np.cos(rate * t) * y])
    error = middles(labels, turning=rate) - expected
    assert np.sqrt(np.mean(abs(error[:, INSIDE]) ** 2)) < 0.02


def test_one_axis_of_the_fibre_is_later():
    """By two symbols: one late, one early; the axes are the sum and the difference."""
    labels = labels_for(4096)
    x, y = sent_points(labels)
    axes = np.stack([np.roll(x - y, 1), np.roll(x + y, -1)]) / np.sqrt(2)
    expected = turned(-np.pi / 4) @ axes
    found = middles(labels, delay=2)
    assert np.sqrt(np.mean(abs((found - expected)[:, INSIDE]) ** 2)) < 0.02


def test_the_second_axis_loses():
    power = np.mean(abs(middles(labels_for(4096), loss=3)) ** 2, axis=1)
    assert power[0] / power[1] == pytest.approx(10**0.3, rel=0.05)


def test_the_modulators_compress():
    labels = labels_for(4096)
    received = DualPolarizationLink(**{**CLEAN, "swing": 0.7}).receive(labels, 1)
    inner, outer = (np.mean(abs(received[:, ::SPS].real)[abs(sent_points(labels).real) * np.sqrt(10) // 2 == k])
                    for k in (0, 1))
    # sin(1.475) over sin(0.492) are 2.1, smeared by the matched filter; a linear one has 3.
    assert 2.1 < outer / inner < 2.6


def test_carrier_and_phase_noise_turn_both_alike():
    labels = labels_for(2**15)
    found = middles(labels, carrier=1e-4, linewidth=1e-5)
    phase = np.unwrap(np.angle(found * sent_points(labels).conj())[:, INSIDE], axis=1)
    assert np.abs(phase[0] - phase[1]).max() < 0.2
    steps = np.diff(phase[0][::64])
    assert np.mean(steps) == pytest.approx(2 * np.pi * 64e-4, rel=0.2)
    # The noise of a symbol's own phase is 0.02: of 64 symbols' walk it is little.
    assert np.var(steps) == pytest.approx(2 * np.pi * 64e-5, rel=0.35)


def test_the_noise_is_as_told():
    labels = labels_for(2**15)
    clean, noisy = middles(labels), middles(labels, snr=10)
    gain = np.vdot(clean, noisy).real / np.vdot(clean, clean).real
    assert np.mean(abs(noisy / gain - clean) ** 2) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("of_labels, of_link", [([3, 0], [3]), ([3, 0], [3, 0]), (4, 4)])
def test_the_noise_knows_nothing_of_labels_from_the_same_seed(of_labels, of_link):
    """numpy draws the same from 3, [3] and [3, 0]. 16 correlations within five deviations: once in 10^5 by chance."""
    labels = np.stack([random_labels(2**15, of_labels, 4), random_labels(2**15, 8, 4)])
    clean, noisy = (DualPolarizationLink(**{**CLEAN, "snr": snr}).receive(labels, of_link)[:, ::SPS]
                    for snr in (100, 10))
    noise = noisy - clean * (np.vdot(clean, noisy) / np.vdot(clean, clean))
    floats = np.concatenate([noise.real, noise.imag])
    bits = 2.0 * (labels[0] >> np.arange(4)[:, None] & 1) - 1
    assert abs(np.corrcoef(floats, bits)[:4, 4:]).max() < 5 / np.sqrt(bits.shape[1])


@pytest.mark.parametrize("wrong, text", [(dict(turning=1), "turning is 1, allowed: -0.01 to 0.01"),
                                         (dict(snr=float("nan")), "snr is nan"),
                                         (dict(constellation="pam4"), "constellation is pam4")])
def test_what_is_out_of_range_is_refused(wrong, text):
    with pytest.raises(ValueError, match=text):
        DualPolarizationLink(**wrong)
