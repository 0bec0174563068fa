# SPDX-License-Identifier: GPL-3.0-or-later
"""The genie and Viterbi's algorithm of the random links' tables: against all sequences, and against closed forms."""

import itertools

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.experiments import limits
from gnuradio.adann.experiments.limits import find_changes, following, genie, viterbi
from scipy.special import erfc

PREDICTION = np.zeros(3)  # of white noise
NOISE = {"pam4": 0.8, "bent": 0.7, "qpsk": 1.2, "pam2": 2}  # of which many errors come


def waveform_of(name, sps, reach, random, context=0):
    """A waveform whose echoes are half as large as the symbol's own response, and its constellation."""
    alphabet = core.constellation(name)
    waveform = core.expected_waveform(alphabet, sps, alphabet.is_complex, reach, context)
    affine = 0.35 * random.standard_normal(waveform.affine.shape)
    if alphabet.is_complex:
        affine[1 + 2 * reach] += np.tile([1, 0], sps)
        affine[2 + 2 * reach] += np.tile([0, 1], sps)
    else:
        affine[1 + reach] += 1
    table = 0.1 * random.standard_normal(waveform.table.shape)
    waveform.set(affine.astype(np.float32).ravel(), table.astype(np.float32).ravel(), 0.1)
    return alphabet, waveform


def bent_waveform(random):
    """PAM4 whose outer levels are compressed before the echoes: what changes do adds up, and differs in size."""
    alphabet = core.constellation("pam4")
    waveform = core.expected_waveform(alphabet, 2, False, 1, 3)
    points = np.array(alphabet.points).real
    points = points / np.sqrt(np.mean(points ** 2))
    affine = 0.35 * random.standard_normal(waveform.affine.shape)
    affine[2] += 1
    bend = 1.5 * np.tanh(0.8 * points) - points
    table = [bend[list(pattern)] @ affine[1:] for pattern in itertools.product(range(4), repeat=3)]
    waveform.set(affine.astype(np.float32).ravel(), np.array(table, np.float32).ravel(), 0.1)
    return alphabet, waveform


def received(alphabet, waveform, count, noise, random):
    labels = random.integers(0, alphabet.size, count).astype(np.uint8)
    rows = np.zeros((count, waveform.sps), np.complex64 if waveform.complex else np.float32)
    reach = waveform.reach
    rows[reach:count - reach] = waveform.expect(labels)
    rows += noise * random.standard_normal(rows.shape)
    if waveform.complex:
        rows += 1j * noise * random.standard_normal(rows.shape)
    return rows, labels


def squared_residual(waveform, rows, labels):
    return np.sum(np.abs(rows[waveform.reach:-waveform.reach] - waveform.expect(labels)) ** 2)


@pytest.mark.parametrize("name,context", [("pam4", 0), ("pam4", 3), ("qpsk", 0), ("pam2", 3)])
def test_the_genie_finds_the_best_label_of_each_symbol(name, context):
    random = np.random.default_rng(1)
    alphabet, waveform = waveform_of(name, 2, 1, random, context)
    rows, labels = received(alphabet, waveform, 80, NOISE[name], random)
    changes = find_changes(alphabet, waveform.expect, waveform.reach, rows, labels, PREDICTION)
    first, count = waveform.reach, len(changes.gains)
    assert count >= 72
    decided = genie(changes, labels[first:first + count])
    for i in range(first, first + count):
        left = []
        for label in range(alphabet.size):
            other = labels.copy()
            other[i] = label
            left.append(squared_residual(waveform, rows, other))
        assert decided[i - first] == np.argmin(left)
        for label, gain in zip(changes.others[labels[i]], changes.gains[i - first]):
            assert gain == pytest.approx(left[labels[i]] - left[label], abs=1e-4)
    assert 5 < np.sum(decided != labels[first:first + count]) < count - 5


@pytest.mark.parametrize("name,reach,size", [("pam4", 1, 6), ("pam2", 2, 8), ("qpsk", 1, 6), ("bent", 1, 6)])
def test_viterbi_finds_the_best_of_all_sequences(name, reach, size):
    """Of the middle symbols; what the ends add is as sent, as it is beyond a block. The echoes fit into a state."""
    wrong = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        alphabet, waveform = bent_waveform(random) if name == "bent" else waveform_of(name, 2, reach, random)
        rows, labels = received(alphabet, waveform, 60, NOISE[name], random)
        changes = find_changes(alphabet, waveform.expect, waveform.reach, rows, labels, PREDICTION)
        middle = slice(20, 20 + size)
        gains = changes.gains.copy()
        elsewhere = np.ones(len(gains), bool)
        elsewhere[middle] = False
        gains[elsewhere] = -np.inf
        sent = labels[reach:reach + len(gains)]
        decided = viterbi(limits.Changes(changes.others, gains, changes.steps, changes.products), sent)
        np.testing.assert_array_equal(decided[elsewhere], sent[elsewhere])
        best, least = None, np.inf
        for sequence in itertools.product(range(alphabet.size), repeat=size):
            other = labels.copy()
            other[reach:][middle] = sequence
            if (left := squared_residual(waveform, rows, other)) < least:
                best, least = sequence, left
        np.testing.assert_array_equal(decided[middle], best)
        wrong += np.sum(decided[middle] != sent[middle])
    assert wrong > 12


