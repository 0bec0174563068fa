# SPDX-License-Identifier: GPL-3.0-or-later
"""Power amplifiers without memory: what they make of a complex envelope.

Saturation is at an input of 1; small signals keep their size. drive() sets the back-off.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SMOOTHNESS = 2  # of a solid-state amplifier's knee
_TURN = np.pi / 3  # rotation of a travelling-wave tube far beyond saturation


def drive(envelope: npt.NDArray, back_off: float) -> npt.NDArray:
    """The envelope (n,) with a mean power `back_off` dB, 0 to 60, below saturation."""
    if not 0 <= back_off <= 60:
        raise ValueError(f"back_off is {back_off}, allowed: 0 to 60 dB")
    return envelope * (10 ** (-back_off / 20) / np.sqrt(np.mean(np.abs(envelope) ** 2)))


def rapp(x: npt.NDArray) -> npt.NDArray:
    """Solid-state amplifier, complex (n,): amplitude alone, at most 1. Source: Rapp, "Effects of
    HPA-nonlinearity on a 4-DPSK/OFDM-signal for a digital sound broadcasting system", ECSC 1991."""
    return x / (1 + np.abs(x) ** (2 * _SMOOTHNESS)) ** (0.5 / _SMOOTHNESS)


def saleh(x: npt.NDArray) -> npt.NDArray:
    """Travelling-wave tube, complex (n,): amplitude, most at an input of 1, and with it phase.
    Source: Saleh, "Frequency-independent and frequency-dependent nonlinear models of TWT
    amplifiers", IEEE Trans. Commun. 1981, Eqs. (1), (2) with its usual parameters."""
    power = np.abs(x) ** 2
    return x / (1 + power) * np.exp(1j * _TURN * power / (1 + power))


AMPLIFIERS = {"none": lambda x: x, "rapp": rapp, "saleh": saleh}
