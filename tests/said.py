# SPDX-License-Identifier: GPL-3.0-or-later
"""What commands say."""

import re


def but_progress(said: str) -> str:
    """Without the lines for each tenth of what takes more than half a minute, as on a slow machine."""
    return re.sub(r"(?m)^\w+: \d+ %, about .* left.*\n", "", said)
