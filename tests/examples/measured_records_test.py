# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples on measured records, where the records are; they are not part of this repository."""

import json
import subprocess
import sys
from pathlib import Path

from records import record

ROOT = Path(__file__).parents[2]


def run_example(name, capture, directory, *options):
    """Run it as a user would. Returns what it printed."""
    run = subprocess.run([sys.executable, ROOT / "examples" / name, record(capture), "-o", directory,
                          *options], capture_output=True, text=True, timeout=3000)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def read_reports(directory):
    """{network: its report}"""
    return {network: json.loads((directory / f"{network}.json").read_text())
            for network in ("frozen", "adaptive")}


def test_a_10gbase_r_line_is_received_without_an_error(tmp_path):
    output = run_example("serdes_10gbase_r.py",
                         "serdes_10gbase_r/10Gbase-R_w1_40GSps_f32.bin", tmp_path)
    assert "all 780 headers valid, the first at bit 37" in output
    assert "647 idle blocks, 132 blocks of a frame" in output
    for blocks in (report["blocks"] for report in read_reports(tmp_path).values()):
        assert [block["symbols"] for block in blocks] == [25_740, 25_740]
        assert blocks[1]["symbol_errors"] == 0


def test_a_16qam_radio_over_fibre_link_is_received_with_few_errors(tmp_path):
    run_example("arof_mmwave_16qam.py", "arof_mmwave_16qam/10km_16QAM_28_3.mat", tmp_path)
    reports = read_reports(tmp_path)
    for blocks in (report["blocks"] for report in reports.values()):
        assert [block["symbols"] for block in blocks] == [50_000, 49_990]
    rest = reports["frozen"]["blocks"][1]
    assert rest["symbol_errors"] <= 2e-4 * rest["symbols"]


def test_adann_keeps_the_frames_that_an_echo_takes_from_a_satellite_receiver(tmp_path):
    run_example("satellite_hdlc.py", "satellite_bpsk/picsat_9k6.wav", tmp_path,
                "--echo", "0", "0.4", "0.7")
    found = json.loads((tmp_path / "frames.json").read_text())
    sent = set(found["0"]["slicer"])
    assert len(sent) == len(found["0"]["slicer"]) == 57  # as such a chain was known to get
    for name in ("AdaNN", "AdaNN, frozen"):
        for of_echo in found.values():
            frames = of_echo[name]
            assert len(set(frames)) == len(frames) >= 54  # 57
            assert set(frames) <= sent
    assert 10 <= len(found["0.4"]["slicer"]) <= 25  # 19
    assert not found["0.7"]["slicer"]


def test_adaptation_helps_16qam_trained_on_a_fifth(tmp_path):
    run_example("arof_mmwave_16qam.py", "arof_mmwave_16qam/10km_16QAM_28_3.mat",
                tmp_path, "--trained-on", "20000")
    reports = read_reports(tmp_path)
    rest = {network: sum(block["symbol_errors"] for block in report["blocks"][1:])
            for network, report in reports.items()}
    assert 20 < rest["frozen"] < 100
    assert rest["adaptive"] <= rest["frozen"]


def test_adaptation_follows_a_line_onto_its_backplane(tmp_path):
    run_example("backplane_pam4.py", "backplane_nrz_2g5", tmp_path)
    reports = read_reports(tmp_path)
    ber = {network: [capture["ber"] for capture in report["captures"]]
           for network, report in reports.items()}
    assert ber["frozen"][0] < 2e-4 and ber["frozen"][-1] > 0.1
    assert ber["adaptive"][-1] < 1e-3
    assert all(mine <= frozen for mine, frozen in zip(ber["adaptive"], ber["frozen"]))
