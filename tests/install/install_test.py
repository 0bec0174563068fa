# SPDX-License-Identifier: GPL-3.0-or-later
"""cmake --install into a private prefix is usable from C++, Python, GRC and the shell."""

import os
import pathlib
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ.get("ADANN_BUILD", pathlib.Path(__file__).parents[2] / "build"))
CONSUMER = pathlib.Path(__file__).parent / "consumer"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", str(BUILD), "--prefix", str(prefix))
    return prefix


def python_path(prefix):
    package, = prefix.glob("**/gnuradio/adann/__init__.py")
    return str(package.parents[2])


def environment(prefix):
    """Of the build tree only the venv with PyPI's packages stays on the path."""
    kept = [p for p in sys.path if "site-packages" in p]
    library, = {str(path.parent) for path in prefix.glob("**/libgnuradio-adann.so")}
    return {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"),
            "PYTHONPATH": os.pathsep.join([python_path(prefix), *kept]), "LD_LIBRARY_PATH": library}


def test_a_cpp_project_finds_builds_and_runs(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", str(CONSUMER), "-B", str(tmp_path),
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", str(tmp_path))
    out = run(str(tmp_path / "consumer"))
    assert out.splitlines() == ["44", "model file no-such-model: No such file or directory"]


def test_python_and_the_command_line_work_from_the_prefix(prefix):
    out = run("/usr/bin/python3", "-c", "from gnuradio import adann; print(adann.__file__)",
              env=environment(prefix))
    assert str(prefix) in out
    assert "Usage" in run(str(prefix / "bin" / "adann"), "--help", env=environment(prefix))


def test_grc_descriptions_are_installed(prefix):
    installed = {path.name for path in (prefix / "share/gnuradio/grc/blocks").iterdir()}
    source = pathlib.Path(__file__).parents[2] / "grc"
    assert installed == {path.name for path in source.glob("*.yml")}


def test_the_examples_that_the_documentation_starts_from_are_installed(prefix):
    examples = pathlib.Path(__file__).parents[2] / "examples"
    installed = prefix / "share/gnuradio/examples/adann"
    for pattern in "*.grc", "*.py", "models/*.safetensors":
        names = {path.relative_to(examples) for path in examples.glob(pattern)}
        assert names and all((installed / name).is_file() for name in names)


def test_captures_of_experiments_are_not_installed_and_reproduce_says_where_they_are(prefix, tmp_path):
    assert not [path for path in prefix.glob("**/*") if path.suffix in (".sigmf-data", ".sigmf-meta", ".u8")]
    for experiment, reads in ("coherent", "coherent"), ("polarisations", "polarisations"), ("all", "coherent"):
        done = subprocess.run([str(prefix / "bin/adann"), "reproduce", experiment, "-o", str(tmp_path / "out")],
                              env=environment(prefix), capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, "")
        said, = done.stderr.splitlines()
        assert f"the captures that {reads} reads are not installed" in said and "source archive" in said
    assert not (tmp_path / "out").exists()
