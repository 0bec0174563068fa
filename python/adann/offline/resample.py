# SPDX-License-Identifier: GPL-3.0-or-later
"""A record at any rate to one whose sample i*sps is the middle of symbol i."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import scipy.fft
from gnuradio import gr

from ..blocks.resampler import resampler
from ..captures.baseband import middle_frequency, to_baseband
from ..captures.bursts import find_bursts
from ..captures.carrier import find_carrier, moving_phase, steady_phase
from ..captures.sigmf import Burst
from ..captures.statistics import normalized, record_statistics
from ..captures.timing import find_clock, find_symbol_rate
from .arrays import array_sink, array_source

_LEAST = 4            # samples a symbol at which the clock is looked for
_DRIFTS = 0.02        # symbols over the whole record: an offset of the clock that is taken out
_WANDERS = 0.05       # symbols rms: more, and the clock has to be followed
_SAME = 1e-9          # relative: rates that are equal but for their rounding
_TOLD = 128           # symbols whose mean frequency is told


@dataclass
class Resampled:
    """samples: float32 or complex64 (n,), zero mean, unit power, of bursts each by itself, 0 between them.
    symbol_rate: as it was found, in the unit of the rates given. said: sentences on what was done. bursts: [] where
    the record is continuous, or they were not asked for."""

    samples: npt.NDArray
    symbol_rate: float
    said: list[str] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)


def without_carrier(samples: npt.NDArray, sample_rate: float) -> tuple[npt.NDArray, list[str]]:
    """A real record of a modulated carrier at complex baseband, any other as it is; and what was done."""
    if np.iscomplexobj(samples):
        return samples, []
    samples = normalized(samples)
    frequency = middle_frequency(samples)
    if frequency is None:
        return samples, []
    return to_baseband(samples, frequency), [
        f"a carrier: real samples around {frequency * sample_rate:.4g}, brought to complex baseband"]


def find_rate(samples: npt.NDArray, sample_rate: float) -> tuple[float, str]:
    """The symbol rate in the unit of the sample rate (1: not known), and a sentence. Raises ValueError where no
    rate stands out."""
    found, clearness = find_symbol_rate(samples)
    told = f"{found * sample_rate:.9g} a second, " if sample_rate != 1 else ""
    return found * sample_rate, (f"symbol rate found: {told}{1 / found:.6g} samples a symbol (line "
                                 f"{clearness:.0f} times "
                                 "what is around it)")


def resample(samples: npt.NDArray, sample_rate: float, symbol_rate: float, sps: int = 4,
             clock_recovery: bool = False, carrier: bool = False, bursts: bool = False,
             threshold: float | None = None) -> Resampled:
    """Bring a record to sps samples a symbol, middles first.

    samples: float32 or complex64 (n,); sample_rate, symbol_rate: in the same unit; a symbol rate
    that is up to 0.5 % off is corrected. sps: 1 to 64. clock_recovery: follow a clock that wanders, by
    digital.symbol_sync, whose first some hundred symbols may be wrong. carrier: take out the offset
    that turns the constellation of complex samples, and follow one that moves. bursts: look for them, and give each
    the middles of its symbols, its carrier and its power; threshold: as of bursts.find_bursts.
    Raises ValueError for rates out of resampler's range and where no symbol clock stands out.
    """
    inner = sps if clock_recovery else sps * -(-_LEAST // sps)
    done = _run(samples, sample_rate, symbol_rate, inner, clock_recovery)
    found, said = symbol_rate, []
    there: list[Burst] = []
    if bursts:
        there, over = find_bursts(done, inner, threshold)
        if over is None:
            said.append("no bursts: the power is that of one signal throughout")
        else:
            said.append(f"{len(there)} burst{'s' * (len(there) != 1)}, where the power is {over:.1f} dB or more "
                        f"over that "
                        f"of the pauses: {100 * sum(each.size for each in there) / max(1, done.size):.0f} % of "
                        f"the record")
    if clock_recovery:
        nominal = symbol_rate * samples.size / sample_rate
        found = symbol_rate * (done.size / sps) / nominal
        said += ["the clock was followed by symbol_sync",
                 f"{done.size // sps} symbols for {nominal:.0f} by the rates"]
    else:
        clock = _clock(samples, done, inner, sample_rate, symbol_rate, sps, there)
        if clock is None:
            said.append("no symbol clock stands out: the samples are taken as they are")
            pieces = [(first, done[first:end]) for first, end in _extents(there, done.size)]
            done, there = _laid_out(pieces, done, inner, sps, there)
            return _finished(done, found, said, there, sps, carrier)
        if abs(clock.offset) * done.size / inner > _DRIFTS:
            found *= 1 + clock.offset
            said.append(f"the symbol rate is {1e6 * clock.offset:+.1f} ppm off the one given: "
                        f"{found:.9g}")
            done = _run(samples, sample_rate, found, inner)
            there = find_bursts(done, inner, threshold)[0] if there else there
            clock = _burst_clock(done, there, inner) if there else find_clock(done, inner)
        if clock.wander > _WANDERS and not there:
            said.append(f"the clock wanders by {clock.wander:.2f} symbols rms: adann resample "
                        "--clock-recovery follows it")
        pieces, phases = [], []
        for first, end in _extents(there, done.size):
            phase = _phase(done[first:end], inner, clock) if there else clock.phase
            phases.append(phase * sps)
            late = phase < 0  # the burst's first symbol began before it
            pieces.append((first + late * inner, _advanced(done[first:end], (phase + late) * inner)))
        said.append(f"the middle of a symbol was {', '.join(f'{phase:.2f}' for phase in phases[:8])}"
                    f"{' …' * (len(phases) > 8)} samples (of {sps} a symbol) after the first sample"
                    + " of a burst" * bool(there))
        done, there = _laid_out(pieces, done, inner, sps, there)
    return _finished(done, found, said, there, sps, carrier)


def _clock(samples, done, inner, sample_rate, symbol_rate, sps, bursts):
    """The record's, or None where it has the wanted rate already and no clock stands out."""
    try:
        return _burst_clock(done, bursts, inner) if bursts else find_clock(done, inner)
    except ValueError:
        if abs(sample_rate / (sps * symbol_rate) - 1) < _SAME:
            return None
        raise


