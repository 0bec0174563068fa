# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated bursts whose known symbols lie where those of well-known systems do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .. import core
from .radio_link import OVERSAMPLED, SPS, RadioLink, matched
from .simulation import random_labels

_NOT_KNOWN = 255
_SINUSOIDS = 64  # of which a ray that fades is made


@dataclass(frozen=True)
class Frame:
    """Bursts of one system, each through a channel of its own.

    constellation: a name of core.constellation.names().
    known: label of each symbol, 255 where it is not known.
    rays: (delay in symbols, amplitude) of each; phases are drawn.
    doppler: Doppler spread of the rays, cycles a symbol, two standard deviations of a normal spectrum:
        with one all rays fade as Rayleigh's do, the more the lower their amplitude. 0: they stand still.
    carrier: offset, drawn between plus and minus this, cycles a symbol.
    linewidth, amplifier, back_off: as of RadioLink.

    The sample of the first symbol is MARGIN symbols from the beginning, and up to a quarter of a symbol off.
    """

    constellation: str
    known: npt.NDArray[np.uint8]
    rays: tuple[tuple[float, float], ...] = ((0, 1),)
    doppler: float = 0.0
    carrier: float = 0.0
    linewidth: float = 0.0
    amplifier: str = "none"
    back_off: float = 6.0

    SPS: ClassVar[int] = SPS
    MARGIN: ClassVar[int] = 24

    def receive(self, es_n0: float,
                seed: int | Sequence[int]) -> tuple[npt.NDArray[np.complex64], npt.NDArray[np.uint8]]:
        """(samples, labels) of a burst: complex64 (SPS (n + 2 MARGIN),), uint8 (n,); random ones where not known.

        es_n0: energy of a symbol, of all rays on average, over the noise's power density, dB.
        """
        seeds = [seed] if isinstance(seed, int) else list(seed)
        bits = core.constellation(self.constellation).bits_per_symbol
        labels = random_labels(self.known.size, [2, *seeds], bits)
        labels = np.where(self.known == _NOT_KNOWN, labels, self.known).astype(np.uint8)
        return self.through(labels, es_n0, [3, *seeds]), labels

    def through(self, labels: npt.NDArray[np.uint8], es_n0: float,
                seed: int | Sequence[int]) -> npt.NDArray[np.complex64]:
        """The same with these labels."""
        random = np.random.default_rng(seed)
        link = RadioLink(self.constellation, echo=0, amplifier=self.amplifier, back_off=self.back_off,
                         carrier=self._offset(random), linewidth=self.linewidth, snr=es_n0)
        sent = np.zeros(OVERSAMPLED * (labels.size + 2 * self.MARGIN), complex)
        arrived = link.rays(labels, random, "full")
        first = OVERSAMPLED * self.MARGIN - (arrived.size - OVERSAMPLED * labels.size + 1) // 2
        sent[first:first + arrived.size] = arrived
        return matched(self._received(sent, random) + link.noise(sent.size, random))

    def offset(self, seed: int | Sequence[int]) -> float:
        """The carrier's in receive() with this seed, cycles a symbol."""
        seeds = [seed] if isinstance(seed, int) else list(seed)
        return self._offset(np.random.default_rng([3, *seeds]))

    def without_carrier(self, samples: npt.NDArray, seed: int | Sequence[int]) -> npt.NDArray[np.complex128]:
        """Samples of receive() with this seed, without the carrier's offset."""
        return samples * np.exp(-2j * np.pi * self.offset(seed) / self.SPS * np.arange(samples.size))

    def _offset(self, random):
        return random.uniform(-self.carrier, self.carrier)

    def _received(self, wave, random):
        """All rays of it, a part of a symbol early or late."""
        timing = random.uniform(-0.25, 0.25)
        power = sum(amplitude**2 for _, amplitude in self.rays)
        return sum(amplitude / np.sqrt(power) * self._gain(wave.size, random)
                   * _later(wave, OVERSAMPLED * (delay + timing)) for delay, amplitude in self.rays)

    def _gain(self, samples, random):
        if not self.doppler:
            return np.exp(2j * np.pi * random.uniform())
        frequencies = random.normal(0, self.doppler / 2, _SINUSOIDS) / OVERSAMPLED
        weights = random.standard_normal((_SINUSOIDS, 2)) @ [1, 1j] / np.sqrt(2 * _SINUSOIDS)
        return np.exp(2j * np.pi * np.outer(np.arange(samples), frequencies)) @ weights


