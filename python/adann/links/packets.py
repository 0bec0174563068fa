# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated packets, each through a radio channel of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .. import core
from .radio_link import OVERSAMPLED, SPAN, SPS, RadioLink, matched
from .simulation import random_labels


@dataclass(frozen=True)
class Packets:
    """Packets of a preamble and a payload, and noise before each.

    link: constellation, amplifier and noise of all. Each packet draws its second ray's amplitude
        from 0 to link.echo and its delay from 0 to link.delay, the rotation of that ray and the
        carrier from minus to plus the link's; its phase, and its delay within a sample.
    preamble: labels that each begins with.
    payload: random symbols after them.
    gap: symbols of noise alone before each packet, at least 32.
    """

    link: RadioLink
    preamble: tuple[int, ...]
    payload: int = 448
    gap: int = 96

    def __post_init__(self):
        if self.gap < 32:
            raise ValueError(f"gap is {self.gap}, allowed: 32 or more")

    @property
    def symbols(self) -> int:
        """From the beginning of a packet to that of the next."""
        return self.gap + len(self.preamble) + self.payload

    def receive(self, count: int, seed: int) -> tuple[npt.NDArray[np.complex64],
                                                      npt.NDArray[np.uint8]]:
        """(samples, labels): complex64, 2 a symbol; uint8 (count, preamble and payload).

        The first symbol of packet k is at symbol k * symbols + gap, but for a delay of half a
        sample at most.
        """
        random = np.random.default_rng(seed)
        bits = core.constellation(self.link.constellation).bits_per_symbol
        payload = random_labels(count * self.payload, [2, seed], bits).reshape(count, -1)
        preamble = np.tile(np.array(self.preamble, np.uint8), (count, 1))
        labels = np.concatenate([preamble, payload], axis=1)
        return self.arriving(labels, random), labels

    def arriving(self, labels: npt.NDArray[np.uint8],
                 random: np.random.Generator) -> npt.NDArray[np.complex64]:
        """The samples of packets (count, preamble and payload), as receive() has them."""
        rays = self.link.noise(OVERSAMPLED * (self.symbols * len(labels) + self.gap), random)
        for k, packet in enumerate(labels):
            arrived = self._through_its_channel(packet, random)
            first = OVERSAMPLED * (k * self.symbols + self.gap - SPAN // 2)
            rays[first:first + arrived.size] += arrived
        return matched(rays)

    def sought(self) -> list[complex]:
        """The preamble's samples, 2 a symbol, without channel and noise: for digital.corr_est_cc."""
        plain = replace(self.link, amplifier="none", echo=0, carrier=0)
        samples = matched(plain.rays(np.array(self.preamble, np.uint8), np.random.default_rng(0)))
        return [complex(sample) for sample in samples]

    def _through_its_channel(self, packet, random):
        link = self.link
        drawn = replace(link, echo=random.uniform(0, link.echo), delay=random.uniform(0, link.delay),
                        turns=random.uniform(-link.turns, link.turns),
                        carrier=random.uniform(-link.carrier, link.carrier))
        arrived = drawn.rays(packet, random, "full")
        late = random.uniform(-0.5, 0.5) * OVERSAMPLED / SPS
        turned = np.exp(2j * np.pi * (random.uniform() - late * np.fft.fftfreq(arrived.size)))
        return np.fft.ifft(np.fft.fft(arrived) * turned)
