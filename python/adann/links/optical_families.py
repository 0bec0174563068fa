# SPDX-License-Identifier: GPL-3.0-or-later
"""Randomly drawn optical links.

draw and receive of a family are as in baseband_families.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .coherent_link import coherent_link
from .link_parts import draw_snr, in_frequency, low_pass, raised_cosine, shaped, single, unit_power, white
from .simulation import simulate_changing
from .vcsel_mmf_link import vcsel_mmf_link

_SPS = 4


# The links of this package with random parameters.

def _draw_vcsel(_, random):
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
    return "pam4", _SPS, start, end


def _draw_coherent(_, random):
    start = {"swing": random.uniform(0.1, 0.3), "bias": random.uniform(-0.05, 0.05),
             "iq_gain": random.uniform(-0.5, 0.5), "iq_phase": random.uniform(-4, 4),
             "dispersion": random.uniform(-120, 120), "polarization": random.uniform(-4, 4),
             "nonlinear_phase": random.uniform(0, 0.25), "snr": random.uniform(18, 22),
             "timing": 0.0}
    end = {**start, "swing": random.uniform(0.1, 0.35), "bias": random.uniform(-0.1, 0.1),
           "iq_phase": random.uniform(-12, 12), "polarization": random.uniform(-6, 6),
           "dispersion": start["dispersion"] + random.choice([-1, 1]) * random.uniform(60, 160),
           "timing": random.uniform(-0.15, 0.15)}
    return "16qam", _SPS, start, end


def _receive_simulated(link, labels, now, seed):
    make = vcsel_mmf_link if link.family == "vcsel" else coherent_link
    values = {name: tuple(value) if value.ndim else float(value) for name, value in now.items()}
    return simulate_changing(make, labels, [values], seed, link.sps)


# Intensity modulation by a Mach-Zehnder modulator whose bias wanders, dispersion of the field, a photodiode.
# Source: Agrawal, Fiber-Optic Communication Systems, 2.4 and 3.4.

def _draw_square_law(_, random):
    constellation = str(random.choice(["pam2", "pam4", "pam4", "pam8"]))
    start = {"swing": random.uniform(0.12, 0.28), "bias": random.uniform(-0.1, 0.1),  # radians of the field's sine
             "dispersion": random.choice([-1, 1]) * random.uniform(0.05, 0.2),
             "bandwidth": random.uniform(0.6, 0.9), "snr": draw_snr(random, constellation)}
    end = {**start, "bias": random.uniform(-0.5, 0.5),
           "dispersion": start["dispersion"] + np.sign(start["dispersion"]) * random.uniform(0.4, 1.2)}
    return constellation, _SPS, start, end


def _receive_square_law(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    x = shaped(link.constellation, link.sps, labels, raised_cosine(link.sps, 0.35))
    light = square_law(np.pi / 4 + now["bias"] + now["swing"] * x, link.sps, now["dispersion"])
    return _detected(link, light, now, random)


def square_law(phase: npt.NDArray, sps: int, dispersion: float) -> npt.NDArray:
    """Power (n,) at the fibre's end of a field of the sine of a modulator's phase (n,), sps samples a symbol.
    dispersion: λ² D L R² / c of the wavelength, the fibre's dispersion and length, the symbol rate, light's speed."""
    field = in_frequency(np.sin(phase) + 0j, sps, lambda f: np.exp(1j * np.pi * dispersion * f ** 2))
    return np.abs(field) ** 2


# A light-emitting diode: carriers n that recombine alone and in pairs, of which light comes; more of them are faster.
# dn/dt = rate (current - (1 - pairs) n - pairs n²), light n². Source: Deng et al., "Mitigating LED nonlinearity to
# enhance visible light communications", IEEE Trans. Commun. 2018.

_RUN_IN = 32    # symbols
_STRETCH = 512  # symbols, which are solved next to each other


def _draw_led(_, random):
    constellation = str(random.choice(["pam2", "pam4", "pam4", "pam8"]))
    start = {"rate": 2 * np.pi * random.uniform(0.15, 0.4), "pairs": random.uniform(0.3, 1),
             "depth": random.uniform(0.4, 0.8),  # of the modulated current over the mean one
             "bandwidth": random.uniform(0.6, 0.9), "snr": draw_snr(random, constellation)}
    end = {**start, "rate": start["rate"] * random.choice([0.2, 4]), "pairs": random.uniform(0.3, 1),
           "depth": min(0.85, start["depth"] * random.uniform(0.8, 1.4))}
    return constellation, _SPS, start, end


def _receive_led(link, labels, now, seed):
    x = shaped(link.constellation, link.sps, labels, raised_cosine(link.sps, 1.0))
    current = np.maximum(0, 1 + now["depth"] * x / np.max(np.abs(x)))
    light = led_light(current, link.sps, now["rate"], now["pairs"])
    return _detected(link, light, now, np.random.default_rng([4, seed]))


def led_light(current: npt.NDArray, sps: int, rate: float, pairs: float) -> npt.NDArray:
    """Light (n,) of a current (n,), sps samples a symbol, that holds between samples. rate, of a symbol, and pairs,
    more than 0: as above."""
    around = np.pad(current, (_RUN_IN * sps, -current.size % (_STRETCH * sps)), "edge")
    rows = np.lib.stride_tricks.sliding_window_view(around, (_RUN_IN + _STRETCH) * sps)[::_STRETCH * sps]
    # Where the current holds, (n - final) / (n - other) of the two roots of dn/dt decays exponentially.
    root = np.sqrt((1 - pairs) ** 2 + 4 * pairs * rows)
    final, other = (root - (1 - pairs)) / (2 * pairs), (-root - (1 - pairs)) / (2 * pairs)
    decay = np.exp(-rate / sps * root)
    carriers, light = np.ones(len(rows)), np.empty(rows.shape)
    for i in range(rows.shape[1]):
        ratio = (carriers - final[:, i]) / (carriers - other[:, i]) * decay[:, i]
        carriers = (final[:, i] - other[:, i] * ratio) / (1 - ratio)
        light[:, i] = carriers ** 2
    return light[:, _RUN_IN * sps:].ravel()[:current.size]


# A laser whose light lights mode groups of a fibre that arrive up to a symbol before and after the mean one.

def _draw_modes(_, random):
    count = int(random.integers(3, 6))
    delays, powers = np.sort(random.uniform(-0.7, 0.7, count)), random.dirichlet(np.full(count, 8))
    start = {"delays": delays - delays @ powers, "powers": powers,  # symbols; the mean one arrives in time
             "bend": np.array([random.uniform(-0.1, 0.02), random.uniform(-0.03, 0.01)]),
             "driver": random.uniform(0.55, 0.8), "bandwidth": random.uniform(0.55, 0.8),
             "snr": draw_snr(random, "pam4") + 2, "shot": random.uniform(0, 0.3)}
    end = {**start, "powers": random.dirichlet(np.full(count, 0.7)),
           "bend": np.array([random.uniform(-0.14, 0.02), random.uniform(-0.03, 0.01)])}
    return "pam4", _SPS, start, end


def _receive_modes(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    # Levels that hold for a symbol, its middle at i*sps: half of the samples at the edges.
    held = shaped(link.constellation, link.sps, labels, np.r_[0.5, np.ones(link.sps - 1), 0.5])
    x = low_pass(held, link.sps, now["driver"])
    x = x + now["bend"][0] * (x ** 2 - 1) + now["bend"][1] * x ** 3
    x = in_frequency(x, link.sps, lambda f: np.exp(-2j * np.pi * np.outer(f, now["delays"])) @ now["powers"])
    return _detected(link, x, now, random)


def _detected(link, light, now, random):
    """What a photodiode gives without its mean: light, noise, which may grow with it, and a low-pass."""
    x = unit_power(light - light.mean())
    level = np.maximum(0, 1 + now["shot"] * x) if "shot" in now else 1.0
    noise = 10 ** (-now["snr"] / 20) * np.sqrt(link.sps) * white(random, x)
    return single(low_pass(x + noise * level, link.sps, now["bandwidth"]))


FAMILIES = {"vcsel": (_draw_vcsel, _receive_simulated),
            "coherent": (_draw_coherent, _receive_simulated),
            "square_law": (_draw_square_law, _receive_square_law),
            "led": (_draw_led, _receive_led),
            "modes": (_draw_modes, _receive_modes)}
