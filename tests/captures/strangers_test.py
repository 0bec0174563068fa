# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of strangers: no other file is opened, no memory taken beyond what the file holds, and no
terminal commanded."""

import pathlib
import struct
import zlib

import h5py
import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner
from gnuradio.adann.captures.oscilloscopes import read_scope_files
from gnuradio.adann.captures.recordings import recorded_channels
from gnuradio.adann.cli import main
from gnuradio.adann.cli.terminal import printable

MODEL = pathlib.Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"


def infiniium(path, add):
    """An Infiniium file whose samples `add` puts into the group of channel 1."""
    with h5py.File(path, "w") as file:
        group = file.create_group("Waveforms/Channel 1")
        group.attrs.update(NumPoints=64, NumSegments=1, XInc=1e-9, XOrg=0, YInc=1, YOrg=0)
        add(group)


def elsewhere(folder):
    """A file that nobody wants read, and its bytes as another HDF5 file."""
    (folder / "secret").write_bytes(bytes(range(64)))
    with h5py.File(folder / "other.h5", "w") as other:
        other["data"] = np.arange(64, dtype=np.uint8)
    return folder / "secret", folder / "other.h5"


@pytest.mark.parametrize("kind", ["external storage", "external link", "virtual"])
def test_samples_in_another_file_are_not_read(tmp_path, kind):
    secret, other = elsewhere(tmp_path)

    def add(group):
        if kind == "external storage":
            group.create_dataset("Channel 1Data", (64,), np.uint8, external=[(str(secret), 0, 64)])
        elif kind == "external link":
            group["Channel 1Data"] = h5py.ExternalLink(str(other), "data")
        else:
            layout = h5py.VirtualLayout((64,), np.uint8)
            layout[:] = h5py.VirtualSource(str(other), "data", (64,))
            group.create_virtual_dataset("Channel 1Data", layout)

    infiniium(tmp_path / "a.h5", add)
    with pytest.raises(ValueError, match="Channel 1Data lies in another file"):
        read_scope_files([tmp_path / "a.h5"])
    with h5py.File(tmp_path / "a.mat", "w") as file:
        add(file)
    with pytest.raises(ValueError, match="lies in another file|of no version of MATLAB"):
        read_scope_files([tmp_path / "a.mat"])


def test_samples_in_the_file_itself_are(tmp_path):
    infiniium(tmp_path / "a.h5", lambda group: group.create_dataset(
        "Channel 1Data", data=np.arange(64, dtype=np.float32)))
    np.testing.assert_array_equal(read_scope_files([tmp_path / "a.h5"]).channels["1"], np.arange(64))


@pytest.mark.parametrize("form", ["mat", "h5"])
def test_a_small_file_cannot_ask_for_much_memory(tmp_path, form):
    path = tmp_path / f"a.{form}"
    zeros = np.zeros(100 << 20, np.uint8)
    if form == "mat":
        scipy.io.savemat(path, {"zeros": zeros}, do_compression=True)
    else:
        infiniium(path, lambda group: group.create_dataset("Channel 1Data", data=zeros,
                                                           compression="gzip"))
    with pytest.raises(ValueError, match="100 MiB of samples in a file of .* allowed: 64 MiB"):
        read_scope_files([path])


@pytest.mark.parametrize("suffix", ["h5", "mat"])
def test_groups_that_are_linked_often_are_looked_at_once(tmp_path, suffix):
    """2^40 paths lead to the innermost one: this would never end."""
    with h5py.File(tmp_path / f"a.{suffix}", "w", userblock_size=512 if suffix == "mat" else 0) as file:
        at = file.create_group("Waveforms")
        for _ in range(40):
            inner = at.create_group("a")
            at["b"] = inner
            at = inner
        at["round"] = file["Waveforms"]
        at["nowhere"] = h5py.SoftLink("/nowhere")
    if suffix == "mat":
        as_mat(tmp_path / "a.mat")
    with pytest.raises(ValueError, match="is segmented|no samples"):
        read_scope_files([tmp_path / f"a.{suffix}"])


def as_mat(path):
    """The head of a .mat of version 7.3 before an HDF5 file."""
    content = path.read_bytes()
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(head + content[len(head):])


@pytest.mark.parametrize("link", ["hard", "soft"])
def test_samples_that_have_many_names_count_as_often(tmp_path, link):
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("x", data=np.zeros(5 << 20), compression="gzip")
        for k in range(3):
            file[f"x{k}"] = file["x"] if link == "hard" else h5py.SoftLink("/x")
    as_mat(tmp_path / "a.mat")
    with pytest.raises(ValueError, match="MiB of samples in a file of .* allowed: 64 MiB"):
        read_scope_files([tmp_path / "a.mat"])


def cell(*arrays):
    made = np.empty(len(arrays), object)
    made[:] = arrays
    return made


@pytest.mark.parametrize("variables, said", [
    ({"s": {"x": np.zeros(12 << 20)}}, r"no samples: its variables are s \(struct\), allowed: vectors and matrices"),
    ({"s": cell(np.zeros(12 << 20), np.zeros(3))}, r"no samples: its variables are s \(cell\), allowed"),
    ({"x": np.zeros(9 << 20)}, "72 MiB of samples in a file of .* bytes, allowed: 64 MiB")])
def test_a_small_mat_cannot_ask_for_much_memory(tmp_path, variables, said):
    scipy.io.savemat(tmp_path / "a.mat", variables, do_compression=True)
    with pytest.raises(ValueError, match=f"a.mat: {said}"):  # before anything is loaded
        read_scope_files([tmp_path / "a.mat"])


def test_what_is_said_of_a_damaged_file_is_short(tmp_path):
    """The libraries tell the bytes that they stumble on, and attributes that they miss."""
    scipy.io.savemat(tmp_path / "a.mat", {"x": np.arange(9999.0)}, format="4")
    (tmp_path / "a.mat").write_bytes((tmp_path / "a.mat").read_bytes()[:60_000])
    infiniium(tmp_path / "b.h5", lambda group: group.attrs.__delitem__("XInc"))
    np.save(tmp_path / "c.npy", np.zeros((2000, 3000), np.int8))
    for name, said in ("a.mat", "a.mat: "), ("b.h5", "b.h5: damaged, or of another kind"), ("c.npy", "15, 16, ..., a"):
        with pytest.raises(ValueError, match=said) as error:
            recorded_channels([tmp_path / name])
        assert "\n" not in str(error.value) and len(str(error.value)) < 700


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("part", ["real", "imaginary"])
def test_numbers_of_a_type_that_there_is_not_do_not_crash(tmp_path, compressed, part):
    """SciPy's reader does."""
    scipy.io.savemat(tmp_path / "a.mat", {"x": np.arange(200) * (1 + 1j)})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    numbers = struct.pack("<II", 9, 1600)  # type and size
    at = content.index(numbers) if part == "real" else content.rindex(numbers)
    for kind in 0, 8, 10, 11, 14, 16, 200:
        changed = content[:at] + struct.pack("<I", kind) + content[at + 4:]
        if compressed:
            packed = zlib.compress(bytes(changed[128:]))
            changed = changed[:128] + struct.pack("<II", 15, len(packed)) + packed
        (tmp_path / "a.mat").write_bytes(changed)
        with pytest.raises(ValueError, match=f"a.mat: damaged: numbers of type {kind}, allowed: those of MATLAB"):
            read_scope_files([tmp_path / "a.mat"])


