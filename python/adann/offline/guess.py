# SPDX-License-Identifier: GPL-3.0-or-later
"""Which constellation a record has, if that is not given: the one whose decisions have the most room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from .blind import blind_labels
from .conventional import linear_equalizer

REAL = "pam2", "pam4", "pam8"
COMPLEX = "qpsk", "gr:8psk", "16qam", "64qam"
_ON_A_LINE = 0.5  # |mean of x^2| over the mean of |x|^2, 1 of points on a line and 0 of round ones
_MEASURED = 16384  # symbols whose kurtosis is taken
_RARE = 0.2  # of an even share: a class that is decided less often does not occur


@dataclass
class Candidate:
    """name: of the constellation. ratio: the modulation error ratio of a blind linear equalizer's
    decisions, dB. room: half of the distance between the points over the error that is left, dB.
    missing: labels that are hardly ever decided. kurtosis: excess, of that equalizer's soft symbols; expected: what it
    would be of points that are equally often, in the noise of the candidate with the most room. labels: uint8 (n,)."""

    name: str
    ratio: float
    room: float
    missing: list[int]
    kurtosis: float
    expected: float
    labels: npt.NDArray[np.uint8]


def excess_kurtosis(values: npt.NDArray) -> float:
    """E|x|^4 / (E|x|^2)^2 over that of Gaussian noise, of real or of complex values (n,)."""
    power = abs(values) ** 2
    return float(np.mean(power**2) / np.mean(power) ** 2) - (2 if np.iscomplexobj(values) else 3)


def name_of(constellation: core.constellation) -> str:
    """Its name as core.constellation takes it, GNU Radio's own (gr:8psk) among them; of other points what they are."""
    for name in (*REAL, *COMPLEX, *core.constellation.names(), *core.constellation.in_tree()):
        other = core.constellation(name)
        alike = other.size == constellation.size and other.is_offset == constellation.is_offset
        if alike and np.allclose(other.centred, constellation.centred):
            return name
    return constellation.name


def candidates(features: npt.NDArray[np.float32], is_complex: bool,
               also: tuple[core.constellation, ...] = ()) -> list[Candidate]:
    """Those that a blind equalizer finds in a record, the one with the most room first.

    features: float32 (n, dimension), as training.feature_view gives them; is_complex: whether the
    samples are; also: constellations that are tried besides those usual for such samples.
    Raises ValueError where none is found.
    """
    on_a_line = not is_complex
    if is_complex:
        # A real tap for each of I and Q would find PAM in one of them of any square constellation.
        middle = features[:, features.shape[1] // 4 * 2:][:, :2].astype(np.float64) @ (1, 1j)
        on_a_line = abs(np.mean(middle**2)) > _ON_A_LINE * np.mean(abs(middle) ** 2)
    found, refused = [], ""
    for constellation in *map(core.constellation, REAL if on_a_line else COMPLEX), *also:
        try:
            labels, ratio = blind_labels(features, constellation, is_complex)
        except ValueError as error:
            refused = str(error)
            continue
        points = constellation.centred / np.sqrt(np.mean(abs(constellation.centred) ** 2))
        apart = abs(points[:, None] - points)[~np.eye(points.size, dtype=bool)].min()
        shares = np.bincount(labels, minlength=points.size) / labels.size
        part = features[:_MEASURED]
        soft = linear_equalizer(part, labels[:_MEASURED], len(part), constellation)
        used = points if constellation.is_complex else points.real
        found.append(Candidate(name_of(constellation), float(ratio), float(ratio + 20 * np.log10(apart / 2)),
                               np.flatnonzero(shares < _RARE / points.size).tolist(), excess_kurtosis(soft),
                               excess_kurtosis(used), labels))
    if not found:
        raise ValueError(f"none of the usual constellations is found; of the last: {refused}")
    found.sort(key=lambda candidate: -candidate.room)
    for candidate in found:
        candidate.expected /= (1 + 10 ** (-found[0].ratio / 10)) ** 2
    return found
