# SPDX-License-Identifier: GPL-3.0-or-later
"""adann reproduce quantization: what it writes, from a network of few symbols."""

import json
import subprocess


def test_bits_against_errors(tmp_path):
    done = subprocess.run(["adann", "reproduce", "quantization", "--quick", "-o", tmp_path],
                          capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.md").read_text().strip() in done.stdout and (tmp_path / "plot.png").stat().st_size > 1e4
    links = json.loads((tmp_path / "results.json").read_text())["links"]
    assert len(links) == 3
    for ber in links.values():
        assert len(ber) == 14 and 0 < ber["float"] < 0.05
        assert ber["4"] > ber["6"] > ber["float"] / 1.1 and abs(ber["16"] / ber["float"] - 1) < 0.1
