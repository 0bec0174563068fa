# SPDX-License-Identifier: GPL-3.0-or-later
"""The capture source against what has been written into the files."""

import json

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann.captures.files import read_capture, write_capture

RANDOM = np.random.default_rng(1)
REAL = RANDOM.standard_normal(100_001).astype(np.float32)
COMPLEX = REAL[:-1].view(np.complex64)


def run(source, is_complex, count=None):
    """Samples, rx_rate tags as (offset, rate), and messages."""
    item = gr.sizeof_gr_complex if is_complex else gr.sizeof_float
    sink = blocks.vector_sink_c() if is_complex else blocks.vector_sink_f()
    messages = blocks.message_debug()
    top = gr.top_block()
    top.connect(source, *([blocks.head(item, count)] if count else []), sink)
    top.msg_connect(source, "end", messages, "store")
    top.run()
    tags = [(tag.offset, pmt.to_python(tag.value)) for tag in sink.tags()
            if pmt.to_python(tag.key) == "rx_rate"]
    return (np.array(sink.data()), tags,
            [pmt.to_python(messages.get_message(k)) for k in range(messages.num_messages())])


@pytest.mark.parametrize("samples", [REAL, COMPLEX], ids=["real", "complex"])
def test_a_sigmf_pair_comes_out_once_with_its_rate_and_says_when_it_ends(tmp_path, samples):
    write_capture(tmp_path / "a", samples, 28e9)
    is_complex = np.iscomplexobj(samples)
    source = adann.capture_source(tmp_path / "a.sigmf-meta", is_complex)
    assert (source.sample_rate(), source.size()) == (28e9, samples.size)
    out, tags, messages = run(source, is_complex)
    np.testing.assert_array_equal(out, samples)
    assert tags == [(0, 28e9)]
    assert messages == [("end", samples.size)]


@pytest.mark.parametrize("suffix, samples", [
    (".f32", REAL), (".c64", COMPLEX), (".cfile", COMPLEX), (".f32", REAL[:1])])
def test_raw_samples_come_out_with_the_rate_that_is_given(tmp_path, suffix, samples):
    path = tmp_path / f"a{suffix}"
    samples.tofile(path)
    is_complex = np.iscomplexobj(samples)
    for given, told, tagged in ((0, None, []), (2e6, 2e6, [(0, 2e6)])):
        source = adann.capture_source(path, is_complex, sample_rate=given)
        assert source.sample_rate() == told
        out, tags, messages = run(source, is_complex)
        np.testing.assert_array_equal(out, samples)
        assert tags == tagged
        assert messages == [("end", samples.size)]


@pytest.mark.parametrize("size", [1000, 77_777])
def test_a_repeated_capture_begins_again_and_never_ends(tmp_path, size):
    write_capture(tmp_path / "a", REAL[:size], 1e6)
    count = 3 * size + 500
    out, tags, messages = run(adann.capture_source(tmp_path / "a", repeat=True), False, count)
    np.testing.assert_array_equal(out, np.resize(REAL[:size], count))
    assert tags == [(k * size, 1e6) for k in range(4)]
    assert messages == []


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("kind", ["i8", "u8", "i16_le", "i16_be", "u16_le", "u16_be", "i32_le",
                                  "i32_be", "u32_le", "u32_be", "f32_be"])
def test_other_types_come_out_scaled_to_one_as_the_captures_reader_does(tmp_path, is_complex, kind):
    dtype = np.dtype(f"{'>' if kind.endswith('be') else '<'}{kind[0]}"
                     f"{int(kind[1:].split('_')[0]) // 8}")
    if kind[0] == "f":
        stored = REAL[:600].astype(dtype)
        expected = REAL[:600]
    else:
        limits = np.iinfo(dtype)
        stored = RANDOM.integers(limits.min, limits.max, 600, endpoint=True).astype(dtype)
        stored[:2] = limits.min, limits.max
        middle, full_scale = (limits.max + 1) / 2 * (kind[0] == "u"), 2.0 ** (limits.bits - 1)
        expected = ((stored - middle) / full_scale).astype(np.float32)
    stored.tofile(tmp_path / "a.sigmf-data")
    (tmp_path / "a.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": ("c" if is_complex else "r") + kind, "core:version": "1.0.0"},
        "captures": [], "annotations": []}))
    out, _, messages = run(adann.capture_source(tmp_path / "a", is_complex), is_complex)
    out = out.astype(np.complex64 if is_complex else np.float32)
    np.testing.assert_array_equal(out.view(np.float32), expected)
    # sigmf rounds an unsigned integer of 32 bits before it takes the half of its range off.
    np.testing.assert_allclose(read_capture(tmp_path / "a").samples, out, rtol=0,
                               atol=1e-7 if kind.startswith("u32") else 0)
    assert messages == [("end", out.size)]


@pytest.mark.parametrize("name, changed, message", [
    ("a", {"complex": True}, r"complex is True, allowed for .*a: False"),
    ("a", {"sample_rate": -1}, r"sample_rate is -1, allowed: 0 \(the file's\) and above"),
    ("a", {"sample_rate": float("nan")}, "sample_rate is nan"),
    ("no.f32", {}, "no.f32: no such file"),
    ("double", {}, "double: core:datatype is rf64_le, allowed: 32-bit floats and integers"),
])
def test_a_parameter_out_of_range_is_named(tmp_path, name, changed, message):
    write_capture(tmp_path / "a", REAL)
    REAL.astype("<f8").tofile(tmp_path / "double.sigmf-data")
    (tmp_path / "double.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": "rf64_le", "core:version": "1.0.0"}, "captures": [],
        "annotations": []}))
    with pytest.raises(ValueError, match=message):
        adann.capture_source(tmp_path / name, **changed)


def test_no_run_hangs_or_loses_the_end(tmp_path):
    write_capture(tmp_path / "a", REAL[:5000])
    for _ in range(50):
        assert run(adann.capture_source(tmp_path / "a"), False)[2] == [("end", 5000)]
