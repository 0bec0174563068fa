# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `adann` as a user meets it: files, exit status, what is said and what is left."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.cli import main
from safetensors.torch import load_file

RUNNER = CliRunner(mix_stderr=False)
SPS, HALF_WINDOW = 2, 2


def adann(*arguments):
    return RUNNER.invoke(main, [str(argument) for argument in arguments], prog_name="adann")


def make_set(folder, name, interference, count=30_000, seed=1):
    """PAM4 through one symbol of interference in noise, as a capture and its reference."""
    random = np.random.default_rng(seed)
    alphabet = core.constellation("pam4")
    labels = random.integers(0, 4, count).astype(np.uint8)
    sent = alphabet.points[labels].real
    received = np.repeat(sent + interference * np.roll(sent, 1), SPS)
    received = np.roll(received, -(SPS // 2)) + 0.4 * random.standard_normal(received.size)
    write_capture(folder / name, received.astype(np.float32), SPS * 28e9)
    labels.tofile(folder / f"{name}.u8")


TRAIN = ("--constellation", "pam4", "--sps", SPS, "--half-window", HALF_WINDOW, "--optimizer",
         "adam", "--batch", 512, "--epochs", 20, "--hidden", "10,10")


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    make_set(folder, "set1", 0.3)
    make_set(folder, "set2", 0.45, seed=2)
    result = adann("train", "--capture", folder / "set1", "--reference", folder / "set1.u8",
                   *TRAIN, "-o", folder / "model.safetensors")
    assert result.exit_code == 0, result.stderr
    assert "delay of 0 symbols" in result.stdout
    # Noise of 0.4 in a signal of 5.45 and that.
    left = 10 * np.log10(0.16 / (0.16 + 5 * 1.09))
    assert f": it leaves {left:.0f}." in result.stdout
    return folder


def test_labels_in_gnuradios_order_are_told_unless_the_constellation_is_named(tmp_path):
    """Of QPSK, sent by GNU Radio's constellation object."""
    random = np.random.default_rng(5)
    there = core.constellation("gr:qpsk").points
    labels = random.integers(0, 4, 4000).astype(np.uint8)
    write_capture(tmp_path / "set", there[labels] + np.complex64(0.1) * random.standard_normal(4000),
                  1e6)
    labels.tofile(tmp_path / "set.u8")
    (tmp_path / "points.json").write_text(core.constellation(there).text)
    told = {}
    for name in "qpsk", "gr:qpsk", str(tmp_path / "points.json"):
        result = adann("train", "--capture", tmp_path / "set", "--reference", tmp_path / "set.u8",
                       "--constellation", name, "--sps", 1, "--half-window", 1, "--epochs", 2,
                       "-o", tmp_path / "model")
        assert result.exit_code == 0, result.stderr
        told[name] = result.stderr
    assert "do not lie as those of qpsk" in told.pop("qpsk")
    assert set(told.values()) == {""}
    np.testing.assert_array_equal(core.load_model(str(tmp_path / "model")).constellation.points,
                                  there)


@pytest.mark.parametrize("backend", ["core", "torch"])
def test_the_model_tells_what_trained_it(sets, tmp_path, backend):
    result = adann("train", "--capture", sets / "set1", "--reference", sets / "set1.u8", *TRAIN,
                   "--epochs", 1, "--backend", backend, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    assert f"backend {backend}" in core.load_model(str(tmp_path / "model")).training


def test_a_blind_start_needs_no_reference(sets, tmp_path):
    model = tmp_path / "model"
    result = adann("train", "--capture", sets / "set2", "--blind", *TRAIN, "-o", model)
    assert result.exit_code == 0, result.stderr
    assert "labels are a linear equalizer's decisions, modulation error ratio" in result.stdout
    bers = []
    for network in model, sets / "model.safetensors":
        adann("equalize", "--model", network, "--capture", sets / "set2", "--reference",
              sets / "set2.u8", "--mode", "off", "--report", tmp_path / "report.json")
        bers.append(json.loads((tmp_path / "report.json").read_text())["captures"][0]["ber"])
    assert bers[0] < 0.5 * bers[1]  # that one knows the labels of set1


@pytest.mark.parametrize("options", [(), ("--blind", "--reference", "set1.u8")])
def test_train_takes_a_reference_or_starts_blindly(sets, options):
    result = adann("train", "--capture", sets / "set1", *options, *TRAIN, "-o", "model")
    assert result.exit_code == 2
    assert "give --reference or --blind, and not both" in result.stderr


def test_only_the_backend_torch_needs_torch(sets, tmp_path):
    """A torch that cannot be imported stands in the path's front."""
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"}
    for backend, status, said in ("core", 0, ""), ("torch", 1, "adann: no torch here\n"):
        program = subprocess.run(
            ["adann", "train", "--capture", sets / "set1", "--reference", sets / "set1.u8",
             *map(str, TRAIN), "--epochs", "1", "--backend", backend, "-o", tmp_path / "model"],
            capture_output=True, text=True, env=environment)
        assert (program.returncode, program.stderr) == (status, said)


def equalize_two(sets, *options):
    return adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1",
                 "--capture", sets / "set2", "--reference", sets / "set1.u8", "--reference",
                 sets / "set2.u8", *options)


def test_two_captures_are_equalized_and_reported(sets, tmp_path):
    result = equalize_two(sets, "--mode", "off", "-o", tmp_path / "out.u8", "--report",
                          tmp_path / "report.json", "--plot", tmp_path / "ber.png", "--block", 4096)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    labels = np.fromfile(tmp_path / "out.u8", np.uint8)
    sent = np.concatenate([np.fromfile(sets / f"set{n}.u8", np.uint8) for n in (1, 2)])
    assert labels.size == sent.size
    report = json.loads((tmp_path / "report.json").read_text())
    errors = np.array([np.unpackbits(part).sum() for part in np.split(labels ^ sent, 2)])
    assert [entry["bit_errors"] for entry in report["captures"]] == errors.tolist()
    assert report["captures"][0]["ber"] < 1e-2 < report["captures"][1]["ber"]
    assert [row["index"] for row in report["blocks"]] == 2 * list(range(8))
    assert report["blocks"][7]["symbols"] == 30_000 - 7 * 4096
    assert set(report["adaptation"]) == {"mode", "loss", "batch", "steps", "dropped", "rejected"}
    assert report["adaptation"]["steps"] == 0
    assert report["msymbols_per_second"] > 0
    assert (tmp_path / "ber.png").stat().st_size > 1000
    assert "set2" in result.stdout


def test_lockstep_adapts_and_repeats_to_the_bit(sets, tmp_path):
    options = ("--loss", "self_training", "--batch", 512, "--report", tmp_path / "report.json")
    for name in "ab":
        result = equalize_two(sets, *options, "-o", tmp_path / name)
        assert result.exit_code == 0, result.stderr
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["adaptation"]["steps"] == 60_000 // 512
    equalize_two(sets, "--mode", "off", "--report", tmp_path / "frozen.json")
    frozen = json.loads((tmp_path / "frozen.json").read_text())
    assert report["captures"][1]["final_ber"] < 0.8 * frozen["captures"][1]["final_ber"]


def test_a_later_run_goes_on_from_a_checkpoint(sets, tmp_path):
    checkpoint, report = tmp_path / "checkpoint.safetensors", tmp_path / "report.json"
    first = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1",
                  "--checkpoint", checkpoint)
    assert first.exit_code == 0, first.stderr
    tensors = load_file(checkpoint)
    assert int(tensors["state.steps"]) == 30_000 // 512
    loaded, model = (core.load_model(str(file)) for file in (checkpoint, sets / "model.safetensors"))
    np.testing.assert_array_equal(tensors["layers.0.weight"].numpy(), loaded.network.weight(0))
    assert loaded.waveform == model.waveform is not None
    again = ("equalize", "--model", checkpoint, "--capture", sets / "set2", "--reference",
             sets / "set2.u8", "--report", report)
    for mode, steps in ("lockstep", 2 * (30_000 // 512)), ("off", 0):
        result = adann(*again, "--mode", mode)
        assert result.exit_code == 0, result.stderr
        assert json.loads(report.read_text())["adaptation"]["steps"] == steps
    assert adann(*again, "--mode", "off", "--checkpoint", checkpoint).exit_code == 2
    result = adann(*again, "--optimizer", "sgd")
    assert result.exit_code == 1
    assert f"model file {checkpoint}: state.trainer.optimizer.name is 'adam'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_rollback_is_replayed(sets, tmp_path):
    result = equalize_two(sets, "--lr", 1, "--checkpoint", tmp_path / "checkpoint.safetensors")
    assert result.exit_code == 0, result.stderr
    recorded = tmp_path / "checkpoint.rollback.safetensors"
    assert core.load_model(str(recorded)).waveform is not None
    result = adann("replay", recorded)
    assert result.exit_code == 0, result.stderr
    rows = [line.split("│")[1:-1] for line in result.stdout.splitlines() if "│" in line]
    steps = [int(row[1].replace(",", "")) for row in rows]
    assert sorted(set(steps)) == list(range(steps[0], steps[-1] + 1)) and steps == sorted(steps)
    assert [row[0].strip() for row in rows[-3:]] == ["step", "rollback", "step"]
    offline, adaptive, _ = map(float, rows[-3][4:7])
    assert adaptive > offline  # by the judge of the waveform, whatever the factor
    last = result.stdout.splitlines()[-1]
    assert last.startswith(f"step {steps[-1]}: rollback: training starts over from the weights '")
    assert last.endswith(("'offline'", "'last good'"))


@pytest.mark.parametrize("name, said", [
    ("model.safetensors", "holds no recorded batches"), ("set1.u8", "not a safetensors file"),
    ("no", "No such file")])
def test_what_is_no_rollback_is_told_in_one_line(sets, name, said):
    result = adann("replay", sets / name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr and result.stderr.count("\n") == 1


def test_known_labels_can_teach(sets, tmp_path):
    result = equalize_two(sets, "--loss", "supervised", "--batch", 512, "--lr", 0.005, "--report",
                          tmp_path / "report.json")
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "report.json").read_text())["captures"][1]["final_ber"] < 1e-2


def test_without_a_reference_only_labels_come_out(sets, tmp_path):
    result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1",
                   "-o", tmp_path / "out.u8", "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "report.json").read_text())["captures"][0]["ber"] is None
    assert (tmp_path / "out.u8").stat().st_size == 30_000


def test_samples_that_are_not_finite_cost_only_their_symbols(sets, tmp_path):
    samples = np.fromfile(sets / "set1.sigmf-data", np.float32)
    samples[10_000:10_020] = np.nan
    samples[20_000] = np.inf
    samples.tofile(tmp_path / "dirty.f32")
    for name, path in ("clean", sets / "set1"), ("dirty", tmp_path / "dirty.f32"):
        assert adann("equalize", "--model", sets / "model.safetensors", "--capture", path,
                     "--mode", "off", "-o", tmp_path / name).exit_code == 0
    different = np.flatnonzero(np.fromfile(tmp_path / "clean", np.uint8)
                               != np.fromfile(tmp_path / "dirty", np.uint8))
    touched = np.r_[5000 - 3:5010 + 3, 10_000 - 3:10_000 + 4]
    assert np.setdiff1d(different, touched).size <= 2  # the record's mean and power shift a little


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
    "a fraction of nothing": (lambda t, s: {"--fraction": 0}, "fraction is 0"),
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
    "a learning rate out of range": (lambda t, s: {"--lr": -2}, "learning_rate is -2"),
    "a batch out of range": (lambda t, s: {"--batch": 0}, "batch is 0"),
    "a rate that is no number any more": (lambda t, s: {"--lr": -1},
                                          "learning_rate is -1, allowed: 0 to 10, or automatic"),
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
    """The bindings do not load, as with a stale or missing library."""
    real = Path(core.__file__).parent
    package = tmp_path / "gnuradio" / "adann"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('libgnuradio-adann.so: no such file')")
    (package / "cli").symlink_to(real / "cli")
    environment = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"].replace(
        str(real.parent.parent), str(tmp_path))}
    program = subprocess.run(["adann", "doctor"], capture_output=True, text=True, env=environment)
    assert program.returncode == 1
    assert program.stderr == "adann: libgnuradio-adann.so: no such file\n"
    assert "missing  Python package" in program.stdout and "sudo ldconfig" in program.stdout


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


