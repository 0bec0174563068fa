# SPDX-License-Identifier: GPL-3.0-or-later
"""adann equalize"""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .. import core
from ..offline.presets import PRESETS, WARNINGS
from . import interrupts
from .results import evaluate, print_table, write_results
from .settings import AUTOMATIC, setting_options
from .terminal import Whole, about, check_outputs, part_options
from .watch import watch

_OF_STREAMS = {"input", "soft_symbol", "known_symbols", "training_sequence", "training_start_tag", "burst_end_tag",
               "after_burst"}
OPTIONS = [name for name in core.equalizer_settings() if name not in _OF_STREAMS]  # files have no tags
if TYPE_CHECKING:
    from ..captures.files import Capture

_FAR = 6.0  # dB of MER below that of the training
REPORT_INTERVAL = 60.0  # s between two reports of what is not complete
OWN_DEFAULTS = {"mode": "lockstep"}  # a file has all the time


class _Pattern(click.ParamType):
    name = "pattern"

    def convert(self, value: Any, param: click.Parameter | None,
                ctx: click.Context | None) -> tuple[list[int], int, int]:
        if not re.fullmatch(r"\d+(,\d+)*:\d+:\d+", value):
            self.fail(f"{value!r}, allowed: LABELS:PERIOD:OFFSET, such as 0,3,3,1:64:0", param, ctx)
        labels, period, offset = value.split(":")
        numbers = [int(label) for label in labels.split(",")]
        if max(numbers) > 255:
            self.fail(f"label {max(numbers)}, allowed: those of the constellation, and 255 where not known", param, ctx)
        return numbers, int(period), int(offset)


@click.command()
@click.option("--model", required=True, metavar="FILE",
              help="As written by adann train, or a checkpoint to continue from.")
@click.option("--capture", "captures", required=True, multiple=True, metavar="FILE",
              help="Received samples; several are equalized one after the other.")
@click.option("--reference", "references", multiple=True, metavar="FILE",
              help="The labels sent, one file per capture: errors are counted.")
@click.option("--known", "known_files", multiple=True, metavar="FILE",
              help="Labels of known symbols, one file per capture and one label per symbol, 255 where not known: "
                   "they are learnt as the truth.")
@click.option("--known-pattern", "patterns", multiple=True, metavar="LABELS:PERIOD:OFFSET", type=_Pattern(),
              help="Known symbols that repeat, such as 0,3,255,1:64:0: labels, 255 where not known, the period and the "
                   "first label's place in it; where that begins is found. Several make one frame.")
@click.option("--preset", default="default", type=click.Choice(list(PRESETS)),
              help="The settings that the options below do not give.")
@setting_options(*OPTIONS, of=core.equalizer_settings(), **OWN_DEFAULTS)
@part_options
@click.option("--block", default=8192, type=Whole(1),
              help="Symbols of one reported block.")
@click.option("--monitor", metavar="PORT", type=click.IntRange(1, 65535),
              help="Publish the status as JSON over ZeroMQ PUB on this port of 127.0.0.1.")
