# SPDX-License-Identifier: GPL-3.0-or-later
"""The tracking suite's signals: links that keep moving."""

import functools
from dataclasses import dataclass, replace

import numpy as np

from .. import core
from ..captures.statistics import normalized
from ..links.radio_link import SPS as RADIO_SPS
from ..links.radio_link import RadioLink
from ..links.simulation import random_labels
from .drift_signals import LINKS, moved
from .drift_signals import SPS as OPTICAL_SPS

SETTLING = 8192  # symbols from the start that are not counted; some know the first half
TOLD = SETTLING // 2
_STEPS = 32      # in which an optical link moves
_HOLD = 2**16    # symbols for which it then stays

# A whole symbol late, the echo has one null in the band at whatever phase: no phase is the worst.
RADIO = {
    "QPSK": RadioLink("qpsk", echo=0.5, snr=16),
    "QPSK, amplifier": RadioLink("qpsk", echo=0.5, snr=14, amplifier="rapp", back_off=0),
    "16QAM": RadioLink("16qam", echo=0.25, snr=18.5),
    "16QAM, amplifier": RadioLink("16qam", echo=0.25, snr=24, amplifier="saleh", back_off=7)}
OPTICAL = {"PAM4, VCSEL": "PAM4", "16QAM, fibre": "16QAM"}  # their names in the drift suite
EVENTS = ("NaN burst", "silence", "white noise", "band-limited noise", "jammer",
          "wrong constellation", "inverted", "idle, two levels", "idle, 16 symbols")


@dataclass(frozen=True)
class Size:
    """labelled: symbols of a record to train on, for so many epochs of such batches; symbols: of a
    stream; event: of a disturbance in its middle; seeds: of streams and of what an equalizer
    draws."""

    labelled: int = 2**18
    epochs: int = 200
    batch: int = 16384
    symbols: int = 2**17
    event: int = 2**15
    seeds: int = 5


def geometry(link: str) -> tuple[str, int]:
    """(constellation, samples a symbol) of a link of either kind."""
    if link in RADIO:
        return RADIO[link].constellation, RADIO_SPS
    return LINKS[OPTICAL[link]].constellation, OPTICAL_SPS


def training_record(link: str, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels of the link that stands still, to train on."""
    constellation, _ = geometry(link)
    labels = random_labels(size.labelled, [0, 1], core.constellation(constellation).bits_per_symbol)
    if link in RADIO:
        return RADIO[link].receive(labels, [0, 1]), labels
    return LINKS[OPTICAL[link]].simulate([{}], labels, 1), labels


@functools.lru_cache(maxsize=1)  # the equalizers of a case follow each other
def case_signal(kind: str, link: str, value: float | str, seed: int,
                size: Size) -> tuple[np.ndarray, np.ndarray, int]:
    """(samples normalised as a whole, labels, first symbol that counts) of one stream.

    kind and value: "turns", of the echo a symbol; "drift", symbols in which an optical link moves
    to its drift "strong"; "sender", an optical link's drift by name, at once; "jumps", symbols
    between two of the echo's phase; "carrier" and "linewidth", as RadioLink has them; "event", a
    disturbance by name while the echo rotates by 1e-6 cycles a symbol: what follows it counts.
    """
    bits = core.constellation(geometry(link)[0]).bits_per_symbol
    if kind in ("drift", "sender"):
        part, path = _optical_path(kind, link, value, size)
        labels = random_labels(part * len(path), [1, seed], bits)
        samples = LINKS[OPTICAL[link]].simulate(path, labels, 1000 * (seed + 1))
        return normalized(samples), labels, SETTLING
    labels = random_labels(size.symbols, [1, seed], bits)
    if kind == "event":
        return _disturbed(link, str(value), labels, seed, size.event)
    changed = {"jumps": "jump_every"}.get(kind, kind)
    samples = replace(RADIO[link], **{changed: value}).receive(labels, [1, seed])
    return normalized(samples), labels, SETTLING


def _optical_path(kind: str, link: str, value: float | str, size: Size) -> tuple[int, list[dict]]:
    """(symbols of each part of the stream, the link's parameters in each of them)."""
    if kind == "sender":
        part = SETTLING
        rest = [LINKS[OPTICAL[link]].drifts[value]] * (size.symbols // part - 1)
        return part, [{}, *rest]
    part = max(1, int(value) // _STEPS)
    path = moved(OPTICAL[link], "strong", _STEPS)
    return part, [{}] * -(-SETTLING // part) + path + path[-1:] * -(-_HOLD // part)


def _disturbed(link: str, event: str, labels: np.ndarray, seed: int,
               length: int) -> tuple[np.ndarray, np.ndarray, int]:
    random = np.random.default_rng([2, seed])
    first = (labels.size - length) // 2
    there = slice(first, first + length)
    sent, last = labels.copy(), labels.max()
    if event == "wrong constellation":  # of each dimension one level of two: BPSK, QPSK
        sent[there] &= {3: 2, 15: 10}[last]
    elif event == "idle, two levels":
        sent[there] = np.resize([0, last], length)
    elif event == "idle, 16 symbols":
        sent[there] = np.resize(random.integers(0, last + 1, 16), length)
    samples = normalized(replace(RADIO[link], turns=1e-6).receive(sent, [1, seed]))
    there = slice(RADIO_SPS * first, RADIO_SPS * (first + length))
    noise = random.standard_normal((RADIO_SPS * length, 2)).view(complex)[:, 0] / np.sqrt(2)
    if event == "NaN burst":
        samples[there][:1000] = np.nan
    elif event == "silence":
        samples[there] = 0
    elif event == "white noise":
        samples[there] = noise
    elif event == "band-limited noise":  # as wide as the symbol rate
        spectrum = np.fft.fft(noise)
        spectrum[abs(np.fft.fftfreq(noise.size, 1 / RADIO_SPS)) > 0.5] = 0
        samples[there] = np.fft.ifft(spectrum) * np.sqrt(RADIO_SPS)
    elif event == "jammer":  # a tone 10 dB above the signal, a tenth of the symbol rate away
        samples[there] += np.sqrt(10) * np.exp(0.2j * np.pi / RADIO_SPS * np.arange(noise.size))
    elif event == "inverted":
        samples[there] *= -1
    return samples, labels, first + length
