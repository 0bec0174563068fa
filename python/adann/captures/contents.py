# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether numbers are of the type that a file's name or metadata says, by their bytes, exponents and correlations.

Sentences are without the file's name.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

_LOOKED_AT = 1 << 16  # numbers, from the start and from the middle
#: What samples are between, in any unit, but for 0 and residues of rounding. Of other numbers read as floats, whose
#: exponents are anything, a third lies beyond, and more of whole numbers: below and above, where residues never are.
_USUAL, _UNUSUAL, _EITHER_SIDE = (1e-15, 1e15), 0.2, 0.02
_FEW = 64  # numbers, of which chance shows nothing
#: Each byte of eight by its upper four bits: "e", even, as those that noise fills; "u", uneven, as the upper ones of
#: signals below full scale; ".", either. By size in bytes and order.
_PATTERNS = {(2, "<"): "eueueueu", (2, ">"): "ueueueue", (4, "<"): "ee.uee.u", (4, ">"): "u.eeu.ee",
             (8, "<"): "eeeeee.u", (8, ">"): "u.eeeeee"}
#: Total variation distance to even bytes: a sine at full scale has 0.2, chance 1.6 / sqrt(rows).
_EVEN, _UNEVEN, _FEW_ROWS = 0.05, 0.2, 512
_ALIKE = 0.25  # total variation distance of I and Q of one signal
#: Pairs of bytes for each value of one byte: 1 or 2 of samples that have been scaled up from 8 bits.
_SCALED = 4
_KINDS = {1: ("i8", "u8"), 2: ("i16", "u16"), 4: ("f32", "i32"), 8: ("f64",)}
_LAGS, _BLOCKS, _FEW_PAIRS = 8, 8, 64  # _BLOCKS: of each part looked at
_AGREE = 0.9  # of the blocks
#: Asymmetry of the correlation about half a sample, relative to that about 0, of samples in turn; the least
#: correlation of neighbours. Of 2700 captures of I and Q, of all but one the median of the blocks was above 0.1.
_IN_TURN, _NEIGHBOURS = 0.05, 0.2
#: Symmetry of the correlation about 0, relative to the autocorrelation, of I and Q in turn; the least autocorrelation.
#: Of 2700 real records the smallest median was 0.6.
_PROPER, _OVERSAMPLED = 0.2, 0.3


def looked_at(path: Path, component: np.dtype, offset: int, count: int) -> list[npt.NDArray]:
    """Of `count` numbers from byte `offset` on those at the start and in the middle, both from a multiple of 8 on."""
    middle = count // 16 * 8
    return [np.fromfile(path, component, min(_LOOKED_AT, end - first), offset=offset + component.itemsize * first)
            for first, end in ((0, middle), (middle, count))]


