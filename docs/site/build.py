#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the documentation site from the pages of this tree: ./dev docs.

usage: build.py OUTPUT. The pages are those that one reads in the tree (docs/, examples/README.md, ...); a
page for each block comes from its GRC description, the command line's from its --help, the APIs' from
headers and docstrings. A link to a file that is not there, and every warning of Sphinx, is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import yaml

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
# Where a page of the tree stands on the site; those of docs/ stand where they are.
PAGES = {"examples/README.md": "examples.md", "bench/RESULTS.md": "speed.md", "CHANGELOG.md": "changelog.md",
         "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "README.md": "index.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def copy_pages(target):
    """Markdown and pictures; links between pages follow them, links to sources become their path."""
    named = {"index", *(SITE / "contents.md").read_text().split()}
    places = {ROOT / page: Path(place) for page, place in PAGES.items() if (ROOT / page).is_file()}
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".md", ".png", ".svg") and SITE not in path.parents:
            places[path] = path.relative_to(ROOT / "docs")
    for path, place in places.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copy(path, target / place)
            continue

        def follow(link, path=path, place=place):
            picture, text, wanted, anchor = link.groups()
            found = (path.parent / wanted).resolve()
            if not found.exists():
                sys.exit(f"{path.relative_to(ROOT)}: {wanted}: no such file")
            if found in places:
                return f"{picture}[{text}]({os.path.relpath(places[found], place.parent)}{anchor or ''})"
            return f"{text} (`{found.relative_to(ROOT)}`)"

        # What the contents do not name is reached from another page.
        orphan = "" if str(place.with_suffix("")) in named else "---\norphan: true\n---\n"
        (target / place).write_text(orphan + LINK.sub(follow, path.read_text()))


def write_blocks(target):
    """A page for each GRC description: its parameters, ports and text."""
    target.mkdir(exist_ok=True)  # pictures are there
    names = []
    for path in sorted((ROOT / "grc").glob("*.block.yml")):
        block = yaml.safe_load(path.read_text())
        names.append(block["id"])
        pictures = [f"![{what} of {block['label']} in GNU Radio Companion]({picture})"
                    for what, picture in (("The block", f"{block['id']}.png"), ("The dialog", f"{block['id']}_dialog.png"))
                    if (ROOT / "docs/blocks" / picture).is_file()]
        lines = [f"# {block['label']}", *pictures, "", block["documentation"].replace("\n", "\n\n").strip(), "",
                 "| parameter | default | choices |", "|---|---|---|"]
        for each in block.get("parameters", []):
            choices = ", ".join(map(str, each.get("option_labels", each.get("options", []))))
            lines.append(f"| {each['label']} | {_code(each.get('default', ''))} | {choices} |")
        lines += ["", "| port | | type |", "|---|---|---|"]
        for side in ("inputs", "outputs"):
            for port in block.get(side, []):
                lines.append(f"| {port.get('label', port.get('id'))} | {side[:-1]} | "
                             f"{port.get('domain', 'stream')} {_code(port.get('dtype', ''))} |")
        (target / f"{block['id']}.md").write_text("\n".join(lines) + "\n")
    (target / "index.md").write_text(
        "# Blocks\nIn GNU Radio Companion under `[AdaNN]`, in Python as `gnuradio.adann`.\n\n```{toctree}\n:maxdepth: 1\n\n"
        + "\n".join(names) + "\n```\n")


def write_commands(target):
    """What --help says of each command."""
    from gnuradio.adann.cli import main as adann

    def sections(command, name, parent=None):
        context = click.Context(command, info_name=name, parent=parent, terminal_width=100,
                                max_content_width=100)
        yield f"## {context.command_path}\n```text\n{command.get_help(context)}\n```\n"
        for each in getattr(command, "commands", {}).values():
            yield from sections(each, each.name, context)

    target.write_text("# Command line\n" + "\n".join(sections(adann, "adann")))


def _code(value):
    text = str(value).replace("|", "\\|")
    return f"`{text}`" if text else ""


def main():
    output = Path(sys.argv[1]).resolve()
    source = output / "source"
    shutil.rmtree(output, ignore_errors=True)
    source.mkdir(parents=True)
    copy_pages(source)
    for page in SITE.glob("*.rst"):
        shutil.copy(page, source)
    with open(source / "index.md", "a") as index:  # the README, and what else there is
        index.write("\n" + (SITE / "contents.md").read_text())
    write_blocks(source / "blocks")
    write_commands(source / "commands.md")
    subprocess.run(["doxygen", "-"], text=True, check=True, cwd=ROOT, input=f"""
        INPUT = include/gnuradio/adann
        OUTPUT_DIRECTORY = {output}
        GENERATE_HTML = NO
        GENERATE_LATEX = NO
        GENERATE_XML = YES
        XML_OUTPUT = doxygen
        QUIET = YES
        WARN_IF_UNDOCUMENTED = NO
        WARN_IF_INCOMPLETE_DOC = NO
        WARN_AS_ERROR = YES
        MACRO_EXPANSION = YES
        PREDEFINED = ADANN_API=
        ALIASES = ingroup=
        """)
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", str(SITE), "-b", "html",
                    str(source), str(output / "html")], check=True,
                   env={**os.environ, "ADANN_DOXYGEN": str(output / "doxygen")})
    print(f"{output / 'html' / 'index.html'}")


if __name__ == "__main__":
    main()
