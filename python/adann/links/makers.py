# SPDX-License-Identifier: GPL-3.0-or-later
"""Links drawn at random from families of nonlinear links, with a drift each.

What is decided while the method is made is decided on "development" and "third_development"; the other two sets are
run only to say how good it is. "development" and "untouched" share nothing, they differ in their families:

| | "development" | "untouched" |
|---|---|---|
| Wiener-Hammerstein: filter, nonlinearity, filter | polynomial of degree 3 (5 if complex) | limiter with an offset, tanh |
| optical | vcsel_mmf_link, PAM4 | coherent_link, 16QAM |
| amplifier and multipath, root raised cosines | Saleh, two or three rays | Rapp, four rays |

"third_development" and "third_untouched" differ in their draws and have the same families, none of the above:

| family | |
|---|---|
| square_law | Mach-Zehnder modulator, dispersion, photodiode; dispersion and bias drift; PAM |
| led | a light-emitting diode whose bandwidth grows with its level; PAM |
| modes | mode groups of a fibre up to a symbol early or late, after a bent laser; PAM4 |
| memory_polynomial | an amplifier with memory, and one to three rays; QPSK, 8PSK, 16QAM, 16APSK, 32APSK |
| rotating_echo | an amplifier with memory by Wiener's model, and an echo that rotates; QPSK, 8PSK, 16QAM |
| converter | echoes, AC coupling, and a converter of 6 bits that clips; PAM and QAM |
| reflections | two to four, 3 to 9 symbols late, and crosstalk of another sender; PAM, 16QAM |
| impulses | echoes, and impulses in some samples; PAM4, QAM |
| clock | echoes, and a clock up to 4 ppm off that gains and loses up to a symbol; PAM4, 8PSK, QAM |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.statistics import normalized
from . import baseband_families, optical_families, radio_families
from .simulation import random_labels

_THIRD = ("square_law", "memory_polynomial", "converter", "led", "reflections", "rotating_echo", "modes", "impulses",
          "clock")
SETS = {"development": ("polynomial", "vcsel", "saleh"), "untouched": ("limiter", "coherent", "rapp"),
        "third_development": _THIRD, "third_untouched": _THIRD}
_FAMILIES = {**baseband_families.FAMILIES, **optical_families.FAMILIES, **radio_families.FAMILIES}


@dataclass(frozen=True)
class Link:
    """A drawn link. start, end: its parameters before the drift, and after the largest one."""

    family: str
    constellation: str
    sps: int
    start: dict
    end: dict

    @property
    def bits(self) -> int:
        return core.constellation(self.constellation).bits_per_symbol

    def receive(self, symbols: int, drift: float,
                seed: int) -> tuple[npt.NDArray, npt.NDArray[np.uint8]]:
        """What is received of uniform random labels, normalised as a whole record.

        symbols: of them. drift: how far the link has gone from start (0) to end (1). seed: of labels
        and noise, 1 to 2^20. Returns (float32 or complex64 (sps*symbols,), uint8 (symbols,));
        sample i*sps is the middle of symbol i.
        """
        if not 0 <= drift <= 1:
            raise ValueError(f"drift is {drift}, allowed: 0 to 1")
        labels = random_labels(symbols, [3, seed], self.bits)
        now = {name: (1 - drift) * np.asarray(value) + drift * np.asarray(self.end[name])
               for name, value in self.start.items()}
        return normalized(_FAMILIES[self.family][1](self, labels, now, seed)), labels


def draw_link(name: str, number: int) -> Link:
    """A Link of the set `name`, always the same one. number: which, 0 to 9999.

    Families alternate; constellation, samples a symbol and parameters are drawn.
    Raises ValueError for another name or number.
    """
    if name not in SETS:
        raise ValueError(f"set is {name!r}, allowed: {', '.join(SETS)}")
    if not 0 <= number <= 9999:
        raise ValueError(f"number is {number}, allowed: 0 to 9999")
    family = SETS[name][number % len(SETS[name])]
    random = np.random.default_rng([list(SETS).index(name), number])
    return Link(family, *_FAMILIES[family][0](family, random))
