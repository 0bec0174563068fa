# SPDX-License-Identifier: GPL-3.0-or-later
"""The noise is standard normal and its streams are independent; a step's projected draws lead to what
the full ones lead to.

Seeds are fixed. Every test is made so that right numbers from another seed would fail it with a
probability of ALARM, Bonferroni's correction for its many comparisons included.
"""

import numpy as np
import pytest
from gnuradio.adann import core
from scipy import stats

ALARM = 1e-4
LANES = 16  # streams of one generator: numbers l, 16 + l, … of every 64 come from stream l
COLUMNS = 4 * LANES


@pytest.fixture(scope="module")
def numbers():
    return core.gaussian_noise(1).fill(2**24)


def double_factorial(n):
    return np.prod(np.arange(n, 0, -2, dtype=float))


@pytest.mark.parametrize("power", range(1, 7))
def test_moments(numbers, power):
    def moment(k):
        return double_factorial(k - 1) if k % 2 == 0 else 0.0

    deviation = np.sqrt((moment(2 * power) - moment(power)**2) / numbers.size)
    error = np.mean(numbers.astype(np.float64)**power) - moment(power)
    assert abs(error) < stats.norm.isf(ALARM / 2) * deviation


def test_distribution(numbers):
    """Kolmogorov and Smirnov's, on the whole and on each stream's cosines and sines."""
    assert stats.kstest(numbers[:2**22], "norm").pvalue > ALARM / 2
    columns = numbers[-2**22:].reshape(-1, COLUMNS).T
    assert min(stats.kstest(column, "norm").pvalue for column in columns) > ALARM / 2 / len(columns)


def test_tails(numbers):
    """The numbers beyond 1 to 4 deviations are binomial; none is beyond what 30 bits give."""
    beyond = np.arange(1, 4.5, 0.5)
    for side in numbers, -numbers:
        count = np.array([np.count_nonzero(side > t) for t in beyond])
        few = stats.binom.cdf(count, numbers.size, stats.norm.sf(beyond))
        many = stats.binom.sf(count - 1, numbers.size, stats.norm.sf(beyond))
        assert np.minimum(few, many).min() > ALARM / 4 / beyond.size
    assert np.abs(numbers).max() < 6.56


def are_uncorrelated(columns, others, pairs):
    """Whether columns of two (n, k) arrays are, and their squares: the set ones of pairs (k, k)."""
    n = len(columns)

    def values_and_squares(x):
        return np.hstack([x, (x.astype(np.float64)**2 - 1) / np.sqrt(2)])

    # Sums of n products of variance 1.
    z = values_and_squares(columns).T @ values_and_squares(others) / np.sqrt(n)
    pairs = np.tile(pairs, (2, 2))
    return np.abs(z[pairs]).max() < stats.norm.isf(ALARM / 2 / pairs.sum())


def test_streams_are_independent(numbers):
    """The cosines and sines of all streams, at the same time and at later ones."""
    columns = numbers[:2**23].reshape(-1, COLUMNS)
    others = ~np.eye(COLUMNS, dtype=bool)
    assert are_uncorrelated(columns, columns, others)
    for lag in 1, 2, 3, 4:
        assert are_uncorrelated(columns[:-lag], columns[lag:], np.full_like(others, True))
    echo = columns.copy()
    echo[:, 5] += 0.02 * columns[:, 20]
    assert not are_uncorrelated(echo, echo, others)  # the test would see it


def test_seeds_are_independent():
    seeds = [*range(32), *(2**k for k in range(6, 64, 2))]
    columns = np.stack([core.gaussian_noise(seed).fill(2**17) for seed in seeds], axis=1)
    others = ~np.eye(len(seeds), dtype=bool)
    assert are_uncorrelated(columns, columns, others)
    assert are_uncorrelated(columns[:-COLUMNS], columns[COLUMNS:], others | True)


