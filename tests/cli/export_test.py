# SPDX-License-Identifier: GPL-3.0-or-later
"""`adann export` and `adann import-network` as a user meets them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.cli import main
from gnuradio.adann.offline.training import feature_view
from safetensors.torch import save_file

torch = pytest.importorskip("torch")

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = EXAMPLES / "models"
RUNNER = CliRunner(mix_stderr=False)


def adann(*arguments):
    return RUNNER.invoke(main, [str(argument) for argument in arguments], prog_name="adann")


def done(*arguments):
    result = adann(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module", params=["vcsel_pam4", "sdr_bpsk"])
def exported(request, tmp_path_factory):
    """A model, a raw record of its own kind, and the labels that the core decides."""
    folder = tmp_path_factory.mktemp("exported")
    path = MODELS / f"{request.param}.safetensors"
    model = core.load_model(str(path))
    random = np.random.default_rng(1)
    floats = random.standard_normal(20_000 * model.sps * (1 + model.complex)).astype(np.float32)
    floats.tofile(folder / "rx.raw")
    samples = floats.view(np.complex64) if model.complex else floats
    return path, folder, model.network.decide(feature_view(samples, model.sps, model.half_window))[0]


def test_onnx_runs_without_this_package(exported):
    path, folder, labels = exported
    assert done("export", path, "--format", "onnx", "-o", folder / "net.onnx") == f"wrote {folder / 'net.onnx'}\n"
    site, = {entry for entry in sys.path if "venv" in entry and entry.endswith("site-packages")}
    there = subprocess.run(["/usr/bin/python3", "-c", "import gnuradio.adann"], env={"PYTHONPATH": site},
                           cwd=folder, capture_output=True)
    assert there.returncode  # or this test shows nothing
    subprocess.run(["/usr/bin/python3", EXAMPLES / "run_onnx.py", "net.onnx", "rx.raw", "labels.u8"],
                   env={"PYTHONPATH": site}, cwd=folder, check=True)
    np.testing.assert_array_equal(np.fromfile(folder / "labels.u8", np.uint8), labels)


def test_c_runs_in_one_line_of_shell(exported):
    path, folder, labels = exported
    assert done("export", path, "--format", "c", "-o", folder / "net.c") == (
        f"wrote {folder / 'net.c'} and {folder / 'net.h'}\n")
    subprocess.run("cc -std=c99 -DADANN_FILTER net.c -o decide && ./decide < rx.raw > labels.u8", shell=True,
                   cwd=folder, check=True)
    np.testing.assert_array_equal(np.fromfile(folder / "labels.u8", np.uint8), labels)


def test_what_cannot_be_exported_is_told_in_one_line_and_leaves_nothing(tmp_path):
    (tmp_path / "damaged.safetensors").write_bytes((MODELS / "vcsel_pam4.safetensors").read_bytes()[:900])
    (tmp_path / "old.c").write_text("old")
    np.zeros(100, np.complex64).tofile(tmp_path / "iq.c64")
    good = MODELS / "vcsel_pam4.safetensors"
    for arguments, said in (
            ((tmp_path / "damaged.safetensors", "--format", "c", "-o", tmp_path / "old.c"), "damaged.safetensors"),
            ((good, "--format", "c", "-o", tmp_path / "old.c", "--capture", tmp_path / "iq.c64"), "complex samples"),
            ((good, "--format", "onnx", "-o", tmp_path / "no" / "net.onnx"), "folder does not exist"),
            ((tmp_path / "none", "--format", "onnx", "-o", tmp_path / "net.onnx"), "No such file")):
        result = adann("export", *arguments)
        assert result.exit_code == 1 and result.stderr.count("\n") == 1 and said in result.stderr
    assert sorted(os.listdir(tmp_path)) == ["damaged.safetensors", "iq.c64", "old.c"]
    assert (tmp_path / "old.c").read_text() == "old"
    assert adann("export", good, "--format", "c", "-o", tmp_path / "net.txt").exit_code == 2


def test_a_network_of_one_s_own_becomes_a_model(tmp_path):
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(44, 10), torch.nn.ReLU(), torch.nn.Linear(10, 4))
    save_file(module.state_dict(), tmp_path / "net.safetensors")
    told = done("import-network", tmp_path / "net.safetensors", "--constellation", "pam4", "--sps", 4,
                "--half-window", 5, "-o", tmp_path / "model.safetensors")
    assert told == f"wrote {tmp_path / 'model.safetensors'}: a network of 44-10-4 neurons\n"
    model = core.load_model(str(tmp_path / "model.safetensors"))
    assert (model.sps, model.half_window, model.complex, model.training) == (
        4, 5, False, "imported from net.safetensors")
    np.testing.assert_array_equal(model.network.weight(1), module[2].weight.detach().numpy())


def test_with_a_record_its_errors_are_counted(tmp_path):
    done("simulate", "vcsel", "--symbols", 16384, "-o", tmp_path)
    known = core.load_model(str(MODELS / "vcsel_pam4.safetensors")).network
    state = {f"{k}.{name}": torch.tensor(values(k)) for k in range(5)
             for name, values in (("weight", known.weight), ("bias", known.bias))}
    save_file(state, tmp_path / "net.safetensors")
    told = done("import-network", tmp_path / "net.safetensors", "--constellation", "pam4", "--sps", 4,
                "--half-window", 5, "--capture", tmp_path / "set1", "--reference", tmp_path / "set1.u8",
                "-o", tmp_path / "model.safetensors")
    assert told.startswith("reference found at a delay of 0 symbols; ")
    model = core.load_model(str(tmp_path / "model.safetensors"))
    assert 0 < model.symbol_error_rate < 3e-3 and model.waveform is not None


@pytest.mark.parametrize("options, status, said", [
    (("--sps", 3), 1, "net.safetensors: the network has 44 inputs, allowed: 33 of real and 66"),
    (("--constellation", "16qam"), 1, "network output size is 4, allowed: 16"),
    (("--capture", "a"), 2, "give --capture and --reference, or neither")])
def test_what_does_not_fit_is_told_in_one_line(tmp_path, options, status, said):
    module = torch.nn.Linear(44, 4)
    save_file({f"0.{name}": value for name, value in module.state_dict().items()}, tmp_path / "net.safetensors")
    given = {"--constellation": "pam4", "--sps": 4, "--half-window": 5} | dict([options])
    result = adann("import-network", tmp_path / "net.safetensors", *sum(given.items(), ()), "-o",
                   tmp_path / "model.safetensors")
    assert result.exit_code == status and said in result.stderr
    assert os.listdir(tmp_path) == ["net.safetensors"]


def test_a_model_in_whole_numbers_and_its_c_file_decide_alike(tmp_path):
    done("simulate", "vcsel", "--symbols", 70_000, "-o", tmp_path)
    model = MODELS / "vcsel_pam4.safetensors"
    told = done("quantize", model, "--capture", tmp_path / "set1", "--reference", tmp_path / "set1.u8", "--bits", 8,
                "-o", tmp_path / "model.safetensors").splitlines()
    assert "of 70000 symbols are decided in another way" in told[0]
    assert told[1].startswith("float: BER ") and told[2].startswith("8 bits: BER ")
    done("export", tmp_path / "model.safetensors", "--format", "c", "--capture", tmp_path / "set1", "-o",
         tmp_path / "net.c")
    subprocess.run("cc -std=c99 -DADANN_FILTER net.c -o decide && ./decide < set1.sigmf-data > labels.u8",
                   shell=True, cwd=tmp_path, check=True)
    made = core.load_model(str(tmp_path / "model.safetensors"))
    samples = normalized(np.fromfile(tmp_path / "set1.sigmf-data", np.float32))
    labels = core.quantized_network(made.network, made.formats).decide(feature_view(samples, 4, 5))[0]
    np.testing.assert_array_equal(np.fromfile(tmp_path / "labels.u8", np.uint8), labels)


def test_a_folder_for_high_level_synthesis_is_written_of_whole_numbers_only(tmp_path):
    model = MODELS / "vcsel_pam4.safetensors"
    result = adann("export", model, "--format", "hls", "-o", tmp_path / "link")
    assert (result.exit_code, result.stderr) == (
        1, f"adann: {model}: the model is in float, allowed: one in whole numbers, see adann quantize\n")
    assert os.listdir(tmp_path) == []
    np.random.default_rng(1).standard_normal(4000).astype(np.float32).tofile(tmp_path / "rx.f32")
    done("quantize", model, "--capture", tmp_path / "rx.f32", "--bits", 6, "-o", tmp_path / "model.safetensors")
    done("export", tmp_path / "model.safetensors", "--format", "hls", "-o", tmp_path / "link")
    assert sorted(os.listdir(tmp_path / "link")) == [
        "README.md", "link.cpp", "link.h", "link_test.cpp", "link_weights.h"]
    assert "780, of 6 by 6 bits" in (tmp_path / "link/README.md").read_text()


@pytest.mark.parametrize("options, status, said", [
    (("--bits", 3), 2, "4<=x<=16"), (("--capture", "none.f32"), 1, "none.f32: no such file"),
    (("-o", "no/model.safetensors"), 1, "its folder does not exist")])
def test_what_cannot_be_quantised_is_told(tmp_path, options, status, said):
    np.random.default_rng(1).standard_normal(4000).astype(np.float32).tofile(tmp_path / "rx.f32")
    given = {"--bits": 8, "--capture": tmp_path / "rx.f32", "-o": tmp_path / "model.safetensors"} | dict([options])
    result = adann("quantize", MODELS / "vcsel_pam4.safetensors", *sum(given.items(), ()))
    assert result.exit_code == status and said in result.stderr
    assert os.listdir(tmp_path) == ["rx.f32"]
