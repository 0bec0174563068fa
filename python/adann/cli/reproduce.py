# SPDX-License-Identifier: GPL-3.0-or-later
"""adann reproduce"""

from pathlib import Path

import click

from ..experiments import EXPERIMENTS
from .terminal import progress_bar


@click.command()
@click.argument("experiment", type=click.Choice(list(EXPERIMENTS)))
@click.option("-o", "--output", required=True, metavar="DIR",
              type=click.Path(file_okay=False, path_type=Path),
              help="Folder for results.json, table.md and the plots.")
@click.option("--quick", "scale", flag_value="quick", show_default=False,
              help="A small form, in less than a minute.")
@click.option("--long", "scale", flag_value="long", show_default=False,
              help="All, and 10^8 symbols without drift.")
def reproduce(experiment, output, scale):
    """Run an experiment on simulated links; its table and plots say how adaptation did.

    drift: every drift of both links, and disturbances, for the frozen network, the losses, labels
    told, and the defaults.
    """
    output.mkdir(parents=True, exist_ok=True)
    with progress_bar(experiment, None) as update:
        EXPERIMENTS[experiment](output, scale or "full", lambda done, total: update(
            done, f"{done} of {total} cells", total))
    click.echo((output / "table.md").read_text())
    click.echo(f"wrote {output}")
