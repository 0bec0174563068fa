# SPDX-License-Identifier: GPL-3.0-or-later
"""adann simulate: the files that it writes, and the captures in them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures.files import read_capture, read_reference
from gnuradio.adann.cli.simulate import simulate
from gnuradio.adann.links.coherent_link import coherent_link
from gnuradio.adann.links.simulation import (
    COHERENT_DRIFTS,
    VCSEL_DRIFTS,
    random_labels,
    simulate_changing,
    simulate_coherent,
    simulate_vcsel,
)
from gnuradio.adann.links.vcsel_mmf_link import vcsel_mmf_link

LEVELS = np.array([-3, -1, 3, 1]) / np.sqrt(5)
POINTS = np.array(core.constellation("16qam").points) / np.sqrt(10)


def run(link, *arguments):
    return CliRunner().invoke(simulate, [link, *map(str, arguments)])


def correlation(samples, points):
    return abs(np.vdot(points, samples)) / np.linalg.norm(points) / np.linalg.norm(samples)


@pytest.mark.parametrize("link, datatype, baud_rate, points", [
    ("vcsel", "rf32_le", 28e9, LEVELS), ("coherent", "cf32_le", 32e9, POINTS)])
def test_two_sets_of_the_asked_size_are_written(tmp_path, link, datatype, baud_rate, points):
    result = run(link, "-o", tmp_path / "a/b", "--symbols", 3000, "--sps", 5)
    assert result.exit_code == 0, result.output
    written = {path.name: path for path in (tmp_path / "a/b").iterdir()}
    assert set(written) == {f"set{n}.{kind}" for n in (1, 2)
                            for kind in ("sigmf-meta", "sigmf-data", "u8")}
    for number in (1, 2):
        fields = json.loads(written[f"set{number}.sigmf-meta"].read_text())["global"]
        assert fields["core:datatype"] == datatype
        assert fields["core:sample_rate"] == 5 * baud_rate
        labels = read_reference(written[f"set{number}.u8"], points.size)
        samples = read_capture(written[f"set{number}.sigmf-meta"]).samples.reshape(-1, 5)
        assert labels.size == len(samples) == 3000
        assert correlation(samples[:, 0], points[labels]) > 0.9


@pytest.mark.parametrize("link", ["vcsel", "coherent"])
def test_the_seed_alone_decides_on_the_bytes(tmp_path, link):
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        result = run(link, "-o", tmp_path / folder, "--symbols", 2000, "--seed", seed)
        assert result.exit_code == 0
    for path in (tmp_path / "a").glob("*[!a]"):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    data = {(folder, n): (tmp_path / folder / f"set{n}.sigmf-data").read_bytes()
            for folder in "abc" for n in (1, 2)}
    assert data["a", 1] == data["b", 1] and data["a", 2] == data["b", 2]
    assert len({data["a", 1], data["a", 2], data["c", 1], data["c", 2]}) == 4


@pytest.mark.parametrize("link", ["vcsel", "coherent"])
@pytest.mark.parametrize("arguments", [
    ("--symbols", 0), ("--sps", 1), ("--drift", "weather"), ("--seed", -1)])
def test_wrong_usage_exits_with_2_and_writes_nothing(tmp_path, link, arguments):
    result = run(link, "-o", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert arguments[0] in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bits", [2, 4])
def test_labels_are_uniform_and_independent(bits):
    labels, size = random_labels(2**18, 1, bits).astype(int), 2**bits
    for lag in (1, 2, 15):
        pairs = np.bincount(size * labels[lag:] + labels[:-lag], minlength=size**2)
        expected = labels.size / size**2
        assert np.sum((pairs - expected)**2 / expected) < size**2 + 5 * np.sqrt(2) * size


@pytest.mark.parametrize("make, drifts, points", [
    (simulate_vcsel, VCSEL_DRIFTS, LEVELS), (simulate_coherent, COHERENT_DRIFTS, POINTS)])
def test_every_drift_changes_the_samples_but_not_the_alignment(make, drifts, points):
    labels = random_labels(20_000, 2, 2 if points is LEVELS else 4)
    still = make(labels)
    assert still.dtype == (np.float32 if points is LEVELS else np.complex64)
    for drift in set(drifts) - {"none"}:
        samples = make(labels, drift)
        assert not np.array_equal(samples, still)
        assert correlation(samples[::4], points[labels]) > 0.8


@pytest.mark.parametrize("link, points, silent", [
    (vcsel_mmf_link, 4, {"noise": 0.0}), (coherent_link, 16, {"snr": 100.0, "polarization": 0.0})])
def test_a_link_whose_parameters_change_goes_on_where_it_was(link, points, silent):
    labels = np.random.default_rng(3).integers(0, points, 3001)
    later = {**silent, "timing": 0.2}
    whole, moved = (simulate_changing(link, labels, [values]) for values in (silent, later))
    parts = simulate_changing(link, labels, [silent, silent, later])
    edge = 4 * 2000
    np.testing.assert_allclose(parts[:edge], whole[:edge], atol=1e-4)
    np.testing.assert_allclose(parts[edge:], moved[edge:], atol=1e-4)
    assert np.std(whole - moved) > 0.05


@pytest.mark.parametrize("make, arguments, named", [
    (simulate_vcsel, ([0, 4],), "labels are 0 to 4, allowed: 0 to 3"),
    (simulate_coherent, ([0, 16],), "labels are 0 to 16, allowed: 0 to 15"),
    (simulate_vcsel, ([0], "weather"),
     "drift is 'weather', allowed: none, reference, timing, noise, bias"),
    (simulate_coherent, ([0], "bias"), "drift is 'bias', allowed: none, reference, strong"),
])
def test_bad_arguments_are_named(make, arguments, named):
    with pytest.raises(ValueError, match=named):
        make(*arguments)
