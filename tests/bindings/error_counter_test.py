# SPDX-License-Identifier: GPL-3.0-or-later
"""The error counter against numpy, and the exact interval against scipy."""

import numpy as np
import pytest
from gnuradio.adann import core
from scipy import integrate, stats


def errors_by_numpy(decided, sent, first, symbols, delay, symmetry):
    """Symbol and bit errors of decided[first:first + symbols] at an alignment, turned back."""
    turned_back = np.argsort(symmetry).astype(np.uint8)[decided[first:first + symbols]]
    wrong = turned_back ^ sent[first - delay:first - delay + symbols]
    return np.count_nonzero(wrong), int(np.unpackbits(wrong).sum())


def with_errors(random, labels, size, rate):
    """A fraction `rate` of the labels replaced by another one."""
    hit = random.random(labels.size) < rate
    return np.where(hit, labels ^ random.integers(1, size, labels.size), labels).astype(np.uint8)


def push_in_pieces(counter, random, decided, sent, largest=20_000):
    while decided.size or sent.size:
        d, s = random.integers(0, largest, 2)
        taken = counter.push(decided[:d], sent[:s])
        decided, sent = decided[taken[0]:], sent[taken[1]:]
    counter.finish()


def drifting_streams(random, alphabet):
    """Decided and sent labels with up to three slips; the true segments (start, end, delay, s)."""
    rate = random.choice([0, 1e-3, 0.02, 0.2])
    segments, decided, sent = [], [], []
    delay = int(random.integers(-1024, 1025))
    before = random.integers(0, alphabet.size, abs(delay), dtype=np.uint8)
    (decided if delay > 0 else sent).append(before)
    symmetry = int(random.integers(len(alphabet.symmetries)))
    for segment in range(random.integers(1, 5)):
        if segment:
            symmetry = int(random.integers(len(alphabet.symmetries)))
            slip = int(random.integers(1, 200))
            # Symbols inserted into the decided stream, or deleted from it.
            (decided if random.random() < 0.5 else sent).append(
                random.integers(0, alphabet.size, slip, dtype=np.uint8))
        labels = random.integers(0, alphabet.size, random.integers(5000, 40_000), dtype=np.uint8)
        start = sum(map(len, decided))
        segments.append((start, start + labels.size, start - sum(map(len, sent)), symmetry))
        sent.append(labels)
        decided.append(with_errors(random, np.asarray(alphabet.symmetries[symmetry])[labels],
                                   alphabet.size, rate))
    return np.concatenate(decided).astype(np.uint8), np.concatenate(sent), segments


@pytest.mark.parametrize("name", core.constellation.names())
def test_counts_equal_numpys_with_delays_rotations_inserted_and_deleted_symbols(name):
    alphabet = core.constellation(name)
    for case in range(170):  # of each of six alphabets: 1000 in all
        random = np.random.default_rng(case)
        decided, sent, segments = drifting_streams(random, alphabet)
        counter = core.error_counter(name, batch=int(random.choice([100, 1000, 8192])))
        push_in_pieces(counter, random, decided, sent)
        batches = counter.batches()

        covered = 0
        for batch in batches:
            c = batch.counts
            symmetry = alphabet.symmetries[batch.symmetry]
            assert (c.symbol_errors, c.bit_errors) == errors_by_numpy(
                decided, sent, batch.first, c.symbols, batch.delay, symmetry), (name, case)
            # Each batch lies in the true segment of its alignment, but for a few symbols that
            # agree by chance with both of two neighbours.
            inside = [min(batch.first + c.symbols, end) - max(batch.first, start)
                      for start, end, delay, s in segments
                      if (delay, s) == (batch.delay, batch.symmetry)]
            assert max(inside, default=0) >= c.symbols - 60, (name, case)
            covered += c.symbols
        assert sum(end - start for start, end, _, _ in segments) - covered <= 60 * len(segments)
        assert counter.totals.symbols == covered
        assert counter.totals.bit_errors == sum(b.counts.bit_errors for b in batches)
        assert counter.relocks == sum(
            a[2:] != b[2:] for a, b in zip(segments, segments[1:])), (name, case)


def test_a_file_of_aligned_labels_is_compared_in_full():
    random = np.random.default_rng(1)
    for size in (100, 1023, 5000, 8192, 100_001):
        sent = random.integers(0, 4, size, dtype=np.uint8)
        decided = with_errors(random, sent, 4, 0.05)
        counter = core.error_counter("pam4")
        assert counter.push(decided, sent) == (size, size)
        counter.finish()
        wrong = decided ^ sent
        totals = counter.totals
        assert counter.locked and counter.delay == 0 and counter.symmetry == 0
        assert totals.symbols == size and totals.bits == 2 * size
        assert totals.symbol_errors == np.count_nonzero(wrong)
        assert totals.bit_errors == np.unpackbits(wrong).sum()
        assert [b.counts.symbols for b in counter.batches()] == [
            min(8192, size - i) for i in range(0, size, 8192)]


