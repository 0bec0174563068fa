# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of lib/core and python/adann, and that none looks up: docs/architecture.md."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
# The lowest first. A room sees itself and the rooms of the lines above its own, not its neighbours.
CORE = [["common"],
        ["simd", "files"],
        ["signal"],
        ["network", "counting", "mlse"],
        ["tracking"],
        ["training"],
        ["adaptation"]]
PYTHON = [["captures"], ["blocks"], ["links"], ["offline"], ["export"], ["experiments"], ["cli"]]
# Public headers of plain C++, without GNU Radio: enumerations and settings, defined once.
PLAIN = {f"gnuradio/adann/{name}.h" for name in (
    "words", "equalizer_settings", "mlse_settings", "soft_bit_convention")}
COMPILED = {"core", "adann_python"}  # modules of C++, which every room of Python may import


def level(rooms, room):
    return next(number for number, names in enumerate(rooms) if room in names)


def looks_up(rooms, room, other):
    return room != other and level(rooms, other) >= level(rooms, room)


def included(text):
    """What a C++ file includes."""
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE)


def violations_of_core(room, text):
    return [name for name in included(text)
            if name.startswith("gnuradio/") and name not in PLAIN or
            name.startswith("core/") and looks_up(CORE, room, name.split("/")[1])]


def imported(text, room):
    """The modules of this package that a Python file in a room imports, as paths from its root."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [["gnuradio", "adann", room], ["gnuradio", "adann"]][node.level - 1] if (
                node.level) else []
            module = [*base, *(node.module or "").split(".")] if node.module else base
            names = [".".join([*module, alias.name]) for alias in node.names]
        else:
            continue
        yield from (name.split(".")[2:] for name in names if name.startswith("gnuradio.adann."))


def violations_of_python(room, text):
    return [".".join(path) for path in imported(text, room)
            if path[0] not in COMPILED and looks_up(PYTHON, room, path[0])]


def files(folder, *patterns):
    found = sorted(path for pattern in patterns for path in (ROOT / folder).glob(pattern))
    assert found
    return [pytest.param(path, id=str(path.relative_to(ROOT / folder))) for path in found]


@pytest.mark.parametrize("path", files("lib/core", "*/*.h", "*/*.cc"))
def test_a_file_of_the_core_includes_only_rooms_below_its_own(path):
    assert violations_of_core(path.parent.name, path.read_text()) == []


def spoken(text):
    """The strings of a Python file, without its docstrings."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Expr):
            yield from (each.value for each in ast.iter_child_nodes(node)
                        if isinstance(each, ast.Constant) and isinstance(each.value, str))


def options_in(text):
    """Options of the command line that strings name, but for those of a whole command."""
    return [option for each in spoken(text)
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", re.sub(r"adann \w+( --[a-z-]+)*", "", each))]


@pytest.mark.parametrize("path", files("python/adann", *(f"{room}/*.py" for room in (
    "captures", "blocks", "links", "offline"))))
def test_what_python_calls_names_no_options_of_the_command_line(path):
    assert options_in(path.read_text()) == []


def test_options_are_found():
    text = '"""--no"""\nraise ValueError(f"{x}; --baud {x}", "adann resample --sps 4: a -- b --c-d")'
    assert sorted(options_in(text)) == ["--baud", "--c-d"]


@pytest.mark.parametrize("path", files("python/adann", "*/*.py"))
def test_a_module_imports_only_rooms_below_its_own(path):
    assert violations_of_python(path.parent.name, path.read_text()) == []


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_the_public_headers_that_the_core_includes_are_plain(name):
    others = included((ROOT / "include" / name).read_text())
    assert all(other in PLAIN or "/" not in other and "." not in other for other in others)


@pytest.mark.parametrize("path", files("include/gnuradio/adann", "*.h"))
def test_public_headers_do_not_show_the_core(path):
    assert [name for name in included(path.read_text()) if name.startswith("core/")] == []


@pytest.mark.parametrize("folder, rooms", [("lib/core", CORE), ("python/adann", PYTHON)])
def test_every_folder_with_sources_is_a_room(folder, rooms):
    names = {path.parent.name for pattern in ("*/*.h", "*/*.py")
             for path in (ROOT / folder).glob(pattern)} - {"bindings"}
    assert names <= set(sum(rooms, []))


def test_an_include_or_import_that_looks_up_is_found():
    assert violations_of_core("signal", '#include "core/network/model.h"\n') == [
        "core/network/model.h"]
    assert violations_of_core("mlse", '  #  include "core/network/model.h"') != []  # a neighbour
    assert violations_of_core("common", "#include <gnuradio/block.h>\n") == ["gnuradio/block.h"]
    assert violations_of_core("training", '#include "core/tracking/x.h"\n#include <map>\n') == []
    for wrong in ("from ..offline.report import LATEST", "from ..cli import main",
                  "def f():\n    from .. import offline", "import gnuradio.adann.cli.watch",
                  "from gnuradio.adann.links.simulation import f"):
        assert violations_of_python("blocks", wrong), wrong
    for right in ("from .. import core", "from ..captures.files import read_capture",
                  "from .resampler import resampler", "import numpy", "from gnuradio import gr"):
        assert violations_of_python("blocks", right) == [], right
