# SPDX-License-Identifier: GPL-3.0-or-later
"""What `adann` says and ends with: wrong usage, bad files, help, `adann doctor`."""

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.cli import main
from pam4_sets import TRAIN, adann


def write(path, data):
    path.write_bytes(bytes(data))
    return path


# What is given in place of a good file, and what is said about it.
BAD_TRAINING = {
    "a capture that is missing": (lambda t, s: {"--capture": t / "no.f32"}, "no such file"),
    "an empty capture": (lambda t, s: {"--capture": write(t / "a.f32", [])}, "empty"),
    "a truncated capture": (lambda t, s: {"--capture": write(t / "a.f32", range(9))}, "truncated"),
    "a short capture": (lambda t, s: {"--capture": write(t / "a.f32", np.arange(3.0, dtype="f4"))},
                        "fewer than one window"),
    "a silent capture": (lambda t, s: {"--capture": write(t / "a.f32", 400)}, "a.f32, "),
    "a reference that is missing": (lambda t, s: {"--reference": t / "no.u8"}, "no such file"),
    "an empty reference": (lambda t, s: {"--reference": write(t / "a.u8", [])}, "empty"),
    "a label out of range": (lambda t, s: {"--reference": write(t / "a.u8", [0, 4])},
                             "label 1 is 4, allowed: 0 to 3"),
    "another reference": (lambda t, s: {"--reference": s / "set2.u8"}, "does not align"),
    "real samples for a complex alphabet": (lambda t, s: {"--constellation": "16qam"}, "complex"),
    "an output nowhere": (lambda t, s: {"-o": t / "no" / "model.safetensors"}, "does not exist"),
}

BAD_EQUALIZING = {
    "a model that is missing": (lambda t, s: {"--model": t / "no"}, "no"),
    "an empty model": (lambda t, s: {"--model": write(t / "m", [])}, "model file"),
    "a truncated model": (lambda t, s: {"--model": write(
        t / "m", (s / "model.safetensors").read_bytes()[:-4])}, "model file"),
    "complex samples for a real model": (lambda t, s: {"--capture": write(t / "a.c64", 8000)},
                                         "complex samples, the model is for real"),
    "a short capture": (lambda t, s: {"--capture": write(t / "a.f32", range(12))},
                        "fewer than the model's window of 10"),
    "a silent capture": (lambda t, s: {"--capture": write(t / "a.f32", 400)}, "a.f32: samples is"),
    "another reference": (lambda t, s: {"--reference": s / "set2.u8"}, "does not align"),
    "supervised without a reference": (lambda t, s: {"--loss": "supervised", "--reference": None},
                                       "needs a reference"),
    "an output nowhere": (lambda t, s: {"-o": t / "no" / "out.u8"}, "does not exist"),
    "a checkpoint nowhere": (lambda t, s: {"--checkpoint": t / "no" / "file"}, "does not exist"),
}


def flat(options):
    return [part for item in options.items() if item[1] is not None for part in item]


def fails_in_one_line(folder, said, arguments):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = adann(*arguments)
    assert result.exit_code == 1, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("adann: ") and result.stderr.count("\n") == 1, result.stderr
    assert said in result.stderr
    assert result.stdout == ""
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("case", BAD_TRAINING)
def test_train_tells_in_one_line(sets, tmp_path, case):
    make, said = BAD_TRAINING[case]
    options = {"--capture": sets / "set1", "--reference": sets / "set1.u8",
               **dict(zip(TRAIN[::2], TRAIN[1::2])), "-o": tmp_path / "model",
               **make(tmp_path, sets)}
    fails_in_one_line(tmp_path, said, ["train", *flat(options)])


def test_a_blind_start_on_noise_tells_in_one_line(tmp_path):
    noise = np.random.default_rng(0).standard_normal(9000).astype(np.float32)
    fails_in_one_line(tmp_path, "no linear equalizer finds pam4 in the capture",
                      ["train", "--capture", write(tmp_path / "a.f32", noise), "--blind", *TRAIN,
                       "-o", tmp_path / "model"])