def test_the_papers_preset_says_that_it_diverges_and_an_option_replaces_its_own(sets, tmp_path):
    report = tmp_path / "report.json"
    result = equalize_two(sets, "--preset", "paper", "--lr", "automatic", "--report", report)
    assert result.exit_code == 0, result.stderr
    assert "warning: --preset paper: the paper's settings diverge" in result.stderr
    settings = json.loads(report.read_text())["settings"]
    assert settings["learning_rate"] is None and settings["pseudo_label"] == "perturbed"
    assert settings["sigma"] == 0.15 and settings["mode"] == "lockstep"


def test_mlse_decides_two_captures_and_reports(sets, tmp_path):
    arguments = ("mlse", "--constellation", "pam4", "--sps", SPS, "--memory", 3, "--capture",
                 sets / "set1", "--capture", sets / "set2", "--reference", sets / "set1.u8",
                 "--reference", sets / "set2.u8", "--update-interval", 2048)
    result = adann(*arguments, "-o", tmp_path / "out.u8", "--report", tmp_path / "report.json",
                   "--block", 4096)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    labels = np.fromfile(tmp_path / "out.u8", np.uint8)
    sent = np.concatenate([np.fromfile(sets / f"set{n}.u8", np.uint8) for n in (1, 2)])
    report = json.loads((tmp_path / "report.json").read_text())
    errors = np.array([np.unpackbits(part).sum() for part in np.split(labels ^ sent, 2)])
    assert [entry["bit_errors"] for entry in report["captures"]] == errors.tolist()
    assert [row["index"] for row in report["blocks"]] == 2 * list(range(8))
    assert report["adaptation"] == {"mode": "decision_directed", "batch": 2048, "steps": 29,
                                    "dropped": 0, "rejected": 0}
    # Normalised, the middle of a symbol has its own share and, after it, the interference.
    last = np.array(report["response"]["last"])
    assert last.shape == (SPS, 3)
    assert last[1, 2] / last[1, 1] == pytest.approx(0.45, abs=0.05)
    assert all(entry["ber"] < 2e-2 for entry in report["captures"])

    frozen = adann(*arguments, "--adaptation", "off", "--report", tmp_path / "frozen.json")
    assert frozen.exit_code == 0
    frozen = json.loads((tmp_path / "frozen.json").read_text())
    assert frozen["captures"][1]["ber"] > report["captures"][1]["ber"]


@pytest.mark.parametrize("options, status, said", [
    (("--memory", 11), 1, "memory is 11, allowed: 1 to 10 for pam4"),
    (("--step", 2), 1, "step is 2, allowed: 0 to 1"),
    (("--constellation", "qpsk"), 1, "qpsk with float samples"),
    (("--capture", "another"), 2, "1 --reference for 2 --capture")])
def test_mlse_says_what_is_wrong_in_one_line(sets, options, status, said):
    result = adann("mlse", "--constellation", "pam4", "--sps", SPS, "--capture", sets / "set1",
                   "--reference", sets / "set1.u8", *options)
    assert result.exit_code == status
    assert said in result.stderr
