# SPDX-License-Identifier: GPL-3.0-or-later
"""`adann separate`: two channels on the command line, from labels to a model, and with that without labels."""

import json
import re
import subprocess

import numpy as np
import pytest
import scipy.signal
import sigmf
from gnuradio.adann.captures.files import read_capture, write_capture
from gnuradio.adann.captures.statistics import normalized
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


def succeeds(*arguments):
    done = adann(*arguments)
    assert done.exit_code == 0, done.stderr


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


def test_a_carrier_is_found_with_labels_and_without(folder, tmp_path):
    """100 MHz at 32 GBd, of lasers 50 kHz wide in all, in two channels that do not tell it."""
    carrier = dict(carrier=-3.1e-3, linewidth=1.6e-6)
    labels = make_record(tmp_path, "first", 3, **carrier)
    make_record(tmp_path, "second", 4, angle=1.2, delay=0.8, turning=1e-5, **carrier)
    succeeds("separate", *both("--capture", tmp_path, "first"), *both("--reference", tmp_path, "first", ".u8"),
             "--constellation", "qpsk", "--sps", 2, *both("-o", tmp_path, "known"), "--report", tmp_path / "known.json")
    succeeds("separate", "--model", folder / "model.safetensors", *both("--capture", tmp_path, "second"),
             *both("-o", tmp_path, "stream"), "--report", tmp_path / "blind.json")
    for entry in json.loads((tmp_path / "known.json").read_text())["outputs"]:
        assert entry["frequency"] == pytest.approx(-3.1e-3, abs=5e-5) and entry["ber"] < 2e-3
    points = np.exp(1j * np.pi / 4 * np.array([5, 3, 7, 1]))
    for k, sent in enumerate(labels):  # upright throughout, as a network is trained on it
        stream = read_capture(tmp_path / f"known{k}").samples[::2]
        turned = np.angle(np.sum((stream * points[sent].conj()).reshape(16, -1), axis=1))
        assert abs(turned).max() < 0.05
    for k, entry in enumerate(json.loads((tmp_path / "blind.json").read_text())["outputs"]):
        assert entry["frequency"] == pytest.approx(-3.1e-3, abs=4e-4) and entry["modulation_error_ratio"] > 11
        succeeds("equalize", "--model", folder / "model.safetensors", "--capture", tmp_path / f"stream{k}", "--mode",
                 "off", "-o", tmp_path / f"{k}.u8", "--report", tmp_path / f"{k}.json", "--no-front-filter")


def decided_in_c(folder, name):
    """Labels (2, n) of the record `second` by a C file."""
    subprocess.run(f"cc -std=c99 -O2 -DADANN_FILTER {name}.c -o {name}", shell=True, cwd=folder, check=True)
    channels = np.stack([read_capture(folder / f"second{k}").samples[:] for k in (0, 1)], 1)
    found = subprocess.run([folder / name], input=channels.astype(np.complex64).tobytes(), capture_output=True,
                           check=True).stdout
    return np.frombuffer(found, np.uint8).reshape(-1, 2).T


def test_the_matrix_is_exported_with_the_network_behind_it(folder, tmp_path):
    """In float and in whole numbers: as `adann equalize` decides of the streams."""
    make_record(tmp_path, "second", 2, angle=1.2, delay=0.8)
    captures = both("--capture", tmp_path, "second")
    succeeds("separate", "--model", folder / "model.safetensors", *captures, "--matrix", tmp_path / "matrix.npy",
             *both("-o", tmp_path, "stream"))
    succeeds("quantize", folder / "model.safetensors", "--capture", folder / "known0", "--bits", 10,
             "-o", tmp_path / "whole.safetensors")
    expected = []
    for k in (0, 1):
        succeeds("equalize", "--model", folder / "model.safetensors", "--capture", tmp_path / f"stream{k}",
                 "--mode", "off", "-o", tmp_path / f"{k}.u8", "--report", tmp_path / f"{k}.json")
        expected.append(np.fromfile(tmp_path / f"{k}.u8", np.uint8))
    for name, model in ("floats", folder / "model.safetensors"), ("whole", tmp_path / "whole.safetensors"):
        succeeds("export", model, "--matrix", tmp_path / "matrix.npy", *captures, "--format", "c", "-o",
                 tmp_path / f"{name}.c")
        # The matrix stands still that followed its own noise.
        assert np.mean(decided_in_c(tmp_path, name)[:, 8192:-16] != np.stack(expected)[:, 8192:-16]) < 1e-3
    refused = adann("export", tmp_path / "whole.safetensors", "--matrix", tmp_path / "matrix.npy", "--format", "hls",
                    "-o", tmp_path / "dual")
    assert refused.exit_code == 1 and "with --capture, on which they are rounded anew" in refused.stderr
    assert not (tmp_path / "dual").exists()
    succeeds("export", tmp_path / "whole.safetensors", "--matrix", tmp_path / "matrix.npy", *captures, "--format",
             "hls", "-o", tmp_path / "dual")
    assert "of 2 channels in turn" in (tmp_path / "dual/README.md").read_text()


