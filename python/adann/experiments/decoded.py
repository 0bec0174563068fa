# SPDX-License-Identifier: GPL-3.0-or-later
"""Through a decoder: frames of a convolutional code that are lost with an equalizer's soft bits.

The code is the one of rate 1/2 and constraint length 7 that most systems use, terminated, and decoded by GNU
Radio's `fec`. Its bits are interleaved within the frame and scrambled.
"""

from collections.abc import Sequence

import numpy as np
from gnuradio import blocks, fec, gr

from .. import core
from ..captures.files import Capture
from ..captures.statistics import normalized
from ..links.radio_link import SPS, RadioLink
from ..offline.equalize import equalize_captures
from . import compared
from .comparators import unit_points
from .compared import FROZEN, KNOWN, OURS

BITS = 1000  # of information in a frame
_CONSTRAINT, _RATE, _POLYNOMIALS = 7, 2, [109, 79]  # 171 and 133 octal, the newest bit last
CODED = _RATE * (BITS + _CONSTRAINT - 1)
CONVENTION = "gnuradio_cc"
LOST = 0.01  # of the frames, where signal-to-noise ratios are compared


def encode(payload: np.ndarray) -> np.ndarray:
    """Coded bits, uint8 (frames, CODED), of information bits, uint8 (frames, BITS)."""
    encoder = fec.cc_encoder.make(BITS, _CONSTRAINT, _RATE, _POLYNOMIALS, 0, fec.CC_TERMINATED, False)
    return _run(blocks.vector_source_b(payload.ravel().tolist()),
                fec.extended_encoder(encoder, None, "11")).reshape(-1, CODED)


def decode(soft_bits: np.ndarray) -> np.ndarray:
    """Information bits, uint8 (frames, BITS), of soft bits as CONVENTION has them, float (frames, CODED)."""
    decoder = fec.cc_decoder.make(BITS, _CONSTRAINT, _RATE, _POLYNOMIALS, 0, -1, fec.CC_TERMINATED, False)
    return _run(blocks.vector_source_f(soft_bits.ravel().tolist()),
                fec.extended_decoder(decoder, None, puncpat="11")).reshape(-1, BITS)


def _run(source: gr.basic_block, coder: gr.basic_block) -> np.ndarray:
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(source, coder, sink)
    top.run()
    return np.array(sink.data(), np.uint8)


class _SoftBits:
    """What equalize_captures hands over, as soft bits of the first symbols."""

    def __init__(self, constellation: core.constellation, symbols: int):
        self._of, self._done = core.soft_bits(constellation.size, CONVENTION), 0
        self.all = np.zeros((symbols, constellation.bits_per_symbol), np.float32)

    def take(self, _decided: np.ndarray, posteriors: np.ndarray) -> None:
        count = min(len(posteriors), len(self.all) - self._done)
        self.all[self._done:self._done + count] = self._of.process(
            np.asarray(posteriors[:count], np.float32)).reshape(count, self.all.shape[1])
        self._done += count


def lost_frames(model: core.model, link: RadioLink, frames: int, seed: Sequence[int]) -> dict[str, float]:
    """{row: share of the frames lost after the first part of PARTS} of FROZEN, OURS and KNOWN.

    Least squares have the best of three forgetting time constants, and their gain and noise by all labels. Raises
    ValueError if a frame is no whole number of symbols.
    """
    bits = model.constellation.bits_per_symbol
    if CODED % bits:
        raise ValueError(f"constellation is {model.constellation.name}, allowed: one whose symbols' bits divide "
                         f"{CODED}")
    random = np.random.default_rng(seed)
    payload = random.integers(0, 2, (frames, BITS), np.uint8)
    order, scrambling = random.permutation(CODED), random.integers(0, 2, (frames, CODED), np.uint8)
    sent = encode(payload)[:, order] ^ scrambling
    labels = (sent.reshape(-1, bits) @ (1 << np.arange(bits)[::-1])).astype(np.uint8)
    samples = normalized(link.receive(labels, seed))

    def lost(soft_bits: np.ndarray) -> float:
        coded = np.empty((frames, CODED), np.float32)
        coded[:, order] = np.where(scrambling, -1, 1) * soft_bits.reshape(frames, CODED)
        wrong = (decode(coded) != payload).any(axis=1)
        return float(wrong[frames // compared.PARTS:].mean())

    found = {}
    for row, mode in {FROZEN: "off", OURS: "lockstep"}.items():
        taken = _SoftBits(model.constellation, labels.size)
        equalize_captures(model, [Capture(samples)], {"it": dict(mode=mode)}, counted={"it": taken})
        found[row] = lost(taken.all)
    points = unit_points(model.constellation)
    found[KNOWN] = 1.0
    for memory in compared.MEMORIES:
        taken = _SoftBits(model.constellation, labels.size)
        soft = compared.known_least_squares(samples, points[labels], SPS, memory)
        for here, posteriors in compared.soft_posteriors(soft, labels, points):
            taken.take(labels[here], posteriors)
        found[KNOWN] = min(found[KNOWN], lost(taken.all))
    return found


def ratio_at(snrs: Sequence[float], lost: Sequence[float], frames: int) -> float | None:
    """dB at which LOST of the frames are lost, the logarithm interpolated between the last point above and the next
    one; None if the points do not surround it. A point without a loss counts as half a frame of `frames`."""
    above = np.log(np.maximum(lost, 0.5 / frames) / LOST)
    if not above.size or above[-1] > 0 or above[0] <= 0:
        return None
    last = np.flatnonzero(above > 0)[-1]
    return float(np.interp(0, [-above[last], -above[last + 1]], [snrs[last], snrs[last + 1]]))
