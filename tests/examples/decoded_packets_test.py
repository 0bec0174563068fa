# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/decoded_packets.py: what GNU Radio's packet decoder tells the equalizer."""

import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def received(phase):
    """What the example prints: (packets, BER) without packets to teach and with them, and the status' three figures."""
    done = subprocess.run([sys.executable, ROOT / "examples/decoded_packets.py", "--symbols", "262144", "--seed", "6",
                           "--phase", str(phase)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "debug" not in done.stdout + done.stderr
    told = re.findall(r"(\d+) of 939 packets, BER of the last quarter (\S+)", done.stdout)
    counted = re.search(r"packets (\d+), packet_ber (\S+), cycle_slips (\d+)", done.stdout)
    return *((int(packets), float(ber)) for packets, ber in told), counted


def test_decoded_packets_undo_the_rotation_and_count_errors():
    """Three of four bits of a rotated label are right or wrong by chance; at 14 dB one bit in 70 is wrong. Some 840
    of 939 packets pass, in each rotation; the first few only start the count. Which rotation an equalizer without
    labels starts with is open, but it is not the same one for two phases that are half a turn apart."""
    runs = [received(phase) for phase in (2.0, 2.0 + math.pi)]
    for (without, _), (taught, upright), counted in runs:
        assert min(without, taught) > 700
        assert upright < 0.03
        assert 50 < int(counted[1]) <= taught
        assert 0.01 < float(counted[2]) < 0.55
    rotated = [run for run in runs if run[0][1] > 0.4]
    assert rotated
    assert all(int(counted[3]) >= 1 for *_, counted in rotated)


def test_wrong_usage_exits_with_2():
    done = subprocess.run([sys.executable, ROOT / "examples/decoded_packets.py", "--symbols", "10"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "--symbols" in done.stderr
