# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole bursts against least squares of numpy that knows all of their symbols."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.experiments.comparators import unit_points
from gnuradio.adann.links.known_frames import FRAMES, Frame

ELEVEN = FRAMES["TETRA"].known
LENGTH = 6


def equalizer(frame, **settings):
    return core.burst_equalizer(frame.constellation, frame.SPS, length=LENGTH, most=frame.known.size, **settings)


def around(samples, frame, reach):
    first = frame.SPS * frame.MARGIN
    return samples[first - reach:first + frame.SPS * (frame.known.size - 1) + 1 + reach]


def told_error(samples, frame, labels, seed, reach):
    """Mean squared error of the taps that fit all symbols best, without the carrier."""
    turned = samples * np.exp(-2j * np.pi * frame.offset(seed) / frame.SPS * np.arange(samples.size))
    windows = np.lib.stride_tricks.sliding_window_view(around(turned, frame, reach), 2 * reach + 1)[::frame.SPS]
    sent = unit_points(core.constellation(frame.constellation))[labels]
    taps = np.linalg.lstsq(windows, sent, rcond=None)[0]
    return np.mean(abs(windows @ taps - sent) ** 2)


@pytest.mark.parametrize("first", [0, 122, 244])
@pytest.mark.parametrize("name, es_n0, least", [("qpsk", 15, 35), ("8psk", 20, 34)])
def test_eleven_known_symbols_anywhere_are_enough(name, es_n0, least, first):
    """Of 40 bursts with a second ray of half the amplitude and a carrier of up to 0.03 cycles a symbol, most have at
    most 1.4 times the error of taps that know all symbols and the carrier: an estimate from 255 symbols of 13 taps,
    phase and frequency has 1.12 times of symbols that were not fitted. Labels of those are right but for noise. One
    in 100 is lost: six or seven of 40 are, once in 1e6."""
    known = np.full(255, 255, np.uint8)
    known[first:first + 11] = ELEVEN[122:133]
    frame = Frame(name, known, rays=((0, 1), (1, 0.5)), carrier=0.03)
    tried, good = equalizer(frame), 0
    for seed in range(40):
        samples, labels = frame.receive(es_n0, seed)
        decided, soft, posteriors = tried.equalize(around(samples, frame, tried.reach), frame.known)
        sent = unit_points(core.constellation(name))[labels]
        error = np.mean(abs(soft - sent) ** 2)
        if error > 1.4 * told_error(samples, frame, labels, seed, tried.reach):
            continue
        good += 1
        assert tried.frequency == pytest.approx(frame.offset(seed), abs=5e-4)
        assert np.mean(decided != labels) < 0.02
        assert tried.noise == pytest.approx(error, rel=0.3)
        np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-4)
    assert good >= least


@pytest.mark.parametrize("runs, most", [([(0, 8), (247, 8)], 21), ([(100, 5), (125, 5), (150, 5)], 4),
                                        ([(k, 4) for k in range(0, 255, 16)], 4),
                                        ([(k, 1) for k in range(0, 255, 8)], 4)],
                         ids=["ends", "three", "fours", "singles"])
def test_short_runs_of_known_symbols_are_taken_together(runs, most):
    """Of 200 bursts with a second ray, and a carrier that turns up to five times between the ends, those of which one
    in a hundred symbols is wrong are lost: with another number of turns, seven in ten are. Of known symbols at both
    ends alone 42 of 1400 are, more than 21 of 200 with a probability of 2e-7; of the others none of 400."""
    known = np.full(255, 255, np.uint8)
    for first, count in runs:
        known[first:first + count] = ELEVEN[122:122 + count]
    frame = Frame("qpsk", known, rays=((0, 1), (1, 0.4)), carrier=0.02)
    tried, lost = equalizer(frame), 0
    for seed in range(200):
        samples, labels = frame.receive(13, seed)
        decided = tried.equalize(around(samples, frame, tried.reach), frame.known)[0]
        lost += np.mean(decided != labels) > 0.01
    assert lost <= most


