# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of many makers: drawn at random from families of nonlinear links, with a drift each.

Two sets that share nothing. What is decided while the method is made is decided on "development";
"untouched" is run only to say how good it is. They differ in their seeds and in their families:

| | development | untouched |
|---|---|---|
| Wiener-Hammerstein: filter, nonlinearity, filter | polynomial of degree 3 (5 if complex) | limiter with an offset, tanh |
| optical | vcsel_mmf_link, PAM4 | coherent_link, 16QAM |
| amplifier and multipath, root raised cosines | Saleh, two or three rays | Rapp, four rays |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.statistics import normalized
from .amplifier import AMPLIFIERS, drive
from .coherent_link import coherent_link
from .simulation import random_labels, simulate_changing
from .vcsel_mmf_link import vcsel_mmf_link

SETS = {"development": ("polynomial", "vcsel", "saleh"),
        "untouched": ("limiter", "coherent", "rapp")}
# Signal-to-noise ratio in dB, of the signal's power to that of the noise in the symbol rate; a real
# signal's noise has half the dimensions, and so half the power, of a complex one's.
_SNR = {"pam2": (8, 14), "pam4": (15, 22), "pam8": (22, 29),
        "qpsk": (9, 15), "16qam": (16, 23), "64qam": (23, 30)}
