# SPDX-License-Identifier: GPL-3.0-or-later
"""What `adann train`, `equalize`, `replay` and `mlse` make of good files."""

import json
import os
import re
import subprocess

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import read_capture, write_capture
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from pam4_sets import SPS, TRAIN, adann
from safetensors.torch import load_file


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
    assert told.pop("qpsk").startswith("warning: the samples of the labels given do not lie as those of qpsk ")
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


def test_a_blind_network_may_differ_from_the_labels_of_a_linear_equalizer(tmp_path):
    """That are its labels: of the simulated VCSEL's some are wrong, where a network is right. One that hardly learnt
    is warned of."""
    write_capture(tmp_path / "set", simulate_vcsel(random_labels(60_000, 3), "none", seed=4), 112e9)
    capture = ["train", "--capture", tmp_path / "set", "--blind", "--constellation", "pam4", "--sps", 4,
               "--half-window", 5, "-o", tmp_path / "model"]
    well, hardly = adann(*capture).stdout, adann(*capture, "--epochs", 1, "--hidden", "1").stdout
    (ratio, magnitude), = re.findall(r"ratio ([\d.]+) dB \(error vector magnitude ([\d.]+) %", well)
    assert float(magnitude) == pytest.approx(100 * 10 ** (-float(ratio) / 20), abs=0.15)  # as they are rounded
    assert "symbol errors" not in well
    differences = [int(each) for each in re.findall(r"(\d+) differences", well)]
    assert differences[1] > differences[3]  # network and linear equalizer, tested
    assert "warning: the network" not in well and "warning: the network differs from its labels in" in hardly


def write_qpsk(folder, name, turn=1.0, late=0, scale=None):
    """2 samples a symbol through an echo in noise; labels that begin `late` symbols before it. scale: of each symbol
    by its number, or 1."""
    random = np.random.default_rng(8)
    labels = random.integers(0, 4, 20_000 + late).astype(np.uint8)
    sent = core.constellation("qpsk").points[labels[late:]] * (1 if scale is None else scale(random))
    samples = np.repeat(sent + 0.3j * np.roll(sent, 1), 2)
    samples = turn * samples + 0.15 * (random.standard_normal((samples.size, 2)) @ [1, 1j])
    samples.astype(np.complex64).tofile(folder / f"{name}.cfile")
    labels.tofile(folder / f"{name}.u8")
    return folder / f"{name}.cfile"


@pytest.fixture(scope="module")
def qpsk_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qpsk")
    capture = write_qpsk(folder, "set")
    result = adann("train", "--capture", capture, "--reference", folder / "set.u8", "--constellation", "qpsk",
                   *TRAIN[2:], "-o", folder / "model")
    assert result.exit_code == 0, result.stderr
    return folder / "model"


