# SPDX-License-Identifier: GPL-3.0-or-later
"""What the randomly drawn links are put together from: pulses, filters, echoes, noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .. import core

# Signal-to-noise ratio in dB, of the signal's power to that of the noise in the symbol rate; a real
# signal's noise has half the dimensions, and so half the power, of a complex one's.
SNR = {"pam2": (8, 14), "pam4": (15, 22), "pam8": (22, 29),
       "qpsk": (9, 15), "16qam": (16, 23), "64qam": (23, 30),
       "8psk": (14, 20), "16apsk": (16, 23), "32apsk": (19, 26)}
_SPAN = 6  # symbols on each side that a pulse lasts


def draw_snr(random: np.random.Generator, constellation: str) -> float:
    return random.uniform(*SNR[constellation])


def is_complex(constellation: str) -> bool:
    return core.constellation(constellation).is_complex


def shaped(constellation: str, sps: int, labels: npt.NDArray[np.uint8], pulse: npt.NDArray) -> npt.NDArray:
    """Points of unit power through a pulse, the middle of symbol i at sample i*sps."""
    alphabet = core.constellation(constellation)
    points = np.array(alphabet.points)
    points = points / np.sqrt(np.mean(np.abs(points) ** 2))
    sent = np.zeros(labels.size * sps, complex if alphabet.is_complex else float)
    sent[::sps] = points[labels] if alphabet.is_complex else points.real[labels]
    return np.convolve(sent, pulse, "same")


def raised_cosine(sps: int, roll_off: float) -> npt.NDArray:
    time = np.arange(-_SPAN * sps, _SPAN * sps + 1) / sps + 1e-9  # off the removable poles
    return np.sinc(time) * np.cos(np.pi * roll_off * time) / (1 - (2 * roll_off * time) ** 2)


def root_raised_cosine(sps: int, roll_off: float) -> npt.NDArray:
    """Of unit energy, so that noise of a power per sample keeps it."""
    time = np.arange(-_SPAN * sps, _SPAN * sps + 1) / sps + 1e-7
    pulse = (np.sin(np.pi * time * (1 - roll_off))
             + 4 * roll_off * time * np.cos(np.pi * time * (1 + roll_off))) / (
                 np.pi * time * (1 - (4 * roll_off * time) ** 2))
    return pulse / np.linalg.norm(pulse)


def draw_echoes(random: np.random.Generator, norm: float, sps: int, complex_: bool, path: float = 1.0) -> npt.NDArray:
    """Taps, `path` in the middle and echoes of this norm up to three symbols away on each side."""
    reach = 3 * sps
    parts = random.standard_normal((2, 2 * reach + 1)) * np.exp(
        -np.abs(np.arange(-reach, reach + 1)) / sps)
    taps = parts[0] + 1j * parts[1] * complex_
    taps *= random.uniform(0.5, 1) * norm / np.linalg.norm(taps)
    taps[reach] += path
    return taps if complex_ else taps.real


def draw_rays(random: np.random.Generator, count: int, norm: float) -> npt.NDArray:
    """The amplitude of each ray but the first one, relative to that."""
    parts = random.standard_normal((2, count))
    return norm * (parts[0] + 1j * parts[1]) / np.linalg.norm(parts)


def with_rays(x: npt.NDArray, sps: int, delays: npt.NDArray, rays: npt.NDArray) -> npt.NDArray:
    """x and its rays, so many symbols late each; the record is taken for periodic. Real x, real rays: real."""
    return in_frequency(x, sps, lambda frequency:
                        1 + np.exp(-2j * np.pi * np.outer(frequency, delays)) @ rays)


def in_frequency(x: npt.NDArray, sps: int, response: Callable[[npt.NDArray], npt.NDArray]) -> npt.NDArray:
    """x through a frequency response, a function of frequencies over the symbol rate."""
    y = np.fft.ifft(np.fft.fft(x) * response(np.fft.fftfreq(x.size, 1 / sps)))
    return y if np.iscomplexobj(x) else y.real


def low_pass(x: npt.NDArray, sps: int, bandwidth: float) -> npt.NDArray:
    """Through a Gaussian low-pass. bandwidth: its frequency at -3 dB over the symbol rate."""
    return in_frequency(x, sps, lambda frequency: np.exp(-np.log(2) / 2 * (frequency / bandwidth) ** 2))


def filtered(x: npt.NDArray, taps: npt.NDArray) -> npt.NDArray:
    return unit_power(np.convolve(x, taps, "same"))


def unit_power(x: npt.NDArray) -> npt.NDArray:
    return x / np.sqrt(np.mean(np.abs(x) ** 2))


def with_noise(random: np.random.Generator, x: npt.NDArray, sps: int, snr: float) -> npt.NDArray:
    """x of unit power with white noise; snr as in SNR."""
    return x + 10 ** (-snr / 20) * np.sqrt(sps) * white(random, x)


def white(random: np.random.Generator, like: npt.NDArray) -> npt.NDArray:
    """Noise of unit power, real or complex as the signal is."""
    if np.iscomplexobj(like):
        return (random.standard_normal((like.size, 2)) * np.sqrt(0.5)).view(complex)[:, 0]
    return random.standard_normal(like.size)


def delayed(x: npt.NDArray, offset: npt.NDArray) -> npt.NDArray:
    """x at `offset` (n,) samples after each of its own, by cubic Lagrange interpolation."""
    at = np.clip(np.arange(x.size) + offset, 1, x.size - 3)
    i = at.astype(int)
    f = at - i
    return (-f * (f - 1) * (f - 2) / 6 * x[i - 1] + (f + 1) * (f - 1) * (f - 2) / 2 * x[i]
            - (f + 1) * f * (f - 2) / 2 * x[i + 1] + (f + 1) * f * (f - 1) / 6 * x[i + 2])


def single(x: npt.NDArray) -> npt.NDArray:
    return x.astype(np.complex64 if np.iscomplexobj(x) else np.float32)
