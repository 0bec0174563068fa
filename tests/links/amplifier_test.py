# SPDX-License-Identifier: GPL-3.0-or-later
"""Amplifiers against what their sources say."""

import numpy as np
import pytest
from gnuradio.adann.links.amplifier import drive, rapp, saleh


def test_saleh_is_his_table_over_its_small_signal_gain():
    r = np.linspace(0, 3, 50)  # Table I: amplitude 2.1587, 1.1517; phase 4.0033, 9.1040
    amplitude = r / (1 + 1.1517 * r**2)
    ours = saleh(r * np.sqrt(1.1517) + 0j) / np.sqrt(1.1517)
    np.testing.assert_allclose(np.abs(ours), amplitude, atol=1e-12)
    assert np.argmax(np.abs(saleh(np.linspace(0, 3, 301) + 0j))) == 100
    # The phase is that of the usual parameters, not of the table.
    assert np.angle(saleh(np.array([1e4 + 0j])))[0] == pytest.approx(np.pi / 3, rel=1e-6)


def test_rapp_limits_at_one_and_keeps_the_phase():
    x = np.array([1e-3, 1, 1e3]) * np.exp(1j * np.array([0.3, -2, 1]))
    np.testing.assert_allclose(np.abs(rapp(x)), [1e-3, 2 ** -0.25, 1], rtol=1e-6)
    np.testing.assert_allclose(np.angle(rapp(x)), np.angle(x), atol=1e-12)


def test_drive_sets_the_power():
    x = np.random.default_rng(1).standard_normal(1000) + 0j
    assert np.mean(np.abs(drive(x, 7)) ** 2) == pytest.approx(10 ** -0.7)
    with pytest.raises(ValueError, match="back_off is -1, allowed: 0 to 60 dB"):
        drive(x, -1)