def other_type(parts: list[npt.NDArray], is_complex: bool) -> str:
    """What is wrong if the numbers are of another size, order of bytes or kind; "" where nothing shows it."""
    size, kind, order = parts[0].dtype.itemsize, parts[0].dtype.kind, parts[0].dtype.str[0]
    if kind == "f" and (unusual := _unusual(np.concatenate(parts))):
        return (f"{100 * unusual:.0f} % of its numbers are beyond 1e-15 to 1e15, as of another type, allowed: "
                f"{'big' if order == '>' else 'little'}-endian float{8 * size}; adann import --type f64, i16, f32be or "
                "the like, with c before it for I and Q in turn, reads others")
    found = _of_bytes(np.concatenate([part[:part.size // 8 * 8].view(np.uint8) for part in parts]).reshape(-1, 8))
    if not found or found == (size, order):
        return ""
    big = "be" if found[1] == ">" else ""
    kinds = " or ".join(f"{'c' * is_complex}{kind}{big}" for kind in _KINDS[found[0]])
    return (f"its bytes are as of {_named(*found)}, allowed: {_named(size, order)}; adann import --type {kinds} reads "
            "those")


def other_layout(parts: list[npt.NDArray], is_complex: bool) -> str:
    """What is to be noted if I and Q are correlated as real samples in turn, or real samples as I and Q; else ""."""
    agree = []
    for part in parts:
        size = part.size // 2 // _BLOCKS
        if size >= _FEW_PAIRS:
            agree += [_has_other_layout(pairs, is_complex)
                      for pairs in part[:2 * size * _BLOCKS].astype(np.float64).reshape(_BLOCKS, size, 2)]
    known = [each for each in agree if each is not None]
    if len(known) < _BLOCKS or sum(known) < _AGREE * len(known):
        return ""
    kind = f"{parts[0].dtype.kind}{8 * parts[0].dtype.itemsize}{'be' if parts[0].dtype.str[0] == '>' else ''}"
    if is_complex:
        return (f"its I and Q are correlated as successive samples of a real signal; if they are, adann import --type "
                f"{kind} reads them")
    return f"its samples are correlated as I and Q in turn; if they are, adann import --type c{kind} reads them"


def _unusual(values):
    """The share of numbers that are unusual for samples; 0 where it is no more than residues of rounding may be."""
    values = abs(values[values != 0])
    if values.size < _FEW:
        return 0
    below, above = np.mean(values < _USUAL[0]), 1 - np.mean(values <= _USUAL[1])  # not finite is above
    return below + above if min(below, above) > _EITHER_SIDE and below + above > _UNUSUAL else 0


def _of_bytes(rows):
    """Size and order of the numbers that bytes (n, 8) are like; None where they are like none."""
    if not _are_pairs(rows):
        return None
    marks = _marks(rows)
    for found, pattern in _PATTERNS.items():
        if all(wanted in (".", mark) for wanted, mark in zip(pattern, marks)):
            return found
    # Without the upper bytes of small numbers of 16 bits, both bytes of pairs are uneven, and alike.
    rows = rows[((rows > 0) & (rows < 255)).all(axis=1)]
    if not _are_pairs(rows) or _marks(rows) != "uuuuuuuu":
        return None
    shares = [np.bincount(rows[:, first::2].ravel(), minlength=256) / (4 * len(rows)) for first in (0, 1)]
    return (1, "|") if _distance(*shares) < _ALIKE else None


def _are_pairs(rows):
    """Whether there are enough rows, and values of pairs of bytes many more than values of bytes."""
    if len(rows) < _FEW_ROWS:
        return False
    values = max(np.count_nonzero(np.bincount(rows[:, first::2].ravel())) for first in (0, 1))
    return np.unique(np.ascontiguousarray(rows).view("<u2")).size > _SCALED * values


def _distance(shares, others):
    return abs(shares - others).sum() / 2


def _marks(rows):
    """The marks of _PATTERNS of bytes (n, 8); "?": none, as of numbers whose lowest bits are not used."""
    marks = ""
    for column in rows.T:
        distance = _distance(np.bincount(column >> 4, minlength=16) / column.size, 1 / 16)
        is_used = 0 < np.count_nonzero(column & 1) < column.size
        marks += "e" if is_used and distance < _EVEN else "u" if is_used and distance > _UNEVEN else "?"
    return marks


def _named(size, order):
    return f"{8 * size}-bit {'' if size == 1 else 'big-endian ' if order == '>' else 'little-endian '}numbers"


def _has_other_layout(pairs, is_complex):
    """Whether pairs (n, 2) are what `is_complex` does not say; None of silence and of what is not finite."""
    first, second = (pairs - pairs.mean(axis=0)).T
    size, power = len(pairs), (first @ first + second @ second) / 2
    if not 0 < power < np.inf:
        return None
    cross = {lag: first[max(lag, 0):size + min(lag, 0)] @ second[max(-lag, 0):size - max(lag, 0)] / power
             for lag in range(-_LAGS, _LAGS + 2)}
    auto = np.array([[each[lag:] @ each[:size - lag] / power for lag in range(_LAGS + 1)] for each in (first, second)])
    about_0 = sum((cross[lag] + cross[-lag]) ** 2 for lag in range(_LAGS + 1))
    if is_complex:
        # Real samples x: I_k is x_2k and Q_k is x_2k+1, so that lags m and 1-m are as far from one another.
        about_half = sum((cross[lag] - cross[1 - lag]) ** 2 for lag in range(1, _LAGS + 2))
        otherwise = min(about_0, sum((cross[lag] - cross[-lag]) ** 2 for lag in range(1, _LAGS + 1)))
        differs = about_half + np.square(auto[0] - auto[1]).sum()
        return abs(cross[0]) > _NEIGHBOURS and differs < _IN_TURN * otherwise
    # Of a proper signal, E[x_k x_k+m] = 0, the correlation of I and Q is odd.
    mean = auto.mean(axis=0)[1:]
    return mean[0] > _OVERSAMPLED and about_0 < _PROPER * np.square(mean).sum()
