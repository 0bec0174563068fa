# SPDX-License-Identifier: GPL-3.0-or-later
"""Symbol rate, clock and carrier of signals whose pulses are written down in closed form."""

import numpy as np
import pytest
from gnuradio.adann.captures import timing
from gnuradio.adann.captures.carrier import find_carrier
from gnuradio.adann.captures.timing import find_clock, find_symbol_rate

SYMBOLS = 6000


def pulse(t, roll_off=0.3):
    """The raised cosine, t in symbols."""
    return np.sinc(t) * np.cos(np.pi * roll_off * t) / (1 - (2 * roll_off * t) ** 2 + 1e-12)


def modulated(points, sps, phase=0.0, offset=0.0, noise=0.1, seed=0):
    """Samples whose symbol k has its middle `phase` symbols after sample k*sps/(1 + offset)."""
    random = np.random.default_rng(seed)
    sent = np.asarray(points)[random.integers(0, len(points), SYMBOLS)]
    t = np.arange(int(SYMBOLS * sps)) / sps * (1 + offset) - phase
    nearest = np.round(t).astype(int)
    received = np.zeros(t.size, sent.dtype)
    for k in (nearest + d for d in range(-16, 17)):
        inside = (k >= 0) & (k < SYMBOLS)
        received[inside] += sent[k[inside]] * pulse(t[inside] - k[inside])
    rms = np.sqrt(np.mean(abs(sent) ** 2))
    received = received + noise * rms * random.standard_normal(t.size)
    if np.iscomplexobj(sent):
        received = received + 1j * noise * rms * random.standard_normal(t.size)
    return received, sent


PAM4, QPSK = np.array([-3.0, -1, 1, 3]), np.exp(0.5j * np.pi * (np.arange(4) + 0.5))
SQUARE = (PAM4[:, None] + 1j * PAM4).ravel()


@pytest.mark.parametrize("points", [PAM4, QPSK, SQUARE], ids=["pam4", "qpsk", "16qam"])
@pytest.mark.parametrize("phase, offset", [(0, 0), (0.3, 1e-4), (0.85, -3e-4), (0.5, 2e-3)])
def test_phase_and_offset_of_a_clock(points, phase, offset):
    samples, _ = modulated(points, 4, phase, offset)
    clock = find_clock(samples, 4)
    assert clock.offset == pytest.approx(offset, abs=5e-6)
    assert (clock.phase - phase + 0.5) % 1 == pytest.approx(0.5, abs=0.02)
    assert clock.wander < 0.03


def turned(one, other, seed):
    """Two channels in which two transmitters are mixed by a random unitary matrix."""
    random = np.random.default_rng(seed)
    matrix, _ = np.linalg.qr(random.standard_normal((2, 2)) + 1j * random.standard_normal((2, 2)))
    return list(matrix @ np.stack([one, other]))


@pytest.mark.parametrize("seed", range(5))
def test_channels_have_one_clock_however_transmitters_turn_in_them(seed):
    one, other = (modulated(QPSK, 4, 0.3, 1e-4, seed=seed + far)[0] for far in (0, 100))
    clock = find_clock(turned(one, other, seed), 4)
    assert clock.offset == pytest.approx(1e-4, abs=5e-6)
    assert clock.phase == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("seed", range(20))
def test_transmitters_half_a_symbol_apart_do_not_hide_the_clock(seed):
    one, other = (modulated(QPSK, 4, 0.1 + late, 1e-4, seed=seed + 100 * (late > 0))[0] for late in (0, 0.5))
    with pytest.raises(ValueError, match="no symbol clock stands out"):
        find_clock((one + other) / np.sqrt(2), 4)
    clock = find_clock(turned(one, other, seed), 4)
    # Of one of the two, which the other one disturbs: a tenth of a symbol from the record's start to its end.
    assert clock.offset == pytest.approx(1e-4, abs=0.1 / SYMBOLS)
    assert (2 * clock.phase - 0.2 + 0.5) % 1 == pytest.approx(0.5, abs=0.08)


