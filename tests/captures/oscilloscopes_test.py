# SPDX-License-Identifier: GPL-3.0-or-later
"""Importing oscilloscope files: the makers' sample files against the values that come with them,
and what is said about damaged ones."""

import bz2
import gzip
import io
import lzma
import re
import wave

import h5py
import numpy as np
import pytest
import scipy.io
import sigmf
from click.testing import CliRunner
from gnuradio.adann.captures.files import read_capture, read_channels, write_capture
from gnuradio.adann.captures.notes import CaptureWarning
from gnuradio.adann.captures.oscilloscopes import read_scope_files
from gnuradio.adann.cli import main
from records import record

RANDOM = np.random.default_rng(1)
VOLTS = RANDOM.standard_normal((3, 500))


def adann_import(*arguments):
    return CliRunner(mix_stderr=False).invoke(main, ["import", *map(str, arguments)],
                                              prog_name="adann")


def imported(folder, *arguments):
    """What has been written, which the sigmf package must find valid, and its metadata."""
    result = adann_import(*arguments, "-o", folder / "out.sigmf-meta")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    record = sigmf.fromfile(folder / "out.sigmf-meta")
    record.validate()
    return read_capture(folder / "out"), record.get_global_info()


def fails_in_one_line(folder, said, *arguments):
    before = sorted(folder.iterdir())
    result = adann_import(*arguments, "-o", folder / "out.sigmf-meta")
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("adann: ") and result.stderr.count("\n") == 1, result.stderr
    assert re.search(said, result.stderr), result.stderr
    assert sorted(folder.iterdir()) == before


def table(name, **options):
    return np.loadtxt(record(f"scope_files/{name}"), delimiter=",", dtype=str, **options)


def same(samples, expected):
    assert samples.dtype == np.float32
    np.testing.assert_array_equal(samples, np.asarray(expected, np.float32))


def test_rohde_schwarz_gives_the_values_that_it_exports_as_csv(tmp_path):
    capture, fields = imported(tmp_path, record("scope_files/rs_rtp_01.bin"))
    expected = table("rs_rtp_01.Wfm.csv")
    same(capture.samples, expected)
    assert capture.sample_rate == 800e3  # its XML: 4000 samples from -2.5 ms to 2.5 ms
    assert fields["core:hw"] == "Rohde & Schwarz"
    capture, _ = imported(tmp_path, record("scope_files/rs_rtp_01.Wfm.csv"))
    same(capture.samples, expected)
    assert capture.sample_rate is None


@pytest.mark.parametrize("channel", [1, 2])
def test_a_rigol_ds1000e_gives_the_values_of_its_csv(tmp_path, channel):
    """The program that wrote this .csv began 4 bytes too early in the .wfm: its first 4 samples are
    the header's end, and those of channel 2 the last 4 of channel 1. The smallest and the largest
    value in its own header leave them out."""
    wfm, _ = imported(tmp_path, record("scope_files/DS1052E.wfm"), "--channel", channel)
    rows = table("DS1052E.csv", skiprows=16, max_rows=8192).astype(float)
    same(wfm.samples[:-4], rows[4:, channel])
    header = table("DS1052E.csv", skiprows=12, max_rows=2)
    same(np.array([wfm.samples.min(), wfm.samples.max()]), header[:, channel].astype(float))
    assert wfm.sample_rate == 500e6
    csv, _ = imported(tmp_path, record("scope_files/DS1052E.csv"), "--channel", channel)
    same(csv.samples, rows[:, channel])
    assert csv.sample_rate == 500e6


