# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's fields against the design."""

import json

import numpy as np
import pytest
from gnuradio.adann.offline.evaluate import Errors
from gnuradio.adann.offline.report import Run, write_plot, write_report


def report(number, run):
    return run.entry(), list(run.rows(number))


def test_the_report_has_the_designs_fields(tmp_path):
    entry, blocks = report(
        1, Run("set2", 25, 2, 10, Errors(*np.array([(10, 10, 5), (2, 0, 1), (3, 0, 1)]), 2)))
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
    entry, blocks = report(0, Run("set1", 25, 2, 10))
    assert entry == {"file": "set1", "symbols": 25, "bit_errors": None, "ber": None, "ci95": None,
                     "convergence_blocks": None, "final_ber": None}
    assert [block["symbols"] for block in blocks] == [10, 10, 5]
    assert all(block["ber"] is None and block["bit_errors"] is None for block in blocks)


def test_the_gmi_comes_normalized_and_with_the_code_rate_that_it_bears():
    entry, _ = report(0, Run("set1", 25, 4, 10, gmi=3.2))
    assert (entry["gmi"], entry["ngmi"], entry["code_rate"]) == (3.2, 0.8, "3/4")
    entry, _ = report(0, Run("set1", 25, 4, 10, gmi=-0.1))
    assert entry["ngmi"] < 0 and entry["code_rate"] is None


def test_a_plot_is_written(tmp_path):
    errors = Errors(*np.array([[500] * 12, [2] * 12, [3] * 12]), 2)
    run, unknown = Run("set1", 6000, 2, 500, errors), Run("set2", 6000, 2, 500)
    assert run.latest().size == unknown.latest().size == 12
    write_plot(tmp_path / "ber.png", {"frozen": [run, unknown], "adaptive": [run] * 2}, 500)
    assert (tmp_path / "ber.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 1
