# SPDX-License-Identifier: GPL-3.0-or-later
"""Example models: their error rate on symbols not trained on is the one that they state."""

import pathlib

import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.links.simulation import random_labels, simulate_coherent, simulate_vcsel
from gnuradio.adann.offline.equalize import equalize_captures, prepare_capture
from gnuradio.adann.offline.evaluate import count_aligned

MODELS = pathlib.Path(__file__).parents[2] / "examples/models"
SYMBOLS = 2**19


def measure(name, simulate):
    """The model, and symbols decided wrongly by its network, frozen, of SYMBOLS on the link that it knows."""
    model = core.load_model(str(MODELS / f"{name}.safetensors"))
    sent = random_labels(SYMBOLS, [1, 7], model.constellation.bits_per_symbol)  # trained on those of seed 0
    capture = prepare_capture(Capture(simulate(sent, seed=9), path=name, reference=sent), model)
    results, _ = equalize_captures(model, [capture], {"frozen": {"mode": "off"}})
    errors = count_aligned(results["frozen"].labels[0], sent, model.constellation, 8192)
    assert errors.symbols.sum() > 0.99 * SYMBOLS
    return model, int(errors.symbol_errors.sum())


# Bit error rates on the rest of set1, as examples/README.md quotes them. A wrong symbol has one wrong bit.
@pytest.mark.parametrize("name, simulate, quoted, bits", [
    ("vcsel_pam4", simulate_vcsel, 5.8e-4, 2), ("coherent_16qam", simulate_coherent, 2.1e-4, 4)])
def test_the_frozen_network_has_the_error_rate_that_is_quoted(name, simulate, quoted, bits):
    """Some 500 errors: 30 % either way are six deviations."""
    model, wrong = measure(name, simulate)
    assert wrong / SYMBOLS == pytest.approx(bits * quoted, rel=0.3)
    assert wrong / SYMBOLS == pytest.approx(model.symbol_error_rate, rel=0.3)
