# SPDX-License-Identifier: GPL-3.0-or-later
"""What the examples begin with, wherever they are run."""

from pathlib import Path

import numpy as np
from gnuradio.adann import core
from gnuradio.adann.captures.files import read_capture
from gnuradio.adann.links import examples
from gnuradio.adann.links.packet_radio import FLAG, frame_bits, line_labels

MODEL = "models/vcsel_pam4.safetensors"


def test_a_model_is_found_beside_the_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert core.load_model(examples.model(MODEL)).constellation.name == "pam4"
    assert examples.model("models/none.safetensors") == "models/none.safetensors" and examples.model("") == ""
    (tmp_path / "models").mkdir()
    (tmp_path / MODEL).write_bytes(b"one's own")
    assert examples.model(MODEL) == MODEL


def test_recordings_are_made_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples.make_packets("echo.sigmf-meta")
    packets = read_capture("echo.sigmf-meta")
    assert packets.sample_rate == 48_000 and packets.samples.dtype == np.complex64
    examples.make_fibre("fibre.sigmf-meta")
    fibre, labels = read_capture("fibre.sigmf-meta"), np.fromfile("fibre.u8", np.uint8)
    assert fibre.sample_rate == 112e9 and fibre.samples.size == 4 * labels.size == 2**20
    # The fibre's samples are of these labels.
    levels = np.array([-3, -1, 3, 1])[labels]
    assert np.corrcoef(levels, np.asarray(fibre.samples)[::4])[0, 1] > 0.9
    before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    examples.make_packets("echo.sigmf-meta")
    examples.make_fibre("fibre")
    assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == before


def test_frames_are_stuffed_scrambled_and_nrzi_coded():
    """By the definitions: a change is a 0, and s(n) + s(n-12) + s(n-17) is the bit."""
    bits = frame_bits(np.random.default_rng(1).integers(0, 256, 20, np.uint8).tobytes() + bytes([0xFF, 0x7E, 0xFF]))
    assert bits.endswith(FLAG) and "111111" not in bits.removesuffix(FLAG)
    labels = line_labels(5 * FLAG + bits + 5 * FLAG)
    scrambled = 1 - (labels[1:] ^ labels[:-1])
    plain = scrambled[17:] ^ scrambled[5:-12] ^ scrambled[:-17]
    assert FLAG + bits + FLAG in "".join(map(str, plain))
