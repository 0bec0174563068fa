# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record itself tells against the way it is about to be trained on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.carrier import find_carrier
from ..captures.statistics import normalized
from ..captures.timing import find_symbol_rate
from .guess import COMPLEX, REAL, candidates, name_of
from .training import feature_view

_LONGEST = 1 << 17    # symbols that are looked at
_SAME_RATE = 1e-3     # relative: less than a clock may be off
_ROOM = 3.0           # dB that another constellation has more
_BLOCK = 64           # symbols that the power is the mean of
_VARIES = 8.0         # dB between the tenth and the ninetieth percentile of such blocks


def doubts(samples: npt.NDArray, constellation: core.constellation, sps: int,
           half_window: int) -> list[str]:
    """A sentence for each thing that is wrong with a blind start, as far as the samples tell; [] if nothing.

    samples: float32 or complex64 (n,), believed to have sps samples a symbol of this constellation.
    Looked at: power over time, the symbol rate's line, a carrier's line, classes that do not occur, and whether the
    decisions of a blind linear equalizer have more room in another constellation. An inverted spectrum shows in no
    signal without labels.
    """
    samples = normalized(samples[:_LONGEST * sps])
    return [*_bursts(samples, sps), *_rate(samples, sps),
            *(_carrier(samples, sps) if np.iscomplexobj(samples) else []),
            *_constellation(samples, constellation, sps, half_window)]


def _bursts(samples, sps):
    blocks = samples.size // (_BLOCK * sps)
    power = (abs(samples[:blocks * _BLOCK * sps]) ** 2).reshape(blocks, -1).mean(axis=1)
    low, high = np.maximum(np.quantile(power, (0.1, 0.9)), 1e-12) if blocks else (1, 1)
    varies = 10 * np.log10(high / low)
    if varies > _VARIES:
        quiet = np.mean(power < np.sqrt(low * high))
        yield (f"the power varies by {varies:.0f} dB, {100 * quiet:.0f} % of the record is quiet: bursts? "
               "cut them out, a network for continuous signals learns the pauses too")


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
        yield (f"the {line.power}th power of the symbols has a line at {line.frequency * line.power:.3g} cycles a "
               "symbol: a carrier is left, which adann resample --carrier takes out")


def _constellation(samples, constellation, sps, half_window):
    features = feature_view(samples, sps, half_window)
    name = name_of(constellation)
    usual = (*REAL, *COMPLEX) if np.iscomplexobj(samples) else REAL
    try:
        tried = candidates(features, np.iscomplexobj(samples), also=() if name in usual else (constellation,))
    except ValueError:
        return  # the training says so itself
    believed = next((each for each in tried if each.name == name), None)
    best = tried[0]
    if believed is None:
        yield f"the symbols look like {best.name}, and not like {name}"
        return
    if believed.missing:
        yield (f"{constellation.size - len(believed.missing)} of the {constellation.size} points of "
               f"{name} occur")
    if best.room > believed.room + _ROOM:
        yield (f"decided as {best.name} the symbols have {best.room:.0f} dB of room between the points, as "
               f"{name} {believed.room:.0f} dB: {best.name}?")
