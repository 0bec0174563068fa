# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF pairs beside the sigmf package's reading of them, and fields that make no sense."""

import json

import numpy as np
import pytest
import sigmf
from gnuradio import adann, blocks, gr
from gnuradio.adann.captures.files import read_capture, read_channels, stored_capture, write_capture

RANDOM = np.random.default_rng(2)


def write_pair(folder, data, datatype, segment=None, **fields):
    (folder / "a.sigmf-data").write_bytes(data)
    (folder / "a.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": datatype, "core:version": "1.0.0", **fields},
        "captures": [{"core:sample_start": 0, **(segment or {})}], "annotations": []}))
    return folder / "a"


@pytest.mark.parametrize("datatype", ["rf32_le", "cf32_be", "rf64_le", "ci8", "cu8", "ri16_le", "cu16_be",
                                      "ci32_le"])
def test_samples_are_those_that_the_sigmf_package_reads(tmp_path, datatype):
    kind = datatype[1:].split("_")[0]
    component = np.dtype(f"{'>' if datatype.endswith('be') else '<'}{kind[0]}{int(kind[1:]) // 8}")
    values = (RANDOM.standard_normal(400) if kind[0] == "f" else
              RANDOM.integers(np.iinfo(component).min, np.iinfo(component).max, 400, component.newbyteorder("=")))
    path = write_pair(tmp_path, values.astype(component).tobytes(), datatype, None,
                      **{"core:sample_rate": 1e6})
    record = sigmf.fromfile(f"{path}.sigmf-meta")
    ours = read_capture(path)
    np.testing.assert_allclose(ours.samples, record[:], rtol=2e-7)
    assert ours.sample_rate == record.get_global_field("core:sample_rate")


@pytest.mark.parametrize("samples", [np.arange(5, dtype=np.float32), np.arange(5) * 1j])
def test_the_sigmf_package_finds_what_is_written_valid(tmp_path, samples):
    meta = write_capture(tmp_path / "a", samples, 28e9, "made up", {"core:hw": "none"})
    record = sigmf.fromfile(meta)  # which checks the hash
    record.validate()
    np.testing.assert_array_equal(record[:], samples)
    assert record.get_global_field("core:description") == "made up"


@pytest.mark.parametrize("datatype, header, trailing", [
    ("rf32_le", 400, 0), ("rf32_le", 0, 40), ("ri16_le", 7, 3), ("cf32_le", 4, 8), ("cu8", 1, 1)])
def test_header_and_trailing_bytes_are_no_samples_for_reader_and_source_alike(
        tmp_path, datatype, header, trailing):
    values = RANDOM.integers(0, 100, 600).astype(
        {"f": "<f4", "i": "<i2", "u": "u1"}[datatype[1]]).tobytes()
    path = write_pair(tmp_path, b"h" * header + values + b"t" * trailing, datatype,
                      {"core:header_bytes": header}, **{"core:trailing_bytes": trailing})
    (tmp_path / "plain").mkdir()
    expected = read_capture(write_pair(tmp_path / "plain", values, datatype)).samples
    np.testing.assert_array_equal(read_capture(path).samples, expected)
    is_complex = datatype[0] == "c"
    source = adann.capture_source(str(path), complex=is_complex)
    sink = blocks.vector_sink_c() if is_complex else blocks.vector_sink_f()
    top = gr.top_block()
    top.connect(source, sink)
    top.run()
    np.testing.assert_array_equal(sink.data(), expected)
    assert source.size() == expected.size


@pytest.mark.parametrize("datatype, header, trailing", [
    ("rf32_le", 0, 0), ("cf32_le", 8, 4), ("cf32_be", 0, 0), ("cf64_le", 0, 0), ("ci16_le", 7, 3), ("cu8", 0, 1),
    ("ri32_be", 0, 0)])
@pytest.mark.parametrize("channels", [2, 3])
def test_several_channels_are_those_that_the_sigmf_package_reads(tmp_path, datatype, header, trailing, channels):
    kind = datatype[1:].split("_")[0]
    component = np.dtype(f"{'>' if datatype.endswith('be') else '<'}{kind[0]}{int(kind[1:]) // 8}")
    values = RANDOM.standard_normal(50 * channels * 2) if kind[0] == "f" else RANDOM.integers(0, 100, 50 * channels * 2)
    content, fields = values.astype(component).tobytes(), {"core:sample_rate": 1e6, "core:num_channels": channels}
    theirs = np.array(sigmf.fromfile(f"{write_pair(tmp_path, content, datatype, **fields)}.sigmf-meta")[:])
    path = write_pair(tmp_path, b"h" * header + content + b"t" * trailing, datatype, {"core:header_bytes": header},
                      **{"core:trailing_bytes": trailing, **fields})
    ours = read_channels(path)
    assert theirs.shape == (50 * (1 if datatype[0] == "c" else 2), channels) and len(ours) == channels
    for channel, expected in zip(ours, theirs.T):
        np.testing.assert_allclose(channel.samples[:], expected, rtol=2e-7)
        np.testing.assert_array_equal(channel.samples[7:31:3], channel.samples[:][7:31:3])
        assert (channel.samples.size, channel.sample_rate, channel.path) == (len(theirs), 1e6, path)


