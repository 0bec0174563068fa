# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated coherent link: each of its impairments against its closed form."""

import time

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from scipy import constants, signal

POINTS = np.array([complex(i, q) for i in (-3, -1, 3, 1) for q in (-3, -1, 3, 1)]) / np.sqrt(10)
IDEAL = dict(swing=0.01, polarization=0.0, dispersion=0.0, nonlinear_phase=0.0, snr=100.0)
QUIET = dict(polarization=0.0, snr=100.0)


def random_labels(count):
    return np.random.default_rng(1).integers(0, 16, count, dtype=np.uint8)


def run(labels, link, sps=4, **scheduler):
    """Samples of the link for all of the labels."""
    followed = np.concatenate([labels, np.zeros(link.latency(), np.uint8)])
    sink = blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(blocks.vector_source_b(followed), link, sink)
    top.run(**scheduler)
    return np.array(sink.data()[:sps * labels.size])


def constant(label, **parameters):
    """What the link makes of the same symbol for ever."""
    samples = run(np.full(300, label, np.uint8), adann.coherent_link(**{**IDEAL, **parameters}))
    return samples[400:-400].mean()


def raised_cosine(t, roll_off=0.1):
    return np.sinc(t) * np.cos(np.pi * roll_off * t) / (1 - (2 * roll_off * t)**2)


@pytest.mark.parametrize("sps, timing", [(2, 0.0), (4, 0.0), (4, 0.1), (5, -0.3)])
def test_an_ideal_link_interpolates_the_symbols_by_raised_cosines(sps, timing):
    labels = random_labels(400)
    link = adann.coherent_link(sps=sps, timing=timing, rotation=30.0, gain=2.0, offset=1 - 2j,
                               **IDEAL)
    samples = run(labels, link, sps)
    assert samples.size == sps * labels.size
    t = np.arange(samples.size) / sps + timing + 1e-9  # 1e-9: not where the formula is 0/0
    pulses = raised_cosine(t[:, None] - np.arange(labels.size))
    expected = 2 * np.exp(1j * np.pi / 6) * (pulses @ POINTS[labels]) + (1 - 2j)
    inside = slice(50 * sps, -50 * sps)  # the formula knows nothing of what is sent outside
    np.testing.assert_allclose(samples[inside], expected[inside], atol=0.02)
    if timing == 0:  # no intersymbol interference
        received = (samples[::sps] - (1 - 2j)) * np.exp(-1j * np.pi / 6) / 2
        np.testing.assert_allclose(received[50:-50], POINTS[labels][50:-50], atol=0.01)


def test_the_spectrum_ends_at_half_the_symbol_rate_and_a_tenth():
    samples = run(random_labels(20_000), adann.coherent_link(**IDEAL))
    frequency, density = signal.welch(samples, 4, nperseg=512, detrend=False,
                                      return_onesided=False)
    inner = density[np.abs(frequency) < 0.43]
    assert np.ptp(10 * np.log10(inner)) < 2  # flat, but for the estimate's own spread
    assert density[np.abs(frequency) > 0.58].max() < 1e-5 * inner.mean()


@pytest.mark.parametrize("sps, snr", [(4, 10.0), (4, 21.0), (2, 15.0)])
def test_the_snr_at_the_middles_of_the_symbols_is_the_one_asked_for(sps, snr):
    labels = random_labels(50_000)
    samples = run(labels, adann.coherent_link(sps=sps, **{**IDEAL, "snr": snr}), sps)
    noise = samples[::sps] - POINTS[labels]
    power = np.mean(np.abs(POINTS[labels])**2)
    assert 10 * np.log10(power / noise.var()) == pytest.approx(snr, abs=0.1)
    assert abs(np.mean(noise**2)) < 0.03 * noise.var()  # circular


@pytest.mark.parametrize("nonlinear_phase", [0.1, -0.5, 1.0])
def test_self_phase_modulation_turns_a_constant_field_in_proportion_to_its_power(nonlinear_phase):
    for label in (0, 1, 15):  # the three rings of 16QAM
        power = abs(POINTS[label])**2
        expected = POINTS[label] * np.exp(1j * nonlinear_phase * (power - 1))
        assert constant(label, nonlinear_phase=nonlinear_phase) == pytest.approx(expected,
                                                                                 abs=2e-3)


