# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and writing captures, and what is said about damaged ones."""

import gzip
import io
import json

import h5py
import numpy as np
import pmt
import pytest
import scipy.io
import soundfile
from gnuradio import blocks, gr
from gnuradio.adann.captures.files import read_capture, read_reference, write_capture
from gnuradio.adann.captures.recordings import read_recording
from gnuradio.adann.captures.statistics import normalized

RANDOM = np.random.default_rng(1)
REAL = RANDOM.standard_normal(1000).astype(np.float32)
COMPLEX = (REAL + 1j * RANDOM.standard_normal(1000)).astype(np.complex64)


@pytest.mark.parametrize("samples", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("name", ["a.sigmf-meta", "a.sigmf-data", "a"])
def test_a_written_capture_is_read_back_by_any_of_its_names(tmp_path, samples, name):
    assert write_capture(tmp_path / "a.sigmf-meta", samples, 28e9, "test", {
        "core:hw": "scope"}) == tmp_path / "a.sigmf-meta"
    capture = read_capture(tmp_path / name)
    np.testing.assert_array_equal(capture.samples, samples)
    assert capture.samples.dtype == samples.dtype
    assert capture.sample_rate == 28e9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sigmf-data", "a.sigmf-meta"]
    assert json.loads((tmp_path / "a.sigmf-meta").read_text())["global"]["core:hw"] == "scope"


@pytest.mark.parametrize("suffix, samples", [
    (".f32", REAL), (".c64", COMPLEX), (".cfile", COMPLEX), (".cf32", COMPLEX), (".fc32", COMPLEX)])
def test_raw_samples_are_read(tmp_path, suffix, samples):
    samples.tofile(tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(read_capture(tmp_path / f"a{suffix}").samples, samples)


@pytest.mark.parametrize("suffix", [".cs16", ".ci16"])
def test_raw_i_and_q_in_whole_numbers_are_read(tmp_path, suffix):
    np.array([-32768, 16384, 0, 8192], "<i2").tofile(tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(read_capture(tmp_path / f"a{suffix}").samples, [-1 + 0.5j, 0.25j])


@pytest.mark.parametrize("kind", ["f32", "f32_le", "f32be", "f32_be"])
def test_raw_types_have_sigmfs_names_too(tmp_path, kind):
    COMPLEX.view(np.float32).astype(">f4" if kind.endswith("be") else "<f4").tofile(tmp_path / "a.iq")
    np.testing.assert_array_equal(read_recording([tmp_path / "a.iq"], kind=f"c{kind}")[0].samples[:], COMPLEX)


def test_several_captures_are_no_channels(tmp_path):
    for name in "ab":
        COMPLEX.tofile(tmp_path / f"{name}.cfile")
    with pytest.raises(ValueError, match="b.cfile: 2 files are one channel each, .*; of captures, allowed: 1"):
        read_recording([tmp_path / "a.cfile", tmp_path / "b.cfile"])


@pytest.mark.parametrize("datatype", ["ri8", "ri16_le", "ru8", "ru16_le", "ci8", "ci16_le", "cu8",
                                      "cu16_le", "ri16_be", "rf32_be", "cf64_le"])
def test_other_types_are_scaled_to_one(tmp_path, datatype):
    """SigMF's own rule: a full-scale integer is 1, an unsigned one is centred first."""
    values = np.array([-1, -0.5, 0, 0.25, 0.5, 0.75])
    order = ">" if datatype.endswith("be") else "<"
    kind, bits = datatype[1], int(datatype[2:].split("_")[0])
    full_scale = 1 if kind == "f" else 2 ** (bits - 1)
    stored = values * full_scale + (full_scale if kind == "u" else 0)
    stored.astype(f"{order}{kind}{bits // 8}").tofile(tmp_path / "a.sigmf-data")
    _write_meta(tmp_path, datatype)
    samples = read_capture(tmp_path / "a").samples
    expected = values if datatype[0] == "r" else values[::2] + 1j * values[1::2]
    assert samples.dtype == (np.float32 if datatype[0] == "r" else np.complex64)
    np.testing.assert_array_equal(samples, expected)


def _write_meta(folder, datatype, **fields):
    (folder / "a.sigmf-meta").write_text(json.dumps({
        "global": {"core:datatype": datatype, "core:version": "1.0.0",
                   **{f"core:{key}": value for key, value in fields.items()}},
        "captures": [{"core:sample_start": 0}], "annotations": []}))


def _missing(folder):
    return folder / "a.f32"


def _missing_data(folder):
    _write_meta(folder, "rf32_le")
    return folder / "a"


def _empty(folder):
    (folder / "a.f32").touch()
    return folder / "a.f32"


def _empty_data(folder):
    (folder / "a.sigmf-data").touch()
    return _missing_data(folder)


def _truncated(folder):
    (folder / "a.c64").write_bytes(bytes(15))
    return folder / "a.c64"


def _truncated_data(folder):
    (folder / "a.sigmf-data").write_bytes(bytes(15))
    return _missing_data(folder)


def _changed_data(folder):
    """Cut between two samples: only the checksum tells."""
    write_capture(folder / "a", REAL)
    REAL[:-1].tofile(folder / "a.sigmf-data")
    return folder / "a"


def _two_channels(folder):
    (folder / "a.sigmf-data").write_bytes(bytes(16))
    _write_meta(folder, "rf32_le", num_channels=2)
    return folder / "a"


def _unknown_type(folder):
    (folder / "a.sigmf-data").write_bytes(bytes(16))
    _write_meta(folder, "rf23_le")
    return folder / "a"


def _no_json(folder):
    (folder / "a.sigmf-data").write_bytes(bytes(16))
    (folder / "a.sigmf-meta").write_text("{")
    return folder / "a"


def _text(folder):
    (folder / "a.cfile").write_text("I,Q\n" + 1000 * "0.1,-0.25\n")
    return folder / "a.cfile"


def _other_kind(folder):
    (folder / "a.wav").write_bytes(bytes(16))
    return folder / "a.wav"


@pytest.mark.parametrize("make, said", [
    (_missing, "no such file"), (_missing_data, "no such file"), (_empty, "empty"),
    (_empty_data, "empty"), (_truncated, "15 bytes"), (_truncated_data, "15 bytes"),
    (_changed_data, "hash"), (_two_channels, "2 channels"), (_unknown_type, "rf23"),
    (_no_json, "Expecting"), (_other_kind, "allowed: .sigmf-meta"),
    (_text, "it looks like text: name it .csv"),
    (lambda folder: folder, "no such"),
])
def test_a_bad_capture_is_named_in_one_line(tmp_path, make, said):
    path = make(tmp_path)
    with pytest.raises(ValueError, match=said) as error:
        read_capture(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def _held(write):
    """What `write` writes into a file, as bytes, to a multiple of 8."""
    file = io.BytesIO()
    write(file)
    return file.getvalue() + bytes(-file.tell() % 8)


@pytest.mark.parametrize("suffix, write", [
    (".wav", lambda file: soundfile.write(file, REAL, 48000, format="WAV")),
    (".wav", lambda file: soundfile.write(file, REAL, 48000, format="RF64")),
    (".flac", lambda file: soundfile.write(file, REAL, 48000, format="FLAC")),
    (".npy", lambda file: np.save(file, COMPLEX)), (".zip", lambda file: np.savez(file, COMPLEX)),
    (".mat", lambda file: scipy.io.savemat(file, {"x": COMPLEX})),
    (".h5", lambda file: h5py.File(file, "w").create_dataset("x", data=COMPLEX).file.close()),
    (".gz", lambda file: file.write(gzip.compress(COMPLEX.tobytes(), mtime=0)))])
@pytest.mark.parametrize("name", ["a.c64", "a.f32", "a.cs16"])
def test_a_file_of_another_format_under_the_name_of_raw_samples_is_refused(tmp_path, suffix, write, name):
    (tmp_path / name).write_bytes(_held(write))
    with pytest.raises(ValueError, match=rf"{name}: it begins as a \{suffix} does, allowed: .*; name it \{suffix}"):
        read_capture(tmp_path / name)


@pytest.mark.parametrize("kind", ["c16", ">c8", "<i2", ">i2", "<i4", "i1", "u1"])
@pytest.mark.parametrize("name", ["a.c64", "a.f32"])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_another_type_under_the_name_of_floats_are_refused(tmp_path, kind, name, seed):
    random = np.random.default_rng(seed)
    samples = 10.0 ** random.uniform(-6, 4) * (random.standard_normal((20_000, 2)) @ [1, 1j])
    assert read_capture(_written(tmp_path / name, samples.astype("<c8"))).samples.size >= 20_000
    if kind[-2] in "iu":
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        samples = ((least + most + 1) / 2 + most / 8 * random.standard_normal(40_000)).clip(least, most)
    with pytest.raises(ValueError, match=f"{name}: .* % of its numbers are beyond .*; adann import --type f64, i16"):
        read_capture(_written(tmp_path / name, samples.astype(kind)))


def test_numbers_of_another_type_are_refused_in_a_recording_too(tmp_path):
    write_capture(tmp_path / "a", COMPLEX)
    meta = json.loads((tmp_path / "a.sigmf-meta").read_text())
    del meta["global"]["core:sha512"]
    (tmp_path / "a.sigmf-meta").write_text(json.dumps(meta))
    COMPLEX.astype("<c16").tofile(tmp_path / "a.sigmf-data")
    with pytest.raises(ValueError, match="a.sigmf-meta: .* % of its numbers are beyond .*; adann import --type f64"):
        read_capture(tmp_path / "a")


@pytest.mark.parametrize("samples", [
    np.exp(1j * np.pi * (np.arange(20_000) * 7 % 5 % 2)), np.exp(0.5j * np.pi * (np.arange(20_000) * 7 % 11 % 4)),
    np.fft.ifft(np.fft.fft((-1) ** (np.arange(20_000) // 3 % 2)) * (abs(np.fft.fftfreq(20_000)) < 0.2)),
    0.99 ** np.arange(20_000.0)], ids=["bpsk", "qpsk", "filtered", "decay"])
def test_residues_of_rounding_are_floats(tmp_path, samples):
    """Of a quadrature that is 0, of a filter, of a pause: half of such numbers are below 1e-15."""
    samples = samples.astype(np.complex64)
    numbers = abs(samples.view(np.float32))
    assert np.mean(numbers[numbers > 0] < 1e-15) > 0.2
    assert np.array_equal(read_capture(_written(tmp_path / "a.c64", samples)).samples, samples)
    write_capture(tmp_path / "a", samples)
    assert np.array_equal(read_capture(tmp_path / "a").samples, samples)


@pytest.mark.parametrize("samples", [np.zeros(5000), np.full(5000, np.nan), [1e-14], [np.inf, 0, 1e14]])
def test_silence_and_what_is_not_finite_are_floats(tmp_path, samples):
    assert read_capture(_written(tmp_path / "a.f32", np.array(samples, "<f4"))).samples.size == len(samples)


def _written(path, numbers):
    numbers.tofile(path)
    return path


def test_headers_of_a_file_meta_sink_are_no_samples(tmp_path):
    path = tmp_path / "a.cfile"
    sink = blocks.file_meta_sink(gr.sizeof_gr_complex, str(path), 1e6, 1, blocks.GR_FILE_FLOAT, True, 300,
                                 pmt.make_dict(), False)
    top = gr.top_block()
    top.connect(blocks.vector_source_c(COMPLEX.tolist()), sink)
    top.run()
    sink.close()
    assert path.stat().st_size % 8 == 0  # four headers of 150 bytes: nothing is missing
    with pytest.raises(ValueError, match="a.cfile: headers of GNU Radio's File Meta Sink lie between its samples"):
        read_capture(path)


def test_a_label_out_of_range_is_named(tmp_path):
    np.array([0, 3, 1, 4], np.uint8).tofile(tmp_path / "a.u8")
    assert read_reference(tmp_path / "a.u8", 8).tolist() == [0, 3, 1, 4]
    with pytest.raises(ValueError, match=r"a\.u8: label 3 is 4, allowed: 0 to 3"):
        read_reference(tmp_path / "a.u8", 4)


@pytest.mark.parametrize("samples", [REAL, COMPLEX], ids=["real", "complex"])
def test_normalisation_ignores_samples_that_are_not_finite(samples):
    dirty = 3 * samples + 5
    dirty[[0, 10, 20]] = np.nan, np.inf, -np.inf
    finite = np.isfinite(dirty)
    scaled = normalized(dirty)
    assert scaled.dtype == samples.dtype
    assert not scaled[~finite].any()
    assert abs(scaled[finite].mean()) < 1e-6
    assert np.var(scaled[finite]) == pytest.approx(1, 1e-5)
