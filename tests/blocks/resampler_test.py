# SPDX-License-Identifier: GPL-3.0-or-later
"""The resampler against band-limited signals known in closed form, and scipy."""

import threading

import numpy as np
import pmt
import pytest
import scipy.signal
from gnuradio import adann, blocks, gr
from records import record

# sample rate, symbol rate; at 4 samples per symbol: 7/10, 8/5, arbitrary, 1:1, and decimation
RATES = [(160e9, 28e9), (80e9, 32e9), (3.87881, 1), (28e9 * 4, 28e9), (16.1803, 1)]


def run(block, samples, tags=()):
    is_complex = np.iscomplexobj(samples)
    source = (blocks.vector_source_c if is_complex else blocks.vector_source_f)(
        samples, False, 1, list(tags))
    sink = (blocks.vector_sink_c if is_complex else blocks.vector_sink_f)()
    top = gr.top_block()
    top.connect(source, block, sink)
    top.run()
    return np.array(sink.data()), sink.tags()


def single(samples):
    return samples.astype(np.complex64 if np.iscomplexobj(samples) else np.float32)


def decibel(error, reference):
    return 10 * np.log10(np.mean(abs(error) ** 2) / np.mean(abs(reference) ** 2))


def tones(highest, is_complex):
    """A sum of 20 sinusoids up to `highest` cycles per unit of time, as a function of time."""
    random = np.random.default_rng(1)
    frequencies = np.append(random.uniform(-highest if is_complex else 0, highest, 19), highest)
    phases = random.uniform(0, 2 * np.pi, 20)

    def signal(t):
        waves = sum(np.exp(1j * (2 * np.pi * f * t + p)) for f, p in zip(frequencies, phases))
        return waves if is_complex else waves.real
    return signal


def pam_waveform(sps, symbols, offset, is_complex):
    """Raised-cosine (0.35) PAM4 or 16QAM from a clock that is faster by `offset`."""
    random = np.random.default_rng(1)
    sent = random.choice([-3., -1., 1., 3.], symbols)
    if is_complex:
        sent = sent + 1j * random.choice([-3., -1., 1., 3.], symbols)
    t = np.arange(int((symbols - 60) * sps)) / sps * (1 + offset) + 20.37
    nearest = np.round(t).astype(int)
    waveform = np.zeros(t.size, sent.dtype)
    for d in range(-16, 17):
        u = t - nearest - d
        waveform += sent[nearest + d] * np.sinc(u) * np.cos(np.pi * 0.35 * u) / (
            1 - (0.7 * u) ** 2 + 1e-12)
    return single(waveform), sent


def eye_decibel(symbols, sent):
    """SNR of symbols whose place in `sent` is to be found by correlation."""
    size = 1 << (sent.size + symbols.size).bit_length()
    correlation = np.fft.ifft(np.fft.fft(sent, size) * np.conj(np.fft.fft(symbols, size)))
    first = np.argmax(abs(correlation[:sent.size - symbols.size]))
    expected = sent[first:first + symbols.size]
    gain = np.vdot(expected, symbols) / np.vdot(expected, expected)
    return -decibel(symbols - gain * expected, gain * expected)


@pytest.mark.parametrize("sample_rate, symbol_rate", RATES)
@pytest.mark.parametrize("is_complex", [False, True])
def test_the_passband_is_kept_and_sample_0_stays_sample_0(sample_rate, symbol_rate, is_complex):
    ratio = 4 * symbol_rate / sample_rate
    signal = tones(0.4 * min(1, ratio), is_complex)
    out, _ = run(adann.resampler(sample_rate, symbol_rate, 4, is_complex, "record"),
                 single(signal(np.arange(20_000))))
    expected = signal(np.arange(out.size) / ratio)
    inside = slice(200, -200)
    # The arbitrary one's ratio is a float: 3e-8 off, 1e-3 rad after 20,000 samples.
    limit = -62 if sample_rate / symbol_rate in (3.87881, 16.1803) else -80
    assert decibel((out - expected)[inside], expected) < limit


