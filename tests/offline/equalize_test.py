# SPDX-License-Identifier: GPL-3.0-or-later
"""Counting the errors of a file's decisions."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.offline.equalize import count_errors, equalize_captures, prepare_capture

BLOCK = 4096


@pytest.mark.parametrize("delay", [0, 3, -2, 5000])
@pytest.mark.parametrize("symmetry", [0, 1, 3])
def test_errors_are_counted_at_any_alignment(delay, symmetry):
    random = np.random.default_rng(4)
    sent = random.integers(0, 16, 40_000).astype(np.uint8)
    decided = np.roll(sent, delay)
    wrong = random.choice(np.arange(6000, 39_000), 500, replace=False)
    decided[wrong] ^= 3  # two bits each
    turned = np.array(core.constellation("16qam").symmetries[symmetry], np.uint8)[decided]
    if delay > 0:
        decided[:delay] = turned[:delay] = 0
    rows = np.array(count_errors(turned, sent, "16qam", BLOCK))
    assert rows[:, 0].sum() == 40_000 - abs(delay)
    assert rows[:, 1].sum() == 500 and rows[:, 2].sum() == 1000


def test_blocks_in_which_the_equalizer_fails_count():
    random = np.random.default_rng(5)
    sent = random.integers(0, 4, 10 * BLOCK).astype(np.uint8)
    decided = sent.copy()
    decided[5 * BLOCK:] = random.integers(0, 4, 5 * BLOCK)
    rows = np.array(count_errors(decided, sent, "pam4", BLOCK))
    assert rows[:, 0].tolist() == [BLOCK] * 10
    assert not rows[:5, 1].any() and (rows[5:, 1] > 0.7 * BLOCK).all()


def test_unrelated_labels_are_told_apart():
    random = np.random.default_rng(6)
    decided, sent = random.integers(0, 4, (2, 20_000)).astype(np.uint8)
    assert count_errors(decided, sent, "pam4", BLOCK) is None


def test_receivers_side_by_side_decide_as_the_core(tmp_path):
    """The network's decisions on numpy's own windows, two captures in a row."""
    random = np.random.default_rng(7)
    network = core.network([15, 8, 4])
    network.initialize(1)
    model = core.model(network, 3, 2, False, "pam4")
    core.save_model(str(tmp_path / "model"), model)
    captures = [prepare_capture(random.standard_normal(3001).astype(np.float32), model)
                for _ in range(2)]
    received, _ = equalize_captures(tmp_path / "model", captures, {
        "frozen": dict(mode="off"), "adaptive": dict(mode="lockstep", batch=16)}, events=True)
    stream = np.concatenate([np.zeros(7, np.float32), *captures, np.zeros(15, np.float32)])
    windows = np.lib.stride_tricks.sliding_window_view(stream, 15)[:6000:3]
    expected, _ = network.decide(np.ascontiguousarray(windows))
    np.testing.assert_array_equal(np.concatenate(received["frozen"].labels), expected)
    assert [labels.size for labels in received["frozen"].labels] == [1000, 1000]
    assert received["frozen"].steps == 0 and received["adaptive"].steps == 2000 // 16
    assert (np.concatenate(received["adaptive"].labels) != expected).any()
    assert received["frozen"].events == []
    steps = [event["step"] for event in received["adaptive"].events if event["event"] == "step"]
    assert steps == list(range(1, 2000 // 16 + 1))
