# SPDX-License-Identifier: GPL-3.0-or-later
"""C files, compiled and run, against the core."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.export.c_source import c_source, identifier
from gnuradio.adann.export.frozen import Frozen
from gnuradio.adann.export.quantize import quantize
from gnuradio.adann.offline.training import feature_view

COMPILERS = [name for name in ("gcc", "clang", "clang-19") if shutil.which(name)]
STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


def write(folder, files):
    for name, contents in files.items():
        (folder / name).write_text(contents)


def compiled(folder, stem, compiler, *options, flags=STRICT):
    program = folder / f"{stem}-{compiler}"
    subprocess.run([compiler, *flags, *options, folder / f"{stem}.c", "-o", program], check=True)
    return program


@pytest.fixture(params=COMPILERS)
def compiler(request):
    return request.param


def test_a_million_symbols_are_decided_as_in_the_core(link, tmp_path, compiler):
    """Sums of another order may turn a decision that is within rounding of two labels: none but those."""
    samples = link.record(1_000_000, 2)[0]
    write(tmp_path, c_source(Frozen(link.model), "link"))
    found = subprocess.run([compiled(tmp_path, "link", compiler, "-DADANN_FILTER")],
                           input=samples.tobytes(), capture_output=True, check=True).stdout
    labels, posteriors = link.model.network.decide(
        feature_view(samples, link.model.sps, link.model.half_window))
    differs = np.frombuffer(found, np.uint8) != labels
    second, first = np.sort(posteriors[differs])[:, -2:].T
    assert differs.sum() <= 3 and np.all(first - second < 1e-4)


def in_whole_numbers(link, bits):
    model = core.model.from_bytes(link.model.to_bytes())
    samples = link.record(20_000, 6)[0]
    model.formats = quantize(model.network, feature_view(samples, model.sps, model.half_window), bits)
    return model


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e38])
def test_a_value_that_is_not_finite_costs_its_windows_only(link, tmp_path, value):
    """The header says what their labels are: in range."""
    samples = link.record(2000, 2)[0]
    samples.view(np.float32)[1000] = value
    files = c_source(Frozen(link.model), "link")
    assert "in range, but not\n * defined" in files["link.h"]
    write(tmp_path, files)
    found = np.frombuffer(subprocess.run([compiled(tmp_path, "link", COMPILERS[0], "-DADANN_FILTER")],
                                         input=samples.tobytes(), capture_output=True, check=True).stdout, np.uint8)
    windows = feature_view(samples, link.model.sps, link.model.half_window)
    labels, posteriors = link.model.network.decide(windows)
    second, first = np.sort(posteriors)[:, -2:].T
    sure = (abs(windows) < 1e6).all(axis=1) & (first - second > 1e-4)
    assert (~sure).sum() < 30 and found.max() < link.model.constellation.size
    np.testing.assert_array_equal(found[sure], labels[sure])


@pytest.mark.parametrize("bits", [4, 8, 9, 16])
def test_whole_numbers_are_the_core_s_to_the_bit_over_a_million_symbols(link, tmp_path, bits):
    """The compilers in turn; the self-test has the logits."""
    model, samples = in_whole_numbers(link, bits), link.record(1_000_000, 2)[0]
    compiler = COMPILERS[bits % len(COMPILERS)]
    write(tmp_path, c_source(Frozen(model), "link"))
    run = subprocess.run([compiled(tmp_path, "link", compiler, "-DADANN_SELF_TEST")], capture_output=True)
    assert (run.returncode, run.stdout) == (0, b"0 of 32 golden windows differ\n")
    found = subprocess.run([compiled(tmp_path, "link", compiler, "-DADANN_FILTER")],
                           input=samples.tobytes(), capture_output=True, check=True).stdout
    labels = core.quantized_network(model.network, model.formats).decide(
        feature_view(samples, model.sps, model.half_window))[0]
    np.testing.assert_array_equal(np.frombuffer(found, np.uint8), labels)


def test_whole_numbers_show_no_undefined_behaviour(link, tmp_path):
    """With samples that are huge, infinite and NaN."""
    model = in_whole_numbers(link, 16)
    samples = np.random.default_rng(3).standard_normal(40_000).astype(np.float32)
    samples[::7], samples[1::7], samples[2::7] = 1e30, -np.inf, np.nan
    write(tmp_path, c_source(Frozen(model), "link"))
    found = subprocess.run([compiled(tmp_path, "link", "gcc", "-DADANN_FILTER", "-fsanitize=undefined,address",
                                     "-fno-sanitize-recover")],
                           input=samples.tobytes(), capture_output=True, check=True).stdout
    labels = core.quantized_network(model.network, model.formats).decide(
        feature_view(samples.view(np.complex64) if model.complex else samples, model.sps, model.half_window))[0]
    np.testing.assert_array_equal(np.frombuffer(found, np.uint8), labels)


def test_golden_windows_pass_and_a_changed_weight_fails(link, tmp_path, compiler):
    files = c_source(Frozen(link.model), "link")
    write(tmp_path, files)
    run = subprocess.run([compiled(tmp_path, "link", compiler, "-DADANN_SELF_TEST")], capture_output=True)
    assert (run.returncode, run.stdout) == (0, b"0 of 32 golden windows differ\n")
    first = re.search(r"biases_0\[\] = \{\s*([^,]+)", files["link.c"])
    files["link.c"] = files["link.c"][:first.start(1)] + "9.0f" + files["link.c"][first.end(1):]
    write(tmp_path, files)
    assert subprocess.run([compiled(tmp_path, "link", compiler, "-DADANN_SELF_TEST")],
                          capture_output=True).returncode == 1


@pytest.mark.parametrize("bits", [None, 8])
def test_a_network_that_decides_nothing_is_refused(bits):
    model = core.model(core.network([14, 4, 4]), 2, 3, False, "pam4")
    if bits:
        model.formats = core.quantization(bits, [8, 8], [[8] * 4, [8] * 4])
    with pytest.raises(ValueError, match="the network decides nothing: its outputs are alike for every window"):
        Frozen(model).golden_windows()


def test_golden_windows_show_every_class(link):
    labels = link.model.network.decide(Frozen(link.model).golden_windows())[0]
    assert set(labels) == set(range(link.constellation.size))


def test_a_capture_s_mean_and_rms_are_taken_off(link, tmp_path):
    samples = link.record(5_000, 3)[0]
    mean = np.complex64(0.3 - 0.2j) if link.model.complex else np.float32(0.3)
    received = np.float32(0.02) * samples + mean
    write(tmp_path, c_source(Frozen.of(link.model, received), "link"))
    found = subprocess.run([compiled(tmp_path, "link", "gcc", "-DADANN_FILTER")],
                           input=received.tobytes(), capture_output=True, check=True).stdout
    labels = link.model.network.decide(
        feature_view(samples, link.model.sps, link.model.half_window))[0]
    assert np.mean(np.frombuffer(found, np.uint8) == labels) > 0.999
    assert subprocess.run([compiled(tmp_path, "link", "gcc", "-DADANN_SELF_TEST")],
                          capture_output=True).returncode == 0


def test_the_file_needs_no_library(pam4, tmp_path):
    """But what a compiler may call for plain loops, of any program."""
    write(tmp_path, c_source(Frozen(pam4), "pam4"))
    subprocess.run(["gcc", *STRICT, "-c", tmp_path / "pam4.c", "-o", tmp_path / "pam4.o"], check=True)
    symbols = subprocess.run(["nm", "-u", tmp_path / "pam4.o"], capture_output=True, text=True,
                             check=True).stdout.split()
    assert set(symbols) <= {"U", "memcpy", "memset", "memmove"}


def test_the_header_is_cplusplus_too(pam4, tmp_path):
    write(tmp_path, c_source(Frozen(pam4), "pam4"))
    (tmp_path / "user.cc").write_text('#include "pam4.h"\nint main() { float w[PAM4_WINDOW] = {}; '
                                      "return pam4_decide(w, 0) >= PAM4_CLASSES; }\n")
    subprocess.run(["gcc", *STRICT, "-c", tmp_path / "pam4.c", "-o", tmp_path / "pam4.o"], check=True)
    subprocess.run(["g++", "-Wall", "-Werror", tmp_path / "user.cc", tmp_path / "pam4.o", "-o",
                    tmp_path / "user"], check=True)
    assert subprocess.run([tmp_path / "user"]).returncode == 0


def test_a_record_shorter_than_a_window_gives_its_whole_symbols(pam4, tmp_path):
    write(tmp_path, c_source(Frozen(pam4), "pam4"))
    program = compiled(tmp_path, "pam4", "gcc", "-DADANN_FILTER")
    for count, symbols in ((0, 0), (1, 0), (2, 1), (5, 2), (200, 100)):
        found = subprocess.run([program], input=np.ones(count, np.float32).tobytes(),
                               capture_output=True, check=True).stdout
        assert len(found) == symbols


@pytest.mark.parametrize("stem, name", [("vcsel", "vcsel"), ("my-link.v2", "my_link_v2"),
                                        ("56G", "adann_56G"), ("_x", "adann__x"), ("läuft", "l_uft")])
def test_names_become_identifiers(stem, name):
    assert identifier(stem) == name
