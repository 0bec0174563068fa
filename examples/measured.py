# SPDX-License-Identifier: GPL-3.0-or-later
"""What the examples on measured records share: train on the first part, equalize all of it."""

import json
import subprocess
from pathlib import Path

from gnuradio.adann.captures.files import write_capture

MODES = {"frozen": "off", "adaptive": "lockstep"}


def train_and_equalize(directory, samples, sample_rate, labels, trained_on, model, adaptation=()):
    """Write the capture and its reference, train on its first symbols, equalize, print a table.

    samples: float32 or complex64; labels: uint8, one for each symbol of the capture;
    trained_on: how many symbols, from the first on, the network sees with their labels;
    model: options of `adann train`; adaptation: further options of the adaptive `adann equalize`.
    The commands' files and frozen.json and adaptive.json, the reports, are left in `directory`.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    write_capture(directory / "capture.sigmf-meta", samples, sample_rate)
    labels.tofile(directory / "reference.u8")
    record = ["--capture", directory / "capture.sigmf-meta",
              "--reference", directory / "reference.u8"]
    network = ["--model", directory / "model.safetensors"]

    adann("train", *record, *model, "--fraction", trained_on / labels.size, "-o", network[1])
    # A block as long as the part trained on: the first block is that part, the others the rest.
    for name, mode in MODES.items():
        adann("equalize", *network, *record, "--mode", mode, "--block", trained_on,
              *(adaptation if mode != "off" else ()), "--report", directory / f"{name}.json")

    print(f"\n{'network':10} {'symbols':24} {'errors':>6} {'symbol error rate':>18}")
    for name in MODES:
        blocks = json.loads((directory / f"{name}.json").read_text())["blocks"]
        for part, some in ("trained on", blocks[:1]), ("not trained on", blocks[1:]):
            symbols, errors = (sum(block[count] for block in some)
                               for count in ("symbols", "symbol_errors"))
            print(f"{name:10} {f'{symbols} {part}':24} {errors:6} {errors / symbols:18.1e}")


def adann(*arguments):
    """Run a command as it would be typed; it says itself what is wrong if it fails."""
    command = ["adann", *map(str, arguments)]
    print("$", *command, flush=True)
    if status := subprocess.run(command).returncode:
        raise SystemExit(status)
