# SPDX-License-Identifier: GPL-3.0-or-later
"""adann reproduce, the paper's experiments: the claims that hold do so in the quick form too."""

import json
import re
import subprocess

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.experiments import PAPER, coherent, vcsel
from gnuradio.adann.experiments.complexity import multiplications
from gnuradio.adann.experiments.mlse import Estimator, run_mlse
from gnuradio.adann.experiments.training_sequence import run_sequence
from gnuradio.adann.experiments.vcsel import DEFAULTS, DEFAULTS_NAME, FROZEN, SELF_TRAINING, Size, run_equalizer
from gnuradio.adann.experiments.weights import weight_changes
from said import but_progress

SMALL = Size(symbols=32768)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    done = subprocess.run(["adann", "reproduce", "all", "--quick", "-o", "."],
                          cwd=folder, capture_output=True, text=True, timeout=6000)
    assert (done.returncode, re.sub("^adann: no workers: .*\n", "", but_progress(done.stderr))) == (0, "")
    assert {*PAPER, "summary.md"} == {path.name for path in folder.iterdir()}
    return {name: json.loads((folder / name / "results.json").read_text())
            for name in PAPER}, folder


@pytest.fixture(scope="module")
def model():
    """A network that was not trained."""
    network = core.network([44, 10, 10, 4])
    network.initialize(3)
    return core.model(network, 4, 5, False, "pam4")


def test_every_page_has_its_parts(quick):
    results, folder = quick
    for name in PAPER:
        page = (folder / name / "table.md").read_text()
        said = " ".join(page.split())
        assert "is simulated" in said and "no measured record" in said and "paper" in said
        assert all(len(line) <= 100 for line in page.splitlines()[:-1] if not line.startswith("|"))
        assert re.search(r"^Written by gr-adann .*, on \d{4}-\d\d-\d\d: .* cores\.$", page.splitlines()[-1])
        plot, = (folder / name).glob("*.png")
        assert plot.read_bytes().startswith(b"\x89PNG")
        for claim in results[name]["claims"]:
            assert f"| {claim['claim']} | {claim['found']} |" in page


def test_summary_has_every_claim(quick):
    results, folder = quick
    page = (folder / "summary.md").read_text()
    claims = [(name, result["title"], claim) for name, result in results.items()
              for claim in result["claims"]]
    for name, title, claim in claims:
        assert f"| [{title}]({name}/table.md) | {claim['claim']} | {claim['found']} |" in page
    held = sum(claim["holds"] for *_, claim in claims)
    assert f"{held} of {len(claims)} claims hold" in page
    assert page.count("| yes |") == held and page.count("| **no** |") == len(claims) - held


def test_the_worst_of_the_seeds_counts(quick):
    """Two seeds decide differently once the guard lets weights in that were learnt. It need not: the network of
    -4.7 dBm has as many errors as what is learnt from it, but for a tenth."""
    rows, runs = (quick[0]["frozen"][name] for name in ("rows", "errors"))
    assert [len(seeds) for seeds in runs.values()] == [1, 1, 1, 2, 2]
    for name, seeds in runs.items():
        final = [sum(set2[-8:]) / (8 * 8192 * 2) for _, set2 in seeds]
        assert rows[name]["final"]["ber"] == max(final)
    assert len({tuple(set2) for _, set2 in runs[DEFAULTS_NAME]}) == 2


def test_each_run_of_a_row_has_a_seed_of_its_own(model, monkeypatch):
    cells = []
    monkeypatch.setattr(vcsel, "run_cells", lambda work, of, done: cells.extend(of) or iter(of))
    rows = {"frozen": (model, FROZEN), "defaults": (model, DEFAULTS), "another": (model, SELF_TRAINING)}
    assert [len(runs) for runs in vcsel.run_rows(rows, Size(seeds=3)).values()] == [1, 3, 1]
    assert [settings["seed"] for _, settings, _ in cells] == [0, 0, 1, 2, 0]