def test_a_matrix_of_known_labels_is_written_too(folder, tmp_path):
    succeeds("separate", *both("--capture", folder, "first"), *both("--reference", folder, "first", ".u8"),
             "--constellation", "qpsk", "--sps", 2, "--matrix", tmp_path / "matrix.npy", *both("-o", tmp_path, "known"))
    channels = [normalized(read_capture(folder / f"first{k}").samples[:]) for k in (0, 1)]
    for k, filters in enumerate(np.load(tmp_path / "matrix.npy")):
        stream = sum(np.convolve(each, taps[::-1], "same") for each, taps in zip(channels, filters))
        np.testing.assert_allclose(stream, read_capture(tmp_path / f"known{k}").samples[:], atol=1e-4)


def in_one_file(folder, name, path):
    """Both channels interleaved, written by numpy and the sigmf package."""
    channels = np.stack([np.fromfile(folder / f"{name}{k}.sigmf-data", "<c8") for k in (0, 1)], 1)
    channels.tofile(f"{path}.sigmf-data")
    sigmf.SigMFFile(data_file=f"{path}.sigmf-data", global_info={
        "core:datatype": "cf32_le", "core:sample_rate": 64e9, "core:num_channels": 2}).tofile(f"{path}.sigmf-meta")
    return path


def test_a_file_of_both_channels_is_separated_as_two_files_are(folder, tmp_path):
    xy = in_one_file(folder, "first", tmp_path / "xy")
    known = (*both("--reference", folder, "first", ".u8"), "--constellation", "qpsk", "--sps", 2)
    done = adann("separate", "--capture", xy, *known, *both("-o", tmp_path, "known"),
                 "--report", tmp_path / "known.json")
    assert done.exit_code == 0, done.stderr
    report = json.loads((tmp_path / "known.json").read_text())
    assert report["captures"] == [str(xy)] and (report["channels"], len(report["outputs"])) == (2, 2)
    points = np.exp(1j * np.pi / 4 * np.array([5, 3, 7, 1]))
    for k, entry in enumerate(report["outputs"]):
        stream = np.fromfile(tmp_path / f"known{k}.sigmf-data", "<c8")
        np.testing.assert_array_equal(stream, np.fromfile(folder / f"known{k}.sigmf-data", "<c8"))
        sent = np.fromfile(folder / f"first{k}.u8", np.uint8)
        decided = abs(stream[::2, None] - points).argmin(1)
        wrong = np.unpackbits((decided ^ sent).astype(np.uint8)).sum()
        assert (entry["file"], entry["reference"], entry["symbols"], entry["bit_errors"]) == (
            str(tmp_path / f"known{k}.sigmf-meta"), str(folder / f"first{k}.u8"), 16384, wrong)
        assert entry["ber"] == wrong / 32768 and entry["ci95"][0] <= entry["ber"] <= entry["ci95"][1]
        # The sent points are the nearest ones but for some: noise is what the ratio has.
        gain = np.vdot(points[sent], stream[::2]) / sent.size
        ratio = -10 * np.log10(np.mean(abs(stream[::2] / gain - points[sent]) ** 2))
        assert entry["modulation_error_ratio"] == pytest.approx(ratio, abs=0.1)
        line, = re.findall(rf"known{k}.sigmf-meta: .*", done.stdout)
        assert f"modulation error ratio {entry['modulation_error_ratio']:.1f} dB, BER" in line


