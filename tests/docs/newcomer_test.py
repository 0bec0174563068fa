# SPDX-License-Identifier: GPL-3.0-or-later
"""A newcomer's path: what the built pages say, copied and pasted in the order in which it stands there."""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from gnuradio.adann.links.simulation import random_labels

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as ./dev docs makes it; Sphinx's warnings and links to nothing are errors."""
    pytest.importorskip("sphinx", reason="the site needs Sphinx, which ./dev test installs")
    output = tmp_path_factory.mktemp("docs")
    done = subprocess.run([sys.executable, ROOT / "docs/site/build.py", output], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return output / "html"


class _Listings(html.parser.HTMLParser):
    """The highlighted blocks of a page, as (language, text)."""

    def __init__(self):
        super().__init__()
        self.found, self.language, self.inside = [], None, False

    def handle_starttag(self, tag, attributes):
        kind = re.match(r"highlight-(\w+)", dict(attributes).get("class") or "")
        if tag == "div" and kind:
            self.language = kind[1]
        elif tag == "pre" and self.language:
            self.found.append([self.language, ""])
            self.inside = True

    def handle_endtag(self, tag):
        if tag == "pre":
            self.inside, self.language = False, None

    def handle_data(self, data):
        if self.inside:
            self.found[-1][1] += data


def follow(site, page, folder):
    """Run a page's commands in a folder, its programs saved as they say; what was printed."""
    listings = _Listings()
    listings.feed((site / page).read_text())
    commands = []
    for language, text in listings.found:
        if language == "sh":
            commands.append(text)
        elif language == "python":
            name, = re.findall(r"\A# (\w+\.py)\n", text)
            (folder / name).write_text(text)
    assert commands
    shutil.copytree(ROOT / "examples", folder / "examples")
    done = subprocess.run(["bash", "-eu", "-c", "\n".join(commands)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_three_ways_in(site, tmp_path):
    said = follow(site, "start.html", tmp_path)
    frozen, adaptive = (json.loads((tmp_path / name).read_text())["captures"][0]["final_ber"]
                        for name in ("frozen.json", "adaptive.json"))
    assert adaptive < frozen / 5
    assert (tmp_path / "ber.png").stat().st_size > 1000
    assert re.search(r"missing", said) is None  # of adann doctor


def test_a_capture_from_a_fibre(site, tmp_path):
    follow(site, "tutorials/fibre.html", tmp_path)
    frozen, adaptive = (json.loads((tmp_path / "fibre" / name).read_text())["captures"]
                        for name in ("frozen.json", "adann.json"))
    assert adaptive[0]["final_ber"] < 1.5 * frozen[0]["final_ber"]  # the link as it was trained on
    assert adaptive[1]["final_ber"] < frozen[1]["final_ber"] / 10


def test_an_oscilloscopes_file(site, tmp_path):
    follow(site, "tutorials/oscilloscope.html", tmp_path)
    sent, decided = random_labels(80_000, 1), np.fromfile(tmp_path / "scope.u8", np.uint8)
    inverted = np.array([2, 3, 0, 1], np.uint8)  # of PAM4's labels, in the order of its bits
    part = slice(20_000, 60_000)
    wrong = min(np.mean(np.roll(labels, late)[:decided.size][part] != decided[part])
                for labels in (sent, inverted[sent]) for late in range(-8, 9))
    assert wrong < 5e-3


@pytest.fixture(scope="module")
def software_radio(site, tmp_path_factory):
    """The folder in which its page was followed, and what was printed."""
    folder = tmp_path_factory.mktemp("sdr")
    return folder, follow(site, "tutorials/sdr.html", folder)


def test_a_software_radio(software_radio):
    _, said = software_radio
    frames, = re.findall(r"(\d+) of 300 frames", said)
    assert int(frames) > 290  # of each chain all runs so far had 297 or more


def test_between_the_blocks_of_gr_satellites(software_radio):
    pytest.importorskip("satellites", reason="gr-satellites is not installed; ./dev test does so")
    folder, _ = software_radio
    done = subprocess.run([sys.executable, "satellite.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    frames, = re.findall(r"(\d+) frames of 300", done.stdout)
    assert int(frames) > 290  # without the equalizer 137


def test_bursts(site, tmp_path):
    said = follow(site, "bursts.html", tmp_path)
    packets, = re.findall(r"(\d+) of 100 packets", said)
    assert int(packets) > 90  # a slicer receives 14


def test_several_channels(site, tmp_path):
    follow(site, "channels.html", tmp_path)
    ber = json.loads((tmp_path / "a.json").read_text())["captures"][0]["final_ber"]
    assert ber < 1e-3
