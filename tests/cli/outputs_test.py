# SPDX-License-Identifier: GPL-3.0-or-later
"""Where commands write: devices, FIFOs and links stay what they are, and no input is written over."""

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from gnuradio.adann.captures.files import write_capture
from pam4_sets import TRAIN, adann
from safetensors.numpy import save_file
from special_files import device, read_fifo

MLSE = "--constellation", "pam4", "--sps", 2


@pytest.fixture(scope="module")
def there(sets, tmp_path_factory):
    """A folder of inputs for all commands."""
    folder = tmp_path_factory.mktemp("there")
    for name in "set1.sigmf-data", "set1.sigmf-meta", "set1.u8", "model.safetensors":
        shutil.copy(sets / name, folder)
    random = np.random.default_rng(1)
    labels = random.integers(0, 4, 5000).astype(np.uint8)
    sent = np.exp(1j * (np.pi / 4 + np.pi / 2 * np.array([2, 1, 3, 0])))[labels].repeat(2)
    noise = 0.05 * random.standard_normal((2, sent.size, 2)) @ [1, 1j]
    write_capture(folder / "two", sent + noise)
    labels.tofile(folder / "two.u8")
    np.save(folder / "scope.npy", np.fromfile(folder / "set1.sigmf-data", "f4")[:4000])
    save_file({f"{2 * n}.{name}": random.standard_normal(shape).astype("f4")
               for n, (rows, columns) in enumerate([(8, 10), (4, 8)])
               for name, shape in (("weight", (rows, columns)), ("bias", rows))}, folder / "network.safetensors")
    return folder


def commands(folder):
    """{what writes: its arguments, but for the output, which comes last}"""
    model, capture, reference = (folder / name for name in ("model.safetensors", "set1.sigmf-meta", "set1.u8"))
    known = "--capture", capture, "--reference", reference
    equalize = "equalize", "--model", model, *known, "--mode", "off"
    separate = ("separate", "--capture", folder / "two.sigmf-meta", "--reference", folder / "two.u8",
                "--constellation", "qpsk", "--sps", 2, "--outputs", 1)
    return {
        "equalize": (*equalize, "-o"),
        "equalize report": (*equalize, "--report"),
        "mlse": ("mlse", *MLSE, *known, "-o"),
        "mlse report": ("mlse", *MLSE, *known, "--report"),
        "train": ("train", *known, *TRAIN, "--epochs", 1, "-o"),
        "quantize": ("quantize", model, *known, "--bits", 8, "-o"),
        "import": ("import", folder / "scope.npy", "-o"),
        "import-network": ("import-network", folder / "network.safetensors", "--constellation", "pam4", "--sps", 2,
                           "--half-window", 2, *known, "-o"),
        "resample": ("resample", capture, "--sps", 2, "--baud", 28e9, "-o"),
        "separate": (*separate, "-o"),
        "separate report": (*separate, "-o", folder / "one", "--report"),
    }


NAMES = list(commands(Path()))


@pytest.mark.parametrize("name", NAMES)
def test_a_device_stays_one(there, tmp_path, name):
    null, full = device(tmp_path, "null"), device(tmp_path, "full")
    result = adann(*commands(there)[name], null)
    assert result.exit_code == 0, result.stderr
    result = adann(*commands(there)[name], full)
    assert result.exit_code == 1
    assert result.stderr == f"adann: {full}: No space left on device\n"
    for each in null, full:
        assert stat.S_ISCHR(os.stat(each).st_mode)
    assert {path for path in tmp_path.iterdir()} <= {null, full}


def test_a_checkpoint_may_be_a_device(there, tmp_path):
    null = device(tmp_path, "null")
    result = adann(*commands(there)["equalize report"], tmp_path / "report.json", "--mode", "lockstep", "--checkpoint",
                   null)
    assert result.exit_code == 0, result.stderr
    assert stat.S_ISCHR(os.stat(null).st_mode)


@pytest.mark.parametrize("name", NAMES)
def test_a_fifo_gets_what_a_file_does(there, tmp_path, name):
    with read_fifo(tmp_path / "fifo") as read:
        assert adann(*commands(there)[name], tmp_path / "fifo").exit_code == 0
    assert adann(*commands(there)[name], tmp_path / "file").exit_code == 0
    data = tmp_path / "file.sigmf-data"
    file = data if data.exists() else tmp_path / "file"
    if "report" not in name:  # that tells the time it took
        assert read == [file.read_bytes()]
    assert read[0][:1] in (b"{", file.read_bytes()[:1])


