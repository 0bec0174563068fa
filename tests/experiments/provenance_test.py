# SPDX-License-Identifier: GPL-3.0-or-later
"""The last line of a page of results: what it was made by."""

import datetime
import re
import subprocess

from gnuradio.adann import core
from gnuradio.adann.experiments import provenance


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True)


def test_it_names_version_day_and_machine():
    days = {datetime.date.today().isoformat()}
    said = provenance.provenance()
    days.add(datetime.date.today().isoformat())
    assert said.startswith(f"Written by gr-adann {core.__version__}")
    assert any(day in said for day in days)
    assert re.search(r": \S.*, \d+ cores\.$", said)


def test_the_commit_is_that_of_the_source(tmp_path, monkeypatch):
    source = tmp_path / "provenance.py"
    source.write_text("")
    monkeypatch.setattr(provenance, "__file__", str(source))
    git(tmp_path, "init")
    git(tmp_path, "add", source.name)
    made = git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-m", "First")
    assert made.returncode == 0, made.stderr
    found = provenance.commit()
    assert len(found) >= 7 and git(tmp_path, "rev-parse", "HEAD").stdout.startswith(found)
    assert f", commit {found}, on " in provenance.provenance()
    source.write_text("another")
    assert provenance.commit() == f"{found}-dirty"


def test_an_installed_package_has_none_even_within_another_repository(tmp_path, monkeypatch):
    (tmp_path / "provenance.py").write_text("")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    assert provenance.commit() == "" and ", commit" not in provenance.provenance()
    assert git(tmp_path, "init").returncode == 0
    assert provenance.commit() == ""
