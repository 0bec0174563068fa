# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that begin with a known preamble, each through a channel of its own.

A network is trained with labels on the link without an echo. Packet error rates are then those of
the equalizer with that network, which takes its front filter from each preamble; of the burst
equalizer, which has no network and equalizes each packet as a whole; of GNU Radio's
linear_equalizer, trained by the same preamble, in the best of five steps, going on to adapt or
not; and of a slicer with the gain and phase that fit the preamble best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pmt
from gnuradio import blocks, digital, gr

from .. import core
from ..adann_python import burst_equalizer, equalizer
from ..blocks.flowgraphs import run_flowgraph
from ..links.packets import Packets
from ..links.radio_link import SPS, RadioLink
from ..links.simulation import random_labels
from ..offline.training import TrainingSettings, train
from .comparators import TAG, gnuradio_constellation, unit_points

HALF_WINDOW = 5
STEPS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
_LMS_HALF_WINDOW = 6  # as long as the front filter
_PREAMBLE = 64
_NOT_KNOWN = 255
# Doppler shift and carrier in cycles per symbol; the second ray up to half the first one's amplitude.
STILL = RadioLink("qpsk", echo=0.5, delay=2, snr=15, carrier=5e-4)
CASES = {"static": STILL,
         "Doppler, amplifier": replace(STILL, turns=3e-4, amplifier="rapp", back_off=0)}


def packets_of(link: RadioLink) -> Packets:
    """64 symbols of preamble, 448 of payload."""
    bits = core.constellation(link.constellation).bits_per_symbol
    return Packets(link, tuple(int(label) for label in random_labels(_PREAMBLE, 64, bits)))


def network_for(link: RadioLink, symbols: int = 2**16) -> core.model:
    """Trained on the link without echo and carrier."""
    plain = replace(link, echo=0, turns=0, carrier=0)
    labels = random_labels(symbols, [0, 1], core.constellation(link.constellation).bits_per_symbol)
    return train(plain.receive(labels, [0, 1]), labels, link.constellation, SPS, HALF_WINDOW,
                 TrainingSettings.fitted(symbols // 4, core.constellation(link.constellation))).model


@dataclass(frozen=True)
class Reception:
    """Samples, the labels that were sent in them, (packets, symbols), and how they came to be."""

    packets: Packets
    samples: npt.NDArray[np.complex64]
    sent: npt.NDArray[np.uint8]

    def tags(self, key: str, later: int = 0) -> list[gr.tag_t]:
        """At the first symbol of each, or so many symbols later."""
        return [_tag(key, SPS * (self._first(k) + later)) for k in range(len(self.sent))]

    def of_packets(self, stream: npt.NDArray) -> npt.NDArray:
        """What a stream of symbols has at the packets' ones, (packets, symbols)."""
        return np.array([stream[self._first(k):][:self.sent.shape[1]] for k in range(len(self.sent))])

    def wrong(self, labels: npt.NDArray) -> float:
        """Part of the packets whose payload has an error; labels as of_packets() has them."""
        payload = slice(len(self.packets.preamble), None)
        return float(np.mean((labels[:, payload] != self.sent[:, payload]).any(axis=1)))

    def _first(self, k: int) -> int:
        return k * self.packets.symbols + self.packets.gap


def receive(link: RadioLink, count: int, seed: int) -> Reception:
    """So many packets."""
    packets = packets_of(link)
    return Reception(packets, *packets.receive(count, seed))


def adann_errors(received: Reception, model: core.model, **settings: object) -> float:
    """Packet error rate of the equalizer; the first symbol after each packet ends it."""
    length = received.sent.shape[1]
    tags = sorted(received.tags("training_start") + received.tags("burst_end", length),
                  key=lambda tag: tag.offset)
    block = equalizer(model, mode="lockstep", training_sequence=list(received.packets.preamble),
                      training_start_tag="training_start", burst_end_tag="burst_end",
                      **settings)
    labels = _run(received.samples, tags, block, blocks.vector_sink_b())
    return received.wrong(received.of_packets(labels))


def burst_equalizer_errors(received: Reception) -> float:
    """Packet error rate of the burst equalizer, which has no model and equalizes each packet as a whole."""
    preamble = list(received.packets.preamble)
    block = burst_equalizer(received.packets.link.constellation,
                            preamble + received.packets.payload * [_NOT_KNOWN], start_tag=TAG, length=8)
    labels = _run(received.samples, received.tags(TAG), block, blocks.vector_sink_b())
    return received.wrong(labels.reshape(received.sent.shape))


def gnuradio_errors(received: Reception, step: float, goes_on: bool) -> float:
    """Packet error rate of linear_equalizer with LMS."""
    points = unit_points(core.constellation(received.packets.link.constellation))
    algorithm = digital.adaptive_algorithm_lms(gnuradio_constellation(points), step).base()
    block = digital.linear_equalizer(2 * SPS * _LMS_HALF_WINDOW + 1, SPS, algorithm, goes_on,
                                     points[list(received.packets.preamble)], TAG)
    # Its output has the symbol half a window before the newest sample.
    soft = _run(received.samples, received.tags(TAG, _LMS_HALF_WINDOW), block,
                blocks.vector_sink_c())[_LMS_HALF_WINDOW:]
    return received.wrong(_nearest(received.of_packets(soft), points))


def slicer_errors(received: Reception) -> float:
    """Packet error rate of the nearest points, after the gain and phase of the preamble."""
    points = unit_points(core.constellation(received.packets.link.constellation))
    soft = received.of_packets(received.samples[::SPS])
    known = soft[:, :len(received.packets.preamble)]
    told = points[list(received.packets.preamble)]
    gain = (known @ told.conj()) / np.sum(abs(known) ** 2, axis=1)
    return received.wrong(_nearest(soft * gain.conj()[:, None], points))


def measure(case: str, count: int, seed: int = 1) -> Iterator[tuple[str, float]]:
    """(receiver, packet error rate) of each."""
    received = receive(CASES[case], count, seed)
    yield "slicer", slicer_errors(received)
    for step in STEPS:
        for goes_on in (True, False):
            yield (f"linear_equalizer, step {step:g}{'' if goes_on else ', then still'}",
                   gnuradio_errors(received, step, goes_on))
    yield "AdaNN, burst equalizer", burst_equalizer_errors(received)
    yield "AdaNN", adann_errors(received, network_for(CASES[case]))


def _tag(key: str, offset: int) -> gr.tag_t:
    tag = gr.tag_t()
    tag.key, tag.offset = pmt.intern(key), offset
    return tag


def _run(samples: npt.NDArray, tags: list[gr.tag_t], block: gr.basic_block,
         sink: gr.basic_block) -> npt.NDArray:
    # The scheduler keeps some of a stream that ends.
    source = blocks.vector_source_c(np.append(samples, np.zeros(64 * SPS * HALF_WINDOW)), False, 1, tags)
    top = gr.top_block()
    top.connect(source, block, sink)
    run_flowgraph(top)
    return np.array(sink.data())


def _nearest(soft: npt.NDArray, points: npt.NDArray) -> npt.NDArray:
    return abs(soft[..., None] - points).argmin(axis=-1)
