# SPDX-License-Identifier: GPL-3.0-or-later
"""A record played again and again: the same symbols several times within what the estimate remembers."""

from pathlib import Path

import numpy as np
from gnuradio import adann, blocks, gr
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel

MODEL = Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"
RECORD, TIMES, BATCH = 16384, 12, 512


def test_the_estimate_does_not_jump_where_a_waveform_explains_the_record():
    """Some 160 bits are wrong of 360,448: by chance their number varies by a tenth."""
    sent = np.tile(random_labels(RECORD, [9, 0]), TIMES)
    samples = np.tile(simulate_vcsel(sent[:RECORD], "none", 20), TIMES).astype(np.float32)
    equalizer = adann.equalizer(str(MODEL), mode="lockstep", batch=BATCH, front_filter=False)
    labels, estimates = blocks.vector_sink_b(), blocks.vector_sink_f()
    top = gr.top_block()
    top.connect(blocks.vector_source_f(samples), equalizer, labels)
    top.connect((equalizer, 1), blocks.null_sink(4 * gr.sizeof_float))
    top.connect((equalizer, 2), blocks.null_sink(gr.sizeof_float))
    top.connect((equalizer, 3), estimates)
    top.run()
    decided = np.array(labels.data(), np.uint8)
    wrong = decided[RECORD:] ^ sent[RECORD:decided.size]
    rate = np.unpackbits(wrong).sum() / wrong.size / 2
    found = np.array(estimates.data())[2 * RECORD // BATCH:]
    assert rate / 3 < found.min() and found.max() < 3 * rate
    assert equalizer.estimated_ber().trustworthy
