# SPDX-License-Identifier: GPL-3.0-or-later
"""Two captures that a network can be trained on in seconds, and the command `adann` over them."""

import numpy as np
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.cli import main

RUNNER = CliRunner(mix_stderr=False)
SPS, HALF_WINDOW = 2, 2


def adann(*arguments):
    return RUNNER.invoke(main, [str(argument) for argument in arguments], prog_name="adann")


def make_set(folder, name, interference, count=30_000, seed=1):
    """PAM4 through one symbol of interference in noise, as a capture and its reference."""
    random = np.random.default_rng(seed)
    alphabet = core.constellation("pam4")
    labels = random.integers(0, 4, count).astype(np.uint8)
    sent = alphabet.points[labels].real
    received = np.repeat(sent + interference * np.roll(sent, 1), SPS)
    received = np.roll(received, -(SPS // 2)) + 0.4 * random.standard_normal(received.size)
    write_capture(folder / name, received.astype(np.float32), SPS * 28e9)
    labels.tofile(folder / f"{name}.u8")


TRAIN = ("--constellation", "pam4", "--sps", SPS, "--half-window", HALF_WINDOW, "--optimizer",
         "adam", "--batch", 512, "--epochs", 20, "--hidden", "10,10")
