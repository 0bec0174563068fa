# SPDX-License-Identifier: GPL-3.0-or-later
"""adann simulate: captures of a simulated link before and after it has drifted."""

from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from ..captures.files import write_capture
from ..captures.outputs import atomic_output
from ..links.coherent_link import BAUD_RATE as COHERENT_BAUD_RATE
from ..links.simulation import COHERENT_DRIFTS, VCSEL_DRIFTS, random_labels, simulate_coherent, simulate_vcsel
from ..links.vcsel_mmf_link import BAUD_RATE as VCSEL_BAUD_RATE
from . import interrupts
from .terminal import Whole, check_folder


@click.group()
def simulate() -> None:
    """Make captures of a simulated link that drifts."""


def _link_options(drifts: dict) -> Callable:
    """The options that the commands of all links have."""
    options = (
        click.option("-o", "--output", metavar="DIR", required=True,
                     type=click.Path(file_okay=False, path_type=Path),
                     help="Folder for set1 and set2: .sigmf-meta, .sigmf-data and .u8 of each."),
        click.option("--symbols", default=2**20, show_default=True, type=Whole(1),
                     help="Symbols in each of the two sets."),
        click.option("--sps", default=4, show_default=True, type=click.IntRange(2, 16),
                     help="Samples per symbol."),
        click.option("--drift", default="reference", show_default=True,
                     type=click.Choice(list(drifts)), help="What has changed in set2."),
        click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**30 - 2),
                     help="Of the symbols and the noise; the same seed gives the same bytes."))

    def decorate(command: Callable) -> Callable:
        for option in reversed(options):
            command = option(command)
        return command
    return decorate


@simulate.command()
@_link_options(VCSEL_DRIFTS)
def vcsel(output: Path, symbols: int, sps: int, drift: str, seed: int) -> None:
    """56 Gb/s PAM4 over a VCSEL and 100 m of OM4 fibre.

    set1 is for training; set2 holds other symbols, sent after the drift: reference, the fibre
    was moved and other modes are lit; strong, extreme, left, it was moved further; timing, the
    sampling instant is 0.1 symbols late; noise, 1 dB more; bias, the laser has aged; gain, the
    receiver has another gain and offset; combined, modes, timing and laser have changed.
    """
    _write_sets(output, symbols, sps, drift, seed, 2, simulate_vcsel, VCSEL_BAUD_RATE,
                "28 GBd PAM4 over a VCSEL and 100 m OM4")


@simulate.command()
@_link_options(COHERENT_DRIFTS)
def coherent(output: Path, symbols: int, sps: int, drift: str, seed: int) -> None:
    """128 Gb/s 16QAM over 960 km of fibre: one polarisation at a coherent receiver.

    set1 is for training; set2 holds other symbols, sent after the drift: reference, the fibre was
    moved, and is 17 K colder; strong, it is 31 K colder; extreme, it is 7 km longer; timing, the
    sampling instant is 0.1 symbols late; modulator, its bias control is lost; noise, 1 dB more;
    gain, the receiver has another gain and offset; combined, dispersion, timing, carrier phase
    and modulator bias have changed.
    """
    _write_sets(output, symbols, sps, drift, seed, 4, simulate_coherent, COHERENT_BAUD_RATE,
                "32 GBd 16QAM over 960 km")


def _write_sets(output: Path, symbols: int, sps: int, drift: str, seed: int, bits: int,
                simulate_link: Callable, baud_rate: float, link: str) -> None:
    check_folder(output, parents=True)
    output.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    sets = []
    for number, name in enumerate(("none", drift), 1):
        with console.status(f"set{number}: {symbols} symbols, drift {name}"):
            labels = random_labels(symbols, [seed, number], bits)
            sets.append((name, labels, simulate_link(labels, name, 2 * seed + number, sps)))
    with interrupts.held():
        for number, (name, labels, samples) in enumerate(sets, 1):
            with atomic_output(output / f"set{number}.u8") as path:
                path.write_bytes(labels.tobytes())
            meta = write_capture(
                output / f"set{number}.sigmf-meta", samples, sps * baud_rate,
                f"simulated {link}, {sps} samples/symbol, drift {name}, seed {seed}",
                symbol_rate=baud_rate)
            click.echo(f"{meta}: {symbols} symbols, drift {name}")
