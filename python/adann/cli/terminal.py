# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands share: progress bars, and the check of where they will write."""

from __future__ import annotations

import codecs
import contextlib
import io
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from .. import core
from ..captures.notes import CaptureWarning
from ..offline.uncertain import Uncertain
from . import interrupts

if TYPE_CHECKING:
    from ..captures.files import Capture

_BYTE = 0xdc00  # os.fsdecode makes this and the byte of what is no UTF-8 (PEP 383)
_POINTS = "gnuradio.adann.points"  # in click's context: the file of --constellation
_SETTLES = {"symbol_rate": ": --baud settles it", "constellation": ": --constellation settles it",
            "reference": ": --reference with known symbols settles it", "fraction": " (--fraction)",
            "skip": ": --skip and --symbols choose a part", "": ""}


class ProgressLines:
    """Progress for what is no terminal: a line on stderr for each tenth that is done, from half a minute on, at most
    one in 5 s.

    clock: seconds, rising.
    """

    _QUIET, _INTERVAL = 30.0, 5.0  # s

    def __init__(self, description: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._description, self._clock = description, clock
        self._started = self._told = clock()
        self._tenths = 0

    def __call__(self, completed: float, total: float, note: str = "") -> None:
        """completed: of `total`."""
        now, tenths = self._clock(), int(10 * completed / total) if total else 0
        if not self._tenths < tenths < 10 or now - self._started < self._QUIET or now - self._told < self._INTERVAL:
            return
        self._told, self._tenths = now, tenths
        left = (now - self._started) * (total / completed - 1)
        click.echo(f"{self._description}: {10 * tenths} %, about {left:.0f} s left{note and ', '}{note}", err=True)


@contextlib.contextmanager
def progress_bar(description: str, total: int | None) -> Iterator[Callable]:
    """Yield update(completed, note="", total=total): a bar on stderr if that is a terminal, else
    ProgressLines. total: None if it is not known yet. update raises KeyboardInterrupt where one was lost."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        lines = ProgressLines(description)

        def tell(completed: float, note: str = "", total: float | None = total) -> None:
            interrupts.check()
            lines(completed, total or 0, note)

        yield tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"),
               TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=total, note="")

        def update(completed: float, note: str = "", total: float | None = total) -> None:
            interrupts.check()
            progress.update(task, completed=completed, note=note, total=total)

        yield update


class Finite(click.FloatRange):
    """A number in a range, which infinity and nan are not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not finite.", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number in a range, of 64 bits at most."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = super().convert(value, param, ctx)
        if number >= 2**63:
            self.fail(f"{str(number):.30} is above 2^63 - 1.", param, ctx)
        return number


#: Rates, for options.
POSITIVE = Finite(0, min_open=True)


def recording_options(command: Callable) -> Callable:
    """--channel, --type and --sample-rate: what captures.recordings.recorded_channels asks for."""
    for option in (
            click.option("--sample-rate", "--rate", type=POSITIVE,
                         help="Samples per second, where the file has none or a wrong one."),
            click.option("--type", "kind", metavar="TYPE",
                         help="Of raw numbers: i16, f32, u8 ..., cf32 or ci16 where I and Q come in turn, i16be."),
            click.option("--channel", metavar="CHANNEL",
                         help="Which of several: one, a differential pair as 1-2, or I and Q as 1,2 (or "
                              "1-2,3-4), which gives complex samples; adann import makes several complex channels "
                              "of 1,2,3,4.")):
        command = option(command)
    return command


def symbol_rate_of(record: Capture, baud: float | None) -> float | None:
    """Symbols per second, as given or by the capture; None where neither has it. They need the sample rate."""
    baud = baud or record.symbol_rate
    if baud and not record.sample_rate:
        raise click.UsageError(f"{record.path} has no sample rate, which --baud {baud:.9g} needs: give --sample-rate "
                               "(--sample-rate 2 --baud 1: 2 samples a symbol)")
    return baud


def settled(sentence: str) -> str:
    """A sentence on what may be wrong, and the option that settles it; others as they are."""
    return sentence + _SETTLES[sentence.settled_by if isinstance(sentence, Uncertain) else ""]


def part_options(command: Callable) -> Callable:
    """--skip and --symbols: the part of a capture that is used."""
    command = click.option("--symbols", type=Whole(1), metavar="N",
                           help="Use so many symbols of a capture; if not given, all.")(command)
    return click.option("--skip", default=0, type=Whole(0), metavar="N",
                        help="Begin so many symbols after the start of a capture, and of its reference.")(command)


def constellation_option(required: bool = True) -> Callable:
    """--constellation, as core.constellation; None where it is not required and not given."""
    def made(context: click.Context, parameter: click.Parameter,
             value: str | None) -> core.constellation | None:
        if value and Path(value).is_file():
            context.meta[_POINTS] = [value]
        known = [*core.constellation.names(), *core.constellation.in_tree()]
        if value and value.lower() in known:
            value = value.lower()
        try:
            return None if value is None else core.constellation(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    names = ", ".join(core.constellation.names())
    return click.option(
        "--constellation", required=required, callback=made, metavar="NAME|FILE",
        help=f"{names}; gr:bpsk, gr:qpsk, gr:dqpsk, gr:8psk, gr:16qam: labels as in GNU Radio's own "
             "constellation objects; or points in label order: a .json file with a list of "
             "[re, im].")


@contextlib.contextmanager
def notes_told() -> Iterator[None]:
    """Print the notes on a capture, each once in a line; NumPy's warnings about a capture's numbers are not printed."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
             line: str | None = None) -> None:
        if not issubclass(category, CaptureWarning):
            others(message, category, filename, lineno, file, line)
        elif str(message) not in told:
            told.add(str(message))
            click.echo(f"adann: note: {printable(message)}", err=True)

    with warnings.catch_warnings():
        others = warnings.showwarning
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("always", CaptureWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def about(*paths: object) -> Iterator[None]:
    """Put the files' names before what is said to be wrong with their contents, and --baud after what is with the
    symbol rate."""
    try:
        yield
    except ValueError as error:
        from ..captures.timing import NoSymbolRateError, SymbolRateError

        advice = (": give --baud" if isinstance(error, NoSymbolRateError) else
                  " (--baud)" if isinstance(error, SymbolRateError) else "")
        raise ValueError(f"{', '.join(map(str, paths))}: {error}{advice}") from error


def printable(text: object) -> str:
    """Text from files of strangers, its control characters escaped: they command no terminal. So are bytes of a path
    that are no UTF-8."""
    return "".join(each if each.isprintable() else rf"\x{ord(each) - _BYTE:02x}" if _is_byte(each)
                   else each.encode("unicode_escape").decode() for each in str(text))


def show_all_names() -> None:
    """Standard output and standard error take any name of a file: its own bytes where they are no UTF-8; and ? for a
    character that the terminal has not."""
    codecs.register_error(__name__, _encoded)
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=__name__)


def forget_unwritten() -> None:
    """What standard output did not take: Python would try again at its end, say so, and end with 120."""
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _is_byte(character: str) -> bool:
    """Whether os.fsdecode makes it of a byte that is no UTF-8."""
    return _BYTE + 0x80 <= ord(character) <= _BYTE + 0xff


def _encoded(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    return bytes([ord(character) - _BYTE]) if _is_byte(character) else b"?", error.start + 1


def check_outputs(*paths: str | Path | None, inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuse before hours of work what could not be written after them, what is read as well, and two outputs in
    one file; None is skipped.

    inputs: what the command reads, captures as they are named.
    """
    from ..captures import sigmf
    from ..captures.outputs import is_stream

    taken = {}
    for given in (Path(path) for path in (*inputs, *_points_read()) if path):
        is_pair = given.suffix in sigmf.SUFFIXES or not given.exists()
        for file in sigmf.pair(given) if is_pair else [given]:
            taken[_identity(file)] = f"the same file as {given}, which is read; allowed: another one"
    for path in (Path(path) for path in paths if path):
        if path.is_dir():
            raise ValueError(f"{path}: a folder")
        if is_stream(path):
            continue
        if not Path(os.path.realpath(path)).parent.is_dir():
            raise ValueError(f"{path}: its folder does not exist")
        if reason := taken.get(_identity(path)):
            raise ValueError(f"{path}: {reason}")
        taken[_identity(path)] = "given for two outputs; allowed: a file for each"


def capture_files(path: str | Path) -> Sequence[str | Path]:
    """What captures.files.write_capture writes."""
    from ..captures import sigmf
    from ..captures.outputs import is_stream

    return [path] if is_stream(path) else sigmf.pair(Path(path))


def check_folder(path: Path, *files: str | Path, inputs: Iterable[str | Path | None] = (),
                 parents: bool = False) -> None:
    """check_outputs of the files in a folder, which itself need not be there, nor with `parents` the folder around
    it."""
    if path.is_dir():
        check_outputs(*files, inputs=inputs)
    elif path.exists():
        raise ValueError(f"{path}: not a folder")
    elif not parents and not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: its folder does not exist")


def _points_read() -> list[str]:
    context = click.get_current_context(silent=True)
    return context.meta.get(_POINTS, []) if context else []


def _identity(path: Path) -> object:
    try:
        about = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(path)
    return about.st_dev, about.st_ino
