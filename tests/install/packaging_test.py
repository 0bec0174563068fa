# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes and descriptions agree with CMakeLists.txt on the version, and with the code on what it depends on."""

import ast
import datetime
import pathlib
import re
import runpy
import subprocess
import sys

import pytest
import yaml
from gnuradio.adann import core

ROOT = pathlib.Path(__file__).parents[2]
CMAKE = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"^project\(gr-adann VERSION (\d+\.\d+\.\d+)", CMAKE, re.MULTILINE)[1]
PYBOMBS = ROOT / "packaging/pybombs"
# Of PyBOMBS's own collection, gr-recipes.
GR_RECIPES = {"gnuradio", "numpy", "pybind11", "scipy"}

# What find_package() asks for: in Debian, conda, PyBOMBS and MANIFEST.yml. None: comes with GNU Radio or the compiler.
LIBRARIES = {"Gnuradio": ("gnuradio-dev", "gnuradio-core", "gnuradio", "gnuradio"),
             "pybind11": ("pybind11-dev", "pybind11", "pybind11", "pybind11"),
             "nlohmann_json": ("nlohmann-json3-dev", "nlohmann_json", "nlohmann-json", "nlohmann-json"),
             "Boost": ("libboost-test-dev", "libboost-headers", None, None),
             "Threads": (None, None, None, None)}
# What the installed Python package imports, likewise.
MODULES = {"numpy": ("python3-numpy", "numpy", "numpy", "numpy"),
           "scipy": ("python3-scipy", "scipy", "scipy", "scipy"),
           "click": ("python3-click", "click", "python-click", "click"),
           "rich": ("python3-rich", "rich", "python-rich", "rich")}
DEBIAN, CONDA, RECIPE, MANIFEST = range(4)
# Components of GNU Radio that are packages of their own on conda.
NOT_IN_GNURADIO_CORE = {"grc", "iio", "qtgui", "soapy", "uhd", "video_sdl", "zeromq"}


def names(table, system):
    return {row[system] for row in table.values()} - {None}


def read(name):
    return yaml.safe_load((ROOT / name).read_text())


def imports(file):
    """Modules that it needs to be imported itself: not what a function imports when it is called."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
            if node.module == "gnuradio":
                yield from (f"gnuradio.{each.name}" for each in node.names)


@pytest.fixture(scope="module")
def imported():
    """By the installed package, without the panel, which is imported where there is a Qt, and the program of
    OptiCommPy's Python."""
    others = {"status_panel.py", "opticommpy_equalizer.py"}
    return {name for file in (ROOT / "python/adann").rglob("*.py")
            if file.parent.name != "coherent_sets" and file.name not in others for name in imports(file)}


@pytest.fixture(scope="module")
def conda():
    """The recipe as conda build would render it for Linux: without conda, by its template language."""
    jinja2 = pytest.importorskip("jinja2")
    recipe = ROOT / ".conda/recipe/meta.yaml"

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (recipe.parent / load_file).read_text())

    text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(recipe.read_text()).render(
        load_file_regex=load_file_regex, compiler="{}_compiler".format, stdlib="{}_stdlib".format,
        target_platform="linux-64")
    return yaml.safe_load("\n".join(line for line in text.splitlines()
                                    if not re.search(r"# \[(win|build_platform)", line)))


def control_field(package, field):
    """Names of packages in packaging/debian/control, without versions and substitutions."""
    paragraph, = (text for text in (ROOT / "packaging/debian/control").read_text().split("\n\n")
                  if text.splitlines()[0] == package)
    value = re.search(rf"^{field}:((?:.|\n )*)", paragraph, re.MULTILINE)[1]
    return {name for name in re.findall(r"(?:^|,)\s*([a-z][\w.+-]*)", value)}


def test_the_program_and_the_documentation_have_the_version(monkeypatch):
    assert core.__version__ == VERSION
    said = subprocess.run([ROOT / "packaging/version"], capture_output=True, text=True, check=True).stdout
    assert said == f"{VERSION}\n"
    monkeypatch.setenv("ADANN_DOXYGEN", "")
    assert runpy.run_path(ROOT / "docs/site/conf.py")["release"] == VERSION
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        found = re.findall(r"(?:\bgr-adann-|\brelease-|\bv)(\d+\.\d+\.\d+)", page.read_text())
        assert set(found) <= {VERSION}, page.name


def test_changelog_and_citation_have_the_version_and_its_date():
    text = (ROOT / "CHANGELOG.md").read_text()
    version, date = re.search(r"^## \[(.*?)\] - (.*)$", text, re.MULTILINE).groups()
    citation = read("CITATION.cff")
    assert version == citation["version"] == VERSION
    assert datetime.date.fromisoformat(date) == citation["date-released"]


def test_recipes_and_manifest_have_the_version(conda):
    manifest, recipe = read("MANIFEST.yml"), read(PYBOMBS / "gr-adann.lwr")
    assert manifest["version"] == VERSION
    assert manifest["stable_release"] == recipe["gitrev"] == f"v{VERSION}"
    assert conda["package"] == {"name": "gnuradio-adann", "version": VERSION}
    # Debian names the package of a library after its interface's version, and takes the release's from CMake.
    interface = VERSION.rpartition(".")[0]
    assert list((ROOT / "packaging/debian").glob(f"libgnuradio-adann{interface}.install"))
    assert f"Package: libgnuradio-adann{interface}\n" in (ROOT / "packaging/debian/control").read_text()
    assert (ROOT / "packaging/debian/changelog.in").read_text().startswith("gr-adann (@VERSION@-1) ")


