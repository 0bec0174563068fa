# SPDX-License-Identifier: GPL-3.0-or-later
"""The expected waveform, and how it is learnt, against numpy's least squares and brute force."""

import numpy as np
import pytest
from gnuradio.adann import core

SEED = 11
KINDS = [("pam4", 4, False), ("pam8", 1, False), ("pam2", 2, True), ("qpsk", 2, True),
         ("16qam", 2, True), ("64qam", 3, True)]


class Link:
    """Random labels through a random channel over 5 symbols, a square and a cube of the sender's
    points among them, and complex samples with an I/Q imbalance; noise is the rms of a float."""

    def __init__(self, name, sps, is_complex, nonlinear=0.3, noise=0.1):
        self.random = np.random.default_rng(SEED)
        self.constellation = core.constellation(name)
        points = self.constellation.points / np.sqrt(np.mean(abs(self.constellation.points) ** 2))
        self.points = points if self.constellation.is_complex else points.real
        self.sps, self.complex, self.noise = sps, is_complex, noise
        self.nonlinear = nonlinear
        self.response, self.image = (self.gaussian((5, sps)) * scale for scale in (0.4, 0.1))

    def gaussian(self, shape):
        x = self.random.standard_normal(shape)
        return x + 1j * self.random.standard_normal(shape) if self.complex else x

    def __call__(self, count):
        """(labels, samples): uint8 (count,), float32 or complex64 (count, sps)."""
        labels = self.random.integers(0, self.points.size, count).astype(np.uint8)
        a = np.pad(self.points[labels], 2)
        windows = np.lib.stride_tricks.sliding_window_view(a, 5)
        x = windows @ self.response + windows.conj() @ self.image + 0.05
        x = x + self.nonlinear * (windows[:, 2] * windows[:, 1])[:, None] * self.response[2]
        x = x + self.noise * self.gaussian(x.shape)
        return labels, x.astype(np.complex64 if self.complex else np.float32)

    def fit(self, labels, samples, **arguments):
        return core.expected_waveform.fit(self.constellation, samples, labels, **arguments)

    def design(self, labels, reach):
        """What the affine part multiplies, for all but `reach` symbols at each end."""
        a = self.points[labels]
        near = [a[k:len(a) - 2 * reach + k] for k in range(2 * reach + 1)]
        parts = [part for each in near for part in
                 ((each.real, each.imag) if self.constellation.is_complex else (each,))]
        return np.stack([np.ones(len(parts[0])), *parts], 1)

    def patterns(self, labels, reach, context):
        """The labels of each symbol's pattern, as one number."""
        code = np.zeros(len(labels) - 2 * reach, int)
        for k in range(context):
            first = reach - context // 2 + k
            code = code * self.points.size + labels[first:first + code.size]
        return code


def as_floats(samples):
    return np.ascontiguousarray(samples).view(np.float32).reshape(len(samples), -1)


def without_table(waveform, link):
    """Its affine part alone."""
    affine = core.expected_waveform(link.constellation, link.sps, link.complex,
                                    waveform.affine_reach, 0)
    affine.set(waveform.affine.ravel(), np.zeros(waveform.table.shape[1], np.float32), 1)
    return affine


