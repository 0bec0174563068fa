# SPDX-License-Identifier: GPL-3.0-or-later
"""A record at any rate, whose pulses are written down in closed form, is brought to its symbols' middles."""

import re

import numpy as np
import pytest
from captures.timing_test import PAM4, QPSK, modulated
from click.testing import CliRunner
from gnuradio.adann.captures.files import read_capture, write_capture
from gnuradio.adann.captures.timing import Clock, NoClockError, SymbolRateError
from gnuradio.adann.cli import main
from gnuradio.adann.offline import resample as module
from gnuradio.adann.offline.resample import resample, resample_channels

EDGE = 64  # symbols at the ends, where the filters run in


def off_the_points(samples, sent, sps):
    """rms distance of each symbol's middle from what was sent, best gain, rotation and delay."""
    middles = samples[::sps][EDGE:-EDGE]
    distances = []
    for delay in range(-2, 3):
        points = np.roll(sent, delay)[EDGE:EDGE + middles.size]
        points = points / np.sqrt(np.mean(abs(points) ** 2))
        gain = np.vdot(points, middles) / points.size
        distances.append(np.sqrt(np.mean(abs(middles - gain * points) ** 2)) / abs(gain))
    return min(distances)


@pytest.mark.parametrize("points", [PAM4, QPSK], ids=["pam4", "qpsk"])
@pytest.mark.parametrize("rate, sps", [(3.87881, 4), (10, 4), (16, 2), (2.5, 1), (6.4, 3), (4, 5)])
def test_middles_are_where_they_are_said_to_be(points, rate, sps):
    samples, sent = modulated(points, rate, 0.37, noise=0.01)
    samples = samples.astype(np.complex64 if np.iscomplexobj(samples) else np.float32)
    done = resample(samples, rate, 1.0, sps)
    assert done.samples.dtype == samples.dtype
    assert abs(done.samples.size / sps - sent.size) < 3
    assert off_the_points(done.samples, sent, sps) < 0.05  # the pulse is flat to 0.4 of the rate


@pytest.mark.parametrize("points", [PAM4, QPSK], ids=["pam4", "qpsk"])
@pytest.mark.parametrize("phase, sps", [(0.37, 4), (0.9, 2), (0.0, 1)])
def test_a_record_that_is_read_in_portions_comes_out_alike(tmp_path, monkeypatch, points, phase, sps):
    samples, _ = modulated(points, 4.3, phase, 2e-4, noise=0.01)
    samples = samples.astype(np.complex64 if np.iscomplexobj(samples) else np.float32)
    whole = resample(samples, 4.3, 1, sps)
    monkeypatch.setattr(module, "_SHIFTED", 3000)
    monkeypatch.setattr(module, "_MARGIN", 500)
    parts = resample(samples, 4.3, 1, sps, scratch=tmp_path)
    assert parts.said == whole.said and len(parts.samples) == whole.samples.size
    assert np.sqrt(np.mean(abs(parts.samples[:] - whole.samples) ** 2)) < 1e-3


@pytest.mark.parametrize("held", [True, False], ids=["in memory", "in files"])
def test_channels_keep_their_delay_and_get_one_clock(tmp_path, held):
    """The second is the first one 0.3 symbols later and not as clear, or chance would say whose middles are taken; the
    third is noise: alone, one would come to its own middles, and the other have none."""
    one, sent = modulated(QPSK, 4.3, 0.37, 2e-4, noise=0.01)
    late = 1j * modulated(QPSK, 4.3, 0.67, 2e-4, noise=0.05)[0]
    random = np.random.default_rng(5)
    noise = random.standard_normal(one.size) + 1j * random.standard_normal(one.size)
    done = resample_channels([each.astype(np.complex64) for each in (one, late, noise)], 4.3, 1, 4,
                             None if held else tmp_path)
    alone = resample(one.astype(np.complex64), 4.3, 1, 4)
    first, second, third = (each.samples[:] for each in done)
    assert {each.symbol_rate for each in done} == {done[0].symbol_rate} and "ppm off the one given" in done[0].said[0]
    assert done[0].symbol_rate == pytest.approx(1 + 2e-4, abs=5e-6)
    assert first.size == second.size == third.size
    assert np.sqrt(np.mean(abs(first - alone.samples) ** 2)) < 0.05
    assert off_the_points(first, sent, 4) < 0.05
    # Where the second one's middles lie, by its spectrum.
    turns = np.exp(2j * np.pi * np.fft.fftfreq(second.size) * 0.3 * 4)
    assert off_the_points(np.fft.ifft(np.fft.fft(second) * turns), sent, 4) < 0.08
    assert np.vdot(first, second) / np.vdot(first, first) == pytest.approx(
        np.vdot(one, late) / np.vdot(one, one), abs=0.02)


