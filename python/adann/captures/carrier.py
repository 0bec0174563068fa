# SPDX-License-Identifier: GPL-3.0-or-later
"""A residual carrier in a record, by the line that a power of its symbols has.

The M-th power takes the modulation off where the constellation looks the same after 1/M of a turn. Source: Viterbi
and Viterbi, "Nonlinear estimation of PSK-modulated carrier phase", IEEE Trans. Inf. Theory 29, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.ndimage

from .statistics import portions, release

_LONGEST = 1 << 17        # symbols that are looked at: a carrier does not stand still for longer
_CLEAR = 40               # power of a line over the median's: chance gives about 20 in 10^5
_WINDOW = 128              # symbols in which a moving carrier's frequency is found
_AVERAGED = 64             # symbols whose mean gives its phase
_FEWEST = 512              # symbols
_SAME = 0.5                # of their power, of symbols that repeat those before
_MORE = 0.1                # of the power's line, squared, that a moving phase explains beyond a steady one
_STANDING = 0.75           # frequencies of the record's own resolution that are no offset
_AT_ONCE = 1 << 16         # symbols whose phase is found at once
_TOGETHER = 1 << 9         # windows, likewise


@dataclass
class Carrier:
    """frequency: in cycles per symbol, within 1/(2*power) either way. power: 2, 4 or 8, the
    smallest that has a line. clearness: of the line, its power over the noise's. turns: whether it
    is more than the record's resolution off zero."""

    frequency: float
    power: int
    clearness: float
    turns: bool

    @property
    def ordinal(self) -> str:
        """Of the power: 2nd, 4th or 8th."""
        return "2nd" if self.power == 2 else f"{self.power}th"


def find_carrier(symbols: npt.NDArray) -> Carrier | None:
    """The carrier that rotates a constellation, or None where no power of the symbols has a line.

    symbols: complex (n,), one sample at the middle of each, normalised; their eye must be open, or
    nearly so.
    """
    part = symbols[:_LONGEST].astype(np.complex128)
    period = _period(part)
    for power in (2, 4, 8):
        raised = _raised(part, power)
        spectrum, frequencies = _spectrum(raised[:period])
        rough = frequencies[spectrum.argmax()]
        clearness = float(spectrum.max() / np.median(spectrum))
        if clearness > _CLEAR:
            # A pattern that repeats has lines of its own, at multiples of 1 / period.
            spectrum, frequencies = _spectrum(raised)
            apart = (frequencies - rough + 0.5) % 1 - 0.5
            frequency = frequencies[np.where(abs(apart) < 0.5 / period, spectrum, 0).argmax()]
            return Carrier(float(frequency / power), power, clearness,
                           bool(abs(frequency) * part.size > _STANDING))
    return None


def _spectrum(x):
    length = 2 * scipy.fft.next_fast_len(x.size)
    return abs(scipy.fft.fft(x, length)) ** 2, scipy.fft.fftfreq(length)


def _period(symbols):
    """After how many symbols (n,) they repeat, as those of a pattern generator do; n if they do not."""
    n = symbols.size
    if n < 2 * _FEWEST:
        return n
    power = _spectrum(symbols)[0]
    lags = np.arange(_FEWEST, n - n // 8)
    same = abs(scipy.fft.ifft(power))[lags] * n / (n - lags) / np.mean(power)
    return int(lags[np.argmax(same > 0.95 * same.max())]) if same.max() > _SAME else n


def steady_phase(symbols: npt.NDArray, carrier: Carrier, out: npt.NDArray | None = None) -> npt.NDArray[np.float64]:
    """The phase in cycles, (n,), of a carrier at each symbol of complex symbols (n,): a straight line, up to one of the
    constellation's symmetries, such that the power's line is positive without it. out: float64 (n,) to write it to, as
    of a file; None: a new array."""
    out = np.empty(symbols.size) if out is None else out
    left = 0j
    for first, part in _parts(symbols):
        here = out[first:first + part.size]
        here[:] = carrier.frequency * np.arange(first, first + part.size)
        left += np.sum(_raised(part, carrier.power) * np.exp(-2j * np.pi * carrier.power * here))
        release(out)
    for _, part in _parts(out):
        part += np.angle(left) / (2 * np.pi * carrier.power)
    return out


def moving_phase(symbols: npt.NDArray, carrier: Carrier,
                 out: npt.NDArray | None = None) -> npt.NDArray[np.float64] | None:
    """The same of a carrier that moves; None of one that does not, or of fewer than 512 symbols.

    Its frequency is found in windows that overlap, by the line of each, and then its phase over 64 symbols
    (Viterbi and Viterbi).
    """
    if symbols.size < _FEWEST:
        return None
    power, out = carrier.power, np.empty(symbols.size) if out is None else out
    middles, lines = _lines(symbols, power)
    rough = phase = 0.0  # before `first`, at its end
    by_moving = by_a_line = 0j
    total = 0.0
    for first, part in _parts(symbols):
        end = first + part.size
        low, high = max(0, first - _AVERAGED), min(end + _AVERAGED, symbols.size)
        raised = _raised(symbols[low:high], power)
        cycles = rough + np.cumsum(np.interp(np.arange(low, high), middles, lines))
        turned = raised * np.exp(-2j * np.pi * cycles)
        mean = sum(factor * scipy.ndimage.uniform_filter1d(part, _AVERAGED, mode="nearest")
                   for factor, part in ((1, turned.real), (1j, turned.imag)))
        inside, following = slice(first - low, end - low), max(0, end - _AVERAGED)
        angles = np.unwrap(np.concatenate([[phase], np.angle(mean[inside])]))[1:]
        out[first:end] = (cycles[inside] + angles / (2 * np.pi)) / power
        rough, phase = cycles[following - low - 1] if following > low else rough, angles[-1]
        by_moving += np.sum(raised[inside] * np.exp(-2j * np.pi * power * out[first:end]))
        by_a_line += np.sum(raised[inside] * np.exp(-2j * np.pi * power * carrier.frequency * np.arange(first, end)))
        total += np.sum(abs(raised[inside]), dtype=np.float64)
        release(out)
    # What follows 64 symbols follows 1/64 of the noise's power, too.
    return out if abs(by_moving)**2 - abs(by_a_line)**2 > _MORE * total**2 else None


def _lines(symbols, power):
    """The middles of windows of the symbols, and the frequency of each one's line, of the power's, in cycles."""
    starts = np.arange(0, symbols.size - _WINDOW + 1, _WINDOW // 2)
    frequencies, lines = scipy.fft.fftfreq(8 * _WINDOW), np.empty(starts.size)
    for at in range(0, starts.size, _TOGETHER):
        here = starts[at:at + _TOGETHER]
        part = _raised(symbols[here[0]:here[-1] + _WINDOW], power)
        windows = np.lib.stride_tricks.sliding_window_view(part, _WINDOW)[here - here[0]]
        lines[at:at + here.size] = frequencies[abs(scipy.fft.fft(windows, 8 * _WINDOW)).argmax(axis=1)]
        release(symbols)
    return starts + _WINDOW / 2, scipy.ndimage.median_filter(np.unwrap(lines, period=1), 5, mode="nearest")


def _parts(symbols):
    for number, part in enumerate(portions(symbols, size=_AT_ONCE)):
        yield number * _AT_ONCE, part


def _raised(symbols, power):
    """Outer points would count for the power of their radius."""
    return abs(symbols) * np.exp(1j * power * np.angle(symbols))
