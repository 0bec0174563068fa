# SPDX-License-Identifier: GPL-3.0-or-later
"""OptiCommPy's mimoAdaptEqualizer on a record: run by the python of an environment that has it.

Arguments: an .npz with channels, complex64 (2, 2*n), sent, the points of both transmitters, complex64 (2, n), and
`told`, the number of known symbols, the first 4096, or all n; the .npy of what it writes: soft symbols (steps, 2, n),
one run for each of several steps. With 0 the equalizer is CMA and then RDE, and what it gives goes through
OptiCommPy's frequency and phase recovery.
"""

import sys

import numpy as np
from optic.dsp.carrierRecovery import cpr, fourthPowerFOE
from optic.dsp.equalization import mimoAdaptEqualizer
from optic.utils import parameters

BAUD = 32e9
CONVERGING = 8192  # symbols of CMA before RDE
STEPS = (1e-3, 3e-3, 1e-2)

if __name__ == "__main__":
    given = np.load(sys.argv[1])
    channels, sent = given["channels"].T, given["sent"].T
    size, told = len(sent), int(given["told"])
    parts = {0: (["cma", "rde"], CONVERGING), size: (["nlms"], size)}.get(told, (["nlms", "dd-lms"], told))
    found = []
    for step in STEPS:
        settings = parameters()
        settings.nTaps, settings.SpS, settings.M, settings.constType = 25, 2, 16, "qam"
        settings.domain, settings.prgsBar = "time", False
        settings.alg = parts[0]
        settings.L = [length for length in (parts[1], size - parts[1]) if length]
        settings.mu = [step] * len(settings.alg)
        soft = np.asarray(mimoAdaptEqualizer(channels, settings, sent))
        if not told:
            soft, _ = fourthPowerFOE(soft / np.sqrt(np.mean(abs(soft)**2)), BAUD)
            phases = parameters()
            phases.alg, phases.M, phases.N, phases.B, phases.runFOE = "bps", 16, 64, 64, False
            soft = cpr(soft, phases)
        soft = np.asarray(soft).T[:, :size]
        found.append(np.pad(soft, ((0, 0), (0, size - soft.shape[1]))))
    np.save(sys.argv[2], np.array(found, np.complex64))
