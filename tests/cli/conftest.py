# SPDX-License-Identifier: GPL-3.0-or-later
"""What is slow to make, once: captures and a model."""

import numpy as np
import pytest
from pam4_sets import TRAIN, adann, make_set


@pytest.fixture(scope="session")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    make_set(folder, "set1", 0.3)
    make_set(folder, "set2", 0.45, seed=2)
    result = adann("train", "--capture", folder / "set1", "--reference", folder / "set1.u8",
                   *TRAIN, "-o", folder / "model.safetensors")
    assert result.exit_code == 0, result.stderr
    assert "delay of 0 symbols" in result.stdout
    # Noise of 0.4 in a signal of 5.45 and that.
    left = 10 * np.log10(0.16 / (0.16 + 5 * 1.09))
    assert f": residual {left:.0f}." in result.stdout
    return folder
