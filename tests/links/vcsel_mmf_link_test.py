# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated VCSEL-MMF link against the same link in continuous time, solved by scipy."""

import time

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from scipy import interpolate, signal

SYMBOL = 1 / 28  # ns
LEVELS = np.array([-3, -1, 3, 1]) / np.sqrt(5)
QUIET = dict(noise=0.0, gain=1.0)
LINEAR = dict(quadratic=0.0, cubic=0.0, skew=0.0)


def random_labels(count):
    return np.random.default_rng(1).integers(0, 4, count, dtype=np.uint8)


def run(labels, link, sps=4, **scheduler):
    """Samples of the link for all of the labels."""
    followed = np.concatenate([labels, np.zeros(link.latency(), np.uint8)])
    sink = blocks.vector_sink_f()
    top = gr.top_block()
    top.connect(blocks.vector_source_b(followed), link, sink)
    top.run(**scheduler)
    return np.array(sink.data()[:sps * labels.size])


def low_pass(bandwidth):
    return signal.TransferFunction(
        *signal.bessel(4, 2 * np.pi * bandwidth, analog=True, norm="mag"))


def vcsel(bias):
    resonance = 7.5 * np.sqrt(bias - 0.6)
    return signal.TransferFunction(
        [(2 * np.pi * resonance)**2],
        [1, 0.25 * resonance**2 + 25, (2 * np.pi * resonance)**2])


def continuous_link(labels, sps, bias=5.0, quadratic=0.0, cubic=0.0, skew=0.0,
                    mode_delays=(0.0,), mode_powers=(1.0,), timing=0.0):
    """The link by differential equations on a fine time grid, in ns and GHz."""
    fine = 64
    t = np.arange(labels.size * fine) * SYMBOL / fine
    x = np.repeat(LEVELS[labels], fine)
    stages = [low_pass(20), vcsel(bias), low_pass(20)]
    x = signal.lsim(stages[0], x, t, interp=False)[1]
    x = signal.lsim(stages[1], x, t)[1]
    light = x + quadratic * (x**2 - 1) + cubic * x**3 + skew * 1e-3 * x * np.gradient(x, t)
    y = signal.lsim(stages[2], light, t)[1]
    delay = sum(stage.den[-2] / stage.den[-1] for stage in stages)  # at low frequencies
    instants = (np.arange(labels.size * sps) / sps + 0.5 + timing) * SYMBOL + delay
    received = interpolate.CubicSpline(t, y)
    shares = np.array(mode_powers) / sum(mode_powers)
    return sum(p * received(instants - 1e-3 * d) for p, d in zip(shares, mode_delays))


@pytest.mark.parametrize("sps, parameters, atol", [
    (2, LINEAR, 0.02),  # what 2 samples a symbol cannot hold is missing
    (4, LINEAR, 0.002),
    (5, dict(LINEAR, timing=0.2), 0.002),
    (4, dict(LINEAR, mode_delays=[-20.0, 5.0], mode_powers=[3.0, 1.0], bias=3.0), 0.003),
    (4, dict(quadratic=-0.1, cubic=0.05, skew=3.0), 0.003),
])
def test_samples_equal_the_link_solved_in_continuous_time(sps, parameters, atol):
    labels = random_labels(300)
    parameters = {"mode_delays": [0.0], "mode_powers": [1.0], **parameters}
    samples = run(labels, adann.vcsel_mmf_link(sps=sps, **QUIET, **parameters), sps)
    assert samples.size == sps * labels.size
    expected = continuous_link(labels, sps, **parameters)
    inside = slice(10 * sps, -10 * sps)  # the equations know nothing of what is sent outside
    np.testing.assert_allclose(samples[inside], expected[inside], atol=atol)


def test_noise_has_its_rms_and_grows_with_the_light():
    for label in (0, 2):
        labels = np.full(100_000, label, np.uint8)
        link = adann.vcsel_mmf_link(**LINEAR, noise=0.1, noise_slope=0.3, gain=2.0, offset=0.5)
        samples = run(labels, link)[1000:]
        level = LEVELS[label]
        assert samples.mean() == pytest.approx(2 * level + 0.5, abs=0.01)
        assert samples.std() == pytest.approx(2 * 0.1 * (1 + 0.3 * level), rel=0.02)


def test_the_default_output_has_zero_mean_and_unit_variance():
    samples = run(random_labels(50_000), adann.vcsel_mmf_link())
    assert samples.mean() == pytest.approx(0, abs=0.02)
    assert samples.std() == pytest.approx(1, abs=0.02)