def test_a_complex_array_without_imaginary_parts_does_not_crash(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"x": np.arange(200.0), "y": np.arange(200.0)})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    content[128 + 8 + 8 + 1] |= 8  # of the flags of the first one
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ValueError, match="a.mat: damaged: an array without its numbers"):
        read_scope_files([tmp_path / "a.mat"])


def test_vectors_beside_a_struct_are_read(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"s": {"x": np.zeros(3)}, "x": np.arange(64.0), "dt": 1e-9})
    file = read_scope_files([tmp_path / "a.mat"])
    np.testing.assert_array_equal(file.channels["x"], np.arange(64))
    assert file.sample_rate == 1e9


def test_control_characters_of_a_model_do_not_reach_the_terminal(tmp_path):
    bad = tmp_path / "bad.safetensors"
    content = MODEL.read_bytes().replace(b'"adann/2"', b'"\\u001bA"')
    assert content != MODEL.read_bytes()
    bad.write_bytes(content)
    result = CliRunner(mix_stderr=False).invoke(main, ["replay", str(bad)])
    assert result.exit_code == 1
    assert "has format '\\x1bA'" in result.stderr and "\x1b" not in result.stderr


def test_printable_text_stays_as_it_is():
    assert printable("Bits/s µ – ∞") == "Bits/s µ – ∞"
    assert printable("a\x1b]0;b\x07\x9b") == "a\\x1b]0;b\\x07\\x9b"
