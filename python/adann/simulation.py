# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated links run headless: labels in, a numpy array of samples out."""

import numpy as np
from gnuradio import blocks, gr

from .vcsel_mmf_link import vcsel_mmf_link

# What the second capture of an experiment differs in from the first.
VCSEL_DRIFTS = {
    "none": {},
    "reference": {"mode_powers": (0.14, 0.46, 0.40)},  # the fibre was moved: other modes are lit
    "timing": {"timing": 0.1},
    "noise": {"noise": 0.14},
    "bias": {"bias": 3.5, "quadratic": -0.08, "skew": 3.0},  # the laser has aged
}


def random_labels(count, seed):
    """uint8 (count,): uniform PAM4 labels from the signs of Gaussian noise, two for each label.

    As in the paper; not a PRBS, which a network can learn to predict. seed: as of numpy's
    default_rng.
    """
    bits = np.random.default_rng(seed).standard_normal((count, 2)) > 0
    return (2 * bits[:, 0] + bits[:, 1]).astype(np.uint8)


def simulate_vcsel(labels, drift="none", seed=1, sps=4):
    """What vcsel_mmf_link makes of the labels: float32 (sps*n,), symbol i's middle at i*sps.

    labels: (n,), 0 to 3; drift: a key of VCSEL_DRIFTS; seed and sps as of vcsel_mmf_link.
    Raises ValueError for anything else.
    """
    if drift not in VCSEL_DRIFTS:
        raise ValueError(f"drift is {drift!r}, allowed: {', '.join(VCSEL_DRIFTS)}")
    labels = np.asarray(labels)
    if labels.size and not 0 <= labels.min() <= labels.max() <= 3:
        raise ValueError(f"labels are {labels.min()} to {labels.max()}, allowed: 0 to 3")
    link = vcsel_mmf_link(sps=sps, seed=seed, **VCSEL_DRIFTS[drift])
    followed = np.concatenate([labels, np.zeros(link.latency())]).astype(np.uint8)
    source = blocks.vector_source_b(followed)
    sink = blocks.vector_sink_f(1, sps * labels.size)
    top = gr.top_block()
    top.connect(source, link, sink)
    top.run()
    return np.array(sink.data()[: sps * labels.size], dtype=np.float32)
