#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follow a measured line from its sender to the far end of a backplane, as PAM4.

FOLDER holds CableTxP.txt, CableTxM.txt, ThruBackplaneP.txt and ThruBackplaneM.txt of
github.com/TeledyneLeCroy/SignalIntegrity: 2.5 Gb/s NRZ at 20 GS/s, at the sender and after the
backplane. The line is linear, so twice the record plus the record of 5000 bits before is what PAM4
would have been there: semi-measured. The network is trained on the sender's record, half of it with
labels; then the signal moves to the backplane's in five steps, the same 19,975 symbols in each.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from gnuradio.adann.captures.files import write_capture
from measured import MODES, adann

BIT_RATE = 2.5e9
SAMPLES = 8          # per bit, as recorded; 4 are kept
FIRST = 6            # sample that is the middle of the sender's first bit
LATE = 189           # samples that the backplane's record comes later
APART = 5000         # bits between the two that make a symbol
PARTS = 0, 0.25, 0.5, 0.75, 1  # of the backplane in the mixture
TRAINED_ON = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("-o", metavar="DIR", dest="directory", type=Path, required=True,
                        help="where captures, labels, model and reports go")
    parser.add_argument("--seed", type=int, default=0, help="of the adaptation (default: 0)")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)

    sender, backplane = (record(arguments.folder, name)[first:] for name, first in (
        ("CableTx", FIRST), ("ThruBackplane", FIRST + LATE)))
    length = min(sender.size, backplane.size) // SAMPLES * SAMPLES
    bits = (sender[:length:SAMPLES] > 0).astype(int)
    labels = np.array([0, 1, 3, 2], np.uint8)[2 * bits[APART:] + bits[:-APART]]
    files = []
    for number, part in enumerate(PARTS):
        mixture = (1 - part) * sender[:length] + part * backplane[:length]
        pam4 = 2 * mixture[APART * SAMPLES:] + mixture[:-APART * SAMPLES]
        files.append(arguments.directory / f"step{number}.sigmf-meta")
        write_capture(files[-1], pam4[::2].astype(np.float32), BIT_RATE * SAMPLES / 2)
    reference = arguments.directory / "reference.u8"
    model = arguments.directory / "model.safetensors"
    labels.tofile(reference)

    adann("train", "--capture", files[0], "--reference", reference, "--constellation", "pam4",
          "--sps", SAMPLES // 2, "--half-window", 5, "--optimizer", "adam", "--batch", 1024,
          "--fraction", TRAINED_ON, "-o", model)
    captures = [word for file in files for word in ("--capture", file, "--reference", reference)]
    for name, mode in MODES.items():
        adann("equalize", "--model", model, *captures, "--mode", mode, "--seed", arguments.seed,
              "--report", arguments.directory / f"{name}.json")

    print(f"\n{'network':10}" + "".join(f"{f'{part:.0%} backplane':>16}" for part in PARTS))
    for name in MODES:
        reports = json.loads((arguments.directory / f"{name}.json").read_text())["captures"]
        print(f"{name:10}" + "".join(f"{report['ber']:16.1e}" for report in reports))


def record(folder, name):
    """The differential signal of two files with a voltage on each line, unit power."""
    plus, minus = (np.loadtxt(folder / f"{name}{sign}.txt") for sign in "PM")
    signal = plus - minus
    signal -= signal.mean()
    return signal / signal.std()


if __name__ == "__main__":
    main()
