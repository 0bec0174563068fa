# SPDX-License-Identifier: GPL-3.0-or-later
"""Bit errors: the one place where decided labels are compared with those that were sent.

Errors are counted over blocks of symbols, the unit of every report, and everything else follows
from those counts: rates with their intervals, the mean of the latest blocks, convergence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import find_delay
from ..captures.labels import known

LATEST = 8  # blocks that a running BER is the mean of, as in the paper's figures
CONVERGED = 1e-3  # BER
SEARCH = 16384  # symbols of delay, either way, in which an alignment is looked for
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)

Counts = npt.NDArray[np.int64]
Labels = npt.NDArray[np.uint8]


def rate(wrong: int, bits: int) -> dict:
    """{"ber", "ci95"}: a bit error rate and its exact 95 % interval."""
    return {"ber": wrong / bits, "ci95": list(core.clopper_pearson(wrong, bits))}


@dataclass(frozen=True, eq=False)
class Errors:
    """What was counted in consecutive blocks of one capture.

    symbols: those compared in each block (blocks,); symbol_errors, bit_errors: of them, those that
    were wrong, and their wrong bits; bits_per_symbol: of the constellation; slips: how often the
    delay was another one later on, after which nothing is compared with what was sent.
    """

    symbols: Counts
    symbol_errors: Counts
    bit_errors: Counts
    bits_per_symbol: int
    slips: int = 0

    @property
    def bits(self) -> Counts:
        """Bits compared in each block."""
        return self.symbols * self.bits_per_symbol

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, blocks: slice) -> Errors:
        return Errors(self.symbols[blocks], self.symbol_errors[blocks], self.bit_errors[blocks],
                      self.bits_per_symbol)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Errors) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in vars(self))

    @staticmethod
    def join(parts: Sequence[Errors]) -> Errors:
        """The blocks of several captures, one after the other."""
        return Errors(np.concatenate([part.symbols for part in parts]),
                      np.concatenate([part.symbol_errors for part in parts]),
                      np.concatenate([part.bit_errors for part in parts]),
                      parts[0].bits_per_symbol)

    @property
    def ber(self) -> float:
        """The bit error rate of all blocks together; nan without a block."""
        bits = int(self.bits.sum())
        return int(self.bit_errors.sum()) / bits if bits else math.nan

    def rate(self) -> dict:
        """The same with its interval, see rate()."""
        return rate(int(self.bit_errors.sum()), int(self.bits.sum()))

    def latest(self) -> npt.NDArray[np.float64]:
        """After each block the BER of the latest 8, or of as many as there are."""
        def sums(counts):
            total = np.cumsum(counts, dtype=np.float64)
            total[LATEST:] -= total[:-LATEST].copy()
            return total
        with np.errstate(invalid="ignore"):  # of no bit that is known: nan
            return sums(self.bit_errors) / sums(self.bits)

    def final(self) -> Errors:
        """The last 8 blocks."""
        return self[-LATEST:]

    def convergence(self) -> int | None:
        """The smallest number n of blocks after which the equalizer has converged, or None.

        That is: the BER of blocks n-8 … n-1 is below 1e-3, and so is the BER of all blocks from n
        on together.
        """
        for n in range(LATEST, len(self) + 1):
            if self[n - LATEST:n].ber < CONVERGED and not self[n:].ber >= CONVERGED:
                return n
        return None

    def convergence_so_far(self) -> int | None:
        """The paper's, Section IV-A: the first number of blocks after which both the BER of the
        latest 8 and that of all so far are below 1e-3; None if that never is."""
        so_far = np.cumsum(self.bit_errors) / np.cumsum(self.bits)
        met = np.flatnonzero((self.latest() < CONVERGED) & (so_far < CONVERGED))
        met = met[met >= LATEST - 1]
        return int(met[0]) + 1 if met.size else None


def count(decided: Labels, sent: Labels, bits_per_symbol: int, block: int,
          start: int = 0) -> Errors:
    """Compare label k with label k, (n,) each, where the sent one is known; start: the number of the first one,
    where blocks begin at multiples of `block`."""
    told = known(np.asarray(sent), 1 << bits_per_symbol)
    wrong = np.where(told, np.asarray(decided) ^ np.asarray(sent), 0).astype(np.uint8)
    edges = np.unique(np.r_[0, np.arange(-start % block, wrong.size, block)]).astype(int)
    return Errors(np.add.reduceat(told, edges, dtype=np.int64),
                  np.add.reduceat(wrong != 0, edges, dtype=np.int64),
                  np.add.reduceat(_ONES[wrong], edges, dtype=np.int64), bits_per_symbol)


def permutation(decided: Labels, sent: Labels, constellation: core.constellation) -> list[int]:
    """The labels decided for the sent ones 0 … M-1 if another order of the labels relates the two,
    else []. See core.error_counter."""
    counter = core.error_counter(constellation, search=SEARCH)
    counter.push(decided, sent)
    counter.finish()
    return counter.permutation


def count_aligned(decided: Labels, sent: Labels, constellation: core.constellation,
                  block: int) -> Errors | None:
    """Find how the two lie to each other, delay, inversion or rotation, and count.

    decided (n,), sent (m,): labels. Returns None if no alignment is better than chance, or if the
    labels are permuted.

    core.error_counter finds the alignment. A file does not slip, so that one holds throughout:
    blocks where the equalizer fails count, where the counter would lose its lock and skip them.
    Of labels that are not all known the correlation of the points finds it.
    """
    if not known(sent, constellation.size).all():
        return _count_known(decided, sent, constellation, block)
    counter = core.error_counter(constellation, batch=block, search=SEARCH)
    counter.push(decided, sent)
    counter.finish()
    batches = counter.batches()
    if not batches:
        return None
    delay = batches[0].delay
    undo = np.argsort(constellation.symmetries[batches[0].symmetry]).astype(np.uint8)
    first, last = max(0, delay), min(decided.size, sent.size + delay)
    slips = np.count_nonzero(np.diff([batch.delay for batch in batches]))
    return replace(count(undo[decided[first:last]], sent[first - delay:last - delay],
                         constellation.bits_per_symbol, block, first), slips=int(slips))


def _count_known(decided, sent, constellation, block):
    points = constellation.points
    try:
        delay = find_delay(points[decided], sent, points, 1)
    except ValueError:
        return None
    first, last = max(0, delay), min(decided.size, sent.size + delay)
    counts = [count(np.argsort(symmetry).astype(np.uint8)[decided[first:last]],
                    sent[first - delay:last - delay], constellation.bits_per_symbol, block, first)
              for symmetry in constellation.symmetries]
    best = min(counts, key=lambda errors: errors.symbol_errors.sum())
    chance = best.symbols.sum() * (1 - 1 / constellation.size)
    return best if best.symbol_errors.sum() < 0.5 * chance else None


class RunningErrors:
    """Counts the errors of captures, one after the other, while they are still being decided.

    sizes: symbols of each capture; sent: its reference labels; block: symbols of one block.
    """

    _PORTION = 32768  # labels that the counter takes at once

    def __init__(self, constellation: core.constellation, sizes: Sequence[int],
                 sent: Sequence[Labels], block: int):
        self._new_counter = lambda: core.error_counter(constellation, batch=block,
                                                       search=SEARCH)
        self._edges, self._sent = np.cumsum([0, *sizes]), sent
        self._capture = self._done = 0
        self._counter = self._new_counter()
        self._latest: list = []

    def update(self, labels: Labels) -> float | None:
        """labels: all decided so far, of all captures. Returns the BER of the latest 8 blocks of
        the current capture, None before there are any."""
        while self._done < len(labels):
            if self._done == self._edges[self._capture + 1]:
                self._capture += 1
                self._counter, self._latest = self._new_counter(), []
            start, end = self._edges[self._capture:self._capture + 2]
            until = min(len(labels), end, self._done + self._PORTION)
            self._counter.push(labels[self._done:until],
                               self._sent[self._capture][self._done - start:until - start])
            self._latest = (self._latest + self._counter.batches())[-LATEST:]
            self._done = until
        bits = sum(batch.counts.bits for batch in self._latest)
        return sum(batch.counts.bit_errors for batch in self._latest) / bits if bits else None
