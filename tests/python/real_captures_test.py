# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples on measured records, where the records are; they are not part of this repository."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT.parent / "shared" / "captures"


def run_example(name, record, directory, *arguments):
    """Run it as a user would. Returns ({network: its report}, what it printed)."""
    if not (CAPTURES / record).exists():
        pytest.skip(f"{CAPTURES / record} is not here")
    run = subprocess.run([sys.executable, ROOT / "examples" / name, CAPTURES / record,
                          "-o", directory, *arguments],
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    return {network: json.loads((directory / f"{network}.json").read_text())
            for network in ("frozen", "adaptive")}, run.stdout


def test_a_10gbase_r_line_is_received_without_an_error(tmp_path):
    reports, output = run_example("serdes_10gbase_r.py",
                                  "serdes_10gbase_r/10Gbase-R_w1_40GSps_f32.bin", tmp_path)
    assert "all 780 headers valid, the first at bit 37" in output
    assert "647 idle blocks, 132 blocks of a frame" in output
    for blocks in (report["blocks"] for report in reports.values()):
        assert [block["symbols"] for block in blocks] == [25_740, 25_740]
        assert blocks[1]["symbol_errors"] == 0


def test_a_16qam_radio_over_fibre_link_is_received_with_few_errors(tmp_path):
    reports, _ = run_example("arof_mmwave_16qam.py",
                             "arof_mmwave_16qam/10km_16QAM_28_3.mat", tmp_path)
    for blocks in (report["blocks"] for report in reports.values()):
        assert [block["symbols"] for block in blocks] == [50_000, 49_990]
    rest = reports["frozen"]["blocks"][1]
    assert rest["symbol_errors"] <= 2e-4 * rest["symbols"]


def test_adaptation_helps_16qam_trained_on_a_fifth(tmp_path):
    reports, _ = run_example("arof_mmwave_16qam.py", "arof_mmwave_16qam/10km_16QAM_28_3.mat",
                             tmp_path, "--trained-on", "20000")
    rest = {network: sum(block["symbol_errors"] for block in report["blocks"][1:])
            for network, report in reports.items()}
    assert 20 < rest["frozen"] < 100
    assert rest["adaptive"] <= rest["frozen"]


def test_adaptation_follows_a_line_onto_its_backplane(tmp_path):
    reports, _ = run_example("backplane_pam4.py", "backplane_nrz_2g5", tmp_path)
    ber = {network: [capture["ber"] for capture in report["captures"]]
           for network, report in reports.items()}
    assert ber["frozen"][0] < 2e-4 and ber["frozen"][-1] > 0.1
    assert ber["adaptive"][-1] < 1e-3
    assert all(mine <= frozen for mine, frozen in zip(ber["adaptive"], ber["frozen"]))
