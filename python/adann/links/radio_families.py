# SPDX-License-Identifier: GPL-3.0-or-later
"""Randomly drawn radio links: root raised cosines, an amplifier, rays, the matched filter.

draw and receive of a family are as in baseband_families.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .amplifier import AMPLIFIERS, drive
from .link_parts import (
    draw_echoes,
    draw_rays,
    draw_snr,
    filtered,
    root_raised_cosine,
    shaped,
    single,
    unit_power,
    white,
    with_noise,
    with_rays,
)

_SPS = 2
_OVERSAMPLED = 4  # samples a symbol at an amplifier with memory, which widens the spectrum
# Back-off in dB from which on a constellation is decided at all.
_LEAST = {"qpsk": 1, "8psk": 2, "16qam": 5, "16apsk": 4, "32apsk": 6, "64qam": 9}


def _draw_amplified(family, random):
    constellation = str(random.choice(["qpsk", "16qam", "64qam"]))
    back_off = random.uniform(_LEAST[constellation], _LEAST[constellation] + 8)
    rays = 4 if family == "rapp" else int(random.integers(2, 4))
    start = {"back_off": back_off, "snr": draw_snr(random, constellation),
             "roll_off": random.uniform(0.2, 0.5), "delays": random.uniform(-2.5, 2.5, rays - 1),
             "rays": draw_rays(random, rays - 1, 0.2)}
    end = {**start, "rays": start["rays"] + draw_rays(random, rays - 1, 0.55)}
    if random.random() < 0.5:
        end["back_off"] = max(0.5, back_off - random.uniform(0, 3))
    return constellation, _SPS, start, end


def _receive_amplified(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    pulse = root_raised_cosine(link.sps, now["roll_off"])
    x = AMPLIFIERS[link.family](drive(shaped(link.constellation, link.sps, labels, pulse), float(now["back_off"])))
    x = with_rays(unit_power(x), link.sps, now["delays"], now["rays"])
    noise = 10 ** (-now["snr"] / 20) * np.sqrt(link.sps)
    return single(np.convolve(x + noise * white(random, x), pulse, "same"))


# An amplifier whose output depends on the last samples, too, and rays. Coefficients are drawn around those that Ding
# et al. measured of a class-AB amplifier: "A robust digital baseband predistorter constructed using memory
# polynomials", IEEE Trans. Commun. 2004, Eq. (24); rows: orders 1, 3, 5, columns: samples late.

_CLASS_AB = np.array([[1.0513 + 0.0904j, -0.0680 - 0.0023j, 0.0289 - 0.0054j],
                      [-0.0542 - 0.2900j, 0.2234 + 0.2317j, -0.0621 - 0.0932j],
                      [-0.9657 - 0.7028j, -0.2451 - 0.3735j, 0.1229 + 0.1508j]])


def _draw_memory_polynomial(_, random):
    constellation = str(random.choice(["qpsk", "8psk", "16qam", "16apsk", "32apsk"]))

    def coefficients():
        parts = random.standard_normal((2, *_CLASS_AB.shape))
        return _CLASS_AB * (1 + 0.3 * (parts[0] + 1j * parts[1]))

    back_off = random.uniform(_LEAST[constellation] + 4, _LEAST[constellation] + 10)
    count = int(random.integers(1, 4))
    start = {"back_off": back_off, "snr": draw_snr(random, constellation), "roll_off": random.uniform(0.2, 0.5),
             "coefficients": coefficients(), "delays": random.uniform(-2.5, 2.5, count),
             "rays": draw_rays(random, count, 0.2)}
    end = {**start, "rays": start["rays"] + draw_rays(random, count, 0.55)}
    if random.random() < 0.5:
        end["back_off"] = back_off - random.uniform(0, 3)
        end["coefficients"] = coefficients()
    return constellation, _SPS, start, end


def _receive_memory_polynomial(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    pulse = root_raised_cosine(_OVERSAMPLED, now["roll_off"])
    x = drive(shaped(link.constellation, _OVERSAMPLED, labels, pulse), float(now["back_off"]))
    x = memory_polynomial(x / np.maximum(1, np.abs(x)), now["coefficients"])
    x = with_rays(unit_power(x), _OVERSAMPLED, now["delays"], now["rays"])
    return _matched(with_noise(random, x, _OVERSAMPLED, now["snr"]), pulse)


def memory_polynomial(x: npt.NDArray, coefficients: npt.NDArray) -> npt.NDArray:
    """Complex (n,): the sum over k and q of coefficients[k, q] x[i-q] |x[i-q]|^(2k), for |x| up to 1.
    Source: as above, Eq. (2)."""
    return np.sum([np.convolve(x * np.abs(x) ** (2 * k), taps)[:x.size] for k, taps in enumerate(coefficients)], axis=0)


# A filter and a solid-state amplifier, an amplifier with memory by Wiener's model, and an echo whose phase rotates.

def _draw_rotating_echo(_, random):
    constellation = str(random.choice(["qpsk", "8psk", "16qam"]))
    start = {"back_off": random.uniform(_LEAST[constellation], _LEAST[constellation] + 5),
             "snr": draw_snr(random, constellation), "roll_off": random.uniform(0.2, 0.5),
             "memory": draw_echoes(random, 0.25, _OVERSAMPLED, True), "delay": random.uniform(0.5, 3),
             "turns": 10 ** random.uniform(-6, -4) * random.choice([-1, 1]),  # cycles a symbol
             "phase": random.uniform(0, 1), "echo": 0.0}
    return constellation, _SPS, start, {**start, "echo": 0.6}


def _receive_rotating_echo(link, labels, now, seed):
    random = np.random.default_rng([4, seed])
    pulse = root_raised_cosine(_OVERSAMPLED, now["roll_off"])
    x = filtered(shaped(link.constellation, _OVERSAMPLED, labels, pulse), now["memory"])
    x = unit_power(AMPLIFIERS["rapp"](drive(x, float(now["back_off"]))))
    cycles = now["phase"] + now["turns"] * np.arange(x.size) / _OVERSAMPLED
    late = with_rays(x, _OVERSAMPLED, now["delay"][None], np.ones(1)) - x
    x = x + now["echo"] * late * np.exp(2j * np.pi * cycles)
    return _matched(with_noise(random, x, _OVERSAMPLED, now["snr"]), pulse)


def _matched(x, pulse):
    return single(np.convolve(x, pulse, "same")[::_OVERSAMPLED // _SPS])


FAMILIES = {"saleh": (_draw_amplified, _receive_amplified),
            "rapp": (_draw_amplified, _receive_amplified),
            "memory_polynomial": (_draw_memory_polynomial, _receive_memory_polynomial),
            "rotating_echo": (_draw_rotating_echo, _receive_rotating_echo)}