@pytest.mark.parametrize("name", NAMES)
def test_a_link_is_followed(there, tmp_path, name):
    (tmp_path / "far").mkdir()
    for suffix in "", ".sigmf-meta", ".sigmf-data":
        (tmp_path / f"link{suffix}").symlink_to(tmp_path / "far" / f"file{suffix}")
    assert adann(*commands(there)[name], tmp_path / "link").exit_code == 0
    assert all(path.is_symlink() for path in tmp_path.glob("link*"))
    assert {path.name for path in (tmp_path / "far").iterdir()} in (
        {"file"}, {"file.sigmf-meta", "file.sigmf-data"})


@pytest.mark.parametrize("name", NAMES)
def test_an_input_is_not_written_over(there, tmp_path, name):
    """By whatever name: its own, a link, a capture's stem or its other file."""
    shutil.copytree(there, tmp_path, dirs_exist_ok=True)
    command = commands(tmp_path)[name]
    inputs = [path for path in command if str(path).startswith(f"{tmp_path}/") and path != tmp_path / "one"]
    assert inputs
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for each in inputs:
        is_capture = each.suffix == ".sigmf-meta"
        (tmp_path / "link").symlink_to(each)
        outputs = [each, tmp_path / "link"]
        if command[0] in ("import", "resample", "separate") and "report" not in name:
            outputs = [each.with_suffix("")] if is_capture else []
        elif is_capture:
            outputs.append(each.with_suffix(".sigmf-data"))
        for output in outputs:
            result = adann(*command, output)
            assert result.exit_code == 1, (output, result.output)
            assert f"the same file as {each}, which is read; allowed: another one" in result.stderr
            assert result.stderr.count("\n") == 1
        (tmp_path / "link").unlink()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_other_inputs_and_outputs_are_told_apart_too(there, tmp_path):
    shutil.copytree(there, tmp_path, dirs_exist_ok=True)
    points, header = tmp_path / "points.json", tmp_path / "network.h"
    points.write_text("[[-3, 0], [-1, 0], [3, 0], [1, 0]]")
    shutil.copy(tmp_path / "model.safetensors", header)
    folder = tmp_path / "tried"
    folder.mkdir()
    write_capture(folder / "capture", np.zeros(100, "f4"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    known = commands(tmp_path)["equalize"][3:7]
    for command, same in (
            (("train", *known, *TRAIN, "--constellation", points, "-o", points), points),
            (("export", header, "--format", "c", "-o", tmp_path / "network.c"), header),
            (("try", folder / "capture", "-o", folder), folder / "capture"),
            (("equalize", "--model", header, *known, "--checkpoint", tmp_path / "set1.u8"), tmp_path / "set1.u8")):
        result = adann(*command)
        assert result.exit_code == 1
        assert f"the same file as {same}, which is read; allowed: another one" in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_two_outputs_are_two_files(there, tmp_path):
    for command in ((*commands(there)["equalize"], tmp_path / "a", "--report", tmp_path / "a"),
                    ("separate", "--capture", there / "two", "--capture", there / "two", "--model", there / "model",
                     "-o", tmp_path / "a", "-o", tmp_path / "a.sigmf-meta")):
        result = adann(*command)
        assert result.exit_code == 1
        assert "given for two outputs; allowed: a file for each" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [("try", "set1", "--baud", 28e9), ("simulate", "vcsel", "--symbols", 100),
                                     ("export", "model.safetensors", "--format", "hls"), ("reproduce", "complexity")],
                         ids=["try", "simulate", "export", "reproduce"])
def test_a_folder_is_none_where_a_device_is(there, tmp_path, monkeypatch, command):
    null = device(tmp_path, "null")
    monkeypatch.chdir(there)
    result = adann(*command, "-o", null)
    assert result.exit_code == 1
    assert result.stderr == f"adann: {null}: not a folder\n"
    assert stat.S_ISCHR(os.stat(null).st_mode)