@pytest.mark.parametrize("moving", [0, 2])
def test_bursts_and_a_carrier_come_out_alike_in_portions(tmp_path, monkeypatch, moving):
    random = np.random.default_rng(7)
    samples, _ = modulated(QPSK, 8.6, 0.37, 2e-4, noise=0.01)
    pause = 0.01 * (random.standard_normal(9000) + 1j * random.standard_normal(9000))
    samples = np.concatenate([pause, samples, pause, samples[:30_000], pause])
    at = np.arange(samples.size)
    samples = samples * np.exp(2j * np.pi * (3e-4 * at + moving * np.sin(at / 20_000)))
    whole, parts = [], []
    for record, done in (samples.astype(np.complex64), whole), (samples.astype(np.complex64), parts):
        if done is parts:
            for name, size in ("_SHIFTED", 3000), ("_MARGIN", 500):
                monkeypatch.setattr(module, name, size)
            monkeypatch.setattr("gnuradio.adann.captures.carrier._AT_ONCE", 700)
            monkeypatch.setattr("gnuradio.adann.captures.carrier._TOGETHER", 5)
        done.append(module.resample(record, 8.6, 1, 4, carrier=True, bursts=True,
                                    scratch=tmp_path if done is parts else None))
    told, again = ([re.sub(r"[-\d.e]+", "", each) for each in done[0].said] for done in (whole, parts))
    assert told == again and parts[0].bursts == whole[0].bursts and len(whole[0].bursts) == 2
    assert not moving or sum("moves" in sentence for sentence in whole[0].said) == 2
    for burst in whole[0].bursts:  # whose phase is open by a quarter of a turn
        one, other = (done[0].samples[burst.first:burst.end] for done in (parts, whole))
        assert min(np.sqrt(np.mean(abs(one - turn * other) ** 2)) for turn in (1, 1j, -1, -1j)) < 1e-3


def test_real_samples_on_a_carrier_come_down_alike_in_portions(tmp_path, monkeypatch):
    samples, _ = modulated(QPSK, 8, 0.3, noise=0)
    samples = (samples * 1j ** (np.arange(samples.size) % 4)).real.astype(np.float32)
    whole, said = module.without_carrier(samples, 1.0)
    monkeypatch.setattr("gnuradio.adann.captures.baseband._PORTION", 5000)
    monkeypatch.setattr("gnuradio.adann.captures.baseband._MARGIN", 1000)
    parts, again = module.without_carrier(samples, 1.0, tmp_path)
    assert said == again and "real samples around 0.2" in said[0] and isinstance(parts, np.memmap)
    np.testing.assert_allclose(parts[500:-500], whole[500:-500], atol=1.5e-3)  # the record's ends ring


def test_samples_that_are_not_finite_are_told():
    samples, _ = modulated(PAM4, 8, noise=0.01)
    samples[3000:3005], samples[7000] = np.nan, np.inf
    done = resample(samples.astype(np.float32), 8, 1, 4)
    assert f"6 of {samples.size} samples are not finite: taken as 0" in done.said


def test_nor_are_those_on_a_carrier_lost_in_silence():
    samples, _ = modulated(QPSK, 8, noise=0)
    samples = (samples * 1j ** (np.arange(samples.size) % 4)).real.astype(np.float32)
    samples[3000:3005] = np.nan
    assert f"5 of {samples.size} samples are not finite: taken as 0" in module.without_carrier(samples, 1.0)[1]


