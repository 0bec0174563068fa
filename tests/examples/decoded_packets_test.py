# SPDX-License-Identifier: GPL-3.0-or-later
"""examples/decoded_packets.py: what GNU Radio's packet decoder tells the equalizer."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_decoded_packets_undo_the_rotation_and_count_errors():
    """Three of four bits of a rotated label are right or wrong by chance; at 14 dB one bit in 70 is wrong. Some 840
    of 939 packets pass, in each rotation; the first few only start the count. These labels rotate in the stream's
    first half, so that packets that are decoded late, on a busy machine, still undo it before the last quarter."""
    done = subprocess.run([sys.executable, ROOT / "examples/decoded_packets.py", "--symbols", "262144", "--seed", "6"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    told = re.findall(r"(\d+) of 939 packets, BER of the last quarter (\S+)", done.stdout)
    (without, rotated), (taught, upright) = [(int(packets), float(ber)) for packets, ber in told]
    assert min(without, taught) > 700
    assert rotated > 0.4
    assert upright < 0.03
    counted = re.search(r"packets (\d+), packet_ber (\S+), cycle_slips (\d+)", done.stdout)
    assert 50 < int(counted[1]) <= taught
    assert 0.01 < float(counted[2]) < 0.55
    assert int(counted[3]) >= 1
    assert "debug" not in done.stdout + done.stderr


def test_wrong_usage_exits_with_2():
    done = subprocess.run([sys.executable, ROOT / "examples/decoded_packets.py", "--symbols", "10"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "--symbols" in done.stderr