@pytest.mark.parametrize("made", [list, np.array], ids=["a list", "an array"])
def test_the_sigmf_package_reads_the_channels_that_are_written(tmp_path, made):
    # More than are in memory at once.
    channels = RANDOM.standard_normal((2, 3, 300_000)).astype(np.float32)
    channels = channels[0] + 1j * channels[1]
    record = sigmf.fromfile(write_capture(tmp_path / "a", made(channels), 64e9, symbol_rate=32e9))
    record.validate()
    assert record.get_global_field("core:num_channels") == 3
    np.testing.assert_array_equal(record[:], channels.T)
    for read, written in zip(read_channels(tmp_path / "a"), channels):
        np.testing.assert_array_equal(read.samples, written)
        assert read.symbol_rate == 32e9
    with pytest.raises(ValueError, match="channels are of 5, 6 samples, allowed: of as many each"):
        write_capture(tmp_path / "b", [channels[0, :6], channels[1, :5]])
    for count in 0, 65:
        with pytest.raises(ValueError, match=f"{count} channels, allowed: 1 to 64"):
            write_capture(tmp_path / "b", count * [channels[0, :6]])
    assert [path.stem for path in tmp_path.iterdir()] == ["a", "a"]


def test_what_takes_one_channel_tells_what_takes_several(tmp_path):
    path = write_pair(tmp_path, bytes(64), "cf32_le", **{"core:num_channels": 2})
    for opened in (read_capture, stored_capture, lambda path: adann.capture_source(str(path), complex=True)):
        with pytest.raises(ValueError, match="2 channels, allowed: 1; adann separate makes a capture of each "
                                             "transmitter in them, adann import --channel 1 of one of them alone"):
            opened(path)
    assert [channel.samples.size for channel in read_channels(path)] == [4, 4]


@pytest.mark.parametrize("channels, said", [
    (0, "core:num_channels is 0, allowed: 1 to 64"), (65, "core:num_channels is 65"), (2**62, "allowed: 1 to 64"),
    (True, "core:num_channels is True"), (3, "64 bytes are not a multiple of 24, the size of a sample of 3 channels")])
def test_numbers_of_channels_that_make_no_sense_are_refused(tmp_path, channels, said):
    path = write_pair(tmp_path, bytes(64), "cf32_le", **{"core:num_channels": channels})
    with pytest.raises(ValueError, match=said):
        read_channels(path)


@pytest.mark.parametrize("fields, said", [
    ({"core:sample_rate": float("nan")}, "core:sample_rate is nan, allowed: above 0"),
    ({"core:sample_rate": 0}, "core:sample_rate is 0"), ({"core:sample_rate": "1e6"}, "sample_rate is '1e6'"),
    ({"core:sample_rate": 10**400}, "core:sample_rate is 1000"), ({"core:sample_rate": True}, "is True"),
    ({"core:trailing_bytes": -4}, "core:trailing_bytes is -4, allowed: whole numbers"),
    ({"core:trailing_bytes": 64}, "no samples"), ({"core:trailing_bytes": 2}, "truncated"),
    ({"core:trailing_bytes": 2**70}, "core:trailing_bytes is"), ({"core:num_channels": 2}, "2 channels"),
    ({"core:dataset": "../other.bin"}, "core:dataset is '../other.bin', allowed: the name of a file"),
    ({"core:datatype": "rf32_le; import os"}, "core:datatype is 'rf32_le; import os'"),
    ({"core:datatype": 7}, "core:datatype is 7"), ({"core:datatype": "x\x1b[31m"}, r"'x\\x1b\[31m'")])
def test_fields_that_make_no_sense_are_refused_by_name(tmp_path, fields, said):
    path = write_pair(tmp_path, bytes(64), fields.get("core:datatype", "rf32_le"), None, **fields)
    for opened in (read_capture, stored_capture):
        with pytest.raises(ValueError, match=said) as error:
            opened(path)
        assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("meta, said", [
    ("[]", "no object 'global'"), ("{}", "no object 'global'"), ('{"global": []}', "no object 'global'"),
    ("[" * 200_000, "not JSON"), ('{"global": {"core:datatype": "ri8"}, "captures": 3}', "not a list"),
    ('{"global": {"core:datatype": "ri8"}, "captures": [{}, {"core:header_bytes": 8}]}', "later capture")])
def test_metadata_of_another_form_are_refused(tmp_path, meta, said):
    (tmp_path / "a.sigmf-data").write_bytes(bytes(64))
    (tmp_path / "a.sigmf-meta").write_text(meta)
    with pytest.raises(ValueError, match=said):
        read_capture(tmp_path / "a")


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_rates_that_make_no_sense_are_not_written(tmp_path, rate):
    """JSON has none of them, and no command would read the capture."""
    for given in dict(sample_rate=rate), dict(symbol_rate=rate):
        with pytest.raises(ValueError, match=f"_rate is {rate}, allowed: above 0 and finite"):
            write_capture(tmp_path / "a", np.ones(8, np.float32), **given)
    assert not list(tmp_path.iterdir())


def test_text_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "a.sigmf-data").write_bytes(bytes(64))
    (tmp_path / "a.sigmf-meta").write_bytes(b'{"global": "\xff"}')
    with pytest.raises(ValueError, match="not JSON"):
        read_capture(tmp_path / "a")
