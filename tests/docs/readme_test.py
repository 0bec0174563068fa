# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python in README.md runs as it stands there."""

import pathlib
import re
import subprocess
import sys

import numpy as np
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel

ROOT = pathlib.Path(__file__).parents[2]


def test_the_flowgraph_in_the_readme_equalizes_a_drifted_link(tmp_path):
    program, = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(program.strip().splitlines()) <= 10
    sent = random_labels(2**17, 5)
    simulate_vcsel(sent, "reference", seed=6).tofile(tmp_path / "capture.f32")
    sent.tofile(tmp_path / "sent.u8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    # As the README's last line prints them: errors and bits.
    errors, bits = map(int, re.findall(r"\d+", done.stdout))
    assert bits > 2**18 - 100
    assert errors < 0.006 * bits  # the frozen network: 0.017
    decided = np.fromfile(tmp_path / "labels.u8", np.uint8)
    wrong = np.unpackbits(decided ^ sent[:decided.size]).sum()
    assert wrong == errors
