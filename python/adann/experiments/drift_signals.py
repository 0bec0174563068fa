# SPDX-License-Identifier: GPL-3.0-or-later
"""The drift suite's signals: both simulated links before, while and after they change."""

import functools
import inspect
from dataclasses import dataclass

import numpy as np

from .. import core
from ..captures.files import Capture
from ..captures.statistics import normalized, record_statistics
from ..links.coherent_link import coherent_link
from ..links.simulation import COHERENT_DRIFTS, VCSEL_DRIFTS, random_labels, simulate_changing
from ..links.vcsel_mmf_link import vcsel_mmf_link

BLOCK = 8192  # symbols that errors are counted over, the paper's batch
SPS, HALF_WINDOW = 4, 5


@dataclass(frozen=True)
class Link:
    """make: the block. drifts: its parameters by name. optimizer: that its network is trained with;
    momentum, the paper's, does not converge on 16QAM."""

    make: type
    constellation: str
    drifts: dict
    optimizer: str

    @property
    def bits(self) -> int:
        return core.constellation(self.constellation).bits_per_symbol

    def simulate(self, drifts: list[dict], labels: np.ndarray, seed: int) -> np.ndarray:
        return simulate_changing(self.make, labels, drifts, seed, SPS)


LINKS = {"PAM4": Link(vcsel_mmf_link, "pam4", VCSEL_DRIFTS, "momentum"),
         "16QAM": Link(coherent_link, "16qam", COHERENT_DRIFTS, "adam")}

# Drifts of level and offset: the receiver goes on with the scale that it had found before.
UNNORMALISED = ("gain",)
# What moves, and the drift that the oracle is trained on.
MOVING = {"slow": "strong", "switching": "reference"}
EVENTS = ("none", "NaN burst", "white noise", "band-limited noise", "wrong constellation",
          "inverted", "idle, two levels", "idle, 16 symbols")


@dataclass(frozen=True)
class Scale:
    """How much of everything: symbols, but for epochs, seeds (of adaptation) and switches."""

    labelled: int = 2**20   # in a record to train on, of which the fraction is trained on
    fraction: float = 0.25
    epochs: int = 200
    seeds: int = 5
    before: int = 2**17
    after: int = 2**20
    slow: int = 1221 * BLOCK  # 10^7
    switched: int = 2**18     # between two switches
    switches: int = 5
    event: int = 250_000      # 10^6 samples of noise, idle, or what is not the link's
    recovery: int = 2**18     # after the event
    long: int = 0             # without drift, repeating a record of 2^22


def training_record(link: str, drift: str, scale: Scale) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels to train on: set1 of `adann simulate` for "none", else its set2."""
    number = 1 if drift == "none" else 2
    labels = random_labels(scale.labelled, [0, number], LINKS[link].bits)
    return LINKS[link].simulate([LINKS[link].drifts[drift]], labels, number), labels


@functools.lru_cache(maxsize=1)  # the rows of a case follow each other
def case_signal(link: str, case: str, scale: Scale) -> list[Capture]:
    """Capture of each part of a drift, or of "slow" or "switching".

    The first capture is not drifted. All are normalised one by one, but for those
    that are UNNORMALISED.
    """
    drifts = LINKS[link].drifts
    if case == "slow":
        # As many steps as 65536 symbols take: the network sees each as hardly a change.
        path = moved(link, MOVING[case], max(8, scale.slow // 65536))
        rest = [(path, scale.slow)]
    elif case == "switching":
        rest = [([drifts["none" if k % 2 else "reference"]], scale.switched)
                for k in range(scale.switches)]
    else:
        rest = [([drifts[case]], scale.after)]
    captures = []
    for number, (path, symbols) in enumerate([([drifts["none"]], scale.before), *rest]):
        sent = random_labels(symbols, [1, number], LINKS[link].bits)
        raw = LINKS[link].simulate(path, sent, 1000 * (number + 1))
        if number == 0:
            mean, rms = record_statistics(raw)
        scaled = ((raw - mean) / rms).astype(raw.dtype) if case in UNNORMALISED else (
            normalized(raw))
        captures.append(Capture(scaled, reference=sent))
    return captures


@functools.lru_cache(maxsize=1)
def stress_signal(link: str, drift: str, event: str, scale: Scale) -> list[Capture]:
    """Capture of what comes before, of something that is not the signal, and of what comes after:
    the last one with its reference."""
    random = np.random.default_rng(5)
    parameters, bits = LINKS[link].drifts[drift], LINKS[link].bits

    def received(labels: np.ndarray, seed: int) -> np.ndarray:
        return normalized(LINKS[link].simulate([parameters], labels, seed))

    labels = [random_labels(symbols, [2, number], bits) for number, symbols in
              enumerate((scale.before, scale.event, scale.recovery))]
    before, after = received(labels[0], 5000), received(labels[2], 7000)
    size, last = SPS * scale.event, 2**bits - 1
    if event == "NaN burst":
        middle = before[:4096 * SPS].copy()
        middle[5000:6000] = np.nan
    elif "noise" in event:
        middle = random.standard_normal(size).astype(np.float32)
        if np.iscomplexobj(before):
            middle = middle + 1j * random.standard_normal(size).astype(np.float32)
        if event == "band-limited noise":  # as wide as the symbol rate
            spectrum = np.fft.fft(middle)
            spectrum[abs(np.fft.fftfreq(size, 1 / SPS)) > 0.5] = 0
            middle = np.fft.ifft(spectrum)
        middle = normalized((middle if np.iscomplexobj(before) else middle.real)
                            .astype(before.dtype))
    else:
        sent = {"none": labels[1][:0],
                "inverted": labels[1],
                # Of each dimension the outer levels only: PAM2, QPSK.
                "wrong constellation": _outer(labels[1], bits),
                "idle, two levels": np.resize([0, last - last // 4], scale.event),
                "idle, 16 symbols": np.resize(random.integers(0, last + 1, 16), scale.event)}[event]
        middle = received(sent, 6000) if sent.size else before[:0]
        if event == "inverted":
            middle = -middle
    return [Capture(before), *([Capture(middle)] if middle.size else []),
            Capture(after, reference=labels[2])]


def _outer(labels: np.ndarray, bits: int) -> np.ndarray:
    # A pair of bits is a level: 0 is the lowest, 2 the highest.
    return labels & sum(2 << shift for shift in range(0, bits, 2))


def moved(link: str, drift: str, steps: int) -> list[dict]:
    """Parameters on the way from the link's own to those of a drift, [dictionaries]."""
    end = LINKS[link].drifts[drift]
    defaults = inspect.signature(LINKS[link].make).parameters
    start = {name: np.array(defaults[name].default, float) for name in end}
    return [{name: start[name] + part * (np.array(end[name]) - start[name]) for name in end}
            for part in np.linspace(0, 1, steps)]