_SPAN = 6  # symbols on each side that a pulse lasts


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

    Families take turns; constellation, samples a symbol and parameters are drawn.
    Raises ValueError for another name or number.
    """
    if name not in SETS:
        raise ValueError(f"set is {name!r}, allowed: {', '.join(SETS)}")
    if not 0 <= number <= 9999:
        raise ValueError(f"number is {number}, allowed: 0 to 9999")
    family = SETS[name][number % len(SETS[name])]
    random = np.random.default_rng([list(SETS).index(name), number])
    return _FAMILIES[family][0](family, random)


# Wiener-Hammerstein: sample rate sps a symbol throughout.

def _draw_wiener_hammerstein(family, random):
    constellation = str(random.choice(list(_SNR)))
    is_complex = core.constellation(constellation).is_complex
    sps = int(random.choice([2, 4]))
    start = {"first": _echoes(random, 0.25, sps, is_complex),
             "second": _echoes(random, 0.15, sps, is_complex),
             "snr": random.uniform(*_SNR[constellation]),
             "early_noise": random.uniform(0, 0.6),  # part of its power before the nonlinearity
             "bend": _bend(family, random, is_complex)}
    end = {**start,
           "first": start["first"] + _echoes(random, 0.9, sps, is_complex, path=0),
           "second": start["second"] + _echoes(random, 0.4, sps, is_complex, path=0)}
    if random.random() < 0.5:
        end["bend"] = _bend(family, random, is_complex)
    return Link(family, constellation, sps, start, end)


def _bend(family, random, is_complex):
    if family == "limiter":  # drive over the limit, and offset
        return np.array([random.uniform(0.15, 0.55), random.uniform(-0.3, 0.3) * (not is_complex)])
    if is_complex:
        cubic = random.uniform(0, 0.08) * np.exp(1j * random.uniform(-0.8, 0.8))
        return np.array([-cubic, random.uniform(0, 0.01)])
    return np.array([random.uniform(-0.12, 0.12), -random.uniform(0, 0.06)])


def _receive_wiener_hammerstein(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    x = _filtered(_shaped(link, labels, _raised_cosine(link.sps, 0.35)), now["first"])
    noise = 10 ** (-now["snr"] / 20) * np.sqrt(link.sps)
    x = x + noise * np.sqrt(now["early_noise"]) * _white(random, x)
    first, second = now["bend"]
    if link.family == "limiter":
        x = np.tanh(first * x + second) / first if not np.iscomplexobj(x) else \
            x * np.tanh(first * np.abs(x)) / (first * np.abs(x) + 1e-9)
    elif np.iscomplexobj(x):
        power = np.abs(x) ** 2
        x = x * (1 + first * power + second * power**2)
    else:
        x = x + first * (x**2 - 1) + second * x**3
    x = x - x.mean()
    x = _filtered(x / np.sqrt(np.mean(np.abs(x) ** 2)), now["second"])
    return _single(x + noise * np.sqrt(1 - now["early_noise"]) * _white(random, x))


# Amplifier, rays, matched filter.

def _draw_amplified(family, random):
    constellation = str(random.choice(["qpsk", "16qam", "64qam"]))
    least = {"qpsk": 1, "16qam": 5, "64qam": 9}[constellation]
    back_off = random.uniform(least, least + 8)
    rays = 4 if family == "rapp" else int(random.integers(2, 4))
    start = {"back_off": back_off, "snr": random.uniform(*_SNR[constellation]),
             "roll_off": random.uniform(0.2, 0.5), "delays": random.uniform(-2.5, 2.5, rays - 1),
             "rays": _rays(random, rays - 1, 0.2)}
    end = {**start, "rays": start["rays"] + _rays(random, rays - 1, 0.55)}
    if random.random() < 0.5:
        end["back_off"] = max(0.5, back_off - random.uniform(0, 3))
    return Link(family, constellation, 2, start, end)


def _rays(random, count, norm):
    """What each ray beside the first one has of its amplitude."""
    parts = random.standard_normal((2, count))
    return norm * (parts[0] + 1j * parts[1]) / np.linalg.norm(parts)


def _receive_amplified(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    pulse = _root_raised_cosine(link.sps, now["roll_off"])
    x = AMPLIFIERS[link.family](drive(_shaped(link, labels, pulse), float(now["back_off"])))
    x = x / np.sqrt(np.mean(np.abs(x) ** 2))
    frequency = np.fft.fftfreq(x.size, 1 / link.sps)
    path = 1 + np.exp(-2j * np.pi * np.outer(frequency, now["delays"])) @ now["rays"]
    x = np.fft.ifft(np.fft.fft(x) * path)
    noise = 10 ** (-now["snr"] / 20) * np.sqrt(link.sps)
    return _single(np.convolve(x + noise * _white(random, x), pulse, "same"))


# The optical links of this package with random parameters.

def _draw_vcsel(family, random):
    def some(skew, bend):
        powers = random.dirichlet([4, 8, 4])
        return {"mode_powers": powers, "bias": random.uniform(4, 8),
                "quadratic": random.uniform(-bend, 0.02), "cubic": random.uniform(-0.02, 0.01),
                "skew": random.uniform(0, skew), "noise": 0.0, "timing": 0.0}
    start, end = some(3, 0.08), some(4, 0.12)
    start["noise"] = random.uniform(0.07, 0.13)
    end["noise"] = start["noise"] * random.uniform(0.8, 1.2)
    end["mode_powers"] = random.dirichlet([1.5, 1.5, 1.5])
    end["timing"] = random.uniform(-0.15, 0.15)
    return Link(family, "pam4", 4, start, end)


def _draw_coherent(family, random):
    start = {"swing": random.uniform(0.1, 0.3), "bias": random.uniform(-0.05, 0.05),
             "iq_gain": random.uniform(-0.5, 0.5), "iq_phase": random.uniform(-4, 4),
             "dispersion": random.uniform(-120, 120), "polarization": random.uniform(-4, 4),
             "nonlinear_phase": random.uniform(0, 0.25), "snr": random.uniform(18, 22),
             "timing": 0.0}
    end = {**start, "swing": random.uniform(0.1, 0.35), "bias": random.uniform(-0.1, 0.1),
           "iq_phase": random.uniform(-12, 12), "polarization": random.uniform(-6, 6),
           "dispersion": start["dispersion"] + random.choice([-1, 1]) * random.uniform(60, 160),
           "timing": random.uniform(-0.15, 0.15)}
    return Link(family, "16qam", 4, start, end)


def _receive_optical(link, labels, now, seed):
    make = vcsel_mmf_link if link.family == "vcsel" else coherent_link
    values = {name: tuple(value) if value.ndim else float(value) for name, value in now.items()}
    return simulate_changing(make, labels, [values], seed, link.sps)


_FAMILIES = {"polynomial": (_draw_wiener_hammerstein, _receive_wiener_hammerstein),
             "limiter": (_draw_wiener_hammerstein, _receive_wiener_hammerstein),
             "saleh": (_draw_amplified, _receive_amplified),
             "rapp": (_draw_amplified, _receive_amplified),
             "vcsel": (_draw_vcsel, _receive_optical),
             "coherent": (_draw_coherent, _receive_optical)}


# What the simulated families share.

def _shaped(link, labels, pulse):
    alphabet = core.constellation(link.constellation)
    points = np.array(alphabet.points)
    points = points / np.sqrt(np.mean(np.abs(points) ** 2))
    sent = np.zeros(labels.size * link.sps, complex if alphabet.is_complex else float)
    sent[::link.sps] = points[labels] if alphabet.is_complex else points.real[labels]
    return np.convolve(sent, pulse, "same")


def _echoes(random, norm, sps, is_complex, path=1.0):
    """Taps, `path` in the middle and echoes of this norm up to three symbols away on each side."""
    reach = 3 * sps
    parts = random.standard_normal((2, 2 * reach + 1)) * np.exp(
        -np.abs(np.arange(-reach, reach + 1)) / sps)
    taps = parts[0] + 1j * parts[1] * is_complex
    taps *= random.uniform(0.5, 1) * norm / np.linalg.norm(taps)
    taps[reach] += path
    return taps if is_complex else taps.real


def _filtered(x, taps):
    y = np.convolve(x, taps, "same")
    return y / np.sqrt(np.mean(np.abs(y) ** 2))


def _white(random, like):
    """Noise of unit power, real or complex as the signal is."""
    if np.iscomplexobj(like):
        return (random.standard_normal((like.size, 2)) * np.sqrt(0.5)).view(complex)[:, 0]
    return random.standard_normal(like.size)


def _raised_cosine(sps, roll_off):
    time = np.arange(-_SPAN * sps, _SPAN * sps + 1) / sps + 1e-9  # off the removable poles
    return np.sinc(time) * np.cos(np.pi * roll_off * time) / (1 - (2 * roll_off * time) ** 2)


def _root_raised_cosine(sps, roll_off):
    """Of unit energy, so that noise of a power per sample keeps it."""
    time = np.arange(-_SPAN * sps, _SPAN * sps + 1) / sps + 1e-7
    pulse = (np.sin(np.pi * time * (1 - roll_off))
             + 4 * roll_off * time * np.cos(np.pi * time * (1 + roll_off))) / (
                 np.pi * time * (1 - (4 * roll_off * time) ** 2))
    return pulse / np.linalg.norm(pulse)


def _single(x):
    return x.astype(np.complex64 if np.iscomplexobj(x) else np.float32)
