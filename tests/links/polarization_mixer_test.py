# SPDX-License-Identifier: GPL-3.0-or-later
"""The polarisation mixer against its formula."""

import numpy as np
import pytest
from gnuradio import adann, blocks, gr

RANDOM = np.random.default_rng(1)
X, Y = RANDOM.standard_normal((2, 20000, 2)) @ [1, 1j]


def run(mixer):
    top, sinks = gr.top_block(), [blocks.vector_sink_c(), blocks.vector_sink_c()]
    for port, samples in enumerate((X, Y)):
        top.connect(blocks.vector_source_c(samples), (mixer, port))
        top.connect((mixer, port), sinks[port])
    top.run()
    return np.array([sink.data() for sink in sinks])


@pytest.mark.parametrize("sps, angle, turning, loss", [(1, 30, 0, 0), (4, -100, 1e-3, 3), (2, 0, -0.01, 0)])
def test_turns_and_loses_as_told(sps, angle, turning, loss):
    a = np.radians(angle) + turning * np.arange(X.size) / sps
    left = 10 ** (-loss / 20)
    expected = np.stack([np.cos(a) * X - np.sin(a) * Y, left * (np.sin(a) * X + np.cos(a) * Y)])
    assert np.abs(run(adann.polarization_mixer(sps, angle, turning, loss)) - expected).max() < 1e-3


def test_turning_and_loss_can_be_set():
    mixer = adann.polarization_mixer(1, 0, 1e-3, 10)
    mixer.set_turning(0)
    mixer.set_loss(0)
    assert np.abs(run(mixer) - [X, Y]).max() < 1e-5


@pytest.mark.parametrize("wrong, text", [(dict(sps=0), "sps is 0, allowed: whole numbers from 1 to 64"),
                                         (dict(turning=1), "turning is 1"), (dict(loss=-1), "loss is -1"),
                                         (dict(angle=float("nan")), "angle is nan")])
def test_what_is_out_of_range_is_refused(wrong, text):
    with pytest.raises(ValueError, match=text):
        adann.polarization_mixer(**wrong)
