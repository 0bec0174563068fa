# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated links run headless: labels in, a numpy array of samples out."""

import numpy as np
from gnuradio import blocks, gr

from .coherent_link import coherent_link
from .vcsel_mmf_link import vcsel_mmf_link

# What the second capture of an experiment differs in from the first.
VCSEL_DRIFTS = {
    "none": {},
    "reference": {"mode_powers": (0.14, 0.46, 0.40)},  # the fibre was moved: other modes are lit
    "timing": {"timing": 0.1},
    "noise": {"noise": 0.14},
    "bias": {"bias": 3.5, "quadratic": -0.08, "skew": 3.0},  # the laser has aged
}

# The dispersion of 960 km of standard fibre grows by about 2.6 ps/nm for each kelvin it cools by:
# 0.03 nm/K of zero-dispersion wavelength times a slope of 0.09 ps/(nm^2 km).
COHERENT_DRIFTS = {
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


def random_labels(count, seed, bits=2):
    """uint8 (count,): uniform labels from the signs of Gaussian noise, bits of them for each.

    As in the paper; not a PRBS, which a network can learn to predict. seed: as of numpy's
    default_rng. bits: 1 to 8; PAM4 has 2, 16QAM 4.
    """
    signs = np.random.default_rng(seed).standard_normal((count, bits)) > 0
    return (signs @ (1 << np.arange(bits)[::-1])).astype(np.uint8)


def simulate_vcsel(labels, drift="none", seed=1, sps=4):
    """What vcsel_mmf_link makes of the labels: float32 (sps*n,), symbol i's middle at i*sps.

    labels: (n,), 0 to 3; drift: a key of VCSEL_DRIFTS; seed and sps as of vcsel_mmf_link.
    Raises ValueError for anything else.
    """
    sink = blocks.vector_sink_f
    return _simulate(vcsel_mmf_link, VCSEL_DRIFTS, 4, sink, labels, drift, seed, sps)


def simulate_coherent(labels, drift="none", seed=1, sps=4):
    """What coherent_link makes of the labels: complex64 (sps*n,), symbol i's middle at i*sps.

    labels: (n,), 0 to 15; drift: a key of COHERENT_DRIFTS; seed and sps as of coherent_link.
    Raises ValueError for anything else.
    """
    sink = blocks.vector_sink_c
    return _simulate(coherent_link, COHERENT_DRIFTS, 16, sink, labels, drift, seed, sps)


def _simulate(make_link, drifts, size, make_sink, labels, drift, seed, sps):
    if drift not in drifts:
        raise ValueError(f"drift is {drift!r}, allowed: {', '.join(drifts)}")
    labels = np.asarray(labels)
    if labels.size and not 0 <= labels.min() <= labels.max() < size:
        raise ValueError(
            f"labels are {labels.min()} to {labels.max()}, allowed: 0 to {size - 1}")
    link = make_link(sps=sps, seed=seed, **drifts[drift])
    followed = np.concatenate([labels, np.zeros(link.latency())]).astype(np.uint8)
    source = blocks.vector_source_b(followed)
    sink = make_sink(1, sps * labels.size)
    top = gr.top_block()
    top.connect(source, link, sink)
    top.run()
    samples = np.array(sink.data()[: sps * labels.size])
    return samples.astype(np.complex64 if np.iscomplexobj(samples) else np.float32)
