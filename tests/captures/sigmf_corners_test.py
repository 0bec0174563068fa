# SPDX-License-Identifier: GPL-3.0-or-later
"""SigMF recordings laid out in ways that the specification, or a program that writes them, allows."""

import hashlib
import io
import json
import tarfile
import warnings

import numpy as np
import pytest
import sigmf
from gnuradio import adann, blocks, gr
from gnuradio.adann.captures.files import read_capture, read_channels, write_capture
from gnuradio.adann.captures.notes import CaptureWarning

SAMPLES = np.random.default_rng(5).standard_normal(2000).astype(np.float32).view(np.complex64)
DATA = SAMPLES.tobytes()


def meta(captures=({"core:sample_start": 0},), annotations=(), **fields):
    return json.dumps({"global": {"core:datatype": "cf32_le", "core:version": "1.2.0", "core:sample_rate": 1e6,
                                  **{f"core:{name}": value for name, value in fields.items()}},
                       "captures": list(captures), "annotations": list(annotations)}).encode()


def pair(folder, text, data=DATA, name="a.sigmf-data"):
    (folder / name).write_bytes(data)
    (folder / "a.sigmf-meta").write_bytes(text)
    return folder / "a.sigmf-meta"


def burst(start, count=None, **more):
    return {"core:sample_start": start, "core:label": "burst", **more,
            **({} if count is None else {"core:sample_count": count})}


def archive(folder, *members, form=tarfile.USTAR_FORMAT, mode="w"):
    with tarfile.open(folder / "a.sigmf", mode, format=form) as file:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return folder / "a.sigmf"


def test_an_archive_of_the_sigmf_package_is_read_in_place(tmp_path):
    write_capture(tmp_path / "a", SAMPLES, 1e6, bursts=[adann.captures.sigmf.Burst(10, 20)])
    record = sigmf.fromfile(tmp_path / "a.sigmf-meta")
    record.archive(str(tmp_path / "packed.sigmf"))
    capture = read_capture(tmp_path / "packed.sigmf")
    np.testing.assert_array_equal(capture.samples, SAMPLES)
    assert isinstance(capture.samples, np.memmap) and capture.sample_rate == 1e6
    assert [(each.first, each.size) for each in capture.bursts] == [(10, 20)]
    source, sink = adann.capture_source(str(tmp_path / "packed.sigmf"), complex=True), blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(source, sink)
    top.run()
    np.testing.assert_array_equal(sink.data(), SAMPLES)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_every_kind_of_tar_are_read(tmp_path, form):
    long = "folder" * 30
    path = archive(tmp_path, (f"{long[:90]}/ä.sigmf-meta", meta(sha512=hashlib.sha512(DATA).hexdigest())),
                   (f"{long[:90]}/ä.sigmf-data", DATA), form=form)
    np.testing.assert_array_equal(read_capture(path).samples, SAMPLES)


M = ("a/a.sigmf-meta", meta())
REFUSED_ARCHIVES = {
    "two recordings": ([M, ("a/a.sigmf-data", DATA), ("a/b.sigmf-meta", meta()), ("a/b.sigmf-data", DATA)],
                       "2 recordings in the archive, allowed: 1; unpacked by tar xf"),
    "samples elsewhere in it": ([M, ("b/a.sigmf-data", DATA)], "no a.sigmf-data in the archive next to a.sigmf-meta"),
    "no metadata": ([("a/a.sigmf-data", DATA)], "0 recordings in the archive"),
    "metadata that are none": ([("a.sigmf-meta", b"{"), ("a.sigmf-data", DATA)], "not JSON"),
    "another hash": ([("a.sigmf-meta", meta(sha512="0" * 128)), ("a.sigmf-data", DATA)], "has changed"),
}


@pytest.mark.parametrize("case", REFUSED_ARCHIVES)
def test_archives_that_cannot_be_read_say_why(tmp_path, case):
    members, said = REFUSED_ARCHIVES[case]
    with pytest.raises(ValueError, match=f"a.sigmf: .*{said}"):
        read_channels(archive(tmp_path, *members))


def test_archives_that_are_compressed_or_cut_say_so(tmp_path):
    with pytest.raises(ValueError, match="a tar file that is not compressed"):
        read_capture(archive(tmp_path, M, mode="w:gz"))
    path = archive(tmp_path, M, ("a/a.sigmf-data", DATA))
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ValueError, match="truncated|not compressed"):
        read_capture(path)


def test_a_link_in_an_archive_is_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(DATA)
    path = archive(tmp_path, M)
    with tarfile.open(path, "a") as file:
        link = tarfile.TarInfo("a/a.sigmf-data")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        file.addfile(link)
    with pytest.raises(ValueError, match="no a.sigmf-data in the archive"):
        read_capture(path)


@pytest.mark.parametrize("annotations, expected", [
    ([burst(100)], [(100, 900)]), ([burst(0, 100), burst(50, 100), burst(300)], [(0, 150), (300, 700)]),
    ([burst(500, 100), burst(0, 10)], [(0, 10), (500, 100)]), ([burst(0, 500), burst(10, 5)], [(0, 500)]),
    ([burst(0, 500), burst(500, 5)], [(0, 500), (500, 5)]), ([{"core:sample_start": 1}], [])])
def test_bursts_may_be_open_overlap_and_come_in_any_order(tmp_path, annotations, expected):
    bursts = read_capture(pair(tmp_path, meta(annotations=annotations))).bursts
    assert [(each.first, each.size) for each in bursts] == expected