def test_what_is_mapped_has_its_place_on_the_disk(tmp_path):
    """On a full disk an error is raised here; where nothing had been asked for, writing would end the process."""
    room = module._room(tmp_path, "room", 10**6, np.complex64)
    assert (tmp_path / "room").stat().st_blocks * 512 >= room.nbytes == 8 * 10**6 and not room.any()


def test_a_rate_that_is_told_a_little_wrong_is_corrected():
    samples, sent = modulated(PAM4, 8, noise=0.01)
    done = resample(samples.astype(np.float32), 8, 1.0003, 4)
    assert done.symbol_rate == pytest.approx(1, abs=3e-6)
    assert off_the_points(done.samples, sent, 4) < 0.05
    assert any("the symbol rate is -29" in sentence or "-30" in sentence for sentence in done.said)


@pytest.mark.parametrize("seed", range(3))
def test_bursts_whose_clocks_start_anew_tell_one_symbol_rate(seed):
    """Each has a phase of its own: a line through all of them would tell another rate, or none."""
    random = np.random.default_rng(seed)
    pause = 0.02 * random.standard_normal(3000)
    pieces = [pause]
    for phase in random.random(4):
        pieces += [modulated(QPSK, 8, phase, 3e-5, noise=0.05, seed=int(1e6 * phase))[0],
                   pause[:int(random.integers(2000, 3000))]]
    samples = np.concatenate(pieces).astype(np.complex64)
    done = resample(samples, 8, 1, 4, bursts=True)
    assert len(done.bursts) == 4
    assert done.symbol_rate == pytest.approx(1 + 3e-5, abs=3e-6)


def test_a_carrier_is_taken_out():
    samples, sent = modulated(QPSK, 8, noise=0.01)
    turned = (samples * np.exp(2j * np.pi * 0.01 / 8 * np.arange(samples.size))).astype(np.complex64)
    assert off_the_points(resample(turned, 8, 1, 4).samples, sent, 4) > 0.5
    done = resample(turned, 8, 1, 4, carrier=True)
    assert off_the_points(done.samples, sent, 4) < 0.06
    assert any("carrier of 0.01 cycles" in sentence for sentence in done.said)


def adann(*arguments):
    return CliRunner(mix_stderr=False).invoke(main, [str(each) for each in arguments],
                                              prog_name="adann")


def test_the_command_finds_the_rate_and_notes_it(tmp_path):
    samples, sent = modulated(PAM4, 5.3, 0.2, noise=0.01)
    write_capture(tmp_path / "scope", samples.astype(np.float32), 5.3e6)
    result = adann("resample", tmp_path / "scope", "--sps", 2, "-o", tmp_path / "rx")
    assert result.exit_code == 0, result.stderr
    assert "symbol rate found: " in result.stdout and " samples a symbol (line " in result.stdout
    capture = read_capture(tmp_path / "rx")
    assert capture.symbol_rate == pytest.approx(1e6, rel=1e-5)
    assert capture.sample_rate == pytest.approx(2 * capture.symbol_rate)
    assert off_the_points(np.asarray(capture.samples), sent, 2) < 0.05


def test_a_symbol_rate_above_the_sample_rate_is_refused():
    samples = modulated(PAM4, 8)[0].astype(np.float32)
    with pytest.raises(SymbolRateError, match="symbol rate is 3, allowed: up to the sample rate, 2$"):
        resample(samples, 2, 3, 2)
    with pytest.raises(SymbolRateError, match="symbol rate is 3, "):
        resample_channels([samples, samples], 2, 3)


def test_a_symbol_rate_that_is_too_far_off_is_refused():
    samples = modulated(PAM4, 8, noise=0.01)[0].astype(np.float32)
    said = r"clock is -0\.6. % off, allowed: up to 0\.5 %; the symbol rate 1\.0065 may be wrong$"
    with pytest.raises(SymbolRateError, match=said):
        resample(samples, 8, 1.0065, 4)
    with pytest.raises(NoClockError, match=r"no symbol clock stands out.*; the symbol rate 1\.3 may be wrong$"):
        resample(samples, 8, 1.3, 4)


