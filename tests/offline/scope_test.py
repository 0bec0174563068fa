# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scope shows, against closed forms on synthetic eyes."""

import numpy as np
import pytest
import scipy.special
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import modulation_error_ratio
from gnuradio.adann.offline import eye, scope, tdecq

SYMBOLS = 20_000
PAM4 = core.constellation("pam4")
POINTS = PAM4.centred.real


def random_labels(size=4, symbols=SYMBOLS, seed=1):
    return np.random.default_rng(seed).integers(0, size, symbols).astype(np.uint8)


def noise(size, deviation, seed=2):
    return deviation * np.random.default_rng(seed).standard_normal(size)


def shaped(values, sps=4, roll_off=0.5):
    """Raised-cosine pulses, which do not interfere at the symbols' middles; and one pulse."""
    at = np.arange(-12 * sps, 12 * sps + 1) / sps + 1e-6
    pulse = np.sinc(at) * np.cos(np.pi * roll_off * at) / (1 - (2 * roll_off * at) ** 2)
    upsampled = np.zeros(values.size * sps)
    upsampled[::sps] = values
    return np.convolve(upsampled, pulse, "same")


def flat(values):
    """A waveform that keeps each symbol's value throughout."""
    return np.repeat(values[:, None], eye.PHASES, axis=1)


@pytest.mark.parametrize("levels, ratio", [
    ([-3, -1, 1, 3], 1), ([0, 1, 2, 3], 1), ([-3, -0.9, 0.9, 3], 0.9), ([-3, -1.1, 1, 3], 0.9), ([3, 1, -1, -3], 1),
    ([-3, -1, 0.6, 3], 0.6)])
def test_the_level_mismatch_ratio_of_given_levels(levels, ratio):
    assert eye.level_mismatch_ratio(levels) == pytest.approx(ratio)


def test_levels_are_found_in_the_order_of_the_points():
    labels = random_labels()
    values = np.array([0.0, 1.5, 4, 2.5])[labels]  # of labels whose points are -3, -1, 3, 1
    assert eye.levels_of(values, labels, POINTS) == pytest.approx([0, 1.5, 2.5, 4])


