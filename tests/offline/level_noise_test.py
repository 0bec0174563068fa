# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise that grows with the level, as of lasers and optical amplifiers, behind the default equalizer: nearly as few
errors as of thresholds that know the noise of each level."""

import numpy as np
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments.compared import measure_network
from gnuradio.adann.links.simulation import random_labels
from gnuradio.adann.offline.training import TrainingSettings, train
from scipy.special import erfc

SYMBOLS, LABELLED, HALF_WINDOW = 2**17, 2**14, 3


def tail(deviations):
    return erfc(deviations / np.sqrt(2)) / 2


def errors(levels, noise, thresholds):
    """Symbol error rate of equally likely levels with Gaussian noise."""
    above = tail((thresholds - levels[:-1]) / noise[:-1])
    below = tail((levels[1:] - thresholds) / noise[1:])
    return (above.sum() + below.sum()) / levels.size


def best_thresholds(levels, noise):
    """Where the densities of two levels meet."""
    found = []
    for low, high, a, b in zip(levels, levels[1:], noise, noise[1:], strict=False):
        at = np.linspace(low, high, 10001)
        found.append(at[np.argmin(abs(((at - low) / a)**2 / 2 + np.log(a) - ((high - at) / b)**2 / 2 - np.log(b)))])
    return np.array(found)


def link(noise, seed):
    """PAM4 without memory: its levels, samples and labels. noise: standard deviation of each level."""
    points = core.constellation("pam4").points.real
    order = np.argsort(points)
    levels = points[order] / np.sqrt(np.mean(points**2))
    sent = random_labels(SYMBOLS, seed, 2)
    level = np.argsort(order)[sent]
    return levels, levels[level] + noise[level] * np.random.default_rng([seed, 1]).standard_normal(SYMBOLS), sent


def decided(samples, sent, name, sps):
    """Bit error rates of the default equalizer and of the frozen network, of the last half."""
    taken = normalized(samples.astype(np.float32))
    settings = TrainingSettings.fitted(LABELLED, core.constellation(name))
    result = train(taken[:LABELLED * sps], sent[:LABELLED], name, sps, HALF_WINDOW, settings)
    labels = np.roll(sent, result.delay)
    return [np.mean(measure_network(result.model, taken, labels, {"mode": mode})["ber"][2:])
            for mode in ("lockstep", "off")]


def test_thresholds_know_the_noise_of_each_level(seed=1):
    """Thresholds half-way between the levels make 1.76 times as many errors as the best ones. In six draws the
    equalizer made 0.98 to 1.05 times as many as these, with 660 errors or more: 1.25 is five deviations away."""
    noise = np.array([0.02, 0.14, 0.14, 0.3])
    levels, samples, sent = link(noise, seed)
    best = errors(levels, noise, best_thresholds(levels, noise))
    ours, frozen = (2 * each for each in decided(samples, sent, "pam4", 1))  # Gray-coded
    print(ours / best, frozen / best)
    assert best * SYMBOLS / 2 > 600
    assert ours < 1.25 * best and ours < 1.05 * frozen, (ours, best, frozen)


def test_noise_of_a_level_costs_nothing_with_interference(seed=1):
    """Two samples a symbol of pulses that overlap, noise of a standard deviation of 0.1 to 0.9. In six draws the
    equalizer made 0.75 to 1.05 times the errors of the frozen network, 1000 or more."""
    sent = random_labels(SYMBOLS, seed, 1)
    clean = np.convolve(np.repeat(1.0 - 2 * sent, 2), [0.2, 0.6, 0.2], "same")
    noise = 0.5 + 0.4 * clean
    samples = clean + noise * np.random.default_rng([seed, 1]).standard_normal(clean.size)
    ours, frozen = decided(samples, sent, "pam2", 2)
    print(ours, frozen)
    assert ours < 1.2 * frozen, (ours, frozen)
