# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds a command: names that are not UTF-8, standard streams that are closed, full or of few characters."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from gnuradio import adann as blocks
from gnuradio.adann import core
from pam4_sets import TRAIN

ODD = os.fsdecode(b"Messung_\xb5s")
STRICT = {"PYTHONIOENCODING": "utf-8:strict"}  # as in most people's locales


@pytest.fixture(scope="module")
def odd(sets, tmp_path_factory):
    """A folder and a capture whose names are no UTF-8."""
    folder = tmp_path_factory.mktemp("odd") / ODD
    folder.mkdir()
    for path in sets.glob("set1.*"):
        shutil.copy(path, folder / f"{ODD}{path.suffix}")
    shutil.copy(sets / "model.safetensors", folder / f"{ODD}.safetensors")
    np.save(folder / f"{ODD}.npy", np.fromfile(sets / "set1.sigmf-data", "f4")[:4000])
    return folder


def run(arguments, environment=STRICT, shell="", **streams):
    """shell: of the command's streams, as in >&-"""
    command = ["sh", "-c", f'"$@" {shell}', "sh", "adann", *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **environment}, timeout=600,
                          **(streams or dict(capture_output=True)))


def commands(folder, out):
    model, capture, reference = folder / f"{ODD}.safetensors", folder / f"{ODD}.sigmf-meta", folder / f"{ODD}.u8"
    known = "--capture", capture, "--reference", reference
    return {
        "train": ("train", *known, *TRAIN, "--epochs", 1, "-o", out / ODD),
        "equalize": ("equalize", "--model", model, *known, "-o", out / ODD, "--report", out / f"{ODD}.json", "--plot",
                     out / f"{ODD}.png", "--checkpoint", out / f"{ODD}.check"),
        "mlse": ("mlse", "--constellation", "pam4", "--sps", 2, *known, "-o", out / ODD),
        "import": ("import", folder / f"{ODD}.npy", "-o", out / ODD),
        "resample": ("resample", capture, "--baud", 28e9, "--sps", 2, "-o", out / ODD),
        "quantize": ("quantize", model, *known, "--bits", 8, "-o", out / ODD),
        "export c": ("export", model, "--format", "c", "-o", out / f"{ODD}.c"),
        "export onnx": ("export", model, "--format", "onnx", "-o", out / f"{ODD}.onnx"),
        "try": ("try", capture, "--reference", reference, "--constellation", "pam4", "--baud", 28e9, "--sps", 2, "-o",
                out / ODD),
        "simulate": ("simulate", "vcsel", "--symbols", 1000, "-o", out / ODD)}


@pytest.mark.parametrize("name", commands(Path(), Path()))
def test_a_path_need_not_be_utf8(odd, tmp_path, name):
    done = run(commands(odd, tmp_path)[name])
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    assert any(path.name.startswith(ODD) for path in tmp_path.iterdir())
    if name != "equalize" and name != "mlse":  # whose tables have the capture's name alone, without its folder
        assert os.fsencode(tmp_path / ODD) in done.stdout
    if name == "equalize":
        assert os.fsencode(ODD) in done.stdout
        report = json.loads((tmp_path / f"{ODD}.json").read_text())
        assert Path(report["captures"][0]["file"]) == odd / f"{ODD}.sigmf-meta"
        assert core.load_model(tmp_path / f"{ODD}.check").sps == 2


def test_what_is_wrong_with_such_a_path_is_one_line(odd, tmp_path):
    for arguments in (("equalize", "--model", odd / "no", "--capture", odd / ODD),
                      ("equalize", "--model", odd / f"{ODD}.safetensors", "--capture", odd / "no"),
                      ("import", odd / "no.npy", "-o", tmp_path / "a")):
        done = run(arguments)
        assert (done.returncode, done.stdout) == (1, b"")
        assert rb"Messung_\xb5s/no" in done.stderr and done.stderr.count(b"\n") == 1


def test_blocks_take_such_a_path(odd, tmp_path):
    block = blocks.equalizer(model=str(odd / f"{ODD}.safetensors"), checkpoint=str(tmp_path / ODD))
    block.start()
    block.stop()
    points = tmp_path / f"{ODD}.json"
    points.write_text("[[-1, 0], [1, 0]]")
    assert core.load_model(tmp_path / ODD).constellation.size == 4 and core.constellation(str(points)).size == 2
    with pytest.raises(ValueError, match=r"constellation is '.*Messung_\\xb5s/no.json', allowed: a file"):
        core.constellation(str(odd / "no.json"))
    with pytest.raises(ValueError, match=r"Messung_\\xb5s"):
        blocks.equalizer(model=str(odd / "no"))


def test_what_a_stream_has_no_character_for_is_a_question_mark(odd, tmp_path):
    done = run(commands(odd, tmp_path)["mlse"], {"PYTHONIOENCODING": "ascii:strict"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert os.fsencode(ODD) in done.stdout and b"?" in done.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_closed_stream_costs_what_is_said_alone(odd, tmp_path, closed):
    """And no file gets what is written to the number that has become free, of GNU Radio's log for example."""
    done = run(commands(odd, tmp_path)["equalize"], shell=closed)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert run(commands(odd, tmp_path)["mlse"][:-1] + (tmp_path / "mlse",)).returncode == 0
    size = (odd / f"{ODD}.u8").stat().st_size
    assert (tmp_path / ODD).stat().st_size == (tmp_path / "mlse").stat().st_size == size


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_one_line(odd, tmp_path, unbuffered):
    for arguments in commands(odd, tmp_path)["import"], ["--help"]:
        with open("/dev/full", "wb") as full:
            done = run(arguments, {**STRICT, "PYTHONUNBUFFERED": unbuffered}, stdout=full, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (1, b"adann: No space left on device\n")


def test_a_reader_that_leaves_ends_it_quietly(odd, tmp_path):
    done = run(commands(odd, tmp_path)["equalize"], shell="| true")
    assert done.stderr == b""
