# SPDX-License-Identifier: GPL-3.0-or-later
"""adann try: from a file at any rate to a verdict, on signals whose truth is known."""

import json
import re

import made_records
import numpy as np
import pytest
from captures.timing_test import QPSK, modulated
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures.files import read_capture, write_capture
from gnuradio.adann.captures.recordings import read_recording
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.cli import main
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.guess import candidates
from gnuradio.adann.offline.resample import find_rate
from gnuradio.adann.offline.training import feature_view
from gnuradio.adann.offline.trial import Row, _verdict
from records import record


def adann(*arguments):
    return CliRunner(mix_stderr=False).invoke(main, [str(each) for each in arguments],
                                              prog_name="adann")


def table(text):
    """{who: (symbols, errors)}"""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]
    return {row[0]: (int(row[1].replace(",", "")), int(row[2].replace(",", ""))) for row in rows}


def test_with_labels_errors_are_counted_and_the_next_lines_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = random_labels(40_000, 3)
    samples = simulate_vcsel(labels, "none", seed=4)
    write_capture("rx", samples, 112e9, symbol_rate=28e9)
    told = np.where(np.arange(labels.size) % 3 == 0, labels, 255).astype(np.uint8)
    told.tofile("sent.u8")
    result = adann("try", "rx", "--reference", "sent.u8", "--constellation", "pam4", "-o", "out")
    assert result.exit_code == 0, result.stderr
    rows = table(result.stdout)
    assert list(rows) == ["slicer", "linear equalizer", "network, frozen", "AdaNN"]
    assert {symbols for symbols, _ in rows.values()} == {10_000}  # a third of three quarters
    assert rows["slicer"][1] > 10 * rows["network, frozen"][1]
    assert "changes nothing here" in result.stdout
    assert (tmp_path / "out/try.png").stat().st_size > 10_000
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert [row["errors"] for row in report["rows"]] == [errors for _, errors in rows.values()]
    assert report["scope"]["labels"] == "sent" and report["scope"]["left_out"]["tdecq"]  # two of three are not known
    assert report["scope"]["mer_after"] > report["scope"]["mer_before"] + 3
    assert f"{report['scope']['mer_after']:.1f} dB" in result.stdout
    assert (tmp_path / "out/report.pdf").read_bytes().startswith(b"%PDF")
    commands = re.findall(r"^  adann (.*)$", result.stdout, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["train", "equalize"]
    for command in commands:
        done = adann(*command.split())
        assert done.exit_code == 0, done.stderr
    decided = np.fromfile("out/labels.u8", np.uint8)
    assert np.mean(decided[20_000:-10] != labels[20_000:decided.size - 10]) < 0.02


@pytest.mark.parametrize("name, points", [
    ("pam2", np.array([-1.0, 1])), ("pam4", np.array([-3.0, -1, 1, 3])), ("qpsk", QPSK),
    ("16qam", core.constellation("16qam").points), ("gr:8psk", np.exp(0.25j * np.pi * np.arange(8)))])
@pytest.mark.parametrize("seed", range(4))
def test_the_constellation_with_the_most_room_is_the_right_one(name, points, seed):
    """At an error of the samples 0.2 of half the distance between the points: wrong labels in 10^-6."""
    points = points / np.sqrt(np.mean(abs(points) ** 2))
    apart = abs(points[:, None] - points)[~np.eye(points.size, dtype=bool)].min()
    samples, _ = modulated(points, 2, noise=0.1 * apart, seed=seed)
    samples = normalized(samples.astype(np.complex64 if np.iscomplexobj(points) else np.float32))
    found = candidates(feature_view(samples, 2, 3), np.iscomplexobj(points))
    assert found[0].name == name and found[0].missing == []
    assert found[0].room == max(each.room for each in found)


def test_sharp_edges_have_harmonics():
    """A transmitter's own output: its slope's power has lines at all multiples of the symbol rate."""
    folder = record("backplane_nrz_2g5/CableTxP.txt").parent
    capture, _ = read_recording([folder / "CableTxP.txt", folder / "CableTxM.txt"], "1-2", sample_rate=20e9)
    assert find_rate(capture.samples, 20e9)[0] == pytest.approx(2.5e9, rel=1e-4)


def test_levels_that_do_not_occur_are_named():
    samples, _ = modulated(np.array([-1.0, 1]), 2, noise=0.05)
    features = feature_view(normalized(samples.astype(np.float32)), 2, 3)
    tried = {each.name: each for each in candidates(features, False)}
    assert len(tried["pam4"].missing) == 2 and tried["pam2"].missing == []


@pytest.mark.parametrize("frozen, adaptive, linear, said", [
    (1000, 100, 900, "adaptation helps here: 100 errors for 1000"),
    (100, 1000, 900, "adaptation hurts here: 1000 errors for 100"),
    (100, 105, 120, "changes nothing here that is more than chance: 105 errors for 100"),
    (100, 105, 3, "a linear equalizer is better, with 3")])
def test_the_verdict(frozen, adaptive, linear, said):
    rows = [Row(name, 10**5, errors, 10**5, errors) for name, errors in (
        ("slicer", 5000), ("linear equalizer", linear), ("network, frozen", frozen), ("AdaNN", adaptive))]
    assert said in _verdict(rows, False)


@pytest.mark.parametrize("blind", [False, True])
def test_the_verdict_where_a_slicer_does(blind):
    rows = [Row(name, 10**5, 0, 10**5, 0) for name in ("slicer", "linear equalizer", "network, frozen", "AdaNN")]
    assert _verdict(rows, blind).endswith("in any row: nothing to equalize")


def test_a_blind_start_tells_that_i_and_q_were_filtered_apart(tmp_path):
    samples, _ = modulated(core.constellation("16qam").points, 4, noise=0.1, seed=5)
    apart = samples.real + 0.3 * np.roll(samples.real, 4) + 1j * np.roll(samples.imag, 1)
    write_capture(str(tmp_path / "a.sigmf-meta"), apart.astype(np.complex64), 4.0)
    result = adann("try", tmp_path / "a.sigmf-meta", "--constellation", "16qam", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "I and Q were filtered separately" in result.output


def test_noise_and_a_reference_without_a_meaning_are_refused(tmp_path):
    np.random.default_rng(0).standard_normal(50_000).astype(np.float32).tofile(tmp_path / "a.f32")
    result = adann("try", tmp_path / "a.f32", "-o", tmp_path / "out")
    assert result.exit_code == 1 and result.stderr.count("\n") == 1
    assert "no symbol rate stands out" in result.stderr and not (tmp_path / "out").exists()
    result = adann("try", tmp_path / "a.f32", "--reference", "r.u8", "-o", tmp_path / "out")
    assert result.exit_code == 2 and "--reference needs --constellation" in result.stderr


@pytest.mark.parametrize("name, sample_rate, symbol_rate, constellation", [
    ("serdes_10gbase_r/10Gbase-R_w1_40GSps_f32.bin", 40e9, 10.31245e9, "pam2"),
    ("pcie_gen1_8b10b/pcie_c1.bin", 40e9, 2.5e9, "pam2"),
    ("dmr_4fsk/dmr_it_8.dis", 48e3, 4800, "pam4")])
def test_a_measured_record_without_a_flag_but_its_sample_rate(
        tmp_path, name, sample_rate, symbol_rate, constellation):
    path = record(name)
    np.fromfile(path, "<i2" if path.suffix == ".dis" else "<f4").astype("<f4").tofile(tmp_path / "a.f32")
    result = adann("try", tmp_path / "a.f32", "--sample-rate", sample_rate, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert f"constellation found: {constellation};" in result.stdout
    assert read_capture(tmp_path / "out/capture").symbol_rate == pytest.approx(symbol_rate, rel=1e-5)
    assert table(result.stdout)["network, frozen"][1] <= 3


def tried(tmp_path, samples, *arguments):
    """The command's output, and what it decides with its model."""
    path = tmp_path / ("a.c64" if np.iscomplexobj(samples) else "a.f32")
    samples.tofile(path)
    result = adann("try", path, "--sample-rate", made_records.FS, "-o", tmp_path / "out", *arguments)
    assert result.exit_code == 0, result.stderr
    done = adann("equalize", "--model", tmp_path / "out/model.safetensors", "--capture", tmp_path / "out/capture",
                 "-o", tmp_path / "out/labels.u8")
    assert done.exit_code == 0, done.stderr
    return result.stdout, np.fromfile(tmp_path / "out/labels.u8", np.uint8)


def errors(decided, sent, points):
    """The part of a packet's symbols that is wrong, but for its edges, at the best of its delays and turns."""
    spectrum = np.fft.fft(np.where(decided < points.size, points[decided % points.size], 0), 2**18)
    delay = int(abs(np.fft.ifft(spectrum * np.fft.fft(points[sent], 2**18).conj())).argmax())
    here = decided[delay:][:sent.size]
    return min(np.mean((abs(points[here % points.size] * turn - points[sent]) > 1e-3)[25:-25] | (here == 255)[25:-25])
               for turn in (1, 1j, -1, -1j))


@pytest.mark.parametrize("record_of, name, baud, packets", [
    (lambda: made_records.at_carrier("pam2", 3000, 1, 12, 7000, 9600), "pam2", 9600, 1),
    (lambda: made_records.at_carrier("qpsk", 4000, 0.4, 15, 1700, 2400), "qpsk", 2400, 1),
    (lambda: made_records.behind_discriminator("pam2", 1500, 4, 8, 9600)[:2], "pam2", 9600, 4),
    (lambda: made_records.behind_discriminator("pam4", 3000, 2, 4, 4800, pause=20_000)[:2], "pam4", 4800, 2)],
    ids=["bpsk", "qpsk", "2fsk", "4fsk"])
def test_a_hard_record_without_a_flag_but_its_sample_rate(tmp_path, record_of, name, baud, packets):
    samples, labels = record_of()
    said, decided = tried(tmp_path, samples)
    assert f"constellation found: {name};" in said and not said.startswith("doubtful")
    capture = read_capture(tmp_path / "out/capture")
    assert capture.symbol_rate == pytest.approx(baud, rel=2e-4)
    assert len(capture.bursts) == (packets if packets > 1 or name == "qpsk" else 0)
    assert np.count_nonzero(decided != 255) < 1.05 * sum(map(len, labels)) + 50
    points = core.constellation(name).points
    sent = [made_records.POINTS[name][each] for each in labels]
    numbers = [abs(each[:, None] - points / np.sqrt(np.mean(abs(points) ** 2))).argmin(axis=1) for each in sent]
    assert all(errors(decided, each, points) < 2e-3 for each in numbers)


def test_an_idling_line_code_is_decided_by_a_slicer(tmp_path):
    samples, sent = made_records.idling("00111110101001000101", 3)
    said, decided = tried(tmp_path, samples)
    assert "a slicer, whose eye is open, taught the network" in said
    rows = table(said)
    assert rows["slicer"][1] == 0
    # What the samples refute is what is wrong.
    first = decided.size - rows["AdaNN"][0]
    wrong = min(np.count_nonzero(decided[first:-50] ^ turned != sent[first + late:][:decided.size - first - 50])
                for turned in (0, 1) for late in (-1, 0, 1))
    assert rows["AdaNN"][1] == pytest.approx(wrong, rel=0.02, abs=20)
    assert wrong < 100 or said.startswith("doubtful: the network,")


def idling_behind_echoes():
    samples, _ = made_records.idling("00111110101001000101", 3)
    return samples + np.float32(0.9) * np.roll(samples, 4) - np.float32(0.3) * np.roll(samples, 8)


@pytest.mark.parametrize("made, doubt, settles", [
    (lambda: made_records.at_carrier("pam2", 6000, 1, 4, 9000, 4800)[0], "of the decisions of the blind start",
     "--reference with known symbols"),
    (idling_behind_echoes, "what recurs after", "--reference with known symbols")], ids=["noise", "closed idle"])
def test_what_is_doubtful_is_the_first_line(tmp_path, made, doubt, settles):
    said, _ = tried(tmp_path, made(), "--constellation", "pam2")
    first = said.splitlines()[0]
    assert first.startswith("doubtful: ") and doubt in first and settles in first


@pytest.mark.filterwarnings("error")  # of NumPy's none reaches the user
def test_too_few_symbols_are_told(tmp_path):
    made_records.at_carrier("pam2", 700, 0.02, 12, 11_967, 9570)[0].tofile(tmp_path / "a.f32")
    result = adann("try", tmp_path / "a.f32", "--sample-rate", made_records.FS, "-o", tmp_path / "out")
    assert result.exit_code == 1 and result.stderr.count("\n") == 1
    assert re.search(r"too few symbols \(7\d\d of at least 2000 where none is known\): .* at 95[67]\d", result.stderr)


def test_points_with_a_mean_are_tried(tmp_path):
    sent = random_labels(20_000, 5)
    levels = np.array([0.0, 1, 2, 3])[sent]
    samples = np.convolve(np.repeat(levels, 4), [0.25, 0.5, 0.25], "same")
    samples += 0.05 * np.random.default_rng(1).standard_normal(samples.size)
    (tmp_path / "uni.json").write_text("[[0, 0], [1, 0], [2, 0], [3, 0]]")
    said, decided = tried(tmp_path, samples.astype(np.float32), "--baud", 12_000, "--constellation",
                          tmp_path / "uni.json")
    assert "modulation error ratio inf" not in said and not said.startswith("doubtful")
    assert min(np.mean(decided[50:-50] != turned[50 + late:][:decided.size - 100])
               for turned in (sent, 3 - sent) for late in (-1, 0, 1)) == 0
