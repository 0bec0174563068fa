# SPDX-License-Identifier: GPL-3.0-or-later
"""adann separate"""

from __future__ import annotations

import io
from pathlib import Path

import click

from .. import core
from . import interrupts
from .terminal import about, capture_files, check_outputs, constellation_option


@click.command()
@click.option("--capture", "captures", required=True, multiple=True, metavar="FILE",
              help="Received samples of the channels, complex, sampled together: a SigMF pair of them all, or once "
                   "for each.")
@click.option("--model", metavar="FILE", help="A model of one transmitter: .safetensors.")
@click.option("--reference", "references", multiple=True, metavar="FILE",
              help="The labels that a transmitter sent: .u8; once for each, instead of --model.")
@constellation_option(required=False)
@click.option("--sps", type=click.IntRange(1, 64), help="Samples per symbol; a model has its own.")
@click.option("--outputs", type=click.IntRange(1, 8),
              help="Transmitters; if not given, as many as channels.")
@click.option("--length", default=12, type=click.IntRange(1, 64), help="Symbols that the taps span.")
@click.option("--matrix", metavar="FILE", help="Also the taps at the end, for adann export --matrix: .npy.")
@click.option("--report", "report_path", metavar="FILE", help="What each output came to: .json.")
@click.option("-o", "--output", "paths", required=True, multiple=True, metavar="FILE",
              help="The capture of a transmitter: .sigmf-meta; once for each.")
def separate(captures: tuple[str, ...], model: str | None, references: tuple[str, ...],
             constellation: core.constellation | None, sps: int | None, outputs: int | None, length: int,
             matrix: str | None, report_path: str | None, paths: tuple[str, ...]) -> None:
    """Make one capture for each transmitter of several channels, in which they are mixed.

    The two polarisations of light, or one transmitter received by several antennas (--outputs 1).
    Sample i*sps is the middle of symbol i in all channels.

    With --reference, least squares to the labels: what adann train takes. With --model, an adaptive
    filter, which starts blindly: the order of the transmitters and rotations of the constellation
    stay open. Then adann equalize takes each of the captures.

    A residual carrier of the channels is found, up to a hundredth of a cycle per symbol, tracked and removed.

    The modulation error ratio of an output is relative to the points nearest to its symbols. With --reference its bit
    error rate, too, is of these points, with its 95 % interval (Clopper-Pearson). Where many are wrong the ratio is
    too good. So is the rate on the first 65,536 symbols, which the taps were fitted to.
    """
    import numpy as np

    from ..captures.files import check_rates, read_channels, read_reference, write_capture
    from ..captures.outputs import write_files
    from ..offline.evaluate import count
    from ..offline.report import write_report
    from ..offline.separate import channel_labels, nearest_points, prepare_channels, separate_known
    from ..offline.separate import separate as separate_blindly

    if bool(model) == bool(references):
        raise click.UsageError("give --model or --reference, and not both")
    if matrix and not matrix.endswith(".npy"):
        raise click.BadParameter(f"{matrix}, allowed: a name that ends in .npy", param_hint="--matrix")
    check_outputs(*(file for path in paths for file in capture_files(path)), matrix, report_path,
                  inputs=(*captures, model, *references))
    trained = core.load_model(model) if model else None
    if trained:
        sps = trained.sps
    elif not (constellation and sps):
        raise click.UsageError("--reference needs --constellation and --sps")
    records = [channel for path in captures for channel in read_channels(path)]
    transmitters = len(references) or outputs or len(records)
    if len(paths) != transmitters:
        raise click.UsageError(f"{transmitters} transmitters need as many -o, {len(paths)} given")
    for record in records:
        with about(record.path):
            check_rates(record, sps)
    with about(*captures):
        channels = prepare_channels([record.samples for record in records], sps)
    labels: list[np.ndarray] = []
    if trained:
        constellation = trained.constellation
        with about(*captures):
            done = separate_blindly(trained, channels, transmitters, length=length)
    else:
        for path in references:
            with about(path):
                labels.append(channel_labels(channels, read_reference(path, constellation.size),
                                             constellation, sps))
        with about(*references):
            done = separate_known(channels, labels, constellation, sps, length)
    rate, baud = records[0].sample_rate, records[0].symbol_rate
    with interrupts.held():
        if matrix:
            contents = io.BytesIO()
            np.save(contents, done.matrix)
            write_files(Path(matrix).parent, {Path(matrix).name: contents.getvalue()})
        entries = []
        for number, (path, stream) in enumerate(zip(paths, done.streams)):
            meta = write_capture(path, stream, rate, f"transmitter {number} of "
                                 + ", ".join(Path(each).name for each in captures),
                                 {"core:recorder": "adann separate"}, baud)
            decided, ratio = nearest_points(stream, constellation, sps)
            entry: dict = {"file": str(meta), "symbols": decided.size, "modulation_error_ratio": ratio,
                           "frequency": float(done.frequencies[number])}
            said = f"modulation error ratio {ratio:.1f} dB"
            if done.status:
                entry["starts"] = done.status[number].starts
                said = f"{entry['starts']} starts, {said}"
            else:
                errors = count(decided, labels[number], constellation.bits_per_symbol, decided.size)
                entry |= {"reference": references[number], "bit_errors": int(errors.bit_errors.sum()), **errors.rate()}
                said += ", BER {ber:.1e} (95 %: {ci95[0]:.1e} to {ci95[1]:.1e})".format(**entry)
            entries.append(entry)
            click.echo(f"{meta}: {decided.size} symbols, {said}, carrier at {entry['frequency']:.1e} cycles a symbol")
        if report_path:
            write_report(report_path, {"captures": captures, "channels": len(records), "model": model,
                                       "constellation": constellation.name, "sps": sps, "length": length,
                                       "outputs": entries})
