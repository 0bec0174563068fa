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


# An echo of 0.2 whose sign is another one at the end. There are up to 18 wrong bits in the last half. Where the filter
# starts over since a channel of three symbols does not explain what has changed, a tenth of the last quarter is wrong.
@pytest.mark.parametrize("late", [2, 5])
@pytest.mark.parametrize("name, noise", [("pam4", 0.09), ("qpsk", 0.2)])
def test_an_echo_that_turns_is_followed(name, noise, late):
    alphabet = core.constellation(name)
    sent = random_labels(SYMBOLS, late, alphabet.bits_per_symbol)
    points = alphabet.points / np.sqrt(np.mean(abs(alphabet.points)**2))
    clean = np.convolve(np.repeat(points[sent], SPS), [0.25, 0.5, 0.25], "same")
    echo = 0.2 * np.cos(np.pi * np.arange(clean.size) / clean.size)
    clean = clean + echo * np.roll(clean, late * SPS)
    random = np.random.default_rng([late, 1]).standard_normal((2, clean.size))
    samples = clean + noise * (random[0] + 1j * random[1])
    if not alphabet.is_complex:
        samples = samples.real
    taken = normalized(samples.astype(np.complex64 if alphabet.is_complex else np.float32))
    settings = TrainingSettings.fitted(LABELLED, alphabet)
    result = train(taken[:LABELLED * SPS], sent[:LABELLED], name, SPS, HALF_WINDOW, settings)
    found = measure_network(result.model, taken, np.roll(sent, result.delay), {"mode": "lockstep"})
    print(found["ber"])
    assert np.mean(found["ber"][2:]) < 5e-3
