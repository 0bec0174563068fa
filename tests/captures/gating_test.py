# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts by their power, raw numbers by their type, and carriers that move or that real samples have."""

import numpy as np
import pytest
from captures.timing_test import PAM4, QPSK, modulated
from gnuradio.adann import core
from gnuradio.adann.captures.baseband import Band, find_band, to_baseband
from gnuradio.adann.captures.bursts import BLOCK, find_bursts
from gnuradio.adann.captures.carrier import find_carrier, moving_phase, steady_phase
from gnuradio.adann.captures.files import cut, read_capture, write_capture
from gnuradio.adann.captures.recordings import read_recording
from gnuradio.adann.captures.sigmf import Burst
from gnuradio.adann.captures.statistics import Normalized, normalized, record_statistics
from gnuradio.adann.links.simulation import random_labels

SPS = 4
AT = [(700, 1500), (1900, 2300), (3000, 5500)]  # symbols


def bursts(points=QPSK, gains=(1, 0.5, 2), noise=0.03):
    """Samples, and the symbols sent."""
    samples, sent = modulated(points, SPS, noise=0)
    gain = np.zeros(samples.size)
    for (first, end), each in zip(AT, gains):
        gain[first * SPS:end * SPS] = each
    random = np.random.default_rng(3)
    samples = samples * gain + noise * random.standard_normal(samples.size)
    if np.iscomplexobj(sent):
        samples = samples + 1j * noise * random.standard_normal(samples.size)
    return samples.astype(np.complex64 if np.iscomplexobj(sent) else np.float32), sent


