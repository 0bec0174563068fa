# SPDX-License-Identifier: GPL-3.0-or-later
"""adann reproduce drift: what its figures mean, and that its claims hold in the quick form."""

import json
import subprocess

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.experiments.drift import run_row
from gnuradio.adann.experiments.drift_report import bars, estimates_and_counts, jump, summarize, worst_jump
from gnuradio.adann.experiments.drift_signals import EVENTS, LINKS, Scale, case_signal, stress_signal
from gnuradio.adann.offline.evaluate import Errors

SMALL = Scale(before=8192, after=16384, slow=65536, switched=8192, switches=3, event=20_000,
              recovery=8192)


def blocks(bit_errors, bits, symbols):
    """Errors of blocks of so many symbols."""
    wrong = np.array(bit_errors)
    return Errors(np.full(wrong.size, symbols), wrong, wrong, bits)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drift")
    done = subprocess.run(["adann", "reproduce", "drift", "--quick", "-o", folder / "a/b"],
                          capture_output=True, text=True, timeout=6000)
    assert done.returncode == 0, done.stderr
    return folder / "a/b", done.stdout


def test_ours_follows_every_drift_and_endures_every_disturbance(quick):
    results = json.loads((quick[0] / "results.json").read_text())
    assert len(results["summary"]) == 3
    for entry in results["summary"]:
        rows = entry["rows"]
        frozen, ours = rows["frozen"]["whole"]["ber"], rows["ours"]["final"]["ber"]
        assert frozen > (0.1 if entry["case"] == "extreme" else 5e-3)
        assert ours < 1e-3 and ours < 0.1 * frozen
        assert ours < rows["self-training"]["final"]["ber"]
        assert rows["ours"]["before"]["ci95"][0] < rows["frozen"]["before"]["ci95"][1]
        slower = rows["self-training"]["blocks"]
        assert slower is None or slower > 1.5 * rows["ours"]["blocks"]
    stuck, = [entry["rows"]["self-training"] for entry in results["summary"]
              if entry["case"] == "extreme"]
    assert stuck["final"]["ber"] > 0.05
    assert len(results["stress_summary"]) == 4
    assert all(row["met"] for row in results["stress_summary"])
    for run in results["runs"]:
        run["errors"] = [blocks(one, LINKS[run["link"]].bits, 8192) for one in run["errors"]]
    # The errors that it estimates are about those that are counted, where it says so.
    trusted = np.array([point[:2] for link in LINKS
                        for point in estimates_and_counts(results, link) if point[2]])
    ratios = np.log2(trusted[:, 1] / trusted[:, 0])
    assert len(ratios) >= 10 and abs(np.median(ratios)) < 1.2


