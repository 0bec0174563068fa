# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of many makers: always the same, of unit power, aligned, sets that share nothing, and their physics."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.alignment import find_delay
from gnuradio.adann.links.link_parts import delayed
from gnuradio.adann.links.makers import SETS, draw_link
from gnuradio.adann.links.optical_families import led_light, square_law
from gnuradio.adann.links.radio_families import memory_polynomial
from scipy.integrate import solve_ivp

THIRD = "third_development", "third_untouched"


@pytest.mark.parametrize("name", SETS)
def test_a_draw_is_always_the_same_and_others_differ(name):
    for number in range(len(SETS[name])):
        link, again = draw_link(name, number), draw_link(name, number)
        samples, labels = link.receive(512, 0.5, 3)
        np.testing.assert_array_equal(samples, again.receive(512, 0.5, 3)[0])
        other, _ = link.receive(512, 0.5, 4)
        assert samples.size == 512 * link.sps and not np.array_equal(samples, other)
        assert not np.array_equal(samples, link.receive(512, 0.6, 3)[0])
        assert labels.max() == core.constellation(link.constellation).size - 1


def drawn(name):
    return [draw_link(name, number) for number in range(104)]


def test_the_sets_share_no_family_and_have_every_constellation():
    families = {name: {link.family for link in drawn(name)} for name in SETS}
    assert not families["development"] & families["untouched"]
    assert not families["third_development"] & (families["development"] | families["untouched"])
    assert families["third_development"] == families["third_untouched"] == set(SETS["third_untouched"])
    for name in SETS:
        assert {link.constellation for link in drawn(name)} == {
            "pam2", "pam4", "pam8", "qpsk", "16qam", "64qam", *(("8psk", "16apsk", "32apsk") if name in THIRD else ())}


def test_the_third_sets_have_other_draws():
    start = [{str(link.start) for link in drawn(name)} for name in THIRD]
    assert not start[0] & start[1]


@pytest.mark.parametrize("name", SETS)
def test_samples_have_unit_power_and_the_middle_of_a_symbol_in_its_place(name):
    for number in range(2 * len(SETS[name]) + 6):
        link = draw_link(name, number)
        samples, labels = link.receive(8192, 0, 1)
        assert np.mean(np.abs(samples) ** 2) == pytest.approx(1, abs=1e-3)
        assert np.abs(samples.mean()) < 1e-3
        points = core.constellation(link.constellation).points
        assert abs(find_delay(samples, labels, points, link.sps)) <= 1


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="set is 'x', allowed: development, untouched"):
        draw_link("x", 0)
    with pytest.raises(ValueError, match="number is -1, allowed: 0 to 9999"):
        draw_link("untouched", -1)
    with pytest.raises(ValueError, match="drift is 2, allowed: 0 to 1"):
        draw_link("untouched", 0).receive(100, 2, 1)


def test_light_through_a_dispersive_fibre_fades_as_the_closed_form_says():
    """Small-signal response of intensity modulation without chirp: cos(π D f²). Wang and Petermann, "Small signal
    analysis for dispersive optical fiber communication systems", J. Lightwave Technol. 1992."""
    sps, count, dispersion = 4, 4096, 0.4
    time = np.arange(count) / sps
    for cycles in (100, 400, 800, 1000):
        frequency = cycles * sps / count
        x = np.cos(2 * np.pi * frequency * time)
        light = square_law(np.pi / 4 + 1e-4 * x, sps, dispersion)
        assert 2 * np.mean(light * x) / 1e-4 == pytest.approx(np.cos(np.pi * dispersion * frequency ** 2), abs=2e-3)
    np.testing.assert_allclose(square_law(x, sps, 0), np.sin(x) ** 2, atol=1e-12)


def test_a_light_emitting_diode_obeys_its_rate_equation():
    """Against scipy's solver."""
    sps, rate, pairs = 4, 2.0, 0.7
    current = np.repeat(np.random.default_rng(1).uniform(0.2, 1.8, 700), sps)
    light = led_light(current, sps, rate, pairs)
    for first in (0, 500 * sps):  # in the first stretch, and where the next one begins
        part = current[first:first + 40 * sps]
        carriers = [np.sqrt(light[first])]
        for now in part[1:]:
            solved = solve_ivp(lambda _, n: rate * (now - (1 - pairs) * n - pairs * n ** 2), (0, 1 / sps),
                               carriers[-1:], rtol=1e-8, atol=1e-9)
            carriers.append(solved.y[0, -1])
        np.testing.assert_allclose(light[first:first + part.size], np.square(carriers), rtol=1e-4)


def test_the_amplifier_with_memory_is_the_memory_polynomial():
    random = np.random.default_rng(2)
    x = random.standard_normal((2, 50)).T.copy().view(complex)[:, 0] / 4
    a = random.standard_normal((2, 3, 3))
    a = a[0] + 1j * a[1]
    expected = [sum(a[k, q] * x[i - q] * abs(x[i - q]) ** (2 * k) for k in range(3) for q in range(3) if i >= q)
                for i in range(50)]
    np.testing.assert_allclose(memory_polynomial(x, a), expected)


def test_a_clock_walks_between_samples():
    time = np.arange(400)
    offset = 3 * np.sin(time / 50)
    np.testing.assert_allclose(delayed(np.exp(0.5j * time), offset)[10:-10], np.exp(0.5j * (time + offset))[10:-10],
                               atol=3e-3)


@pytest.mark.parametrize("name", THIRD)
def test_a_converter_has_its_values_and_clips(name):
    for number in range(SETS[name].index("converter"), 104, len(SETS[name])):
        samples, _ = draw_link(name, number).receive(4096, 1, 1)
        values, often = np.unique(samples.real, return_counts=True)
        assert values.size <= 64 and min(often[0], often[-1]) > 1
