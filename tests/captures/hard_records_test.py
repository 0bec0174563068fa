# SPDX-License-Identifier: GPL-3.0-or-later
"""Carriers in noise wider than the signal, packets no louder than their pauses, idle words: what a record tells."""

import numpy as np
import pytest
from captures.timing_test import QPSK, SQUARE, modulated
from gnuradio.adann.captures.baseband import find_band, to_baseband
from gnuradio.adann.captures.bursts import find_bursts
from gnuradio.adann.captures.timing import find_phase, find_symbol_rate
from made_records import FS, at_carrier, behind_discriminator, idling

IDLE = "00111110101001000101"  # K28.5 and D16.2


@pytest.mark.parametrize("name, symbols, share, snr, carrier, baud", [
    ("pam2", 8000, 1, 12, 7000, 9600), ("pam2", 2000, 0.25, 12, 11_970, 9600), ("pam2", 4000, 0.6, 15, 1500, 1200),
    ("pam2", 700, 0.02, 12, 11_967, 9570), ("pam2", 6000, 0.5, 13, 16_000, 4800), ("pam2", 8000, 1, 5, 9000, 4800),
    ("qpsk", 8000, 1, 14, 1700, 2400), ("qpsk", 5000, 0.3, 15, 12_000, 9600), ("qpsk", 8000, 1, 8, 9000, 4800)])
def test_a_carrier_in_noise_wider_than_the_signal(name, symbols, share, snr, carrier, baud):
    samples, _ = at_carrier(name, symbols, share, snr, carrier, baud)
    band = find_band(samples)
    # BPSK has a line at twice the carrier, other signals only the middle of their power.
    assert band.carrier * FS == pytest.approx(carrier, abs=20 if name == "pam2" else 0.05 * baud)
    assert 0.5 * baud < band.half_width * FS < 1.2 * baud
    assert find_symbol_rate(to_baseband(samples, band))[0] * FS == pytest.approx(baud, rel=1e-3)


@pytest.mark.parametrize("points", [QPSK, np.array([-1.0, 1]) + 0j, SQUARE], ids=["qpsk", "bpsk", "16qam"])
@pytest.mark.parametrize("sps, carrier", [(40, 0.11), (40, -0.45), (12, 0.2), (12.7, -0.3), (80, 0.02)])
def test_a_part_of_a_band_of_complex_samples(points, sps, carrier):
    """As of a receiver that is tuned beside the signal: noise 20 dB below the signal in a band of the symbol rate."""
    clean, _ = modulated(points, sps, noise=0)
    random = np.random.default_rng(3)
    at = np.arange(clean.size)
    noise = np.sqrt(0.005 * sps * np.mean(abs(clean) ** 2)) * (random.standard_normal((clean.size, 2)) @ [1, 1j])
    samples = (clean * np.exp(2j * np.pi * carrier * at) + noise).astype(np.complex64)
    band = find_band(samples)
    assert (band.carrier - carrier + 0.5) % 1 - 0.5 == pytest.approx(0, abs=0.05 / sps + 1 / 1024)
    assert 0.5 < band.half_width * sps < 1.7
    moved = to_baseband(samples, band) * np.exp(2j * np.pi * (band.carrier - carrier) * at)
    error = np.mean(abs(moved - clean) ** 2) / np.mean(abs(noise) ** 2)
    assert error < 4 * band.half_width  # what the filter lets through, and nothing of the signal is missing


@pytest.mark.parametrize("rates, level", [(1.3, 1), (1.5, 1), (1.3, 1.4), (1.8, 2)])
def test_a_signal_at_zero_stays_there_whatever_is_in_the_next_channel(rates, level):
    samples, _ = modulated(QPSK, 8, noise=0.1)
    other = modulated(QPSK, 8, noise=0.1)[0][::-1] * np.exp(2j * np.pi * rates / 8 * np.arange(samples.size))
    assert find_band((samples + level * other).astype(np.complex64)) is None


@pytest.mark.parametrize("other", [0, 0.5, 0.9j, "tone"])
def test_complex_samples_around_zero_stay_as_they_are(other):
    """With echoes, which make their spectrum uneven, and beside a tone of as much power."""
    samples, _ = modulated(QPSK, 8, noise=0.3)
    samples = samples + (1.1 * np.exp(0.6j * np.pi * np.arange(samples.size)) if other == "tone"
                         else other * np.roll(samples, 11))
    assert find_band(samples.astype(np.complex64)) is None


