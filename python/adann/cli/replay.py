# SPDX-License-Identifier: GPL-3.0-or-later
"""adann replay"""

import click

from .. import core


@click.command()
@click.argument("file")
def replay(file: str) -> None:
    """Repeat what led to a rollback, step by step.

    FILE is what an equalizer with a checkpoint writes next to it when it rolls back:
    *.rollback.safetensors, with the latest batches and the state before them. The table has the
    loss and the mean confidence of each step, the symbol error rates that the guard estimated for
    each network, and which network decided after it.
    """
    from rich.console import Console
    from rich.table import Column, Table

    events = core.replay(file)
    table = Table("event", *(Column(name, justify="right") for name in (
        "step", "loss", "confidence", "offline", "adaptive", "last good")), "decides")
    for event in events:
        numbers = (event["loss"], event["confidence"]) if event["event"] == "step" else ("", "")
        table.add_row(event["event"], f"{event['step']:,}",
                      *(f"{value:.3g}" if value != "" else "" for value in numbers),
                      *(f"{rate:.2e}" for rate in event["guard_estimates"]), event["network"])
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has no width
    console.print(table)
    last = events[-1]["step"]
    rollbacks = [event for event in events if event["event"] == "rollback"]
    if not rollbacks or rollbacks[-1]["step"] != last:
        raise RuntimeError(f"{file}: step {last} rolled back when it was recorded, and does not "
                           "now: another version or instruction set (ADANN_ISA)?")
    click.echo(f"step {last:,}: rollback: {rollbacks[-1]['detail']}")