@pytest.mark.parametrize("sps", [2, 4])
def test_a_blind_start_at_twice_the_samples_per_symbol_is_warned_of(tmp_path, sps):
    """It finds every second symbol."""
    random = np.random.default_rng(9)
    sent = np.zeros(40_000, np.complex128)
    sent[::2] = core.constellation("qpsk").points[random.integers(0, 4, 20_000)]
    samples = np.convolve(sent, [0.3, 1, 0.3], "same") + 0.05 * (random.standard_normal((40_000, 2)) @ [1, 1j])
    samples.astype(np.complex64).tofile(tmp_path / "a.cfile")
    result = adann("train", "--blind", "--capture", tmp_path / "a.cfile", "--constellation", "qpsk", "--sps", sps,
                   "--half-window", 3, "--epochs", 2, "--hidden", 6, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    warned = re.findall(r"explain only (\d+) % of the samples' power: the capture is at 2 samples a symbol \(half of "
                        r"--sps\), or another signal is next to it", result.stdout)
    assert bool(warned) == (sps == 4)
    assert not warned or int(warned[0]) == pytest.approx(50, abs=10)


@pytest.mark.parametrize("turn, late", [(1, 0), (1j, 0), (-1j, 0), (1, -500), (1j, 500)])
def test_what_is_undone_before_errors_are_counted_is_told(qpsk_model, tmp_path, turn, late):
    """The reference begins `late` symbols before the capture, or after it."""
    capture = write_qpsk(tmp_path, "set", turn, max(late, 0))
    if late < 0:
        np.fromfile(tmp_path / "set.u8", np.uint8)[-late:].tofile(tmp_path / "set.u8")
    result = adann("equalize", "--model", qpsk_model, "--capture", capture, "--reference", tmp_path / "set.u8",
                   "--mode", "off", "-o", tmp_path / "out.u8", "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.stderr
    entry, = json.loads((tmp_path / "report.json").read_text())["captures"]
    degrees = np.rad2deg(np.angle(turn)) % 360
    assert entry["ber"] < 1e-3 and (entry["delay"], entry["symmetry"]) == (-late, degrees)
    assert (f"reference found at a delay of {-late} symbols, labels rotated by {degrees:.0f} degrees: errors are "
            "counted after that, the labels written are as decided" in result.stdout) == (turn != 1 or late != 0)
    decided, sent = np.fromfile(tmp_path / "out.u8", np.uint8), np.fromfile(tmp_path / "set.u8", np.uint8)
    here = slice(500, 19_000)
    turned = core.constellation("qpsk").points[sent[here.start + late:here.stop + late]] * turn
    assert np.mean(abs(core.constellation("qpsk").points[decided[here]] - turned) > 0.1) < 1e-3


def test_samples_that_are_not_finite_are_counted(qpsk_model, tmp_path):
    capture = write_qpsk(tmp_path, "set")
    samples = np.fromfile(capture, np.complex64)
    samples[1000:1100] = np.nan
    samples.tofile(capture)
    result = adann("equalize", "--model", qpsk_model, "--capture", capture)
    assert result.exit_code == 0 and result.stderr == ""
    assert f"{capture}: 100 of 40000 samples are not finite: taken as 0\n" in result.stdout


def test_a_model_of_another_constellation_is_warned_of(qpsk_model, tmp_path):
    """By its MER: symbols of 1 or 3 times the amplitude, as of 16QAM's diagonals."""
    good = adann("equalize", "--model", qpsk_model, "--capture", write_qpsk(tmp_path, "set"))
    assert good.exit_code == 0 and good.stderr == "" and "MER at the end" in good.stdout
    capture = write_qpsk(tmp_path, "other", scale=lambda random: random.choice([0.4, 1.4], 20_000))
    result = adann("equalize", "--model", qpsk_model, "--capture", capture)
    assert result.exit_code == 0
    assert re.search(r"warning: MER at the end [\d.]+ dB, of the model's training [\d.]+ dB: a much "
                     r"worse link, or another constellation than qpsk", result.stderr)


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


def gmi_of_pam4(model, samples, sent):
    """By numpy, from the network's own posteriors."""
    reach = model.half_window * model.sps + model.sps // 2
    samples = np.pad((samples - samples.mean()) / samples.std(), reach).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(samples, model.network.sizes[0])[::model.sps][:sent.size]
    _, p = model.network.decide(np.ascontiguousarray(windows))
    p = p.astype(float)  # of a bit a 1 and a 0 are summed apart: 1 less the other one would be rounded
    ones, zeros = (np.stack([p[:, first].sum(1), p[:, second].sum(1)], axis=1)
                   for first, second in (([2, 3], [1, 3]), ([0, 1], [0, 2])))
    told = np.where(np.stack([sent >> 1, sent & 1], axis=1), ones, zeros)
    return 2 + np.log2(np.maximum(told, 2e-9)).sum(axis=1).mean()


def test_two_captures_are_equalized_and_reported(sets, tmp_path):
    result = equalize_two(sets, "--mode", "off", "-o", tmp_path / "out.u8", "--report",
                          tmp_path / "report.json", "--plot", tmp_path / "ber.png", "--block", 4096,
                          "--page", tmp_path / "page.pdf")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    labels = np.fromfile(tmp_path / "out.u8", np.uint8)
    sent = np.concatenate([np.fromfile(sets / f"set{n}.u8", np.uint8) for n in (1, 2)])
    assert labels.size == sent.size
    report = json.loads((tmp_path / "report.json").read_text())
    errors = np.array([np.unpackbits(part).sum() for part in np.split(labels ^ sent, 2)])
    assert [entry["bit_errors"] for entry in report["captures"]] == errors.tolist()
    assert report["captures"][0]["ber"] < 1e-2 < report["captures"][1]["ber"]
    model = core.load_model(str(sets / "model.safetensors"))
    for entry, name in zip(report["captures"], ("set1", "set2")):
        assert entry["gmi"] == pytest.approx(gmi_of_pam4(model, read_capture(sets / name).samples,
                                                         np.fromfile(sets / f"{name}.u8", np.uint8)), abs=1e-3)
        assert entry["ngmi"] == entry["gmi"] / 2 and entry["code_rate"] == core.highest_code_rate(entry["ngmi"])
        assert f"{entry['ngmi']:.3f}" in result.stdout
        scope = entry["scope"]
        assert scope["labels"] == "sent" and scope["symbols"] > 29_000  # the last have no soft symbol
        assert scope["ber_after"] == pytest.approx(entry["ber"], rel=0.05)
        if name == "set1":  # one symbol of interference: two values a level, and noise
            assert scope["sndr"] == pytest.approx(20 * np.log10(3 / 0.4), abs=0.3)
            assert scope["rlm_before"] == pytest.approx(1, abs=0.05)
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Count 2") == 1
    assert report["mer"] is report["evm"] is None  # without adaptation there is no front filter
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
    # Each batch of the first 20,000 symbols is learnt from, then one in two, in three and in four: 10,000 symbols each.
    assert report["adaptation"]["steps"] == pytest.approx((20_000 + 10_000 + 10_000 / 4) // 512, abs=15)
    equalize_two(sets, "--mode", "off", "--report", tmp_path / "frozen.json")
    frozen = json.loads((tmp_path / "frozen.json").read_text())
    assert report["captures"][1]["final_ber"] < 0.8 * frozen["captures"][1]["final_ber"]


def test_a_later_run_goes_on_from_a_checkpoint(sets, tmp_path):
    checkpoint, report = tmp_path / "checkpoint.safetensors", tmp_path / "report.json"
    first = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1",
                  "--checkpoint", checkpoint)
    assert first.exit_code == 0, first.stderr
    tensors = load_file(checkpoint)
    before = int(tensors["state.steps"])
    assert 20_000 // 256 < before < 30_000 // 256
    loaded, model = (core.load_model(str(file)) for file in (checkpoint, sets / "model.safetensors"))
    np.testing.assert_array_equal(tensors["layers.0.weight"].numpy(), loaded.network.weight(0))
    assert loaded.waveform == model.waveform is not None
    again = ("equalize", "--model", checkpoint, "--capture", sets / "set2", "--reference",
             sets / "set2.u8", "--report", report)
    for mode in "lockstep", "off":
        result = adann(*again, "--mode", mode)
        assert result.exit_code == 0, result.stderr
        steps = json.loads(report.read_text())["adaptation"]["steps"]
        # One in two to one in four of the next 30,000 symbols, as they follow 20,000 to 40,000 learnt ones.
        assert before + 30_000 // 256 // 4 < steps < before + 30_000 // 256 // 2 if mode == "lockstep" else steps == 0
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
    assert all(0 < float(rate) <= 1 for rate in rows[-3][4:7])  # as estimated
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


def test_labels_that_are_known_in_part_teach_too(sets, tmp_path):
    """A third of them; where none is known, the decision takes its place."""
    frozen, taught = [], []
    for number in (1, 2):
        labels = np.fromfile(sets / f"set{number}.u8", np.uint8)
        labels[np.arange(labels.size) % 3 > 0] = 255
        labels.tofile(tmp_path / f"set{number}.u8")
    for options, ber in (("--mode", "off"), frozen), (("--loss", "supervised", "--batch", 512, "--lr", 0.005), taught):
        result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set2", "--reference",
                       tmp_path / "set2.u8", *options, "--report", tmp_path / "report.json")
        assert result.exit_code == 0, result.stderr
        entry = json.loads((tmp_path / "report.json").read_text())["captures"][0]
        ber.append(entry["final_ber"])
    assert taught[0] < 0.5 * frozen[0]


def test_a_part_of_a_capture(sets, tmp_path):
    """--skip and --symbols: of the capture and its reference alike."""
    whole, part = (tmp_path / name for name in ("whole.u8", "part.u8"))
    result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1", "--mode", "off",
                   "-o", whole)
    assert result.exit_code == 0, result.stderr
    result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1", "--mode", "off",
                   "--reference", sets / "set1.u8", "--skip", 20_000, "--symbols", 5000, "-o", part, "--report",
                   tmp_path / "report.json")
    assert result.exit_code == 0, result.stderr
    entry = json.loads((tmp_path / "report.json").read_text())["captures"][0]
    assert entry["symbols"] == 5000 and entry["ber"] < 0.02
    # Each normalised by itself.
    a, b = np.fromfile(whole, np.uint8)[20_000:25_000], np.fromfile(part, np.uint8)
    assert np.mean(a != b) < 0.01
    result = adann("train", "--capture", sets / "set1", "--reference", sets / "set1.u8", "--skip", 10_000,
                   "--symbols", 8000, *TRAIN, "--epochs", 1, "-o", tmp_path / "m")
    assert result.exit_code == 0 and "on 2000 symbols" in result.stdout and "on 6000 symbols" in result.stdout
    result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1", "--skip", 30_000)
    assert result.exit_code == 1 and "skip is 30000, allowed: below the 30000 symbols" in result.stderr


