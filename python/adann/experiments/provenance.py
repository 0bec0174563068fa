# SPDX-License-Identifier: GPL-3.0-or-later
"""What made a page of results: version, commit, day and machine."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

from .. import core


def commit() -> str:
    """Of the source that runs, with "-dirty" where it was changed since; "" of an installed package."""
    source = Path(__file__).resolve()

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", source.parent, *words], text=True, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.strip()
    try:
        git("ls-files", "--error-unmatch", source.name)  # an installed package may lie in another repository
        return git("describe", "--always", "--dirty", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor() -> str:
    """Its name, or that of the machine's kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
                platform.machine())


def provenance() -> str:
    """A sentence for the end of a page."""
    source = commit()
    made = f", commit {source}" if source else ""
    return (f"Written by gr-adann {core.__version__}{made}, on {datetime.date.today().isoformat()}: {processor()}, "
            f"{os.cpu_count()} cores.")