@pytest.mark.parametrize("up, down", [(7, 10), (8, 5)])
def test_noise_comes_out_as_from_scipys_polyphase_resampler(up, down):
    noise = np.random.default_rng(2).standard_normal(20_000)
    # What scipy's and this low-pass leave alike: below 0.35 of the lower rate.
    noise = scipy.signal.lfilter(
        scipy.signal.firwin(401, 0.7 * min(1, up / down), window=("kaiser", 9)), 1, noise)
    expected = scipy.signal.resample_poly(noise, up, down, window=scipy.signal.firwin(
        2001, 1 / max(up, down), window=("kaiser", 9)))
    out, _ = run(adann.resampler(4 * down, up, normalization="record"), single(noise))
    inside = slice(200, out.size - 200)
    assert decibel((out - expected[:out.size])[inside], expected[inside]) < -70


@pytest.mark.parametrize("sample_rate, symbol_rate", [(160e9, 28e9), (16.1803, 1)])
def test_above_the_passband_nothing_folds_into_it(sample_rate, symbol_rate):
    ratio = 4 * symbol_rate / sample_rate
    t = np.arange(40_000)
    for frequency in np.linspace(0.6 * ratio, 0.5, 7):
        out, _ = run(adann.resampler(sample_rate, symbol_rate, normalization="record"),
                     single(np.cos(2 * np.pi * frequency * t)))
        assert decibel(out[200:], np.float64(0.5) ** 0.5) < -75


@pytest.mark.parametrize("sample_rate, symbol_rate", RATES)
def test_with_its_tail_appended_the_whole_record_comes_out(sample_rate, symbol_rate):
    ratio = 4 * symbol_rate / sample_rate
    for size in (5000, 5001, 5037):
        block = adann.resampler(sample_rate, symbol_rate, normalization="record")
        out, _ = run(block, np.ones(size + block.tail(), np.float32))
        assert size * ratio <= out.size < (size + block.tail()) * ratio + 1


@pytest.mark.parametrize("sample_rate, symbol_rate", RATES)
def test_tags_move_with_their_samples(sample_rate, symbol_rate):
    at = (0, 1000, 1001, 4000)
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("here"), pmt.from_long(i))) for i in at]
    ratio = 4 * symbol_rate / sample_rate
    _, passed = run(adann.resampler(sample_rate, symbol_rate), np.ones(6000, np.float32), tags)
    assert [pmt.to_long(t.value) for t in passed] == list(at)
    for tag in passed:
        assert abs(tag.offset - pmt.to_long(tag.value) * ratio) <= 1 + ratio / 2


@pytest.mark.parametrize("sample_rate, symbol_rate", RATES)
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("clock_recovery", [False, True])
def test_a_burst_of_nan_is_gone_after_the_filters_length(sample_rate, symbol_rate, is_complex,
                                                         clock_recovery):
    sps = sample_rate / symbol_rate
    samples, sent = pam_waveform(sps, 12_000, 0, is_complex)
    samples = 5 + 0.01 * samples
    samples[int(5000 * sps):int(5020 * sps)] = [np.nan, np.inf][is_complex]
    out, _ = run(adann.resampler(sample_rate, symbol_rate, 4, is_complex,
                                 clock_recovery=clock_recovery), samples)
    assert np.isfinite(out).all()
    later = out[4 * 5040:]
    assert abs(later.mean()) < 0.08  # 500 before; that of 7000 random symbols deviates by 0.012
    assert np.var(later) == pytest.approx(1, abs=0.05)
    if clock_recovery:
        assert eye_decibel(out[4 * 6000::4], sent) > 20


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("sample_rate, sps", [(3.87881, 4), (2.5, 1), (2.5, 2), (4, 3)])
def test_clock_recovery_follows_a_clock_that_is_100_ppm_off(is_complex, sample_rate, sps):
    samples, sent = pam_waveform(sample_rate, 40_000, 1e-4, is_complex)
    free, _ = run(adann.resampler(sample_rate, 1, sps, is_complex), samples)
    locked, _ = run(adann.resampler(sample_rate, 1, sps, is_complex, clock_recovery=True), samples)
    quarter = 10_000 * sps
    assert eye_decibel(locked[quarter:3 * quarter:sps], sent) > 25
    assert eye_decibel(free[quarter:3 * quarter:sps], sent) < 10  # it slips two symbols


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("loop_bandwidth", [0.01, 0.1, 0.9])
@pytest.mark.parametrize("sps", [1, 2, 4])
def test_a_stream_that_ends_in_an_overload_ends(is_complex, loop_bandwidth, sps):
    """symbol_sync asked for less input than it then moved on by, and was called for ever: in 13 of these 18."""
    samples, _ = pam_waveform(4, 3000, 0, is_complex)
    overload = np.random.default_rng(1).standard_normal(40) * 10 ** np.linspace(0, 4, 40)
    for left in range(0, 40, 3):
        top, sink = gr.top_block(), blocks.null_sink(8 if is_complex else 4)
        source = blocks.vector_source_c if is_complex else blocks.vector_source_f
        top.connect(source(np.concatenate([samples, overload[left:]])),
                    adann.resampler(4, 1, sps, is_complex, clock_recovery=True, loop_bandwidth=loop_bandwidth), sink)
        top.start()
        waiting = threading.Thread(target=top.wait, daemon=True)
        waiting.start()
        waiting.join(120)
        assert not waiting.is_alive(), left


