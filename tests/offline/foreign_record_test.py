# SPDX-License-Identifier: GPL-3.0-or-later
"""A PAM4 link of another maker, whose levels come nearer to each other behind some labels than behind others."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import read_capture, read_captures
from gnuradio.adann.offline.equalize import equalize_captures
from gnuradio.adann.offline.training import TrainingSettings, train
from records import record

SETS = "foreign_pam4/two_set1", "foreign_pam4/two_set2"  # before a drift and after it


@pytest.fixture(scope="module")
def errors():
    """{row: of each set the wrong bits of each symbol}"""
    metas, references = ([record(f"{each}.{ending}") for each in SETS] for ending in ("sigmf-meta", "u8"))
    pam4 = core.constellation("pam4")
    captures = read_captures(metas, references, pam4.size)
    part = 2**16
    settings = TrainingSettings.fitted(part, pam4)
    model = train(read_capture(metas[0]).samples, captures[0].reference, pam4, 4, 5, settings).model
    rows = {"frozen": dict(mode="off"), "default": dict(mode="lockstep"),
            "no learning": dict(mode="lockstep", learning_rate=0.0)}
    found = {name: equalize_captures(model, captures, {"it": row}, events=False)[0]["it"].labels
             for name, row in rows.items()}
    return {name: [np.unpackbits((decided ^ capture.reference)[:, None], axis=1).sum(1)
                   for decided, capture in zip(labels, captures)] for name, labels in found.items()}


def test_before_the_drift_refined_decisions_take_away_most_errors(errors):
    """12 errors for 131; three times as many, or a third fewer for frozen, come less often than once in 10^6."""
    assert 4 * sum(errors["default"][0]) < sum(errors["frozen"][0])


def test_after_the_drift_they_beat_a_network_that_was_trained_there(errors):
    """BER of the last half 1.3e-3, some 700 errors; a network trained on this set with labels has 2.5e-3. It was
    9.9e-3 while changes that are small behind one label only were not tried."""
    last = errors["default"][1][2**18:]
    assert sum(last) / (2 * last.size) < 2e-3
    assert sum(last) <= 1.05 * sum(errors["no learning"][1][2**18:])
