# SPDX-License-Identifier: GPL-3.0-or-later
"""The bench in its quick form: every figure is there, finite and positive."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("ADANN_BUILD", ROOT / "build"))


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    if "Eigen3_DIR:PATH=Eigen3_DIR-NOTFOUND" in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip("libeigen3-dev is not installed; ./dev bench installs it")
    subprocess.run(["cmake", "--build", BUILD, "--target", "kernels_bench"], check=True)
    path = tmp_path_factory.mktemp("bench") / "figures.json"
    subprocess.run([sys.executable, ROOT / "bench" / "bench.py", "--quick", "--json", path,
                    "--kernels-bench", BUILD / "bench" / "kernels_bench"], check=True, timeout=1800)
    return json.loads(path.read_text())


def positive(value):
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


@pytest.mark.parametrize("shape", ["d44_m4", "d88_m16"])
def test_inference_is_compared_with_torch_eigen_and_the_peak(figures, shape):
    found = figures["inference"][shape]
    for key in ("vs_torch_eager", "vs_torch_best", "vs_eigen", "msymbols_per_second"):
        assert positive(found[key]), key
    # Twice the peak would mean that it is none, or that the work was not done. On a shared machine
    # the peak, measured at another moment, may come out too low.
    assert 0 < found["fma_fraction"] < 2
    for isa, per_isa in figures["isa"].items():
        assert positive(per_isa["inference"][shape]["msymbols_per_second"]), isa


def test_whole_numbers_are_compared_with_floats(figures):
    for shape in figures["inference"].values():
        found = shape["int8"]
        assert {"plain", "16 bits", "float"} < set(found) and found["float"]["vs_float"] == 1
        for row in found.values():
            assert positive(row["msymbols_per_second"]) and positive(row["vs_float"])


@pytest.mark.parametrize("loss", ["self_training", "pi_model", "vat", "aug_vat"])
def test_every_losss_step_is_compared_with_torch(figures, loss):
    for key in ("full_vs_torch", "default_vs_torch", "msymbols_per_second"):
        assert positive(figures["step"][loss][key]), key


def test_a_front_filter_and_the_network_are_compared_with_the_network(figures):
    found = figures["tracking"]
    for what in "still", "moving":
        assert 0 < found[f"{what}_vs_network"] < 2
        assert positive(found["msymbols_per_second"][what])


def test_several_channels_are_compared_with_one(figures):
    found = figures["channels"]
    assert set(found) == {"1x1", "2x1", "2x2"}
    for shape in found.values():
        for link in "still", "moving":
            assert positive(shape[link]["msymbols_per_second"]) and positive(shape[link]["vs_one"])


def test_flowgraphs_are_compared_with_the_bare_kernel(figures):
    found = figures["flowgraph"]
    assert positive(found["off_vs_kernel"]) and positive(found["live_vs_off"])
    assert found["dropped"] >= 0 and found["throttled_steps"] > 0


def test_the_whole_receiver_is_compared_with_a_step(figures):
    assert {"default", "frozen"} <= set(figures["receiver"])
    for name, found in figures["receiver"].items():
        for key in ("msymbols_per_second", "vs_torch_step", "vs_step"):
            assert positive(found[key]), (name, key)


def test_gnuradios_equalizers_are_compared_with(figures):
    assert set(figures["peers"]) == {"QPSK", "16QAM", "PAM4"}
    for link in figures["peers"].values():
        assert {"linear, LMS", "linear, CMA", "feedback, LMS", "AdaNN, off", "AdaNN, live", "AdaNN, lockstep",
                "AdaNN, lockstep, without refinement"} == set(link)
        assert link["linear, LMS"]["vs_lms"] == 1
        assert all(positive(row[key]) for row in link.values() for key in ("msymbols_per_second", "vs_lms"))


def test_every_instruction_set_of_this_machine_is_measured(figures):
    assert {"plain", "baseline"} <= set(figures["isa"])
    for isa, found in figures["isa"].items():
        assert positive(found["step"]["aug_vat"]["full_vs_torch"]), isa
