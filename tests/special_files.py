# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices and FIFOs to write into."""

import contextlib
import os
import threading
from pathlib import Path

MINORS = {"null": 3, "full": 7}


def device(folder, name):
    """A node like /dev/null or /dev/full in a folder of the test's, where a fault replaces nothing else; who may make
    none may replace none, and gets the system's."""
    path = Path(folder, name)
    try:
        os.mknod(path, 0o20666, os.makedev(1, MINORS[name]))
        with open(path, "wb"):  # not where devices are none
            return path
    except PermissionError:
        path.unlink(missing_ok=True)
        assert not os.access("/dev", os.W_OK), "this test would risk the system's devices"
        return Path("/dev", name)


@contextlib.contextmanager
def read_fifo(path):
    """Yield a list that the contents of a FIFO, made here, come into at the end."""
    read: list[bytes] = []

    def run():
        with open(path, "rb") as fifo:
            read.append(fifo.read())

    os.mkfifo(path)
    reader = threading.Thread(target=run, daemon=True)
    reader.start()
    yield read
    reader.join(60)
    assert not reader.is_alive()
