# SPDX-License-Identifier: GPL-3.0-or-later
"""What in a record is against the way it is about to be trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft

from .. import core
from ..captures.bursts import BLOCK, block_levels, find_threshold
from ..captures.carrier import find_carrier
from ..captures.labels import known
from ..captures.sigmf import Burst
from ..captures.statistics import normalized
from ..captures.timing import find_symbol_rate
from .blind import APART
from .conventional import linear_equalizer
from .guess import COMPLEX, REAL, Candidate, candidates, name_of
from .training import check_kind, feature_view
from .uncertain import Uncertain

_LONGEST = 1 << 17    # symbols that are looked at
_SAME_RATE = 1e-3     # relative: less than a clock may be off
_ROOM = 3.0           # dB that another constellation has more
_KURTOSIS_OFF = 0.25  # relative, from what the constellation would have
_SHORTEST_LAG = 16    # symbols: line codes have patterns of their own
_CLEAR = 8            # standard deviations of how many agree by chance
_FRESH = 0.25         # of the symbols that chance alone would make differ: fewer, and they are idle
_OFTEN = 32           # times that each pattern occurs on average in random data
_NEW = 0.005          # of the rest
_STRETCH = 128        # symbols whose error is looked at together
_LESS = 4             # times the error's median power: such stretches are not of the same signal
_UNDECIDED = 10       # of the squared half distance: more error, and some 10^-3 of the decisions are wrong
_FEW_STRETCHES = 0.02 # of all: an edge or two
_EQUALIZED = 16384    # symbols that linear equalizers are fitted to


def doubts(samples: npt.NDArray, constellation: core.constellation, sps: int,
           half_window: int, bursts: Sequence[Burst] = ()) -> list[str]:
    """A sentence for each thing that is wrong with a blind start, as far as the samples show; [] if nothing.

    samples: float32 or complex64 (n,), believed to have sps samples a symbol of this constellation; bursts: of them, if
    they are known. Raises ValueError for real samples of a complex constellation.
    Looked at: power over time, the symbol rate's line, a carrier's line, classes that do not occur, whether I and Q
    differ in their filters, and whether decisions of a blind linear equalizer have more room in another constellation.
    An inverted spectrum shows in no signal without labels. data_doubts is for the data.
    """
    check_kind(samples, constellation)
    finite = np.isfinite(samples[:_LONGEST * sps])
    if bursts:
        samples = np.concatenate([normalized(samples[burst.first // sps * sps:burst.end // sps * sps])
                                  for burst in bursts])
    samples = normalized(samples[:_LONGEST * sps])
    return [*(() if bursts else _bursts(samples, finite, sps)), *_rate(samples, sps),
            *(_carrier(samples, sps) if np.iscomplexobj(samples) else []),
            *_constellation(samples, constellation, sps, half_window)]


def _bursts(samples, finite, sps):
    """finite: bool (n,), which of the samples were before they became 0."""
    levels = block_levels(samples, sps)
    levels = levels[finite[:levels.size * BLOCK * sps].reshape(levels.size, -1).mean(axis=1) > 0.5]
    threshold = find_threshold(levels)
    if threshold is not None:
        quiet = levels < threshold
        yield (f"the power varies by {np.median(levels[~quiet]) - np.median(levels[quiet]):.0f} dB, "
               f"{100 * np.mean(quiet):.0f} % of the record is quiet: bursts? "
               "adann resample --bursts finds them, so that the pauses are not learnt from")


def _rate(samples, sps):
    try:
        found = 1 / find_symbol_rate(samples)[0]
    except ValueError:
        return
    if abs(found / sps - 1) > _SAME_RATE:
        yield (f"the clearest line of a symbol rate is at {found:.5g} samples a symbol, sps is {sps}: "
               f"adann resample --sps {sps} finds the rate")


def _carrier(samples, sps):
    line = find_carrier(samples[::sps])
    if line and line.turns:
        yield (f"a residual carrier of {line.frequency:.3g} cycles a symbol, or of that plus a multiple of "
               f"1/{line.power} (the {line.ordinal} power of the symbols has a line): adann resample --carrier removes "
               "it")


def _constellation(samples, constellation, sps, half_window):
    features = feature_view(samples, sps, half_window)
    name = name_of(constellation)
    usual = (*REAL, *COMPLEX) if np.iscomplexobj(samples) else REAL
    try:
        tried = candidates(features, np.iscomplexobj(samples), also=() if name in usual else (constellation,))
    except ValueError:
        return  # the training says so itself
    yield from doubts_of(tried, constellation)
    believed = next((each for each in tried if each.name == name), None)
    if believed and constellation.is_complex:
        yield from filtered_apart(features, believed.labels, constellation)


def doubts_of(tried: Sequence[Candidate], constellation: core.constellation) -> Iterator[str]:
    """A sentence for each thing that what guess.candidates() has found that is against a constellation."""
    name, best = name_of(constellation), tried[0]
    believed = next((each for each in tried if each.name == name), None)
    if believed is None:
        yield f"the symbols look like {best.name}, and not like {name}"
        return
    if believed.missing:
        yield (f"{constellation.size - len(believed.missing)} of the {constellation.size} points of "
               f"{name} occur")
    if best.room > believed.room + _ROOM:
        yield (f"decided as {best.name} the symbols have {best.room:.0f} dB of room between the points, as "
               f"{name} {believed.room:.0f} dB: {best.name}?")
    nearest = min(tried, key=kurtosis_off)
    if kurtosis_off(believed) > _KURTOSIS_OFF and 2 * kurtosis_off(nearest) < kurtosis_off(believed):
        yield (f"the excess kurtosis of the symbols is {believed.kurtosis:.2f}, where {name} has "
               f"{believed.expected:.2f}; "
               f"{nearest.name} has {nearest.expected:.2f}: {nearest.name}?")


def filtered_apart(features: npt.NDArray[np.float32], labels: npt.NDArray[np.uint8],
                   constellation: core.constellation) -> Iterator[str]:
    """A sentence if least squares to the labels, uint8 (n,), from complex windows (n, dimension) leave much less with
    taps of their own for I and Q than with complex ones."""
    features, labels = features[:_EQUALIZED], labels[:_EQUALIZED]
    x, sent = np.ascontiguousarray(features).view(np.complex64), constellation.centred[labels]
    linear = x @ np.linalg.lstsq(x, sent, rcond=1e-6)[0]
    left = [np.mean(abs(soft - sent) ** 2)
            for soft in (linear, linear_equalizer(features, labels, len(labels), constellation))]
    less = 10 * np.log10(left[0] / left[1])
    if less > APART:
        yield ("I and Q were filtered separately (a mixer, a skew): with separate taps for each the residual of a "
               f"linear equalizer is {less:.1f} dB smaller. I/Q pairing and signs then need known symbols")


def uneven(errors: npt.NDArray, half_distance: float) -> Iterator[str]:
    """A sentence if parts of a record fit much less than others, and too little to be decided.

    errors: (n,), of the soft symbols in order; half_distance: between two points, in their unit."""
    # The medians: of a burst's edges few symbols are noise.
    power = np.median((abs(errors[:errors.size // _STRETCH * _STRETCH]) ** 2).reshape(-1, _STRETCH), axis=1)
    if not power.size:
        return
    less = np.mean(power > max(_LESS * np.median(power), half_distance**2 / _UNDECIDED))
    if less > _FEW_STRETCHES:
        yield Uncertain(f"{100 * less:.0f} % of the symbols have {_LESS} times the error of the others (pauses, a "
                        "fade, another signal?)", "skip")


def kurtosis_off(candidate: Candidate) -> float:
    """How far the symbols' excess kurtosis is from that of a candidate, relative to that."""
    return abs(candidate.kurtosis / candidate.expected - 1)


