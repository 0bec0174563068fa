# SPDX-License-Identifier: GPL-3.0-or-later
"""The blind start against an equalizer that least squares fit to the labels that were sent."""

import numpy as np
import pytest
from gnuradio import adann
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import random_labels, simulate_coherent, simulate_vcsel
from gnuradio.adann.offline import blind
from gnuradio.adann.offline.blind import blind_labels, check_window, open_eye
from gnuradio.adann.offline.training import TrainingSettings, feature_view, train
from made_records import idling

HALF_WINDOW, SYMBOLS = 5, 20_000
# Echoes, symbols after the direct path: the eye of each alphabet is closed by them.
ECHOES = {"pam2": {1: -0.7, 2: 0.4}, "pam4": {1: 0.5, 3: -0.3}, "pam8": {1: 0.3, 2: -0.1},
          "qpsk": {1: 0.5 - 0.3j, 2: 0.3j}, "16qam": {1: 0.3 + 0.3j, 2: -0.2},
          "64qam": {1: 0.2 - 0.1j}, "gr:8psk": {1: 0.35 - 0.2j, 2: 0.2j},
          "16apsk": {1: 0.3 + 0.2j}, "32qam": {1: 0.25 + 0.1j}}
NOISE = {"pam2": 0.3, "pam4": 0.15, "pam8": 0.05, "qpsk": 0.2, "16qam": 0.08, "64qam": 0.04,
         "gr:8psk": 0.1, "16apsk": 0.07, "32qam": 0.06}