def test_a_conjugated_capture_is_said_to_be(tmp_path):
    random = np.random.default_rng(3)
    alphabet = core.constellation("qpsk")
    labels = random.integers(0, 4, 12_000).astype(np.uint8)
    sent = np.repeat(alphabet.points[labels], 2)
    samples = np.roll(sent + 0.3 * np.roll(sent, 2) * np.exp(0.5j), -1)
    samples = samples + 0.2 * (random.standard_normal(sent.size) + 1j * random.standard_normal(sent.size))
    for name, each in ("a", samples), ("b", samples.conj()):
        each.astype(np.complex64).tofile(tmp_path / f"{name}.c64")
    labels.tofile(tmp_path / "sent.u8")
    result = adann("train", "--capture", tmp_path / "a.c64", "--reference", tmp_path / "sent.u8", "--constellation",
                   "qpsk", "--sps", 2, "--half-window", 2, "-o", tmp_path / "m")
    assert result.exit_code == 0 and "mirrored" not in result.stderr
    result = adann("equalize", "--model", tmp_path / "m", "--capture", tmp_path / "b.c64", "--reference",
                   tmp_path / "sent.u8", "--mode", "off")
    assert "the capture is conjugated (its spectrum inverted, or I and Q exchanged)" in result.stderr


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
    (("--step", 2), 2, "'--step': 2.0 is not in the range 0.0<=x<=1.0"),
    (("--constellation", "qpsk"), 1, "qpsk with float samples"),
    (("--capture", "another"), 2, "1 --reference for 2 --capture")])