def test_table_and_plots_are_written(quick):
    folder, output = quick
    assert (folder / "table.md").read_text().strip() in output
    for name in ("ber_pam4.png", "ber_16qam.png", "estimate.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_figures_of_a_run():
    # 16 blocks of 1000 bits: 10 errors each in 6, then none; the latest 8 are below 1e-3 after 14.
    before, late = blocks([7] * 4, 2, 500), blocks([10] * 6 + [0] * 9 + [1], 2, 500)
    found = summarize([before, late, late[6:]])
    assert found["blocks"] == 14
    assert found["before"]["ber"] == 28 / 4000
    assert found["whole"]["ber"] == 62 / 26000
    assert found["final"]["ber"] == 1 / 8000
    assert found["final"]["ci95"] == list(core.clopper_pearson(1, 8000))
    assert found["worst_block"] == 1e-3
    never = summarize([before, late, blocks([10] * 8, 2, 500)])
    assert never["blocks"] is None and never["final"]["ber"] == 1e-2


def test_a_jump_is_over_when_the_latest_symbols_and_all_that_follow_say_so():
    # Blocks of 512 symbols, 1024 bits: 30 errors each in the first 4, 20 in the ninth, 5 later.
    close = [30] * 4 + [0] * 4 + [20] + [0] * 11 + [5] + [0] * 43
    close, before = blocks(close, 2, 512), blocks([0], 2, 8192)
    run = {"jump": close, "errors": [before, blocks([140, 5, 0, 0], 2, 8192)]}
    # 8 blocks have 140 errors until the fourth is out of them; 20 in 8192 bits are 2.4e-3, and
    # below 1e-3 the ninth has to be out too.
    assert jump(run) == {"symbols": 17 * 512, "start": 140 / 16384, "worst": 5 / 8192}
    # What follows has too many: never.
    worse = blocks([140, 5, 0, 0, 200, 200], 2, 8192)
    assert jump({**run, "errors": [before, worse]})["symbols"] is None
    calm = {"jump": blocks([0] * 64, 2, 512), "errors": [before, blocks([0] * 4, 2, 8192)]}
    assert jump(calm) == {"symbols": 4096, "start": 0, "worst": 0}
    assert worst_jump([{"symbols": 4096, "start": 1, "worst": 2},
                       {"symbols": 8192, "start": 0, "worst": 3}]) == {
        "symbols": 8192, "start": 1, "worst": 3}
    assert worst_jump([{"symbols": None, "start": 1, "worst": 2}])["symbols"] is None


def test_bars_are_judged():
    def rate(ber):
        return {"ber": ber, "ci95": [0.9 * ber, 1.1 * ber]}

    def row(blocks, final, whole, before=5e-4):
        return {"blocks": blocks, "final": rate(final), "whole": rate(whole),
                "before": rate(before)}

    def judged(ours, slower=row(None, 1e-2, 1e-2), oracle=4e-4, case="strong", symbols=8192):
        entry = {"link": "PAM4", "case": case, "rows": {
            "frozen": row(None, 2e-2, 2e-2), "self-training": slower, "ours": ours,
            "oracle": row(8, oracle, oracle)}}
        results = {"summary": [entry], "jumps": [dict(link="PAM4", case=case, symbols=symbols)]}
        return {bar["bar"] for bar in bars(results) if not bar["met"]}

    assert judged(row(16, 4e-4, 1e-3)) == set()
    assert judged(row(17, 4e-4, 1e-3)) == {"blocks to 1e-3"}
    assert judged(row(None, 4e-4, 1e-3)) == {"blocks to 1e-3"}
    assert judged(row(16, 4e-4, 1e-3), symbols=8704) == {"symbols to 1e-3"}
    assert judged(row(16, 4e-4, 1e-3), symbols=None) == {"symbols to 1e-3"}
    assert judged(row(16, 4e-4, 1e-3), symbols=None, case="bias") == set()
    assert judged(row(16, 6e-4, 1e-3)) == {"final BER / oracle's"}
    assert judged(row(16, 4e-4, 1e-3), row(15, 1e-3, 1e-3)) == {"blocks / self-training's"}
    assert judged(row(16, 4e-4, 1e-3), row(71, 1e-3, 1e-3), case="reference") == {
        "blocks / self-training's"}
    assert judged(row(16, 4e-4, 3e-2)) == {"BER after it / frozen's"}
    assert judged(row(16, 4e-4, 1e-3, before=7e-4)) == {"BER before the drift / frozen's"}
    assert judged(row(None, 5e-3, 1e-2), oracle=2e-3, case="combined") == {"final BER / oracle's"}
    assert judged(row(None, 1.1e-2, 1e-2), oracle=2e-3) == {"final BER / frozen's"}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("case, captures", [
    ("gain", [8192, 16384]), ("slow", [8192, 65536]), ("switching", [8192] * 4)])
def test_captures_of_a_case_carry_their_labels(link, case, captures):
    found = case_signal(link, case, SMALL)
    samples, sent = ([capture.samples for capture in found],
                     [capture.reference for capture in found])
    constellation = core.constellation(LINKS[link].constellation)
    points = np.array(constellation.points if constellation.is_complex else
                      np.real(constellation.points))
    assert [labels.size for labels in sent] == captures
    for part, labels in zip(samples, sent):
        assert part.size == 4 * labels.size
        middles, wanted = part[::4], points[labels]
        # No later symbol fits better: the parts of a changing link are in line.
        assert abs(np.vdot(wanted, middles)) > 0.85 * np.linalg.norm(wanted) * np.linalg.norm(
            middles)
    assert abs(np.std(samples[0]) - 1) < 1e-3
    if case == "gain":
        assert np.std(samples[1]) > 1.3
    if case == "slow":
        still, moved = (normalized(LINKS[link].simulate([LINKS[link].drifts[drift]], sent[1], 1))
                        for drift in ("none", "strong"))
        for part, near, far in ((slice(0, 32768), still, moved),
                                (slice(-32768, None), moved, still)):
            distance = [np.std(samples[1][part] - other[part]) for other in (near, far)]
            assert distance[0] < 0.8 * distance[1]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("event", EVENTS)
def test_disturbances_are_what_they_say(link, event):
    found = stress_signal(link, "none", event, SMALL)
    captures = [capture.samples for capture in found]
    assert captures[-1].size == 4 * found[-1].reference.size
    assert len(captures) == (2 if event == "none" else 3)
    middle = captures[1]
    assert middle.dtype == captures[0].dtype
    assert np.isfinite(middle).all() == (event != "NaN burst")
    if event == "band-limited noise":
        power = abs(np.fft.fft(middle))**2
        assert power[abs(np.fft.fftfreq(middle.size, 1 / 4)) > 0.51].sum() < 1e-6 * power.sum()
    if event == "wrong constellation" and link == "PAM4":
        assert np.mean(abs(middle[::4]) < 0.3) < 0.02  # nothing between the two levels
    if event.startswith("idle"):
        period = 4 * (16 if "16" in event else 2)
        assert np.corrcoef(abs(middle[:-period]), abs(middle[period:]))[0, 1] > 0.8


def test_a_cell_gives_the_same_again():
    network = core.network([44, 10, 4])
    network.initialize(3)
    model = core.model(network, 4, 5, False, "pam4")
    cells = [run_row(model, "PAM4", "reference", "ours", seed, SMALL) for seed in (1, 1, 2)]
    first, again, other = ([errors.bit_errors.tolist() for errors in cell["errors"]]
                           for cell in cells)
    assert first == again != other
    assert cells[0]["estimates"] == cells[1]["estimates"]
    assert [len(errors) for errors in first] == [1, 2]