@pytest.mark.parametrize("name, symbols, packets, louder, baud, noise", [
    ("pam2", 6000, 1, 6, 9600, "white"), ("pam2", 4000, 3, 0, 9600, "white"), ("pam2", 1500, 4, 8, 9600, "parabolic"),
    ("pam2", 350, 14, 5, 9600, "parabolic"), ("pam4", 5000, 3, 7, 4800, "parabolic"),
    ("pam2", 4000, 3, 3, 9600, "narrow"), ("pam2", 4000, 3, -20, 9600, "white")])
def test_packets_that_are_no_louder_than_the_pauses(name, symbols, packets, louder, baud, noise):
    samples, _, starts = behind_discriminator(name, symbols, packets, louder, baud, noise)
    assert find_band(samples) is None
    rate, _ = find_symbol_rate(samples)
    assert rate * FS == pytest.approx(baud, rel=1e-3)
    sps = FS // baud
    found, over = find_bursts(samples, sps)
    assert (over is None) == (louder > -6)
    within = 100 if noise == "narrow" else 24  # symbols: by the clock over 144 of them, or by blocks of 16
    assert [(each.first / sps, each.end / sps) for each in found] == [
        (pytest.approx(start / sps, abs=within), pytest.approx(start / sps + symbols, abs=within)) for start in starts]
    if noise != "narrow":
        assert {round(each.level + louder) for each in found} <= {-1, 0, 1}


@pytest.mark.parametrize("word, frames", [(IDLE, 3), ("01111110", 6), ("10", 5), ("01", 2)])
def test_idle_words_are_neither_a_carrier_nor_another_rate(word, frames):
    samples, _ = idling(word, frames)
    assert find_band(samples) is None
    assert find_symbol_rate(samples)[0] == pytest.approx(0.25, rel=1e-4)
    assert find_bursts(samples, 4) == ([], None)


@pytest.mark.parametrize("levels, hum, period", [
    (4, 0.3, 18_000 * np.pi), (4, 0, 1), (2, 0, 1), (4, 3, 20_002), (2, 2, 15_002), (4, 5, 12_345)],
    ids=["unipolar, slow", "unipolar pam4", "unipolar pam2", "hum", "hum under pam2", "loud hum"])
def test_what_comes_again_without_the_symbols_is_no_repetition(levels, hum, period):
    """A mean, and hum, half of whose periods are no whole symbols: the symbols' own line cancels in what they leave."""
    random = np.random.default_rng(10)
    sent = random.integers(0, levels, 30_000) - (levels - 1) / 2 * (hum > 1)
    samples = np.convolve(np.repeat(sent, 4), [0.1, 0.2, 0.4, 0.2, 0.1], "same")
    samples += hum * np.sin(2 * np.pi / period * np.arange(samples.size)) + 0.05 * random.standard_normal(samples.size)
    assert find_symbol_rate(samples.astype(np.float32))[0] == pytest.approx(0.25, rel=1e-5)


def test_noise_behind_a_filter_has_no_symbol_rate():
    """Where a filter left nothing, any line would be clear."""
    for seed in range(10):
        noise = np.random.default_rng(seed).standard_normal(60_000)
        spectrum = np.fft.rfft(noise)
        spectrum[spectrum.size // 3:] *= 1e-7
        with pytest.raises(ValueError, match="no symbol rate stands out"):
            find_symbol_rate(np.fft.irfft(spectrum).astype(np.float32))


@pytest.mark.parametrize("phase", [0.1, 0.45, 0.8])
def test_a_short_burst_has_a_phase_of_its_own(phase):
    samples, _ = modulated(QPSK, 4, phase, offset=1e-4)
    found = find_phase(samples[4000:4000 + 4 * 400], 4, 1e-4)
    assert (found - (phase - 1000 * 1e-4) + 0.5) % 1 == pytest.approx(0.5, abs=0.04)
    noise = np.random.default_rng(2).standard_normal((200, 1600))
    assert all(find_phase(each, 4, 0.0) is None for each in noise)
