# SPDX-License-Identifier: GPL-3.0-or-later
"""What real front ends and long channels do to a radio link: one impairment to a stream."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.signal import fftconvolve

from .. import core
from ..captures.statistics import normalized
from ..links.link_parts import delayed
from ..links.radio_link import OVERSAMPLED, RadioLink, matched
from ..links.simulation import random_labels

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]
_WAVES = 16  # of a fading path


def link_of(constellation: str, snr: float) -> RadioLink:
    """What all have in common: a weak second ray."""
    return RadioLink(constellation, echo=0.15, delay=0.75, snr=snr)


def stream(constellation: str, snr: float, kind: str | None, strength: int, symbols: int,
           seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(samples normalised as a whole, labels); kind: of KINDS, None: none; strength: 0 to 2."""
    link = link_of(constellation, snr)
    in_field, in_receiver, oscillator = KINDS[kind] if kind else (None, None, {})
    random = np.random.default_rng([4, seed])
    labels = random_labels(symbols, [5, seed], core.constellation(constellation).bits_per_symbol)
    link = replace(link, **{name: values[strength] for name, values in oscillator.items()})
    samples = link.rays(labels, random)
    if in_field:
        samples = in_field(strength)(samples, random)
    samples = samples + link.noise(samples.size, random)
    if in_receiver:
        samples = in_receiver(strength)(samples, random)
    return normalized(matched(samples)), labels


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(abs(x) ** 2)))