@pytest.mark.parametrize("dispersion, sps", [(100.0, 4), (-250.0, 4), (500.0, 4), (100.0, 2),
                                             (500.0, 16)])
def test_dispersion_is_an_all_pass_of_quadratic_phase(dispersion, sps):
    period = random_labels(64)
    spectra = []
    for value in (0.0, dispersion):
        link = adann.coherent_link(sps=sps, **{**IDEAL, "dispersion": value})
        samples = run(np.tile(period, 4), link, sps).reshape(4, -1)
        spectra.append(np.fft.fft(samples[2]))
    frequency = np.fft.fftfreq(64 * sps, 1 / (sps * 32e9))
    phase = -np.pi * 1550e-9**2 * dispersion * 1e-3 / constants.c * frequency**2
    band = np.abs(frequency) < 15e9
    np.testing.assert_allclose((spectra[1] / spectra[0])[band], np.exp(1j * phase)[band],
                               atol=0.02)


def test_the_modulator_compresses_as_a_sine_and_the_amplifier_launches_unit_power():
    # Waveforms of the shaped symbols by FFT, as an independent way to the modulator's power.
    labels, sps = random_labels(2**15), 4
    impulses = np.zeros(labels.size * sps, complex)
    impulses[::sps] = POINTS[labels]
    frequency = np.abs(np.fft.fftfreq(impulses.size, 1 / sps))
    response = np.sqrt(np.clip((0.55 - frequency) / 0.1, 0, 1))
    roll_off = (0.45 < frequency) & (frequency < 0.55)
    response[roll_off] = np.cos(np.pi / 2 * (frequency[roll_off] - 0.45) / 0.1)
    response[frequency <= 0.45] = 1
    shaped = sps * np.fft.ifft(np.fft.fft(impulses) * response)
    assert np.mean(np.abs(shaped)**2) == pytest.approx(1, abs=0.01)

    p = dict(swing=0.4, bias=0.1, iq_gain=2.0, iq_phase=10.0)

    def modulated(field):
        i, q = (np.sin(np.pi / 2 * (np.sqrt(2) * 0.4 * x + 0.1)) for x in (field.real, field.imag))
        return i + 1j * 10**(2.0 / 20) * np.exp(1j * np.radians(10.0)) * q

    launched = modulated(shaped)
    amplifier = 1 / np.sqrt(np.mean(np.abs(launched)**2))
    received = amplifier * np.fft.ifft(np.fft.fft(launched) * response)
    link = run(labels[:2000], adann.coherent_link(**{**IDEAL, **p}))
    np.testing.assert_allclose(link[400:-400], received[400:7600], atol=0.02)
    for label in (0, 7, 13):
        assert constant(label, **p) == pytest.approx(amplifier * modulated(POINTS[label]),
                                                     abs=0.01)


def test_a_turned_polarization_adds_the_other_ones_independent_symbols():
    labels = random_labels(10_000)
    samples = run(labels, adann.coherent_link(**{**IDEAL, "polarization": 30.0}))[::4]
    others = (samples - np.cos(np.pi / 6) * POINTS[labels]) / np.sin(np.pi / 6)
    distances = np.abs(others[50:-50, None] - POINTS)
    assert distances.min(axis=1).max() < 0.03
    pairs = np.bincount(16 * labels[50:-50].astype(int) + distances.argmin(axis=1),
                        minlength=256)
    expected = 9900 / 256
    assert np.sum((pairs - expected)**2 / expected) < 255 + 5 * np.sqrt(2 * 255)  # chi-squared


def test_the_default_output_has_zero_mean_and_unit_power_at_the_symbols():
    samples = run(random_labels(50_000), adann.coherent_link())[::4]
    assert abs(samples.mean()) < 0.02
    assert np.mean(np.abs(samples)**2) == pytest.approx(1, abs=0.02)


