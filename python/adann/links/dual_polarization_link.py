# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated coherent link with both polarisations of light, mixed as the fibre pleases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve

from .. import core

SPS = 2               # samples a symbol, of the link and of the receiver
_ROLL_OFF = 0.1
_SPAN = 64            # symbols that the impulse response of each pulse filter lasts

_RANGES = {
    "swing": (0.01, 0.7), "angle": (-np.pi, np.pi), "turning": (-0.01, 0.01), "delay": (0, 8),
    "loss": (0, 20), "carrier": (-0.1, 0.1), "linewidth": (0, 0.01), "snr": (-10, 100)}


@dataclass(frozen=True)
class DualPolarizationLink:
    """Two label streams through a modulator each (root-raised-cosine pulses, roll-off 0.1), a
    fibre that rotates, delays and attenuates their polarisations, two lasers, noise, and the matched
    filters of a receiver that knows neither the polarisations nor the carrier.

    constellation: a name of core.constellation.names(), of complex points
    swing: rms of the voltage at each of the modulators' arms over V_pi, 0.01 to 0.7, as coherent_link's
    angle: of the receiver's axes against the sender's at the first symbol, -pi to pi rad
    turning: of that angle, -0.01 to 0.01 rad a symbol; 3.1e-6 is 100 krad/s at 32 GBd. The phase between
        the axes rotates as well, 0.6 times as fast, so that the state of polarisation comes around everywhere
    delay: between the fibre's two axes, which lie at 45 degrees to the receiver's, 0 to 8 symbols
        (polarisation-mode dispersion of first order)
    loss: of the receiver's second axis over its first one's, 0 to 20 dB (polarisation-dependent loss)
    carrier: offset of the lasers, -0.1 to 0.1 cycles a symbol
    linewidth: of the lasers' Wiener phase noise times the symbol's duration, 0 to 0.01: the phase's variance
        grows by 2*pi times this a symbol; both polarisations have the same
    snr: energy of a symbol of one polarisation over the noise's power density in each, -10 to 100 dB

    Raises ValueError, with name, value and range, for a parameter out of range.
    """

    constellation: str = "16qam"
    swing: float = 0.2
    angle: float = 0.3
    turning: float = 0.0
    delay: float = 0.5
    loss: float = 0.0
    carrier: float = 0.0
    linewidth: float = 0.0
    snr: float = 22.0

    def __post_init__(self):
        alphabet = core.constellation(self.constellation)
        if not alphabet.is_complex or alphabet.is_offset:
            raise ValueError(f"constellation is {self.constellation}, allowed: one of complex points, not oqpsk")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}, allowed: {low:.3g} to {high:.3g}")

    def receive(self, labels: npt.NDArray[np.uint8],
                seed: int | Sequence[int]) -> npt.NDArray[np.complex64]:
        """What the receiver gives: complex64 (2, 2*n), the middle of symbol i at 2*i.

        labels: uint8 (2, n), 0 to M-1. seed: of the noise and the lasers, as of numpy's default_rng.
        Both channels together have unit power each on average.
        """
        # Not of the seed itself: labels that are drawn from it would be in the noise.
        random = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        points = np.array(core.constellation(self.constellation).points)
        points /= np.sqrt(np.mean(abs(points) ** 2))
        pulse = _root_raised_cosine()
        sent = np.zeros((2, SPS * labels.shape[1]), complex)
        sent[:, ::SPS] = points[labels]
        field = self._modulated(fftconvolve(sent, pulse[None], "same", axes=1))
        symbols = np.arange(sent.shape[1]) / SPS
        field = self._fibre(field, symbols) * np.exp(1j * self._laser_phase(symbols, random))
        noise = random.standard_normal((2, sent.shape[1], 2)).view(complex)[..., 0]
        received = field + np.sqrt(SPS / 2) * 10 ** (-self.snr / 20) * noise
        matched = fftconvolve(received, pulse[None] / SPS, "same", axes=1)
        return (matched / np.sqrt(np.mean(abs(matched) ** 2))).astype(np.complex64)

    def _modulated(self, drive):
        """What Mach-Zehnder interferometers make of unit-power drives, again of unit power."""
        scale = np.pi / 2 * np.sqrt(2) * self.swing
        field = np.sin(scale * drive.real) + 1j * np.sin(scale * drive.imag)
        return field / np.sqrt(np.mean(abs(field) ** 2))

    def _fibre(self, field, symbols):
        angle = self.angle + self.turning * symbols
        between = np.exp(0.3j * self.turning * symbols)  # half of the phase between the axes
        x, y = field[0] * between, field[1] / between
        # The fibre's axes lie at 45 degrees.
        slow, fast = _turned(x, y, angle + np.pi / 4)
        shift = np.exp(1j * np.pi * np.fft.fftfreq(symbols.size, 1 / SPS) * self.delay)
        slow, fast = (np.fft.ifft(np.fft.fft(slow) / shift), np.fft.ifft(np.fft.fft(fast) * shift))
        x, y = _turned(slow, fast, -np.pi / 4)
        return np.stack([x, y * 10 ** (-self.loss / 20)])

    def _laser_phase(self, symbols, random):
        phase = 2 * np.pi * self.carrier * symbols
        if self.linewidth:
            step = np.sqrt(2 * np.pi * self.linewidth / SPS)
            phase = phase + step * np.cumsum(random.standard_normal(symbols.size))
        return phase


def _turned(x, y, angle):
    return np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y


def _root_raised_cosine():
    """Its impulse response, time zero in the middle, of energy SPS."""
    size = _SPAN * SPS
    frequency = np.fft.fftfreq(size, 1 / SPS)
    beyond = np.clip((2 * abs(frequency) - 1) / _ROLL_OFF, -1, 1)
    taps = SPS * np.fft.ifft(np.cos(np.pi / 4 * (beyond + 1))).real
    return np.append(np.fft.fftshift(taps), taps[size // 2])