@pytest.mark.parametrize("channel", [1, 2, 3, 4])
def test_a_rigol_ds1000z_csv_is_read_and_its_wfm_has_the_same_shape(tmp_path, channel):
    """The .csv is the screen, interpolated to 0.5 ns; the .wfm is the memory, 4 ns, whose trigger
    is elsewhere and whose scale is rough."""
    csv, _ = imported(tmp_path, record("scope_files/DS1054Z-A.csv"), "--channel", channel)
    same(csv.samples, table("DS1054Z-A.csv", skiprows=2, usecols=channel).astype(float))
    assert csv.sample_rate == 2e9
    wfm, fields = imported(tmp_path, record("scope_files/DS1054Z-A.wfm"), "--channel", channel)
    assert (wfm.sample_rate, fields["core:hw"]) == (250e6, "DS1054Z")
    memory = np.interp(np.arange(1200) / 2e9, np.arange(-48, 230) / 250e6 - 1e-9, wfm.samples)
    # Channel 2 has but a few steps of the converter.
    assert np.corrcoef(memory, csv.samples)[0, 1] > (0.65 if channel == 2 else 0.99)


def test_agilent_files_agree_with_the_settings_and_measurements_beside_them(tmp_path):
    settings = record("scope_files/agilent_3.txt").read_text()
    one, fields = imported(tmp_path, record("scope_files/agilent_3.bin"), "--channel", 1)
    assert fields["core:hw"] == "DSO-X 1102G"
    peak, = re.findall(r"Pk-Pk\(1\), Cur ([\d.]+)V", settings)
    frequency, = re.findall(r"Counter\(1\), Cur ([\d.]+)kHz", settings)
    span, = re.findall(r"Main Scale ([\d.]+)ns/", settings)
    assert f"{np.ptp(one.samples):.1f}" == peak
    assert one.samples.size / one.sample_rate == pytest.approx(10 * float(span) * 1e-9)
    high = one.samples > (one.samples.min() + one.samples.max()) / 2
    period, = np.diff(np.flatnonzero(~high[:-1] & high[1:]))  # two of them, of noisy edges
    assert one.sample_rate / period == pytest.approx(1e3 * float(frequency), rel=5e-3)
    capture, _ = imported(tmp_path, record("scope_files/agilent_1.bin"))
    scale, = re.findall(r"Main Scale ([\d.]+)us/", record(
        "scope_files/agilent_1.txt").read_text())
    assert capture.samples.size / capture.sample_rate == pytest.approx(10e-6 * float(scale))


def test_both_files_of_a_rigol_dho800_agree(tmp_path):
    calibrated, _ = imported(tmp_path, record("scope_files/DHO824-ch1.bin"))
    from_codes, _ = imported(tmp_path, record("scope_files/DHO824-ch1.wfm"))
    # A step of its converter is 113 uV.
    np.testing.assert_allclose(from_codes.samples, calibrated.samples, rtol=0, atol=1e-6)
    assert calibrated.sample_rate == from_codes.sample_rate == 2.5e6


@pytest.mark.parametrize("name, rate", [("lecroy_2.trc", 10e6), ("lecroy_4.trc", 1e9)])
def test_lecroy_codes_are_scaled_by_gain_and_offset(tmp_path, name, rate):
    """The samples are the file's end; gain and offset are at 156 and 160 of its WAVEDESC."""
    capture, _ = imported(tmp_path, record(f"scope_files/{name}"))
    content = record(f"scope_files/{name}").read_bytes()
    gain, offset = np.frombuffer(content, "<f4", 2, content.index(b"WAVEDESC") + 156)
    codes = np.frombuffer(content[-2 * capture.samples.size:], "<i2")
    same(capture.samples, codes * float(gain) - float(offset))
    assert capture.sample_rate == rate


def test_a_differential_pair_may_lie_in_two_files(tmp_path):
    files = [record(f"backplane_nrz_2g5/CableTx{pole}.txt") for pole in "PM"]
    capture, fields = imported(tmp_path, *files, "--channel", "1-2", "--sample-rate", 20e9,
                               "--baud", 2.5e9)
    same(capture.samples, np.subtract(*map(np.loadtxt, files)))
    assert capture.sample_rate == 20e9
    assert fields["adann:symbol_rate"] == 2.5e9