def how_often_more(slow, fast):
    """-1 to 1, 0: as often as not: in the blocks of set2 from the eighth on `slow` has more errors than `fast`.

    Both see the same symbols and noise. Counts of some ten errors scatter, and how many they are depends on the network
    that they begin with; which of the two has more does not. Over 23 networks and data that were drawn anew, this was
    six standard deviations and more above 0.3 in each use here, which a normal variable falls below once in 10^9.
    """
    (_, one), = slow
    return np.mean([np.sign(np.subtract(one, other))[8:] for _, other in fast])


def test_adaptation_beats_the_frozen_network_and_self_training(quick):
    rows = quick[0]["frozen"]["rows"]
    frozen, *slow, ours, other = rows.values()
    assert frozen["before"]["ber"] < 1e-3 < 5e-3 < frozen["whole"]["ber"] and not frozen["blocks"]
    errors = list(quick[0]["frozen"]["errors"].values())
    for row in slow:  # of all of set2: what is slower has more errors
        assert row["whole"]["ber"] > 1.5 * ours["whole"]["ber"]
    assert how_often_more(errors[0], errors[2]) > 0.3  # self-training diverges from one network in ten
    for row in (ours, other):
        assert row["blocks"] <= 16 and row["final"]["ber"] < 0.1 * frozen["final"]["ber"]
    # The network of the weaker light comes to the same, but it is another one.
    its, our = (np.mean([set2[16:] for _, set2 in runs]) for runs in errors[:2:-1])
    assert 0.5 < its / our < 2
    assert errors[-2] != errors[-1]


def test_losses_rank_as_in_the_paper_with_the_clean_label_only(quick):
    rows = {tuple(row["row"]): row for row in quick[0]["losses"]["rows"]}
    for step in (0.01, 0.003):
        slow = rows["self-training", "clean", step]["errors"]
        for loss in ("Π, σ 0.3", "VAT, ε 0.3", "Aug-VAT, σ 0.15, ε 0.3"):
            assert how_often_more(slow, rows[loss, "clean", step]["errors"]) > 0.3
            assert rows[loss, "perturbed", step]["final"]["ber"] > 0.03


def test_smaller_batches_follow_sooner(quick):
    rows = {tuple(row["row"]): row for row in quick[0]["batch"]["rows"]}
    assert rows["step", 2048]["blocks"] < rows["step", 8192]["blocks"]


def test_optimizers_differ(quick):
    rows = {tuple(row["row"]): row for row in quick[0]["optimizers"]["rows"]}
    assert rows["adam", 0.003]["final"]["ber"] < 1e-3
    # The same step does much less without a gradient's scale or momentum.
    assert rows["sgd", 0.003]["final"]["ber"] > 5 * rows["adam", 0.003]["final"]["ber"]


def test_taps_and_training_sequence(quick):
    rates = quick[0]["taps"]["rates"]
    assert rates["5"]["ber"] < 1e-3
    rows = quick[0]["training"]["rows"]
    few, many, ours = (row["whole"]["ber"] for row in rows.values())
    assert few > many and few > 1.5 * ours


def test_mlse_is_beaten_at_one_sample_a_symbol(quick):
    rows = quick[0]["mlse"]["rows"]
    ours = rows["AdaNN, the defaults"]["final"]["ber"]
    at_1 = [row["final"]["ber"] for name, row in rows.items() if "1 sample " in name]
    at_4 = [row["final"]["ber"] for name, row in rows.items() if "4 samples " in name]
    assert len(at_1) == len(at_4) == 2 and min(at_1) > 4 * ours
    assert max(at_4) < min(at_1)


def test_first_layer_changes_most(quick):
    for layers in quick[0]["weights"]["rows"].values():
        ratios = [ratio for *_, ratio in layers]
        assert len(ratios) == 5 and ratios[0] == max(ratios)


def test_cost_is_that_of_the_formulas(quick):
    found = quick[0]["complexity"]
    # Section III with 4 samples, L = 5, R = 10, M = 4, 6 layers: k_NN = 44*10 + 3*100 + 10*4.
    assert found["k_nn"] == 780 and found["k_back"] == 2 * 780 + 4 * 10 + 4
    assert [round(ratio) for ratio in found["formula"].values()] == [3, 4, 7]
    assert all(ratio > 0 for ratio in found["timed"].values())  # how much, ./dev bench tells
    assert multiplications([2, 3]) == (6, 15)