def test_one_stream_may_run_ahead_of_the_other():
    random = np.random.default_rng(2)
    sent = random.integers(0, 4, 300_000, dtype=np.uint8)
    counter = core.error_counter("pam4")
    nothing = np.empty(0, np.uint8)
    _, ahead = counter.push(nothing, sent)
    assert 65_536 <= ahead < 100_000
    assert counter.push(sent, sent[ahead:]) == (sent.size, sent.size - ahead)
    counter.finish()
    assert counter.totals.symbols == sent.size and counter.totals.bit_errors == 0


def test_unrelated_streams_are_never_given_a_rate():
    random = np.random.default_rng(3)
    counter = core.error_counter("qpsk")
    for _ in range(20):
        counter.push(*random.integers(0, 4, (2, 100_000), dtype=np.uint8))
        assert not counter.locked
    counter.finish()
    assert not counter.batches() and np.isnan(counter.totals.ber)


def test_it_unlocks_in_noise_and_finds_the_signal_again():
    random = np.random.default_rng(4)
    sent = random.integers(0, 16, 300_000, dtype=np.uint8)
    decided = sent.copy()
    decided[100_000:200_000] = random.integers(0, 16, 100_000)
    counter = core.error_counter("16qam")
    counter.push(decided[:150_000], sent[:150_000])
    assert not counter.locked
    counter.push(decided[150_000:], sent[150_000:])
    counter.finish()
    assert counter.locked and counter.relocks == 1
    # At most the probe in which the noise began was counted with it.
    assert counter.totals.symbol_errors < 1024
    assert 100_000 < counter.totals.symbols < 200_000


def test_a_burst_of_errors_is_counted():
    random = np.random.default_rng(5)
    sent = random.integers(0, 4, 50_000, dtype=np.uint8)
    decided = sent.copy()
    decided[20_000:21_200] = random.integers(0, 4, 1200)
    counter = core.error_counter("pam4")
    counter.push(decided, sent)
    counter.finish()
    assert counter.relocks == 0
    assert counter.totals.symbols == sent.size
    assert counter.totals.symbol_errors == np.count_nonzero(decided != sent)


def test_idle_patterns_are_not_an_alignment():
    constant = np.zeros(100_000, np.uint8)
    counter = core.error_counter("pam4")
    counter.push(constant, constant)
    assert not counter.locked


def test_smoothed_is_the_latest_eight_batches():
    random = np.random.default_rng(6)
    sent = random.integers(0, 4, 20_000, dtype=np.uint8)
    counter = core.error_counter("pam4", batch=1000)
    counter.push(with_errors(random, sent, 4, 0.1), sent)
    counter.finish()
    batches = counter.batches()
    for k, batch in enumerate(batches):
        latest = batches[max(0, k - 7):k + 1]
        assert batch.index == k
        assert batch.smoothed.bit_errors == sum(b.counts.bit_errors for b in latest)
        assert batch.smoothed.bits == sum(b.counts.bits for b in latest)


@pytest.mark.parametrize("arguments, named", [
    (("pam5",), "constellation is 'pam5'"),
    (("pam4", 0), "batch is 0"),
    (("pam4", 8192, 16385), "search is 16385")])
def test_a_parameter_out_of_range_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        core.error_counter(*arguments)


def test_labels_are_one_dimensional_bytes():
    counter = core.error_counter("pam4")
    bytes_ = np.zeros(4, np.uint8)
    with pytest.raises(TypeError):
        counter.push(bytes_.astype(float), bytes_)
    with pytest.raises(ValueError, match="sent has 2 dimensions"):
        counter.push(bytes_, bytes_.reshape(2, 2))


