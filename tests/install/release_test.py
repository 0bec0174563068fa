# SPDX-License-Identifier: GPL-3.0-or-later
"""./dev release makes an archive that builds without git; the version stands in one place; the conda recipe."""

import os
import pathlib
import re
import subprocess
import tarfile

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
VERSION = re.search(r"^project\(gr-adann VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]

OWN_BUILD = {name: value for name, value in os.environ.items() if name != "ADANN_BUILD"}  # the clone's


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout: an archive cannot be made of it")
    clone = tmp_path_factory.mktemp("clone")
    run("git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(clone))
    return clone


def test_the_archive_is_configured_without_git(clone, tmp_path):
    made = []
    for _ in range(2):
        run("./dev", "release", cwd=clone, env=OWN_BUILD)
        made.append((clone / f"build/gr-adann-{VERSION}.tar.gz").read_bytes())
    assert made[0] == made[1]
    run("sha256sum", "-c", f"gr-adann-{VERSION}.tar.gz.sha256", cwd=clone / "build")
    with tarfile.open(clone / f"build/gr-adann-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path)
    tree, = tmp_path.iterdir()
    assert tree.name == f"gr-adann-{VERSION}"
    assert {path.name for path in tree.iterdir()} >= {"LICENSE", "CHANGELOG.md", "MANIFEST.yml", "dev", "packaging"}
    run("cmake", "-G", "Ninja", "-S", str(tree), "-B", str(tmp_path / "build"), "-Wno-dev",
        env={"PATH": "/usr/bin:/bin", "GIT_DIR": "/nowhere"})
    assert f"CMAKE_PROJECT_VERSION:STATIC={VERSION}" in (tmp_path / "build/CMakeCache.txt").read_text()


def test_what_is_not_committed_is_not_released(clone):
    (clone / "README.md").write_text("changed")
    refused = subprocess.run(["./dev", "release"], cwd=clone, capture_output=True, text=True, env=OWN_BUILD)
    run("git", "checkout", "-q", "README.md", cwd=clone)
    assert refused.returncode == 1
    assert refused.stderr == "release: there are changes that are not committed\n"


def test_the_version_stands_in_one_place():
    assert run(ROOT / "packaging/version") == f"{VERSION}\n"
    for name in ("MANIFEST.yml", "CITATION.cff", "packaging/debian/control", "packaging/debian/changelog.in",
                 "packaging/conda/meta.yaml", "docs/site/conf.py"):
        assert VERSION not in (ROOT / name).read_text().replace("libgnuradio-adann0.1", ""), name


def test_the_conda_recipe_is_rendered():
    """As conda build would for Linux: without conda, by its template language."""
    jinja2 = pytest.importorskip("jinja2")
    recipe = ROOT / "packaging/conda/meta.yaml"

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (recipe.parent / load_file).read_text())

    text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(recipe.read_text()).render(
        load_file_regex=load_file_regex, compiler="{}_compiler".format, stdlib="{}_stdlib".format,
        target_platform="linux-64")
    selected = [line for line in text.splitlines() if not re.search(r"# \[(win|build_platform)", line)]
    read = yaml.safe_load("\n".join(selected))
    assert read["package"] == {"name": "gnuradio-adann", "version": VERSION}
    assert (recipe.parent / read["source"]["path"]).resolve() == ROOT
    script, = re.findall(r"bash (\S+)", read["build"]["script"])
    assert (ROOT / script).is_file()
    for command in read["test"]["commands"]:  # what it looks for, is there in the tree
        if name := re.search(r"/([\w.]+\.(?:yml|grc|h))$", command):
            assert list(ROOT.glob(f"*/**/{name[1]}")), command
