# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizers to compare with do what they are taken for."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.experiments.comparators import CMA, FEEDBACK, LINEAR, equalize_with_gnuradio, unit_points
from gnuradio.adann.experiments.volterra import volterra_equalizer
from gnuradio.adann.links.simulation import random_labels

QPSK = unit_points(core.constellation("qpsk"))
PAM4 = unit_points(core.constellation("pam4")).real
SPS = 2


def echo_link(points, labels, noise, seed):
    """Two samples a symbol, half a symbol of echo before and after it."""
    random = np.random.default_rng(seed)
    sent = np.repeat(points[labels], SPS)
    received = sent + 0.3 * np.roll(sent, 1) - 0.2 * np.roll(sent, -2)
    added = random.standard_normal((sent.size, 2)) @ (1, 1j) / np.sqrt(2)
    received = received + noise * (added if np.iscomplexobj(points) else added.real)
    return (received / np.sqrt(np.mean(abs(received) ** 2))).astype(
        np.complex64 if np.iscomplexobj(points) else np.float32)


@pytest.mark.parametrize("kind, step", [(LINEAR, 3e-3), (FEEDBACK, 3e-3), (CMA, 1e-3)])
def test_gnu_radios_equalizers_open_the_eye_at_the_right_symbols(kind, step):
    labels = random_labels(20_000, 1, 2)
    samples = echo_link(QPSK, labels, 0.05, 1)
    soft = equalize_with_gnuradio(kind, samples, QPSK, SPS, 5, step,
                                  () if kind == CMA else labels[:4096])
    assert soft.size == labels.size
    later = soft[10_000:]
    turn = np.vdot(QPSK[labels[10_000:]], later)
    assert kind == CMA or abs(np.angle(turn)) < 0.1  # the modulus does not tell the phase
    error = later * np.exp(-1j * np.angle(turn)) - QPSK[labels[10_000:]]
    assert np.mean(abs(error) ** 2) < 0.02


def bent_link(labels, seed):
    samples = echo_link(PAM4, labels, 0.02, seed)
    bent = samples + 0.2 * samples**2 - 0.1 * samples**3
    return ((bent - bent.mean()) / bent.std()).astype(np.float32)


def test_recursive_least_squares_is_least_squares():
    """With all labels told and nothing forgotten, the last block's output is that of the solution
    of all before it, with a ridge of the start's weight, 0.01, on terms of unit power."""
    labels = random_labels(4096 + 8, 2, 2)
    samples = bent_link(labels, 2)
    soft = volterra_equalizer(samples, PAM4, SPS, 2, 2, "rls", 1.0, labels)
    padded = np.pad(samples.astype(float), 2 * SPS)

    def terms(i):
        window = padded[SPS * i:SPS * (i + 4) + 1]
        return [*window, 1, *(window[a] * window[b] for a in range(9) for b in range(a, 9))]

    rows = np.array([terms(i) for i in range(labels.size)])
    rows /= np.sqrt(np.mean(rows[:4096] ** 2, axis=0))
    before, size = rows[:4096], rows.shape[1]
    fitted = np.linalg.solve(before.T @ before + 0.01 * np.eye(size),
                             before.T @ PAM4[labels[:4096]])
    assert np.allclose(soft[-8:], rows[-8:] @ fitted, atol=1e-6)


@pytest.mark.parametrize("algorithm, rate, most", [("lms", 0.1, 0.7), ("rls", 0.9995, 0.3)])
def test_volterra_takes_off_what_a_linear_equalizer_cannot(algorithm, rate, most):
    labels = random_labels(16384, 3, 2)
    samples = bent_link(labels, 3)
    linear = equalize_with_gnuradio(LINEAR, samples, PAM4 + 0j, SPS, 5, 1e-3, labels[:8192]).real

    def power(soft):
        return np.mean((soft[8192:] - PAM4[labels[8192:]]) ** 2)

    for order in (2, 3):
        soft = volterra_equalizer(samples, PAM4, SPS, 5, order, algorithm, rate, labels[:8192])
        assert power(soft) < most * power(linear)


def test_volterra_knows_what_an_amplifier_does_to_complex_samples():
    labels = random_labels(16384, 4, 2)
    samples = echo_link(QPSK, labels, 0.02, 4)
    samples = (samples * (1 - 0.3 * abs(samples) ** 2) * np.exp(0.3j * abs(samples) ** 2)).astype(
        np.complex64)
    samples /= np.sqrt(np.mean(abs(samples) ** 2))
    linear = equalize_with_gnuradio(LINEAR, samples, QPSK, SPS, 5, 3e-3, labels[:8192])
    soft = volterra_equalizer(samples, QPSK, SPS, 5, 3, "rls", 0.9995, labels[:8192])
    power = [np.mean(abs(y[8192:] - QPSK[labels[8192:]]) ** 2) for y in (soft, linear)]
    assert power[0] < 0.5 * power[1]
