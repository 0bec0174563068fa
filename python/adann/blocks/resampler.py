# SPDX-License-Identifier: GPL-3.0-or-later
"""From a capture's sample rate to a whole number of samples per symbol, normalised."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from gnuradio import blocks, digital, filter, gr

from ..adann_python import normalizer

#: The low-pass is flat below PASSBAND times the lower of the two rates, nothing folds into that
#: band, and at half of the lower rate it is 6 dB down.
PASSBAND = 0.4
_STOPBAND_DB = 80
_LARGEST_RATIO = 256  # of the rates; as numerator or denominator, of the rational resampler
# Of the clock recovery, relative. Wider, its loop walks farther off in noise than it pulls in from at once: a
# loop bandwidth of 0.01 pulls in over some 0.3 %.
_REACH = 0.003
# Amplitude before the clock recovery at most: the normalizer's limit in I and Q, and what filters make of steps.
_OVERLOAD = 2 * 16 * math.sqrt(2)
_ARMS = 64  # of the arbitrary resampler; it interpolates linearly between them


class resampler(gr.hier_block2):
    """Samples at a capture's rate in, `sps` per symbol out, with zero mean and unit power.

    sample_rate, symbol_rate: in the same unit, only their ratio counts; the sample rate is the
        symbol rate at least, and 1/256 to 256 times the output's.
    sps: samples per symbol at the output, 1 to 64.
    complex: whether the samples are complex.
    normalization: "running", by the statistics of the recent past, or "record", by `mean` and
        `rms` of the whole record as `record_statistics` gives them.
    window: samples, 1024 to 2^30: length of the running statistics, see `normalizer`.
    mean, rms: for "record". The low-pass takes noise away, so that for a power of exactly 1 they
        must be those of the resampled record: what comes out with mean 0 and rms 1.
    clock_recovery: follow the sender's clock with `digital.symbol_sync` (Gardner's detector), up to
        0.3 % off symbol_rate.
    loop_bandwidth: of the clock recovery, normalised as in `digital.symbol_sync`, above 0 and
        below 1.
    Raises ValueError for anything else.

    Rates whose ratio sps*symbol_rate/sample_rate is a fraction of numbers up to 256 go through
    `filter.rational_resampler`, others through `filter.pfb_arb_resampler`, which keeps the ratio
    to 1e-7 (single precision), equal ones through none. The signal is kept flat up to 0.4 of the
    lower of the two rates.

    Without clock recovery, output sample 0 is at the time of input sample 0: the filter's delay
    is taken off. The last samples of a stream therefore come only when `tail()` more (zeros, say)
    follow. With clock recovery, samples 0, sps, 2*sps, ... are the middles of symbols once the
    loop has locked; which symbol is the first is open. A sample that is not finite counts as one
    of the signal's mean and disturbs nothing beyond the filter's length.
    """

    def __init__(self, sample_rate: float, symbol_rate: float, sps: int = 4, complex: bool = False,
                 normalization: str = "running", window: int = 65536, mean: complex = 0,
                 rms: float = 1, clock_recovery: bool = False,
                 loop_bandwidth: float = 0.01) -> None:
        _check("sample_rate", sample_rate, 0 < sample_rate < math.inf, "above 0")
        _check("symbol_rate", symbol_rate, 0 < symbol_rate <= sample_rate,
               f"above 0, up to the sample rate, {sample_rate}")
        _check("sps", sps, sps in range(1, 65), "whole numbers from 1 to 64")
        _check("normalization", normalization, normalization in ("running", "record"),
               "'running' or 'record'")
        _check("loop_bandwidth", loop_bandwidth, 0 < loop_bandwidth < 1, "between 0 and 1")
        size = gr.sizeof_gr_complex if complex else gr.sizeof_float
        signature = gr.io_signature(1, 1, size)
        gr.hier_block2.__init__(self, "adann_resampler", signature, signature)

        # Normalised first: neither a filter nor a loop ever sees a NaN, and the loop's gain does
        # not depend on the signal's level.
        running = normalization == "running"
        chain = [normalizer(complex, window) if running else normalizer.fixed(mean, rms, complex)]
        # Gardner's detector halves the symbol; the interpolation wants 4 samples of it or more.
        self._clock = None
        resampled_sps = max(math.lcm(2, sps), 4) if clock_recovery else sps
        ratio = Fraction(resampled_sps) * Fraction(symbol_rate) / Fraction(sample_rate)
        _check("sample_rate", sample_rate, 1 / _LARGEST_RATIO <= ratio <= _LARGEST_RATIO,
               f"1/{_LARGEST_RATIO} to {_LARGEST_RATIO} times sps*symbol_rate")
        resampling, self._tail = _resample(ratio, complex, size)
        chain += resampling
        if clock_recovery:
            synchronizer = digital.symbol_sync_cc if complex else digital.symbol_sync_ff
            self._clock = synchronizer(digital.TED_GARDNER, resampled_sps, loop_bandwidth, 1.0,
                                       1.0, _REACH * resampled_sps, sps)
            self._periods = resampled_sps, sps
            self._clock.set_output_multiple(self._outputs_at_once(self._clock.alpha()))
            chain.append(self._clock)
        if running and len(chain) > 1:
            chain.append(normalizer(complex, window))
        self._chain = chain  # GNU Radio wants a reference to be kept
        self.connect(self, *chain, self)

    def set_loop_bandwidth(self, loop_bandwidth: float) -> None:
        """Of the clock recovery; nothing without it."""
        _check("loop_bandwidth", loop_bandwidth, 0 < loop_bandwidth < 1, "between 0 and 1")
        if self._clock:
            self._clock.set_loop_bandwidth(loop_bandwidth)
            self._clock.set_output_multiple(self._outputs_at_once(self._clock.alpha()))

    def _outputs_at_once(self, gain: float) -> int:
        """Samples that symbol_sync is to put out in one call, at least.

        For these it asks for as much input as its largest mean period needs. A detector's error of up to
        2 x² moves a single symbol further by `gain` times that, x the amplitude: where that lies beyond the
        input at a stream's end, it is called again and again, for ever. (At most 3648: half of a buffer.)
        """
        period, outputs = self._periods
        furthest = period + gain * 2 * _OVERLOAD ** 2
        return outputs * math.ceil(furthest / period)

    def tail(self) -> int:
        """Samples to append to a stream so that all of it comes out (no clock recovery)."""
        return self._tail


def _check(name, value, good, allowed):
    if not good:
        raise ValueError(f"{name} is {value}, allowed: {allowed}")


def _resample(ratio, complex, size):
    """The blocks that change the rate by `ratio`, and the samples that they hold back."""
    if ratio == 1:
        return [], 0
    # The rates come as floats: equal but for their rounding is equal.
    small = ratio.limit_denominator(_LARGEST_RATIO)
    if abs(small / ratio - 1) < 1e-12 and small.numerator <= _LARGEST_RATIO:
        interpolation, decimation = small.numerator, small.denominator
        taps, delay = _low_pass(interpolation, interpolation / decimation)
        block = (filter.rational_resampler_ccf if complex else filter.rational_resampler_fff)(
            interpolation, decimation, taps)
        # GNU Radio 3.10.5 sets it only when running, and then eats the first samples.
        block.set_history(math.ceil(len(taps) / interpolation))
        last = math.ceil(2 * decimation / interpolation)
    else:
        rate = float(ratio)
        taps, delay = _low_pass(_ARMS, rate)
        block = (filter.pfb_arb_resampler_ccf if complex else filter.pfb_arb_resampler_fff)(
            rate, taps, _ARMS)
        block.set_phase(0)
        last = math.ceil(2 * _ARMS / rate)  # it puts out multiples of the arms
    block.declare_sample_delay(round(delay / ratio))  # in input samples, for tags
    return [block, blocks.skiphead(size, delay)], math.ceil(delay / ratio) + last


def _low_pass(arms, ratio):
    """Taps at `arms` times the input rate, and their delay in output samples.

    A Kaiser-windowed sinc. Its centre is put where the delay is a whole number of *output*
    samples, which may lie between two taps; without those samples the delay is 0.
    """
    lower = min(1, ratio) / arms
    transition = (1 - 2 * PASSBAND) * lower
    half_length = (_STOPBAND_DB - 7.95) / (2 * 14.36 * transition)  # Kaiser's formula
    beta = 0.1102 * (_STOPBAND_DB - 8.7)
    delay = math.ceil(half_length * ratio / arms)
    centre = delay * arms / ratio
    t = np.arange(math.floor(centre + half_length) + 1) - centre
    window = np.i0(beta * np.sqrt(np.clip(1 - (t / half_length) ** 2, 0, None))) / np.i0(beta)
    taps = lower * np.sinc(lower * t) * np.where(abs(t) <= half_length, window, 0)
    return (arms * taps / taps.sum()).tolist(), delay