def test_a_wav_is_scaled_to_one(tmp_path):
    path = record("satellite_bpsk/kr01.wav")
    capture, _ = imported(tmp_path, path)
    with wave.open(str(path)) as file:
        same(capture.samples, np.frombuffer(file.readframes(-1), "<i2") / 32768)
        assert capture.sample_rate == file.getframerate()


def test_columns_of_a_mat_are_channels_and_complex_ones_stay_complex(tmp_path):
    path = record("arof_mmwave_16qam/10km_16QAM_28_3.mat")
    capture, _ = imported(tmp_path, path, "--channel", "dataToSave 1", "--sample-rate", 1e9)
    np.testing.assert_array_equal(
        capture.samples, scipy.io.loadmat(path)["dataToSave"][:, 0].astype(np.complex64))


def infiniium(path, volts, segments=1, points=None):
    """As in Keysight's "HDF5 Schema for Infiniium Oscilloscope Data"."""
    with h5py.File(path, "w") as file:
        file["FileType/KeysightH5FileType"] = b"Keysight Waveform"
        frame = np.dtype([("Model", "S12"), ("Serial", "S12"), ("Date", "S22")])
        file["Frame/TheFrame"] = np.array((b"DSAZ634A", b"MY1", b"01-Jan-2026"), frame)
        for number, samples in enumerate(volts, 1):
            group = file.create_group(f"Waveforms/Channel {number}")
            for segment in range(1, segments + 1):
                part = "" if segments == 1 else f" Seg{segment}"
                group[f"Channel {number}{part}Data"] = samples
            group.attrs.update(NumSegments=segments, NumPoints=points or samples.size,
                               XInc=6.25e-12, XOrg=-1e-6, YInc=0.002, YOrg=-0.1)


def test_infiniium_codes_are_scaled_and_volts_kept(tmp_path):
    codes = RANDOM.integers(-2**15, 2**15, 400).astype(np.int16)
    infiniium(tmp_path / "a.h5", [codes, VOLTS[0].astype(np.float32)])
    capture, fields = imported(tmp_path, tmp_path / "a.h5", "--channel", 1)
    same(capture.samples, codes * 0.002 - 0.1)
    assert (capture.sample_rate, fields["core:hw"]) == (160e9, "DSAZ634A")
    capture, _ = imported(tmp_path, tmp_path / "a.h5", "--channel", 2)
    same(capture.samples, VOLTS[0])


@pytest.mark.parametrize("expression, expected", [
    ("2", VOLTS[1]), ("3-1", VOLTS[2] - VOLTS[0]), ("1,2", VOLTS[0] + 1j * VOLTS[1]),
    ("1-2, 3-1", VOLTS[0] - VOLTS[1] + 1j * (VOLTS[2] - VOLTS[0])),
])
def test_channels_are_selected_subtracted_and_paired(tmp_path, expression, expected):
    np.save(tmp_path / "a.npy", VOLTS.T)
    capture, _ = imported(tmp_path, tmp_path / "a.npy", "--channel", expression)
    single = np.complex64 if np.iscomplexobj(expected) else np.float32
    np.testing.assert_array_equal(capture.samples, expected.astype(single))


@pytest.mark.parametrize("expression, expected", [
    ("1,2,3,4", [(1, 2), (3, 4)]), ("4,3, 2,1", [(4, 3), (2, 1)]), ("1,2,3,4,2,1", [(1, 2), (3, 4), (2, 1)])])
def test_pairs_of_i_and_q_are_a_capture_of_several_channels(tmp_path, expression, expected):
    """What the oscilloscope saved in columns, interleaved as the sigmf package reads it."""
    result = adann_import(record("scope_files/DS1054Z-A.csv"), "--channel", expression, "--baud", 5e8,
                          "-o", tmp_path / "xy")
    assert result.exit_code == 0 and f"1200 complex samples in each of {len(expected)} channels" in result.stdout
    rows = table("DS1054Z-A.csv", skiprows=2, usecols=range(5)).astype(np.float32)
    written = sigmf.fromfile(tmp_path / "xy.sigmf-meta")
    written.validate()
    np.testing.assert_array_equal(written[:], np.stack([rows[:, i] + 1j * rows[:, q] for i, q in expected], 1))
    assert [(each.sample_rate, each.symbol_rate) for each in read_channels(tmp_path / "xy")] == [
        (2e9, 5e8)] * len(expected)