def test_the_tables_of_dependencies_are_those_of_the_code(imported):
    asked = set()
    for file in (ROOT / "CMakeLists.txt", *(ROOT / "lib").rglob("CMakeLists.txt")):
        asked |= set(re.findall(r"find_package\((\w+)", file.read_text()))
    assert asked == set(LIBRARIES)
    foreign = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"gnuradio", "pmt"}
    assert foreign == set(MODULES)


def test_gnuradios_components_are_asked_for_and_in_its_smallest_package(imported):
    asked = set(re.search(r"find_package\(Gnuradio .* COMPONENTS ([\w ]+)\)", CMAKE)[1].split())
    linked = set(re.findall(r"gnuradio::gnuradio-(\w+)", (ROOT / "lib/CMakeLists.txt").read_text()))
    assert linked == asked >= {"fft"}
    used = {name.split(".")[1] for name in imported if name.startswith("gnuradio.")} | asked
    assert used >= {"gr", "blocks"}
    assert not used & NOT_IN_GNURADIO_CORE


def test_debian_and_dev_install_what_is_needed():
    wanted = names(LIBRARIES, DEBIAN) | names(MODULES, DEBIAN)
    assert wanted <= control_field("Source: gr-adann", "Build-Depends")
    # Debian's GNU Radio needs numpy, and debhelper finds out which.
    modules = names(MODULES, DEBIAN) - {"python3-numpy"}
    assert control_field("Package: gr-adann", "Depends") == {"gnuradio", "libgnuradio-adann0.1", *modules}
    installed = set(re.search(r"^packages=\((.*?)\)", (ROOT / "dev").read_text(), re.MULTILINE | re.DOTALL)[1].split())
    assert wanted - {"python3-numpy"} <= installed


def test_the_conda_recipe_asks_for_what_is_needed_and_looks_for_what_is_there(conda):
    def without_version(section):
        return {line.split()[0] for line in conda["requirements"][section]}

    # What the headers of GNU Radio include, which conda's GNU Radio does not bring along.
    assert without_version("host") == names(LIBRARIES, CONDA) | {"numpy", "python", "gmp", "spdlog", "volk"}
    assert without_version("run") == names(MODULES, CONDA) | {"gnuradio-core", "python"}
    recipe = ROOT / ".conda/recipe"
    assert (recipe / conda["source"]["path"]).resolve() == ROOT
    assert (recipe / "build.sh").stat().st_mode & 0o111
    assert (ROOT / conda["about"]["license_file"]).is_file()
    for command in conda["test"]["commands"]:
        if name := re.search(r"/([\w.]+\.(?:yml|grc|h))$", command):
            assert list(ROOT.glob(f"*/**/{name[1]}")), command


def test_pybombs_has_a_recipe_for_all_that_is_needed():
    recipe = read(PYBOMBS / "gr-adann.lwr")
    assert set(recipe["depends"]) == names(LIBRARIES, RECIPE) | names(MODULES, RECIPE)
    ours = {file.stem for file in PYBOMBS.glob("*.lwr")}
    assert set(recipe["depends"]) == GR_RECIPES | ours - {"gr-adann"}
    debian = {read(PYBOMBS / f"{name}.lwr")["satisfy"]["deb"] for name in ours - {"gr-adann"}}
    assert debian <= names(LIBRARIES, DEBIAN) | names(MODULES, DEBIAN)
    assert (recipe["category"], recipe["inherit"]) == ("common", "cmake")


def test_the_manifest_is_whole():
    """The fields of gr_modtool's template, and those that CGRAN shows."""
    manifest = read("MANIFEST.yml")
    assert set(manifest) - {"repo", "website", "icon"} == {
        "title", "version", "brief", "tags", "author", "copyright_owner", "license", "gr_supported_version",
        "dependencies", "stable_release", "description", "file_format"}
    assert all(manifest.values()) and manifest["file_format"] == 1
    assert manifest["license"] == read("CITATION.cff")["license"]
    assert {name.split()[0] for name in manifest["dependencies"]} == names(LIBRARIES, MANIFEST) | names(
        MODULES, MANIFEST)
    # The oldest GNU Radio is the same everywhere.
    oldest, = (re.search(r">= ([\d.]+)", name)[1] for name in manifest["dependencies"] if name.startswith("gnuradio"))
    control = (ROOT / "packaging/debian/control").read_text()
    assert set(re.findall(r"gnuradio(?:-dev)? \(>= ([\d.]+)\)", control)) == {oldest}
    supported, = manifest["gr_supported_version"]
    assert oldest.startswith(f"{supported}.")
    assert f'find_package(Gnuradio "{supported}" ' in CMAKE


def test_the_wiki_page_lists_every_block():
    page = (ROOT / "packaging/wiki.mediawiki").read_text()
    blocks = {read(file)["label"] for file in (ROOT / "grc").glob("*.block.yml")}
    assert set(re.findall(r"^\| (AdaNN .*?) \|\|", page, re.MULTILINE)) == blocks
    oldest, = re.findall(r"GNU Radio:''' ([\d.]+) or", page)
    assert f"gnuradio (>= {oldest})" in read("MANIFEST.yml")["dependencies"]
