# SPDX-License-Identifier: GPL-3.0-or-later
"""Bit errors: the one place where decided labels are compared with those that were sent.

Errors are counted over blocks of symbols, the unit of every report, and everything else follows
from those counts: rates with their intervals, the mean of the latest blocks, convergence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import find_delay, points_of
from ..captures.labels import UNKNOWN, known
from ..captures.statistics import portions, release

LATEST = 8  # blocks that a running BER is the mean of, as in the paper's figures
CONVERGED = 1e-3  # BER
_PORTION = 1 << 20  # labels that are compared at once
CORRELATED = 1 << 22  # labels, from the start, that the delay is found from where not all are known
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
        with np.errstate(invalid="ignore"):
            rest = ((self.bit_errors.sum() - np.cumsum(self.bit_errors))
                    / (self.bits.sum() - np.cumsum(self.bits)))
        met = np.flatnonzero((self.latest() < CONVERGED) & ~(rest >= CONVERGED))
        met = met[met >= LATEST - 1]
        return int(met[0]) + 1 if met.size else None

    def convergence_so_far(self) -> int | None:
        """The paper's, Section IV-A: the first number of blocks after which both the BER of the
        latest 8 and that of all so far are below 1e-3; None if that never is."""
        so_far = np.cumsum(self.bit_errors) / np.cumsum(self.bits)
        met = np.flatnonzero((self.latest() < CONVERGED) & (so_far < CONVERGED))
        met = met[met >= LATEST - 1]
        return int(met[0]) + 1 if met.size else None


def count(decided: Labels, sent: Labels, bits_per_symbol: int, block: int, start: int = 0,
          undo: Labels | None = None) -> Errors:
    """Compare label k with label k, (n,) each, where both are known; start: the number of the first one,
    where blocks begin at multiples of `block`; undo: uint8 (256,), what is compared in place of each decided label."""
    step = -(-_PORTION // block) * block
    edges = np.unique([0, *range(min(decided.size, -start % block), decided.size, step), decided.size])
    parts = []
    for first, end in zip(edges[:-1], edges[1:]):
        here = np.asarray(decided[first:end])
        parts.append(_count(here if undo is None else undo[here], np.asarray(sent[first:end]), bits_per_symbol, block,
                            start + int(first)))
        release(decided)
        release(sent)
    none = np.zeros(0, np.int64)
    return Errors.join([Errors(none, none, none, bits_per_symbol), *parts])


def _count(decided, sent, bits_per_symbol, block, start):
    told = known(sent, 1 << bits_per_symbol) & known(decided, 1 << bits_per_symbol)
    wrong = np.where(told, decided ^ sent, 0).astype(np.uint8)
    edges = np.unique(np.r_[0, np.arange(-start % block, wrong.size, block)]).astype(int)
    return Errors(np.add.reduceat(told, edges, dtype=np.int64),
                  np.add.reduceat(wrong != 0, edges, dtype=np.int64),
                  np.add.reduceat(_ONES[wrong], edges, dtype=np.int64), bits_per_symbol)


def permutation(decided: Labels, sent: Labels, constellation: core.constellation) -> list[int]:
    """The labels decided for the sent ones 0 … M-1 if another order of the labels relates the two,
    else []. See core.error_counter."""
    counter = core.error_counter(constellation, search=SEARCH)
    for _ in _batches(counter, decided, sent):
        pass
    return counter.permutation


def _batches(counter, decided, sent):
    """What a counter counts of both, as it comes: of a long record they are many."""
    for first in range(0, max(decided.size, sent.size), _PORTION):
        counter.push(decided[first:first + _PORTION], sent[first:first + _PORTION])
        release(decided)
        release(sent)
        yield from counter.batches()
    counter.finish()
    yield from counter.batches()


@dataclass(frozen=True)
class Alignment:
    """How decided labels lie to those sent: `delay` symbols later, rotated by that of the constellation's symmetries;
    slips: how often the delay was another one later on."""

    delay: int
    symmetry: int
    slips: int = 0

    def angle(self, constellation: core.constellation) -> float:
        """By how many degrees the decided labels are rotated, 0 to below 360."""
        points = constellation.centred
        turned = points[np.asarray(constellation.symmetries[self.symmetry])]
        return round(float(np.angle(np.vdot(points, turned), deg=True)), 3) % 360


def align(decided: Labels, sent: Labels, constellation: core.constellation, block: int) -> Alignment | None:
    """Find how the two lie to each other, delay, inversion or rotation; None if nothing is better than chance, or if
    the labels are permuted.

    decided (n,), sent (m,): labels. core.error_counter finds it; of labels that are not all known the correlation
    of the points does.
    """
    if not all_known(constellation.size, decided, sent):
        return _align_known(decided, sent, constellation, block)
    found, slips, latest = None, 0, 0
    for batch in _batches(core.error_counter(constellation, batch=block, search=SEARCH), decided, sent):
        found = found or batch
        slips += found is not batch and batch.delay != latest
        latest = batch.delay
    return Alignment(found.delay, found.symmetry, slips) if found else None


def _align_known(decided, sent, constellation, block):
    try:
        delay = find_delay(points_of(decided[:CORRELATED], constellation.centred), sent[:CORRELATED],
                           constellation.centred, 1)
    except ValueError:
        return None
    tried = [Alignment(delay, symmetry) for symmetry in range(len(constellation.symmetries))]
    counts = [count_at(decided, sent, alignment, constellation, block) for alignment in tried]
    errors, best = min(((int(each.symbol_errors.sum()), alignment) for each, alignment in zip(counts, tried)),
                       key=lambda pair: pair[0])
    chance = counts[0].symbols.sum() * (1 - 1 / constellation.size)
    return best if errors < 0.5 * chance else None


def all_known(size: int, *labels: Labels) -> bool:
    """Whether each of the labels (n,) of a constellation of `size` points is known."""
    return all(known(part, size).all() for each in labels for part in portions(each))


def count_at(decided: Labels, sent: Labels, alignment: Alignment, constellation: core.constellation, block: int,
             span: tuple[int, int] | None = None) -> Errors:
    """Errors in blocks of all decided labels, or in one block of those from span[0] to before span[1]; arguments as
    for align."""
    first, last = max(0, alignment.delay), min(decided.size, sent.size + alignment.delay)
    if span:
        first, last = max(first, span[0]), max(first, min(last, span[1]))
        block, start = max(1, last - first), 0
    else:
        start = first
    undo = np.arange(256, dtype=np.uint8)
    undo[:constellation.size] = np.argsort(constellation.symmetries[alignment.symmetry])
    errors = count(decided[first:last], sent[first - alignment.delay:last - alignment.delay],
                   constellation.bits_per_symbol, block, start, undo)
    return replace(errors, slips=alignment.slips)


def aligned_reference(decided: Labels, sent: Labels | None, constellation: core.constellation,
                      block: int, part: slice) -> Labels | None:
    """The label sent of each decided one of a part, UNKNOWN where none is known, rotated as the decisions are; None
    where there is no reference or align finds nothing."""
    alignment = None if sent is None or not len(decided) else align(decided, sent, constellation, block)
    if sent is None or alignment is None:
        return None
    rotated = np.full(256, UNKNOWN, np.uint8)
    rotated[:constellation.size] = constellation.symmetries[alignment.symmetry]
    start, stop, _ = part.indices(decided.size)
    aligned = np.full(max(0, stop - start), UNKNOWN, np.uint8)
    first, last = max(start, alignment.delay), min(stop, sent.size + alignment.delay)
    if first < last:
        aligned[first - start:last - start] = rotated[np.asarray(
            sent[first - alignment.delay:last - alignment.delay])]
    return aligned


def count_aligned(decided: Labels, sent: Labels, constellation: core.constellation,
                  block: int) -> Errors | None:
    """Errors of decided labels, None where align finds nothing.

    A file does not slip, so that one alignment holds throughout: blocks where the equalizer fails count, where
    core.error_counter would lose its lock and skip them.
    """
    alignment = align(decided, sent, constellation, block)
    return count_at(decided, sent, alignment, constellation, block) if alignment else None


class Counter(Protocol):
    """Takes what is decided, as it comes."""

    def take(self, labels: Labels, posteriors: npt.NDArray[np.float32]) -> None:
        """The next labels (n,) and their posteriors (n, M)."""


class RunningErrors:
    """Counts the errors of captures, one after the other, while they are still being decided.

    sizes: symbols of each capture; sent: its reference labels; block: symbols of one block.
    """

    _PORTION = 32768  # labels that the counter takes at once

    def __init__(self, constellation: core.constellation, sizes: Sequence[int],
                 sent: Sequence[Labels], block: int):
        self._new_counter = lambda: core.error_counter(constellation, batch=block, search=SEARCH, posteriors=True)
        self._edges, self._sent = np.cumsum([0, *sizes]), sent
        self._capture = self._done = 0
        self._counter = self._new_counter()
        self._latest: list = []  # never changed, but for another
        self._totals: list = []  # of the captures before

    def latest_ber(self) -> float | None:
        """Of the latest 8 blocks of the current capture, None before there are any. Any thread may ask."""
        latest = self._latest
        bits = sum(batch.counts.bits for batch in latest)
        return sum(batch.counts.bit_errors for batch in latest) / bits if bits else None

    def take(self, labels: Labels, posteriors: npt.NDArray[np.float32]) -> None:
        """The next decided ones (n,) and their posteriors (n, M); those beyond the last capture are left out."""
        first, end = self._done, min(self._done + len(labels), int(self._edges[-1]))
        while self._done < end:
            if self._done == self._edges[self._capture + 1]:
                self._totals.append(self._finished())
                self._capture += 1
                self._counter, self._latest = self._new_counter(), []
            start = self._edges[self._capture]
            until = min(end, self._edges[self._capture + 1], self._done + self._PORTION)
            here = slice(self._done - first, until - first)
            self._counter.push(labels[here], self._sent[self._capture][self._done - start:until - start],
                               posteriors[here])
            self._latest = (self._latest + self._counter.batches())[-LATEST:]
            self._done = until

    def gmis(self) -> list[float | None]:
        """Of each capture, bits a symbol, over the symbols in which the counter was locked; None where there is no
        such. Ends the counting."""
        totals = [*self._totals, self._finished()]
        totals += [None] * (self._edges.size - 1 - len(totals))
        return [counts.gmi if counts and counts.symbols else None for counts in totals]

    def _finished(self):
        self._counter.finish()
        return self._counter.totals
