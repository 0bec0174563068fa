# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of any length: memory that does not grow, labels and report as they come, progress without a terminal."""

import importlib
import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.alignment import AlignedLabels
from gnuradio.adann.captures.files import read_capture
from gnuradio.adann.captures.statistics import Normalized, normalized
from gnuradio.adann.cli.terminal import ProgressLines
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.mlse import SymbolRows, decide, symbol_rows
from pam4_sets import MODEL, adann

command = importlib.import_module("gnuradio.adann.cli.equalize")  # whose name the command has, too
TILE = 2**15  # symbols


def make(folder, name, tiles):
    """The same symbols again and again, as 8-bit integers, and their labels."""
    labels = random_labels(TILE, 3)
    samples = simulate_vcsel(labels, "none", seed=4)
    samples = np.round(samples / abs(samples).max() * 127).astype(np.int8)
    with open(folder / f"{name}.sigmf-data", "wb") as data, open(folder / f"{name}.u8", "wb") as sent:
        for _ in range(tiles):
            samples.tofile(data)
            labels.tofile(sent)
    (folder / f"{name}.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": "ri8", "core:version": "1.0.0"}, "captures": [], "annotations": []}))


def equalize(folder, name, *options):
    return ["adann", "equalize", "--mode", "off", "--model", MODEL, "--capture", folder / name, "--reference",
            folder / f"{name}.u8", "-o", folder / f"{name}.out", "--report", folder / f"{name}.json", *options]


def memory_of(program, *arguments):
    """Bytes that a Python program came to have."""
    program += """
print("peak", next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))"""
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return 1024 * int(done.stdout.split("peak")[-1])


def peak(arguments):
    """Bytes of memory that the command came to have, by itself."""
    return memory_of("""import runpy, shutil, sys
try:
    runpy.run_path(shutil.which("adann"), run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code""", *arguments[1:])


@pytest.fixture(scope="module")
def allowed():
    """Bytes that a command may have: those of Python and its libraries, 107e6 on Debian 12 and 119e6 on Debian 13, and
    what it needs of its own, 90e6 at most on the former and 95e6 on the latter."""
    return memory_of("import gnuradio.adann.offline.equalize, scipy.signal") + 100e6


def test_memory_does_not_grow_with_the_capture(tmp_path, allowed):
    """Labels alone would be 1 byte a symbol, samples as float32 16; 7 million symbols more."""
    make(tmp_path, "short", 32)
    make(tmp_path, "long", 256)
    short, long = (peak(equalize(tmp_path, name)) for name in ("short", "long"))
    assert long < allowed
    assert long - short < 1 * 224 * TILE
    reports = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("short", "long")]
    counted = [report["captures"][0] for report in reports]
    assert counted[1]["symbols"] == 256 * TILE == (tmp_path / "long.out").stat().st_size
    assert counted[1]["ber"] == pytest.approx(counted[0]["ber"], rel=0.02)
    # Each tile after the first is decided as the one before it.
    decided = np.fromfile(tmp_path / "long.out", np.uint8).reshape(-1, TILE)
    assert (decided[1:] == decided[1]).mean() > 0.9999


@pytest.mark.parametrize("command", ["train", "mlse", "supervised", "resample"])
def test_nor_does_that_of_what_needs_labels(tmp_path, command, allowed):
    """3 million symbols more, as float32 samples 50 MB. --baud is so far off that samples are taken twice."""
    def run(name):
        if command == "resample":
            return ["adann", command, tmp_path / name, "--sample-rate", 1, "--baud", 0.25 * (1 + 1e-5), "--sps", 4,
                    "-o", tmp_path / f"{name}.out"]
        capture = ["--capture", tmp_path / name, "--reference", tmp_path / f"{name}.u8"]
        if command == "supervised":
            return ["adann", "equalize", "--loss", "supervised", "--no-front-filter", "--batch", 8192, "--model", MODEL,
                    *capture]
        of_signal = ["--constellation", "pam4", "--sps", 4]
        return ["adann", command, *capture, *of_signal, "-o", tmp_path / f"{name}.out.safetensors",
                *(["--half-window", 5, "--epochs", 1] if command == "train" else ["--memory", 1])]

    make(tmp_path, "short", 24)
    make(tmp_path, "long", 24 + 96)
    short, long = (peak(run(name)) for name in ("short", "long"))
    assert long < allowed and long - short < 4 * 96 * TILE


