# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands share: progress bars, and the check of where they will write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from .. import core
from . import interrupts


@contextlib.contextmanager
def progress_bar(description: str, total: int | None) -> Iterator[Callable]:
    """Yield update(completed, note="", total=total): a bar on stderr if that is a terminal, else
    nothing. total: None if it is not known yet. update raises KeyboardInterrupt where one was lost."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda completed, note="", total=total: interrupts.check()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"),
               TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=total, note="")

        def update(completed: float, note: str = "", total: float | None = total) -> None:
            interrupts.check()
            progress.update(task, completed=completed, note=note, total=total)

        yield update


def constellation_option(required: bool = True) -> Callable:
    """--constellation, as core.constellation; None where it is not required and not given."""
    def made(context: click.Context, parameter: click.Parameter,
             value: str | None) -> core.constellation | None:
        try:
            return core.constellation(value) if value else None
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    names = ", ".join(core.constellation.names())
    return click.option(
        "--constellation", required=required, callback=made, metavar="NAME|FILE",
        help=f"{names}; gr:bpsk, gr:qpsk, gr:dqpsk, gr:8psk, gr:16qam: labels as in GNU Radio's own "
             "constellation objects; or points in label order: a .json file with a list of "
             "[re, im].")


@contextlib.contextmanager
def about(*paths: object) -> Iterator[None]:
    """Put the files' names before what is said to be wrong with their contents."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{', '.join(map(str, paths))}: {error}") from error


def printable(text: object) -> str:
    """Text from files of strangers, its control characters escaped: they command no terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode()
                   for each in str(text))


def check_outputs(*paths: str | Path | None) -> None:
    """Refuse before hours of work what could not be written after them; None is skipped."""
    for path in (path for path in paths if path):
        if not Path(path).parent.is_dir():
            raise ValueError(f"{path}: its folder does not exist")
        if Path(path).is_dir():
            raise ValueError(f"{path}: a folder")
