# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/shoot_out.py, a short run: all equalizers lock, and rank as the README says."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "examples/shoot_out.py"
EQUALIZERS = {"frozen network", "AdaNN", "MLSE at 4 sps", "MLSE at 1 sps", "linear, CMA",
              "linear, LMS", "feedback, LMS"}


def run_script(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True,
                          text=True, timeout=600, env={**os.environ, "COLUMNS": "80"})


@pytest.fixture(scope="module")
def table():
    """{(part, equalizer): (BER, low, high)}"""
    done = run_script("--symbols", 2**18)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("│")[1:-1]]
            for line in done.stdout.splitlines() if line.startswith("│")]
    return {(part, name): tuple(map(float, re.findall(r"[\d.]+e-\d+", f"{ber} {interval}")))
            for part, name, _, ber, interval in rows}


def test_every_equalizer_locks_in_every_part(table):
    assert set(table) == {(part, name) for part in ("set1", "set2", "set2, start", "set2, later")
                          for name in EQUALIZERS}
    for ber, low, high in table.values():
        assert low < ber < high
    # All but the frozen network follow the drift.
    assert all(ber < 5e-3 for (_, name), (ber, _, _) in table.items() if name != "frozen network")


@pytest.mark.parametrize("part", ["set2", "set2, later"])
@pytest.mark.parametrize("worse", ["frozen network", "MLSE at 1 sps"])
def test_adann_beats_the_frozen_network_and_the_mlse_at_one_sample(table, part, worse):
    assert table[part, "AdaNN"][2] < table[part, worse][1]


@pytest.mark.parametrize("later", ["linear, LMS", "linear, CMA"])
def test_adann_follows_no_later_than_a_linear_equalizer(table, later):
    assert table["set2, start", "AdaNN"][0] <= table["set2, start", later][0]


def test_four_samples_help_the_mlse_and_feedback_the_linear_equalizer(table):
    assert table["set2, later", "MLSE at 4 sps"][2] < table["set2, later", "MLSE at 1 sps"][1]
    assert table["set2, later", "feedback, LMS"][0] < table["set2, later", "linear, LMS"][0]


def test_decisions_that_agree_by_chance_give_no_rate():
    spec = importlib.util.spec_from_file_location("shoot_out", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    decided, sent = np.random.default_rng(1).integers(0, 4, (2, 50_000)).astype(np.uint8)
    assert script.error_rate(decided, sent) == ("–", "unlocked")
    assert script.error_rate(sent, sent)[0] == "0.00e+00"
    inverted = np.array([2, 3, 0, 1], np.uint8)[sent]
    assert script.error_rate(inverted, sent)[0] == "0.00e+00"


def test_wrong_usage_exits_with_2():
    done = run_script("--symbols", 10)
    assert done.returncode == 2
    assert "--symbols" in done.stderr
