# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of many makers: always the same, of unit power, aligned, and two sets that share nothing."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.alignment import find_delay
from gnuradio.adann.links.makers import SETS, draw_link


@pytest.mark.parametrize("name", SETS)
def test_a_draw_is_always_the_same_and_others_differ(name):
    for number in range(3):
        link, again = draw_link(name, number), draw_link(name, number)
        samples, labels = link.receive(512, 0.5, 3)
        np.testing.assert_array_equal(samples, again.receive(512, 0.5, 3)[0])
        other, _ = link.receive(512, 0.5, 4)
        assert samples.size == 512 * link.sps and not np.array_equal(samples, other)
        assert not np.array_equal(samples, link.receive(512, 0.6, 3)[0])
        assert labels.max() == core.constellation(link.constellation).size - 1


def test_the_sets_share_no_family_and_have_every_constellation():
    families, constellations = {}, {}
    for name in SETS:
        links = [draw_link(name, number) for number in range(104)]
        families[name] = {link.family for link in links}
        constellations[name] = {link.constellation for link in links}
    assert not families["development"] & families["untouched"]
    for name in SETS:
        assert {"pam2", "pam4", "pam8", "qpsk", "16qam", "64qam"} == constellations[name]


@pytest.mark.parametrize("name", SETS)
def test_samples_have_unit_power_and_the_middle_of_a_symbol_in_its_place(name):
    for number in range(12):
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