def polynomial(waveform, x):
    """What the polynomial adds to each of the samples (n, sps), which far from both ends is right."""
    if not waveform.memory:
        return np.zeros_like(x)
    step = max(1, waveform.sps // 4)
    i, q = (x.ravel().real, x.ravel().imag)
    power = i * i + q * q
    of = [i, q, i * i, i * q, q * q, i**3, i * i * q, i * q * q, q**3, power**2 * i, power**2 * q] \
        if waveform.complex else [i, i**2, i**3]
    rows = [np.ones(i.size)] + [np.roll(monomial, -tap * step) for monomial in of
                                for tap in range(-waveform.memory, waveform.memory + 1)]
    parts = waveform.polynomial @ np.stack(rows)
    return (parts[0] + 1j * parts[1] if waveform.complex else parts[0]).astype(x.dtype).reshape(x.shape)


@pytest.mark.parametrize("name, sps, is_complex", KINDS)
def test_the_fit_is_least_squares_and_a_table_of_the_least_leave_one_out_error(name, sps,
                                                                               is_complex):
    link, most_reach = Link(name, sps, is_complex), 4
    labels, samples = link(1500)
    samples[[40, 1000], 0] = np.nan, 2000
    waveform = link.fit(labels, samples, most_reach=most_reach)
    around = most_reach + 2  # which a polynomial looks at
    inner = slice(around, len(labels) - around)
    usable = np.ones(len(labels), bool)
    usable[[40, 1000]] = False
    usable = usable[inner]
    y = as_floats(samples)[inner][usable].astype(np.float64)

    def least_squares(reach):
        """Affine part with a ridge of one symbol, and what it leaves."""
        a = link.design(labels, most_reach)[2:-2]
        skipped = (a.shape[1] - link.design(labels[:99], reach).shape[1]) // 2
        a = np.delete(a, np.r_[1:1 + skipped, a.shape[1] - skipped:a.shape[1]], axis=1)[usable]
        affine = np.linalg.lstsq(np.vstack([a, np.eye(a.shape[1])]),
                                 np.vstack([y, np.zeros((a.shape[1], y.shape[1]))]), rcond=None)[0]
        return affine, y - a @ affine

    def error(reach):
        affine, rest = least_squares(reach)
        return (np.sum(rest**2) + np.sum(affine**2)) / (len(y) - len(affine))

    errors = [error(reach) for reach in range(most_reach + 1)]
    assert waveform.affine_reach == next(r for r, e in enumerate(errors) if 0.99 * e <= min(errors))
    affine, rest = least_squares(waveform.affine_reach)
    np.testing.assert_allclose(waveform.affine, affine, atol=1e-5)
    bent = polynomial(waveform, without_table(waveform, link).expect(labels))
    skipped = around - waveform.affine_reach
    rest = rest - as_floats(bent)[skipped:len(bent) - skipped][usable]

    def left_out(context, k):
        """Sum of the squares that each symbol leaves where the table is made of the others."""
        code = link.patterns(labels, around, context)[usable]
        total = 0
        for group in map(np.flatnonzero, code == np.unique(code)[:, None]):
            for i in group:
                others = np.setdiff1d(group, i)
                total += np.sum((rest[i] - rest[others].sum(0) / (others.size + k))**2)
        return total

    degrees = (len(y) - len(affine)) * y.shape[1] - waveform.polynomial.size
    code = link.patterns(labels, around, waveform.context)[usable]
    counts = np.bincount(code, minlength=len(waveform.table))
    sums = np.stack([np.bincount(code, column, counts.size) for column in rest.T], 1)
    if waveform.table.any():
        pattern = counts.argmax()
        k = sums[pattern, 0] / waveform.table[pattern, 0] - counts[pattern]
        assert np.log2(k) == pytest.approx(round(np.log2(k)), abs=1e-2)
        k = 2.0 ** round(np.log2(k))
        np.testing.assert_allclose(waveform.table, sums / (counts + k)[:, None], atol=1e-5)
        best = left_out(waveform.context, k)
        for other in k / 2, 2 * k:
            assert other > 4096 or other < 0.5 or left_out(waveform.context, other) >= best
    else:
        best = np.sum(rest**2)
    assert waveform.noise == pytest.approx(np.sqrt(best / degrees), rel=1e-4)


@pytest.mark.parametrize("name, sps, is_complex", KINDS)
@pytest.mark.parametrize("symbols", [400, 4000, 40000])
def test_on_symbols_held_back_it_leaves_its_noise_and_no_more_than_its_affine_part(
        name, sps, is_complex, symbols):
    """The rms of so many held-back floats is off by less than 0.5 % at four standard deviations;
    that of the record itself by 7 % at 400 symbols and sps 1."""
    for nonlinear in 0.0, 0.3:
        link = Link(name, sps, is_complex, nonlinear)
        labels, samples = link(200_000)
        told = []  # of several records: one of 400 symbols is up to 5 % off, a deviation
        for _ in range(3 if symbols == 40000 else 8):
            waveform = link.fit(*link(symbols))
            left = np.sqrt(waveform.residual(samples, labels))
            affine = np.sqrt(without_table(waveform, link).residual(samples, labels))
            assert left <= affine * 1.001
            told.append(waveform.noise / left)
        assert np.mean(told) == pytest.approx(1, rel=0.01 + 1.5 / np.sqrt(symbols))
        if nonlinear and symbols == 40000 and name != "64qam":  # of 4096 pairs of labels
            assert left < 1.01 * link.noise
            # Products of two points have nothing in common with one.
            power = nonlinear**2 * np.mean(abs(link.response[2])**2) / (2 if is_complex else 1)
            assert affine == pytest.approx(np.hypot(link.noise, np.sqrt(power)), rel=0.02)


@pytest.mark.parametrize("name, sps, is_complex", [
    ("pam8", 1, False), ("pam4", 4, False), ("pam2", 8, False), ("qpsk", 2, True),
    ("16qam", 4, True), ("64qam", 2, True), ("pam4", 3, True)])
def test_a_nonlinearity_between_two_filters_is_found_beyond_any_table(name, sps, is_complex):
    """A signal of 21 symbols at a time that bends, and echoes of that: on other symbols its noise is
    left and a tenth, where the affine part leaves 1.4 times as much. What does not bend, or is
    too short to tell, has no polynomial."""
    link = Link(name, sps, is_complex, nonlinear=0, noise=0)
    pulse = link.gaussian(16 * sps + 1) * np.hanning(16 * sps + 1)
    echoes = np.array([0.2, -0.3, 1, 0.4, 0.2])

    def send(count, bend, noise):
        labels, x = link(count)
        x = np.convolve(x.ravel(), pulse, "same")
        x = x / np.sqrt(np.mean(abs(x) ** 2))
        x = x + bend * np.convolve(0.5 * x**2 - x * abs(x) ** 2, echoes, "same")
        x = x + noise * link.gaussian(x.size)
        return labels, x.reshape(-1, sps).astype(np.complex64 if is_complex else np.float32)

    bend = 0.06 * np.exp(0.7j) if is_complex else 0.025
    waveform = link.fit(*send(40_000, bend, 0.05))
    assert waveform.memory > 0
    labels, samples = send(40_000, bend, 0.05)
    left = np.sqrt(waveform.residual(samples, labels))
    affine = np.sqrt(without_table(waveform, link).residual(samples, labels))
    assert left < 1.1 * 0.05 < 1.1 * affine / 1.4
    assert waveform.noise == pytest.approx(left, rel=0.02)
    for count, bent, noise in (40_000, 0, 0.05), (300, bend, 3):
        assert link.fit(*send(count, bent, noise)).memory == 0


@pytest.mark.parametrize("is_complex", [False, True])
def test_it_knows_what_its_noise_has_in_common_with_the_samples(is_complex):
    """Noise through a filter, beside the filter's own autocorrelation; five standard deviations
    of what a signal of 30,000 symbols has in common with noise by chance."""
    link = Link("qpsk" if is_complex else "pam4", 4, is_complex, nonlinear=0, noise=0)
    labels, samples = link(30_000)
    taps = np.array([1, 0.8, 0.4 + 0.3j, -0.2j] if is_complex else [1, 0.8, 0.4, -0.2])
    noise = np.convolve(link.gaussian(samples.size + 3), taps, "valid").reshape(samples.shape)
    samples = (samples + 0.1 * noise).astype(samples.dtype)
    samples_rms = np.sqrt(np.mean(np.abs(samples) ** 2))
    samples[::100] = np.nan  # symbols that are left out
    waveform = link.fit(labels, samples)
    power = 0.01 * np.vdot(taps, taps).real * (1 + is_complex)
    expected = np.zeros(65, complex)
    for lag in 0, 1, 2, 3:
        expected[32 + lag] = np.vdot(taps[lag:], taps[:taps.size - lag]) / np.vdot(taps, taps) * power
        expected[32 - lag] = expected[32 + lag].conj()
    found = waveform.noise_correlation
    assert found.shape == (65, 1 + is_complex) and found.dtype == np.float32
    found = found[:, 0] + 1j * found[:, 1] if is_complex else found[:, 0]
    assert np.abs(found - expected).max() < 5 * samples_rms * np.sqrt(power / labels.size / 4)
    assert waveform.noise == pytest.approx(0.1 * np.linalg.norm(taps), rel=0.02)


@pytest.mark.parametrize("name, sps, is_complex", KINDS)
def test_expect_and_residual_are_the_sum_of_affine_part_and_table(name, sps, is_complex):
    link = Link(name, sps, is_complex)
    labels, samples = link(2000)
    waveform = core.expected_waveform(link.constellation, sps, is_complex, affine_reach=3,
                                      context=2)
    affine, table = (link.random.standard_normal(part.shape).astype(np.float32)
                     for part in (waveform.affine, waveform.table))
    waveform.set(affine.ravel(), table.ravel(), 0.25)
    white = np.zeros((16 * sps + 1, 1 + is_complex))
    white[8 * sps, 0] = 0.25**2 * (1 + is_complex)
    np.testing.assert_array_equal(waveform.noise_correlation, white)
    assert (waveform.sps, waveform.complex, waveform.noise) == (sps, is_complex, 0.25)
    expected = link.design(labels, 3) @ affine + table[link.patterns(labels, 3, 2)]
    got = waveform.expect(labels)
    assert got.shape == (1994, sps) and got.dtype == samples.dtype
    np.testing.assert_allclose(as_floats(got), expected, atol=2e-5)
    assert waveform.residual(samples, labels) == pytest.approx(
        np.mean((as_floats(samples[3:-3]) - expected) ** 2), rel=1e-5)


def test_labels_that_determine_nothing_give_what_they_show():
    """A constant label and a period of two: all is explained, and nothing is beyond the signal."""
    pam4 = core.constellation("pam4")
    for period in [2], [0, 3]:
        labels = np.resize(np.uint8(period), 4000)
        samples = (pam4.points.real[labels][:, None] * [0.3, 0.5]).astype(np.float32)
        waveform = core.expected_waveform.fit(pam4, samples, labels)
        assert waveform.residual(samples, labels) < 1e-6
        assert abs(waveform.affine).max() < 1.5


def test_wrong_arrays_are_named():
    link = Link("qpsk", 2, True)
    labels, samples = link(500)
    waveform = link.fit(labels, samples)
    for reason, call in (
            (r"samples' shape is \(1000,\)", lambda: link.fit(labels, samples.ravel())),
            (r"labels' shape is \(499,\)", lambda: link.fit(labels[1:], samples)),
            (r"labels\[\d+\] is 4, allowed: 0 to 3", lambda: link.fit(labels + 1, samples)),
            (r"real one for float samples", lambda: link.fit(labels, samples.real)),
            (r"usable samples and neighbours is 2", lambda: link.fit(labels[:30], samples[:30])),
            (r"a label is 4, allowed: 0 to 3", lambda: waveform.expect(labels + 1)),
            (r"labels' shape is \(3,\)", lambda: waveform.expect(labels[:3])),
            (r"samples is \(500, 2\) float32", lambda: waveform.residual(samples.real, labels)),
            (r"waveform reach is 65", lambda: link.fit(labels, samples, most_reach=65))):
        with pytest.raises(ValueError, match=reason):
            call()
