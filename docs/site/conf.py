# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's settings of the site; build.py makes its pages."""

import os
import re
from pathlib import Path

_CMAKE = (Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()

project = "gr-adann"
author = "The gr-adann developers"
release = re.search(r"VERSION ([\d.]+) LANGUAGES", _CMAKE)[1]
extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"gr-adann {release}"
breathe_projects = {"adann": os.environ["ADANN_DOXYGEN"]}
breathe_default_project = "adann"
autodoc_default_options = {"members": True}
suppress_warnings = ["myst.header"]  # the tables are parts of pages


def setup(app):
    app.connect("autodoc-process-docstring", _verbatim)


def _verbatim(_app, _what, _name, _object, _options, lines):
    """Docstrings are written to be read in a terminal."""
    if any(lines):
        lines[:] = ["::", "", *("    " + line for line in lines), ""]