@dataclass(frozen=True)
class DiscriminatorFrame(Frame):
    """Real symbols that modulate a frequency, through a discriminator: samples have no imaginary part.

    deviation: of a level of 1, cycles a symbol, where levels have unit power. The carrier's offset adds a constant.
    es_n0 is that at the receiver's input; its filter is 2 * BAND cycles a symbol wide. linewidth, amplifier and
    back_off are not used.
    """

    deviation: float = 0.3

    BAND: ClassVar[float] = 1.25

    def through(self, labels: npt.NDArray[np.uint8], es_n0: float,
                seed: int | Sequence[int]) -> npt.NDArray[np.complex64]:
        random = np.random.default_rng(seed)
        offset = self._offset(random)
        link = RadioLink(self.constellation, echo=0, snr=es_n0)
        margin = OVERSAMPLED * self.MARGIN
        sent = np.zeros(OVERSAMPLED * labels.size + 2 * margin)
        sent[margin:-margin] = link.rays(labels, random).real
        turns = np.cumsum(self.deviation * sent + offset) / OVERSAMPLED
        received = self._received(np.exp(2j * np.pi * turns), random)
        spectrum = np.fft.fft(received + link.noise(sent.size, random))
        spectrum[abs(np.fft.fftfreq(sent.size, 1 / OVERSAMPLED)) > self.BAND] = 0
        inside = np.fft.ifft(spectrum)
        turned = np.angle(inside[1:] * inside[:-1].conj()) / (2 * np.pi)
        return matched(np.r_[turned, 0] * OVERSAMPLED / self.deviation).real.astype(np.complex64)

    def without_carrier(self, samples: npt.NDArray, seed: int | Sequence[int]) -> npt.NDArray[np.complex128]:
        return np.subtract(samples, self.offset(seed) / self.deviation, dtype=np.complex128)


def _later(wave, samples):
    turned = np.exp(-2j * np.pi * samples * np.fft.fftfreq(wave.size))
    return np.fft.ifft(np.fft.fft(wave) * turned)


def _known(symbols, runs, bits, of=None):
    """So many symbols, of which runs (first, count) are known; of these labels only, if given."""
    labels = random_labels(symbols, 11, bits)
    if of is not None:
        labels = np.array(of, np.uint8)[labels % len(of)]
    known = np.full(symbols, _NOT_KNOWN, np.uint8)
    for first, count in runs:
        known[first:first + count] = labels[first:first + count]
    return known


# Layout and rates are the systems' own, symbols and data are random; pi/4-DQPSK and D8PSK are their points, after
# a rotation that is known.
FRAMES = {
    # 18 kBd, 255 symbols, 11 in the middle; a vehicle's fading at 9 Hz.
    "TETRA": Frame("qpsk", _known(255, [(122, 11)], 2), rays=((0, 1), (0.27, 0.5)), doppler=5e-4, carrier=5e-3),
    # 10.5 kBd, 16 symbols at the start; an aircraft's Doppler shift, a reflection.
    "VDL2": Frame("8psk", _known(600, [(0, 16)], 3), rays=((0, 1), (1, 0.3)), carrier=1e-2),
    # 1800 Bd, 64 symbols, then 15 of each 45; two paths, one 1.7 ms later, 0.5 Hz of Doppler spread.
    "HFDL": Frame("8psk", _known(2164, [(0, 64), *((94 + 45 * k, 15) for k in range(46))], 3),
                  rays=((0, 1), (3, 0.5)), doppler=2.8e-4, carrier=2e-3),
    # 36 pilots after each 1440 symbols, 90 at the start; a tube near saturation, phase noise.
    "DVB-S2": Frame("16apsk", _known(90 + 5 * 1476, [(0, 90), *((90 + 1476 * k + 1440, 36) for k in range(5))], 4),
                    carrier=1e-3, linewidth=1e-5, amplifier="rapp", back_off=6),
    # 4800 Bd after a discriminator, 24 outer levels in the middle of 132; a vehicle's fading at 30 Hz.
    "DMR": DiscriminatorFrame("pam4", _known(132, [(54, 24)], 2, of=(0, 2)), doppler=6e-3, carrier=0.03),
}
