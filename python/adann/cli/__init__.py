# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `adann`."""

import os
import sys
from typing import Any

import click

from .. import core
from . import interrupts
from .doctor import doctor
from .equalize import equalize
from .export import export
from .import_capture import import_capture
from .import_network import import_network
from .mlse import mlse
from .quantize import quantize
from .replay import replay
from .reproduce import reproduce
from .resample import resample
from .separate import separate
from .simulate import simulate
from .terminal import forget_unwritten, notes_told, printable, show_all_names
from .train import train
from .try_capture import try_capture


class _Program(click.Group):
    """Reports a user's mistake in one line, with status 1; click itself gives wrong usage 2.

    An interrupted command ends with 130.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # of what click prints before it invokes anything: --help
            _tell(error)
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> None:
        show_all_names()
        try:
            with interrupts.answered():
                self._told(ctx)
        except KeyboardInterrupt:  # also as answered() begins and ends
            pass
        finally:
            if interrupts.come():
                click.echo("adann: interrupted", err=True)
                ctx.exit(interrupts.STATUS)

    def _told(self, ctx: click.Context) -> None:
        try:
            with notes_told():
                super().invoke(ctx)
        except click.UsageError as error:
            error.message = printable(error.message)
            raise
        except (click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise  # click's own ways out; some are RuntimeErrors
        except (ValueError, RuntimeError, OSError, ImportError) as error:
            _tell(error)
            ctx.exit(1)
        except MemoryError:
            click.echo("adann: not enough memory", err=True)
            ctx.exit(1)


def _tell(error: Exception) -> None:
    forget_unwritten()
    click.echo(f"adann: {printable(' '.join(_reason(error).split()))}", err=True)


def _reason(error: Exception) -> str:
    """What an exception says, of one of the system the file and the reason."""
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(map(os.fsdecode, filter(None, (error.filename, error.strerror))))
    return str(error)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"],
                                             "show_default": True})
@click.version_option(core.__version__, prog_name="adann", message="%(prog)s %(version)s")
def main() -> None:
    """AdaNN: a neural-network equalizer that keeps learning on the signal it receives."""


for command in (try_capture, train, equalize, replay, mlse, import_capture, resample, separate, import_network,
                quantize, export, simulate, reproduce, doctor):
    main.add_command(command)
