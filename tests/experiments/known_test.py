# SPDX-License-Identifier: GPL-3.0-or-later
"""adann reproduce known: what its figures mean."""

import json
import subprocess

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.experiments import known
from gnuradio.adann.experiments.comparators import unit_points
from gnuradio.adann.links.known_frames import FRAMES, Frame


def test_losses_are_written(tmp_path):
    """60 TETRA bursts in four noises: those that a receiver which knows all symbols receives are received, but for 16
    of the 240; in four draws 1 to 7 more are lost than by that, and 48 to 50 fewer than with known symbols alone."""
    done = subprocess.run(["adann", "reproduce", "known", "--quick", "-o", tmp_path], capture_output=True, text=True,
                          timeout=3000)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.md").read_text().strip() in done.stdout
    results = json.loads((tmp_path / "results.json").read_text())
    assert [run["frame"] for run in results["runs"]] == ["TETRA"] * 4
    ours, all_known, still = (round(sum(run["bursts"] * run["lost"][row] for run in results["runs"]))
                              for row in (known.OURS, known.ALL_KNOWN, known.STILL))
    assert ours <= all_known + 16
    assert ours < still - 24


def test_frames_have_the_energy_the_offset_and_the_known_symbols_that_they_say():
    frame = Frame("qpsk", FRAMES["TETRA"].known, carrier=0.02, rays=((0, 1), (1, 0.5)))
    power, off = [], []
    for seed in range(30):
        samples, labels = frame.receive(100, seed)
        told = frame.known != 255
        np.testing.assert_array_equal(labels[told], frame.known[told])
        inside = samples[frame.SPS * frame.MARGIN:][:frame.SPS * labels.size:frame.SPS]
        power.append(np.mean(abs(inside) ** 2))
        # The line of the fourth power of QPSK lies at four times the offset: within a few bins of 4096.
        line = np.fft.fftfreq(4096)[abs(np.fft.fft(inside**4, 4096)).argmax()]
        off.append(abs((line - 4 * frame.offset(seed) + 0.5) % 1 - 0.5))
    assert np.sum(np.array(off) < 1 / 512) >= 18  # the line of one in 16 drowns (360 draws); of 13 by chance in 1e-6
    assert np.mean(power) == pytest.approx(1, abs=0.15)


def test_lms_learns_a_still_channel():
    """64 known symbols, no noise to speak of: all symbols are right in both directions."""
    marks = np.full(300, 255, np.uint8)
    marks[100:164] = np.resize(FRAMES["TETRA"].known[122:133], 64)
    frame = Frame("qpsk", marks, rays=((0, 1), (1, 0.4)))
    samples, labels = frame.receive(40, 1)
    windows = known._still(samples, frame, 1, 6)
    np.testing.assert_array_equal(known.lms(windows, frame, unit_points(core.constellation("qpsk")), 0.1), labels)
