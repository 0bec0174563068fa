# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be wrong with what was found in a record, and what settles it."""

from __future__ import annotations

from typing import Literal

Argument = Literal["symbol_rate", "constellation", "reference", "fraction", "skip", ""]


class Uncertain(str):
    """A phrase or a sentence on it. settled_by: the argument that settles it (symbol_rate, constellation, reference,
    fraction, skip), "" if none does; the command line adds its option."""

    settled_by: Argument

    def __new__(cls, said: str, settled_by: Argument = "") -> Uncertain:
        made = super().__new__(cls, said)
        made.settled_by = settled_by
        return made