def _burst_clock(done, bursts, inner):
    """The clock of all bursts together: the bursts' offsets, each weighted as exact as it is, for from one to the next
    the phase may jump. Of bursts too short to tell, the clock of all with pauses between them."""
    together = find_clock(_gated(done, bursts), inner)
    offsets, weights = [], []
    for burst in bursts:
        with contextlib.suppress(ValueError):
            offsets.append(find_clock(done[burst.first:burst.end], inner).offset)
            weights.append(burst.size**3.0)
    return replace(together, offset=float(np.average(offsets, weights=weights))) if offsets else together


def _extents(bursts, size):
    return [(burst.first, burst.end) for burst in bursts] or [(0, size)]


def _gated(samples, bursts):
    if not bursts:
        return samples
    gated = np.zeros_like(samples)
    for burst in bursts:
        gated[burst.first:burst.end] = samples[burst.first:burst.end]
    return gated


def _phase(piece, inner, clock):
    """A burst's own, within half a symbol of the record's, which is taken where the burst is too short to tell."""
    try:
        return clock.phase + (find_clock(piece, inner).phase - clock.phase + 0.5) % 1 - 0.5
    except ValueError:
        return clock.phase


def _laid_out(pieces, done, inner, sps, bursts):
    """The pieces at sps a symbol, where they were in the record, and their bursts as they lie then."""
    step = inner // sps
    laid = np.zeros(done.size // step, done.dtype)
    moved = []
    for number, (first, piece) in enumerate(pieces):
        part = piece[:piece.size // inner * inner:step] if bursts else piece[::step]
        part = part[:laid.size - first // step]
        laid[first // step:first // step + part.size] = part
        if bursts:
            moved.append(replace(bursts[number], first=first // step, size=int(part.size)))
    return (laid if bursts else laid[:part.size]), moved


def _finished(done, found, said, bursts, sps, carrier):
    if carrier and np.iscomplexobj(done):
        done = done.copy()
        line = find_carrier(done[::sps])
        for number, (first, end) in enumerate(_extents(bursts, done.size)):
            done[first:end], sentence = _steadied(done[first:end], sps, line if bursts else None, first // sps)
            said.append(f"burst {number}: {sentence}" if bursts and sentence else sentence)
    extents = [(burst.first, burst.end) for burst in bursts] or None
    return Resampled(normalized(done, extents), found, [each for each in said if each], bursts)


def _steadied(piece, sps, common, start):
    """Samples without the carrier that turns them, and what was done.

    common: of a burst that begins at symbol `start`, the carrier of the whole record, if it has a line: a burst's own
    phase is open by one of the constellation's turns, and that nearest to the common carrier's is taken.
    """
    symbols = piece[::sps]
    line = find_carrier(symbols)
    if line is None:
        return piece, "no carrier was found: no power of the symbols has a line"
    cycles = moving_phase(symbols, line)
    if cycles is not None:
        frequencies = np.diff(cycles[::_TOLD]) / _TOLD
        said = (f"a carrier that moves, by {np.ptp(frequencies):.2g} cycles a symbol around "
                f"{np.mean(frequencies):.3g}, was followed (line of the {line.power}th power)")
    elif line.turns or common:
        cycles = steady_phase(symbols, line)
        said = (f"a carrier of {line.frequency:.3g} cycles a symbol was taken out (line of the {line.power}th "
                "power)") * line.turns
    else:
        return piece, ""
    if common and common.power == line.power:
        off = cycles - common.frequency * (start + np.arange(symbols.size))
        cycles = cycles - np.round(np.median(off) * line.power) / line.power
    turns = np.interp(np.arange(piece.size) / sps, np.arange(symbols.size), cycles)
    return piece * np.exp(-2j * np.pi * turns).astype(np.complex64), said


def _run(samples, sample_rate, symbol_rate, sps, clock_recovery=False):
    """The whole record through adann.resampler."""
    is_complex = np.iscomplexobj(samples)
    samples = normalized(samples)
    mean, rms = record_statistics(samples)
    block = resampler(sample_rate, symbol_rate, sps, is_complex, "record", mean=mean, rms=rms,
                      clock_recovery=clock_recovery)
    held = 0 if clock_recovery else block.tail()
    wanted = int(samples.size * sps * symbol_rate / sample_rate)
    # A loop that follows a slower or faster clock has some more or fewer.
    sink = array_sink(wanted + clock_recovery * (wanted // 50 + 1024), samples.dtype)
    # A Python block lives as long as its name: GNU Radio keeps no reference.
    source = array_source([samples, np.zeros(held, samples.dtype)], samples.dtype)
    top = gr.top_block("adann resample")
    top.connect(source, block, sink)
    top.run()
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
