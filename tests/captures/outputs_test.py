# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs that are links, devices and FIFOs are written into, and never replaced."""

import contextlib
import errno
import os
import shutil
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.captures.outputs import atomic_output, growing_output
from special_files import device, read_fifo

SAMPLES = np.arange(40_000, dtype="f4")  # more than a FIFO holds


def atomic(path):
    with atomic_output(path) as temporary:
        temporary.write_bytes(SAMPLES.tobytes())


def growing(path):
    with growing_output(path) as part:
        part.write_bytes(SAMPLES.tobytes())


def capture(path):
    write_capture(path, SAMPLES)


WRITERS = [atomic, growing, capture]


@pytest.mark.parametrize("write", WRITERS)
def test_a_device_is_written_into(tmp_path, write):
    null = device(tmp_path, "null")
    write(null)
    assert stat.S_ISCHR(os.stat(null).st_mode)
    assert list(tmp_path.iterdir()) in ([null], [])  # a node of its own lies there, the system's does not


@pytest.mark.parametrize("write", WRITERS)
def test_a_full_device_is_named(tmp_path, write):
    full = device(tmp_path, "full")
    with pytest.raises(OSError) as error:
        write(full)
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(full))
    assert stat.S_ISCHR(os.stat(full).st_mode)


@pytest.mark.parametrize("write", WRITERS)
def test_the_reader_of_a_fifo_gets_it_all(tmp_path, write):
    with read_fifo(tmp_path / "fifo") as read:
        write(tmp_path / "fifo")
    assert read == [SAMPLES.tobytes()]
    assert stat.S_ISFIFO(os.stat(tmp_path / "fifo").st_mode)


@pytest.mark.parametrize("write", [atomic, growing])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(tmp_path, write, there):
    """Also to what is not there yet, from folder to folder, and by another link."""
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "target"
    if there:
        target.write_text("old")
    (tmp_path / "far" / "link").symlink_to("target")
    (tmp_path / "link").symlink_to(Path("far", "link"))
    write(tmp_path / "link")
    assert target.read_bytes() == SAMPLES.tobytes()
    assert (tmp_path / "link").is_symlink() and (tmp_path / "far" / "link").is_symlink()
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == ["link", "target"]


@pytest.mark.parametrize("write", [atomic, growing])
def test_a_link_to_itself_and_one_to_nowhere_are_refused(tmp_path, write):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("no/file")
    for name in "loop", "nowhere":
        with pytest.raises(OSError) as error:
            write(tmp_path / name)
        assert f"{tmp_path}/" in str(error.value)
        assert (tmp_path / name).is_symlink()


def test_both_files_of_a_capture_may_be_links(tmp_path):
    (tmp_path / "far").mkdir()
    for suffix in ".sigmf-meta", ".sigmf-data":
        (tmp_path / f"link{suffix}").symlink_to(tmp_path / "far" / f"set{suffix}")
    capture(tmp_path / "link")
    assert (tmp_path / "far" / "set.sigmf-data").read_bytes() == SAMPLES.tobytes()
    assert (tmp_path / "far" / "set.sigmf-meta").read_text().startswith("{")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(KeyError):
        with atomic_output(path) as temporary:
            temporary.write_text("half")
            raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def model():
    network = core.network([4, 20_000, 4])
    network.initialize(1)
    return core.model(network, 4, 0, False, "pam4")


@pytest.mark.parametrize("write", WRITERS)
def test_an_interrupt_leaves_nothing_temporary(tmp_path, write):
    """At each line of the library that makes, moves and removes: a signal comes there, or in a call of the system."""
    for line in range(10_000):
        left = line

        def interrupt(frame, event, argument):
            nonlocal left
            library = frame.f_code.co_filename
            if event == "line" and (library == shutil.__file__ or "/pathlib" in library):  # a module, or a package
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
            return interrupt

        before = sys.gettrace()
        with contextlib.suppress(KeyboardInterrupt, OSError):  # at one line shutil closes a descriptor twice
            sys.settrace(interrupt)
            try:
                write(tmp_path / "out")
            finally:
                sys.settrace(before)
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".adann-") or path.suffix == ".part"]
        if left > 0:
            break
    assert 3 < line < 9_999


def test_a_model_is_written_into_a_device(tmp_path, model):
    core.save_model(device(tmp_path, "null"), model)
    with pytest.raises(ValueError, match="full: cannot be written: No space left on device"):
        core.save_model(device(tmp_path, "full"), model)
    assert all(stat.S_ISCHR(path.stat().st_mode) for path in tmp_path.iterdir())


def test_a_model_follows_links(tmp_path, model):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "link").symlink_to("target")
    (tmp_path / "link").symlink_to("far/link")
    for _ in range(2):
        core.save_model(tmp_path / "link", model)
        assert (tmp_path / "far" / "target").read_bytes() == model.to_bytes()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ValueError, match="loop: cannot be written: Too many levels of symbolic links"):
        core.save_model(tmp_path / "loop", model)
    assert {path.name for path in tmp_path.rglob("*")} == {"far", "link", "target", "loop"}


def test_a_model_goes_to_the_reader_of_a_fifo(tmp_path, model):
    """Who waits for nobody: a receiver that is told to save goes on."""
    with read_fifo(tmp_path / "fifo") as read:
        while True:
            with contextlib.suppress(ValueError):  # the reader has not come yet
                core.save_model(tmp_path / "fifo", model)
                break
    assert read == [model.to_bytes()]
    with pytest.raises(ValueError, match="fifo: cannot be written: no process reads from it"):
        core.save_model(tmp_path / "fifo", model)
    assert stat.S_ISFIFO(os.stat(tmp_path / "fifo").st_mode)


def test_a_fifo_that_is_not_read_on_is_given_up(tmp_path, model):
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    writer = threading.Thread(target=lambda: pytest.raises(ValueError, core.save_model, tmp_path / "fifo", model))
    writer.start()
    writer.join(60)
    os.close(reader)
    assert not writer.is_alive()
