# SPDX-License-Identifier: GPL-3.0-or-later
"""RadioLink against closed forms: what it sends, bends, turns and adds."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.links.radio_link import SPS, RadioLink
from gnuradio.adann.links.simulation import random_labels
from scipy.special import erfc

CLEAN = dict(snr=100, echo=0)


def sent_points(constellation, labels):
    points = np.array(core.constellation(constellation).points)
    return points[labels] / np.sqrt(np.mean(abs(points) ** 2))


@pytest.mark.parametrize("constellation, bits", [("pam2", 1), ("qpsk", 2), ("16qam", 4)])
def test_without_echo_the_middles_are_the_symbols(constellation, bits):
    labels = random_labels(4096, 1, bits)
    received = RadioLink(constellation, **CLEAN).receive(labels, 1)
    assert received.dtype == np.complex64 and received.size == SPS * labels.size
    error = received[::SPS] - sent_points(constellation, labels)
    assert np.sqrt(np.mean(abs(error[32:-32]) ** 2)) < 1e-3  # 60 dB: the pulses' span


def test_noise_gives_the_error_rate_of_qpsk_in_white_noise():
    labels = random_labels(2**17, 2, 2)
    received = RadioLink("qpsk", snr=8, echo=0).receive(labels, 2)[::SPS]
    points = sent_points("qpsk", np.arange(4))
    wrong = np.unpackbits(abs(received[:, None] - points).argmin(1).astype(np.uint8) ^ labels).sum()
    expected = 2 * labels.size * erfc(np.sqrt(10**0.8 / 2)) / 2  # bits by Q(sqrt(Es/N0))
    assert abs(wrong - expected) < 5 * np.sqrt(expected)


@pytest.mark.parametrize("turns", [0, 1e-4, -1e-3])
def test_the_echo_comes_late_and_turns(turns):
    labels = random_labels(8192, 3, 2)
    sent = sent_points("qpsk", labels)
    received = RadioLink("qpsk", snr=100, echo=0.5, delay=2, turns=turns).receive(labels, 3)[::SPS]
    late = np.append([0, 0], sent[:-2])
    expected = sent + 0.5 * late * np.exp(2j * np.pi * turns * np.arange(labels.size))
    assert np.abs(received - expected)[32:-32].max() < 0.02


def test_the_echo_jumps_and_stays():
    labels = random_labels(8192, 4, 2)
    sent = sent_points("qpsk", labels)
    received = RadioLink("qpsk", snr=100, echo=0.5, delay=2, jump_every=2048).receive(
        labels, 4)[::SPS]
    echo = (received[2:] - sent[2:]) / sent[:-2]
    angles = [np.angle(echo[part * 2048 + 50:(part + 1) * 2048 - 50]) for part in range(4)]
    assert abs(angles[0]).max() < 0.05
    assert all(np.ptp(np.unwrap(angle)) < 0.1 for angle in angles)
    assert len({round(float(angle[0]), 1) for angle in angles}) == 4


def test_carrier_and_phase_noise_turn_the_symbols():
    labels = random_labels(2**15, 5, 2)
    sent = sent_points("qpsk", labels)

    def phase(**parameters):
        return np.unwrap(np.angle(RadioLink("qpsk", **CLEAN, **parameters).receive(labels, 5)[::SPS]
                                  / sent))[32:-32]

    assert np.allclose(phase(carrier=1e-4), 2e-4 * np.pi * np.arange(32, labels.size - 32),
                       atol=5e-3)
    # A Wiener process: increments over 64 symbols; their variance's relative deviation is
    # sqrt(2/512) = 6 %.
    increments = np.diff(phase(linewidth=1e-4)[::64])
    assert np.var(increments) == pytest.approx(2 * np.pi * 1e-4 * 64, rel=0.3)


@pytest.mark.parametrize("amplifier", ["rapp", "saleh"])
def test_an_amplifier_far_from_saturation_changes_nothing(amplifier):
    labels = random_labels(1024, 6, 4)
    still = RadioLink("16qam").receive(labels, 6)
    assert np.allclose(RadioLink("16qam", amplifier=amplifier, back_off=60).receive(labels, 6),
                       still, atol=1e-4)
    assert not np.allclose(RadioLink("16qam", amplifier=amplifier, back_off=3).receive(labels, 6),
                           still, atol=0.05)


def test_the_same_seed_gives_the_same_samples():
    labels = random_labels(512, 7, 2)
    link = RadioLink("qpsk", jump_every=100, linewidth=1e-5)
    assert np.array_equal(link.receive(labels, 1), link.receive(labels, 1))
    assert not np.array_equal(link.receive(labels, 1), link.receive(labels, 2))


@pytest.mark.parametrize("parameters, message", [
    (dict(echo=3), "echo is 3, allowed: 0 to 2"),
    (dict(amplifier="tube"), "amplifier is tube, allowed: none, rapp, saleh"),
    (dict(linewidth=-1), "linewidth is -1, allowed: 0 to 0.01")])
def test_parameters_out_of_range_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        RadioLink("qpsk", **parameters)
