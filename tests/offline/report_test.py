# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's figures against their definitions, and its fields against the design."""

import json

import numpy as np
import pytest
from gnuradio.adann.offline.report import (capture_report, convergence_blocks, running_ber, write_plot,
                                   write_report)

BITS = np.full(40, 10_000)


def by_definition(errors, bits):
    """The design's sentence, word by word."""
    for n in range(8, len(bits) + 1):
        if np.sum(errors[n - 8:n]) / np.sum(bits[n - 8:n]) < 1e-3:
            if n == len(bits) or np.sum(errors[n:]) / np.sum(bits[n:]) < 1e-3:
                return n
    return None


@pytest.mark.parametrize("errors, expected", [
    (np.zeros(40), 8),  # there is no mean of 8 before
    (np.full(40, 10), None),  # exactly 1e-3 is not below
    (np.r_[np.full(10, 500), np.zeros(30)], 18),
    (np.r_[np.full(10, 500), np.full(30, 9)], 18),
    (np.r_[np.zeros(20), np.full(20, 500)], None),  # it diverges again
    (np.r_[np.full(32, 500), np.zeros(8)], 40),
    (np.zeros(7), None),
])
def test_convergence_of_known_curves(errors, expected):
    bits = BITS[:len(errors)]
    assert convergence_blocks(errors, bits) == expected == by_definition(errors, bits)


def test_convergence_is_the_definition_on_random_curves():
    random = np.random.default_rng(2)
    found = set()
    for _ in range(300):
        decay = np.exp(-np.arange(40) / random.uniform(1, 10))
        errors = random.poisson(500 * decay + random.uniform(0, 12))
        bits = np.r_[BITS[:39], random.integers(1, 10_000)]
        n = convergence_blocks(errors, bits)
        assert n == by_definition(errors, bits)
        found.add(n)
    assert len(found) > 10


def test_running_ber_weighs_a_short_last_block_by_its_bits():
    errors, bits = np.r_[np.arange(19), 5], np.r_[np.full(19, 100), 10]
    blocks = [{"bit_errors": e, "bits": b} for e, b in zip(errors, bits)]
    expected = [np.sum(errors[max(0, i - 7):i + 1]) / np.sum(bits[max(0, i - 7):i + 1])
                for i in range(20)]
    np.testing.assert_allclose(running_ber(blocks), expected)


def test_the_report_has_the_designs_fields(tmp_path):
    entry, blocks = capture_report(1, "set2", 25, 2, 10, [(10, 2, 3), (10, 0, 0), (5, 1, 1)])
    assert blocks == [
        {"capture": 1, "index": 0, "symbols": 10, "symbol_errors": 2, "bits": 20, "bit_errors": 3,
         "ber": 0.15},
        {"capture": 1, "index": 1, "symbols": 10, "symbol_errors": 0, "bits": 20, "bit_errors": 0,
         "ber": 0},
        {"capture": 1, "index": 2, "symbols": 5, "symbol_errors": 1, "bits": 10, "bit_errors": 1,
         "ber": 0.1}]
    # Clopper-Pearson of 4 in 50, from scipy.stats.binomtest(4, 50).proportion_ci().
    assert entry.pop("ci95") == pytest.approx([0.02222796, 0.19234278], rel=1e-5)
    assert entry == {"file": "set2", "symbols": 25, "bit_errors": 4, "ber": 0.08,
                     "convergence_blocks": None, "final_ber": 0.08}
    write_report(tmp_path / "report.json", {"captures": [entry], "blocks": blocks})
    assert json.loads((tmp_path / "report.json").read_text())["blocks"] == blocks


def test_without_a_reference_the_error_fields_are_null():
    entry, blocks = capture_report(0, "set1", 25, 2, 10)
    assert entry == {"file": "set1", "symbols": 25, "bit_errors": None, "ber": None, "ci95": None,
                     "convergence_blocks": None, "final_ber": None}
    assert [block["symbols"] for block in blocks] == [10, 10, 5]
    assert all(block["ber"] is None and block["bit_errors"] is None for block in blocks)


def test_a_plot_is_written(tmp_path):
    blocks = [{"bit_errors": 3, "bits": 1000}] * 12
    unknown = [{"bit_errors": None, "bits": 1000}] * 12
    write_plot(tmp_path / "ber.png", {"frozen": [blocks, unknown], "adaptive": [blocks] * 2}, 8192)
    assert (tmp_path / "ber.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 1