def test_a_file_of_both_channels_is_followed_and_exported_as_two_files_are(folder, tmp_path):
    xy = in_one_file(folder, "first", tmp_path / "xy")
    model = folder / "model.safetensors"
    for name, captures in ("one", ("--capture", xy)), ("two", both("--capture", folder, "first")):
        (tmp_path / name).mkdir()
        succeeds("separate", "--model", model, *captures, *both("-o", tmp_path / name, "stream"), "--matrix",
                 tmp_path / name / "matrix.npy", "--report", tmp_path / name / "report.json")
        succeeds("export", model, "--matrix", tmp_path / name / "matrix.npy", *captures, "--format", "c", "-o",
                 tmp_path / name / "both.c")
    for written in "stream0.sigmf-data", "stream1.sigmf-data", "matrix.npy", "both.c":
        assert (tmp_path / "one" / written).read_bytes() == (tmp_path / "two" / written).read_bytes()
    report = json.loads((tmp_path / "one/report.json").read_text())
    assert report["model"] == str(model)
    # 13 dB of noise, and what the taps add or leave.
    assert all(entry["starts"] == 1 and 11 < entry["modulation_error_ratio"] < 14 for entry in report["outputs"])


@pytest.mark.parametrize("command", [
    ("train", "--reference", "first0.u8", *TRAIN, "--capture"),
    ("equalize", "--model", "model.safetensors", "--capture"),
    ("quantize", "model.safetensors", "--bits", 8, "--capture"),
    ("mlse", "--reference", "first0.u8", "--constellation", "qpsk", "--sps", 2, "--capture"), ("try",)],
    ids=lambda command: command[0])
def test_a_command_of_one_channel_tells_what_takes_several(folder, tmp_path, monkeypatch, command):
    in_one_file(folder, "first", tmp_path / "xy")
    monkeypatch.chdir(folder)
    done = adann(*command, tmp_path / "xy", "-o", tmp_path / "out")
    assert done.exit_code == 1 and done.stderr == (
        f"adann: {tmp_path / 'xy'}: 2 channels, allowed: 1; adann separate makes a capture of each transmitter in "
        "them, adann import --channel 1 of one of them alone\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("delay", [0.2, 0.5])
def test_a_record_of_an_oscilloscope_is_brought_to_whole_samples_and_separated(tmp_path, delay):
    """XI, XQ, YI, YQ at 2.5 samples a symbol by scipy's polyphase filter, also where half a symbol between the
    fibre's axes hides the clock in each channel."""
    make_record(tmp_path, "sent", 5, delay=delay)
    channels = np.stack([read_capture(tmp_path / f"sent{k}").samples for k in (0, 1)])
    channels = scipy.signal.resample_poly(channels, 5, 4, axis=1)
    np.save(tmp_path / "scope.npy", np.stack([channels.real, channels.imag], 1).reshape(4, -1))
    succeeds("import", tmp_path / "scope.npy", "--channel", "1,2,3,4", "--rate", 80e9, "--baud", 32e9,
             "-o", tmp_path / "xy")
    known = ("--constellation", "qpsk", "--sps", 2, *both("--reference", tmp_path, "sent", ".u8"),
             *both("-o", tmp_path, "known"))
    done = adann("separate", "--capture", tmp_path / "xy", *known)
    assert done.exit_code == 1 and "adann resample --sps 2 makes them so" in done.stderr
    done = adann("resample", tmp_path / "xy", "--sps", 2, "-o", tmp_path / "resampled")
    assert done.exit_code == 0 and re.search(r"1638\d symbols in each of 2 channels", done.stdout), done.output
    succeeds("separate", "--capture", tmp_path / "resampled", *known, "--report", tmp_path / "report.json")
    for entry in json.loads((tmp_path / "report.json").read_text())["outputs"]:
        assert entry["ber"] < 2e-3
    done = adann("resample", tmp_path / "xy", "--carrier", "-o", tmp_path / "other")
    assert done.exit_code == 2 and "has 2 channels; --clock-recovery, --carrier and --bursts are of one" in done.stderr


@pytest.mark.parametrize("arguments, text", [
    (("--model", "model.safetensors", "--matrix", "m.txt"), "a name that ends in .npy"),
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
