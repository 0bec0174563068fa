# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts of noise on a link whose echo has turned: the frozen network has become far worse by then."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.equalize import equalize_captures
from gnuradio.adann.offline.training import TrainingSettings, train

SPS, TRAINING, SYMBOLS = 2, 2**14, 2**17
PERIOD, NOISY, AFTERWARDS = 1000, 30, 300  # symbols


def link(name, symbols, turns, burst, seed):
    """(samples, labels): an echo of 0.3 that turns so many times; noise of burst times the deviation for 30 of 1000
    symbols."""
    random = np.random.default_rng(seed)
    points = core.constellation(name).points
    points = points / np.sqrt(np.mean(abs(points) ** 2))
    labels = random.integers(0, points.size, symbols).astype(np.uint8)
    sent = points[labels]
    echo = 0.3 * np.exp(2j * np.pi * turns * np.arange(symbols) / symbols)
    between = (sent + np.roll(sent, 1)) / 2 + echo * np.roll(sent, 2)
    samples = np.stack([sent + echo * np.roll(sent, 1), np.roll(between, -1)], axis=1).ravel()
    distance = abs(points[:, None] - points)[~np.eye(points.size, dtype=bool)].min()
    noise = (random.standard_normal((2, samples.size)) * distance / 7.5).T.copy().view(complex).ravel()
    noise[np.arange(samples.size) // SPS % PERIOD < NOISY] *= burst
    return normalized((samples + noise).astype(np.complex64)), labels


@pytest.mark.parametrize("name", ["8psk", "16qam"])
def test_what_follows_a_burst_is_decided_behind_the_filter(name):
    """Of the last half, 65 periods. Where a burst is taken for a lost stream, 12 (8PSK) and 20 % (16QAM) of
    the 300 symbols after it are wrong; now 0.7 and 1.1 %."""
    samples, labels = link(name, TRAINING, 0, 1, 1)
    model = train(samples, labels, name, SPS, 6, TrainingSettings.fitted(TRAINING, core.constellation(name))).model
    samples, labels = link(name, SYMBOLS, 0.6, 5.6, 2)
    settings = {"frozen": dict(mode="off"), "default": dict(mode="lockstep")}
    found = equalize_captures(model, [Capture(samples)], settings)[0]
    wrong = {each: run.labels[0] != labels for each, run in found.items()}
    at = np.arange(SYMBOLS) % PERIOD
    last = np.arange(SYMBOLS) >= SYMBOLS // 2
    after = last & (at >= NOISY + 8) & (at < NOISY + AFTERWARDS)
    rest = last & (at >= NOISY + AFTERWARDS) & (at < PERIOD - 8)
    assert wrong["frozen"][rest].mean() > 0.05
    assert wrong["default"][rest].mean() < 1e-3
    assert wrong["default"][after].mean() < 0.03
