# SPDX-License-Identifier: GPL-3.0-or-later
"""adann simulate: the files that it writes, and the captures in them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.adann.cli.simulate import simulate
from gnuradio.adann.simulation import VCSEL_DRIFTS, random_labels, simulate_vcsel

LEVELS = np.array([-3, -1, 3, 1]) / np.sqrt(5)


def run(*arguments):
    return CliRunner().invoke(simulate, ["vcsel", *map(str, arguments)])


def test_two_sets_of_the_asked_size_are_written(tmp_path):
    result = run("-o", tmp_path / "a/b", "--symbols", 3000, "--sps", 5)
    assert result.exit_code == 0, result.output
    written = {path.name: path for path in (tmp_path / "a/b").iterdir()}
    assert set(written) == {f"set{n}.{kind}" for n in (1, 2)
                            for kind in ("sigmf-meta", "sigmf-data", "u8")}
    for number in (1, 2):
        fields = json.loads(written[f"set{number}.sigmf-meta"].read_text())["global"]
        assert fields["core:datatype"] == "rf32_le"
        assert fields["core:sample_rate"] == 5 * 28e9
        labels = np.fromfile(written[f"set{number}.u8"], np.uint8)
        samples = np.fromfile(written[f"set{number}.sigmf-data"], "<f4").reshape(-1, 5)
        assert labels.size == len(samples) == 3000
        assert np.corrcoef(samples[:, 0], LEVELS[labels])[0, 1] > 0.9


def test_the_seed_alone_decides_on_the_bytes(tmp_path):
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert run("-o", tmp_path / folder, "--symbols", 2000, "--seed", seed).exit_code == 0
    for path in (tmp_path / "a").glob("*[!a]"):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    data = {(folder, n): (tmp_path / folder / f"set{n}.sigmf-data").read_bytes()
            for folder in "abc" for n in (1, 2)}
    assert data["a", 1] == data["b", 1] and data["a", 2] == data["b", 2]
    assert len({data["a", 1], data["a", 2], data["c", 1], data["c", 2]}) == 4


@pytest.mark.parametrize("arguments", [
    ("--symbols", 0), ("--sps", 1), ("--drift", "weather"), ("--seed", -1)])
def test_wrong_usage_exits_with_2_and_writes_nothing(tmp_path, arguments):
    result = run("-o", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert arguments[0] in result.output
    assert not (tmp_path / "out").exists()


def test_labels_are_uniform_and_independent():
    labels = random_labels(2**18, 1)
    for lag in (1, 2, 15):
        pairs = np.bincount(4 * labels[lag:].astype(int) + labels[:-lag], minlength=16)
        np.testing.assert_allclose(pairs, labels.size / 16, rtol=0.05)


def test_every_drift_changes_the_samples_but_not_the_alignment():
    labels = random_labels(20_000, 2)
    still = simulate_vcsel(labels)
    assert still.dtype == np.float32
    for drift in set(VCSEL_DRIFTS) - {"none"}:
        samples = simulate_vcsel(labels, drift)
        assert not np.array_equal(samples, still)
        assert np.corrcoef(samples[::4], LEVELS[labels])[0, 1] > 0.9


@pytest.mark.parametrize("arguments, named", [
    (([0, 4],), "labels are 0 to 4, allowed: 0 to 3"),
    (([0], "weather"), "drift is 'weather', allowed: none, reference, timing, noise, bias"),
])
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        simulate_vcsel(*arguments)
