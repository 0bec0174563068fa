# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/demo.py, a short run: the adaptive network beats the frozen one after the drift."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


def run_demo(*arguments):
    return subprocess.run([sys.executable, ROOT / "examples/demo.py", *map(str, arguments)],
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, "COLUMNS": "80"})


def test_the_adaptive_network_comes_back_and_the_frozen_one_does_not(tmp_path):
    done = run_demo("--symbols", 2**18, "-o", tmp_path / "a/b")
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"(set[12])\W+(frozen|adaptive)(.*)", done.stdout)
    final = {(capture, network): float(re.findall(r"[\d.]+e-\d+", numbers)[-1])
             for capture, network, numbers in rows}
    assert len(final) == 4, done.stdout
    assert 1e-2 < final["set2", "frozen"] < 2e-2
    assert final["set2", "adaptive"] < 1e-3
    assert final["set1", "adaptive"] < 1e-3
    assert (tmp_path / "a/b/ber.png").read_bytes().startswith(PNG)


def test_wrong_usage_exits_with_2():
    done = run_demo("--symbols", 10)
    assert done.returncode == 2
    assert "--symbols" in done.stderr
