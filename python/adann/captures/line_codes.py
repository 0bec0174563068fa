# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that prove their own symbols: 8b/10b, sync words."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from itertools import product

import numpy as np
import numpy.typing as npt

CODE = 10  # bits of an 8b/10b code group
# Widmer and Franaszek, "A DC-balanced, partitioned-block, 8B/10B transmission code", IBM J. Res.
# Dev., 1983: sub-blocks abcdei of D.0 to D.31, and of K.28, and fghj of .0 to .7, at negative
# running disparity; at positive disparity those with a disparity of their own are inverted, and
# two that have none, which would else run too long.
_SIX = ("100111 011101 101101 110001 110101 101001 011001 111000 111001 100101 010101 110100 001101 "
        "101100 011100 010111 011011 100011 010011 110010 001011 101010 011010 111010 110011 100110 "
        "010110 110110 001110 101110 011110 101011").split()
_FOUR = "1011 1001 0101 1100 1101 1010 0110 1110".split()
_ALTERNATE = "0111"  # fghj of .7 where 1110 would make a run of five
_COMMA = "001111"
_COMMA_FOUR = "0100 1001 0101 0011 0010 1010 0110 1000".split()  # after K.28 at negative disparity
_CONTROL_SEVEN = (23, 27, 29, 30)  # K.x.7 besides K.28


def check_8b10b(bits: npt.ArrayLike) -> tuple[int, npt.NDArray[np.bool_]]:
    """Which bits of a record 8b/10b proves.

    bits: uint8 or bool (n,), in the order on the line, of either polarity. Returns (first, valid):
    the first bit of the first whole code group at the alignment that most groups fit, and bool
    (groups,): whether a group is one of the code's at the running disparity of those before it.
    After one that is not, disparity starts again from the next group that has only one sign.
    """
    bits = np.asarray(bits, np.uint8)
    known = _words()
    alignments = []
    for first in range(CODE):
        count = (bits.size - first) // CODE
        words = bits[first:first + CODE * count].reshape(-1, CODE) @ (1 << np.arange(CODE)[::-1])
        alignments.append((first, words, known[:, words].any(axis=0).sum()))
    first, words, _ = max(alignments, key=lambda alignment: alignment[2])
    valid = np.zeros(words.size, bool)
    disparity = None  # 0 negative, 1 positive
    for i, word in enumerate(words):
        signs = [sign for sign in (0, 1) if known[sign, word]]
        valid[i] = disparity in signs if disparity is not None else bool(signs)
        if not valid[i]:
            disparity = signs[0] if len(signs) == 1 else None
        elif disparity is None:
            disparity = signs[0] if len(signs) == 1 else None
        if disparity is not None and bin(word).count("1") != CODE // 2:
            disparity = 1 - disparity
    return first, valid


@functools.cache
def _words():
    """bool (2, 1024): the code groups at negative and at positive running disparity."""
    known = np.zeros((2, 1 << CODE), bool)

    def flipped(block):
        return block.translate(str.maketrans("01", "10"))

    def turns(block):
        return 2 * block.count("1") != len(block)

    def at(block, disparity):
        keeps = not turns(block) and block not in ("111000", "1100")
        return block if not disparity or keeps else flipped(block)

    for disparity, (x, six), y in product((0, 1), enumerate(_SIX), range(8)):
        first = at(six, disparity)
        between = disparity ^ turns(six)
        if y < 7:
            fours = [at(_FOUR[y], between)]
        else:  # after two equal bits of the disparity's sign the alternate one, control too
            alternate = x in ((17, 18, 20) if not between else (11, 13, 14))
            fours = [at(_ALTERNATE if alternate else _FOUR[7], between)]
            if x in _CONTROL_SEVEN:
                fours.append(at(_ALTERNATE, between))
        for four in fours:
            known[disparity, int(first + four, 2)] = True
    for disparity, four in product((0, 1), _COMMA_FOUR):
        word = _COMMA + four
        known[disparity, int(flipped(word) if disparity else word, 2)] = True
    return known


def find_words(samples: npt.NDArray, words: Mapping[str, npt.ArrayLike], sps: int,
               least: float = 0.93) -> list[tuple[int, str]]:
    """Where known symbols occur in a record, by the correlation with the samples around them.

    samples: float (n,), sps a symbol; words: {name: levels of its symbols, float (m,)}, as few as
    16 symbols; least: correlation coefficient, without the mean, that counts. Returns [(sample of
    its first symbol's middle, name)] in order, the best one of neighbours within a symbol.
    """
    found = []
    for name, levels in words.items():
        levels = np.asarray(levels, float)
        centred = (levels - levels.mean()) / np.linalg.norm(levels - levels.mean())
        reach = sps * (levels.size - 1) + 1
        windows = np.lib.stride_tricks.sliding_window_view(samples, reach)[:, ::sps]
        spread = windows.std(axis=1) * np.sqrt(levels.size)
        likeness = np.divide(windows @ centred, spread, where=spread > 1e-6 * abs(samples).max(),
                             out=np.zeros(spread.size))
        for i in np.flatnonzero(likeness > least):
            near = likeness[max(0, i - sps):i + sps + 1]
            if likeness[i] == near.max():
                found.append((int(i), name))
    return sorted(found)
