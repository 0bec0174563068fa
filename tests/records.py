# SPDX-License-Identifier: GPL-3.0-or-later
"""Measured records, which are not part of this repository: docs/limits.md says where they are from."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ADANN_CAPTURES", Path(__file__).parents[2] / "shared/captures"))


def record(name):
    """The path of a record below the folder that the environment's ADANN_CAPTURES names, by default
    ../shared/captures beside the checkout. Skips the test where it is not there."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{path} is not here; ADANN_CAPTURES names the folder of the records")
    return path