@pytest.mark.parametrize("errors, trials", [
    (0, 1), (1, 1), (0, 10), (3, 16_384), (16_384, 16_384), (5, 10**9), (123_456, 10**9)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_interval_is_scipys(errors, trials, confidence):
    tail = (1 - confidence) / 2
    low = stats.beta.ppf(tail, errors, trials - errors + 1) if errors else 0
    high = stats.beta.isf(tail, errors + 1, trials - errors) if errors < trials else 1
    np.testing.assert_allclose(
        core.clopper_pearson(errors, trials, confidence), (low, high), rtol=1e-7)


def test_the_interval_without_trials_and_with_wrong_arguments():
    assert core.clopper_pearson(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="errors is 2"):
        core.clopper_pearson(2, 1)
    with pytest.raises(ValueError, match="confidence is 1"):
        core.clopper_pearson(0, 1, 1.0)


def noisy_qpsk(random, sent, deviation):
    """Posteriors (n, 4), float32, of points in white noise of this deviation in I and in Q."""
    points = core.constellation("qpsk").points
    received = points[sent] + deviation * (random.standard_normal((sent.size, 2)) @ [1, 1j])
    likelihoods = np.exp(-np.abs(received[:, None] - points) ** 2 / (2 * deviation**2))
    return (likelihoods / likelihoods.sum(axis=1, keepdims=True)).astype(np.float32)


def test_the_gmi_of_qpsk_in_white_noise_is_twice_the_capacity_of_a_binary_channel():
    """Exact posteriors; five standard errors of 2^18 symbols, once in 10^6 by chance."""
    random = np.random.default_rng(3)
    amplitude, deviation = abs(core.constellation("qpsk").points[0].real), 0.5
    sent = random.integers(0, 4, 2**18, dtype=np.uint8)
    posteriors = noisy_qpsk(random, sent, deviation)
    counter = core.error_counter("qpsk", posteriors=True)
    counter.push(posteriors.argmax(axis=1).astype(np.uint8), sent, posteriors)
    counter.finish()

    def lost(y):  # bits, of a level that was sent
        return stats.norm.pdf(y, amplitude, deviation) * np.logaddexp2(
            0, -2 * amplitude * y / deviation**2 / np.log(2))
    capacity = 1 - integrate.quad(lost, -10, 10, epsabs=1e-10)[0]
    assert counter.totals.symbols == sent.size
    assert counter.totals.gmi == pytest.approx(2 * capacity, abs=5 / sent.size**0.5)
    assert 0.5 < capacity < 0.95


@pytest.mark.parametrize("name", ["pam4", "8psk", "16qam", "16apsk"])
def test_the_gmi_does_not_depend_on_cuts_delay_and_rotation(name):
    random = np.random.default_rng(4)
    alphabet = core.constellation(name)
    sent = random.integers(0, alphabet.size, 30_000, dtype=np.uint8)
    posteriors = random.dirichlet(np.full(alphabet.size, 0.05), sent.size) + 1e-4
    posteriors[np.arange(sent.size), sent] += 2 * random.random(sent.size)
    posteriors = (posteriors / posteriors.sum(axis=1, keepdims=True)).astype(np.float32)
    bits = sent[:, None] >> np.arange(alphabet.bits_per_symbol) & 1
    of_labels = np.arange(alphabet.size)[:, None] >> np.arange(alphabet.bits_per_symbol) & 1
    ones = posteriors.astype(float) @ of_labels
    zeros = posteriors.astype(float) @ (1 - of_labels)
    missing = np.log1p(np.where(bits, zeros / ones, ones / zeros)) / np.log(2)
    expected = alphabet.bits_per_symbol - missing.sum(axis=1).mean()

    turned = np.asarray(alphabet.symmetries[-1])
    seen = np.empty_like(posteriors)
    seen[:, turned] = posteriors
    before = 50
    decided = np.concatenate([random.integers(0, alphabet.size, before), seen.argmax(axis=1)]).astype(np.uint8)
    seen = np.concatenate([np.full((before, alphabet.size), 1 / alphabet.size, np.float32), seen])
    counter = core.error_counter(name, batch=1000, posteriors=True)
    for first in range(0, 31_000, 700):
        # The sent ones come all at once: what was decided is kept until then.
        end = first + 700
        counter.push(decided[first:end], sent if end > 20_000 and first <= 20_000 else sent[:0], seen[first:end])
    counter.finish()
    assert counter.totals.symbols == sent.size and counter.symmetry == len(alphabet.symmetries) - 1
    assert counter.totals.gmi == pytest.approx(expected, rel=1e-5)
    batches = counter.batches()
    assert np.mean([batch.counts.gmi for batch in batches]) == pytest.approx(expected, rel=1e-5)


def test_without_posteriors_there_is_no_gmi_and_others_are_refused():
    labels = np.zeros(5, np.uint8)
    counter = core.error_counter("pam4")
    counter.push(np.tile(labels, 1000), np.tile(labels, 1000))
    assert np.isnan(counter.totals.gmi)
    for has, given in ((False, np.ones((5, 4), np.float32)), (True, None), (True, np.ones((4, 4), np.float32))):
        with pytest.raises(ValueError, match="posteriors: allowed are"):
            core.error_counter("pam4", posteriors=has).push(labels, labels, given)