def test_errors_of_a_link_without_echoes_are_the_closed_form():
    """PAM2 in white noise: Q(1/σ), for both. 2^16 symbols have 1491 errors: 5 % are two deviations."""
    random = np.random.default_rng(3)
    alphabet = core.constellation("pam2")
    labels = random.integers(0, 2, 2**16 + 100).astype(np.uint8)
    rows = (np.array(alphabet.points).real[labels] + 0.5 * random.standard_normal(labels.size)).astype(np.float32)
    model = core.model(core.network([11, 4, 2]), 1, 5, False, "pam2")
    model.waveform = core.expected_waveform.fit(alphabet, rows[:, None], labels)
    found = limits.limits(model, rows, labels)
    for rate in found.values():
        assert rate == pytest.approx(erfc(2 / np.sqrt(2)) / 2, rel=0.08)


def test_correlated_noise_is_predicted():
    """Noise through 1 + 0.9 z^-1, of which 1.81 is the power and 1 cannot be predicted: with echoes in the whitened
    waveform, a symbol's energy is spread and larger; without whitening three times as many errors are made."""
    random = np.random.default_rng(4)
    alphabet = core.constellation("pam2")
    labels = random.integers(0, 2, 2**15).astype(np.uint8)
    noise = np.convolve(random.standard_normal(labels.size), [1, 0.9])[:labels.size]
    rows = (np.array(alphabet.points).real[labels] + 0.5 * noise).astype(np.float32)[:, None]
    waveform = core.expected_waveform.fit(alphabet, rows, labels)
    rates = []
    for prediction in (None, PREDICTION):
        changes = find_changes(alphabet, waveform.expect, waveform.reach, rows, labels, prediction)
        sent = labels[waveform.reach:][:len(changes.gains)]
        rates.append(np.mean(genie(changes, sent) != sent))
    assert rates[1] == pytest.approx(erfc(2 / np.sqrt(2 * 1.81)) / 2, rel=0.15)
    assert rates[0] < rates[1] / 3


def test_impulses_are_known():
    """PAM2 in white noise: impulses in one sample of a hundred cost less than half as many errors again."""
    random = np.random.default_rng(5)
    alphabet = core.constellation("pam2")
    labels = random.integers(0, 2, 2**16).astype(np.uint8)
    points = np.array(alphabet.points).real
    rows = points[labels][:, None] + 0.6 * random.standard_normal((labels.size, 2))
    hit = random.random(rows.shape) < 0.01
    rates = []
    for received in (rows, rows + 30 * hit * random.standard_normal(rows.shape)):
        received = received.astype(np.float32)
        waveform = core.expected_waveform.fit(alphabet, received, labels)
        changes = find_changes(alphabet, waveform.expect, waveform.reach, received, labels, PREDICTION)
        sent = labels[waveform.reach:][:len(changes.gains)]
        rates.append(np.mean(genie(changes, sent) != sent))
    assert rates[0] == pytest.approx(erfc(np.sqrt(2) / 0.6 / np.sqrt(2)) / 2, rel=0.15)
    assert rates[0] < rates[1] < 1.5 * rates[0]


def test_a_link_that_moves_is_followed():
    """QPSK whose echo rotates once in 40,000 symbols: as few errors as with the echo where it is. The waveform of the
    whole record, which knows no echo, makes twice as many. The closed form: 2 Q(√1.16 / √2 / 0.45) = 0.0885."""
    random = np.random.default_rng(6)
    alphabet = core.constellation("qpsk")
    points = np.array(alphabet.points)
    labels = random.integers(0, 4, 2**16).astype(np.uint8)
    sent = points[labels] / np.sqrt(np.mean(np.abs(points) ** 2))
    noise = 0.45 * (random.standard_normal(labels.size) + 1j * random.standard_normal(labels.size))
    rates = []
    for turns in (0, 1 / 40000):
        echo = 0.4 * np.roll(sent, 1) * np.exp(2j * np.pi * (0.25 + turns * np.arange(labels.size)))
        rows = (sent + echo + noise).astype(np.complex64)[:, None]
        waveform = core.expected_waveform.fit(alphabet, rows, labels)
        reach = waveform.reach + 3
        for expect, of in ((following(waveform, rows, labels), reach), (waveform.expect, waveform.reach)):
            changes = find_changes(alphabet, expect, of, rows, labels, PREDICTION)
            here = labels[of:][:len(changes.gains)]
            rates.append(np.mean(genie(changes, here) != here))
    _, _, moving, lost = rates
    assert rates[:3] == pytest.approx([0.0885] * 3, rel=0.05)  # three deviations
    assert lost > 1.8 * moving
