# SPDX-License-Identifier: GPL-3.0-or-later
"""Which decisions the samples refute, against the errors that were made on purpose."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.offline.disputes import refuted

SYMBOLS = 20_000


def received(constellation, noise, seed=1):
    """Labels, and samples (n, 2) through an echo that closes the eye."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, constellation.size, SYMBOLS).astype(np.uint8)
    points = constellation.points if constellation.is_complex else constellation.points.real
    sent = np.repeat(points[labels] / np.sqrt(np.mean(abs(points) ** 2)), 2)
    samples = np.roll(sent, -1) + 0.6 * np.roll(sent, 3) + noise * random.standard_normal(sent.size)
    return labels, samples.reshape(-1, 2).astype(np.complex64 if constellation.is_complex else np.float32)


def with_errors(labels, size, share, seed):
    random = np.random.default_rng(seed)
    wrong = random.random(labels.size) < share
    return np.where(wrong, (labels + random.integers(1, size, labels.size)) % size, labels).astype(np.uint8), wrong


@pytest.mark.parametrize("name", ["pam2", "pam4", "qpsk"])
def test_errors_that_others_do_not_make_are_refuted_whoever_makes_them(name):
    constellation = core.constellation(name)
    sent, samples = received(constellation, 0.05)
    decided, wrong = {}, {}
    for seed, (who, share) in enumerate((("bad", 0.2), ("fair", 1e-2), ("good", 1e-3))):
        decided[who], wrong[who] = with_errors(sent, constellation.size, share, seed)
    # The order does not matter: the worst may come first.
    found = refuted(samples, decided, constellation)
    alone = ~np.all([wrong[who] for who in wrong], axis=0)
    for who in decided:
        assert np.mean(found[who][alone] != wrong[who][alone]) < 2e-4


def test_what_all_decide_alike_counts_for_right():
    constellation = core.constellation("pam2")
    sent, samples = received(constellation, 0.05)
    decided, _ = with_errors(sent, 2, 0.01, 1)
    found = refuted(samples, {"one": decided, "other": decided.copy()}, constellation)
    assert not any(each.any() for each in found.values())


def test_too_few_symbols_tell_nothing():
    constellation = core.constellation("pam2")
    sent, samples = received(constellation, 0.05)
    assert refuted(samples[:20], {"one": sent[:20]}, constellation) == {}
