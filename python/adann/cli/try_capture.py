# SPDX-License-Identifier: GPL-3.0-or-later
"""adann try"""

import shlex
from pathlib import Path

import click

from .. import core
from . import interrupts
from .terminal import (
    POSITIVE,
    Finite,
    Whole,
    about,
    capture_files,
    check_folder,
    constellation_option,
    part_options,
    progress_bar,
    recording_options,
    settled,
    symbol_rate_of,
)


@click.command("try")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--reference", metavar="FILE", help="The labels sent, 255 where not known: .u8.")
@constellation_option(required=False)
@click.option("--baud", type=POSITIVE, help="Symbols per second, if known.")
@recording_options
@part_options
@click.option("--sps", default=4, type=click.IntRange(1, 64), help="Samples per symbol to work with.")
@click.option("--half-window", default=5, type=click.IntRange(0, 255),
              help="Symbols on each side of the one decided.")
@click.option("--fraction", default=0.25, type=Finite(0, 0.9, min_open=True),
              help="Part, from the start, that everything is fitted to; the rest tests.")
@click.option("--seed", default=0, type=Whole(0))
@click.option("-o", "--output", metavar="DIR", default="adann-try",
              type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the resampled capture, the model, the report and the pictures.")
@interrupts.held()
def try_capture(files: tuple[str, ...], reference: str | None, constellation: core.constellation | None,
                baud: float | None, sample_rate: float | None, channel: str | None, kind: str | None, skip: int,
                symbols: int | None, sps: int, half_window: int, fraction: float, seed: int, output: Path) -> None:
    """From a FILE at any rate to a verdict: does an adaptive equalizer help here?

    A capture, or what adann import reads. What is not given is found: carrier, symbol rate, phase and clock offset,
    bursts, constellation. A network is trained on the first quarter (of short records up to half), with the labels of
    --reference or blindly. The rest is decided by a slicer, a linear equalizer (least squares, the network's window),
    the network frozen, and AdaNN.

    The first line says which findings are uncertain, and the option that settles each.

    The table: symbols that nothing was fitted to; errors among them; the bit error rate with its 95 %
    interval (Clopper-Pearson). Without a reference errors cannot be counted: where the four decide differently, those
    decisions count as refuted whose residual is larger than another one's.

    What a scope shows follows, of the last 32768 symbols or of the longest burst, with reasons for what is missing;
    report.json and report.pdf have it, too.
    """
    from rich.console import Console
    from rich.table import Column, Table

    from ..captures.files import read_reference, write_capture
    from ..captures.recordings import read_recording
    from ..offline.guess import name_of
    from ..offline.page import reasons_of, table_of, write_page
    from ..offline.report import write_report
    from ..offline.trial import draw
    from ..offline.trial import try_capture as run

    model, picture = output / "model.safetensors", output / "try.png"
    report, page = output / "report.json", output / "report.pdf"
    check_folder(output, *capture_files(output / "capture"), model, picture, report, page,
                 inputs=(*files, reference))
    record, _ = read_recording(files, channel, kind, sample_rate)
    if reference:
        if constellation is None:
            raise click.UsageError("--reference needs --constellation: what its labels mean")
        record.reference = read_reference(reference, constellation.size)
    told, baud = record.sample_rate is not None, symbol_rate_of(record, baud)
    with about(*files), progress_bar("trying", 100) as update:
        trial = run(record, baud, constellation, sps, half_window, fraction, seed, skip, symbols,
                    lambda text, part: update(100 * part, text), interrupts.come)
    output.mkdir(exist_ok=True)
    meta = write_capture(output / "capture", trial.samples, trial.symbol_rate * sps if told else None,
                         f"{Path(files[0]).name}, resampled to {sps} a symbol",
                         {"core:recorder": "adann try"}, trial.symbol_rate if told else None, trial.bursts)
    core.save_model(model, trial.model)
    draw(picture, trial)
    write_report(report, {"symbol_rate": trial.symbol_rate, "constellation": name_of(trial.constellation),
                          "rows": [vars(row) for row in trial.rows], **trial.scored, "scope": trial.scope.entry()})
    write_page(page, [(Path(files[0]).name, trial.scope, trial.rates, trial.scored)])

    if trial.doubtful:
        click.echo(f"doubtful: {'; '.join(map(settled, trial.doubtful))}")
    for sentence in trial.said:
        click.echo(settled(sentence))
    columns = ["refuted by the samples"] if trial.blind else ["symbol errors", "BER", "95 % interval"]
    table = Table("", *(Column(name, justify="right") for name in ("symbols", *columns)))
    for row in trial.rows:
        cells = [row.name, f"{row.symbols:,}", f"{row.errors:,}"]
        if not trial.blind:
            low, high = core.clopper_pearson(row.bit_errors, row.bits)
            cells += [f"{row.bit_errors / row.bits:.2e}", f"{low:.1e} to {high:.1e}"]
        table.add_row(*cells)
    console = Console()
    Console(width=None if console.is_terminal else 120).print(table)
    for name, value in table_of(trial.scope, trial.scored):
        if value != "–":
            click.echo(f"{name}: {value}")
    for sentence in reasons_of(trial.scope):
        click.echo(sentence)
    click.echo(trial.verdict)
    training = ["--reference", reference] if reference else ["--blind"]
    click.echo("Next, with other settings of training or of adaptation:")
    for command in (["train", "--capture", meta, *training, "--constellation", name_of(trial.constellation),
                     "--sps", sps, "--half-window", half_window,
                     *(["--fraction", f"{trial.fraction:.3g}"] if trial.fraction != 0.25 else []), "-o", model],
                    ["equalize", "--model", model, "--capture", meta,
                     *(["--reference", reference] if reference else []), "-o", output / "labels.u8"]):
        click.echo(f"  adann {shlex.join(map(str, command))}")
    click.echo(f"picture: {picture}; what a scope shows: {page}, {report}")