def test_a_clock_that_is_gone_once_its_rate_is_corrected_names_the_rate(monkeypatch):
    """A second search, at the corrected rate, may find none."""
    samples, found = modulated(PAM4, 8)[0].astype(np.float32), []

    def find_clock(*_):
        if found:
            raise NoClockError("no symbol clock stands out")
        found.append(Clock(0.0, 1e-3, 0.0, 100.0))
        return found[0]

    monkeypatch.setattr(module, "find_clock", find_clock)
    for run in lambda: resample(samples, 8, 1, 4), lambda: resample_channels([samples, samples], 8, 1, 4):
        found.clear()
        with pytest.raises(NoClockError, match="^no symbol clock stands out; the symbol rate 1 may be wrong$"):
            run()


@pytest.mark.parametrize("baud, said", [
    (9, "symbol rate is 9, allowed: up to the sample rate, 8"),
    (1.3, "no symbol clock stands out.*; the symbol rate 1.3 may be wrong"),
    (0.05, "300 symbols are too few to find their middles, allowed: from 512 on; the symbol rate 0.05 may be wrong")])
def test_the_command_names_the_option(tmp_path, baud, said):
    modulated(PAM4, 8, noise=0.01)[0].astype(np.float32).tofile(tmp_path / "a.f32")
    result = adann("resample", tmp_path / "a.f32", "--sample-rate", 8, "--baud", baud, "-o", tmp_path / "rx")
    assert re.fullmatch(rf"adann: \S+a\.f32: {said} \(--baud\)\n", result.stderr), result.stderr


def test_no_error_of_the_clock_is_known_by_its_words(monkeypatch):
    """A record at the wanted rate is taken as it is where no clock stands out, whatever the error says."""
    samples = modulated(PAM4, 4)[0].astype(np.float32)

    def find_clock(*_):
        raise NoClockError("nothing")

    monkeypatch.setattr(module, "find_clock", find_clock)
    assert "taken as they are" in resample(samples, 4, 1, 4).said[-1]
    with pytest.raises(NoClockError, match="^nothing; the symbol rate 1 may be wrong$"):
        resample(samples, 8, 1, 4)


@pytest.mark.parametrize("command", ["resample", "try"])
def test_a_symbol_rate_alone_does_not_say_how_long_a_symbol_is(tmp_path, command):
    modulated(PAM4, 8)[0].astype(np.float32).tofile(tmp_path / "a.f32")
    result = adann(command, tmp_path / "a.f32", "--baud", 1, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "a.f32 has no sample rate, which --baud 1 needs: give --sample-rate" in " ".join(result.stderr.split())
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("command", ["train", "equalize"])
def test_rates_that_contradict_the_samples_per_symbol_are_refused(tmp_path, command):
    samples, _ = modulated(PAM4, 4)
    write_capture(tmp_path / "rx", samples.astype(np.float32), 40e9, symbol_rate=10.3125e9)
    model = tmp_path / "model"
    write_capture(tmp_path / "good", samples.astype(np.float32), 40e9, symbol_rate=10e9)
    options = ("--blind", "--constellation", "pam4", "--sps", 4, "--half-window", 1, "--epochs", 1,
               "-o", model)
    assert adann("train", "--capture", tmp_path / "good", *options).exit_code == 0
    result = adann(command, "--capture", tmp_path / "rx",
                   *(options if command == "train" else ("--model", model)))
    assert result.exit_code == 1 and result.stderr.count("\n") == 1
    assert "are 3.87879 samples a symbol, sps is 4; adann resample --sps 4" in result.stderr


def test_noise_is_refused_in_one_line(tmp_path):
    noise = np.random.default_rng(0).standard_normal(50_000).astype(np.float32)
    noise.tofile(tmp_path / "noise.f32")
    for options in ((), ("--sample-rate", 8, "--baud", 1)):
        result = adann("resample", tmp_path / "noise.f32", *options, "-o", tmp_path / "rx")
        assert result.exit_code == 1 and result.stderr.count("\n") == 1
        assert "stands out" in result.stderr and "--baud" in result.stderr
    assert not list(tmp_path.glob("rx*"))
