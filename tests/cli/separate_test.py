# SPDX-License-Identifier: GPL-3.0-or-later
"""`adann separate`: two channels on the command line, from labels to a model, and with that without labels."""

import json

import numpy as np
import pytest
from gnuradio.adann.captures.files import read_capture, write_capture
from gnuradio.adann.links.dual_polarization_link import DualPolarizationLink
from pam4_sets import adann

TRAIN = ("--constellation", "qpsk", "--sps", 2, "--half-window", 3, "--hidden", "10,10", "--optimizer", "adam",
         "--batch", 256, "--epochs", 20)


def make_record(folder, name, seed, **parameters):
    labels = np.random.default_rng(seed).integers(0, 4, (2, 16384)).astype(np.uint8)
    link = DualPolarizationLink("qpsk", **{"snr": 13, **parameters})
    for channel, (samples, sent) in enumerate(zip(link.receive(labels, seed), labels)):
        write_capture(folder / f"{name}{channel}", samples, 64e9)
        sent.tofile(folder / f"{name}{channel}.u8")
    return labels


def both(option, folder, name, suffix=""):
    return [part for k in (0, 1) for part in (option, folder / f"{name}{k}{suffix}")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("separate")
    make_record(folder, "first", 1)
    done = adann("separate", *both("--capture", folder, "first"), *both("--reference", folder, "first", ".u8"),
                 "--constellation", "qpsk", "--sps", 2, *both("-o", folder, "known"))
    assert done.exit_code == 0, done.stderr
    done = adann("train", "--capture", folder / "known0", "--reference", folder / "first0.u8", *TRAIN,
                 "-o", folder / "model.safetensors")
    assert done.exit_code == 0, done.stderr
    return folder


def test_labels_tell_the_transmitters_apart(folder):
    points = np.exp(1j * np.pi / 4 * np.array([5, 3, 7, 1]))  # its Gray code: a sign a bit, of I and of Q
    for k in (0, 1):
        stream = read_capture(folder / f"known{k}")
        assert stream.sample_rate == 64e9
        sent = np.fromfile(folder / f"first{k}.u8", np.uint8)
        decided = abs(stream.samples[::2, None] - points).argmin(1)
        # White noise of 13 dB gives QPSK 4.0e-6 of errors by Q(sqrt(Es/N0)).
        assert np.mean(decided != sent) < 2e-3


def test_a_model_finds_them_in_another_record_without_labels(folder, tmp_path):
    labels = make_record(tmp_path, "second", 2, angle=1.2, delay=0.8, turning=1e-5)
    done = adann("separate", "--model", folder / "model.safetensors", *both("--capture", tmp_path, "second"),
                 *both("-o", tmp_path, "stream"))
    assert done.exit_code == 0, done.stderr
    assert "stream0.sigmf-meta: 16384 symbols, 1 starts" in done.stdout
    found = []
    for k in (0, 1):
        done = adann("equalize", "--model", folder / "model.safetensors", "--capture", tmp_path / f"stream{k}",
                     "--mode", "off", "-o", tmp_path / f"{k}.u8", "--report", tmp_path / f"{k}.json")
        assert done.exit_code == 0, done.stderr
        assert json.loads((tmp_path / f"{k}.json").read_text())["captures"][0]["symbols"] == 16384
        decided = np.fromfile(tmp_path / f"{k}.u8", np.uint8)
        rotations = [np.array(each) for each in ([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0], [1, 3, 0, 2])]
        rates = [min(np.mean(turned[decided][8:-8] != np.roll(sent, late)[8:-8])
                     for turned in rotations for late in range(-4, 5)) for sent in labels]
        assert min(rates) < 2e-3
        found.append(int(np.argmin(rates)))
    assert sorted(found) == [0, 1]


@pytest.mark.parametrize("arguments, text", [
    ((), "give --model or --reference"),
    (("--model", "model.safetensors"), "2 transmitters need as many -o, 1 given"),
    (("--reference", "first0.u8"), "--reference needs --constellation and --sps")])
def test_wrong_usage_is_told(folder, monkeypatch, arguments, text):
    monkeypatch.chdir(folder)
    done = adann("separate", *both("--capture", folder, "first"), *arguments, "-o", folder / "out")
    assert done.exit_code == 2 and text in done.stderr


def test_what_does_not_fit_is_told_in_a_line(folder, tmp_path):
    np.zeros(64, np.float32).tofile(tmp_path / "real.f32")
    done = adann("separate", "--model", folder / "model.safetensors", "--capture", tmp_path / "real.f32",
                 "-o", tmp_path / "out")
    assert done.exit_code == 1 and "real samples" in done.stderr
    noise = np.random.default_rng(3).standard_normal((2, 16384, 2)).astype(np.float32)
    for k in (0, 1):
        noise[k].tofile(tmp_path / f"noise{k}.c64")
    done = adann("separate", "--model", folder / "model.safetensors", *both("--capture", tmp_path, "noise", ".c64"),
                 *both("-o", tmp_path, "out"))
    assert done.exit_code == 1 and "no linear equalizer finds qpsk" in done.stderr
