# SPDX-License-Identifier: GPL-3.0-or-later
"""adann equalize"""

from pathlib import Path

import click

from .. import core
from ..presets import PRESETS
from .terminal import about, check_outputs, progress_bar


@click.command()
@click.option("--model", required=True, metavar="FILE", help="As written by adann train.")
@click.option("--capture", "captures", required=True, multiple=True, metavar="FILE",
              help="Received samples; several are equalized one after the other.")
@click.option("--reference", "references", multiple=True, metavar="FILE",
              help="The labels sent, one file per capture: errors are counted.")
@click.option("--preset", default="default", type=click.Choice(list(PRESETS)),
              help="The settings that the options below do not give.")
@click.option("--mode", default="lockstep", type=click.Choice(core.modes))
@click.option("--loss", type=click.Choice(core.losses))
@click.option("--pseudo-label", type=click.Choice(core.pseudo_labels))
@click.option("--batch", type=int, help="Symbols of one adaptation step.")
@click.option("--optimizer", type=click.Choice(core.optimizers))
@click.option("--lr", "learning_rate", type=float, help="Learning rate.")
@click.option("--sigma", type=float, help="Deviation of the augmentation noise.")
@click.option("--epsilon", type=float, help="Length of the adversarial perturbation.")
@click.option("--balance", type=float, help="Weight of pattern balance; 0 for unscrambled data.")
@click.option("--average", type=int, help="Symbols that the weights in use average over.")
@click.option("--block", default=8192, type=click.IntRange(1),
              help="Symbols of one reported block.")
@click.option("--seed", default=0, type=click.IntRange(0), help="Of the noise.")
@click.option("-o", "--output", metavar="FILE", help="The decided labels of all captures: .u8.")
@click.option("--report", "report_path", metavar="FILE", help="Everything counted: .json.")
@click.option("--plot", metavar="FILE", help="BER over blocks: .png, .pdf or .svg.")
def equalize(model, captures, references, preset, mode, block, seed, output, report_path, plot,
             **options):
    """Decide the symbols of captures while the network adapts to them."""
    from ..captures import read_capture, read_reference
    from ..receive import equalize_captures, prepare_capture

    if references and len(references) != len(captures):
        raise click.UsageError(f"{len(references)} --reference for {len(captures)} --capture; "
                               "give one for each, or none")
    if plot and not references:
        raise click.UsageError("--plot needs --reference")
    if plot and Path(plot).suffix not in (".png", ".pdf", ".svg"):
        raise click.UsageError(f"--plot {plot}: allowed: .png, .pdf, .svg")
    check_outputs(output, report_path, plot)
    settings = {**PRESETS[preset], "mode": mode, "seed": seed,
                **{name: value for name, value in options.items() if value is not None}}
    trained = core.load_model(model)
    samples = []
    for path in captures:
        capture = read_capture(path)
        with about(path):
            samples.append(prepare_capture(capture.samples, trained))
    sent = [read_reference(path, trained.constellation.size) for path in references] or None

    with progress_bar("equalizing", sum(len(part) // trained.sps for part in samples)) as update:
        received, seconds = equalize_captures(
            model, samples, {"equalizer": settings}, sent,
            lambda symbols: update(symbols, f"{symbols:,} symbols"))
    received = received["equalizer"]
    errors = _count_errors(trained, samples, received.labels, captures, sent, references, block)

    _write(received, errors, trained, captures, block, output, report_path, plot, {
        "adaptation": {"mode": mode, "loss": settings["loss"], "batch": settings["batch"],
                       "steps": received.steps, "dropped": received.dropped,
                       "rejected": received.rejected},
        "msymbols_per_second": sum(map(len, received.labels)) / seconds / 1e6,
        "model": str(model), "preset": preset, "settings": settings, "block": block})


def _count_errors(trained, samples, decided, captures, sent, references, block):
    """Errors by block of each capture. Decisions that agree with no alignment of the reference are
    told on stderr, unless the reference is not this capture's at all: that is an error."""
    from ..alignment import find_delay
    from ..receive import count_errors

    if sent is None:
        return [None] * len(captures)
    errors = []
    for number, labels in enumerate(decided):
        errors.append(count_errors(labels, sent[number], trained.constellation.name, block))
        if errors[-1] is None:
            with about(references[number], captures[number]):
                find_delay(samples[number], sent[number], trained.constellation.points, trained.sps)
            click.echo(f"adann: {captures[number]}: the decisions agree with the reference no "
                       "better than by chance; errors are not counted", err=True)
    return errors


def _write(received, errors, trained, captures, block, output, report_path, plot, report):
    from ..captures import atomic_output
    from ..report import capture_report, write_plot, write_report

    bits = trained.constellation.bits_per_symbol
    parts = [capture_report(number, path, len(labels), bits, block, counted) for
             number, (path, labels, counted) in enumerate(zip(captures, received.labels, errors))]
    entries = [entry for entry, _ in parts]
    blocks = [row for _, rows in parts for row in rows]
    if output:
        with atomic_output(output) as temporary:
            with open(temporary, "wb") as file:
                for labels in received.labels:
                    labels.tofile(file)
    if report_path:
        write_report(report_path, {"blocks": blocks, "captures": entries, **report})
    if plot:
        write_plot(plot, {report["adaptation"]["mode"]: [rows for _, rows in parts]}, block)
    _print_table(entries, report)


def _print_table(entries, report):
    from rich.console import Console
    from rich.table import Column, Table

    def shown(value, form="{:.2e}"):
        return "–" if value is None else form.format(value)

    table = Table("capture", *(Column(name, justify="right") for name in (
        "symbols", "bit errors", "BER", "95 % interval", "blocks to 1e-3", "final BER")))
    for entry in entries:
        table.add_row(Path(entry["file"]).name, f"{entry['symbols']:,}",
                      shown(entry["bit_errors"], "{:,}"), shown(entry["ber"]),
                      shown(entry["ci95"], "{0[0]:.1e} to {0[1]:.1e}"),
                      shown(entry["convergence_blocks"], "{}"), shown(entry["final_ber"]))
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has no width
    console.print(table)
    counts = report["adaptation"]
    click.echo(f"{counts['mode']}, {counts['loss']}: {counts['steps']} steps of {counts['batch']} "
               f"symbols, {counts['dropped']} dropped, {counts['rejected']} rejected; "
               f"{report['msymbols_per_second']:.2f} Msymbols/s")
