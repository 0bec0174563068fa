# SPDX-License-Identifier: GPL-3.0-or-later
"""Randomly drawn links without a carrier: filters and nonlinearities, converters, reflections, impulses, clocks.

For each family two functions. draw(family, random) gives (constellation, samples a symbol, parameters before the
drift, and after the largest one); receive(link, labels, now, seed) what comes in with the parameters `now`.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from .link_parts import (
    delayed,
    draw_echoes,
    draw_snr,
    filtered,
    is_complex,
    raised_cosine,
    shaped,
    single,
    unit_power,
    white,
    with_noise,
    with_rays,
)

_ROLL_OFF = 0.35
_BITS = 6       # of a converter
_CLOCK_SPS = 4  # samples between which is interpolated


# Wiener-Hammerstein: filter, nonlinearity without memory, filter.

def _draw_wiener_hammerstein(family, random):
    constellation = str(random.choice(["pam2", "pam4", "pam8", "qpsk", "16qam", "64qam"]))
    complex_ = is_complex(constellation)
    sps = int(random.choice([2, 4]))
    start = {"first": draw_echoes(random, 0.25, sps, complex_),
             "second": draw_echoes(random, 0.15, sps, complex_),
             "snr": draw_snr(random, constellation),
             "early_noise": random.uniform(0, 0.6),  # part of its power before the nonlinearity
             "bend": _draw_bend(family, random, complex_)}
    end = {**start,
           "first": start["first"] + draw_echoes(random, 0.9, sps, complex_, path=0),
           "second": start["second"] + draw_echoes(random, 0.4, sps, complex_, path=0)}
    if random.random() < 0.5:
        end["bend"] = _draw_bend(family, random, complex_)
    return constellation, sps, start, end


def _draw_bend(family, random, complex_):
    if family == "limiter":  # drive over the limit, and offset
        return np.array([random.uniform(0.15, 0.55), random.uniform(-0.3, 0.3) * (not complex_)])
    if complex_:
        cubic = random.uniform(0, 0.08) * np.exp(1j * random.uniform(-0.8, 0.8))
        return np.array([-cubic, random.uniform(0, 0.01)])
    return np.array([random.uniform(-0.12, 0.12), -random.uniform(0, 0.06)])


def _receive_wiener_hammerstein(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    x = filtered(_sent(link, labels), now["first"])
    noise = 10 ** (-now["snr"] / 20) * np.sqrt(link.sps)
    x = x + noise * np.sqrt(now["early_noise"]) * white(random, x)
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
    x = filtered(unit_power(x), now["second"])
    return single(x + noise * np.sqrt(1 - now["early_noise"]) * white(random, x))


# Echoes, and a receiver that is coupled by capacitors and whose converter clips.

def _draw_converter(_, random):
    constellation, sps, start, end = _draw_linear(random, ["pam4", "pam8", "16qam", "64qam"])
    # In rms of I, of Q; the outermost points have 1.3 to 1.5 of it, between symbols there is more.
    start["full_scale"] = random.uniform(1.9, 2.6)
    end["full_scale"] = start["full_scale"] * random.uniform(0.7, 1)
    start["slowness"] = np.exp(random.uniform(np.log(1 / 1000), np.log(1 / 100)))  # over the time constant, a symbol
    end["slowness"] = start["slowness"] * random.uniform(1, 3)
    return constellation, sps, start, end


def _receive_converter(link, labels, now, seed):
    x = _received(link, labels, now, np.random.default_rng([4, seed]))
    x = unit_power(_without_slow(x, float(now["slowness"]) / link.sps))
    limit = float(now["full_scale"]) * (np.sqrt(0.5) if np.iscomplexobj(x) else 1)
    if not np.iscomplexobj(x):
        return single(_converted(x, limit))
    return single(_converted(x.real, limit) + 1j * _converted(x.imag, limit))


def _without_slow(x, rate):
    """Through a high-pass of first order. rate: one over its time constant, per sample."""
    return x - lfilter([rate], [1, rate - 1], x)


def _converted(x, limit):
    step = 2 * limit / 2 ** _BITS
    return (np.floor(np.clip(x, -limit, limit - step / 2) / step) + 0.5) * step


# Reflections from far away, and another sender's signal through its own echoes.

def _draw_reflections(_, random):
    constellation, sps, start, end = _draw_linear(random, ["pam2", "pam4", "pam8", "16qam"], 0.15, 0.3)
    noise = 10 ** (-start["snr"] / 20)
    count = int(random.integers(2, 5))

    def some(norm):
        rays = random.standard_normal(count) * np.exp(2j * np.pi * random.random(count))
        rays = rays if is_complex(constellation) else rays.real
        return norm * rays / np.linalg.norm(rays)

    start["delays"] = random.uniform(3, 9, count)  # symbols
    start["reflections"] = some(random.uniform(0.4, 1) * noise)
    start["other_path"] = draw_echoes(random, 1.0, sps, is_complex(constellation), path=0)
    start["crosstalk"] = random.uniform(0.2, 0.6) * noise
    end = {**start, **end, "delays": start["delays"], "reflections": some(0.3),
           "crosstalk": start["crosstalk"] * random.uniform(0.8, 1.5)}
    return constellation, sps, start, end


def _receive_reflections(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    x = unit_power(with_rays(filtered(_sent(link, labels), now["echoes"]), link.sps, now["delays"], now["reflections"]))
    other = _sent(link, random.integers(0, 2 ** link.bits, labels.size).astype(np.uint8))
    x = x + now["crosstalk"] * filtered(other, now["other_path"])
    return single(with_noise(random, x, link.sps, now["snr"]))


# Echoes, and noise of which a few samples have a lot: Bernoulli-Gaussian. Source: Ghosh, "Analysis of the effect of
# impulse noise on multicarrier and single carrier QAM systems", IEEE Trans. Commun. 1996.

def _draw_impulses(_, random):
    constellation, sps, start, end = _draw_linear(random, ["pam4", "qpsk", "16qam", "64qam"])
    start["rate"] = np.exp(random.uniform(np.log(1e-4), np.log(2e-3)))  # part of the samples
    start["strength"] = random.uniform(2, 12)                           # over the signal's rms
    end["rate"] = start["rate"] * random.uniform(1, 2)
    end["strength"] = start["strength"]
    return constellation, sps, start, end


def _receive_impulses(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    x = _received(link, labels, now, random)
    hit = random.random(x.size) < now["rate"]
    return single(x + hit * now["strength"] * white(random, x))


# Echoes, and a receiver's clock that is a few ppm off, now this way, now the other.

def _draw_clock(_, random):
    constellation = str(random.choice(["pam4", "qpsk", "8psk", "16qam"]))
    start = {"echoes": draw_echoes(random, 0.25, _CLOCK_SPS, is_complex(constellation)),
             "snr": draw_snr(random, constellation), "ppm": random.uniform(0.5, 4),  # the most that it is off
             "phase": random.uniform(-np.pi / 2, np.pi / 2), "swing": 0.0}
    return constellation, _CLOCK_SPS, start, {**start, "swing": 1.0}  # symbols that it gains or loses at most


def _receive_clock(link, labels, now, seed):
    x = _received(link, labels, now, np.random.default_rng([4, seed]))
    if now["swing"] == 0:
        return single(x)
    symbols = np.arange(x.size) / link.sps
    offset = now["swing"] * np.cos(now["phase"] + 1e-6 * now["ppm"] * symbols / now["swing"])
    return single(delayed(x, link.sps * offset))


FAMILIES = {"polynomial": (_draw_wiener_hammerstein, _receive_wiener_hammerstein),
            "limiter": (_draw_wiener_hammerstein, _receive_wiener_hammerstein),
            "converter": (_draw_converter, _receive_converter),
            "reflections": (_draw_reflections, _receive_reflections),
            "impulses": (_draw_impulses, _receive_impulses),
            "clock": (_draw_clock, _receive_clock)}


def _draw_linear(random, constellations, before=0.25, after=0.9):
    """A link of one filter and noise: start and end of _received(), with echoes of these norms."""
    constellation = str(random.choice(constellations))
    complex_ = is_complex(constellation)
    sps = int(random.choice([2, 4]))
    start = {"echoes": draw_echoes(random, before, sps, complex_), "snr": draw_snr(random, constellation)}
    end = {**start, "echoes": start["echoes"] + draw_echoes(random, after, sps, complex_, path=0)}
    return constellation, sps, start, end


def _received(link, labels, now, random):
    return with_noise(random, filtered(_sent(link, labels), now["echoes"]), link.sps, now["snr"])


def _sent(link, labels):
    return shaped(link.constellation, link.sps, labels, raised_cosine(link.sps, _ROLL_OFF))
