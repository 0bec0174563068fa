# SPDX-License-Identifier: GPL-3.0-or-later
"""C++ for high-level synthesis, simulated with the ap_types that hls4ml brings."""

import re
import subprocess

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.export.frozen import Frozen
from gnuradio.adann.export.hls_source import hls_source
from gnuradio.adann.export.quantize import quantize
from gnuradio.adann.offline.training import feature_view


def in_whole_numbers(model, record, bits):
    model = core.model.from_bytes(model.to_bytes())
    model.formats = quantize(model.network, feature_view(record, model.sps, model.half_window), bits)
    return model


def write(folder, files):
    folder.mkdir()
    for name, contents in files.items():
        (folder / name).write_text(contents)


def simulated(ap_types, program, *sources):
    subprocess.run(["g++", "-std=c++14", "-w", f"-I{ap_types}", *sources, "-o", program], check=True)
    return subprocess.run([program], capture_output=True, text=True)


@pytest.mark.parametrize("bits", [6, 16])
def test_the_test_bench_passes(link, ap_types, tmp_path, bits):
    """Its golden labels and logits are those of the core."""
    model = in_whole_numbers(link.model, link.record(20_000, 6)[0], bits)
    write(tmp_path / "link", hls_source(Frozen(model), "link"))
    run = simulated(ap_types, tmp_path / "test", *(tmp_path / "link").glob("*.cpp"))
    assert (run.returncode, run.stdout) == (0, "0 differences\n")


def test_weights_come_at_run_time(link, ap_types, tmp_path):
    """The same top with another network's weights decides as that one; its own test bench then fails."""
    record = link.record(20_000, 6)[0]
    changed = core.model.from_bytes(link.model.to_bytes())
    changed.network.weight(1)[:] *= -0.9
    one, other = (in_whole_numbers(each, record, 8) for each in (link.model, changed))
    assert one.formats.values[0] == other.formats.values[0]  # the samples' type is not loaded
    for folder, model in ("one", one), ("other", other):
        write(tmp_path / folder, hls_source(Frozen(model), "link"))
    top = tmp_path / "one/link.cpp"
    assert simulated(ap_types, tmp_path / "test", top, tmp_path / "other/link_test.cpp").returncode == 0
    bench = (tmp_path / "one/link_test.cpp").read_text().replace('"link_weights.h"', '"../other/link_weights.h"')
    (tmp_path / "one/swapped.cpp").write_text(bench)
    assert simulated(ap_types, tmp_path / "test", top, tmp_path / "one/swapped.cpp").returncode == 1


def test_the_readme_counts(link):
    model = in_whole_numbers(link.model, link.record(5_000, 6)[0], 8)
    readme = hls_source(Frozen(model), "link")["README.md"]
    sizes = model.network.sizes
    products = sum(a * b for a, b in zip(sizes, sizes[1:]))
    assert re.search(rf"multiplications a symbol \| {products}, of 8 by 8 bits", readme)
    assert f"{products} of 8 bits, {sum(sizes[1:])} of 32, {sum(sizes[1:-1])} of 5" in readme


def test_a_model_in_float_is_refused_and_so_is_a_scale(pam4):
    with pytest.raises(ValueError, match="the model is in float, allowed: one in whole numbers, see adann quantize"):
        hls_source(Frozen(pam4), "link")
    pam4 = in_whole_numbers(pam4, np.random.default_rng(1).standard_normal(4000).astype(np.float32), 8)
    with pytest.raises(ValueError, match="normalised already, allowed: no capture"):
        hls_source(Frozen(pam4, 0, 2.0), "link")
