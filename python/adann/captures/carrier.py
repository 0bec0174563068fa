# SPDX-License-Identifier: GPL-3.0-or-later
"""A carrier that is left in a record, by the line that a power of its symbols has.

The M-th power takes the modulation off where the constellation looks the same after 1/M of a turn. Source: Viterbi
and Viterbi, "Nonlinear estimation of PSK-modulated carrier phase", IEEE Trans. Inf. Theory 29, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.ndimage

_LONGEST = 1 << 17        # symbols that are looked at: a carrier does not stand still for longer
_CLEAR = 40               # power of a line over the median's: chance gives about 20 in 10^5
_WINDOW = 128              # symbols in which a moving carrier's frequency is found
_AVERAGED = 64             # symbols whose mean tells its phase
_FEWEST = 512              # symbols
_MORE = 0.1                # of the power's line, squared, that a moving phase explains beyond a steady one
_STANDING = 0.75           # frequencies of the record's own resolution that are no offset


@dataclass
class Carrier:
    """frequency: in cycles per symbol, within 1/(2*power) either way. power: 2, 4 or 8, the
    smallest that has a line. clearness: of the line, its power over the noise's. turns: whether it
    is more than the record's resolution off zero."""

    frequency: float
    power: int
    clearness: float
    turns: bool


def find_carrier(symbols: npt.NDArray) -> Carrier | None:
    """The carrier that turns a constellation, or None where no power of the symbols has a line.

    symbols: complex (n,), one sample at the middle of each, normalised; their eye must be open, or
    nearly so.
    """
    part = symbols[:_LONGEST].astype(np.complex128)
    length = 2 * scipy.fft.next_fast_len(part.size)
    for power in (2, 4, 8):
        spectrum = abs(scipy.fft.fft(_raised(part, power), length)) ** 2
        peak = int(spectrum.argmax())
        clearness = float(spectrum[peak] / np.median(spectrum))
        if clearness > _CLEAR:
            frequency = scipy.fft.fftfreq(length)[peak]
            return Carrier(float(frequency / power), power, clearness,
                           bool(abs(frequency) * part.size > _STANDING))
    return None


def steady_phase(symbols: npt.NDArray, carrier: Carrier) -> npt.NDArray[np.float64]:
    """The phase in cycles, (n,), of a carrier at each symbol of complex symbols (n,): a straight line, up to one of the
    constellation's turns, such that the power's line is positive without it."""
    straight = carrier.frequency * np.arange(symbols.size)
    left = np.sum(_raised(symbols, carrier.power) * np.exp(-2j * np.pi * carrier.power * straight))
    return straight + np.angle(left) / (2 * np.pi * carrier.power)


def moving_phase(symbols: npt.NDArray, carrier: Carrier) -> npt.NDArray[np.float64] | None:
    """The same of a carrier that moves; None of one that does not, or of fewer than 512 symbols.

    Its frequency is found in windows that overlap, by the line of each, and then its phase over 64 symbols
    (Viterbi and Viterbi).
    """
    if symbols.size < _FEWEST:
        return None
    power, at = carrier.power, np.arange(symbols.size)
    raised = _raised(symbols, power)
    starts = np.arange(0, symbols.size - _WINDOW + 1, _WINDOW // 2)
    windows = np.lib.stride_tricks.sliding_window_view(raised, _WINDOW)[starts]
    lines = scipy.fft.fftfreq(8 * _WINDOW)[abs(scipy.fft.fft(windows, 8 * _WINDOW)).argmax(axis=1)]
    lines = scipy.ndimage.median_filter(np.unwrap(lines, period=1), 5, mode="nearest")
    rough = np.cumsum(np.interp(at, starts + _WINDOW / 2, lines))
    turned = raised * np.exp(-2j * np.pi * rough)
    mean = sum(factor * scipy.ndimage.uniform_filter1d(part, _AVERAGED, mode="nearest")
               for factor, part in ((1, turned.real), (1j, turned.imag)))
    moving = (rough + np.unwrap(np.angle(mean)) / (2 * np.pi)) / power
    explained, by_a_line = (abs(np.sum(raised * np.exp(-2j * np.pi * power * cycles)))
                            for cycles in (moving, steady_phase(symbols, carrier)))
    # What follows 64 symbols follows 1/64 of the noise's power, too.
    return moving if explained**2 - by_a_line**2 > _MORE * np.sum(abs(raised)) ** 2 else None


def _raised(symbols, power):
    """Outer points would count for the power of their radius."""
    return abs(symbols) * np.exp(1j * power * np.angle(symbols))
