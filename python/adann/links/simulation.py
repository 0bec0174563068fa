# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated links run headless: labels in, a numpy array of samples out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from gnuradio import blocks, gr

from ..blocks.flowgraphs import run_flowgraph
from .coherent_link import coherent_link
from .vcsel_mmf_link import vcsel_mmf_link

# What the second capture of an experiment differs in from the first.
VCSEL_DRIFTS: dict[str, dict] = {
    "none": {},
    "reference": {"mode_powers": (0.14, 0.46, 0.40)},  # the fibre was moved: other modes are lit
    "timing": {"timing": 0.1},
    "noise": {"noise": 0.1234},  # 1 dB more
    "bias": {"bias": 3.5, "quadratic": -0.08, "skew": 3.0},  # the laser has aged
    "strong": {"mode_powers": (0.08, 0.40, 0.52)},
    "extreme": {"mode_powers": (0.06, 0.28, 0.66)},
    "left": {"mode_powers": (0.62, 0.30, 0.08)},  # the early modes are lit, not the late ones
    "gain": {"gain": 1.86, "offset": 0.1},  # half as much again
    "combined": {"mode_powers": (0.14, 0.46, 0.40), "timing": 0.06, "bias": 4.0,
                 "quadratic": -0.07, "skew": 2.6},
}

# The dispersion of 960 km of standard fibre grows by about 2.6 ps/nm for each kelvin it cools by:
# 0.03 nm/K of zero-dispersion wavelength times a slope of 0.09 ps/(nm^2 km).
COHERENT_DRIFTS: dict[str, dict] = {
    "none": {},
    "reference": {"dispersion": 145.0, "polarization": 2.5},  # 17 K colder, and the fibre was moved
    "strong": {"dispersion": 180.0},  # 31 K colder
    "extreme": {"dispersion": 225.0},  # another route, 7 km longer
    "timing": {"timing": 0.1},
    "modulator": {"swing": 0.3, "bias": 0.1, "iq_phase": 12.0},  # its bias control is lost
    "noise": {"snr": 18.5},
    "gain": {"gain": 1.5, "offset": 0.1 + 0.05j},
    "combined": {"dispersion": 145.0, "timing": 0.05, "rotation": 5.0, "bias": 0.05},
}


def random_labels(count: int, seed: int | Sequence[int], bits: int = 2) -> npt.NDArray[np.uint8]:
    """uint8 (count,): uniform labels from the signs of Gaussian noise, bits of them for each.

    As in the paper; not a PRBS, which a network can learn to predict. seed: as of numpy's
    default_rng. bits: 1 to 8; PAM4 has 2, 16QAM 4.
    """
    signs = np.random.default_rng(seed).standard_normal((count, bits)) > 0
    return (signs @ (1 << np.arange(bits)[::-1])).astype(np.uint8)


def simulate_vcsel(labels: npt.NDArray[np.uint8], drift: str = "none", seed: int = 1,
                   sps: int = 4) -> npt.NDArray[np.float32]:
    """What vcsel_mmf_link makes of the labels: float32 (sps*n,), symbol i's middle at i*sps.

    labels: (n,), 0 to 3; drift: a key of VCSEL_DRIFTS; seed and sps as of vcsel_mmf_link.
    Raises ValueError for anything else.
    """
    return simulate_changing(vcsel_mmf_link, labels, [_parameters(VCSEL_DRIFTS, drift)], seed, sps)


def simulate_coherent(labels: npt.NDArray[np.uint8], drift: str = "none", seed: int = 1,
                      sps: int = 4) -> npt.NDArray[np.complex64]:
    """What coherent_link makes of the labels: complex64 (sps*n,), symbol i's middle at i*sps.

    labels: (n,), 0 to 15; drift: a key of COHERENT_DRIFTS; seed and sps as of coherent_link.
    Raises ValueError for anything else.
    """
    return simulate_changing(coherent_link, labels, [_parameters(COHERENT_DRIFTS, drift)], seed,
                             sps)


def simulate_changing(make_link: Callable, labels: npt.NDArray[np.uint8],
                      parameters: Sequence[dict], seed: int = 1, sps: int = 4) -> npt.NDArray:
    """What a link makes of the labels while its parameters change, the same for the same seed.

    make_link: vcsel_mmf_link or coherent_link. labels: (n,). parameters: dictionaries of the
    link's; each holds for one of as many equal parts of the labels, seed + k is that of the noise
    in part k. Returns float32 or complex64 (sps*n,), as the link does. Raises ValueError for
    labels and parameters that the link does not have.
    """
    size, kind, sink = ((4, np.float32, blocks.vector_sink_f) if make_link is vcsel_mmf_link else
                        (16, np.complex64, blocks.vector_sink_c))
    labels = np.asarray(labels)
    if labels.size and not 0 <= labels.min() <= labels.max() < size:
        raise ValueError(
            f"labels are {labels.min()} to {labels.max()}, allowed: 0 to {size - 1}")
    edges = np.linspace(0, labels.size, len(parameters) + 1).astype(int)
    samples = np.empty(sps * labels.size, kind)
    for part, (start, stop, values) in enumerate(zip(edges, edges[1:], parameters)):
        link = make_link(sps=sps, seed=seed + part, **values)
        first, last = max(0, start - link.latency()), stop + link.latency()
        around = np.pad(labels[first:last], (0, max(0, last - labels.size))).astype(np.uint8)
        skipped = sps * (start - first)
        output = sink(1, skipped + sps * (stop - start))
        top = gr.top_block()
        top.connect(blocks.vector_source_b(around), link, output)
        run_flowgraph(top)
        samples[sps * start:sps * stop] = output.data()[skipped:skipped + sps * (stop - start)]
    return samples


def _parameters(drifts, drift):
    if drift not in drifts:
        raise ValueError(f"drift is {drift!r}, allowed: {', '.join(drifts)}")
    return drifts[drift]
