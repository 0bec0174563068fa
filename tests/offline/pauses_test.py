# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets with pauses between them in which a discriminator's noise comes, above the signal: the first symbols of a
packet are decided, and refined, by what was learnt from the packets before."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import random_labels
from gnuradio.adann.offline.equalize import equalize_captures
from gnuradio.adann.offline.training import TrainingSettings, train

SYMBOLS, LABELLED, HALF_WINDOW, SPS = 2**16, 2**14, 6, 2
PACKET, PAUSE, FIRST = 2681, 3355, 256


# An echo has come after the training. No symbol is wrong; a twentieth where batches of noise are learnt from, a fifth
# where taps go on from what they learnt in the pause.
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_the_first_symbols_after_a_pause_are_right(seed):
    alphabet = core.constellation("pam4")
    sent = random_labels(SYMBOLS, seed, alphabet.bits_per_symbol)
    random = np.random.default_rng([seed, 1])
    points = alphabet.points.real / np.sqrt(np.mean(alphabet.points.real**2))
    clean = np.convolve(np.repeat(points[sent], SPS), [0.25, 0.5, 0.25], "same")
    clean = clean + 0.15 * np.roll(clean, 2 * SPS)
    clean[LABELLED * SPS:] += 0.2 * np.roll(clean, SPS)[LABELLED * SPS:]
    starts = np.arange(LABELLED + PACKET, SYMBOLS - PACKET - PAUSE, PACKET + PAUSE)
    for start in starts:
        clean[start * SPS:(start + PAUSE) * SPS] = 1.5 * random.standard_normal(PAUSE * SPS)
    samples = clean + 0.1 * random.standard_normal(clean.size)
    taken = normalized(samples.astype(np.float32))
    settings = TrainingSettings.fitted(LABELLED, alphabet)
    result = train(taken[:LABELLED * SPS], sent[:LABELLED], "pam4", SPS, HALF_WINDOW, settings)
    found, _ = equalize_captures(result.model, [Capture(taken)], {"it": {"mode": "lockstep"}})
    wrong = found["it"].labels[0] != np.roll(sent, result.delay)
    first = [np.mean(wrong[start + PAUSE + 2:start + PAUSE + FIRST]) for start in starts]
    print(np.round(first, 3))
    assert np.mean(first) < 5e-3