def _late(*symbols: float) -> Callable[[int], Change]:
    """Echoes so many symbols late, each with a random phase."""
    def of(strength: int) -> Change:
        def change(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
            sum_of = x.copy()
            for late in symbols:
                shift = round(late * OVERSAMPLED)
                sum_of[shift:] += (0.15, 0.22, 0.3)[strength] * np.exp(2j * np.pi * random.random()) * x[:-shift]
            return sum_of
        return change
    return of


def _fading(strength: int) -> Change:
    """Rician, K = 6 dB; Doppler spread in cycles a symbol. Source of the sum of waves: Clarke's model."""
    spread = (1e-6, 1e-5, 1e-4)[strength]

    def change(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
        t = 2 * np.pi * spread / OVERSAMPLED * np.arange(x.size)
        waves = sum(np.exp(1j * (np.cos(angle) * t + phase))
                    for angle, phase in random.uniform(0, 2 * np.pi, (_WAVES, 2))) / np.sqrt(_WAVES)
        k = 10 ** 0.6
        return x * (np.sqrt(k / (k + 1)) + waves / np.sqrt(k + 1))
    return change


def _neighbour(switched: bool) -> Callable[[int], Change]:
    """QPSK of the same symbol rate 1.15 symbol rates away, on and off each 20,000 symbols if switched."""
    def of(strength: int) -> Change:
        def change(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
            labels = random.integers(0, 4, -(-x.size // OVERSAMPLED)).astype(np.uint8)
            other = RadioLink("qpsk", echo=0).rays(labels, random)[:x.size]
            t = np.arange(x.size) / OVERSAMPLED
            other = other * np.exp(2j * np.pi * 1.15 * t) * 10 ** ((0, 3, 6)[strength] / 20) * _rms(x)
            return x + other * ((t // 20000) % 2 if switched else 1)
        return change
    return of


def _tone(swept: bool) -> Callable[[int], Change]:
    """0.18 cycles a symbol off; swept over 0.2 of them within the stream."""
    def of(strength: int) -> Change:
        def change(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
            t = np.arange(x.size) / OVERSAMPLED
            phase = 0.18 * t + (0.1 * t ** 2 / t[-1] if swept else 0)
            return x + 10 ** ((-20, -14, -8)[strength] / 20) * _rms(x) * np.exp(2j * np.pi * phase)
        return change
    return of


def _clock(strength: int) -> Change:
    """A symbol clock that is fast by so many ppm."""
    def change(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
        return delayed(x, (0.5e-6, 2e-6, 8e-6)[strength] * np.arange(x.size))
    return change


def _jitter(random_walk: bool) -> Callable[[int], Change]:
    """A sampling clock that sways by a sine of 20,000 symbols, or white within 20; symbols of deviation."""
    def of(strength: int) -> Change:
        def change(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
            deviation = (0.01, 0.03, 0.1)[strength] * OVERSAMPLED
            if random_walk:
                slow = np.repeat(random.standard_normal(x.size // 80 + 1), 80)[:x.size]
                offset = deviation * np.convolve(slow, np.ones(80) / 80, "same")
            else:
                offset = deviation * np.sqrt(2) * np.sin(2 * np.pi * np.arange(x.size) / (20000 * OVERSAMPLED))
            return delayed(x, offset)
        return change
    return of


def _imbalance(strength: int) -> Change:
    """Gain of I over Q, and phase between them."""
    gain, angle = ((1.03, 2), (1.1, 6), (1.2, 12))[strength]

    def change(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
        skew = np.radians(angle)
        return np.sqrt(gain) * x.real + 1j * (x.imag * np.cos(skew) + x.real * np.sin(skew)) / np.sqrt(gain)
    return change


def _selective_imbalance(strength: int) -> Change:
    """Another filter in Q than in I: the image depends on the frequency."""
    a = (0.03, 0.08, 0.15)[strength]
    return lambda x, _: x.real + 1j * np.convolve(x.imag, [-a, 1, a], "same")


def _leakage(strength: int) -> Change:
    """A constant that comes on after an eighth of the stream: what is there throughout, normalising removes."""
    def change(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
        constant = 10 ** ((-26, -18, -10)[strength] / 20) * _rms(x) * np.exp(2j * np.pi * random.random())
        return x + constant * (np.arange(x.size) > x.size // 8)
    return change


def _converter(strength: int) -> Change:
    """So many bits; full scale is three times the rms of I and Q."""
    step = 2 * 3 / 2 ** (6, 4, 3)[strength]

    def change(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
        scale = _rms(x) / np.sqrt(2)

        def quantized(part: np.ndarray) -> np.ndarray:
            return (np.floor(np.clip(part / scale, -3, 3 - step / 2) / step) + 0.5) * step * scale
        return quantized(x.real) + 1j * quantized(x.imag)
    return change


def _impulses(strength: int) -> Change:
    """One sample in a thousand has noise this many times the signal's amplitude."""
    def change(x: np.ndarray, random: np.random.Generator) -> np.ndarray:
        hit = random.random(x.size) < 1e-3
        noise = random.standard_normal((x.size, 2)).view(complex)[:, 0] / np.sqrt(2)
        return x + hit * noise * (3, 10, 30)[strength] * _rms(x)
    return change


def _level_steps(strength: int) -> Change:
    """Each 30,000 symbols another of two levels."""
    low = 10 ** (-(1, 3, 6)[strength] / 20)
    return lambda x, _: x * np.where(np.arange(x.size) // (30000 * OVERSAMPLED) % 2, low, 1)


def _hum(strength: int) -> Change:
    """An offset that sways with 1e-4 cycles a symbol."""
    swing = (0.03, 0.1, 0.3)[strength]
    return lambda x, _: x + swing * _rms(x) * np.sin(2 * np.pi * 1e-4 * np.arange(x.size) / OVERSAMPLED)


def _droop(strength: int) -> Change:
    """Capacitors that take off what is slow: time constants in symbols."""
    symbols = (3000, 300, 60)[strength]

    def change(x: np.ndarray, _: np.random.Generator) -> np.ndarray:
        length = 8 * symbols * OVERSAMPLED
        slow = np.exp(-np.arange(length) / (symbols * OVERSAMPLED))
        return x - fftconvolve(x, slow / slow.sum())[:x.size]
    return change


# {kind: (change of what is sent, change of what comes in with the noise, values of RadioLink's parameters)}
KINDS: dict[str, tuple[Callable[[int], Change] | None, Callable[[int], Change] | None, dict]] = {
    "I/Q imbalance": (None, _imbalance, {}),
    "selective imbalance": (None, _selective_imbalance, {}),
    "carrier leakage": (None, _leakage, {}),
    "late echo": (_late(11), None, {}),
    "two late echoes": (_late(17.25, 41), None, {}),
    "neighbour": (_neighbour(False), None, {}),
    "switched neighbour": (_neighbour(True), None, {}),
    "tone": (None, _tone(False), {}),
    "swept tone": (None, _tone(True), {}),
    "Rician fading": (_fading, None, {}),
    "clock": (_clock, None, {}),
    "sine jitter": (_jitter(False), None, {}),
    "random jitter": (_jitter(True), None, {}),
    "linewidth": (None, None, dict(linewidth=(1e-6, 1e-5, 5e-5))),
    "converter": (None, _converter, {}),
    "impulses": (None, _impulses, {}),
    "level steps": (_level_steps, None, {}),
    "hum": (None, _hum, {}),
    "droop": (None, _droop, {})}