def test_the_same_seed_gives_the_same_samples_whatever_the_buffers():
    labels = random_labels(5000)
    samples = run(labels, adann.coherent_link(seed=7))
    np.testing.assert_array_equal(samples, run(labels, adann.coherent_link(seed=7),
                                               max_noutput_items=100))
    assert not np.array_equal(samples, run(labels, adann.coherent_link(seed=8)))


@pytest.mark.parametrize("setter, arguments, parameters", [
    ("set_modulator", [0.4, 0.1, 1.0, 5.0],
     dict(swing=0.4, bias=0.1, iq_gain=1.0, iq_phase=5.0)),
    ("set_polarization", [10.0], dict(polarization=10.0)),
    ("set_dispersion", [200.0], dict(dispersion=200.0)),
    ("set_nonlinear_phase", [0.4], dict(nonlinear_phase=0.4)),
    ("set_timing", [0.1], dict(timing=0.1)),
    ("set_snr", [15.0], dict(snr=15.0)),
    ("set_rotation", [20.0], dict(rotation=20.0)),
    ("set_gain", [0.7], dict(gain=0.7)),
    ("set_offset", [0.3j], dict(offset=0.3j)),
])
def test_a_setter_makes_a_running_link_the_link_made_with_that_parameter(setter, arguments,
                                                                         parameters):
    labels = random_labels(64)
    period = 4 * labels.size
    link = adann.coherent_link(**QUIET)
    sink = blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(blocks.vector_source_b(labels, True), link, sink)
    top.start()

    def pass_samples(count):
        end = sink.nitems_read(0) + count
        while sink.nitems_read(0) < end:
            time.sleep(0.001)

    pass_samples(10_000)
    getattr(link, setter)(*arguments)
    pass_samples(500_000)  # more than all buffers hold
    top.stop()
    top.wait()
    periods = np.array(sink.data()[:sink.nitems_read(0) // period * period]).reshape(-1, period)
    changed = run(np.tile(labels, 500), adann.coherent_link(**{**QUIET, **parameters}))
    changed = changed.reshape(-1, period)[1:-1]
    latest = periods[-498:]
    # What is random, noise and crosstalk, averages out or has the same spread.
    np.testing.assert_allclose(latest.mean(axis=0), changed.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(latest.std(axis=0).mean(), changed.std(axis=0).mean(), rtol=0.05,
                               atol=1e-4)
    assert not np.allclose(periods[2], periods[-1], atol=0.01)


def test_a_tag_on_a_label_lands_on_the_middle_sample_of_its_symbol():
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("symbol"), pmt.from_long(i)))
            for i in (0, 1, 100, 2500)]
    sink = blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(blocks.vector_source_b(random_labels(3000), False, 1, tags),
                adann.coherent_link(sps=5), sink)
    top.run()
    assert [(t.offset, pmt.to_long(t.value)) for t in sink.tags()] == [
        (5 * i, i) for i in (0, 1, 100, 2500)]


@pytest.mark.parametrize("parameters, named", [
    (dict(sps=1), "sps is 1, allowed: whole numbers from 2 to 16"),
    (dict(sps=4.5), "sps is 4.5, allowed"),
    (dict(swing=0.0), "swing is 0.0, allowed: 0.01 to 0.7"),
    (dict(bias=0.4), "bias is 0.4, allowed: -0.3 to 0.3"),
    (dict(dispersion=float("nan")), "dispersion is nan, allowed: -500 to 500"),
    (dict(polarization=91), "polarization is 91, allowed: -90 to 90"),
    (dict(snr=float("inf")), "snr is inf, allowed: -10 to 100"),
    (dict(offset=80 + 80j), r"offset is \(80\+80j\), allowed: magnitude 0 to 100"),
    (dict(seed=0), "seed is 0, allowed"),
])
def test_a_parameter_out_of_range_is_named(parameters, named):
    with pytest.raises(ValueError, match=named):
        adann.coherent_link(**parameters)


def test_a_setter_that_refuses_changes_nothing():
    labels = random_labels(100)
    link = adann.coherent_link()
    with pytest.raises(ValueError, match="iq_phase is 50, allowed: -45 to 45"):
        link.set_modulator(0.3, 0.1, 1.0, 50)
    np.testing.assert_array_equal(run(labels, link), run(labels, adann.coherent_link()))