def make_modulated(folder, name, tiles, at):
    """QPSK in 8 bits, 8 samples a symbol, whose carrier wanders; tiles of 2^17 symbols, that a line is looked for in.
    at: real samples around a quarter of the sample rate, or complex ones in bursts of three quarters of each tile."""
    random, size = np.random.default_rng(2), 32 * TILE
    pulse = np.fft.fft(np.hanning(17)[1:-1], size)
    sent = core.constellation("qpsk").points[random.integers(0, 4, 4 * TILE)]
    wave = np.fft.ifft(np.fft.fft(np.kron(sent, np.eye(8)[0])) * pulse)
    turns = np.arange(size) / size
    wave *= np.exp(2j * np.pi * (400 * turns + 2 * np.sin(2 * np.pi * turns)))
    if at == "carrier":
        samples, kind = (wave * 1j ** (np.arange(size) % 4)).real, "ri8"
    else:
        wave[24 * TILE:] = 0
        samples, kind = (wave + 0.02 * random.standard_normal((2, size)).T @ (1, 1j)).astype(np.complex64), "ci8"
        samples = samples.view(np.float32)
    samples = np.round(samples / abs(samples).max() * 127).astype(np.int8)
    (folder / f"{name}.sigmf-data").write_bytes(samples.tobytes() * tiles)
    (folder / f"{name}.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": kind, "core:version": "1.0.0"}, "captures": [], "annotations": []}))


@pytest.mark.parametrize("at", ["carrier", "bursts"])
def test_nor_does_that_of_finding_bursts_and_a_carrier(tmp_path, at, allowed):
    """1.5 million symbols more, at 4 samples 50 MB, of which half is allowed: a clock's lines, 15 MB at most, grow
    to 4 million symbols; in one piece or in 12 bursts."""
    options = ["--carrier"] + ["--bursts"] * (at == "bursts")
    used = []
    for name, tiles in ("short", 4), ("long", 4 + 12):
        make_modulated(tmp_path, name, tiles, at)
        used.append(peak(["adann", "resample", tmp_path / name, "--sample-rate", 1, "--baud", 0.125 * (1 + 1e-5),
                          "--sps", 4, *options, "-o", tmp_path / f"{name}.out"]))
        done = read_capture(tmp_path / f"{name}.out")
        assert len(done.bursts) == (tiles if at == "bursts" else 0)
        power = done.samples[::4][9 * TILE:10 * TILE] ** 4
        assert abs(power.mean()) > 0.8 * abs(power).mean()  # 0 of a carrier that is left
    assert used[1] < allowed and used[1] - used[0] < 0.5 * 32 * 48 * TILE, used


@pytest.mark.parametrize("labels", ["known", "blind"])
def test_training_on_complex_samples_takes_little_memory(tmp_path, labels, allowed):
    """16QAM, 4 samples a symbol: of 2^19 symbols, which are used of a long record, 17 MB."""
    random, points = np.random.default_rng(1), core.constellation("16qam").points
    sent = random.integers(0, 16, TILE).astype(np.uint8)
    pulse = np.fft.fft(np.hanning(9)[1:-1], 4 * TILE)
    wave = np.fft.ifft(np.fft.fft(np.kron(points[sent], [1, 0, 0, 0])) * pulse)
    wave = np.roll(wave + 0.2 * np.roll(wave, 4) + 0.05 * random.standard_normal((2, wave.size)).T @ (1, 1j), -3)
    np.tile(wave.astype(np.complex64), 17).tofile(tmp_path / "rx.c64")
    np.tile(sent, 17).tofile(tmp_path / "tx.u8")
    known = ["--reference", tmp_path / "tx.u8"] if labels == "known" else ["--blind"]
    assert peak(["adann", "train", "--capture", tmp_path / "rx.c64", *known, "--constellation", "16qam", "--sps", 4,
                 "--half-window", 5, "--epochs", 1, "-o", tmp_path / "model.safetensors"]) < allowed


