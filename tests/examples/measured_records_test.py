# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples on measured records, where the records are; they are not part of this repository."""

import json
import re
import subprocess
import sys
from pathlib import Path

from records import record

ROOT = Path(__file__).parents[2]


def run_example(name, capture, directory, *options):
    """Run it as a user would. name: of the script, and what comes before the record. Returns what
    it printed."""
    script, *first = name.split()
    run = subprocess.run([sys.executable, ROOT / "examples" / script, *first, record(capture), "-o",
                          directory, *options], capture_output=True, text=True, timeout=3000)
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


def test_adann_follows_an_echo_that_turns(tmp_path):
    run_example("satellite_hdlc.py", "satellite_bpsk/picsat_9k6.wav", tmp_path, "--echo", "0.4",
                "--turns", "1")
    found = json.loads((tmp_path / "frames.json").read_text())["0.4"]
    assert 35 <= len(found["slicer"]) <= 52  # 45
    assert 18 <= len(found["AdaNN, frozen"]) <= 36  # 27
    assert 50 <= len(found["linear_equalizer, CMA"])  # 54
    assert len(found["AdaNN"]) >= 50  # 55


def changed_channel(record, capture, directory):
    """{(channel, network): symbol errors before, in the first 2048, the third, the last quarter}"""
    output = run_example(f"changed_channel.py {record}", capture, directory)
    rows = re.findall(r"^(.+?)  +(frozen|AdaNN) +(\d+) +(\d+) +(\d+) +(\d+)$", output, re.M)
    return output, {(channel, network): [int(count) for count in counts]
                    for channel, network, *counts in rows}


def test_framed_radio_is_prepared_by_its_sync_words_and_its_channel_changes(tmp_path):
    output, errors = changed_channel("dmr", "dmr_4fsk/dmr_it_8.dis", tmp_path)
    assert "389 sync words of 24 symbols, 0 of their symbols decided wrongly" in output
    assert len(errors) == 8 and errors["as it is", "frozen"][0] < 50
    # 24,000 symbols in the last quarter.
    assert errors["1, .45, -.15", "frozen"][3] > errors[".15, 1, .3", "frozen"][3] > 2000
    assert all(counts[3] == 0 for (_, network), counts in errors.items() if network == "AdaNN")


def test_an_8b10b_line_is_proven_by_its_code_and_its_channel_changes(tmp_path):
    output, errors = changed_channel("pcie", "pcie_gen1_8b10b/pcie_c1.bin", tmp_path)
    assert "8b/10b: 4999 of 4999 code groups valid, from bit 3" in output
    assert len(errors) == 8 and sum(errors["as it is", "frozen"]) < 10
    assert sum(errors["1, .45, -.15", "frozen"]) > 20  # 35
    assert all(sum(counts) <= 2 for (_, network), counts in errors.items() if network == "AdaNN")


def test_a_fifth_is_enough_to_train_16qam_on(tmp_path):
    run_example("arof_mmwave_16qam.py", "arof_mmwave_16qam/10km_16QAM_28_3.mat",
                tmp_path, "--trained-on", "20000")
    reports = read_reports(tmp_path)
    rest = {network: sum(block["symbol_errors"] for block in report["blocks"][1:])
            for network, report in reports.items()}
    assert rest["adaptive"] <= rest["frozen"] < 10  # of 79,990; 0


def test_adaptation_follows_a_line_onto_its_backplane(tmp_path):
    run_example("backplane_pam4.py", "backplane_nrz_2g5", tmp_path)
    reports = read_reports(tmp_path)
    ber = {network: [capture["ber"] for capture in report["captures"]]
           for network, report in reports.items()}
    assert ber["frozen"][0] < 2e-4 and ber["frozen"][-1] > 0.1
    assert ber["adaptive"][-1] < 1e-3
    assert all(mine <= frozen for mine, frozen in zip(ber["adaptive"], ber["frozen"]))