def test_a_channel_of_a_capture_is_taken_alone(tmp_path):
    write_capture(tmp_path / "xy", VOLTS[:2] * 1j, 64e9, symbol_rate=32e9)
    capture, _ = imported(tmp_path, tmp_path / "xy", "--channel", 2)
    np.testing.assert_array_equal(capture.samples, (VOLTS[1] * 1j).astype(np.complex64))
    assert (capture.sample_rate, capture.symbol_rate) == (64e9, 32e9)
    fails_in_one_line(tmp_path, "xy: channel is 3, allowed: 1, 2, a difference", tmp_path / "xy", "--channel", 3)


def test_real_channels_of_a_capture_become_complex_ones(tmp_path):
    write_capture(tmp_path / "scope", [*VOLTS, VOLTS[0]])
    result = adann_import(tmp_path / "scope", "--channel", "1,2,3,4", "-o", tmp_path / "xy")
    assert result.exit_code == 0, result.stderr
    x, y = read_channels(tmp_path / "xy")
    np.testing.assert_array_equal(x.samples, (VOLTS[0] + 1j * VOLTS[1]).astype(np.complex64))
    np.testing.assert_array_equal(y.samples, (VOLTS[2] + 1j * VOLTS[0]).astype(np.complex64))
    result = adann_import(tmp_path / "xy", "-o", tmp_path / "again", "--sample-rate", 1e9)
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal([each.samples for each in read_channels(tmp_path / "again")], [x.samples, y.samples])
    assert read_channels(tmp_path / "again")[1].sample_rate == 1e9


TABLES = {
    "Keysight": "x-axis,1,2\nsecond,Volt,Volt\n",
    "Rohde & Schwarz": "in s,CH1 in V,CH2 in V\n",
    "LeCroy": "LECROYWR64Xi-A,50699,Waveform\nSegments,1,SegmentSize,500\nTime,Ampl1,Ampl2\n",
    "no header": "",
    "other numbers": "Time,CH4,CH2\n",
}


@pytest.mark.parametrize("header", TABLES)
def test_a_column_of_times_tells_the_sample_rate(tmp_path, header):
    rows = "".join(f"{-1e-8 + k * 2.5e-11:.9e},{one!r},{two!r}\n"
                   for k, (one, two) in enumerate(VOLTS[:2].T.tolist()))
    (tmp_path / "a.csv").write_text(TABLES[header] + rows)
    channel = {"other numbers": 4}.get(header, 1)
    capture, _ = imported(tmp_path, tmp_path / "a.csv", "--channel", channel)
    same(capture.samples, VOLTS[0])
    assert capture.sample_rate == 40e9


@pytest.mark.parametrize("variables", [
    {"Tinterval": 2.5e-11, "A": VOLTS[0]}, {"t": np.arange(500) * 2.5e-11, "A": VOLTS[0]},
    {"XDelta": 2.5e-11, "A": VOLTS[0]}, {"fs": 40e9, "A": VOLTS[0]}, {"Sample_Rate": 40e9, "A": VOLTS[0], "note": "x"},
    {"dt": 2.5e-11, "Fs": 40e9, "A": VOLTS[0]}, {"fs": 40e9, "k": 7, "A": VOLTS[0]}])
def test_a_mat_tells_the_sample_rate_by_rate_interval_or_times(tmp_path, variables):
    scipy.io.savemat(tmp_path / "a.mat", variables)
    capture, _ = imported(tmp_path, tmp_path / "a.mat")
    same(capture.samples, VOLTS[0])
    assert capture.sample_rate == 40e9


