# SPDX-License-Identifier: GPL-3.0-or-later
"""A record at any rate to one whose sample i*sps is the middle of symbol i."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.fft
from gnuradio import gr

from ..blocks.flowgraphs import run_flowgraph
from ..blocks.offset import OffsetChain
from ..blocks.resampler import resampler
from ..captures.baseband import find_band, to_baseband
from ..captures.bursts import Gated, find_bursts
from ..captures.carrier import find_carrier, moving_phase, steady_phase
from ..captures.sigmf import Burst
from ..captures.statistics import Normalized, portions, release
from ..captures.timing import CLEAR, NoClockError, SymbolRateError, find_clock, find_phase, find_symbol_rate
from .arrays import array_sink, array_source
from .uncertain import Uncertain

_LEAST = 4            # samples a symbol at which the clock is looked for
_DRIFTS = 0.02        # symbols over the whole record: an offset of the clock that is taken out
_WANDERS = 0.05       # symbols rms: more, and the clock has to be followed
_SAME = 1e-9          # relative: rates that are equal but for their rounding
_SHIFTED = 1 << 17    # samples whose middles are found at once
_MARGIN = 4096        # around them
_TOLD = 128           # symbols whose mean frequency is reported
_FARTHEST = 5e-3      # relative: an offset of the symbol rate that is corrected
_UNLOCKED = 8192      # symbols that carrier and clock of an offset constellation are recovered in
_NO_CLOCK = "no symbol clock stands out: the samples are taken as they are"


@dataclass
class Resampled:
    """samples: float32 or complex64 (n,), zero mean, unit power, of bursts each by itself, 0 between them; of a
    record that is not held in memory statistics.Normalized.
    symbol_rate: as it was found, in the unit of the rates given. said: sentences on what was done. bursts: [] where
    the record is continuous, or they were not asked for."""

    samples: npt.NDArray
    symbol_rate: float
    said: list[str] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)


def without_carrier(samples: npt.NDArray, sample_rate: float,
                    scratch: Path | None = None) -> tuple[npt.NDArray, list[str]]:
    """A record of a modulated carrier at complex baseband, in a file in the folder `scratch` or, None, in memory,
    any other as it is; and what was done."""
    scaled: Any = Normalized(samples)
    band = find_band(scaled)
    if band is None:
        return samples, []
    return to_baseband(scaled, band, _room(scratch, "baseband", samples.size, np.complex64)), [
        *_lost(samples),
        f"a carrier: {'complex' if np.iscomplexobj(samples) else 'real'} samples around "
        f"{band.carrier * sample_rate:.6g}, brought to complex baseband"]


def _lost(samples):
    lost = sum(np.count_nonzero(~np.isfinite(part)) for part in portions(samples))
    return [f"{lost} of {samples.size} samples are not finite: taken as 0"] if lost else []


def find_rate(samples: npt.NDArray, sample_rate: float) -> tuple[float, str, Uncertain | None]:
    """The symbol rate in the unit of the sample rate (1: not known), a sentence, and one on what is doubtful about it,
    if anything is. Raises SymbolRateError where no rate stands out."""
    found, clearness = find_symbol_rate(samples)
    told = f"{found * sample_rate:.9g} a second, " if sample_rate != 1 else ""
    line = f"{1 / found:.6g} samples a symbol (line {clearness:.0f} times what is around it)"
    return found * sample_rate, f"symbol rate found: {told}{line}", (
        None if clearness > CLEAR else Uncertain(f"the symbol rate, {told}{line}", "symbol_rate"))


def resample(samples: npt.NDArray, sample_rate: float, symbol_rate: float, sps: int = 4,
             clock_recovery: bool = False, carrier: bool = False, bursts: bool = False,
             threshold: float | None = None, scratch: Path | None = None) -> Resampled:
    """Bring a record to sps samples a symbol, middles first.

    samples: float32 or complex64 (n,); sample_rate, symbol_rate: in the same unit; a symbol rate
    that is up to 0.5 % off is corrected. sps: 1 to 64. clock_recovery: follow a clock that wanders, by
    digital.symbol_sync, whose first some hundred symbols may be wrong. carrier: take out the offset
    that rotates the constellation of complex samples, and follow one that moves. bursts: look for them, and give each
    the middles of its symbols, its carrier and its power; threshold: as of bursts.find_bursts.
    scratch: a folder that holds what comes of it while it is made, and holds the result, so that memory does not grow
    with the record; None: all is in memory.
    Raises SymbolRateError for a symbol rate above the sample rate, and where no symbol clock stands out or it is more
    than 0.5 % off, ValueError for rates out of resampler's range.
    """
    _check_rates(sample_rate, symbol_rate)
    inner = sps if clock_recovery else sps * -(-_LEAST // sps)
    done = _run(samples, sample_rate, symbol_rate, inner, clock_recovery, scratch)
    found, said = symbol_rate, _lost(samples)
    there: list[Burst] = []
    if bursts:
        there, over = find_bursts(done, inner, threshold)
        said.append(_bursts_said(there, over, done.size))
    if clock_recovery:
        nominal = symbol_rate * samples.size / sample_rate
        found = symbol_rate * (done.size / sps) / nominal
        said += ["the clock was followed by symbol_sync",
                 f"{done.size // sps} symbols for {nominal:.0f} by the rates"]
    else:
        clock = _clock(done, inner, sample_rate, symbol_rate, sps, there)
        if clock is None:
            said.append(_NO_CLOCK)
        elif _drifts(clock, done.size, inner):
            found *= 1 + clock.offset
            said.append(_drift_said(clock, found))
            done = _run(samples, sample_rate, found, inner, scratch=scratch)
            there = find_bursts(done, inner, threshold)[0] if there else there
            clock = _stands_out(done, inner, symbol_rate, there)
        if clock and clock.wander > _WANDERS and not there:
            said.append(f"{_wander_said(clock)}: adann resample --clock-recovery follows it")
        if there:
            done, there = _middles_of_bursts(done, inner, sps, there, clock, said, scratch)
        else:
            done = _middles(done, clock.phase * inner if clock else 0.0, inner // sps, scratch)
            said += [_middles_said([clock.phase * sps], sps)] if clock else []
    return _finished(done, found, said, there, sps, carrier, scratch)


def resample_offset(samples: npt.NDArray, sample_rate: float, symbol_rate: float, sps: int) -> Resampled:
    """The same of an offset constellation: carrier and clock are followed (see offset.OffsetChain), and the first 8192
    symbols left out. The symbol rate is known to 0.3 %. Raises ValueError for real samples and an odd sps."""
    if not np.iscomplexobj(samples):
        raise ValueError("oqpsk needs complex samples, these are real")
    _check_rates(sample_rate, symbol_rate)
    chain = OffsetChain(sample_rate, symbol_rate, sps)
    scaled: Any = Normalized(samples)
    sink = array_sink(int(samples.size * sps * symbol_rate / sample_rate * 1.02) + 1024, np.dtype(np.complex64), None)
    source = array_source(portions(scaled), np.dtype(np.complex64))
    top = gr.top_block("adann resample")
    top.connect(source, *chain.before, chain.resampler, *chain.after, sink)
    run_flowgraph(top)
    offset = chain.carrier.frequency() if chain.carrier else 0.0
    done = sink.items[_UNLOCKED * sps:]
    return _finished(done, symbol_rate, [
        *_lost(samples),
        f"a carrier of {offset:.3g} cycles a symbol, with Q half a symbol later than I, and the "
        f"clock were followed; the first {_UNLOCKED} symbols are left out"], [], sps, False, None)


def resample_channels(channels: Sequence[npt.NDArray], sample_rate: float, symbol_rate: float, sps: int = 4,
                      scratch: Path | None = None) -> list[Resampled]:
    """Bring channels that were sampled together to sps samples a symbol, by the clock of them all: see
    timing.find_clock.

    channels: float32 or complex64 (n,) each; other arguments and errors as of resample. Returns each channel's; what
    was done with all is said of the first.
    """
    _check_rates(sample_rate, symbol_rate)
    inner = sps * -(-_LEAST // sps)
    rooms = [scratch and scratch / str(number) for number in range(len(channels))]
    for room in filter(None, rooms):
        room.mkdir()

    def run(rate):
        return [_run(each, sample_rate, rate, inner, scratch=room) for each, room in zip(channels, rooms)]

    done, found = run(symbol_rate), symbol_rate
    said = [sentence for each in channels for sentence in _lost(each)]
    clock = _clock(done, inner, sample_rate, symbol_rate, sps, [])
    if clock is None:
        said.append(_NO_CLOCK)
    elif _drifts(clock, done[0].size, inner):
        found *= 1 + clock.offset
        said.append(_drift_said(clock, found))
        done = run(found)
        clock = _stands_out(done, inner, symbol_rate, [])
    if clock:
        said += [_wander_said(clock)] if clock.wander > _WANDERS else []
        said.append(_middles_said([clock.phase * sps], sps))
    middles = [_middles(each, clock.phase * inner if clock else 0.0, inner // sps, room)
               for each, room in zip(done, rooms)]
    return [_finished(each, found, [] if number else said, [], sps, False, None)
            for number, each in enumerate(middles)]


def _check_rates(sample_rate, symbol_rate):
    if symbol_rate > sample_rate:
        raise SymbolRateError(f"symbol rate is {symbol_rate:.9g}, allowed: up to the sample rate, {sample_rate:.9g}")


def _bursts_said(bursts, over, size):
    if over is not None:
        where = f"where the power is {over:.1f} dB or more over that of the pauses"
    elif bursts:
        levels = [burst.level for burst in bursts]
        where = (f"found by the symbol clock and the noise next to the signal: the power there is "
                 f"{min(levels):+.1f} to {max(levels):+.1f} dB over that of the pauses")
    else:
        return "no bursts: power and symbol clock are those of one signal throughout"
    return (f"{len(bursts)} burst{'s' * (len(bursts) != 1)}, {where}: "
            f"{100 * sum(each.size for each in bursts) / max(1, size):.0f} % of the record")


def _drifts(clock, size, inner):
    return abs(clock.offset) * size / inner > _DRIFTS


def _wander_said(clock):
    return f"the clock wanders by {clock.wander:.2f} symbols rms"


def _drift_said(clock, found):
    return f"the symbol rate is {1e6 * clock.offset:+.1f} ppm off the one given: {found:.9g}"


def _middles_said(phases, sps, bursts=False):
    return (f"the middle of a symbol was {', '.join(f'{phase:.2f}' for phase in phases[:8])}"
            f"{' …' * (len(phases) > 8)} samples (of {sps} a symbol) after the first sample" + " of a burst" * bursts)


def _middles(samples, delay, step, scratch):
    """Each step-th sample, from `delay` samples after the first on."""
    if scratch is None:
        return np.concatenate(list(_shifted(samples, delay, step, samples.size // step)))
    path = scratch / "middles"
    with open(path, "wb") as file:
        for part in _shifted(samples, delay, step, samples.size // step):
            part.tofile(file)
    return np.memmap(path, samples.dtype, "r+")


def _shifted(samples, delay, step, count):
    """The first `count` of them, or as many as there are, in parts."""
    for first in range(0, samples.size, _SHIFTED):
        low, high = max(0, first - _MARGIN), first + _SHIFTED + int(delay) + _MARGIN
        part = _advanced(samples[low:high], delay)[first - low:][:_SHIFTED][-first % step::step][:count]
        count -= part.size
        release(samples)
        yield part


def _middles_of_bursts(done, inner, sps, bursts, clock, said, scratch):
    """The bursts at sps a symbol, where they were in the record, each from the middle of a symbol on, and nothing
    between them; and the bursts as they lie then. clock: the record's, or None where none stands out."""
    step = inner // sps
    laid, moved, phases = _room(scratch, "middles", done.size // step, done.dtype), [], []
    for burst in bursts:
        piece, first, delay = done[burst.first:burst.end], burst.first, 0.0
        if clock:
            phase = _phase(piece, inner, clock)
            phases.append(phase * sps)
            late = phase < 0  # the burst's first symbol began before it
            delay, first = (phase + late) * inner, first + late * inner
        at = first // step
        count = min((piece.size - int(delay)) // inner * sps, laid.size - at)
        moved.append(replace(burst, first=at, size=count))
        for part in _shifted(piece, delay, step, count) if clock else portions(piece[:count * step:step]):
            laid[at:at + part.size] = part
            at += part.size
            release(laid)
    said += [_middles_said(phases, sps, True)] if clock else []
    return laid, moved


def _room(scratch, name, size, dtype):
    """Zeros (size,), in a file of the folder or, None, in memory."""
    if scratch is None or not size:
        return np.zeros(size, dtype)
    with open(scratch / name, "wb") as file:  # a full disk shows here, not where the samples are written
        os.posix_fallocate(file.fileno(), 0, size * np.dtype(dtype).itemsize)
    return np.memmap(scratch / name, dtype, "r+")


def _clock(done, inner, sample_rate, symbol_rate, sps, bursts):
    """The record's, or None where it has the wanted rate already and no clock stands out."""
    try:
        clock = _stands_out(done, inner, symbol_rate, bursts)
    except ValueError:
        if abs(sample_rate / (sps * symbol_rate) - 1) < _SAME:
            return None
        raise
    if abs(clock.offset) > _FARTHEST:
        raise SymbolRateError(f"the clearest symbol clock is {100 * clock.offset:+.2f} % off, allowed: up to "
                              f"{100 * _FARTHEST:g} %; the symbol rate {symbol_rate:.9g} may be wrong")
    return clock


def _stands_out(done, inner, symbol_rate, bursts):
    """The record's clock, or that of all bursts together: their offsets, each weighted as exact as it is, for from one
    to the next the phase may jump. Of bursts too short to show it, the clock of all with pauses between them. The error
    names the symbol rate that was given."""
    try:
        together = find_clock(Gated(done, bursts) if bursts else done, inner)
    except ValueError as error:
        raise NoClockError(f"{error}; the symbol rate {symbol_rate:.9g} may be wrong") from error
    offsets, weights = [], []
    for burst in bursts:
        with contextlib.suppress(ValueError):
            offsets.append(find_clock(done[burst.first:burst.end], inner).offset)
            weights.append(burst.size**3.0)
    return replace(together, offset=float(np.average(offsets, weights=weights))) if offsets else together


def _phase(piece, inner, clock):
    """A burst's own, within half a symbol of the record's, which is taken where the burst is too short to show it."""
    try:
        phase = find_clock(piece, inner).phase
    except ValueError:
        phase = find_phase(piece, inner, clock.offset)
    return clock.phase if phase is None else clock.phase + (phase - clock.phase + 0.5) % 1 - 0.5


def _finished(done, found, said, bursts, sps, carrier, scratch):
    extents = [(burst.first, burst.end) for burst in bursts] or None
    if carrier and np.iscomplexobj(done):
        line = find_carrier(done[::sps])
        for number, (first, end) in enumerate(extents or [(0, done.size)]):
            sentence = _steady(done[first:end], sps, line if bursts else None, first // sps, scratch)
            said.append(f"burst {number}: {sentence}" if bursts and sentence else sentence)
    scaled = Normalized(done, extents)
    return Resampled(scaled if isinstance(done, np.memmap) else scaled[:], found, [each for each in said if each],
                     bursts)


def _steady(piece, sps, common, start, scratch):
    """Remove the carrier that rotates samples, in place; what was done.

    common: of a burst that begins at symbol `start`, the carrier of the whole record, if it has a line: a burst's own
    phase is open by one of the constellation's rotations, and that nearest to the common carrier's is taken.
    """
    symbols = piece[::sps]
    line = find_carrier(symbols)
    if line is None:
        return "no carrier was found: no power of the symbols has a line"
    cycles = _room(scratch, "phase", symbols.size, np.float64)
    if moving_phase(symbols, line, cycles) is not None:
        frequencies = np.diff(np.concatenate([part[::_TOLD].copy() for part in portions(cycles)])) / _TOLD
        said = (f"a carrier that moves, by {np.ptp(frequencies):.2g} cycles a symbol around "
                f"{np.mean(frequencies):.3g}, was followed (line of the {line.ordinal} power)")
    elif line.turns or common:
        steady_phase(symbols, line, cycles)
        said = (f"a carrier of {line.frequency:.3g} cycles a symbol was taken out (line of the "
                f"{line.ordinal} power)") * line.turns
    else:
        return ""
    turn = 0.0
    if common and common.power == line.power:
        some = cycles[:_SHIFTED]
        off = some - common.frequency * (start + np.arange(some.size))
        turn = np.round(np.median(off) * line.power) / line.power
    for low in range(0, piece.size, _SHIFTED):
        at = np.arange(low, min(low + _SHIFTED, piece.size))
        numbers = np.arange(low // sps, min(at[-1] // sps + 2, symbols.size))
        turns = np.interp(at / sps, numbers, cycles[numbers[0]:numbers[-1] + 1] - turn)
        piece[low:low + at.size] *= np.exp(-2j * np.pi * turns).astype(np.complex64)
        release(piece)
        release(cycles)
    return said


def _run(samples, sample_rate, symbol_rate, sps, clock_recovery=False, scratch=None):
    """The whole record through adann.resampler."""
    is_complex = np.iscomplexobj(samples)
    samples = Normalized(samples)
    block = resampler(sample_rate, symbol_rate, sps, is_complex, "record", mean=0.0, rms=1.0,
                      clock_recovery=clock_recovery)
    held = 0 if clock_recovery else block.tail()
    wanted = int(samples.size * sps * symbol_rate / sample_rate)
    # A loop that follows a slower or faster clock has some more or fewer.
    sink = array_sink(wanted + clock_recovery * (wanted // 50 + 1024), samples.dtype,
                      scratch and scratch / "resampled")
    # A Python block lives as long as its name: GNU Radio keeps no reference.
    source = array_source(itertools.chain(portions(samples), [np.zeros(held, samples.dtype)]), samples.dtype)
    top = gr.top_block("adann resample")
    top.connect(source, block, sink)
    run_flowgraph(top)
    sink.close()
    return sink.items


def _advanced(samples, delay):
    """The record `delay` samples, 0 or more, later: whole ones cut off, the rest by its spectrum."""
    whole = int(delay)
    samples = samples[whole:]
    length = scipy.fft.next_fast_len(samples.size + 64)  # the ends do not meet
    frequencies = scipy.fft.fftfreq(length)
    spectrum = scipy.fft.fft(samples, length) * np.exp(2j * np.pi * frequencies * (delay - whole))
    shifted = scipy.fft.ifft(spectrum)[:samples.size]
    return (shifted if np.iscomplexobj(samples) else shifted.real).astype(samples.dtype)