def test_the_mlse_writes_what_it_decides_in_memory(tmp_path):
    """The labels of two captures in a file are those of an array."""
    make(tmp_path, "it", 12)
    symbols = 12 * TILE
    capture = read_capture(tmp_path / "it")
    samples, labels = normalized(capture.samples), np.fromfile(tmp_path / "it.u8", np.uint8)
    estimator = core.mlse("pam4", 4, 1)
    expected, _ = decide(estimator, [symbol_rows(samples, 4)] * 2, [labels] * 2)
    assert [each.size for each in expected] == [symbols] * 2
    rows = SymbolRows(Normalized(capture.samples), 4)
    lazily, _ = decide(core.mlse("pam4", 4, 1), [rows] * 2, [AlignedLabels(labels, 0, symbols)] * 2,
                       path=tmp_path / "out.u8")
    assert np.array_equal(np.concatenate(lazily), np.concatenate(expected))
    assert np.array_equal(np.fromfile(tmp_path / "out.u8", np.uint8), np.concatenate(expected))


@pytest.mark.parametrize("delay", [-700, 0, 9, 1200])
def test_labels_are_laid_beside_the_symbols_they_are_of(delay):
    labels = random_labels(1000, 1)
    there = AlignedLabels(labels, delay, 1300)
    whole = [labels[k - delay] if 0 <= k - delay < 1000 else 255 for k in range(1300)]
    assert there[:].tolist() == whole and there[450:1250:3].tolist() == whole[450:1250:3]


def test_labels_and_report_are_there_before_the_end(tmp_path, monkeypatch):
    make(tmp_path, "it", 64)
    reports = []
    monkeypatch.setattr(command, "REPORT_INTERVAL", 0.0)
    write = command.write_results

    def watched(runs, report, *outputs):
        write(runs, report, *outputs)
        reports.append(json.loads((tmp_path / "it.json").read_text()))
        if not report["complete"]:
            part = (tmp_path / "it.out.part").stat().st_size
            assert reports[-1]["captures"][0]["symbols"] <= part if reports[-1]["captures"] else True

    monkeypatch.setattr(command, "write_results", watched)
    result = adann(*equalize(tmp_path, "it")[1:])
    assert result.exit_code == 0, result.stderr
    assert [report["complete"] for report in reports] == [False] * (len(reports) - 1) + [True] and len(reports) > 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "it.json", "it.out", "it.sigmf-data", "it.sigmf-meta", "it.u8"]


def test_what_was_decided_is_left_by_a_program_that_is_killed(tmp_path):
    make(tmp_path, "it", 256)
    program = subprocess.Popen(list(map(str, equalize(tmp_path, "it"))), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    part = tmp_path / "it.out.part"
    while program.poll() is None and not (part.exists() and part.stat().st_size > TILE):
        time.sleep(0.01)
    program.send_signal(signal.SIGKILL)
    program.wait()
    if part.exists():  # it was not quicker
        decided = np.fromfile(part, np.uint8)[:TILE]
        assert np.mean(decided != random_labels(TILE, 3)[:decided.size]) < 0.01


def test_a_line_for_each_tenth_where_there_is_no_terminal(capsys):
    now = [0.0]
    lines = ProgressLines("equalizing", lambda: now[0])
    for second in range(401):
        now[0] = float(second)
        lines(second, 400)
    said = capsys.readouterr().err.splitlines()
    assert [int(re.match(r"equalizing: (\d+) %, about", line)[1]) for line in said] == list(range(10, 100, 10))
    assert said[4] == "equalizing: 50 %, about 200 s left"
    quick = ProgressLines("equalizing", lambda: 0.0)
    quick(50, 100)
    assert not capsys.readouterr().err


def test_the_help_explains_what_the_table_prints():
    said = " ".join(adann("equalize", "--help").stdout.split())
    assert "blocks to 1e-3 is how many blocks pass" in said and "final BER, the mean of the last 8" in said