@pytest.mark.parametrize("name, half_window, said", [
    ("pam4", 255, "half-window is 255, allowed of a blind start: up to 127 at 2 samples per symbol"),
    ("gr:qpsk", 2, "constellation gr:qpsk needs complex samples, these are real")])
def test_a_blind_start_that_cannot_be_tells_in_one_line(sets, tmp_path, name, half_window, said):
    fails_in_one_line(tmp_path, said, ["train", "--capture", sets / "set1", "--blind", "--constellation", name, "--sps",
                                       2, "--half-window", half_window, "-o", tmp_path / "model"])


@pytest.mark.parametrize("case", BAD_EQUALIZING)
def test_equalize_tells_in_one_line(sets, tmp_path, case):
    make, said = BAD_EQUALIZING[case]
    options = {"--model": sets / "model.safetensors", "--capture": sets / "set1", "--reference":
               sets / "set1.u8", "-o": tmp_path / "out.u8", "--report": tmp_path / "report.json",
               **make(tmp_path, sets)}
    fails_in_one_line(tmp_path, said, ["equalize", *flat(options)])


@pytest.mark.parametrize("arguments", [
    ["train"], ["equalize"], ["no-such-command"],
    ["equalize", "--model", "m", "--capture", "a", "--mode", "sometimes"],
    ["equalize", "--model", "m", "--capture", "a", "--capture", "b", "--reference", "r"],
    ["equalize", "--model", "m", "--capture", "a", "--plot", "a.png"],
    ["equalize", "--model", "m", "--capture", "a", "--reference", "r", "--plot", "a.doc"],
    ["train", "--capture", "a", "--reference", "r", "--constellation", "pam4", "--sps", "0",
     "--half-window", "1", "-o", "m"],
    ["train", "--capture", "a", "--reference", "r", "--constellation", "pam4", "--sps", "1",
     "--half-window", "1", "--hidden", "ten", "-o", "m"],
    ["train", "--capture", "a", "--blind", "--constellation", "gr:none", "--sps", "1",
     "--half-window", "1", "-o", "m"],
])
def test_wrong_usage_ends_with_2(arguments):
    assert adann(*arguments).exit_code == 2


@pytest.mark.parametrize("command, option, value, allowed", [
    ("train", "--lr", -1, "0<x<=10"), ("train", "--fraction", 0, "0<x<=1"), ("train", "--fraction", 2, "0<x<=1"),
    ("train", "--batch", -5, "x>=1"), ("train", "--epochs", 0, "x>=1"), ("train", "--seed", -1, "x>=0"),
    ("equalize", "--lr", -2, "0.0<=x<=10.0"), ("equalize", "--sigma", -1, "0.0<=x<=10.0"),
    ("equalize", "--batch", 0, "16<=x<=1048576"), ("mlse", "--step", 2, "0.0<=x<=1.0"),
    ("resample", "--threshold", -1, "0<=x<=120")])
def test_an_option_out_of_range_is_named_with_what_is_allowed(command, option, value, allowed):
    result = adann(command, option, value)
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr and f" is not in the range {allowed}." in result.stderr


def test_no_option_has_a_range_without_an_end():
    for name in main.commands:
        assert "None" not in adann(name, "--help").stdout.replace("none is", "")


def test_a_constellation_is_named_in_any_case_and_all_are_listed():
    given = ("train", "--blind", "--capture", "no.f32", "--sps", 1, "--half-window", 1, "-o", "m", "--constellation")
    for name in "QPSK", "Gr:Qpsk":
        assert "no.f32: no such file" in adann(*given, name).stderr
    result = adann(*given, "qspk")
    assert result.exit_code == 2 and "256qam" in result.stderr
    assert "gr:16qam, or points in a .json file" in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", [[], ["train"], ["equalize"], ["simulate"], ["doctor"]])
def test_everything_has_help(command):
    result = adann(*command, "--help")
    assert result.exit_code == 0
    assert "Usage: adann" in result.stdout


