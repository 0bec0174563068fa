# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all.

A symbolic link is followed. What exists and is no regular file (a device, a FIFO) is never replaced: it is written
into when all is done. An OSError names the path as it was given.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


def is_stream(path: str | Path) -> bool:
    """Whether it exists and is neither a regular file nor a folder: a device, a FIFO."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def scratch_folder(path: str | Path | None) -> Iterator[Path]:
    """A temporary folder from which a file can become `path`: next to what that names, or, where it is a device, a
    FIFO or None, where temporary files are. It is removed at the end, also if an interrupt comes while it is made
    or removed, as no TemporaryDirectory is."""
    beside = tempfile.gettempdir() if path is None or is_stream(path) else _target(path).parent
    folder = Path(beside, f".adann-{secrets.token_hex(8)}")
    try:
        with _naming(path or folder):
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:  # the interrupt cut it short
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def atomic_output(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path of the same name, whose file becomes `path` if the block ends well."""
    with scratch_folder(path) as scratch:
        temporary = scratch / Path(path).name
        yield temporary
        _move(temporary, path)


@contextlib.contextmanager
def growing_output(path: str | Path | None) -> Iterator[Path]:
    """Yield the path of a file that grows for a long time: `path` and .part, which becomes `path` if the block ends
    well; None, or a device or a FIFO: a temporary one."""
    if path is None or is_stream(path):
        with scratch_folder(path) as scratch:
            temporary = scratch / "part"
            yield temporary
            if path is not None:
                _move(temporary, path)
        return
    part = Path(f"{_target(path)}.part")
    try:
        yield part
        _move(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write texts or bytes into a folder by name: first all of them, then each takes its name's place."""
    with contextlib.ExitStack() as outputs:
        for name, contents in files.items():
            path = outputs.enter_context(atomic_output(folder / name))
            path.write_bytes(contents.encode(errors="surrogateescape") if isinstance(contents, str) else contents)


def _target(path):
    """What it names: where its links lead, also to what is not there yet."""
    return Path(os.path.realpath(path))


def _move(temporary, path):
    with _naming(path):
        if is_stream(path):
            with open(temporary, "rb") as file, open(path, "wb") as stream:
                shutil.copyfileobj(file, stream)
        else:
            os.replace(temporary, _target(path))


@contextlib.contextmanager
def _naming(path):
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
