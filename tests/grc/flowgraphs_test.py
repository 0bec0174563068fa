# SPDX-License-Identifier: GPL-3.0-or-later
"""The GRC descriptions and example flowgraphs, compiled by the real grcc."""

import pathlib
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
FLOWGRAPHS = sorted((ROOT / "examples").glob("*.grc"))
BLOCKS = sorted((ROOT / "grc").glob("*.block.yml"))


@pytest.mark.parametrize("path", FLOWGRAPHS, ids=lambda path: path.stem)
def test_grcc_compiles_the_flowgraph(path, tmp_path):
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    compiled, = tmp_path.glob("*.py")
    subprocess.run([sys.executable, "-m", "py_compile", str(compiled)], check=True)


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.name)
def test_a_block_description_is_complete(path):
    block = yaml.safe_load(path.read_text())
    assert block["id"] == path.name.removesuffix(".block.yml")
    assert block["category"] == "[AdaNN]"
    assert len(block["documentation"]) > 200
    assert block["asserts"]
