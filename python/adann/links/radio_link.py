# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated radio link that moves: two rays, of which the second one's phase rotates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve

from .. import core
from .amplifier import AMPLIFIERS, drive

SPS = 2               # samples a symbol that the receiver gives
OVERSAMPLED = 4       # samples a symbol of the link: the amplifier widens the spectrum
_ROLL_OFF = 0.3
SPAN = 24             # symbols that the impulse response of each pulse filter lasts

_RANGES = {
    "echo": (0, 2), "delay": (0, 8), "turns": (-0.01, 0.01), "jump_every": (0, 2**40),
    "back_off": (0, 60), "carrier": (-0.1, 0.1), "linewidth": (0, 0.01), "snr": (-10, 100)}


@dataclass(frozen=True)
class RadioLink:
    """Symbols through root-raised-cosine pulses (roll-off 0.3), an amplifier, two rays, an
    oscillator that is off, noise, and the matched filter.

    constellation: a name of core.constellation.names()
    echo: amplitude of the second ray over the first one's, 0 to 2
    delay: of the second ray, 0 to 8 symbols, whole samples of a quarter symbol
    turns: cycles of the second ray's phase per symbol, -0.01 to 0.01: Doppler shift over symbol rate, 1e-5
        at 1 Msymbol/s is 10 Hz. It is 0 at the first symbol
    jump_every: symbols after which the second ray's phase jumps by a random angle; 0: never
    amplifier: none; rapp, a solid-state amplifier, which compresses amplitudes; or saleh, a
        travelling-wave tube, which also rotates the phase with them
    back_off: mean power below the amplifier's saturation at its input, 0 to 60 dB
    carrier: residual offset, -0.1 to 0.1 cycles a symbol
    linewidth: of the oscillators' Wiener phase noise times the symbol's duration, 0 to 0.01: the
        phase's variance grows by 2*pi times this a symbol
    snr: the first ray's energy a symbol over the noise's power density, -10 to 100 dB

    Raises ValueError, with name, value and range, for a parameter out of range.
    """

    constellation: str
    echo: float = 0.5
    delay: float = 1.0
    turns: float = 0.0
    jump_every: int = 0
    amplifier: str = "none"
    back_off: float = 6.0
    carrier: float = 0.0
    linewidth: float = 0.0
    snr: float = 17.0

    def __post_init__(self):
        if core.constellation(self.constellation).is_offset:
            raise ValueError(f"constellation is {self.constellation}, allowed: one whose I and Q come together")
        if self.amplifier not in AMPLIFIERS:
            raise ValueError(f"amplifier is {self.amplifier}, allowed: {', '.join(AMPLIFIERS)}")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: {low} to {high}")

    def receive(self, labels: npt.NDArray[np.uint8],
                seed: int | Sequence[int]) -> npt.NDArray[np.complex64]:
        """What the receiver gives: complex64 (2*n,), the middle of symbol i at 2*i.

        labels: uint8 (n,), 0 to M-1. seed: of the noise, the oscillators and the jumps, as of
        numpy's default_rng. A symbol of the first ray has unit power, until the amplifier takes
        some of it.
        """
        random = np.random.default_rng(seed)
        rays = self.rays(labels, random)
        return matched(rays + self.noise(rays.size, random))

    def rays(self, labels: npt.NDArray[np.uint8], random: np.random.Generator,
             extent: str = "same") -> npt.NDArray[np.complex128]:
        """What comes in without noise, complex128, 4 samples a symbol.

        extent: "same", 4*n samples, the middle of symbol i at 4*i, or "full", with what the pulses
        reach beyond, 48 samples before and 47 after.
        """
        points = np.array(core.constellation(self.constellation).points)
        points /= np.sqrt(np.mean(abs(points) ** 2))
        pulse = _root_raised_cosine()
        sent = np.zeros(OVERSAMPLED * len(labels), complex)
        sent[::OVERSAMPLED] = points[labels]
        rays = fftconvolve(sent, pulse, extent)
        if self.amplifier != "none":
            driven = drive(rays, self.back_off)
            rays = AMPLIFIERS[self.amplifier](driven) * np.linalg.norm(rays) / np.linalg.norm(driven)
        late = round(OVERSAMPLED * self.delay)
        symbols = np.arange(rays.size) / OVERSAMPLED
        echo = np.concatenate([np.zeros(late), rays[:rays.size - late]])
        rays = rays + echo * self.echo * np.exp(1j * self._echo_phase(symbols, random))
        return rays * np.exp(1j * self._oscillator_phase(symbols, random))

    def noise(self, count: int, random: np.random.Generator) -> npt.NDArray[np.complex128]:
        """Of as many of these samples."""
        noise = random.standard_normal((count, 2)).view(complex)[:, 0]
        return np.sqrt(OVERSAMPLED / 2) * 10 ** (-self.snr / 20) * noise

    def _echo_phase(self, symbols, random):
        phase = 2 * np.pi * self.turns * symbols
        if self.jump_every:
            part = (symbols // self.jump_every).astype(int)
            angles = np.append(0, random.uniform(0, 2 * np.pi, part[-1] if part.size else 0))
            phase = phase + np.cumsum(angles)[part]
        return phase

    def _oscillator_phase(self, symbols, random):
        phase = 2 * np.pi * self.carrier * symbols
        if self.linewidth:
            step = np.sqrt(2 * np.pi * self.linewidth / OVERSAMPLED)
            phase = phase + step * np.cumsum(random.standard_normal(symbols.size))
        return phase


def matched(rays: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex64]:
    """What the matched filter gives of 4 samples a symbol: 2, complex64."""
    through = fftconvolve(rays, _root_raised_cosine() / OVERSAMPLED, "same")
    return through[::OVERSAMPLED // SPS].astype(np.complex64)


def _root_raised_cosine():
    """Its impulse response, time zero in the middle, of energy OVERSAMPLED."""
    size = SPAN * OVERSAMPLED
    frequency = np.fft.fftfreq(size, 1 / OVERSAMPLED)
    beyond = np.clip((2 * abs(frequency) - 1) / _ROLL_OFF, -1, 1)
    taps = OVERSAMPLED * np.fft.ifft(np.cos(np.pi / 4 * (beyond + 1))).real
    return np.append(np.fft.fftshift(taps), taps[size // 2])
