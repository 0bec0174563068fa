# SPDX-License-Identifier: GPL-3.0-or-later
"""The site's pages: what is linked is there. ./dev docs makes the whole site, Sphinx's warnings errors."""

import importlib.util
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("build", ROOT / "docs/site/build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_link_between_pages_leads_to_a_file(build, tmp_path):
    build.copy_pages(tmp_path)
    assert "(results/index.md)" in (tmp_path / "index.md").read_text()  # docs/results/index.md in the tree


def test_a_link_to_nothing_is_named(build, tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("[b](b.md)")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="docs/a.md: b.md: no such file"):
        build.copy_pages(tmp_path / "out")


def test_each_block_has_a_page_with_its_parameters(build, tmp_path):
    build.write_blocks(tmp_path / "blocks")
    page = (tmp_path / "blocks/adann_ber_counter.md").read_text()
    assert "| Batch (symbols) | `8192` |" in page
    assert len(list((tmp_path / "blocks").iterdir())) == 1 + len(list((ROOT / "grc").glob("*.block.yml")))


def test_the_messages_that_are_explained_are_ours():
    """But for those of the system, of Python and of GNU Radio: the first and the last section."""
    source = "".join(path.read_text() for folder in ("lib", "python") for path in (ROOT / folder).rglob("*")
                     if path.suffix in (".cc", ".h", ".py"))
    source = re.sub(r'"\s*f?"', "", source)  # strings that go on in the next line
    sections = re.split(r"^## ", (ROOT / "docs/troubleshooting.md").read_text(), flags=re.MULTILINE)
    rows = [row.split("|")[1] for section in sections[2:-1] for row in section.splitlines() if row.startswith("| ")]
    messages = [message for row in rows for message in re.findall("`([^`]+)`", row)]
    assert len(messages) > 15
    for message in messages:
        for part in message.split("..."):
            assert part in source, message