def test_a_generator_goes_on_and_its_seed_decides():
    once, twice = core.gaussian_noise(7), core.gaussian_noise(7)
    np.testing.assert_array_equal(once.fill(384), np.concatenate([twice.fill(128), twice.fill(256)]))
    assert np.abs(once.fill(384) - core.gaussian_noise(7).fill(384)).max() > 1
    first = core.gaussian_noise(7).fill(256)
    np.testing.assert_array_equal(core.gaussian_noise(7).fill(129), first[:129])


def make_network(first_layer):
    """20 inputs; 8 neurons behind them, which see less than half of the noise, or 24: all of it."""
    net = core.network([20, 24 if first_layer == "wide" else 8, 6, 4])
    net.initialize(3)
    net.parameters[:] += 0.1 * core.gaussian_noise(4).fill(net.parameters.size)
    if first_layer == "singular":
        net.weight(0)[0] = 0  # a dead row, on by its bias
        net.bias(0)[0] = 1
        net.weight(0)[3] = net.weight(0)[2]
        net.weight(0)[5] = net.weight(0)[1] - 2 * net.weight(0)[4]
    return net


def gradients(net, seeds, **settings):
    """The gradient of the same batch with each seed's noise, (seeds, P): what one step changes. Behind
    it sums of the first layer's over neurons and inputs, with random signs for both: how far they
    spread tells which derivatives vary together."""
    neurons, inputs = net.weight(0).shape
    features = core.gaussian_noise(5).fill(128 * inputs).reshape(128, inputs)
    signs = np.random.default_rng(6)
    of_neurons, of_inputs = (signs.choice([-1, 1], (32, n)) for n in (neurons, inputs))
    changes = []
    for seed in seeds:
        trainer = core.trainer(net, optimizer="sgd", learning_rate=1, balance=0, seed=seed,
                               **settings)
        assert trainer.step(features)[2]
        change = net.parameters - trainer.network.parameters
        first = change[:neurons * inputs].reshape(neurons, inputs)
        changes.append(np.append(change, (of_neurons @ first * of_inputs).sum(axis=1)))
    return np.array(changes, np.float64)


def agree(one, other):
    """Whether each column has the same mean and spread in both (Welch's and Levene's tests)."""
    both = np.concatenate([one, other])
    # By more than rounding, and for more than a few of the seeds.
    moves = (np.abs(both - np.median(both, axis=0)) > 1e-6).sum(axis=0) > 50
    assert moves.mean() > 0.8
    one, other = one[:, moves], other[:, moves]
    means = stats.ttest_ind(one, other, equal_var=False).pvalue
    spreads = [stats.levene(a, b).pvalue for a, b in zip(one.T, other.T)]
    return min(*means, *spreads) > ALARM / 2 / moves.sum()


@pytest.mark.parametrize("first_layer", ["regular", "singular", "wide"])
@pytest.mark.parametrize("pseudo_label", core.equalizer_settings()["pseudo_label"].choices)
@pytest.mark.parametrize("loss", ["pi_model", "vat", "aug_vat"])
def test_projected_noise_leads_to_the_full_ones_gradients(loss, pseudo_label, first_layer):
    net = make_network(first_layer)
    settings = dict(loss=loss, pseudo_label=pseudo_label, xi=0.4, sigma=0.3, epsilon=1)
    full = gradients(net, range(2000), noise="full", **settings)
    assert agree(full, gradients(net, range(2000, 4000), noise="projected", **settings))


@pytest.mark.parametrize("first_layer", ["regular", "singular", "wide"])
@pytest.mark.parametrize("loss", ["pi_model", "vat", "aug_vat"])
def test_another_noise_would_be_seen(loss, first_layer):
    net = make_network(first_layer)
    settings = dict(loss=loss, xi=0.4, sigma=0.3, epsilon=1)
    full = gradients(net, range(2000), noise="full", **settings)
    settings["sigma" if loss == "pi_model" else "xi"] *= 1.5
    assert not agree(full, gradients(net, range(4000, 6000), noise="projected", **settings))