def data_doubts(labels: npt.NDArray[np.uint8], part: int, size: int) -> list[str]:
    """A sentence for each thing in the data that makes a network look better than it is, [] if there is none.

    labels: uint8 (n,), sent or decided, of a constellation of `size` points; the first `part` are trained on.
    Looked at: labels that recur at a fixed distance, and patterns in the rest that the part does not hold.
    """
    labels = np.where(known(labels, size), labels, 0)
    return [*_recurs(labels, size), *_unseen(labels, part, size)]


def _recurs(labels, size):
    found = recurrence(labels, size)
    if found:
        yield (f"the symbols recur after {found.lag}: {100 * found.same:.0f} % are the same then, "
               f"{100 * found.chance:.0f} % by chance (headers, idle words?); a network learns by heart what recurs, "
               "and these symbols do not show how it does on other data")


@dataclass
class Recurrence:
    """Of labels that recur after `lag` symbols: the part that is the same then, and would be by chance."""

    lag: int
    same: float
    chance: float

    @property
    def mostly(self) -> bool:
        """Whether they are idle words but for a few: no blind equalizer can be believed then."""
        return 1 - self.same < _FRESH * (1 - self.chance)


def recurrence(labels: npt.NDArray[np.uint8], size: int) -> Recurrence | None:
    """How labels (n,) of a constellation of `size` points recur at a fixed distance; None if they do not."""
    labels = labels[:_LONGEST]
    length = scipy.fft.next_fast_len(2 * labels.size)
    shares = np.bincount(labels, minlength=size) / labels.size
    equal = np.zeros(length)
    for label in np.flatnonzero(shares):
        spectrum = scipy.fft.rfft((labels == label) - shares[label], length)
        equal += scipy.fft.irfft(abs(spectrum) ** 2, length)
    lags = np.arange(_SHORTEST_LAG, labels.size // 4)
    if not lags.size:
        return None
    chance = float(np.sum(shares**2))
    agree = equal[lags] / (labels.size - lags)
    deviations = agree / np.sqrt(max(chance * (1 - chance), 1e-12) / (labels.size - lags))
    best = int(deviations.argmax())
    return Recurrence(int(lags[best]), float(agree[best] + chance), chance) if deviations[best] > _CLEAR else None


def _unseen(labels, part, size):
    length = int(np.log(max(part / _OFTEN, 1)) / np.log(size))
    if length < 2 or labels.size - part < length:
        return
    patterns = np.zeros(labels.size - length + 1, np.int64)
    for place in range(length):
        patterns = patterns * size + labels[place:place + patterns.size]
    seen = np.zeros(size**length, bool)
    seen[patterns[:part - length + 1]] = True
    there = np.unique(patterns[part:])
    new = 1 - seen[patterns[part:]].mean()
    if new > _NEW:
        yield Uncertain(f"{100 * new:.1f} % of what follows the part that is trained on are patterns of {length} "
                        f"symbols that do not occur in it ({seen[there].sum()} of {there.size} do): more symbols to "
                        "train on would hold them", "fraction")