@pytest.mark.parametrize("points", [PAM4, QPSK], ids=["pam4", "qpsk"])
@pytest.mark.parametrize("threshold", [None, 9.0])
def test_bursts_are_where_the_power_is(points, threshold):
    found, over = find_bursts(bursts(points / np.sqrt(np.mean(abs(points) ** 2)))[0], SPS, threshold)
    assert over == threshold if threshold else over > 6
    assert [(each.first // SPS, each.end // SPS) for each in found] == [
        (pytest.approx(first, abs=1.5 * BLOCK), pytest.approx(end, abs=1.5 * BLOCK)) for first, end in AT]
    assert all(each.first <= first * SPS and each.end >= end * SPS for each, (first, end) in zip(found, AT))
    # The mean power of a burst, of which some lies outside it, over that of the noise.
    for each, gain in zip(found, (1, 0.5, 2)):
        noise = 0.03**2 * (2 if np.iscomplexobj(points) else 1)
        assert each.level == pytest.approx(10 * np.log10(gain**2 / noise), abs=1.5)


@pytest.mark.parametrize("points", [PAM4, QPSK], ids=["pam4", "qpsk"])
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_a_continuous_signal_has_none(points, noise):
    samples, _ = modulated(points, SPS, noise=noise)
    assert find_bursts(samples, SPS) == ([], None)


def test_a_threshold_lies_above_the_pauses_where_these_are_few():
    samples, _ = modulated(QPSK, SPS, noise=0.01)
    samples[8000:8000 + samples.size // 20] *= 0.01
    found, over = find_bursts(samples, SPS)
    assert len(found) == 2 and over == pytest.approx(20, abs=3)  # half of 40 dB
    assert find_bursts(samples, SPS, over) == (found, over)


def test_a_gap_too_short_to_be_a_pause_is_none():
    samples, _ = modulated(QPSK, SPS, noise=0.01)
    samples[8000:8000 + 2 * BLOCK * SPS] *= 0.01
    samples[16000:] *= 0.01
    found, _ = find_bursts(samples, SPS)
    assert len(found) == 1 and found[0].size == pytest.approx(16000, abs=2 * BLOCK * SPS)


def test_each_burst_has_a_power_of_its_own():
    samples, _ = bursts()
    there = [(first * SPS, end * SPS) for first, end in AT]
    scaled = normalized(samples, there)
    for first, end in there:
        assert np.var(scaled[first:end]) == pytest.approx(1, 1e-3)
    assert not scaled[:AT[0][0] * SPS].any() and not scaled[AT[0][1] * SPS:AT[1][0] * SPS].any()
    lazily = Normalized(samples, there)
    np.testing.assert_array_equal(np.concatenate([lazily[k:k + 999] for k in range(0, samples.size, 999)]), scaled)


def test_the_statistics_of_portions_are_those_of_the_whole(monkeypatch):
    samples = (np.random.default_rng(2).standard_normal(10_000) + 3 + 1j).astype(np.complex64)
    samples[:500] = np.nan
    expected = samples[500:].astype(complex)
    monkeypatch.setattr("gnuradio.adann.captures.statistics.PORTION", 300)
    monkeypatch.setattr("gnuradio.adann.captures.statistics.portions.__defaults__", (0, None, 300))
    mean, rms = record_statistics(samples)
    assert mean == pytest.approx(expected.mean(), rel=1e-12) and rms == pytest.approx(expected.std(), rel=1e-12)


def test_bursts_are_noted_in_a_capture(tmp_path):
    there = [Burst(10, 20, 12.5), Burst(40, 8)]
    write_capture(tmp_path / "a", np.ones(50, np.float32), bursts=there)
    assert read_capture(tmp_path / "a").bursts == there
    part = cut(read_capture(tmp_path / "a"), 3, 9, 4)
    assert part.samples.size == 36 and part.bursts == [Burst(0, 18, 12.5), Burst(28, 8)]
    with pytest.raises(ValueError, match="no burst lies"):
        cut(read_capture(tmp_path / "a"), 0, 2, 4)
    write_capture(tmp_path / "b", np.ones(50, np.float32), bursts=[Burst(10, 41)])
    with pytest.raises(ValueError, match="burst 0 lies at 10 to 51, allowed: within the 50 samples"):
        read_capture(tmp_path / "b")


def test_a_part_of_a_capture_and_of_its_reference(tmp_path):
    np.arange(40, dtype=np.int16).tofile(tmp_path / "a.sigmf-data")
    (tmp_path / "a.sigmf-meta").write_text('{"global": {"core:datatype": "ri16_le"}, "captures": []}')
    capture = read_capture(tmp_path / "a")
    capture.reference = random_labels(10, 0)
    part = cut(capture, 2, 5, 4)
    np.testing.assert_allclose(part.samples[:] * 32768, np.arange(8, 28))
    np.testing.assert_array_equal(part.reference, capture.reference[2:])
    for skip, said in (10, "below the 10 symbols"), (11, "below the 10 symbols"):
        with pytest.raises(ValueError, match=said):
            cut(capture, skip, None, 4)


@pytest.mark.parametrize("kind, dtype", [("i16", "<i2"), ("i16be", ">i2"), ("u8", "u1"), ("i32", "<i4"), ("f32", "<f4"),
                                         ("f64be", ">f8"), ("ci16", "<i2"), ("cu8", "u1"), ("cf32", "<f4")])
def test_raw_numbers_of_any_name(tmp_path, kind, dtype):
    values = np.array([-0.5, 0, 0.25, 0.5])
    dtype = np.dtype(dtype)
    full_scale = 1 if dtype.kind == "f" else 2 ** (8 * dtype.itemsize - 1)
    stored = values * full_scale + (full_scale if dtype.kind == "u" else 0)
    stored.astype(dtype).tofile(tmp_path / "rx.dis")
    capture, _ = read_recording([tmp_path / "rx.dis"], kind=kind, sample_rate=48e3)
    np.testing.assert_array_equal(capture.samples, values[::2] + 1j * values[1::2] if kind[0] == "c" else values)
    assert capture.sample_rate == 48e3


@pytest.mark.parametrize("kind, size, said", [
    ("i17", 8, "type is i17, allowed: i8"), ("f16", 8, "type is f16, allowed"), ("cf32", 12, "not cf32: 12 bytes"),
    (None, 8, "give their type: cf32, ci16")])
def test_raw_numbers_that_do_not_fit_are_named(tmp_path, kind, size, said):
    (tmp_path / "rx.dis").write_bytes(bytes(size))
    with pytest.raises(ValueError, match=said):
        read_recording([tmp_path / "rx.dis"], kind=kind)


@pytest.mark.parametrize("frequency", [0.04, 0.25, 0.4])
def test_a_carrier_under_real_samples(frequency):
    """Up by a closed form, down again; the signal is 0.26/SPS wide either way at a roll-off of 0.3."""
    sps = 40
    samples, sent = modulated(np.array([-1.0, 1]), sps, noise=0)
    samples = samples[:60_000]
    assert find_band(samples) is None
    modulating = np.cos(2 * np.pi * frequency * np.arange(samples.size) + 0.3)
    random = np.random.default_rng(1)
    found = find_band(samples * modulating + 0.1 * random.standard_normal(samples.size))
    assert found.carrier == pytest.approx(frequency, abs=0.005)
    baseband = to_baseband(samples * modulating, Band(frequency, 0.03))
    np.testing.assert_allclose(baseband[2000:-2000], (samples * np.exp(0.3j))[2000:-2000], atol=0.02)


@pytest.mark.parametrize("points, power", [(np.array([-1 + 0j, 1]), 2), (QPSK, 4)], ids=["bpsk", "qpsk"])
def test_a_carrier_that_moves_is_followed(points, power):
    random = np.random.default_rng(4)
    t = np.arange(6000)
    turned = 3e-3 * t + 1e-6 * t**2 + 0.3 * np.sin(2 * np.pi * t / 4000)  # cycles
    sent = points[random.integers(0, points.size, t.size)]
    noise = 0.1 * (random.standard_normal(t.size) + 1j * random.standard_normal(t.size))
    line = find_carrier(sent * np.exp(2j * np.pi * 3e-3 * t) + noise)
    assert line.power == power and moving_phase(sent * np.exp(2j * np.pi * 3e-3 * t) + noise, line) is None
    found = moving_phase(sent * np.exp(2j * np.pi * turned) + noise, line)
    off = (found - turned) * power
    off -= np.round(np.median(off - np.round(off[0])) + np.round(off[0]))
    assert np.std(off) < 0.1  # of a turn of the power: 1/20 of the distance between two symbols


def test_a_steady_carrier_is_a_line_and_brings_a_phase_to_one():
    random = np.random.default_rng(5)
    t = np.arange(4096)
    symbols = QPSK[random.integers(0, 4, t.size)] * np.exp(2j * np.pi * (2e-3 * t + 0.1))
    cycles = steady_phase(symbols, find_carrier(symbols))
    np.testing.assert_allclose(np.diff(cycles), 2e-3, atol=1e-4)
    assert np.mean((symbols * np.exp(-2j * np.pi * cycles)) ** 4).real > 0.9


@pytest.mark.parametrize("period", [1000, 2**15 - 1, 2**16])
@pytest.mark.parametrize("points, power", [(QPSK, 4), (np.exp(2j * np.pi * np.arange(8) / 8), 8),
                                           (core.constellation("16qam").points, 4)],
                         ids=["qpsk", "8psk", "16qam"])
def test_a_pattern_that_repeats_has_no_carrier_of_its_own(points, power, period):
    """As a pattern generator sends it: the lines of its powers are those of what repeats. By the threshold's distance
    from the largest of so many exponential variables the chance of one is below 10^-10."""
    random = np.random.default_rng(period)
    t = np.arange(2**17)
    sent = np.resize(points[random.integers(0, points.size, period)], t.size)
    noise = 0.1 * (random.standard_normal(t.size) + 1j * random.standard_normal(t.size))
    assert find_carrier(sent + noise) is None or not find_carrier(sent + noise).turns
    frequency = 3.21e-3
    found = find_carrier(sent * np.exp(2j * np.pi * frequency * t) + noise)
    assert found.power == power
    assert found.frequency == pytest.approx(frequency, abs=1 / t.size / power)
