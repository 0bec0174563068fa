# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions that the expected waveform refines: all of them come, and fewer are wrong."""

from pathlib import Path

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import simulate_vcsel
from gnuradio.adann.offline.training import feature_view

MODEL = Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"
SYMBOLS = 2**16


@pytest.fixture(scope="module")
def signal():
    sent = np.random.default_rng(3).integers(0, 4, SYMBOLS).astype(np.uint8)
    return normalized(simulate_vcsel(sent, "reference", seed=5)), sent


def model(refined_rate):
    """refined_rate: symbol errors of refined labels on the model's own signal, over the network's."""
    loaded = core.load_model(str(MODEL))
    loaded.refined_symbol_error_rate = refined_rate * loaded.symbol_error_rate
    return loaded


def decide(of, samples, **settings):
    top = gr.top_block()
    equalizer = adann.equalizer(of, mode="lockstep", **settings)
    sink = blocks.vector_sink_b()
    top.connect(blocks.vector_source_f(samples.tolist()), equalizer, sink)
    top.run()
    return np.array(sink.data(), np.uint8)


def test_as_many_labels_come_and_fewer_are_wrong(signal):
    samples, sent = signal
    refined, network = (decide(model(0.5), samples, decisions=kind) for kind in ("refined", "network"))
    assert refined.size == network.size > SYMBOLS - 16
    # Behind the start of adaptation; the counts' deviation is that of Poisson's law.
    wrong = [np.count_nonzero(labels[2**14:] != sent[2**14:labels.size]) for labels in (refined, network)]
    assert wrong[0] + 3 * wrong[0] ** 0.5 < wrong[1]


@pytest.mark.parametrize("rate", [1.5, np.nan])
def test_they_are_the_networks_unless_refining_is_known_to_help(signal, rate):
    samples = signal[0][:4 * 2**14]
    found, network = (decide(model(rate), samples, decisions=kind) for kind in ("refined", "network"))
    np.testing.assert_array_equal(found, network)


def test_labels_of_a_record_are_refined(signal):
    samples, sent = signal
    of = model(1)
    features = feature_view(samples, of.sps, of.half_window)
    decided = of.network.decide(features)[0]
    refined = core.refine_labels(of, features, decided)
    wrong = [np.count_nonzero(labels[2048:] != sent[2048:labels.size]) for labels in (refined, decided)]
    assert wrong[0] < wrong[1] / 2
    np.testing.assert_array_equal(refined[:1536], decided[:1536])
    with pytest.raises(ValueError, match="a label is 4, allowed: 0 to 3"):
        core.refine_labels(of, features, np.full_like(decided, 4))
