# SPDX-License-Identifier: GPL-3.0-or-later
"""Records in bursts, from the samples to labels and a report, by the command line alone."""

import json

import numpy as np
import pytest
from captures.gating_test import AT, SPS, bursts
from captures.timing_test import QPSK
from click.testing import CliRunner
from gnuradio import blocks, digital, gr
from gnuradio.adann.captures.files import read_capture
from gnuradio.adann.cli import main
from records import record

LABELS = [3, 1, 0, 2]  # of captures.timing_test's points, in turn, as --constellation qpsk has them


def adann(*arguments):
    result = CliRunner(mix_stderr=False).invoke(main, [str(each) for each in arguments], prog_name="adann")
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def resampled(tmp_path_factory):
    """A capture of three bursts, of unlike power, on a carrier, and its labels."""
    folder = tmp_path_factory.mktemp("bursts")
    samples, sent = bursts()
    turned = samples * np.exp(2j * np.pi * 1e-3 / SPS * np.arange(samples.size))
    turned.astype(np.complex64).tofile(folder / "rx.c64")
    labels = np.array(LABELS, np.uint8)[abs(sent[:, None] - QPSK).argmin(axis=1)]
    labels.tofile(folder / "sent.u8")
    said = adann("resample", folder / "rx.c64", "--sample-rate", 4e6, "--baud", 1e6, "--sps", SPS, "--carrier",
                 "--bursts", "-o", folder / "rx")
    assert "3 bursts, where the power is" in said
    return folder


def test_pauses_are_neither_learnt_from_nor_decided(resampled, tmp_path):
    capture = ["--capture", resampled / "rx", "--reference", resampled / "sent.u8"]
    said = adann("train", *capture, "--constellation", "qpsk", "--sps", SPS, "--half-window", 3, "--fraction", 0.5,
                 "-o", tmp_path / "m.safetensors")
    there = read_capture(resampled / "rx").bursts
    symbols = sum(each.size for each in there) // SPS
    assert symbols == pytest.approx(sum(end - first for first, end in AT), abs=100)
    # Within a burst's ends some noise is decided.
    assert f"tested on {symbols - round(symbols / 2)} symbols" in said
    adann("equalize", "--model", tmp_path / "m.safetensors", *capture, "-o", tmp_path / "out.u8", "--report",
          tmp_path / "report.json")
    decided, sent = (np.fromfile(path, np.uint8) for path in (tmp_path / "out.u8", resampled / "sent.u8"))
    on = np.zeros(decided.size, bool)
    for each in there:
        on[each.first // SPS:each.end // SPS] = True
    assert ((decided == 255) == ~on).all()
    listed = json.loads((tmp_path / "report.json").read_text())["captures"][0]
    assert [(entry["start"], entry["symbols"], entry["level_db"]) for entry in listed["bursts"]] == [
        (each.first // SPS, each.size // SPS, each.level) for each in there]
    # The middle of a burst's first symbol may lie before its first sample.
    delay = max((-1, 0, 1), key=lambda d: np.mean(np.roll(sent, d)[1000:1400] == decided[1000:1400]))
    for entry, (first, end) in zip(listed["bursts"], AT):
        inside = slice(first + 10, end - 10)
        assert np.mean(decided[inside] != np.roll(sent, delay)[inside]) < 0.01
        assert entry["bits"] == 2 * entry["symbols"] and entry["bit_errors"] < 0.05 * entry["bits"]
    assert listed["bit_errors"] == sum(entry["bit_errors"] for entry in listed["bursts"])


def test_a_blind_start_looks_at_the_bursts_it_is_trained_on(resampled, tmp_path):
    said = adann("train", "--blind", "--capture", resampled / "rx", "--constellation", "qpsk", "--sps", SPS,
                 "--half-window", 3, "--fraction", 0.5, "-o", tmp_path / "m.safetensors")
    assert "warning" not in said
    # As it was received, it is told what to do.
    said = CliRunner(mix_stderr=False).invoke(main, [
        "train", "--blind", "--capture", str(resampled / "rx.c64"), "--constellation", "qpsk", "--sps", "4",
        "--half-window", "3", "-o", str(tmp_path / "m.safetensors")])
    assert "adann resample --bursts" in said.stdout + said.stderr


def frames(labels):
    """AX.25 frames with a right checksum: NRZI, G3RUH's descrambler (x^17 + x^12 + 1), HDLC."""
    top, found = gr.top_block(), blocks.message_debug()
    chain = [blocks.vector_source_b(np.where(labels == 255, 0, labels).tolist()), digital.diff_decoder_bb(2),
             digital.map_bb([1, 0]), digital.descrambler_bb(0x21, 0, 16), digital.hdlc_deframer_bp(16, 500)]
    top.connect(*chain)
    top.msg_connect(chain[-1], "out", found, "store")
    top.run()
    return found.num_messages()


@pytest.mark.parametrize("name, symbol_rate, bursts_there, frames_there", [
    ("picsat_9k6", 9570, 4, 57), ("kr01", 1196, 1, 1)])
def test_a_satellites_recording_without_a_flag(tmp_path, name, symbol_rate, bursts_there, frames_there):
    """57 frames and 1, as a chain with a Costas loop and a matched filter finds."""
    said = adann("try", record(f"satellite_bpsk/{name}.wav"), "-o", tmp_path / "out")
    assert "constellation found: pam2;" in said
    capture = read_capture(tmp_path / "out/capture")
    assert capture.symbol_rate == pytest.approx(symbol_rate, rel=1e-3) and len(capture.bursts) == bursts_there
    adann("equalize", "--model", tmp_path / "out/model.safetensors", "--capture", tmp_path / "out/capture",
          "-o", tmp_path / "labels.u8")
    assert frames(np.fromfile(tmp_path / "labels.u8", np.uint8)) >= frames_there
