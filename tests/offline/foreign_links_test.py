# SPDX-License-Identifier: GPL-3.0-or-later
"""Adaptation on links that this project's simulators do not make: random echoes, with defaults.

Every constellation goes through a pulse of 35 % excess bandwidth, an echo path of four symbols, a
soft limiter and white noise. Then the echoes change.
"""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.equalize import equalize_captures
from gnuradio.adann.offline.training import TrainingSettings, train

SPS = 2
TRAINING, BEFORE, AFTER, LATEST = 2**16, 2**15, 2**18, 2**16  # symbols


class EchoLink:
    """seed: of its echoes. change: norm of the echoes that the drift adds; the signal's is 1."""

    def __init__(self, constellation, snr, seed, change):
        alphabet = core.constellation(constellation)
        points = np.array(alphabet.points)
        self._points = points / np.sqrt(np.mean(abs(points) ** 2))
        self._real = not alphabet.is_complex
        self._noise = np.sqrt(SPS / (1 if self._real else 2)) * 10 ** (-snr / 20)
        time = np.arange(-4 * SPS, 4 * SPS + 1) / SPS
        self._pulse = np.sinc(time) * np.cos(0.35 * np.pi * time) / (1 - (0.7 * time) ** 2)
        random = np.random.default_rng(seed)
        first, second = (self._echoes(random) for _ in range(2))
        start = 0.2 * first
        start[0] += 1
        self._paths = start, start + change * second

    def _echoes(self, random):
        parts = random.standard_normal((2, 4 * SPS)) * np.exp(-np.arange(4 * SPS) / SPS)
        echoes = parts[0] + (0 if self._real else 1j) * parts[1]
        return echoes / np.linalg.norm(echoes)

    def receive(self, symbols, drifted, seed):
        """(samples, labels)"""
        random = np.random.default_rng([seed, drifted])
        labels = random.integers(0, self._points.size, symbols).astype(np.uint8)
        sent = np.zeros(symbols * SPS, complex)
        sent[::SPS] = self._points[labels]
        shaped = np.convolve(sent, self._pulse, "same")
        samples = np.convolve(shaped, self._paths[drifted])[:sent.size]
        samples /= np.sqrt(np.mean(abs(samples) ** 2))
        samples = samples * (1 - 0.02 * abs(samples))
        parts = random.standard_normal((2, sent.size))
        samples = samples + self._noise * (parts[0] + 1j * parts[1])
        return normalized(samples.real.astype(np.float32) if self._real
                          else samples.astype(np.complex64)), labels


def wrong_bits(decided, sent):
    return np.unpackbits(decided ^ sent).sum() / np.log2(sent.max() + 1.0) / sent.size


@pytest.mark.parametrize("constellation, snr, seed, change", [
    ("pam2", 10, 1, 0.4), ("pam4", 18, 2, 0.4), ("pam8", 24, 3, 0.2),
    ("qpsk", 12, 4, 0.4), ("16qam", 19, 5, 0.3), ("64qam", 26, 6, 0.1),
    ("gr:8psk", 16, 7, 0.3), ("16apsk", 18, 8, 0.2), ("32qam", 21, 9, 0.15),
    ("gr:16qam", 19, 5, 0.3)])
def test_every_constellation_follows_other_echoes(constellation, snr, seed, change):
    link = EchoLink(constellation, snr, seed, change)
    settings = TrainingSettings(fraction=0.75, epochs=100, optimizer="adam", batch=2048)
    models = {name: train(*link.receive(TRAINING, drifted, 1), constellation, SPS, 5, settings).model
              for name, drifted in (("network", False), ("oracle", True))}
    captures = [Capture(samples, reference=sent) for samples, sent in
                (link.receive(BEFORE, False, 2), link.receive(AFTER, True, 3))]

    def final(model, **adaptation):
        received, _ = equalize_captures(models[model], captures, {"it": adaptation})
        return wrong_bits(received["it"].labels[1][-LATEST:], captures[1].reference[-LATEST:])

    frozen, oracle = final("network", mode="off"), final("oracle", mode="off")
    ours = final("network", mode="lockstep")
    print(f"{constellation}: frozen {frozen:.1e}, adaptive {ours:.1e}, oracle {oracle:.1e}")
    # Errors are a few hundred at least: their deviation is below 10 %.
    assert frozen > 3 * oracle
    assert ours < 1.5 * oracle