def test_whole_record_statistics_skip_what_is_not_finite():
    random = np.random.default_rng(3)
    samples = random.standard_normal(1000) + 1j * random.standard_normal(1000)
    dirty = np.insert(samples, [0, 500, 1000], [np.nan, np.inf, 1j * np.nan])
    mean, rms = adann.record_statistics(dirty.astype(np.complex64))
    assert mean == pytest.approx(np.mean(samples), rel=1e-5)
    assert rms == pytest.approx(np.sqrt(np.mean(abs(samples - mean) ** 2)), rel=1e-5)
    normalised, _ = run(adann.resampler(4, 1, 4, True, "record", mean=mean, rms=rms),
                        dirty.astype(np.complex64))
    assert abs(np.delete(normalised, [0, 501, 1002]).mean()) < 1e-5
    assert np.var(np.delete(normalised, [0, 501, 1002])) == pytest.approx(1, abs=1e-4)
    with pytest.raises(ValueError, match="none is finite"):
        adann.record_statistics([np.nan])
    with pytest.raises(ValueError, match="2.0 throughout"):
        adann.record_statistics([2.0, 2.0])


def test_a_measured_serdes_eye_is_as_open_at_4_samples_per_symbol_as_in_the_record():
    samples = np.fromfile(record("serdes_10gbase_r/10Gbase-R_w1_40GSps_f32.bin"), np.float32)
    mean, rms = adann.record_statistics(samples)
    out, _ = run(adann.resampler(40e9, 10.31245e9, 4, False, "record", mean=mean, rms=rms,
                                 clock_recovery=True), samples)
    middle = abs(out[8000::4])  # two levels: their spread is the noise
    assert 20 * np.log10(middle.mean() / middle.std()) > 20.3  # the captures' README: 20.4


@pytest.mark.parametrize("changed, message", [
    ({"sample_rate": 0}, "sample_rate is 0, allowed: above 0"),
    ({"symbol_rate": float("nan")}, "symbol_rate is nan"),
    ({"sample_rate": 40e9}, "sample_rate is 40000000000.0, allowed: 1/256 to 256 times"),
    ({"sps": 0}, "sps is 0, allowed: whole numbers from 1 to 64"),
    ({"sps": 2.5}, "sps is 2.5"),
    ({"normalization": "none"}, "normalization is none, allowed: 'running' or 'record'"),
    ({"window": 10}, "window is 10, allowed"),
    ({"normalization": "record", "rms": 0}, "rms is 0"),
    ({"loop_bandwidth": 0}, "loop_bandwidth is 0"),
])
def test_a_parameter_out_of_range_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        adann.resampler(**{"sample_rate": 8, "symbol_rate": 2, **changed})