@pytest.mark.parametrize("name, value", [("fs", 40.0), ("dt", 0.025), ("XInc", 0.025)])
def test_a_rate_of_a_mat_that_may_be_in_another_unit_is_noted(tmp_path, name, value):
    """Gigahertz and nanoseconds, of which nothing is said."""
    scipy.io.savemat(tmp_path / "a.mat", {name: value, "A": VOLTS[0]})
    with pytest.warns(CaptureWarning, match=f"a.mat: its {name}, whose unit is not given, .*: 40 samples per second"):
        read_scope_files([tmp_path / "a.mat"])


def test_a_delay_in_a_mat_with_times_is_a_channel(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"t": np.arange(300) / 2e9, "x": VOLTS[0], "delay_ns": np.arange(300) * 3.0})
    found = read_scope_files([tmp_path / "a.mat"])
    assert found.sample_rate == pytest.approx(2e9) and set(found.channels) == {"x", "delay_ns"}


@pytest.mark.parametrize("first, second", [("dt", "fs"), ("fs", "sampleRate"), ("Tinterval", "ts")])
def test_a_mat_of_two_sample_rates_is_refused(tmp_path, first, second):
    scipy.io.savemat(tmp_path / "a.mat", {first: 3.0, second: 4.0, "A": VOLTS[0]})
    fails_in_one_line(tmp_path, f"a.mat: two different sample rates, {second} and another", tmp_path / "a.mat")


COMPLEX = np.array(list(zip(*VOLTS[:2])), [("real", "f8"), ("imag", "f8")]).reshape(1, -1)


def mat73(path, **variables):
    """variables: name = (class, array) or (class, array, name of an attribute more), or a dict: a struct of them."""
    def add(group, name, variable):
        if isinstance(variable, dict):
            made = group.create_group(name)
            made.attrs["MATLAB_class"] = np.bytes_("struct")
            for field, value in variable.items():
                add(made, field, value)
            return
        kind, array, *more = variable
        made = group.create_dataset(name, data=array)
        made.attrs["MATLAB_class"] = np.bytes_(kind)
        for attribute in more:
            made.attrs[attribute] = np.uint8(1)

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, variable in variables.items():
            add(file, name, variable)
    content = path.read_bytes()
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(head + content[len(head):])
    return path


TEXT = "char", np.frombuffer("a note".encode("utf-16-le"), "<u2").reshape(-1, 1), "MATLAB_int_decode"
EMPTY = "double", np.array([0, 0], np.uint64), "MATLAB_empty"


def test_numbers_of_a_mat_of_version_7_3_are_read(tmp_path):
    """Texts are stored as numbers, too, and empty arrays as their shape."""
    path = mat73(tmp_path / "a.mat", rx=("double", COMPLEX), fs=("double", np.array([[40e9]])), note=TEXT, none=EMPTY,
                 about={"samples": ("double", COMPLEX)})
    capture, _ = imported(tmp_path, path)
    np.testing.assert_array_equal(capture.samples, (VOLTS[0] + 1j * VOLTS[1]).astype(np.complex64))
    assert capture.sample_rate == 40e9


@pytest.mark.parametrize("variable, kind", [
    (TEXT, "char"), (EMPTY, "empty"), ({"samples": ("double", COMPLEX)}, "struct"),
    (("cell", np.zeros((1, 1), np.uint64)), "cell")])
def test_a_mat_of_version_7_3_without_numbers_names_what_it_has(tmp_path, variable, kind):
    fails_in_one_line(tmp_path, rf"a.mat: no samples: its variables are rx \({kind}\), allowed: vectors and matrices",
                      mat73(tmp_path / "a.mat", rx=variable))


