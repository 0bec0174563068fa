# SPDX-License-Identifier: GPL-3.0-or-later
"""Lost samples and jumps of the phase: the channel stays what it was, at another timing and phase."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.equalize import equalize_captures
from gnuradio.adann.offline.training import TrainingSettings, train

SPS, TRAINING, SYMBOLS = 4, 2**15, 2**16
EVERY, WINDOW = 8192, 128  # symbols


def pulse(beta=0.3, span=8):
    """A root raised cosine's spectrum at SPS samples a symbol, by its impulse response."""
    spectrum = np.zeros(SPS * 256)
    frequency = abs(np.fft.fftfreq(spectrum.size, 1 / SPS))
    spectrum[frequency < (1 - beta) / 2] = 1
    edge = abs(frequency - 0.5) <= beta / 2
    spectrum[edge] = np.cos(np.pi / 2 / beta * (frequency[edge] - (1 - beta) / 2))
    return np.roll(np.fft.ifft(spectrum).real, span * SPS)[:2 * span * SPS + 1]


def link(name, symbols, seed):
    """(samples, labels): raised cosine pulses, an echo of 0.15 that is 1.5 symbols late, 1 % of the symbols wrong."""
    random = np.random.default_rng(seed)
    points = core.constellation(name).points
    points = points / np.sqrt(np.mean(abs(points) ** 2))
    labels = random.integers(0, points.size, symbols).astype(np.uint8)
    wave = np.convolve(np.kron(points[labels], np.eye(SPS)[0]), pulse(), "same") * SPS
    wave = wave + 0.15 * np.exp(1j) * np.roll(wave, 3 * SPS // 2)
    distance = abs(points[:, None] - points)[~np.eye(points.size, dtype=bool)].min()
    noise = random.standard_normal((2, wave.size)).T.copy().view(complex).ravel()
    wave = wave + noise * distance / 5.6 * np.sqrt(SPS)
    return normalized(np.convolve(wave, pulse(), "same").astype(np.complex64)), labels


def jump(samples, labels, what):
    """The phase by half a radian, forth and back; or 5 and 3 samples lost in turn, each nearest to one symbol."""
    symbol = np.arange(samples.size) // SPS
    if what == "phase":
        return samples * np.exp(0.5j * (symbol // EVERY % 2)), labels
    at = np.arange(EVERY, SYMBOLS, EVERY)
    lost = np.concatenate([k * SPS + np.arange(5 if k // EVERY % 2 else 3) for k in at])
    samples, labels = np.delete(samples, lost), np.delete(labels, at)
    return samples[:labels.size * SPS], labels


@pytest.mark.parametrize("name", ["16qam", "64qam"])
@pytest.mark.parametrize("what", ["phase", "samples"])
def test_a_jump_costs_some_hundred_symbols(name, what):
    """Once in 8192 symbols. Later than 1100 symbols after it 1 % are wrong, as without jumps; where only a blind
    equalizer finds back 1 to 35 %."""
    samples, labels = link(name, TRAINING, 1)
    model = train(samples, labels, name, SPS, 6, TrainingSettings.fitted(TRAINING, core.constellation(name))).model
    samples, labels = jump(*link(name, SYMBOLS, 2), what)
    run = equalize_captures(model, [Capture(samples.astype(np.complex64))], {"it": dict(mode="lockstep")})[0]["it"]
    decided = run.labels[0]
    wrong = decided != labels[:decided.size]
    apart = EVERY if what == "phase" else EVERY - 1
    since = np.arange(wrong.size) % apart
    assert wrong.mean() < 0.1
    assert wrong[(since > 1100) & (since < apart - 200)].mean() < 0.02
