# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures through flowgraphs of equalizers, against the core on numpy's own windows."""

import numpy as np
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.offline.equalize import equalize_captures, prepare_capture


def test_receivers_side_by_side_decide_as_the_core():
    """The network's decisions on numpy's own windows, two captures in a row."""
    random = np.random.default_rng(7)
    network = core.network([15, 8, 4])
    network.initialize(1)
    model = core.model(network, 3, 2, False, "pam4")
    captures = [prepare_capture(Capture(random.standard_normal(3001).astype(np.float32)), model)
                for _ in range(2)]
    received, _ = equalize_captures(model, captures, {
        "frozen": dict(mode="off"), "adaptive": dict(mode="lockstep", batch=16)}, events=True)
    stream = np.concatenate([np.zeros(7, np.float32), *(capture.samples for capture in captures),
                             np.zeros(15, np.float32)])
    windows = np.lib.stride_tricks.sliding_window_view(stream, 15)[:6000:3]
    expected, _ = network.decide(np.ascontiguousarray(windows))
    np.testing.assert_array_equal(np.concatenate(received["frozen"].labels), expected)
    assert [labels.size for labels in received["frozen"].labels] == [1000, 1000]
    assert received["frozen"].steps == 0 and received["adaptive"].steps == 2000 // 16
    assert (np.concatenate(received["adaptive"].labels) != expected).any()
    assert received["frozen"].events == []
    steps = [event["step"] for event in received["adaptive"].events if event["event"] == "step"]
    assert steps == list(range(1, 2000 // 16 + 1))