def test_files_of_octave_and_of_h5py_name_a_way_out(tmp_path):
    (tmp_path / "a.mat").write_text("# Created by Octave 8.4.0\n# name: x\n# type: matrix\n# rows: 99\n" + 99 * " 1\n")
    fails_in_one_line(tmp_path, "as Octave's text and HDF5 are, allowed: 4 to 7.3, as save -v7", tmp_path / "a.mat")
    for name, said in ("b.mat", "allowed: 4 to 7.3, as save -v7"), ("b.h5", "Infiniium .*; save other samples as .npy"):
        with h5py.File(tmp_path / name, "w") as file:
            file["x/value"] = COMPLEX
        fails_in_one_line(tmp_path, said, tmp_path / name)


def test_a_collection_is_told_to_be_several_recordings(tmp_path):
    path = text(tmp_path / "a.sigmf-collection", '{"collection": {"core:version": "1.2.0", "core:streams": []}}')
    fails_in_one_line(tmp_path, "a collection of recordings, allowed: the .sigmf-meta of one of them", path)


@pytest.mark.parametrize("kind, full_scale", [("u1", 128), ("i4", 2**31), ("f4", 1)])
def test_wav_types_are_scaled_and_its_channels_told_apart(tmp_path, kind, full_scale):
    values = np.array([[0, 0.5], [-0.5, -1], [0.25, 0.75]])
    stored = (values * full_scale + (full_scale if kind == "u1" else 0)).astype(kind)
    scipy.io.wavfile.write(tmp_path / "a.wav", 48000, stored)
    capture, _ = imported(tmp_path, tmp_path / "a.wav", "--channel", "1,2")
    assert capture.samples.tolist() == (values[:, 0] + 1j * values[:, 1]).tolist()


@pytest.mark.parametrize("name", [
    "DHO824-ch1.bin", "DHO824-ch1.wfm", "DS1052E.wfm", "DS1054Z-A.wfm", "DS1204B-A.wfm",
    "MSO5000-A.bin", "agilent_1.bin", "agilent_3.bin", "lecroy_2.trc", "lecroy_4.trc",
    "rs_rtp_01.bin", "rs_rtp_01.Wfm.bin"])
def test_a_truncated_file_is_named_in_one_line(tmp_path, name):
    content = record(f"scope_files/{name}").read_bytes()
    (tmp_path / "rs_rtp_01.bin").write_bytes(record("scope_files/rs_rtp_01.bin").read_bytes())
    for size in (0, 3, 100, 1000, len(content) // 2, 3 * len(content) // 4):
        (tmp_path / name).write_bytes(content[:size])
        fails_in_one_line(tmp_path, re.escape(name.replace(".Wfm", "")), "--channel", 1,
                          tmp_path / name.replace(".Wfm", ""))


def npy(path, array):
    np.save(path, array)
    return path


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])
    return path


def text(path, content):
    path.write_text(content)
    return path


def wav(path):
    buffer = io.BytesIO()
    scipy.io.wavfile.write(buffer, 48000, VOLTS[0].astype("f4"))
    path.write_bytes(buffer.getvalue())
    return path


def mat(path, **variables):
    scipy.io.savemat(path, variables)
    return path


def h5(path, *channels, **options):
    infiniium(path, channels, **options)
    return path


def plain_hdf5(path):
    with h5py.File(path, "w") as file:
        file["x"] = VOLTS[0]
    return path


def of_a_newer_hdf5(path):
    """Its dataset has an object header of version 9, where 2 is the latest."""
    with h5py.File(path, "w", libver="latest") as file:
        file["Waveforms/Channel 1"] = VOLTS[0]
    before, header, behind = path.read_bytes().rpartition(b"OHDR\x02")
    path.write_bytes(before + header.replace(b"\x02", b"\x09") + behind)
    return path


