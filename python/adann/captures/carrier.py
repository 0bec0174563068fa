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

_LONGEST = 1 << 17        # symbols that are looked at: a carrier does not stand still for longer
_CLEAR = 40               # power of a line over the median's: chance gives about 20 in 10^5
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
        # Outer points would count for the eighth power of their radius.
        raised = abs(part) * np.exp(1j * power * np.angle(part))
        spectrum = abs(scipy.fft.fft(raised, length)) ** 2
        peak = int(spectrum.argmax())
        clearness = float(spectrum[peak] / np.median(spectrum))
        if clearness > _CLEAR:
            frequency = scipy.fft.fftfreq(length)[peak]
            return Carrier(float(frequency / power), power, clearness,
                           bool(abs(frequency) * part.size > _STANDING))
    return None
