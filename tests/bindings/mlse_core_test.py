# SPDX-License-Identifier: GPL-3.0-or-later
"""MLSE against brute force, GNU Radio's Viterbi decoder, scipy and theory."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from gnuradio import blocks, digital, gr, trellis
from gnuradio.adann import core

SEED = 5


def ahead(memory):
    return (memory - 1) // 2


class Link:
    """Random labels through a random response: samples are rows (symbols, sps)."""

    def __init__(self, name, sps, memory, symbols, noise, is_complex=False, seed=SEED):
        self.random = np.random.default_rng(seed)
        self.name, self.sps, self.memory, self.complex = name, sps, memory, is_complex
        self.points = core.constellation(name).points
        response = self.gaussian((sps, memory)) * 0.4
        response[:, ahead(memory)] += 1
        self.response = response
        self.sent = self.random.integers(0, self.points.size, symbols + memory - 1).astype(np.uint8)
        clean = self.clean(self.sent)
        self.samples = (clean + noise * self.gaussian(clean.shape)).astype(
            np.complex64 if is_complex else np.float32)
        before = memory - 1 - ahead(memory)
        self.labels = self.sent[before:before + symbols]

    def gaussian(self, shape):
        x = self.random.standard_normal(shape)
        return x + 1j * self.random.standard_normal(shape) if self.complex else x

    def clean(self, labels):
        """Samples of the symbols in the middle of the labels (..., symbols + memory - 1)."""
        a = self.points[labels] if self.complex else self.points[labels].real
        windows = np.lib.stride_tricks.sliding_window_view(a, self.memory, axis=-1)
        return windows[..., ::-1] @ self.response.T

    def mlse(self, **settings):
        settings.setdefault("response", self.response)
        return core.mlse(self.name, self.sps, self.memory, self.complex, **settings)

    def decide(self, mlse, samples=None, known=None):
        """All labels: the last ones are pushed out by symbols without information."""
        samples = self.samples if samples is None else samples
        labels = mlse.process(samples, known)
        return np.concatenate([labels, self.rest(mlse)])[:len(samples)]

    def rest(self, mlse):
        return mlse.process(np.full((mlse.latency, self.sps), np.nan, self.samples.dtype))


@pytest.mark.parametrize("guard", [-1, 1])
@pytest.mark.parametrize("memory", [1, 2, 3])
@pytest.mark.parametrize("name, sps, is_complex, length", [
    ("pam2", 1, False, 10), ("pam2", 3, True, 9), ("pam4", 1, False, 5), ("pam4", 2, False, 5),
    ("qpsk", 1, True, 5)])
def test_blocks_are_decided_as_by_a_search_through_all_sequences(name, sps, is_complex, length,
                                                                 memory, guard):
    blocks_count = 60
    link = Link(name, sps, memory, length * blocks_count, 1.0, is_complex)
    before = memory - 1 - ahead(memory)
    around = length + memory - 1
    candidates = np.array(list(itertools.product(range(link.points.size), repeat=around)), np.uint8)
    if guard >= 0:
        outside = np.ones(around, bool)
        outside[before:before + length] = False
        candidates = candidates[(candidates[:, outside] == guard).all(axis=1)]
    clean = link.clean(candidates)
    expected = []
    for block in link.samples.reshape(blocks_count, length, sps):
        best = np.argmin(np.sum(abs(block - clean) ** 2, axis=(1, 2)))
        expected.append(candidates[best, before:before + length])
    decided = link.mlse(block_length=length, guard=guard).process(link.samples)
    np.testing.assert_array_equal(decided, np.concatenate(expected))


def viterbi_combined(samples, response, points):
    """GNU Radio's decisions: the newest symbol of each step's window. Unknown ends."""
    memory, size = response.size, points.size
    states = size ** (memory - 1)
    # State: newest digit highest. The branch with input n leads from s to n·M^(m-2) + s // M.
    state, newest = np.divmod(np.arange(states * size), size)
    following = newest * (states // size) + state // size if memory > 1 else 0 * newest
    digits = [newest] + [state // size ** (memory - 2 - k) % size for k in range(memory - 1)]
    table = sum(tap * points[digit] for tap, digit in zip(response, digits))
    machine = trellis.fsm(size, states, table.size, following.tolist(), list(range(table.size)))
    decoder = trellis.viterbi_combined_fb(
        machine, samples.size, -1, -1, 1, table.astype(np.float32).tolist(),
        digital.TRELLIS_EUCLIDEAN)
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_f(samples), decoder, sink)
    top.run()
    return np.array(sink.data(), np.uint8)


@pytest.mark.parametrize("mode", ["continuous", "block"])
@pytest.mark.parametrize("name, memory", [("pam4", 1), ("pam4", 3), ("pam4", 5), ("pam2", 5)])
def test_decisions_equal_those_of_viterbi_combined(name, memory, mode):
    symbols = 20_000
    link = Link(name, 1, memory, symbols, 0.8)
    samples = link.samples[:, 0]
    newest = viterbi_combined(samples, link.response[0], link.points.real)
    shift = ahead(memory)
    if mode == "block":
        decided = link.mlse(block_length=symbols).process(link.samples)
    else:
        decided = link.decide(link.mlse(adaptation="off", traceback_depth=200))
    assert np.any(decided != link.labels)  # not too easy: the responses that are drawn leave 1 to 70 % wrong
    np.testing.assert_array_equal(decided[shift:], newest[:symbols - shift])


@pytest.mark.parametrize("adaptation", ["off", "supervised", "decision_directed"])
@pytest.mark.parametrize("name, sps, memory, is_complex", [
    ("pam4", 2, 3, False), ("qpsk", 1, 4, True)])
def test_the_labels_do_not_depend_on_how_the_stream_is_cut(name, sps, memory, is_complex, adaptation):
    link = Link(name, sps, memory, 20_000, 0.5, is_complex)
    link.samples[[100, 101, 5000]] = np.nan
    settings = dict(adaptation=adaptation, update_interval=1000, traceback_depth=30)
    whole, cut = link.mlse(**settings), link.mlse(**settings)
    expected = whole.process(link.samples, link.labels if adaptation == "supervised" else None)
    parts, position = [], 0
    while position < len(link.samples):
        here = slice(position, position + link.random.integers(0, 700))
        known = link.labels[here] if adaptation == "supervised" else None
        parts.append(cut.process(link.samples[here], known))
        position = here.stop
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    np.testing.assert_array_equal(cut.response, whole.response)
    assert whole.updates == (0 if adaptation == "off" else 20)


@pytest.mark.parametrize("name, is_complex", [("pam4", False), ("16qam", True), ("pam2", True)])
def test_least_squares_equals_scipys(name, is_complex):
    link = Link(name, 2, 5, 3000, 0.5, is_complex)
    link.samples[17, 1] = np.inf
    found = core.least_squares_response(link.samples, link.labels, name, 5)
    a = link.points[link.labels] if is_complex else link.points[link.labels].real
    windows = np.lib.stride_tricks.sliding_window_view(a, 5)[:, ::-1]
    rows = np.arange(2, len(a) - 2)
    keep = rows != 17
    expected = scipy.linalg.lstsq(windows[keep], link.samples[rows[keep]])[0].T
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert found.dtype == (np.complex64 if is_complex else np.float32)


def test_least_squares_refuses_labels_that_do_not_determine_the_response():
    with pytest.raises(ValueError, match="training is 50 symbols, allowed: enough"):
        core.least_squares_response(np.zeros((50, 1), np.float32), np.zeros(50, np.uint8), "pam4", 3)


@pytest.mark.parametrize("name, sps, is_complex", [("pam4", 2, False), ("16qam", 1, True)])
def test_supervised_lms_finds_the_response_from_straight_lines(name, sps, is_complex):
    link = Link(name, sps, 3, 40_000, 0.1, is_complex)
    mlse = link.mlse(response=None, adaptation="supervised", update_interval=4000)
    decided = mlse.process(link.samples, link.labels)
    np.testing.assert_allclose(mlse.response, link.response, atol=0.03)
    assert mlse.updates == 10
    later = slice(10_000, len(decided))
    assert np.mean(decided[later] != link.labels[later]) < 1e-3


def test_decision_directed_lms_follows_a_response_that_changes():
    link = Link("pam4", 1, 3, 200_000, 0.15)
    noise = link.samples - link.clean(link.sent)
    start = np.array([[0.4, 0.9, -0.3]])  # of those that are drawn some have sequences that are nearly alike
    end = start * [0.5, 1.3, -0.8]
    weight = np.linspace(0, 1, len(link.samples))[:, None]
    link.response = start
    samples = (1 - weight) * link.clean(link.sent)
    link.response = end
    samples = (samples + weight * link.clean(link.sent) + noise).astype(np.float32)
    settings = dict(response=start, update_interval=256)
    frozen = link.decide(link.mlse(adaptation="off", **settings), samples)
    mlse = link.mlse(adaptation="decision_directed", **settings)
    tracked = link.decide(mlse, samples)
    last = slice(150_000, None)
    assert np.mean(frozen[last] != link.labels[last]) > 0.05
    assert np.mean(tracked[last] != link.labels[last]) < 1e-3
    np.testing.assert_allclose(mlse.response, end, atol=0.05)


def test_a_training_sequence_teaches_what_decisions_alone_cannot():
    link = Link("pam4", 1, 3, 20_000, 0.1)
    inverted = -link.response  # decisions with this start are wrong for ever
    settings = dict(response=inverted, adaptation="decision_directed", update_interval=500, step=0.05)
    assert np.mean(link.decide(link.mlse(**settings)) != link.labels) > 0.9
    mlse = link.mlse(**settings)
    mlse.set_training(link.labels[1000:2000].tolist())
    before = mlse.process(link.samples[:1000])
    mlse.start_training()
    decided = np.concatenate([before, mlse.process(link.samples[1000:]), link.rest(mlse)])
    assert np.mean(decided[3000:20_000] != link.labels[3000:]) < 1e-3


@pytest.mark.parametrize("adaptation", ["supervised", "decision_directed"])
def test_nan_silence_and_a_hundredfold_gain_are_survived(adaptation):
    link = Link("pam4", 2, 3, 100_000, 0.1)
    link.samples[10_000:12_000] = np.nan
    link.samples[15_000, 1] = -np.inf
    link.samples[20_000:30_000] = 0
    link.samples[40_000] = 3e38
    link.samples[60_000:] *= 100
    known = link.labels if adaptation == "supervised" else None
    mlse = link.mlse(adaptation=adaptation, update_interval=512)
    decided = link.decide(mlse, known=known)
    np.testing.assert_allclose(mlse.response, 100 * link.response, atol=5)
    for good in ((0, 9990), (12_010, 14_990), (15_010, 19_990), (33_000, 39_990), (40_010, 59_990),
                 (65_000, 100_000)):
        good = slice(*good)
        assert np.mean(decided[good] != link.labels[good]) < 1e-3, good


def test_a_lost_symbol_is_decided_by_its_neighbours():
    link = Link("pam2", 1, 3, 10_000, 0.0)
    link.samples[::10] = np.nan
    assert np.array_equal(link.decide(link.mlse()), link.labels)


def test_parameters_out_of_range_are_named():
    for settings, message in (
            (dict(memory=0), "memory is 0, allowed: 1 to 64"),
            (dict(memory=11), "memory is 11, allowed: 1 to 10 for pam4, 320 survivors and 256 MiB"),
            (dict(sps=65), "sps is 65"),
            (dict(constellation="qpsk"), "constellation is qpsk with float samples"),
            (dict(traceback_depth=2), "traceback_depth is 2, allowed: 3 to 4096"),
            (dict(guard=4), "guard is 4, allowed: -1 to 3"),
            (dict(adaptation="on"), "adaptation is 'on', allowed: off, supervised"),
            (dict(update_interval=0), "update_interval is 0"),
            (dict(step=1.5), "step is 1.5, allowed: 0 to 1"),
            (dict(response=[[1, 0]]), "response is 2 taps, allowed: sps x memory = 1 x 3"),
            (dict(response=[[1, np.nan, 0]]), "a tap of the response is"),
            (dict(response=[[1, 1j, 0]]), "real numbers for float samples")):
        with pytest.raises(ValueError, match=message):
            core.mlse(**{"constellation": "pam4", "sps": 1, "memory": 3, **settings})


def q(x):
    return scipy.stats.norm.sf(x)


def distances(response, points, length=6):
    """(weight, distance) of the error events up to `length` symbols: the weight is the expected
    number of symbol errors that an event brings, per symbol sent."""
    memory = response.size
    steps = np.diff(np.sort(points)).min()
    size = points.size
    events = {}
    for span in range(1, length + 1):
        for event in itertools.product(range(1 - size, size), repeat=span):
            if event[0] == 0 or event[-1] == 0 or _splits(event, memory):
                continue
            # Sent symbols that allow the difference e: size - |e| of size.
            chance = np.prod([(size - abs(e)) / size for e in event])
            distance = np.linalg.norm(np.convolve(event, response)) * steps
            key = round(distance, 6)
            events[key] = events.get(key, 0) + chance * np.count_nonzero(event)
    return events


def _splits(event, memory):
    """Whether memory - 1 zeros in a row end one event and begin another."""
    return any(not any(event[i:i + memory - 1]) for i in range(1, len(event) - memory + 1))


@pytest.mark.parametrize("name, response", [
    ("pam2", [0.4, 1.0, -0.3]), ("pam4", [0.25, 1.0, 0.35])])
def test_the_error_rate_lies_between_the_matched_filter_and_the_union_bound(name, response):
    """Over 6 dB. Each check fails by chance with a probability below 1e-6."""
    response = np.array(response)
    points = core.constellation(name).points.real
    size, steps = points.size, 2.0
    events = distances(response, points)
    least = steps * np.linalg.norm(response)
    random = np.random.default_rng(SEED)
    symbols = 4_000_000
    sent = random.integers(0, size, symbols + 2).astype(np.uint8)
    clean = np.convolve(points[sent], response, "valid").astype(np.float32)
    noise = random.standard_normal(symbols).astype(np.float32)
    # From a matched-filter error rate of 1e-2 on, 0 to 6 dB better.
    weakest = least / 2 / scipy.stats.norm.isf(1e-2 / (2 - 2 / size))
    for decibel in (0, 1.5, 3, 4.5, 6):
        sigma = weakest * 10 ** (-decibel / 20)
        mlse = core.mlse(name, 1, 3, response=response[None], adaptation="off")
        decided = mlse.process((clean + np.float32(sigma) * noise)[:, None])
        errors = np.count_nonzero(decided[3:] != sent[4:1 + decided.size])
        lower = (2 - 2 / size) * q(least / (2 * sigma))
        upper = sum(weight * q(distance / (2 * sigma)) for distance, weight in events.items())
        # Errors come in events of a few symbols: the variance is that many times a binomial's.
        deviation = 5 * np.sqrt(6 * decided.size * np.array([lower, upper])) + 5
        assert errors > decided.size * lower - deviation[0], decibel
        assert errors < decided.size * upper + deviation[1], decibel
        print(decibel, errors / decided.size, lower, upper)