def test_posteriors_are_probabilities():
    """Symbols called p are right in p of the cases, within four deviations and two fifths, at one wrong in fifteen:
    those of a burst are wrong together."""
    frame = Frame("qpsk", ELEVEN, rays=((0, 1), (1, 0.5)))
    tried, called, right = equalizer(frame), [], []
    for seed in range(200):
        samples, labels = frame.receive(7, seed)
        decided, _, posteriors = tried.equalize(around(samples, frame, tried.reach), frame.known)
        if np.mean(decided != labels) > 0.3:
            continue  # lost
        data = frame.known == 255
        called.append(posteriors.max(axis=1)[data])
        right.append((decided == labels)[data])
    called, right = np.concatenate(called), np.concatenate(right)
    assert 0.02 < np.mean(~right) < 0.2
    for low, high in (0.4, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 0.99):
        here = (called > low) & (called <= high)
        wrong, expected = np.sum(~right[here]), np.sum(1 - called[here])
        assert abs(wrong - expected) < 4 * np.sqrt(expected) + 0.4 * expected


def test_a_channel_that_moves_is_followed():
    """Two rays that fade over 2000 symbols, 15 of each 45 known: nine of ten bursts decide better than one set of taps
    that knows all symbols does."""
    frame = Frame("qpsk", np.where(np.arange(2000) % 45 < 15, np.resize(ELEVEN[122:133], 2000), 255).astype(np.uint8),
                  rays=((0, 1), (1, 0.5)), doppler=1e-3)
    tried, better = equalizer(frame), 0
    for seed in range(10):
        samples, labels = frame.receive(25, seed)
        _, soft, _ = tried.equalize(around(samples, frame, tried.reach), frame.known)
        sent = unit_points(core.constellation("qpsk"))[labels]
        better += np.mean(abs(soft - sent) ** 2) < 0.5 * told_error(samples, frame, labels, seed, tried.reach)
        assert tried.memory <= 256
    assert better >= 9


def test_a_slip_beside_the_known_symbols_is_taken_back():
    """Noise of this burst turns the growth by an eighth next to the 16 known symbols; decided without a look at
    them, all others would be wrong."""
    frame = FRAMES["VDL2"]
    samples, labels = frame.receive(15, 4051)
    tried = core.burst_equalizer(frame.constellation, frame.SPS, length=LENGTH, most=frame.known.size)
    decided = tried.equalize(around(samples, frame, tried.reach), frame.known)[0]
    assert np.mean(decided != labels) < 0.03


def test_nothing_is_kept_from_one_burst_to_the_next():
    frame = FRAMES["TETRA"]
    once, again = equalizer(frame), equalizer(frame)
    bursts = [around(frame.receive(14, seed)[0], frame, once.reach) for seed in range(3)]
    for burst in bursts:
        last = [np.array(each) for each in once.equalize(burst, frame.known)]
    for found, expected in zip(again.equalize(bursts[-1], frame.known), last):
        np.testing.assert_array_equal(found, expected)


def test_a_burst_without_a_usable_known_symbol_has_nothing_of_the_one_before():
    frame = FRAMES["TETRA"]
    once, again = equalizer(frame), equalizer(frame)
    before, burst = (around(frame.receive(14, seed)[0], frame, once.reach) for seed in range(2))
    burst[frame.SPS * np.flatnonzero(frame.known < 255) + once.reach] = np.nan
    once.equalize(before, frame.known)
    for found, expected in zip(once.equalize(burst, frame.known), again.equalize(burst, frame.known)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("samples, known, message", [
    (41, 16, "samples' size is 41, allowed: 43"),
    (43, 0, "known's size is 0, allowed: (N,), one label of each symbol, 255 where not known"),
    (43, 16, "burst's symbols' known ones is 0, allowed: 10 or more within 1024 symbols"),
])
def test_sizes_that_do_not_fit_are_named(samples, known, message):
    with pytest.raises(ValueError) as error:
        core.burst_equalizer("qpsk", most=16).equalize(np.zeros(samples), np.full(known, 255, np.uint8))
    assert message in str(error.value)


@pytest.mark.parametrize("apart, taken", [(1024, True), (1025, False)])
def test_known_symbols_far_apart_are_refused(apart, taken):
    known = np.full(1100, 255, np.uint8)
    known[30:35] = known[30 + apart - 5:30 + apart] = 1
    tried = core.burst_equalizer("qpsk", most=known.size)
    samples = np.ones(2 * (known.size - 1) + 1 + 2 * tried.reach, np.complex64)
    if taken:
        tried.equalize(samples, known)
        return
    with pytest.raises(ValueError, match="known ones is 10, allowed: 10 or more within 1024 symbols"):
        tried.equalize(samples, known)