@click.option("-o", "--output", metavar="FILE", help="The decided labels of all captures: .u8.")
@click.option("--report", "report_path", metavar="FILE", help="Everything counted: .json.")
@click.option("--page", metavar="FILE", help="What a scope shows, on one page: .pdf, .png or .svg.")
@click.option("--plot", metavar="FILE", help="BER over blocks: .png, .pdf or .svg.")
@interrupts.held()
def equalize(model: str, captures: tuple[str, ...], references: tuple[str, ...],
             known_files: tuple[str, ...], patterns: tuple[tuple[list[int], int, int], ...], preset: str,
             skip: int, symbols: int | None, block: int, monitor: int | None, output: str | None,
             report_path: str | None, page: str | None, plot: str | None, **options: object) -> None:
    """Decide the symbols of captures while the network adapts to them.

    Memory does not grow with the captures. Labels are written as they are decided, to the output's name and .part
    until all are, into a device or a FIFO when all are; the report is written each minute. Between the bursts of a
    capture (adann resample --bursts) labels are 255.

    The table: blocks to 1e-3 is how many blocks pass until the mean BER of the latest 8 and that of all that follows
    is below 1e-3; final BER, the mean of the last 8 blocks. Intervals are 95 % (Clopper-Pearson).
    NGMI is the generalized mutual information of the soft bits per bit, the rate of an ideal code; code rate, the
    highest one of DVB-S2 whose pre-FEC limit it meets. They are given where all references are wholly known and no
    capture has bursts; the report has GMI, bits a symbol, too. MER and EVM are those at the end, of what the network
    sees.

    The report's "scope" has what a sampling oscilloscope shows of each capture's last 32768 symbols, or of its longest
    burst: eye, levels, RLM, SNDR, TDECQ, pulse response, MER. It also says what has no meaning, and why.

    Ctrl-C stops it: what has been decided is counted and written, and the report says
    "complete": false.
    """
    from ..captures.files import cut, read_captures
    from ..captures.outputs import growing_output, is_stream
    from ..captures.statistics import error_vector_magnitude
    from ..offline.equalize import equalize_captures, measure_capture, prepare_capture
    from ..offline.evaluate import RunningErrors, aligned_reference, all_known
    from ..offline.guess import name_of
    from ..offline.page import write_page
    from ..offline.training import residual_of

    if references and len(references) != len(captures):
        raise click.UsageError(f"{len(references)} --reference for {len(captures)} --capture; "
                               "give one for each, or none")
    if known_files and len(known_files) != len(captures):
        raise click.UsageError(f"{len(known_files)} --known for {len(captures)} --capture; give one for each, or none")
    if known_files and patterns:
        raise click.UsageError("--known and --known-pattern: give one of them")
    settings: dict = {**{name: setting.default for name, setting in core.equalizer_settings().items()},
                **OWN_DEFAULTS, **PRESETS[preset],
                **{name: value for name, value in options.items() if value is not None}}
    settings.update({name: None for name, value in settings.items() if value == AUTOMATIC})
    mode = settings["mode"]
    if patterns:
        settings["known_symbols"] = list(patterns)
    if (known_files or patterns) and mode == "off":
        raise click.UsageError("--known and --known-pattern need --mode lockstep or live")
    if settings["checkpoint"] and mode == "off":
        raise click.UsageError("--checkpoint needs --mode lockstep or live")
    if plot and not references:
        raise click.UsageError("--plot needs --reference")
    for name, picture in (("--plot", plot), ("--page", page)):
        if picture and Path(picture).suffix not in (".png", ".pdf", ".svg"):
            raise click.UsageError(f"{name} {picture}: allowed: .png, .pdf, .svg")
    check_outputs(output, report_path, page, plot, settings["checkpoint"],
                  inputs=(*captures, *references, *known_files))
    check_outputs(output, report_path, page, plot, inputs=[model])  # a checkpoint may be the model that it goes on from
    if preset in WARNINGS:
        click.echo(f"warning: --preset {preset}: {WARNINGS[preset]}", err=True)
    trained = core.load_model(model)
    prepared, known = [], []
    for number, capture in enumerate(read_captures(captures, references, trained.constellation.size)):
        if known_files:
            known.append(_read_known(known_files[number], capture, trained)[skip:])
        with about(capture.path):
            prepared.append(prepare_capture(cut(capture, skip, symbols, trained.sps), trained))

    report: dict = {
        "complete": False, "adaptation": {name: settings[name] for name in ("mode", "loss", "batch")},
        "model": str(model), "preset": preset, "settings": settings, "block": block}
    sizes = [capture.samples.size // trained.sps for capture in prepared]
    errors = None
    if references and all(all_known(trained.constellation.size, capture.reference) and not capture.bursts
                          for capture in prepared):
        errors = RunningErrors(trained.constellation, sizes, [capture.reference for capture in prepared], block)
    grows, reported = report_path and not is_stream(report_path), time.monotonic()
    with growing_output(output) as part, watch(sum(sizes), block, errors, monitor) as watching:
        def progress(labels: dict) -> None:
            nonlocal reported
            watching.progress(labels["equalizer"])
            if grows and time.monotonic() - reported > REPORT_INTERVAL:
                decided = np.split(labels["equalizer"], np.cumsum(sizes)[:-1])
                runs = evaluate(prepared, decided, trained.constellation, trained.sps, block, quiet=True)
                write_results(runs, report, report_path)
                reported = time.monotonic()

        by_name, seconds = equalize_captures(
            model, prepared, {"equalizer": settings}, progress, watching.status if watching.wanted else None,
            stop=interrupts.come, files={"equalizer": part}, counted={"equalizer": errors} if errors else None,
            soft=["equalizer"] if report_path or page else [], known=known or None)
        received = by_name["equalizer"]
        runs = evaluate(prepared, received.labels, trained.constellation, trained.sps, block)
    if errors:
        runs = [replace(run, gmi=gmi) for run, gmi in zip(runs, errors.gmis())]
    if report_path or page:
        constellation, sps = trained.constellation, trained.sps
        runs = [replace(run, scope=measure_capture(
            capture, soft, labels, partial(aligned_reference, labels, capture.reference, constellation, block),
            constellation, sps)) for run, capture, soft, labels in zip(runs, prepared, received.soft, received.labels)]
    rate = sum(map(len, received.labels)) / seconds / 1e6
    report["adaptation"] |= {"steps": received.steps, "dropped": received.dropped, "rejected": received.rejected}
    write_results(runs, {
        **report, "complete": received.complete, "rollbacks": received.rollbacks,
        "estimated_ber": received.estimated_ber, "mer": received.mer,
        "evm": None if received.mer is None else error_vector_magnitude(received.mer),
        "known_position": received.known_position, "msymbols_per_second": rate}, report_path, plot)
    if page and runs:
        write_page(page, [(Path(run.file).name, run.scope, run.latest(), run.entry()) for run in runs])
    print_table(runs)
    for capture in prepared:
        if capture.samples.lost:
            click.echo(f"{capture.path}: {capture.samples.lost} of {capture.samples.size} samples are not finite: "
                       "taken as 0")
    click.echo(f"{mode}, {settings['loss']}: {received.steps} steps of {settings['batch']} symbols, "
               f"{received.dropped} dropped, {received.rejected} rejected, "
               f"{received.rollbacks} rollbacks; {rate:.2f} Msymbols/s")
    if patterns:
        click.echo("known symbols: " + ("not found" if received.known_position is None else
                                        f"frames start at symbol {received.known_position}"))
    if received.mer is not None:
        click.echo(f"MER at the end {received.mer:.1f} dB, EVM {100 * error_vector_magnitude(received.mer):.1f} %")
        if trained.waveform and received.mer < -residual_of(trained.waveform) - _FAR:
            click.echo(f"warning: MER at the end {received.mer:.1f} dB, of the model's training "
                       f"{-residual_of(trained.waveform):.1f} dB: a much worse link, or another constellation than "
                       f"{name_of(trained.constellation)}", err=True)
    if received.estimated_ber:
        click.echo("BER at the end, estimated without labels: {ber:.1e} ({low:.1e} to {high:.1e})"
                   .format(**received.estimated_ber)
                   + ("" if received.estimated_ber["trustworthy"] else
                      f", not trustworthy: {received.estimated_ber['untrusted']}"))
    elif settings["guard"] and mode != "off" and not core.losses[settings["loss"]].supervised:
        click.echo(f"no guard and no estimated BER: {model} has neither its error rate nor an expected waveform; "
                   "adann train writes models that have both, from 200 symbols on"
                   if math.isnan(trained.symbol_error_rate) and not trained.waveform
                   else "no estimated BER: fewer than 4096 symbols were learnt from")
    if mode == "live" and received.dropped:
        click.echo("live never waits for the adapter, and is for receivers; --mode lockstep waits for each step")


def _read_known(path: str, capture: Capture, trained: core.model) -> np.ndarray:
    """The labels of a capture's known symbols, checked."""
    from ..captures.files import read_reference

    labels, symbols = read_reference(path, trained.constellation.size), capture.samples.size // trained.sps
    if labels.size != symbols:
        raise ValueError(f"{path}: {labels.size} labels, but {capture.path} has {symbols} symbols")
    return labels
