#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Equalize a measured 16QAM radio-over-fibre link with the paper's network of 4 x 10 neurons.

CAPTURE is 10km_16QAM_28_3.mat of github.com/ArthurQianyiZhao/mmWave-AROF-Dataset: 99,990 symbols at
1 GBd, one sample each, after 10 km of fibre and a 28 GHz carrier, next to the symbols that were
sent. The link is nonlinear and treats I and Q unlike: a linear equalizer gets 0.81 of the symbols
wrong.

The payload is a pseudo-random sequence: each bit is the sum of those 17 and 20 bits, so up to 5
symbols, before it. The 15 symbols of the network's window hold them: what a network gets right here
it may in part have learnt about the sequence, not about the link. See README.md.
"""

import argparse

import numpy as np
import scipy.io
from gnuradio.adann import core
from measured import train_and_equalize

SYMBOL_RATE = 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", metavar="CAPTURE", type=argparse.FileType("rb"))
    parser.add_argument("-o", metavar="DIR", dest="directory", required=True,
                        help="where capture, labels, model and reports go")
    parser.add_argument("--trained-on", metavar="SYMBOLS", type=int, default=50_000,
                        help="how many, from the first on, are trained on (default: 50000)")
    parser.add_argument("--seed", type=int, default=0, help="of the training (default: 0)")
    arguments = parser.parse_args()

    received, sent = scipy.io.loadmat(arguments.capture)["dataToSave"].T
    points = np.array(core.constellation("16qam").points)
    # The file's symbols have unit power, neighbours of our points have a distance of 2: a power of 10.
    distances = abs(np.sqrt(10) * sent[:, None] - points)
    labels = distances.argmin(axis=1).astype(np.uint8)
    print(f"{labels.size} sent symbols, at most {distances.min(axis=1).max():.1e} from a point")

    train_and_equalize(
        arguments.directory, received.astype(np.complex64), SYMBOL_RATE, labels,
        arguments.trained_on,
        ["--constellation", "16qam", "--sps", 1, "--half-window", 7, "--hidden", "10,10,10,10",
         "--optimizer", "adam", "--lr", 0.005, "--batch", 4096, "--epochs", 400,
         "--seed", arguments.seed])


if __name__ == "__main__":
    main()