def test_multiplications_are_those_that_were_made(quick):
    found = quick[0]["complexity"]
    # Back: g hᵀ of every layer, Wᵀ g of all but the first, a ReLU's derivative being no product.
    decide, to_first = 780, 3 * 100 + 10 * 4
    learn = decide + to_first
    perturb = to_first + 44 * 10 + 2 * 44  # to the input, and its length: squares, and scaling
    assert (found["counted_k_nn"], found["counted_k_back"]) == (decide, learn)
    # σ n; then ξ d and σ n, and σ n beside r.
    step = {"self_training": decide + learn, "pi_model": 2 * decide + 44 + learn,
            "aug_vat": 3 * decide + 3 * 44 + perturb + learn}
    for loss, count in step.items():
        assert found["counted"][f"{loss}, full"] == pytest.approx(count / decide)
    # In the space of the first layer's 10 sums the noise has 10 coordinates, not 44.
    assert found["counted"]["aug_vat, projected"] < found["counted"]["aug_vat, full"]
    network = core.network([6, 3, 2])
    features = np.ones((256, 6), np.float32)
    assert core.multiplications(network, features) == 256 * (6 * 3 + 3 * 2)


def test_on_the_coherent_link_adaptation_comes_below_the_limit(quick):
    rows = quick[0]["coherent"]["rows"]
    frozen, ours = rows["frozen"], rows["AdaNN, the defaults"]
    assert frozen["set1"]["mean"] < coherent.LIMIT < frozen["set2"]["least"]
    assert ours["stable"]["greatest"] < coherent.LIMIT
    assert ours["set2"]["mean"] < 0.7 * frozen["set2"]["mean"]


def test_coherent_sets_are_aligned_with_their_labels():
    points = np.array(core.constellation("16qam").points)
    sets = coherent.sets()
    assert (sets[0].reference != sets[1].reference).mean() > 0.9
    for capture in sets:
        received, labels = capture.samples, capture.reference
        assert labels.size == 50400 and received.size == 4 * 50400
        assert np.abs(np.bincount(labels) / labels.size - 1 / 16).max() < 0.005
        # Symbols are nearest to the samples in their middles, in the sender's phase throughout.
        parts = (received * np.repeat(points[labels], 4).conj()).reshape(-1, 1260, 4).mean(axis=1)
        assert np.all(parts.real.argmax(axis=1) == 0)
        assert np.abs(np.angle(parts[:, 0])).max() < 0.15


def test_a_response_learnt_from_all_labels_decides(model):
    clear, moved = run_mlse(Estimator(4, 3), SMALL)
    assert len(clear) == len(moved) == 4
    assert max(clear.bit_errors) < 0.002 * 2 * 8192
    assert max(moved.bit_errors) < 0.005 * 2 * 8192


def test_labels_told_train_the_network(model):
    before, after = (run_sequence(model, part, SMALL) for part in (4096, 1))
    assert [len(part) for part in after] == [4, 4]
    assert after[1].ber < 0.5 * before[1].ber


def test_no_step_changes_no_weight(model):
    none = weight_changes(model, dict(DEFAULTS, learning_rate=1e-30), SMALL)
    some = weight_changes(model, dict(DEFAULTS), SMALL)
    assert all(change == 0 for _, change, _ in none)
    assert all(0 < change == pytest.approx(ratio * whole) for whole, change, ratio in some)
    assert none[0][0] == some[0][0] > 0


def test_a_run_gives_the_same_again(model):
    first, again, frozen = (run_equalizer(model, settings, SMALL)
                            for settings in (DEFAULTS, DEFAULTS, FROZEN))
    assert first == again != frozen
    # An untrained network guesses.
    assert all(0.3 < errors.ber < 0.7 for errors in frozen)
