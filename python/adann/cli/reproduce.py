# SPDX-License-Identifier: GPL-3.0-or-later
"""adann reproduce"""

from pathlib import Path

import click

from .. import experiments
from .terminal import check_folder, progress_bar


@click.command()
@click.argument("experiment", type=click.Choice([*experiments.EXPERIMENTS, "all"]))
@click.option("-o", "--output", required=True, metavar="DIR",
              type=click.Path(file_okay=False, path_type=Path),
              help="Folder for results.json, table.md and the plots.")
@click.option("--quick", "scale", flag_value="quick", show_default=False,
              help="A small form, in less than a minute.")
@click.option("--long", "scale", flag_value="long", show_default=False,
              help="All; drift with 10^8 symbols without one, tracking with one of 10^7, generality "
              "with the held-out sets.")
@click.option("--scheduler", metavar="tcp://HOST:PORT",
              help="A dask scheduler whose workers have gr-adann; by default one worker runs on each "
              "core of this machine. Any number of workers gives the same results.")
def reproduce(experiment: str, output: Path, scale: str | None, scheduler: str | None) -> None:
    """Run an experiment on simulated links; its table and plots say how adaptation did.

    \b
    The paper's experiments, on its VCSEL link if nothing else is said:
    frozen      the network that adapts, and the one that does not
    taps        symbols that the network sees
    batch       batch sizes 128 to 32768
    optimizers  the six optimizers
    losses      Table I
    mlse        maximum-likelihood sequence estimation
    training    a network trained on the first symbols of each set
    weights     how much adaptation changes each layer
    complexity  what a step costs
    coherent    the same as frozen, on 960 km of fibre with 16QAM
    all         each of these, in a folder of its own, and summary.md: all claims

    drift: every drift of both links, and disturbances, for the frozen network, the losses, known
    labels, and the defaults.

    tracking: radio and optical links that keep moving, for AdaNN, GNU Radio's equalizers and
    Volterra equalizers.

    polarisations: two rotating polarisations, two antennas, and blind starts from random mixtures; OptiCommPy's
    equalizer too, if ADANN_OPTICOMMPY names a python that has it.

    quantization: networks in whole numbers of 4 to 16 bits, on three links.

    generality: randomly drawn links, each with a drift of drawn size: the defaults against the
    frozen network, one trained with labels, and the lowest error rates that are possible. --long takes the held-out
    sets.

    coded: links with raw bit error rates of 1e-2 to 0.15, static and moving: errors and GMI against
    the frozen network, GNU Radio's LMS equalizer and least squares that know all labels; networks
    trained at the same noise, and at 15 dB less. --long has five seeds.

    known: bursts whose known symbols lie where those of TETRA, VDL2, HFDL, DVB-S2 and DMR do: bursts lost, against LMS
    and least squares that know all symbols; and the information of streams with pilots.

    impairments: one impairment of a front end or channel at a time, in three strengths, against the
    same. --long takes the held-out seeds.

    coherent and polarisations read captures that are in the source archive, not in a package.
    """
    from ..experiments.cells import cluster
    from ..experiments.page import write_summary
    from ..experiments.provenance import provenance

    names = list(experiments.PAPER) if experiment == "all" else [experiment]
    experiments.check_captures(names)
    check_folder(output, parents=True)
    made_by = provenance()  # before it writes into a checkout
    with cluster(scheduler) as alone:
        if alone:
            click.echo(f"adann: {alone}", err=True)
        for name in names:
            folder = output / name if experiment == "all" else output
            folder.mkdir(parents=True, exist_ok=True)
            with progress_bar(name, None) as update:
                experiments.experiment(name)(folder, scale or "full", lambda done, total: update(
                    done, f"{done} of {total} cells", total))
            with (folder / "table.md").open("a") as page:
                page.write(f"\n{made_by}\n")
            click.echo((folder / "table.md").read_text())
            click.echo(f"wrote {folder}")
    if experiment == "all":
        write_summary(output, experiments.PAPER)
        click.echo(f"wrote {output / 'summary.md'}")
