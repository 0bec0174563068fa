# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be known of a file that is read all the same."""

from __future__ import annotations

import warnings
from pathlib import Path


class CaptureWarning(UserWarning):
    """A sentence about a capture, its file's name first."""


def note(path: str | Path, sentence: str) -> None:
    """Warn of a file; the command line says it in a line."""
    warnings.warn(f"{path}: {sentence}", CaptureWarning, stacklevel=2)