def test_channels_of_noise_have_no_clock():
    random = np.random.default_rng(4)
    noise = random.standard_normal((2, 40_000)) + 1j * random.standard_normal((2, 40_000))
    with pytest.raises(ValueError, match="no symbol clock stands out"):
        find_clock(list(noise), 4)


@pytest.mark.parametrize("points", [PAM4, QPSK], ids=["pam4", "qpsk"])
@pytest.mark.parametrize("phase, offset", [(0.3, 1e-4), (0.85, -3e-4), (0.5, 2e-3)])
def test_the_clock_of_a_long_record_is_found_in_fewer_blocks(monkeypatch, points, phase, offset):
    """6000 symbols are 93 blocks, read 5 at a time: of 40 the rough offset, then 3 of them as one."""
    samples, _ = modulated(points, 4, phase, offset)
    monkeypatch.setattr(timing, "_BLOCKS", 40)
    monkeypatch.setattr(timing, "_TOGETHER", 5)
    clock = find_clock(samples, 4)
    assert clock.offset == pytest.approx(offset, abs=5e-6)
    assert (clock.phase - phase + 0.5) % 1 == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("points", [PAM4, QPSK], ids=["pam4", "qpsk"])
@pytest.mark.parametrize("sps", [2.3, 4, 8 / 3 + 1, 10, 16])
def test_a_symbol_rate_that_nobody_told(points, sps):
    samples, _ = modulated(points, sps)
    samples[100] = np.nan
    rate, _ = find_symbol_rate(samples)
    assert rate * sps == pytest.approx(1, abs=2e-5)


@pytest.mark.parametrize("seed", [0, 3, 7])
@pytest.mark.parametrize("sps", [4, 8, 16])
def test_sharp_edges_have_harmonics_that_are_no_symbol_rate(sps, seed):
    """Within a sample from one level to the other, the slope's power is a comb: all of its lines are alike."""
    random = np.random.default_rng(seed)
    sent = random.choice([-1.0, 1], 20_000)
    samples = sent[(np.arange(int(sent.size * sps)) / sps).astype(int)] + 0.02 * random.standard_normal(
        int(sent.size * sps))
    assert find_symbol_rate(samples)[0] * sps == pytest.approx(1, abs=2e-5)


def test_noise_has_neither_rate_nor_clock_nor_carrier():
    """Of 40 records; by the thresholds' distance from the largest of so many exponential variables the
    chance of one is below 10^-8."""
    random = np.random.default_rng(1)
    for _ in range(40):
        noise = random.standard_normal(40_000) + 1j * random.standard_normal(40_000)
        with pytest.raises(ValueError, match="no symbol rate stands out"):
            find_symbol_rate(noise)
        with pytest.raises(ValueError, match="no symbol clock stands out"):
            find_clock(noise, 4)
        assert find_carrier(noise) is None


@pytest.mark.parametrize("points, power", [([-1 + 0j, 1], 2), (QPSK, 4), (SQUARE, 4),
                                           (np.exp(0.25j * np.pi * np.arange(8)), 8)],
                         ids=["pam2", "qpsk", "16qam", "8psk"])
@pytest.mark.parametrize("frequency", [0, 1e-4, -0.013, 0.05])
def test_a_carrier_that_is_left(points, power, frequency):
    received, _ = modulated(points, 1, noise=0.07)
    turned = received * np.exp(2j * np.pi * frequency * np.arange(received.size) + 0.4j)
    found = find_carrier(turned)
    assert found.power == power and found.turns == (frequency != 0)
    assert found.frequency == pytest.approx(frequency, abs=1 / (8 * SYMBOLS))


def test_few_samples_are_told():
    with pytest.raises(ValueError, match="4095 samples are too few"):
        find_symbol_rate(np.zeros(4095))
    with pytest.raises(ValueError, match="511 symbols are too few"):
        find_clock(np.zeros(4 * 511), 4)
