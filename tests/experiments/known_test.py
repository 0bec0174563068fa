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
    """60 TETRA bursts at 20 dB: those that a receiver which knows all symbols receives are received, but for four."""
    done = subprocess.run(["adann", "reproduce", "known", "--quick", "-o", tmp_path], capture_output=True, text=True,
                          timeout=3000)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.md").read_text().strip() in done.stdout
    results = json.loads((tmp_path / "results.json").read_text())
    assert [run["frame"] for run in results["runs"]] == ["TETRA"] * 4
    for run in results["runs"]:
        assert run["lost"][known.OURS] <= run["lost"][known.ALL_KNOWN] + 4 / run["bursts"]
        assert run["lost"][known.OURS] < run["lost"][known.STILL]


def test_frames_have_the_energy_the_offset_and_the_known_symbols_that_they_say():
    frame = Frame("qpsk", FRAMES["TETRA"].known, carrier=0.02, rays=((0, 1), (1, 0.5)))
    power = []
    for seed in range(30):
        samples, labels = frame.receive(100, seed)
        told = frame.known != 255
        np.testing.assert_array_equal(labels[told], frame.known[told])
        inside = samples[frame.SPS * frame.MARGIN:][:frame.SPS * labels.size:frame.SPS]
        power.append(np.mean(abs(inside) ** 2))
        # The line of the fourth power of QPSK lies at four times the offset: within a bin of 1/4096.
        line = np.fft.fftfreq(4096)[abs(np.fft.fft(inside**4, 4096)).argmax()]
        assert abs((line - 4 * frame.offset(seed) + 0.5) % 1 - 0.5) < 1 / 512
    assert np.mean(power) == pytest.approx(1, abs=0.15)


def test_lms_learns_a_still_channel():
    """64 known symbols, no noise to speak of: all symbols are right in both directions."""
    marks = np.full(300, 255, np.uint8)
    marks[100:164] = np.resize(FRAMES["TETRA"].known[122:133], 64)
    frame = Frame("qpsk", marks, rays=((0, 1), (1, 0.4)))
    samples, labels = frame.receive(40, 1)
    windows = known._still(samples, frame, 1, 6)
    np.testing.assert_array_equal(known.lms(windows, frame, unit_points(core.constellation("qpsk")), 0.1), labels)