@pytest.mark.parametrize("deviation", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("error_rate", [1e-3, 1e-5, 1e-9])
def test_the_eye_height_of_gaussian_noise(deviation, error_rate):
    labels = random_labels()
    heights = eye.eye_heights(POINTS[labels] + noise(SYMBOLS, deviation), labels, POINTS, error_rate)
    lost = -scipy.special.ndtri(error_rate) * deviation  # the spacing is 2
    assert heights == pytest.approx(np.full(3, max(0, 1 - lost)), abs=0.1 * lost)


def test_the_eye_height_of_bounded_interference_and_noise():
    """Two values a level, each with Gaussian noise: a tail is that of the inner one, at half its probability."""
    labels, either = random_labels(2, 200_000), random_labels(2, 200_000, 5)
    points = np.array([-1.0, 1])
    values = points[labels] + 0.3 * points[either] + noise(labels.size, 0.1)
    height, = eye.eye_heights(values, labels, points, 1e-6)
    assert height == pytest.approx(1 - 0.3 + 0.1 * scipy.special.ndtri(2e-6), abs=0.03)


def test_the_eye_width_of_a_triangular_eye():
    """Edges that are straight lines from the crossing: wide as the time in which both are on their sides."""
    labels = random_labels(2)
    points = np.array([-1.0, 1])
    opening = 1 - 2 * abs(np.arange(eye.PHASES) / eye.PHASES - 0.5)
    waveform = points[labels][:, None] * opening + noise(SYMBOLS, 0.05)[:, None]
    width, best = eye.eye_widths(waveform, labels, points, 1e-5)
    assert best == eye.PHASES // 2
    assert width == pytest.approx([1 + 0.05 * scipy.special.ndtri(1e-5)], abs=0.02)


def test_the_pulse_response_of_a_linear_channel_and_its_sndr():
    labels, sps = random_labels(), 4
    pulse = np.array([0.1, 0.5, 1.2, 0.8, 0.3, -0.1, 0.05, 0.02])
    upsampled = np.zeros(SYMBOLS * sps)
    upsampled[::sps] = POINTS[labels] / 3
    drawn = noise(SYMBOLS * sps, 0.02)
    samples = np.convolve(upsampled, pulse)[:SYMBOLS * sps] + drawn
    fitted = scope.fit_pulse(samples, labels, POINTS, sps)
    assert fitted.response[16 * sps:16 * sps + 8] == pytest.approx(pulse, abs=2e-3)
    assert abs(np.delete(fitted.response, range(16 * sps, 16 * sps + 8))).max() < 2e-3
    # Of the noise that was drawn, whose power has a deviation of 0.02 dB.
    assert fitted.sndr == pytest.approx(20 * np.log10(1.2 / np.std(drawn)), abs=0.02)
    assert fitted.length == 1  # 0.5 … 0.3 have 2.42 of the energy of 2.4429, 0.9906 of it; three samples less
    assert scope.outer_amplitude(fitted) == pytest.approx(2 * pulse.sum() / sps, abs=5e-3)


def test_distortion_counts_in_the_sndr():
    labels = random_labels()
    values = POINTS[labels] / 3
    cubic = values - 0.1 * values ** 3
    fitted = scope.fit_pulse(cubic, labels, POINTS, 1)
    error = 0.1 * (values ** 3 - np.vdot(values, values ** 3) / np.vdot(values, values) * values)
    assert fitted.sndr == pytest.approx(20 * np.log10((cubic @ values / (values @ values)) / np.std(error)), abs=0.05)


@pytest.mark.parametrize("deviation, scope_noise", [(0, 0), (0.05, 0), (0.1, 0), (0.15, 0), (0.1, 0.1)])
def test_tdecq_of_gaussian_noise(deviation, scope_noise):
    """The noise that can be added makes the whole OMA / (6 * 3.414); the scope's own is no penalty."""
    labels = random_labels()
    found = tdecq.tdecq(flat(POINTS[labels] + noise(SYMBOLS, deviation)), labels, POINTS, 6.0, scope_noise,
                        [eye.PHASES // 2])
    whole = 1 / 3.414
    assert found.tdecq == pytest.approx(
        10 * np.log10(whole / np.sqrt(whole ** 2 - deviation ** 2 + scope_noise ** 2)), abs=0.03)
    assert found.taps.sum() == pytest.approx(1)


def test_the_reference_equalizer_undoes_an_echo_and_pays_in_noise():
    """Of a channel whose inverse has five taps nothing is left but the noise gain."""
    labels = random_labels()
    inverse = np.array([0, -0.1, 1.2, -0.1, 0])
    spectrum = np.fft.fft(np.roll(np.r_[inverse, np.zeros(SYMBOLS - 5)], -2)).real  # symmetric: no phase
    values = np.fft.ifft(np.fft.fft(POINTS[labels]) / spectrum).real
    found = tdecq.tdecq(flat(values), labels, POINTS, 6.0, phases=[eye.PHASES // 2])
    assert found.tdecq <= 10 * np.log10(tdecq.noise_gain(inverse)) + 0.02
    assert found.tdecq > 0


def test_the_noise_gain_against_integrals():
    """No equalizer: 1. Two taps of white-like noise: their cross term has the filtered noise's correlation."""
    assert tdecq.noise_gain([0, 0, 1, 0, 0]) == pytest.approx(1)
    frequency = np.linspace(0, 50, 200_001)
    roots = 2j * np.pi * frequency / (2 * np.pi * 0.5) * 2.1139176749  # 105 / (s^4 + 10 s^3 + 45 s^2 + 105 s + 105)
    power = abs(105 / (roots ** 4 + 10 * roots ** 3 + 45 * roots ** 2 + 105 * roots + 105)) ** 2
    correlation = np.sum(power * np.cos(2 * np.pi * frequency)) / np.sum(power)
    assert tdecq.noise_gain([1.25, -0.25]) == pytest.approx(
        np.sqrt(1.25 ** 2 + 0.25 ** 2 - 2 * 1.25 * 0.25 * correlation), rel=1e-3)


def test_no_tdecq_where_the_reference_equalizer_does_not_serve():
    labels = random_labels()
    with pytest.raises(ValueError, match="0.00048"):
        tdecq.tdecq(flat(POINTS[labels] + noise(SYMBOLS, 0.5)), labels, POINTS, 6.0, phases=[25])


def test_mer_is_that_of_the_noise_at_any_gain():
    sent = PAM4.centred[random_labels()].real
    assert modulation_error_ratio(sent, sent) > 100
    added = noise(SYMBOLS, 0.1)
    assert modulation_error_ratio(-7 * (sent + added), sent) == pytest.approx(
        10 * np.log10(np.mean(sent**2) / np.mean(added**2)), abs=0.01)
    with pytest.raises(ValueError, match="no symbol"):
        modulation_error_ratio(np.ones(10), np.zeros(10))


def test_all_figures_of_pam4_even_if_its_reference_is_inverted():
    labels = random_labels()
    soft = POINTS[labels] + noise(SYMBOLS, 0.1)
    samples = shaped(POINTS[labels]) + noise(SYMBOLS * 4, 0.1)
    found = scope.measure(samples, soft, labels, labels, PAM4, 4)
    inverted = scope.measure(-samples, soft, labels, labels, PAM4, 4)
    assert found.left_out == inverted.left_out == {}
    assert {"ber_before", "ber_after", "mer_before", "mer_after", "evm_before", "evm_after", "pulse_response",
            "pulse_length", "sndr", "levels_before", "levels_after", "rlm_before", "rlm_after", "eye_height_before",
            "eye_height_after", "eye_width_before", "tdecq"} <= set(found.figures)
    assert found.figures["ber_before"] == found.figures["ber_after"] == 0
    assert found.figures["sndr"] == pytest.approx(20 * np.log10(3 / 0.1), abs=0.1)
    assert found.figures["rlm_before"] == pytest.approx(1, abs=0.01)
    for key in ("tdecq", "eye_height_before", "eye_width_before", "rlm_before"):
        assert inverted.figures[key] == pytest.approx(found.figures[key], rel=1e-3)


def left_out(found, *keys):
    return all(key in found.left_out and key not in found.figures for key in keys)


def test_what_has_no_meaning_is_left_out_with_a_reason():
    qpsk = core.constellation("qpsk")
    labels = random_labels()
    found = scope.measure(qpsk.centred[labels], qpsk.centred[labels], labels, labels, qpsk, 1)
    assert left_out(found, "sndr", "rlm_before", "eye_height_before", "eye_width_before", "tdecq")
    assert "pulse_response" in found.figures

    values = POINTS[labels] + noise(SYMBOLS, 0.1)
    found = scope.measure(values, values, labels, labels, PAM4, 1)
    assert left_out(found, "eye_width_before", "tdecq") and "eye_height_before" in found.figures

    found = scope.measure(values[:200], values[:200], labels[:200], labels[:200], PAM4, 1)
    assert left_out(found, "pulse_response", "sndr", "eye_height_after", "rlm_after") and "mer_after" in found.figures

    found = scope.measure(values, values, labels, None, PAM4, 1)
    assert left_out(found, "ber_before", "ber_after") and found.figures["labels"] == "decided"

    pam2 = core.constellation("pam2")
    two = random_labels(2)
    values = pam2.centred.real[two] + noise(SYMBOLS, 0.1)
    found = scope.measure(values, values, two, two, pam2, 1)
    assert left_out(found, "rlm_after", "tdecq") and len(found.figures["eye_height_after"]) == 1

    unknown = np.full(SYMBOLS, 255, np.uint8)
    assert list(scope.measure(values, values, labels, unknown, PAM4, 1).left_out) == ["all"]


def test_bpsk_of_complex_samples_has_no_levels():
    pam2 = core.constellation("pam2")
    labels = random_labels(2)
    values = pam2.centred[labels] * 1j ** 0.5 + noise(SYMBOLS, 0.1) + 1j * noise(SYMBOLS, 0.1, 3)
    found = scope.measure(values, values, labels, labels, pam2, 1)
    assert left_out(found, "eye_height_after", "sndr")
    assert found.figures["mer_after"] == pytest.approx(10 * np.log10(1 / 0.02), abs=0.1)


@pytest.mark.parametrize("name", ["pam2", "pam4", "pam8", "qpsk", "16qam"])
def test_decisions_of_noise_are_no_labels(name):
    constellation = core.constellation(name)
    points = constellation.centred if constellation.is_complex else constellation.centred.real
    values = noise(SYMBOLS, 1) + (1j * noise(SYMBOLS, 1, 3) if constellation.is_complex else 0)
    values = values * np.sqrt(np.mean(abs(points) ** 2) / np.mean(abs(values) ** 2))
    decided = abs(values[:, None] - points).argmin(axis=1).astype(np.uint8)
    found = scope.measure(values, values, decided, None, constellation, 1)
    assert list(found.left_out) == ["all"] and set(found.figures) == {"labels", "symbols"}
