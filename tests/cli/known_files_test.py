# SPDX-License-Identifier: GPL-3.0-or-later
"""adann equalize with known symbols: what does not fit is one sentence, and what fits is learnt."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.cli import main

SPS, SYMBOLS, UNKNOWN = 2, 6000, 255


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("known")
    random = np.random.default_rng(4)
    labels = random.integers(0, 4, SYMBOLS).astype(np.uint8)
    pattern = [0, 3, 1, 1, 2, 0, 3, 2]
    labels[np.add.outer(np.arange(17, SYMBOLS - 8, 40), np.arange(8))] = pattern
    levels = core.constellation("pam4").points.real / np.sqrt(5)
    samples = np.repeat(levels[labels], SPS) + 0.05 * random.standard_normal(SYMBOLS * SPS)
    samples.astype(np.float32).tofile(made / "x.f32")
    labels.tofile(made / "x.u8")
    net = core.network([SPS * 3, 8, 4])
    net.initialize(1)
    core.save_model(str(made / "m.safetensors"), core.model(net, SPS, 1, False, "pam4"))
    trainer = core.trainer(net, loss="supervised", learning_rate=0.02)
    windows = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float32), SPS * 3)[1::SPS]
    for _ in range(300):
        trainer.step(windows, labels[2:2 + len(windows)])
    core.save_model(str(made / "trained.safetensors"), core.model(trainer.network, SPS, 1, False, "pam4"))
    known = np.where(np.arange(SYMBOLS) % 40 < 20, labels, UNKNOWN).astype(np.uint8)
    known.tofile(made / "known.u8")
    known[:-1].tofile(made / "short.u8")
    known[7] = 4
    known.tofile(made / "range.u8")
    return made


def equalize(folder, *arguments, model="m"):
    found = CliRunner().invoke(main, ["equalize", "--model", str(folder / f"{model}.safetensors"), "--capture",
                                      str(folder / "x.f32"), *arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


@pytest.mark.parametrize("arguments, status, message", [
    (["--known", "short.u8"], 1, "short.u8: 5999 labels, but"),
    (["--known", "range.u8"], 1, "range.u8: label 7 is 4, allowed: 0 to 3, and 255 where not known"),
    (["--known", "known.u8", "--known", "known.u8"], 2, "2 --known for 1 --capture"),
    (["--known", "known.u8", "--mode", "off"], 2, "need --mode lockstep or live"),
    (["--known", "known.u8", "--known-pattern", "0:64:0"], 2, "give one of them"),
    (["--known-pattern", "0,1,2:2:0"], 1, "known_symbols' number of labels is 3, allowed: 1 to 2"),
    (["--known-pattern", "0,4:64:0"], 1, "known_symbols' label is 4, allowed: 0 to 3"),
    (["--known-pattern", "0,300:64:0"], 2, "label 300, allowed"),
    (["--known-pattern", "0,1:64"], 2, "allowed: LABELS:PERIOD:OFFSET"),
])
def test_what_does_not_fit_is_refused_in_one_sentence(folder, arguments, status, message):
    found = equalize(folder, *(str(folder / a) if a.endswith(".u8") else a for a in arguments))
    assert found.exit_code == status and message in found.output
    assert "Traceback" not in found.output


def test_a_network_learns_from_half_of_the_labels(folder):
    """From random weights: without known labels it stays where it is."""
    rates = {}
    for name, options in (("known", ["--known", str(folder / "known.u8"), "--loss", "supervised"]), ("none", [])):
        report = folder / f"{name}.json"
        found = equalize(folder, "--reference", str(folder / "x.u8"), "--report", str(report), "--batch", "32",
                         "--lr", "0.03", "--average", "0", "--block", "1000", *options)
        assert found.exit_code == 0, found.output
        rates[name] = json.loads(report.read_text())["blocks"][-1]["ber"]
    assert rates["known"] < 0.02
    assert rates["none"] is None or rates["none"] > 0.2  # not aligned


def test_the_position_of_a_pattern_is_said(folder):
    report = folder / "pattern.json"
    found = equalize(folder, "--known-pattern", "0,3,1,1,2,0,3,2:40:0", "--report", str(report), model="trained")
    assert found.exit_code == 0, found.output
    assert "known symbols: frames start at symbol 17" in found.output
    assert json.loads(report.read_text())["known_position"] == 17