def received(name, sps, is_complex, phase=0.7, seed=3):
    """Sent labels, and samples at `sps` through the echoes, turned by `phase` if complex."""
    random = np.random.default_rng(seed)
    alphabet = core.constellation(name)
    labels = random.integers(0, alphabet.size, SYMBOLS).astype(np.uint8)
    sent = alphabet.points[labels] / np.sqrt(np.mean(abs(alphabet.points) ** 2))
    symbols = sent + sum(gain * np.roll(sent, delay) for delay, gain in ECHOES[name].items())
    samples = np.roll(np.repeat(symbols, sps), -(sps // 2))
    noise = random.standard_normal((2, samples.size)) * NOISE[name] * np.sqrt(sps)
    samples = samples * np.exp(1j * phase * is_complex) + noise[0] + 1j * noise[1]
    return labels, normalized((samples if is_complex else samples.real).astype(
        np.complex64 if is_complex else np.float32))


def error_rate(decided, sent, constellation):
    """Of the delay within the window and the inversion or rotation that fit best."""
    inside = slice(HALF_WINDOW, -HALF_WINDOW)
    return min(np.mean(np.array(symmetry)[decided][inside] != np.roll(sent, delay)[inside])
               for symmetry in constellation.symmetries
               for delay in range(-HALF_WINDOW, HALF_WINDOW + 1))


def taught(features, labels, constellation):
    """Decisions of the least-squares equalizer that was told the labels."""
    points = constellation.points
    if constellation.is_complex:
        features = np.ascontiguousarray(features).view(np.complex64)
    else:
        points = points.real
    double = np.result_type(features, np.float64)
    taps = np.linalg.lstsq(features.astype(double), points[labels], rcond=None)[0]
    return abs((features @ taps)[:, None] - points).argmin(1)


@pytest.mark.parametrize("name", ECHOES)
@pytest.mark.parametrize("sps", [1, 2])
def test_it_decides_a_closed_eye_as_well_as_an_equalizer_that_knows_the_labels(name, sps):
    constellation = core.constellation(name)
    is_complex = constellation.is_complex
    sent, samples = received(name, sps, is_complex)
    features = feature_view(samples, sps, HALF_WINDOW)
    decided, ratio = blind_labels(features, constellation, is_complex)
    best = error_rate(taught(features, sent, constellation), sent, constellation)
    assert error_rate(decided, sent, constellation) < 2 * best + 1e-3
    # Without an equalizer, the middle sample alone.
    middle = samples[::sps] * np.exp(-0.7j * is_complex) * np.sqrt(
        np.mean(abs(constellation.points) ** 2))
    sliced = abs(middle[:, None] - constellation.points).argmin(1)
    assert error_rate(sliced, sent, constellation) > 10 * best + 0.01
    assert ratio > 7


@pytest.mark.parametrize("sps", [1, 2, 3])
@pytest.mark.parametrize("phase", [0, 0.8, 1.5708])
def test_pam_in_complex_samples_is_found_at_any_phase(sps, phase):
    constellation = core.constellation("pam2")
    sent, samples = received("pam2", sps, True, phase)
    features = feature_view(samples, sps, HALF_WINDOW)
    decided, _ = blind_labels(features, constellation, True)
    best = error_rate(taught(features, sent, constellation), sent, constellation)
    assert error_rate(decided, sent, constellation) < 2 * best + 1e-3


@pytest.mark.parametrize("name, simulate, bits", [("pam4", simulate_vcsel, 2),
                                                  ("16qam", simulate_coherent, 4)])
def test_a_blindly_started_network_is_near_one_that_was_told(name, simulate, bits):
    """The median of seven: one of either differs from the next by up to a factor of two, as its rounding has it, and
    one in 50 that start blindly is far off."""
    sent = random_labels(80_000, 1, bits)
    samples = simulate(sent, "reference", seed=2)
    rest, wrong = slice(30_000, -HALF_WINDOW), []
    for seed in range(7):
        settings = TrainingSettings(epochs=20, batch=256, optimizer="adam", fraction=0.375, seed=seed)
        blind, told = (train(samples, labels, name, 4, HALF_WINDOW, settings)
                       for labels in (None, sent))
        assert blind.delay == 0 and blind.blind_ratio > 15 and told.blind_ratio is None
        decided = blind.model.network.decide(
            feature_view(normalized(samples), 4, HALF_WINDOW)[rest])[0]
        wrong.append((error_rate(decided, sent[rest], core.constellation(name)),
                      told.test.symbol_errors / told.test.symbols))
    of_blind, of_told = np.median(wrong, axis=0)
    assert of_blind < 3.5 * of_told
    assert blind.model.training == f"{settings}, blind"
    assert blind.model.temperature == core.model(blind.model.network, 4, HALF_WINDOW, bits == 4,
                                                  name).temperature  # not calibrated


@pytest.mark.parametrize("name", ["pam2", "pam4", "16qam"])
@pytest.mark.parametrize("symbols", [1000, 20_000])
def test_noise_is_refused(name, symbols):
    constellation = core.constellation(name)
    random = np.random.default_rng(4)
    samples = random.standard_normal(4 * symbols).astype(np.float32)
    if constellation.is_complex:
        samples = samples + 1j * random.standard_normal(samples.size).astype(np.float32)
    # Filtered, as behind a receiver's low-pass: its windows overlap and are not white.
    features = feature_view(np.convolve(samples, np.ones(4, np.float32), "same"), 2, HALF_WINDOW)
    # A few symbols may happen to be decided alike, in one of ten draws.
    with pytest.raises(ValueError, match=f"no linear equalizer finds {name} in the capture|all 2000 are decided alike"):
        blind_labels(features, constellation, constellation.is_complex)


@pytest.mark.parametrize("sps", [2, 3, 4])  # at 1 the largest half window is less
def test_windows_as_long_as_the_blocks_are_taken_and_no_longer_ones(sps):
    most = (core.most_blind_samples // sps - 1) // 2
    check_window(sps, most)
    with pytest.raises(ValueError, match=f"half-window is {most + 1}, allowed of a blind start: up to {most} "):
        check_window(sps, most + 1)
    adann.equalizer(constellation="pam2", sps=sps, half_window=most, complex=False)
    samples = sps * (2 * most + 3)
    with pytest.raises(ValueError, match=f"samples of a window is {samples}, allowed: 1 to {core.most_blind_samples}"):
        adann.equalizer(constellation="pam2", sps=sps, half_window=most + 1, complex=False)


def test_too_few_symbols_are_refused():
    with pytest.raises(ValueError, match="999 symbols are too few for a blind start"):
        blind_labels(np.ones((999, 11), np.float32), core.constellation("pam2"), False)


@pytest.mark.parametrize("word, frames", [("00111110101001000101", 3), ("01111110", 5), ("10", 3)])
def test_a_slicer_with_an_open_eye_teaches_whatever_idles(word, frames, monkeypatch):
    """An equalizer that is told nothing takes what recurs for interference, and decides frames by the idle word."""
    samples, sent = idling(word, frames)
    features = feature_view(normalized(samples[1:]), 4, HALF_WINDOW)  # the middle of a symbol
    labels, ratio = blind_labels(features, core.constellation("pam2"), False, 16_000)
    np.testing.assert_array_equal(labels[10:-10], sent[10:labels.size - 10])
    columns, aim = np.column_stack([features[:16_000], np.ones(16_000)]), 2.0 * sent[:16_000] - 1
    least = np.mean((columns @ np.linalg.lstsq(columns, aim, rcond=None)[0] - aim) ** 2)
    assert 20 < ratio == pytest.approx(-10 * np.log10(least), abs=0.5)
    monkeypatch.setattr(blind, "open_eye", lambda *_: None)
    try:
        alone, _ = blind_labels(features, core.constellation("pam2"), False, 16_000)
    except ValueError:
        return
    assert word == "10" or error_rate(alone, sent[:alone.size], core.constellation("pam2")) > 0.01


@pytest.mark.parametrize("name", ECHOES)
def test_a_closed_eye_and_noise_are_not_open(name):
    constellation = core.constellation(name)
    _, samples = received(name, 2, constellation.is_complex)
    assert open_eye(feature_view(samples, 2, HALF_WINDOW), constellation, constellation.is_complex) is None
    noise = np.random.default_rng(3).standard_normal(samples.size * (1 + constellation.is_complex))
    features = feature_view(noise.astype(np.float32).view(samples.dtype), 2, HALF_WINDOW)
    assert open_eye(features, constellation, constellation.is_complex) is None


@pytest.mark.parametrize("points", [[0, 1], [0.2, 1], [0, 1, 2, 3], [1 + 1j, 2 + 1j, 2 + 2j, 1 + 2j]],
                         ids=["ook", "ook with a rest", "unipolar pam4", "qpsk with a carrier"])
@pytest.mark.parametrize("echo", [0.0, 0.4])
def test_points_with_a_mean_are_found_in_samples_without(points, echo):
    constellation, points = core.constellation(np.array(points, complex)), np.array(points)
    sent = np.random.default_rng(5).integers(0, points.size, SYMBOLS).astype(np.uint8)
    symbols = points[sent] + echo * np.roll(points[sent], 1)
    noise = 0.05 * np.random.default_rng(6).standard_normal(2 * SYMBOLS)
    is_complex = np.iscomplexobj(points)
    samples = normalized((np.repeat(symbols, 2) + noise).astype(np.complex64 if is_complex else np.float32))
    labels, ratio = blind_labels(feature_view(samples, 2, HALF_WINDOW), constellation, is_complex)
    assert error_rate(labels, sent, constellation) < 1e-3 and 15 < ratio < 60


def test_symbols_that_are_all_decided_alike_are_none(monkeypatch):
    samples, _ = idling("10", 1)
    monkeypatch.setattr(blind, "open_eye", lambda features, *_: np.zeros(len(features), np.uint8))
    with pytest.raises(ValueError, match="no symbols are found: all .* are decided alike"):
        blind_labels(feature_view(normalized(samples), 4, HALF_WINDOW), core.constellation("pam2"), False)


def test_gaps_between_the_echoes_of_idle_words_are_no_open_eye():
    """Behind these echoes the levels that an idle word reaches are few, and all of them are far from each other."""
    samples, sent = idling("00111110101001000101", 3)
    for echo in 0.5, 0.7, 0.9, 1.1:
        closed = samples + echo * np.roll(samples, 4) - 0.3 * np.roll(samples, 8)
        features = feature_view(normalized(closed[1:].astype(np.float32)), 4, HALF_WINDOW)
        assert open_eye(features, core.constellation("pam2"), False) is None
