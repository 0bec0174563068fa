# SPDX-License-Identifier: GPL-3.0-or-later
"""Echoes that change anywhere within the reach of the front filter's taps, six symbols by default: it follows them, and
never takes its own right decisions for worse ones."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments.compared import measure_network
from gnuradio.adann.links.simulation import random_labels
from gnuradio.adann.offline.training import TrainingSettings, train

SYMBOLS, LABELLED, HALF_WINDOW, SPS = 2**16, 2**14, 6, 2


# An echo of 0.2 whose sign is another one at the end. There are up to 4 wrong bits in the last half. With a judge whose
# channel spans three symbols the filter of the later echo is given up: a tenth of the last quarter is wrong.
@pytest.mark.parametrize("late", [2, 5])
def test_an_echo_that_turns_is_followed(late):
    alphabet = core.constellation("pam4")
    sent = random_labels(SYMBOLS, late, alphabet.bits_per_symbol)
    points = alphabet.points.real / np.sqrt(np.mean(alphabet.points.real**2))
    clean = np.convolve(np.repeat(points[sent], SPS), [0.25, 0.5, 0.25], "same")
    echo = 0.2 * np.cos(np.pi * np.arange(clean.size) / clean.size)
    clean = clean + echo * np.roll(clean, late * SPS)
    samples = clean + 0.09 * np.random.default_rng([late, 1]).standard_normal(clean.size)
    taken = normalized(samples.astype(np.float32))
    settings = TrainingSettings.fitted(LABELLED, alphabet)
    result = train(taken[:LABELLED * SPS], sent[:LABELLED], "pam4", SPS, HALF_WINDOW, settings)
    found = measure_network(result.model, taken, np.roll(sent, result.delay), {"mode": "lockstep"})
    print(found["ber"])
    assert np.mean(found["ber"][2:]) < 5e-3
