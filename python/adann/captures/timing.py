# SPDX-License-Identifier: GPL-3.0-or-later
"""Symbol rate, clock offset and sampling phase of a record, from its own spectral lines.

Power, and the power of the slope, repeat with the symbols on average, whatever they are. Source:
Oerder and Meyr, "Digital filter and square timing recovery", IEEE Trans. Commun. 36, 1988.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.ndimage

from .statistics import release

_LONGEST = 1 << 20        # samples that a rate is looked for in
_AT_ONCE = 1 << 16        # of them: the rate is found in little memory
_LAGS = 1, 2, 4, 8        # samples; of many a symbol, neighbours differ by noise alone
_FEWEST = 4096            # samples
_WINDOWS = 1 << 17, 1 << 15, 1 << 13  # samples, of which some may hold a packet that drowns in the record's noise
_SEARCHED = 1 << 23       # samples at most that windows are laid in
_NEIGHBOURS = 31, 301     # frequencies, at least and at most, whose median is the noise around a line
_PIECES = 128             # of the spectrum that these are, between
_LOWEST = 100             # of the highest frequency: what a packet's edges reach
_LEAST = 1e-8             # of the highest power: what lies around is no less, as where a filter left nothing
_REPEATED = 1 << 18       # samples in which it is looked for what repeats
_FEWEST_REPEATED = 1024   # samples after which a record may repeat itself
_ALIKE = 0.5              # of their power, of samples that repeat those before
_OF_CYCLE = 0.25          # of a line: what is repeated sooner or later keeps half of that line's power, cos(pi/4)^2
_CLEARER = 20             # times as clear a line of what does not repeat is as that of what does
_NEAR = 3                 # frequencies of its resolution within which a line is the same
_DIVISORS = range(8, 1, -1)
_AS_CLEAR = 0.5           # relative: a line that is clear by itself, and not jitter's
CLEAR = 200               # power of a line over that of the noise: none that is clearer is looked for
_LEAST_CLEAR = 60         # of a line: chance gives about 20 in 10^6
_BLOCK = 64               # symbols that are summed before a clock offset is looked for
_BLOCKS = 1 << 16         # of them at most: of longer records several are summed once more
_TOGETHER = 1 << 10       # blocks that are read at once
_CLEAR_POWER = 300        # of the power's line: then the slope's is not asked
_CLEAR_PHASE = 12         # of a line at a known frequency: chance gives as much in 10^5
_CLEAR_CLOCK = 30         # likewise, among up to 10^5 frequencies: chance gives about 15


class SymbolRateError(ValueError):
    """The symbol rate is not found, or the one given is not that of the samples."""


class NoSymbolRateError(SymbolRateError):
    """No line shows a symbol rate."""


class NoClockError(SymbolRateError):
    """No symbol clock stands out."""


@dataclass
class Line:
    """Of a record's slope's power. frequency: cycles per sample; clearness: its power over the median of those near it;
    first, end: the samples that it was found in."""

    frequency: float
    clearness: float
    first: int
    end: int


def find_symbol_rate(samples: npt.NDArray) -> tuple[float, float]:
    """The symbol rate in symbols per sample, below 0.5, and how clear its line is.

    samples: float or complex (n,), from 4096 on; those that are not finite count as 0. It is the strongest line in
    the spectrum of the slope's power, or the one half as clear that it is a harmonic of, of the shortest slope that
    has one; its power is given relative to the median of
    those near it. Where the record as a whole has none it is looked for in shorter and shorter windows, as of a packet
    in noise. What repeats, as idle words do, has lines of its own: there the rate is that of what does not. Raises
    ValueError for fewer samples, NoSymbolRateError where no line stands out.
    """
    line = find_line(samples)
    fresh = _without_repeats(samples, line.frequency)
    if fresh is not None:
        same, other = (_line(fresh, 0, fresh.size, near) for near in (line.frequency, None))
        line = other if other.clearness > max(CLEAR, _CLEARER * same.clearness) else line
    return line.frequency, line.clearness


def telling_part(samples: npt.NDArray, line: Line) -> npt.NDArray:
    """The samples (n,) that a line of find_line was found in, or, if there is that line in it, what the record has
    beyond what it repeats: the spectrum of idle words is none of the signal's."""
    fresh = _without_repeats(samples, line.frequency)
    if fresh is not None and _line(fresh, 0, fresh.size, line.frequency).clearness > _LEAST_CLEAR:
        return fresh
    return samples[line.first:line.end]


