# SPDX-License-Identifier: GPL-3.0-or-later
"""bars.py: a figure outside of its interval is found on either side."""

import json

import bars
import pytest


@pytest.fixture(autouse=True)
def noted(tmp_path, monkeypatch):
    monkeypatch.setattr(bars, "FILE", tmp_path / "bars.json")
    bars.write("suite", {"errors": 99, "none": 0})


def test_four_deviations_of_a_count_are_allowed():
    assert json.loads(bars.FILE.read_text())["suite"]["errors"] == {"low": 59, "measured": 99, "high": 139}
    for count in 59, 99, 139:
        assert bars.outside("suite", {"errors": count, "none": 4}) == []


@pytest.mark.parametrize("count, side", [(58, "less"), (140, "more")])
def test_a_loss_is_found_and_so_is_a_gain(count, side):
    assert bars.outside("suite", {"errors": count, "none": 0}) == [
        f"suite: errors is {count}, not 59 to 139: {side} than the 99 noted"]


def test_figures_that_are_missing_or_new_are_found():
    assert bars.outside("suite", {"errors": 99, "other": 1}) == [
        "suite: none is not measured", "suite: other is not in bars.json"]


def test_the_results_of_a_suite_are_compared(tmp_path, capsys):
    def found(met):
        (tmp_path / "results.json").write_text(json.dumps({"bars": [{"met": k < met} for k in range(640)]}))
        return tmp_path
    bars.main("coded", found(575), "--write")
    assert json.loads(bars.FILE.read_text())["coded"] == {"bars met": {"low": 568, "measured": 575, "high": 582}}
    assert bars.main("coded", found(582)) == 0
    assert bars.main("coded", found(567)) == 1
    assert "less than the 575 noted" in capsys.readouterr().out