def test_mlse_says_what_is_wrong_in_one_line(sets, options, status, said):
    result = adann("mlse", "--constellation", "pam4", "--sps", SPS, "--capture", sets / "set1",
                   "--reference", sets / "set1.u8", *options)
    assert result.exit_code == status
    assert said in result.stderr


def test_what_is_doubtful_of_a_reference_is_said(sets, tmp_path):
    """Of another constellation; of which little lies in the capture; of which little is trained on."""
    sent = np.fromfile(sets / "set1.u8", np.uint8)
    (sent >> 1).tofile(tmp_path / "pam2.u8")
    result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1", "--mode", "off",
                   "--reference", tmp_path / "pam2.u8")
    assert "the labels are permuted" in result.stderr
    np.where(np.arange(sent.size) % 2, sent, sent[::-1]).astype(np.uint8).tofile(tmp_path / "half.u8")
    result = adann("equalize", "--model", sets / "model.safetensors", "--capture", sets / "set1", "--mode", "off",
                   "--reference", tmp_path / "half.u8")
    assert "% of the symbols differ from" in result.stderr
    np.r_[np.zeros(20_000, np.uint8), sent][:30_000].tofile(tmp_path / "late.u8")
    result = adann("train", "--capture", sets / "set1", "--reference", tmp_path / "late.u8", *TRAIN, "--epochs", 1,
                   "-o", tmp_path / "m")
    assert "capture and reference overlap in 10000 symbols of 30000" in result.stdout
    result = adann("train", "--capture", sets / "set1", "--reference", sets / "set1.u8", *TRAIN, "--epochs", 1,
                   "--symbols", 1000, "-o", tmp_path / "m")
    assert "250 symbols are few to train on" in result.stdout


def test_live_on_a_file_is_not_recommended(sets):
    result = adann("equalize", "--model", sets / "model.safetensors", *(20 * ["--capture", sets / "set1"]), "--mode",
                   "live", "--batch", 64)
    dropped = int(result.stdout.split(" dropped")[0].split()[-1])
    assert ("--mode lockstep waits for each step" in result.stdout) == (dropped > 0)