RAMP = "".join(f"{k}e-9,{k % 7}\n" for k in range(100))
BAD_FILES = {
    "missing": (lambda t: [t / "no.trc"], "no.trc: no such file"),
    "a folder": (lambda t: [t], "not a file"),
    "empty": (lambda t: [text(t / "a.csv", "")], "a.csv: empty"),
    "unknown": (lambda t: [text(t / "a.xyz", "something else")],
                r"a.xyz: unknown format; known .*give their type: cf32, ci16"),
    "a .bin of nobody": (lambda t: [text(t / "a.bin", "something else")], "a.bin: unknown format"),
    "text": (lambda t: [text(t / "a.csv", "no\nnumbers\n")], "no table of numbers"),
    "a short last row": (lambda t: [text(t / "a.csv", RAMP + "1e-7")], "truncated or segmented"),
    "times too near for a rate": (lambda t: [npy(t / "a.npy", np.stack([np.arange(500) * 1e-320, VOLTS[0]]))],
                                  "a.npy: 1e-320 seconds between samples, allowed: as many as make a rate"),
    "times that start again": (lambda t: [text(t / "a.csv", "Time,Ampl\n" + 2 * RAMP)],
                               "a.csv: segmented: its times"),
    "several heads": (lambda t: [text(t / "a.csv", 2 * ("Time,Ampl\n" + RAMP))],
                      "truncated or segmented: below the header, could not convert"),
    "a cut .npy": (lambda t: [cut(npy(t / "a.npy", VOLTS[0]), 900)], "a.npy: cannot"),
    "objects in a .npy": (lambda t: [npy(t / "a.npy", np.array([{}]))], "allow_pickle"),
    "a .npy of three dimensions": (lambda t: [npy(t / "a.npy", np.zeros((2, 2, 2)))],
                                   r"shape \(2, 2, 2\), allowed: numbers in one or two"),
    "no samples": (lambda t: [npy(t / "a.npy", np.zeros(0))], "a.npy: no samples"),
    "a cut .wav": (lambda t: [cut(wav(t / "a.wav"), 30)], "a.wav: .*; for raw numbers give their type"),
    "a cut .mat": (lambda t: [cut(mat(t / "a.mat", rx=VOLTS[0]), 900)], "a.mat: "),
    "a .mat without numbers": (lambda t: [mat(t / "a.mat", rx="text")], "a.mat: no samples"),
    "a cut .h5": (lambda t: [cut(h5(t / "a.h5", VOLTS[0]), 900)], "a.h5: "),
    "an .h5 that lacks samples": (lambda t: [h5(t / "a.h5", VOLTS[0], points=501)],
                                  "truncated: Channel 1 has 500 of 501 samples"),
    "an .h5 that a newer library wrote": (lambda t: [of_a_newer_hdf5(t / "a.h5")],
                                          "cannot be read: damaged, or written by a newer HDF5 than [0-9.]+"),
    "an .hdf5 of others": (lambda t: [plain_hdf5(t / "b.hdf5")],
                           "b.hdf5: no group Waveforms, .*; save other samples as .npy"),
    "a segmented .h5": (lambda t: [h5(t / "a.h5", VOLTS[0], segments=2)],
                        "Channel 1 is segmented, allowed: 1 segment"),
    "several channels, none chosen": (lambda t: [npy(t / "a.npy", VOLTS)],
                                      "choose one of 1, 2, 3, a difference"),
    "a channel that is not there": (lambda t: [npy(t / "a.npy", VOLTS), "--channel", 4],
                                    "channel is 4, allowed: 1, 2, 3, a difference"),
    "three parts": (lambda t: [npy(t / "a.npy", VOLTS), "--channel", "1,2,3"], "channel is 1,2,3"),
    "complex as I": (lambda t: [npy(t / "a.npy", VOLTS * 1j), "--channel", "1,2"], "not complex"),
    "unequal lengths": (lambda t: [mat(t / "a.mat", a=VOLTS[0], b=VOLTS[1, 9:]), "--channel",
                                   "a-b"], "lengths are 500, 491"),
    "two files of several channels": (lambda t: 2 * [npy(t / "a.npy", VOLTS)],
                                      "a.npy: 3 channels, allowed: 1, as several"),
    "two files of different rates": (
        lambda t: [npy(t / "a.npy", VOLTS[0]), wav(t / "b.wav"), "--channel", "1-2"],
        "b.wav: 48000.0 samples per second, allowed: None, as in"),
    "an output nowhere": (lambda t: [npy(t / "a.npy", VOLTS[0]), "-o", t / "no" / "b"],
                          "does not exist"),
}