def find_line(samples: npt.NDArray) -> Line:
    """The line of find_symbol_rate, whatever it is of; arguments and errors as of that."""
    if samples.size < _FEWEST:
        raise ValueError(f"{samples.size} samples are too few to find the symbol rate in, allowed: "
                         f"from {_FEWEST} on")
    clearest = _line(samples, 0, min(samples.size, _LONGEST + _LAGS[-1]))
    for length in _WINDOWS:
        if clearest.clearness > CLEAR:
            break
        ends = range(length, min(samples.size, _SEARCHED) + 1, length // 2) if length < samples.size else ()
        clearest = max((clearest, *(_line(samples, end - length, end) for end in ends)),
                       key=lambda line: line.clearness)
    if not clearest.clearness > _LEAST_CLEAR:
        raise NoSymbolRateError("no symbol rate stands out: the clearest line in the slope's power is "
                              f"{clearest.clearness:.0f} times what is around it (needed: {_LEAST_CLEAR})")
    return clearest


def _without_repeats(samples, frequency):
    """What the start of a record has beyond what it repeats; None where it does not repeat itself.

    What symbols repeat has a line at `frequency`, in cycles per sample, and comes again after whole cycles of it; hum
    comes again at any time, and half a cycle later the symbols' own line would cancel.
    """
    part = np.asarray(samples[:_REPEATED])
    part = np.where(np.isfinite(part), part, 0)
    part = part - part.mean()  # of unipolar levels it would be alike after any time
    release(samples)
    spectrum = abs(scipy.fft.fft(part, scipy.fft.next_fast_len(2 * part.size))) ** 2
    lags = np.arange(_FEWEST_REPEATED, part.size // 4)
    if not lags.size:
        return None
    alike = scipy.fft.ifft(spectrum)[lags] * part.size / (part.size - lags)
    alike[abs((lags * frequency + 0.5) % 1 - 0.5) > _OF_CYCLE] = 0
    best = int(abs(alike).argmax())
    if not abs(alike[best]) > _ALIKE * np.sum(abs(part) ** 2):
        return None
    turn = alike[best] / abs(alike[best])
    return part[lags[best]:] - (turn if np.iscomplexobj(part) else turn.real) * part[:-lags[best]]


def _line(samples, first, end, near=None):
    """Of the samples from `first` to before `end`: of the shortest slope that has a clear one, or the clearest; near:
    the frequency that it has, None: any."""
    part = np.asarray(samples[first:end])
    part = np.where(np.isfinite(part), part, 0)
    release(samples)
    best, sums = Line(0.0, 0.0, first, end), part
    for lag in _LAGS:
        if lag > 1:  # sums of as many samples: the longer the slope, the less noise in it
            sums = sums[:-lag // 2] + sums[lag // 2:]
        size = min(sums.size - lag, _LONGEST)
        while scipy.fft.next_fast_len(size) > size:  # 2^19 - 1, say, is prime: four times the memory
            size -= 1
        power = np.empty(size)
        for at in range(0, power.size, _AT_ONCE):
            here = power[at:at + _AT_ONCE]
            here[:] = abs(sums[at + lag:][:here.size] - sums[at:][:here.size])
        rate, clearness = _clearest_line(np.square(power, out=power), near)
        if clearness > best.clearness:
            best = Line(rate, clearness, first, end)
        if clearness > CLEAR:
            break
    return best


def _clearest_line(power, near):
    """Its frequency in cycles per sample, and its power relative to what is around it. power, (n,), is overwritten."""
    power -= power.mean()
    last = max(power.size - 1, 1)
    for at in range(0, power.size, _AT_ONCE):  # a Hann window
        here = power[at:at + _AT_ONCE]
        here *= 0.5 - 0.5 * np.cos(2 * np.pi / last * np.arange(at, at + here.size))
    spectrum = abs(np.fft.rfft(power)) ** 2  # scipy's would keep its tables
    clearness, least = spectrum.copy(), _LEAST * spectrum.max() + 1e-300
    width = min(max(_NEIGHBOURS[0], spectrum.size // _PIECES), _NEIGHBOURS[1])
    pieces = spectrum.size // width
    around = np.maximum(np.median(spectrum[:pieces * width].reshape(pieces, width), axis=1), least)
    around = scipy.ndimage.maximum_filter1d(around, 3)  # a filter's edge is no line
    clearness /= np.concatenate([np.repeat(around, width), np.full(spectrum.size - pieces * width, around[-1])])
    clearness[:min(_NEIGHBOURS[1] // 2, clearness.size // _LOWEST)] = 0
    if near:
        clearness[:max(0, round(near * power.size) - _NEAR)] = clearness[round(near * power.size) + _NEAR:] = 0
    peak = int(clearness.argmax())
    for divisor in _DIVISORS:
        first = max(1, peak // divisor - 1)
        lower = first + int(clearness[first:first + 4].argmax())
        # Of sharp edges a harmonic may be the clearest; in noise without high frequencies one that is weaker, too.
        if clearness[lower] > _AS_CLEAR * clearness[peak] or (
                clearness[lower] > CLEAR and spectrum[lower] > spectrum[peak]):
            peak = lower
            break
    # Between the bins of a Hann window, by the ratio of two neighbours.
    left, right = np.sqrt(spectrum[peak - 1]), np.sqrt(spectrum[min(peak + 1, spectrum.size - 1)])
    middle = np.sqrt(spectrum[peak])
    side, other = (1, right) if right > left else (-1, left)
    offset = (2 * other - middle) / (other + middle)
    return (peak + side * offset) / power.size, float(clearness[peak])


@dataclass
class Clock:
    """phase: where in symbols, 0 to 1, the middle of symbol 0 lies after sample 0. offset: of the symbol
    rate, relative: sps*(1 - offset) samples a symbol. wander: rms in symbols of the phase around
    that, over blocks of 1/32 of the record. clearness: power of the line over the noise's."""

    phase: float
    offset: float
    wander: float
    clearness: float


def find_clock(samples: npt.NDArray | list[npt.NDArray], sps: int, longest: int | None = None) -> Clock:
    """The symbol clock of a record at sps samples a symbol, or nearly so: within 0.5 %.

    samples: float or complex (n,) of at least 512 symbols, or what is sliced like it, or a list of several channels:
    the power of all together, which no rotation of transmitters in them changes, or of the one that is clearest; or,
    where transmitters half a symbol late hide each other's clock in these, of two channels' sums and differences.
    sps: 3 or more; longest: symbols, from the first on, that are looked at; None: all. Raises ValueError for
    fewer, and NoClockError.
    """
    channels = samples if isinstance(samples, list) else [samples]
    size = min(channel.size for channel in channels)
    symbols = min(size // sps, longest or size)
    if symbols < 8 * _BLOCK:
        raise ValueError(f"{symbols} symbols are too few to find their middles, allowed: from "
                         f"{8 * _BLOCK} on")
    blocks = symbols // _BLOCK
    together = -(-blocks // _BLOCKS)  # that make one
    rough = find_clock(samples, sps, _BLOCKS * _BLOCK).offset if together > 1 else 0.0
    blocks //= together
    length = 4 * scipy.fft.next_fast_len(blocks)
    lines = [_turning(channel, sps, blocks, together, rough) for channel in channels]
    found = _found([sum(lines), *lines] if len(lines) > 1 else lines, length)
    if len(channels) > 1 and not max(each[0] for each in found) > _CLEAR_CLOCK:
        found = _found([_turning(each, sps, blocks, together, rough) for each in _combined(channels)], length)
    clearness, peak, turning = found[0] if found[0][0] > _CLEAR_POWER else max(found, key=lambda each: each[0])
    if not clearness > _CLEAR_CLOCK:
        raise NoClockError(f"no symbol clock stands out: its line is {clearness:.0f} times what is "
                           f"around it (needed: {_CLEAR_CLOCK})")
    offset = scipy.fft.fftfreq(length)[peak] / (_BLOCK * together)
    # The middle of a block's symbols, and from there the straight line through the blocks' phases.
    times = _BLOCK * together * (np.arange(blocks) + 0.5) - 0.5
    steady = turning * np.exp(-2j * np.pi * offset * times)
    parts = np.array_split(np.arange(blocks), min(32, blocks))
    sums = np.array([steady[part].sum() for part in parts])
    phases = np.angle(sums * np.conj(sums.sum())) / (2 * np.pi)
    at = np.array([times[part].mean() for part in parts])
    weights = abs(sums) ** 2
    middle = np.average(at, weights=weights)
    spread = np.average((at - middle) ** 2, weights=weights)
    # One block, or one that has all the power, has no slope.
    slope = np.average((at - middle) * phases, weights=weights) / spread if spread > 1e-9 * middle**2 else 0.0
    start = np.average(phases, weights=weights) - slope * middle
    wander = phases - (start + slope * at)
    phase = start + np.angle(sums.sum()) / (2 * np.pi)
    return Clock(float(-phase % 1), float(rough + offset + slope),
                 float(np.sqrt(np.average(wander**2, weights=weights))), float(clearness))


def find_phase(samples: npt.NDArray, sps: int, offset: float) -> float | None:
    """The phase, as of Clock, of few symbols whose clock is `offset` off; None if it does not stand out.

    samples: (n,) of at least 64 symbols, sps a symbol; offset: of the symbol rate, relative."""
    at = np.arange(samples.size - 1) / sps
    clearest = 0.0, 0.0
    for values, late in ((samples[:-1], 0.0), (np.diff(samples), 0.5 / sps + 0.5)):
        power = abs(values).astype(np.float64) ** 2
        power -= power.mean()
        line = np.sum(power * np.exp(-2j * np.pi * ((at + late) * (1 + offset))))
        clearness = abs(line) ** 2 / max(np.sum(power**2), 1e-300)
        clearest = max(clearest, (float(clearness), float(-np.angle(line) / (2 * np.pi) % 1)))
    return clearest[1] if samples.size >= _BLOCK * sps and clearest[0] > _CLEAR_PHASE else None


def _found(lines, length):
    """Of each line its clearness, the frequency where it is clearest, and itself."""
    spectra = ((abs(scipy.fft.fft(turning, length)) ** 2, turning) for turning in np.concatenate(lines))
    return [(spectrum.max() / np.median(spectrum), int(spectrum.argmax()), turning) for spectrum, turning in spectra]


class _Sum:
    """One channel and `weight` times another, added where they are read."""

    def __init__(self, one, weight, other):
        self._one, self._weight, self._other = one, weight, other
        self.base = one  # for release

    def __getitem__(self, index):
        added = self._one[index] + self._weight * self._other[index]
        release(self._other)
        return added


def _combined(channels):
    """Polarisations between those of the channels: of any, one of these or of the channels is within 55 degrees on the
    Poincaré sphere."""
    weights = (1, -1, 1j, -1j) if np.iscomplexobj(channels[0]) else (1, -1)
    return [_Sum(one, weight, other) for one, other in itertools.combinations(channels, 2) for weight in weights]


def _turning(samples, sps, blocks, together, rough):
    """Two lines of the symbol clock, complex (2, blocks), summed over `together` times _BLOCK symbols, each without the
    offset `rough` of its rate: of the power, which is largest at the middles, and, clearer for pulses whose power
    hardly varies, the slope's, which is largest between two symbols and lies half a sample after the first of them."""
    lines = np.empty((2, blocks), np.complex128)
    length = together * _BLOCK * sps  # samples
    step = max(1, _TOGETHER // together)
    for start in range(0, blocks, step):
        end = min(start + step, blocks)
        part = samples[start * length:end * length + 1]
        size = (end - start) * length
        slope = np.diff(part, append=part[-1:])[:size]
        at = _BLOCK * (np.arange(start * together, end * together) + 0.5) - 0.5
        turn = np.exp(-2j * np.pi * rough * at)
        for number, (values, late) in enumerate(((part[:size], 0.0), (slope, 0.5 / sps + 0.5))):
            power = (abs(values) ** 2).astype(np.float64).reshape(-1, _BLOCK, sps).sum(axis=1)
            line = power @ np.exp(-2j * np.pi * (np.arange(sps) / sps + late)) * turn
            lines[number, start:end] = line.reshape(-1, together).sum(axis=1)
        release(samples)
    return lines
