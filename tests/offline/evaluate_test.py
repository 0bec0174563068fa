# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of blocks, and what follows from them, against their definitions."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.offline.evaluate import Alignment, Errors, RunningErrors, count, count_aligned

BLOCK = 4096
BITS = np.full(40, 10_000)


def counted(bit_errors, bits):
    """Errors of one bit a symbol."""
    return Errors(np.asarray(bits), np.asarray(bit_errors), np.asarray(bit_errors), 1)


def by_definition(errors, bits):
    """The design's sentence, word by word."""
    for n in range(8, len(bits) + 1):
        if np.sum(errors[n - 8:n]) / np.sum(bits[n - 8:n]) < 1e-3:
            if n == len(bits) or np.sum(errors[n:]) / np.sum(bits[n:]) < 1e-3:
                return n
    return None


@pytest.mark.parametrize("errors, expected", [
    (np.zeros(40), 8),  # there is no mean of 8 before
    (np.full(40, 10), None),  # exactly 1e-3 is not below
    (np.r_[np.full(10, 500), np.zeros(30)], 18),
    (np.r_[np.full(10, 500), np.full(30, 9)], 18),
    (np.r_[np.zeros(20), np.full(20, 500)], None),  # it diverges again
    (np.r_[np.full(32, 500), np.zeros(8)], 40),
    (np.zeros(7), None),
])
def test_convergence_of_known_curves(errors, expected):
    bits = BITS[:len(errors)]
    assert counted(errors, bits).convergence() == expected == by_definition(errors, bits)


def test_convergence_is_the_definition_on_random_curves():
    random = np.random.default_rng(2)
    found = set()
    for _ in range(300):
        decay = np.exp(-np.arange(40) / random.uniform(1, 10))
        errors = random.poisson(500 * decay + random.uniform(0, 12))
        bits = np.r_[BITS[:39], random.integers(1, 10_000)]
        n = counted(errors, bits).convergence()
        assert n == by_definition(errors, bits)
        found.add(n)
    assert len(found) > 10


def test_running_ber_weighs_a_short_last_block_by_its_bits():
    errors, bits = np.r_[np.arange(19), 5], np.r_[np.full(19, 100), 10]
    expected = [np.sum(errors[max(0, i - 7):i + 1]) / np.sum(bits[max(0, i - 7):i + 1])
                for i in range(20)]
    np.testing.assert_allclose(counted(errors, bits).latest(), expected)


def test_the_papers_convergence_asks_for_the_latest_and_for_all_blocks():
    def so_far(errors):
        return counted(errors, np.full(len(errors), 16384)).convergence_so_far()

    # 0.1 of the bits are wrong in the first block, 1e-4 later, so that n have together
    # 0.1 + (n - 1) 1e-4 < n 1e-3.
    ends_low = [1638] + 200 * [2]
    expected = next(n for n in range(8, 202) if 1638 + 2 * (n - 1) < 16.384 * n)
    assert so_far(ends_low) == expected > 100
    assert so_far(ends_low[:100]) is None
    assert so_far(20 * [16]) == 8
    # All of them low, but not the latest 8 until the burst is 8 blocks old.
    assert so_far(7 * [0] + [140] + 20 * [0]) == 16


