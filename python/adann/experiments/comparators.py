# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's own equalizers, to compare with."""

from collections.abc import Sequence

import numpy as np
import pmt
from gnuradio import blocks, digital, gr

from .. import core
from ..blocks.flowgraphs import run_flowgraph

LINEAR, FEEDBACK, CMA = "linear, LMS", "feedback, LMS", "linear, CMA"
TAG = "training"


def unit_points(constellation: core.constellation) -> np.ndarray:
    """Complex (M,) of unit power, in label order. constellation: core.constellation."""
    points = np.array(constellation.points, complex)
    return points / np.sqrt(np.mean(abs(points) ** 2))


def gnuradio_constellation(points: np.ndarray) -> digital.constellation_calcdist:
    """digital.constellation_calcdist of complex points (M,), whose values are the labels."""
    return digital.constellation_calcdist(points, [], 2, 1, digital.constellation.NO_NORMALIZATION)


def gnuradio_equalizer(kind: str, points: np.ndarray, sps: int, half_window: int, step: float,
                       training: np.ndarray | Sequence[int] = ()) -> gr.basic_block:
    """A block of GNU Radio that sees as far as a network of half_window does.

    kind: LINEAR, digital.linear_equalizer, or FEEDBACK, digital.decision_feedback_equalizer with
    half_window symbols fed back: both with LMS, taught by the labels `training`, uint8, from the
    tag of training_tag() on, and then by their own decisions; or CMA, linear, which learns from
    the modulus alone. points: complex (M,) of unit power, as the samples. step: of the algorithm.
    Output i + half_window is symbol i: output i has the symbol half a window before the newest
    sample in its middle.
    """
    taps = 2 * sps * half_window + 1
    alphabet = gnuradio_constellation(points)
    if kind == CMA:
        # It starts from a 1 in the middle: at the newest sample, where the block puts it, there is
        # no window after the symbol. What set_taps() is given counts here because a block without
        # a training sequence is never idle.
        modulus = np.mean(abs(points) ** 4)  # over the mean square, which is 1
        block = digital.linear_equalizer(
            taps, sps, digital.adaptive_algorithm_cma(alphabet, step, modulus).base())
        block.set_taps(np.eye(taps)[taps // 2])
        return block
    told = (True, points[training], TAG)
    algorithm = digital.adaptive_algorithm_lms(alphabet, step).base()
    if kind == LINEAR:
        return digital.linear_equalizer(taps, sps, algorithm, *told)
    return digital.decision_feedback_equalizer(taps, half_window, sps, algorithm, *told)


def training_tag(sps: int, half_window: int) -> gr.tag_t:
    """Where the training sequence starts: at the newest sample in symbol 0's window."""
    tag = gr.tag_t()
    tag.key = pmt.intern(TAG)
    tag.offset = sps * half_window
    return tag


def equalize_with_gnuradio(kind: str, samples: np.ndarray, points: np.ndarray, sps: int,
                           half_window: int, step: float,
                           training: np.ndarray | Sequence[int] = ()) -> np.ndarray:
    """Run one in a flowgraph: its soft symbols, complex64 (n // sps,).

    samples: float32 or complex64 (n,), of unit power; the rest as of gnuradio_equalizer.
    """
    symbols = samples.size // sps
    flush = np.zeros(64 * sps * half_window)  # the scheduler keeps some of a stream that ends
    source = blocks.vector_source_c(np.concatenate([samples, flush]), False, 1,
                                    [training_tag(sps, half_window)])
    sink = blocks.vector_sink_c(1, symbols)
    top = gr.top_block()
    top.connect(source, gnuradio_equalizer(kind, points, sps, half_window, step, training),
                blocks.skiphead(gr.sizeof_gr_complex, half_window),
                blocks.head(gr.sizeof_gr_complex, symbols), sink)
    run_flowgraph(top)
    return np.array(sink.data(), np.complex64)