@pytest.mark.parametrize("compress, name", [(gzip, "gzip"), (lzma, "xz"), (bz2, "bzip2")])
@pytest.mark.parametrize("path", ["a.csv", "a.csv.gz", "a.sigmf.xz", "a.npy"])
def test_a_packed_file_is_told_to_be_unpacked(tmp_path, compress, name, path):
    path = tmp_path / path
    path.write_bytes(compress.compress(b"Time (s),CH1 (V)\n0,1\n1,2\n2,1\n"))
    fails_in_one_line(tmp_path, f"packed by {name}, allowed: a file of its own; unpack it", path)


def test_arrays_of_numpy_savez_are_told_apart_from_one(tmp_path):
    np.savez(tmp_path / "a.npz", VOLTS)
    fails_in_one_line(tmp_path, "packed by zip, as spreadsheets and .npz are", tmp_path / "a.npz")


@pytest.mark.parametrize("write", [
    lambda folder, columns: npy(folder / "a.npy", columns.T.astype(int)),
    lambda folder, columns: mat(folder / "a.mat", t=columns[0], x=columns[1])])
def test_times_without_a_unit_that_may_not_be_seconds_are_noted(tmp_path, write):
    path = write(tmp_path, np.stack([400 * np.arange(500), 1000 * VOLTS[0]]))
    with pytest.warns(CaptureWarning, match=f"{path.name}: its times, .* taken for seconds: 0.0025 samples per second"):
        assert read_scope_files([path]).sample_rate == pytest.approx(0.0025)


@pytest.mark.parametrize("name, scale", [("t_ms", 1e3), ("time_us", 1e6), ("TimeNs", 1e9), ("zeit_s", 1)])
def test_a_unit_of_times_is_seen_in_a_variables_name(tmp_path, name, scale):
    """At 2 MHz: taken for seconds, t_ms would be 2000 a second, which no note would say."""
    path = mat(tmp_path / "a.mat", **{name: np.arange(500) * scale / 2e6, "x": VOLTS[0]})
    capture, _ = imported(tmp_path, path)
    same(capture.samples, VOLTS[0])
    assert capture.sample_rate == 2e6


@pytest.mark.parametrize("write", [
    lambda folder, columns: npy(folder / "a.npy", columns),
    lambda folder, columns: mat(folder / "a.mat", data=columns)])
def test_times_without_a_name_are_noted_at_any_rate(tmp_path, write):
    """In milliseconds at 2 MHz, of which an array says nothing."""
    path = write(tmp_path, np.stack([np.arange(500) / 2e3, VOLTS[0]]))
    with pytest.warns(CaptureWarning, match=f"{path.name}: its times, .* taken for seconds: 2000 samples per second"):
        read_scope_files([path])


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_named_in_one_line(tmp_path, case):
    make, said = BAD_FILES[case]
    arguments = make(tmp_path)
    if "-o" in arguments:
        result = adann_import(*arguments)
        assert result.exit_code == 1 and said in result.stderr
    else:
        fails_in_one_line(tmp_path, said, *arguments)


def test_segmented_and_foreign_sample_files_are_named(tmp_path):
    for name, said in (("lecroy_1.trc", "lecroy_1.trc: No waveform data .*truncated"),
                       ("lecroy_3.trc", "lecroy_3.trc: segmented: 20 segments, allowed: 1"),
                       ("rs_rtp_01.Wfm.bin", "import that file")):
        fails_in_one_line(tmp_path, said, record(f"scope_files/{name}"))
