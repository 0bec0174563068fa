#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains the models of examples/models anew: what ./dev models runs."""

import subprocess
import sys
import tempfile
from pathlib import Path

import click
from gnuradio.adann import core
from gnuradio.adann.experiments import bursts

EXAMPLES = Path(__file__).resolve().parent
SYMBOLS = 2**20
PAPER = ("--preset", "paper", "--symbols", SYMBOLS)  # momentum, 200 epochs, 16384 symbols a step; a quarter of all
ADAM = (*PAPER, "--optimizer", "adam")


def run(*command):
    """Print a command and run it."""
    words = [str(word) for word in command]
    click.echo("$ " + " ".join(words))
    subprocess.run(words, check=True)


def train(capture, reference, output, constellation, sps, *options):
    run("adann", "train", "--capture", capture, "--reference", reference, "--constellation", constellation,
        "--sps", sps, "--half-window", 5, *options, "-o", output)


def vcsel_pam4(folder, output):
    """A quarter of set1 of the simulated VCSEL link, by the paper's recipe."""
    run("adann", "simulate", "vcsel", "-o", folder)
    train(folder / "set1.sigmf-meta", folder / "set1.u8", output, "pam4", 4, *PAPER)


def coherent_16qam(folder, output):
    """A quarter of set1 of the simulated coherent link, by Adam."""
    run("adann", "simulate", "coherent", "-o", folder)
    train(folder / "set1.sigmf-meta", folder / "set1.u8", output, "16qam", 4, *ADAM)


def sdr_bpsk(folder, output):
    """A recording without an echo, synchronized by the chain of sdr_headless.grc."""
    run(sys.executable, EXAMPLES / "sdr_recording.py", "-o", folder)
    run("grcc", "-o", folder, EXAMPLES / "sdr_headless.grc")
    (folder / "models").symlink_to(EXAMPLES / "models")  # the chain has an equalizer, too
    run(sys.executable, folder / "sdr_headless.py", "--recording", folder / "clean",
        "--synchronized", folder / "synchronized.c64")
    train(folder / "synchronized.c64", folder / "clean.u8", output, "pam2", 2, *ADAM, "--batch", 2048,
          "--epochs", 40)


def qpsk_packets(folder, output):
    """The transmitter of burst_live.grc, an amplifier in saturation, without a second ray and carrier."""
    click.echo("qpsk_packets: the network of adann.experiments.bursts")
    core.save_model(str(output), bursts.network_for(bursts.CASES["Doppler, amplifier"]))


MODELS = {maker.__name__: maker for maker in (vcsel_pam4, coherent_16qam, sdr_bpsk, qpsk_packets)}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(MODELS)))
@click.option("-o", "--output", metavar="DIR", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the models.")
def main(names, output):
    """Train the models named, or all."""
    output.mkdir(parents=True, exist_ok=True)
    for name in names or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            MODELS[name](Path(folder), output.resolve() / f"{name}.safetensors")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"train_models: {error}")
