# SPDX-License-Identifier: GPL-3.0-or-later
"""What is slow to make, once: GRC's library, the compiled examples, and a screen."""

import os
import pathlib
import subprocess

import pytest
from gnuradio import gr
from gnuradio.grc.core.platform import Platform

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def platform():
    made = Platform(name="GRC", prefs=gr.prefs(), version=gr.version(),
                    version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    made.build_library()
    return made


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """A folder with the program of each example and, as they want it, the models."""
    folder = tmp_path_factory.mktemp("compiled")
    done = subprocess.run(["grcc", "-o", str(folder), *map(str, (ROOT / "examples").glob("*.grc"))],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "models").symlink_to(ROOT / "examples/models")
    return folder


@pytest.fixture(scope="session")
def screen(tmp_path_factory):
    """The environment of programs that draw on a screen of their own."""
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x1200x24",
                               "-nolisten", "tcp"], pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as told:
        display = told.readline().strip()
    home = tmp_path_factory.mktemp("home")  # GRC's and Qt's settings
    yield {**os.environ, "DISPLAY": f":{display}", "QT_QPA_PLATFORM": "xcb", "HOME": str(home),
           "XDG_RUNTIME_DIR": str(home), "PYTHONUNBUFFERED": "1", "NO_AT_BRIDGE": "1"}
    server.terminate()
    server.wait()
