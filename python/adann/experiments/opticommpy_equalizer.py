# SPDX-License-Identifier: GPL-3.0-or-later
"""OptiCommPy's mimoAdaptEqualizer on a record: run by the python of an environment that has it.

Arguments: an .npz with channels, complex64 (2, 2*n), sent, the points of both transmitters, complex64 (2, n), and
told_all; the .npy of what it writes: soft symbols (steps, 2, n), one run for each of several steps.
"""

import sys

import numpy as np
from optic.dsp.equalization import mimoAdaptEqualizer
from optic.utils import parameters

TOLD = 4096  # symbols, where not all are
STEPS = (1e-3, 3e-3, 1e-2)

if __name__ == "__main__":
    given = np.load(sys.argv[1])
    channels, sent = given["channels"].T, given["sent"].T
    size = len(sent)
    found = []
    for step in STEPS:
        settings = parameters()
        settings.nTaps, settings.SpS, settings.M, settings.constType = 25, 2, 16, "qam"
        settings.domain, settings.prgsBar = "time", False
        settings.alg = ["nlms"] if given["told_all"] else ["nlms", "dd-lms"]
        settings.L = [size] if given["told_all"] else [TOLD, size - TOLD]
        settings.mu = [step] * len(settings.alg)
        soft = np.asarray(mimoAdaptEqualizer(channels, settings, sent)).T[:, :size]
        found.append(np.pad(soft, ((0, 0), (0, size - soft.shape[1]))))
    np.save(sys.argv[2], np.array(found, np.complex64))