def test_counts_are_numpys():
    random = np.random.default_rng(3)
    decided, sent = random.integers(0, 16, (2, 1000)).astype(np.uint8)
    for start in (0, 1, 299, 300):
        errors = count(decided, sent, 4, 300, start)
        edges = [0, *(k for k in range(1, 1000) if (start + k) % 300 == 0), 1000]
        for k, (first, last) in enumerate(zip(edges, edges[1:])):
            here = slice(first, last)
            assert errors.symbols[k] == last - first
            assert errors.symbol_errors[k] == np.count_nonzero(decided[here] != sent[here])
            assert errors.bit_errors[k] == np.unpackbits(decided[here] ^ sent[here]).sum()
        assert len(errors) == len(edges) - 1 == len(Errors.join([errors[:2], errors[2:]]))
        assert errors.ber == errors.bit_errors.sum() / 4000
        assert errors.final().symbols.tolist() == errors.symbols[-8:].tolist()


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
    errors = count_aligned(turned, sent, core.constellation("16qam"), BLOCK)
    assert errors.symbols.sum() == 40_000 - abs(delay)
    assert errors.symbol_errors.sum() == 500 and errors.bit_errors.sum() == 1000
    assert errors.bits.sum() == 4 * (40_000 - abs(delay))
    # Blocks begin at multiples of their length in what was decided.
    first = max(0, delay) // BLOCK
    where = np.bincount(wrong // BLOCK, minlength=10)[first:]
    if delay <= 0:  # np.roll moves the wrong ones of `decided`, whose places `wrong` are
        np.testing.assert_array_equal(errors.symbol_errors, where)


@pytest.mark.parametrize("name, angles", [
    ("qpsk", [0, 90, 180, 270]), ("pam4", [0, 180]), ("gr:8psk", range(0, 360, 45))])
def test_the_angle_of_each_symmetry(name, angles):
    """That of the decided point over the one sent, whatever that is."""
    constellation = core.constellation(name)
    found = [Alignment(0, number).angle(constellation) for number in range(len(constellation.symmetries))]
    assert sorted(found) == pytest.approx(list(angles), abs=0.01)
    for angle, decided in zip(found, constellation.symmetries):
        turned = constellation.points * np.exp(1j * np.deg2rad(angle))
        np.testing.assert_allclose(constellation.points[np.array(decided)], turned, atol=1e-4)


def test_blocks_in_which_the_equalizer_fails_count():
    random = np.random.default_rng(5)
    sent = random.integers(0, 4, 10 * BLOCK).astype(np.uint8)
    decided = sent.copy()
    decided[5 * BLOCK:] = random.integers(0, 4, 5 * BLOCK)
    errors = count_aligned(decided, sent, core.constellation("pam4"), BLOCK)
    assert errors.symbols.tolist() == [BLOCK] * 10
    assert not errors[:5].symbol_errors.any()
    assert (errors[5:].symbol_errors > 0.7 * BLOCK).all()


def test_unrelated_labels_are_told_apart():
    random = np.random.default_rng(6)
    decided, sent = random.integers(0, 4, (2, 20_000)).astype(np.uint8)
    assert count_aligned(decided, sent, core.constellation("pam4"), BLOCK) is None


@pytest.mark.parametrize("portion", [1000, 70_000])
def test_running_errors_are_those_of_the_latest_batches(portion):
    """Two captures with other delays; the labels come in portions that cross their boundary. In
    any 8 batches of 1000 symbols, every 100th or 50th symbol has one of its two bits wrong."""
    random = np.random.default_rng(1)
    sent = [random.integers(0, 4, 50_000, np.uint8) for _ in range(2)]
    decided = [np.roll(labels, delay) for labels, delay in zip(sent, (3, 700))]
    for labels, apart in zip(decided, (100, 50)):
        labels[::apart] ^= 1
    labels = np.concatenate(decided)
    errors = RunningErrors(core.constellation("pam4"), [50_000, 50_000], sent, 1000)
    told = [errors.latest_ber()]
    for first in range(0, labels.size, portion):
        here = labels[first:first + portion]
        errors.take(here, np.eye(4, dtype=np.float32)[here])
        told.append(errors.latest_ber())
    assert told[0] is None
    assert told[-1] == 0.01
    if portion == 1000:
        assert told[50] == 0.005 and told[51] is None


def test_a_lost_symbol_is_told():
    sent = np.random.default_rng(4).integers(0, 4, 60_000).astype(np.uint8)
    alphabet = core.constellation("pam4")
    lost = count_aligned(np.delete(sent, 2000), sent, alphabet, BLOCK)
    assert lost.slips == 1 and lost.ber > 0.3
    assert count_aligned(sent, sent, alphabet, BLOCK).slips == 0


@pytest.mark.parametrize("name", ["pam4", "qpsk"])
def test_only_known_labels_are_counted(name):
    constellation = core.constellation(name)
    random = np.random.default_rng(8)
    sent = random.integers(0, 4, 20_000).astype(np.uint8)
    wrong = random.random(sent.size) < 0.02
    received = np.where(wrong, sent ^ 1, sent)
    decided = np.array(constellation.symmetries[1], np.uint8)[np.roll(received, 37)]
    told = np.arange(sent.size) % 90 < 20
    errors = count_aligned(decided, np.where(told, sent, 255).astype(np.uint8), constellation, 1000)
    compared = told[:-37]
    assert errors.symbols.sum() == compared.sum()
    assert errors.symbol_errors.sum() == errors.bit_errors.sum() == (wrong[:-37] & compared).sum()
    assert errors.symbols[0] == compared[:1000 - 37].sum()
    nothing = count_aligned(random.integers(0, 4, 20_000).astype(np.uint8),
                            np.where(told, sent, 255).astype(np.uint8), constellation, 1000)
    assert nothing is None
