# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures to train on in seconds, one of the shipped model's link, and the command `adann` over them."""

import pathlib

import numpy as np
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.cli import main
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel

MODEL = pathlib.Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors"
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


def drifted_capture(folder, symbols):
    """The path of a capture of MODEL's link after it has drifted; its reference is beside it, as .u8."""
    sent = random_labels(symbols, 3)
    write_capture(folder / "set", simulate_vcsel(sent, "reference", seed=4), 112e9)
    sent.tofile(folder / "set.u8")
    return folder / "set"


TRAIN = ("--constellation", "pam4", "--sps", SPS, "--half-window", HALF_WINDOW, "--optimizer",
         "adam", "--batch", 512, "--epochs", 20, "--hidden", "10,10")
