# SPDX-License-Identifier: GPL-3.0-or-later
"""adann mlse"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
import numpy as np

from .. import core
from . import interrupts
from .results import evaluate, print_table, write_results
from .settings import setting_options
from .terminal import Whole, about, check_outputs, constellation_option, part_options, progress_bar

if TYPE_CHECKING:
    from ..captures.files import Capture


@click.command()
@constellation_option()
@click.option("--sps", required=True, type=click.IntRange(1, 64), help="Samples per symbol.")
@click.option("--memory", default=5, type=click.IntRange(1, 64),
              help="Symbols that a sample depends on: for pam4 up to 10, for more points fewer.")
@click.option("--capture", "captures", required=True, multiple=True, metavar="FILE",
              help="Received samples; several are decided one after the other.")
@click.option("--reference", "references", required=True, multiple=True, metavar="FILE",
              help="The labels sent, one file per capture.")
@click.option("--training", default=8192, type=Whole(0),
              help="Symbols, from the start, that the first response is fitted to.")
@setting_options("adaptation", "update_interval", "step", of=core.mlse_settings())
@part_options
@click.option("--block", default=8192, type=Whole(1),
              help="Symbols of one reported block.")
@click.option("-o", "--output", metavar="FILE", help="The decided labels of all captures: .u8.")
@click.option("--report", "report_path", metavar="FILE", help="Everything counted: .json.")
@interrupts.held()
def mlse(constellation: core.constellation, sps: int, memory: int, captures: tuple[str, ...],
         references: tuple[str, ...], training: int, skip: int, symbols: int | None, block: int, output: str | None,
         report_path: str | None, **options: object) -> None:
    """Decide the symbols of captures by maximum-likelihood sequence estimation.

    The conventional equalizer that AdaNN is compared with: the response of a linear channel,
    fitted to known symbols and tracked by LMS, and the Viterbi algorithm. Memory does not grow with
    the captures. Ctrl-C stops it: what has been decided is counted and written, and the report says
    "complete": false.
    """
    from ..captures.alignment import known_labels
    from ..captures.files import cut, read_captures
    from ..captures.labels import UNKNOWN
    from ..captures.outputs import growing_output
    from ..offline.mlse import SymbolRows, decide

    if len(references) != len(captures):
        raise click.UsageError(f"{len(references)} --reference for {len(captures)} --capture; "
                               "give one for each")
    check_outputs(output, report_path, inputs=(*captures, *references))
    prepared, rows, known = [], [], []
    for capture in read_captures(captures, references, constellation.size):
        with about(capture.path):
            capture = cut(capture, skip, symbols, sps)
            prepared.append(_prepare(capture, sps))
            # Samples that were not finite carry no information.
            rows.append(SymbolRows(prepared[-1].samples.marked(), sps))
        with about(capture.reference_path, capture.path):
            known.append(known_labels(prepared[-1].samples, capture.reference, constellation.centred,
                                      sps))

    known_settings = core.mlse_settings()
    settings = {"memory": memory, **{name: known_settings[name].default if value is None else value
                                     for name, value in options.items()}}
    adaptation, update_interval = settings["adaptation"], settings["update_interval"]
    estimator = core.mlse(constellation, sps, complex=rows[0].dtype.kind == "c", **settings)
    if training:
        there = np.flatnonzero(known[0][:training] != UNKNOWN)
        part = slice(there[0], there[-1] + 1) if there.size else slice(0, 0)
        with about(references[0], captures[0]):
            estimator.response = core.least_squares_response(
                rows[0][part], known[0][part], constellation, memory)
    first_response = estimator.response
    total = sum(map(len, rows))
    with growing_output(output) as store, progress_bar("deciding", total) as update:
        decided, seconds = decide(estimator, rows, known,
                                  lambda done: update(done, f"{done:,} symbols"),
                                  stop=interrupts.come, path=store)
        runs = evaluate(prepared, decided, constellation, sps, block)
    rate = total / seconds / 1e6
    write_results(runs, {
        "complete": sum(map(len, decided)) == total,
        "adaptation": {"mode": adaptation, "batch": update_interval, "steps": estimator.updates,
                       "dropped": 0, "rejected": 0},
        "msymbols_per_second": rate, "settings": {**settings, "training": training},
        "response": {"first": _numbers(first_response), "last": _numbers(estimator.response)},
        "block": block}, report_path)
    print_table(runs)
    click.echo(f"memory {memory}, {adaptation}: {estimator.updates} updates of the response, every "
               f"{update_interval} symbols; {rate:.2f} Msymbols/s")


def _prepare(capture: Capture, sps: int) -> Capture:
    from ..captures.statistics import Normalized

    size = capture.samples.size
    if size < sps:
        raise ValueError(f"{size} samples are fewer than a symbol's {sps}")
    return replace(capture, samples=Normalized(capture.samples).cut(size // sps * sps))


def _numbers(response: np.ndarray) -> list:
    """As JSON has them: a complex tap is [re, im]."""
    if np.iscomplexobj(response):
        response = np.stack([response.real, response.imag], -1)
    return response.tolist()
