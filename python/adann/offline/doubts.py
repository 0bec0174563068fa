# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record itself tells against the way it is about to be trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.bursts import block_levels, find_threshold
from ..captures.carrier import find_carrier
from ..captures.sigmf import Burst
from ..captures.statistics import normalized
from ..captures.timing import find_symbol_rate
from .guess import COMPLEX, REAL, candidates, name_of
from .training import feature_view

_LONGEST = 1 << 17    # symbols that are looked at
_SAME_RATE = 1e-3     # relative: less than a clock may be off
_ROOM = 3.0           # dB that another constellation has more


def doubts(samples: npt.NDArray, constellation: core.constellation, sps: int,
           half_window: int, bursts: Sequence[Burst] = ()) -> list[str]:
    """A sentence for each thing that is wrong with a blind start, as far as the samples tell; [] if nothing.

    samples: float32 or complex64 (n,), believed to have sps samples a symbol of this constellation; bursts: of them, if
    they are known.
    Looked at: power over time, the symbol rate's line, a carrier's line, classes that do not occur, and whether the
    decisions of a blind linear equalizer have more room in another constellation. An inverted spectrum shows in no
    signal without labels.
    """
    if bursts:
        samples = np.concatenate([normalized(samples[burst.first // sps * sps:burst.end // sps * sps])
                                  for burst in bursts])
    samples = normalized(samples[:_LONGEST * sps])
    return [*(() if bursts else _bursts(samples, sps)), *_rate(samples, sps),
            *(_carrier(samples, sps) if np.iscomplexobj(samples) else []),
            *_constellation(samples, constellation, sps, half_window)]


def _bursts(samples, sps):
    levels = block_levels(samples, sps)
    threshold = find_threshold(levels)
    if threshold is not None:
        yield (f"the power varies by {np.quantile(levels, 0.9) - np.quantile(levels, 0.1):.0f} dB, "
               f"{100 * np.mean(levels < threshold):.0f} % of the record is quiet: bursts? "
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
