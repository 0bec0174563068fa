# SPDX-License-Identifier: GPL-3.0-or-later
"""OQPSK: Q comes half a symbol later than I."""

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.resample import resample_offset
from gnuradio.adann.offline.training import TrainingSettings, train
from gnuradio.adann.offline.trial import try_capture
from gnuradio.filter import firdes
from scipy.signal import fftconvolve

SPS = 4  # of what is received


def received(seed, ratio, symbols=100_000, roll_off=0.35, echo=0.25, offset=0.0, clock=0.0, phase=None):
    """Bits of I and Q, and samples: a second ray 1.25 symbols late, carrier in cycles a symbol and clock off, noise."""
    random = np.random.default_rng([seed, 5])
    bits = random.integers(0, 2, (2, symbols))
    samples = np.zeros(SPS * symbols, complex)
    samples[::SPS] = 2 * bits[0] - 1
    samples[SPS // 2::SPS] += 1j * (2 * bits[1] - 1)
    samples = fftconvolve(samples, firdes.root_raised_cosine(1, SPS, 1, roll_off, 11 * SPS + 1), "same")
    samples += echo * np.exp(2j * np.pi * random.uniform()) * np.roll(samples, 5)
    samples = later(samples, np.arange(samples.size - 300) * (1 + clock))
    samples /= np.sqrt(np.mean(abs(samples) ** 2))
    turned = offset * np.arange(samples.size) / SPS + (random.uniform() if phase is None else phase)
    noise = 10 ** (-ratio / 20) * np.sqrt(SPS / 2) * (random.standard_normal((samples.size, 2)) @ [1, 1j])
    return bits, (samples * np.exp(2j * np.pi * turned) + noise).astype(np.complex64)


def later(samples, time):
    """The samples at these times, by cubic interpolation."""
    whole = np.clip(time.astype(int), 1, samples.size - 3)
    part = time - whole
    return (-part * (part - 1) * (part - 2) / 6 * samples[whole - 1]
            + (part + 1) * (part - 1) * (part - 2) / 2 * samples[whole]
            - (part + 1) * part * (part - 2) / 2 * samples[whole + 1]
            + (part + 1) * part * (part - 1) / 6 * samples[whole + 2])


def labels_of(bits):
    return (2 * bits[0] + bits[1]).astype(np.uint8)


def error_rate(labels, bits, first, last):
    """Of bits, the least over what no blind start can know: which of the two is I, signs, and a delay of each."""
    size, rates = 1 << 18, np.ones((2, 2))
    for i, got in enumerate((labels >> 1, labels & 1)):
        for j in range(2):
            got_levels, sent = 2.0 * got - 1, 2.0 * bits[j] - 1
            alike = np.fft.irfft(np.fft.rfft(got_levels, size) * np.conj(np.fft.rfft(sent, size)))
            delay = int(abs(alike).argmax())
            sign, delay = np.sign(alike[delay]), delay - size * (delay > size // 2)
            here = np.arange(max(first, delay), min(last, labels.size, sent.size + delay))
            rates[i, j] = np.mean(sign * got_levels[here] != sent[here - delay])
    return min(rates[0, 0] + rates[1, 1], rates[0, 1] + rates[1, 0]) / 2


def told_all(samples, bits, offset, clock, first, last, half=6):
    """Bit error rate of least squares from 20,000 known symbols to samples whose carrier and clock are known."""
    still = samples * np.exp(-2j * np.pi * offset * np.arange(samples.size) / SPS)
    still = later(still, np.arange(SPS * bits.shape[1] - 1200) / (1 + clock))
    windows = np.lib.stride_tricks.sliding_window_view(still, 2 * half * SPS + 1)[::SPS]
    features = np.hstack([windows.real, windows.imag])
    sent = bits[:, half:half + len(features)]
    taps = np.linalg.lstsq(features[:20_000], 2.0 * sent[:, :20_000].T - 1, rcond=None)[0]
    return np.mean((features[first:last] @ taps > 0) != sent[:, first:last].T)


def run(block, samples):
    sink, top = blocks.vector_sink_b(), gr.top_block()
    top.connect(blocks.vector_source_c(samples), block, sink)
    top.run()
    return np.array(sink.data(), np.uint8)


@pytest.mark.parametrize("seed", range(8))
def test_a_receiver_told_nothing_is_as_good_as_one_told_all(seed):
    """Carrier off by up to 0.1 cycles a symbol, clock by up to 300 ppm. Bounds: six deviations of some 100 errors."""
    random = np.random.default_rng([seed, 8])
    offset, clock, ratio = random.uniform(-0.1, 0.1), random.uniform(-3e-4, 3e-4), random.uniform(8.5, 13)
    roll_off, echo = random.choice([0.35, 0.5]), random.uniform(0, 0.3)
    bits, samples = received(seed, ratio, 100_000, roll_off, echo, offset, clock)
    receiver = adann.receiver("", SPS, 1, constellation="oqpsk", carrier_recovery=True, roll_off=roll_off,
                              mode="lockstep")
    found = error_rate(run(receiver, samples), bits, 60_000, 98_000)
    assert abs(receiver.carrier.frequency() - offset) < 1e-4
    assert found < 1.6 * told_all(samples, bits, offset, clock, 60_000, 98_000) + 3e-4


@pytest.mark.parametrize("blind", [False, True])
def test_the_equalizer_is_trained_with_labels_or_starts_with_nothing(blind):
    """Two samples a symbol, a carrier and a clock that are recovered, any phase."""
    for seed in range(3):
        bits, samples = received(seed, 10, 80_000)
        matched = fftconvolve(samples, firdes.root_raised_cosine(1, SPS, 1, 0.35, 11 * SPS + 1), "same")
        two = normalized(np.ascontiguousarray(matched[::2]).astype(np.complex64))
        if blind:
            equalizer = adann.equalizer(constellation="oqpsk", sps=2, half_window=5, mode="lockstep")
        else:
            trained = train(two[:2 * 20_000], labels_of(bits)[:20_000], "oqpsk", 2, 5,
                            TrainingSettings(fraction=1, epochs=60, batch=1024, optimizer="adam"))
            assert trained.disagreement == "" and trained.delay == 0
            equalizer = adann.equalizer(trained.model, mode="lockstep")
        decided = run(equalizer, two)
        wrong = told_all(samples, bits, 0, 0, 40_000, 78_000)
        found = error_rate(decided, bits, 40_000, 78_000)
        assert found < 1.6 * wrong + 3e-4
        if not blind:
            there = slice(40_000, 78_000)
            assert np.mean(decided[there] != labels_of(bits)[there]) < 2 * found + 1e-4


@pytest.mark.parametrize("given", [True, False])
def test_try_recovers_carrier_and_clock(given):
    bits, samples = received(3, 11, 60_000, echo=0.3, offset=0.03, clock=1.5e-4)
    capture = Capture(samples, reference=labels_of(bits) if given else None)
    trial = try_capture(capture, 0.25, core.constellation("oqpsk"), 4, 5, 0.25)
    counts = {row.name: row.errors for row in trial.rows}
    assert "cycles a symbol, with Q half a symbol later than I" in trial.said[0]
    assert counts["AdaNN"] <= counts["linear equalizer"] + 20 < 0.01 * 40_000
    assert not trial.doubtful
    if given:
        assert counts["AdaNN"] < 60_000 * 2 * (1.6 * told_all(samples, bits, 0.03, 1.5e-4, 20_000, 50_000) + 3e-4)


def test_what_cannot_use_it_says_so():
    with pytest.raises(ValueError, match="constellation is oqpsk, allowed: one whose I and Q come together"):
        adann.mlse("oqpsk", 2, 3, True)
    with pytest.raises(ValueError, match="sps is 3, allowed: even numbers, for oqpsk"):
        adann.equalizer(constellation="oqpsk", sps=3)
    with pytest.raises(ValueError, match="sps is 2, allowed: 4 to 64"):
        adann.carrier_recovery("oqpsk", 2)
    noise = (np.random.default_rng(1).standard_normal((100, 2)) @ [1, 1j]).astype(np.complex64)
    with pytest.raises(ValueError, match="the symbol rate of oqpsk is not found"):
        try_capture(Capture(noise), None, core.constellation("oqpsk"), 4, 5, 0.25)
    with pytest.raises(ValueError, match="samples is .* throughout, allowed: a record with a signal"):
        try_capture(Capture(np.ones(100, np.complex64)), None, core.constellation("oqpsk"), 4, 5, 0.25)
    with pytest.raises(ValueError, match="oqpsk needs complex samples"):
        resample_offset(np.ones(100, np.float32), 4, 1, 4)
