# SPDX-License-Identifier: GPL-3.0-or-later
"""The error rate that is estimated while stretches of the signal are disturbed: it is not trusted."""

from pathlib import Path

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel

MODEL = Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"
SPS, SYMBOLS, FROM = 4, 2**17, 2**15


@pytest.fixture(scope="module")
def link():
    sent = random_labels(SYMBOLS, 11)
    return sent, normalized(simulate_vcsel(sent, "reference", seed=12))


def estimates(samples, **settings):
    """Labels; decided, bit error rate and why that is not trusted ("": it is), of each step."""
    equalizer = adann.equalizer(str(MODEL), mode="lockstep", **settings)
    sink, status, top = blocks.vector_sink_b(), blocks.message_debug(), gr.top_block()
    top.connect(blocks.vector_source_f(samples), equalizer, sink)
    top.msg_connect((equalizer, "status"), (status, "store"))
    top.run()
    told = [pmt.to_python(status.get_message(i)) for i in range(status.num_messages())]
    assert all(each["trustworthy"] == (not each["untrusted"]) for each in told if "ber" in each)
    steps = [(each["decided"], each.get("ber"), each.get("untrusted", "not known"))
             for each in told if each["event"] == "step"]
    return np.array(sink.data(), np.uint8), steps


def disturbed(samples, what, period, length):
    """From FROM on `length` of `period` symbols, at random places, hold what `what` makes of the samples."""
    random = np.random.default_rng(5)
    changed = samples.copy()
    for first in range(FROM, SYMBOLS - 2 * period, period):
        at = SPS * (first + random.integers(period - length))
        part = slice(at, at + SPS * length)
        changed[part] = what(samples[part], samples[at - 1], random)
    return changed


DISTURBANCES = {
    "held at 0.7": lambda part, last, random: 0.7,
    "held near a level": lambda part, last, random: 0.9,
    "held": lambda part, last, random: last,
    "lost": lambda part, last, random: 0,
    "noise alone": lambda part, last, random: random.normal(size=part.size),
    "a burst of noise": lambda part, last, random: part + 0.4 * random.normal(size=part.size),
    "a tenth of the level": lambda part, last, random: 0.1 * part,
    "half the level": lambda part, last, random: 0.5 * part,
    "saturated": lambda part, last, random: np.clip(part, -0.4, 0.4),
    "inverted": lambda part, last, random: -part,
    "a tone": lambda part, last, random: part + np.sin(0.5 * np.arange(part.size)),
}


def too_low(link, what, period, length, **settings):
    """Steps whose estimate is trusted and less than a third of the count of the 8192 symbols before; all steps."""
    sent, samples = link
    decided, steps = estimates(disturbed(samples, DISTURBANCES[what], period, length), **settings)
    count = min(decided.size, sent.size)
    errors = np.unpackbits((decided[:count] ^ sent[:count])[:, None], axis=1).sum(axis=1)
    total = np.r_[0, np.cumsum(errors)] / (2 * 8192)
    wrong = [at for at, ber, why in steps if not why and FROM + 8192 < at < count
             and total[at] - total[at - 8192] > 3 * ber + 4e-4]
    return wrong, steps


@pytest.mark.parametrize("settings", [{}, {"front_filter": False}, {"decisions": "network"}],
                         ids=["refined", "no front filter", "network"])
# Half the level is not seen in every batch.
@pytest.mark.parametrize("what", [each for each in DISTURBANCES if each != "half the level"])
@pytest.mark.parametrize("period, length", [(512, 60), (4000, 60)])
def test_disturbed_stretches_are_not_trusted(link, what, period, length, settings):
    """Without residual_scatter each step trusts an estimate 16 to 350 times too low. The network's is watched in
    batches that are learnt from only, later one in four: one step in ten may be wrong."""
    wrong, steps = too_low(link, what, period, length, **settings)
    assert len(wrong) <= (0.1 * len(steps) if settings.get("decisions") == "network" else 0), (len(wrong), len(steps))


@pytest.mark.parametrize("what, period, length", [
    ("saturated", 2263, 7), ("inverted", 10728, 392), ("held", 8682, 9), ("lost", 9084, 15),
    ("half the level", 830, 24)])
def test_short_and_rare_ones_are_not_trusted(link, what, period, length):
    """While only single symbols and stretches of 16 were looked at, in batches that are learnt from: up to 280 times
    too low, in up to all steps."""
    wrong, steps = too_low(link, what, period, length)
    assert not wrong, (len(wrong), len(steps))
    assert "noise not stationary" in {why for at, _, why in steps if at > FROM}


@pytest.mark.parametrize("settings", [{}, {"decisions": "network"}], ids=["refined", "network"])
def test_without_them_each_estimate_is_trusted(link, settings):
    sent, samples = link
    _, steps = estimates(samples, **settings)
    assert not any(why for at, _, why in steps if at > FROM)
    assert "too few symbols" in {why for at, _, why in steps if at < 8192}
