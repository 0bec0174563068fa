# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated radio link that moves: two rays, of which the second one's phase turns."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve

from .. import core
from .amplifier import AMPLIFIERS, drive

SPS = 2               # samples a symbol that the receiver gives
_OVERSAMPLED = 4      # samples a symbol of the link: the amplifier widens the spectrum
_ROLL_OFF = 0.3
_SPAN = 24            # symbols that the impulse response of each pulse filter lasts

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
    turns: of the second ray's phase a symbol, -0.01 to 0.01: Doppler shift over symbol rate, 1e-5
        at 1 Msymbol/s is 10 Hz. It is 0 at the first symbol
    jump_every: symbols after which the second ray's phase jumps by a random angle; 0: never
    amplifier: none; rapp, a solid-state amplifier, which compresses amplitudes; or saleh, a
        travelling-wave tube, which also turns the phase with them
    back_off: mean power below the amplifier's saturation at its input, 0 to 60 dB
    carrier: what is left of it, -0.1 to 0.1 cycles a symbol
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
        core.constellation(self.constellation)
        if self.amplifier not in AMPLIFIERS:
            raise ValueError(f"amplifier is {self.amplifier}, allowed: {', '.join(AMPLIFIERS)}")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: {low} to {high}")

    def receive(self, labels, seed):
        """What the receiver gives: complex64 (2*n,), the middle of symbol i at 2*i.

        labels: uint8 (n,), 0 to M-1. seed: of the noise, the oscillators and the jumps, as of
        numpy's default_rng. A symbol of the first ray has unit power, until the amplifier takes
        some of it.
        """
        random = np.random.default_rng(seed)
        points = np.array(core.constellation(self.constellation).points)
        points /= np.sqrt(np.mean(abs(points) ** 2))
        pulse = _root_raised_cosine()
        sent = np.zeros(_OVERSAMPLED * len(labels), complex)
        sent[::_OVERSAMPLED] = points[labels]
        rays = fftconvolve(sent, pulse, "same")
        if self.amplifier != "none":
            driven = drive(rays, self.back_off)
            rays = AMPLIFIERS[self.amplifier](driven) * np.linalg.norm(rays) / np.linalg.norm(driven)
        late = round(_OVERSAMPLED * self.delay)
        symbols = np.arange(sent.size) / _OVERSAMPLED
        echo = np.concatenate([np.zeros(late), rays[:rays.size - late]])
        rays = rays + echo * self.echo * np.exp(1j * self._echo_phase(symbols, random))
        rays = rays * np.exp(1j * self._oscillator_phase(symbols, random))
        noise = random.standard_normal((sent.size, 2)).view(complex)[:, 0]
        rays = rays + np.sqrt(_OVERSAMPLED / 2) * 10 ** (-self.snr / 20) * noise
        matched = fftconvolve(rays, pulse / _OVERSAMPLED, "same")
        return matched[::_OVERSAMPLED // SPS].astype(np.complex64)

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
            step = np.sqrt(2 * np.pi * self.linewidth / _OVERSAMPLED)
            phase = phase + step * np.cumsum(random.standard_normal(symbols.size))
        return phase


def _root_raised_cosine():
    """Its impulse response, time zero in the middle, of energy _OVERSAMPLED."""
    size = _SPAN * _OVERSAMPLED
    frequency = np.fft.fftfreq(size, 1 / _OVERSAMPLED)
    beyond = np.clip((2 * abs(frequency) - 1) / _ROLL_OFF, -1, 1)
    taps = _OVERSAMPLED * np.fft.ifft(np.cos(np.pi / 4 * (beyond + 1))).real
    return np.append(np.fft.fftshift(taps), taps[size // 2])