def test_doctor_finds_the_build_healthy():
    program = subprocess.run(["adann", "doctor"], capture_output=True, text=True)
    assert program.returncode == 0, program.stdout
    assert "ok       GRC blocks" in program.stdout


def test_doctor_names_what_is_missing_and_what_mends_it(tmp_path):
    """A scipy that cannot be imported stands in the path's front."""
    (tmp_path / "scipy.py").write_text("raise ImportError('broken')")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"}
    program = subprocess.run(["adann", "doctor"], capture_output=True, text=True, env=environment)
    assert program.returncode == 1
    assert "missing  scipy: broken\n         mend it with: " in program.stdout
    assert program.stderr == ""


def test_doctor_speaks_when_the_package_does_not_load(tmp_path):
    """The bindings do not load, as with a library that nothing looks for where it lies."""
    real = Path(core.__file__).parent
    library = tmp_path / "lib" / "x86_64-linux-gnu" / "libgnuradio-adann.so.0.1"
    library.parent.mkdir(parents=True)
    library.touch()
    package = tmp_path / "gnuradio" / "adann"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('libgnuradio-adann.so: no such file')")
    (package / "cli").symlink_to(real / "cli")
    environment = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"].replace(
        str(real.parent.parent), str(tmp_path))}
    program = subprocess.run(["adann", "doctor"], capture_output=True, text=True, env=environment)
    assert program.returncode == 1
    assert program.stderr == "adann: libgnuradio-adann.so: no such file\n"
    assert "missing  Python package" in program.stdout
    assert f"sudo ldconfig, or export LD_LIBRARY_PATH={library.parent}\n" in program.stdout


def test_doctor_knows_bindings_of_another_pybind11(tmp_path):
    """What importing them says then, as GNU Radio's users have reported it."""
    real = Path(core.__file__).parent
    package = tmp_path / "gnuradio" / "adann"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        """raise ImportError('generic_type: type "x" referenced unknown base type "gr::block"')""")
    (package / "cli").symlink_to(real / "cli")
    environment = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"].replace(
        str(real.parent.parent), str(tmp_path))}
    program = subprocess.run(["adann", "doctor"], capture_output=True, text=True, env=environment)
    wanted = subprocess.run(["gnuradio-config-info", "--pybind"], capture_output=True, text=True)
    assert program.returncode == 1
    assert f"with GNU Radio's pybind11, {wanted.stdout.strip()}: cmake" in program.stdout


def test_doctor_compares_the_bindings_pybind11_with_gnu_radios(tmp_path):
    """In the modules' files: here one that was built with another, and would not load."""
    real = Path(core.__file__).parent
    package = tmp_path / "gnuradio" / "adann"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cli").symlink_to(real / "cli")
    (package / "core.so").write_bytes(b"\x7fELF\0__pybind11_internals_v0_other__\0")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"}
    program = subprocess.run([sys.executable, real / "cli" / "doctor.py"], capture_output=True, text=True,
                             env=environment)
    assert program.returncode == 1
    assert "missing  pybind11: gr-adann's bindings are of v0_other, GNU Radio's of v" in program.stdout
    healthy = subprocess.run(["adann", "doctor"], capture_output=True, text=True)
    assert "ok       pybind11: " in healthy.stdout


def test_doctor_does_not_wait_for_gnuradio_without_end(tmp_path, monkeypatch):
    """A program that never answers, and a child of it that keeps its output open."""
    doctor = importlib.import_module("gnuradio.adann.cli.doctor")
    silent = tmp_path / "gnuradio-config-info"
    silent.write_text(f"#!/bin/sh\nsleep 60 & echo $! > {tmp_path}/child; wait\n")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(doctor, "ANSWERS_IN", 1.0)
    told = CliRunner().invoke(doctor.doctor, [])
    os.kill(int(Path(tmp_path, "child").read_text()), signal.SIGTERM)  # fails if it was waited for
    assert told.exit_code == 0
    assert "ok       pybind11: unknown (gnuradio-config-info --pybind did not answer in 1 s), v" in told.stdout