def test_samples_are_counted_from_the_offset_of_a_longer_recording(tmp_path):
    path = pair(tmp_path, meta([{"core:sample_start": 5000}], [burst(5100, 50)], offset=5000))
    assert [(each.first, each.size) for each in read_capture(path).bursts] == [(100, 50)]
    path = pair(tmp_path, meta([{"core:sample_start": 0}], [burst(100, 50)], offset=5000))
    assert [(each.first, each.size) for each in read_capture(path).bursts] == [(100, 50)]


def test_whole_numbers_may_be_written_with_a_point(tmp_path):
    """As JSON has no integers; JSON Schema, 6.1.1: "any number with a zero fractional part"."""
    path = pair(tmp_path, meta([{"core:sample_start": 0.0}], [burst(100.0, 5e1)], num_channels=1.0))
    assert [(each.first, each.size) for each in read_capture(path).bursts] == [(100, 50)]
    np.testing.assert_array_equal(read_capture(path).samples, SAMPLES)
    for wrong in 0.5, float("nan"), float("inf"), True, "1":
        with pytest.raises(ValueError, match="core:sample_start is .*, allowed: whole numbers from 0 on"):
            read_capture(pair(tmp_path, meta([{"core:sample_start": wrong}])))


@pytest.mark.parametrize("fields, data", [
    ({"dataset": "a.dat"}, DATA), ({"dataset": "a.dat", "trailing_bytes": 10}, DATA + bytes(10)),
    ({"dataset": "a.dat", "sha512": hashlib.sha512(DATA).hexdigest().upper()}, DATA)])
def test_samples_may_lie_in_a_file_of_another_name(tmp_path, fields, data):
    np.testing.assert_array_equal(read_capture(pair(tmp_path, meta(**fields), data, "a.dat")).samples, SAMPLES)


def test_a_header_before_samples_of_another_format_is_left_out(tmp_path):
    path = pair(tmp_path, meta([{"core:sample_start": 0, "core:header_bytes": 44}], dataset="a.wav"),
                bytes(44) + DATA, "a.wav")
    np.testing.assert_array_equal(read_capture(path).samples, SAMPLES)


@pytest.mark.parametrize("name", ["../a.dat", "/etc/passwd", "b/a.dat", "..", "", ".", "a\0b", 7, None])
def test_a_dataset_that_is_not_beside_it_is_not_opened(tmp_path, name):
    with pytest.raises(ValueError, match="core:dataset is .*, allowed: the name of a file next to the .sigmf-meta"):
        read_capture(pair(tmp_path, meta(dataset=name)))


def test_a_recording_without_samples_says_so(tmp_path):
    with pytest.raises(ValueError, match="core:metadata_only is true: its samples are in no file"):
        read_capture(pair(tmp_path, meta(metadata_only=True)))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_metadata_may_begin_with_a_byte_order_mark(tmp_path, encoding):
    path = pair(tmp_path, meta().decode().encode(encoding))
    np.testing.assert_array_equal(read_capture(path).samples, SAMPLES)


SEGMENTS = {
    "retuned": ([(0, 1e8), (400, 2e8)], "2 capture segments, from samples 0, 400, tuned to different frequencies, are"),
    "later": ([(0, 1e8), (400, 1e8)],
              "2 capture segments, from samples 0, 400, are read as one; skip and symbols take a part$"),
    "many": ([(10 * k, k) for k in range(9)], "from samples 0, 10, 20, 30, 40, ..., tuned"),
}


@pytest.mark.parametrize("case", SEGMENTS)
def test_segments_that_are_read_as_one_are_noted(tmp_path, case):
    segments, said = SEGMENTS[case]
    path = pair(tmp_path, meta([{"core:sample_start": start, "core:frequency": at} for start, at in segments]))
    with pytest.warns(CaptureWarning, match=f"a.sigmf-meta: .*{said}"):
        np.testing.assert_array_equal(read_capture(path).samples, SAMPLES)


def test_what_lies_before_the_first_segment_is_left_out_and_noted(tmp_path):
    path = pair(tmp_path, meta([{"core:sample_start": 300}], [burst(310, 20)]))
    with pytest.warns(CaptureWarning, match="300 samples before the first capture segment are left out"):
        capture = read_capture(path)
    np.testing.assert_array_equal(capture.samples, SAMPLES[300:])
    assert [(each.first, each.size) for each in capture.bursts] == [(10, 20)]


@pytest.mark.parametrize("captures, annotations, said", [
    ([{"core:sample_start": 9}, {"core:sample_start": 3}], [], "core:sample_start of the capture segments"),
    ([{"core:sample_start": 1000}], [], "no samples between"),
    ([{"core:sample_start": 2**62}], [], "no samples between"),
    ([{"core:sample_start": 300}], [burst(0, 20)], "burst 0 lies at -300 to -280, allowed: within the 700 samples"),
    ([{}], [burst(990, 20)], "burst 0 lies at 990 to 1010"), ([{}], [burst(5, 0)], "burst 0 lies at 5 to 5"),
    ([{}], [burst(2000)], "burst 0 lies at 2000 to 2000"),
    ([{}, {"core:header_bytes": 8}], [], "later capture segment, .* with a file for each segment")])
def test_segments_and_bursts_that_do_not_fit_are_refused(tmp_path, captures, annotations, said):
    with pytest.raises(ValueError, match=said):
        read_capture(pair(tmp_path, meta(captures, annotations)))


def test_nothing_is_noted_of_a_plain_recording(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_capture(pair(tmp_path, meta([{"core:sample_start": 0, "core:frequency": 1e8}])))