def test_the_same_seed_gives_the_same_samples_whatever_the_buffers():
    labels = random_labels(5000)
    samples = run(labels, adann.vcsel_mmf_link(seed=7))
    np.testing.assert_array_equal(samples, run(labels, adann.vcsel_mmf_link(seed=7),
                                               max_noutput_items=100))
    assert not np.array_equal(samples, run(labels, adann.vcsel_mmf_link(seed=8)))


@pytest.mark.parametrize("setter, arguments, parameters", [
    ("set_bias", [3.0], dict(bias=3.0)),
    ("set_nonlinearity", [-0.1, 0.02, 4.0], dict(quadratic=-0.1, cubic=0.02, skew=4.0)),
    ("set_mode_powers", [[0.1, 0.4, 0.5]], dict(mode_powers=[0.1, 0.4, 0.5])),
    ("set_timing", [0.1], dict(timing=0.1)),
    ("set_noise", [0.2, 0.1], dict(noise=0.2, noise_slope=0.1)),
    ("set_gain", [0.7], dict(gain=0.7)),
    ("set_offset", [-0.3], dict(offset=-0.3)),
])
def test_a_setter_makes_a_running_link_the_link_made_with_that_parameter(setter, arguments,
                                                                         parameters):
    labels = random_labels(64)
    period = 4 * labels.size
    start = QUIET if setter != "set_noise" else dict(QUIET, noise=0.1)
    link = adann.vcsel_mmf_link(**start)
    sink = blocks.vector_sink_f()
    top = gr.top_block()
    top.connect(blocks.vector_source_b(labels, True), link, sink)
    top.start()

    def pass_samples(count):
        end = sink.nitems_read(0) + count
        while sink.nitems_read(0) < end:
            time.sleep(0.001)

    pass_samples(10_000)
    getattr(link, setter)(*arguments)
    pass_samples(1_000_000)  # more than all buffers hold
    top.stop()
    top.wait()
    periods = np.array(sink.data()[:sink.nitems_read(0) // period * period]).reshape(-1, period)
    expected = run(np.tile(labels, 200), adann.vcsel_mmf_link(**{**start, **parameters}))
    expected = expected.reshape(-1, period)
    if setter != "set_noise":
        np.testing.assert_array_equal(periods[-1], expected[-2])
    np.testing.assert_allclose(periods[-1000:].std(axis=0).mean(),
                               expected[1:-1].std(axis=0).mean(), rtol=0.05, atol=1e-6)
    assert not np.allclose(periods[0], periods[-1])


def test_a_tag_on_a_label_lands_on_the_middle_sample_of_its_symbol():
    tags = [gr.tag_utils.python_to_tag((i, pmt.intern("symbol"), pmt.from_long(i)))
            for i in (0, 1, 100, 2500)]
    sink = blocks.vector_sink_f()
    top = gr.top_block()
    top.connect(blocks.vector_source_b(random_labels(3000), False, 1, tags),
                adann.vcsel_mmf_link(sps=5), sink)
    top.run()
    assert [(t.offset, pmt.to_long(t.value)) for t in sink.tags()] == [
        (5 * i, i) for i in (0, 1, 100, 2500)]


@pytest.mark.parametrize("parameters, named", [
    (dict(sps=1), "sps is 1, allowed: whole numbers from 2 to 16"),
    (dict(sps=4.5), "sps is 4.5, allowed"),
    (dict(bias=0.5), "bias is 0.5, allowed: 1 to 20"),
    (dict(skew=float("nan")), "skew is nan, allowed: -20 to 20"),
    (dict(mode_delays=(0.0, 0.0, 101.0)), "mode_delays is .*, allowed: -100 to 100"),
    (dict(mode_powers=(0.5, 0.5)), "mode_powers is .*, allowed: one for each of the 3"),
    (dict(mode_powers=(0, 0, 0)), "mode_powers is .* not all 0"),
    (dict(seed=0), "seed is 0, allowed"),
])
def test_a_parameter_out_of_range_is_named(parameters, named):
    with pytest.raises(ValueError, match=named):
        adann.vcsel_mmf_link(**parameters)


def test_a_setter_that_refuses_changes_nothing():
    labels = random_labels(100)
    link = adann.vcsel_mmf_link()
    with pytest.raises(ValueError, match="quadratic is 2, allowed: -0.5 to 0.5"):
        link.set_nonlinearity(2, 0.1, 1.0)
    np.testing.assert_array_equal(run(labels, link), run(labels, adann.vcsel_mmf_link()))
