# SPDX-License-Identifier: GPL-3.0-or-later
"""Echoes that neither the network nor the front filter reaches: learning does no harm."""

import numpy as np
import pytest
from gnuradio.adann.experiments import compared
from gnuradio.adann.experiments.impaired_signals import stream
from gnuradio.adann.experiments.impairments import SNR

SYMBOLS = 2**16


@pytest.fixture(scope="module")
def model():
    return compared.train_model(*stream("64qam", SNR["64qam"], None, 0, 2 * SYMBOLS, 0), "64qam", 2)


@pytest.mark.parametrize("seed", [10, 11])
def test_labels_that_nothing_explains_are_learnt_slowly(model, seed):
    """One bit in seven is wrong: 30,000 in the second half, which deviate by less than 1 %. At six times the rate 1.33
    and 0.87 times the frozen network's, of three seeds; now 0.89 to 0.98 times."""
    samples, labels = stream("64qam", SNR["64qam"], "two late echoes", 1, SYMBOLS, seed)
    adaptive, frozen = (np.mean(compared.measure_network(model, samples, labels, {"mode": mode})["ber"][2:])
                        for mode in ("lockstep", "off"))
    assert frozen > 0.1 and adaptive < 1.03 * frozen
