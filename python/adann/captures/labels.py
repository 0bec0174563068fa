# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels that are not known."""

import numpy as np
import numpy.typing as npt

UNKNOWN = 255  # in place of a label that is not known; of 256 points it is a label as others are


def known(labels: npt.NDArray, size: int) -> npt.NDArray[np.bool_]:
    """Which of the labels (n,) of a constellation of `size` points are known: bool (n,)."""
    return (labels != UNKNOWN) | (size > UNKNOWN)
