# SPDX-License-Identifier: GPL-3.0-or-later
"""Carrier and clock of an offset constellation, whose Q comes half a symbol later than I."""

from __future__ import annotations

from collections.abc import Sequence

from gnuradio import blocks, gr

from ..adann_python import carrier_recovery
from .resampler import resampler

SPS = 4  # samples a symbol where I and Q are brought together


class Later(gr.hier_block2):
    """I and Q by so many samples later."""

    def __init__(self, i: int, q: int) -> None:
        gr.hier_block2.__init__(self, "adann_later", gr.io_signature(1, 1, gr.sizeof_gr_complex),
                                gr.io_signature(1, 1, gr.sizeof_gr_complex))
        self._parts, self._both = blocks.complex_to_float(), blocks.float_to_complex()
        self._late = [blocks.delay(gr.sizeof_float, samples) for samples in (i, q)]
        self.connect(self, self._parts)
        for port, late in enumerate(self._late):
            self.connect((self._parts, port), late, (self._both, port))
        self.connect(self._both, self)


class OffsetChain:
    """From a source's samples to `sps` a symbol, Q half a symbol after I: the blocks `before` the one that recovers the
    clock, that one, `resampler`, and those `after` it; `carrier`, None without carrier recovery.

    Gardner's detector sees no clock where I and Q change in turn. After the carrier's recovery I is delayed by half
    a symbol, and Q after the clock's. window, clock_recovery, loop_bandwidth: see `resampler`; carrier_bandwidth: see
    `carrier_recovery`, None: without it; matched: filters after it, at SPS samples a symbol.
    Raises ValueError for an odd sps.
    """

    def __init__(self, sample_rate: float, symbol_rate: float, sps: int, window: int = 65536,
                 clock_recovery: bool = True, loop_bandwidth: float = 0.01,
                 carrier_bandwidth: float | None = 0.005, matched: Sequence[gr.basic_block] = ()) -> None:
        if sps % 2:
            raise ValueError(f"sps is {sps}, allowed: even numbers for oqpsk")
        self.carrier = None if carrier_bandwidth is None else carrier_recovery("oqpsk", SPS, carrier_bandwidth)
        self.before = [resampler(sample_rate, symbol_rate, SPS, True, window=window),
                       *([self.carrier] if self.carrier else []), *matched, Later(SPS // 2, 0)]
        self.resampler = resampler(SPS, 1, sps, True, window=window, clock_recovery=clock_recovery,
                                   loop_bandwidth=loop_bandwidth)
        self.after = [Later(0, sps // 2)]
