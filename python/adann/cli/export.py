# SPDX-License-Identifier: GPL-3.0-or-later
"""adann export: a model's network for other programs and machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import core
from .terminal import about, check_folder, check_outputs

if TYPE_CHECKING:
    from ..export.frozen import Frozen

_SUFFIXES = {"onnx": ".onnx", "c": ".c", "hls": ""}


@click.command()
@click.argument("paths", metavar="MODEL...", nargs=-1, required=True)
@click.option("--format", "form", required=True, type=click.Choice(list(_SUFFIXES)),
              help="onnx: frames of samples to posteriors; c: one C99 file and its header; hls: a folder "
                   "of C++ for high-level synthesis, of a model that adann quantize made.")
@click.option("--front-filter", is_flag=True,
              help="Combine the front filter, with the taps that a checkpoint has, with the first layer: the window "
                   "becomes wider. The taps are constant in the export; a carrier's phase loop is not included.")
@click.option("--matrix", metavar="FILE",
              help="Combine a matrix of filters, for several channels, as adann separate --matrix writes it; with one "
                   "model after all outputs, or one for each. It is constant, too.")
@click.option("--capture", "captures", metavar="FILE", multiple=True,
              help="Samples as they will come, of several channels all, in one file or in one for each: their mean "
                   "and rms are removed in the export. Without it, samples of zero mean and unit power are "
                   "expected. A model in whole numbers with combined filters is rounded anew on it, and needs it; hls "
                   "uses it for nothing else.")
@click.option("-o", "--output", metavar="FILE|DIR", required=True, type=click.Path(path_type=Path),
              help="The file, .onnx or .c, or the folder of hls.")
def export(paths: tuple[str, ...], form: str, front_filter: bool, matrix: str | None, captures: tuple[str, ...],
           output: Path) -> None:
    """Write a model's network for other programs and machines.

    The network is exported as it is in the file, with its windows. It does not adapt there.
    """
    from ..captures.files import read_channels
    from ..captures.outputs import write_files
    from ..export.c_source import c_source
    from ..export.fold import fold_matrix, read_matrix
    from ..export.frozen import Frozen
    from ..export.hls_source import hls_source
    from ..export.onnx_file import onnx_contents

    if output.suffix != _SUFFIXES[form]:
        raise click.BadParameter(f"{output}, allowed for --format {form}: a name that ends in "
                                 f"{_SUFFIXES[form] or 'no suffix'}", param_hint="--output")
    is_folder = form == "hls"
    if is_folder:
        check_folder(output)
    else:
        check_outputs(output, *([output.with_suffix(".h")] if form == "c" else []), inputs=(*paths, matrix, *captures))
    if len(paths) > 1 and not matrix:
        raise click.UsageError("several models need --matrix")
    models = [core.load_model(path) for path in paths]
    bits = {each.formats.bits for each in models if each.formats}
    filters = read_matrix(matrix) if matrix else None
    records = [channel.samples for path in captures for channel in read_channels(path)]
    with about(*filter(None, (*paths, matrix, *captures))):
        taken_in = [_with_front_filter(*each) for each in zip(paths, models)] if front_filter else models
        folded = taken_in[0] if filters is None else fold_matrix(taken_in, filters)
        frozen = Frozen.of(folded, *records)
        if bits and folded is not models[0]:
            if not records:
                raise ValueError("the model is in whole numbers, allowed with filters taken in: with --capture, on "
                                 "which they are rounded anew")
            folded.formats = _rounded(frozen, records, max(bits))
            frozen = Frozen(folded) if is_folder else frozen
        files: dict[str, str | bytes] = {}
        if form == "onnx":
            files[output.name] = onnx_contents(frozen)
        else:
            files |= c_source(frozen, output.stem) if form == "c" else hls_source(frozen, output.name)
    if is_folder:
        output.mkdir(exist_ok=True)
    folder = output if is_folder else output.parent
    write_files(folder, files)
    click.echo(f"wrote {' and '.join(str(folder / name) for name in files)}")


def _rounded(frozen: Frozen, records: list, bits: int) -> core.quantization:
    """The formats of its network, whose weights move, on records of its channels."""
    import numpy as np

    from ..captures.statistics import Normalized
    from ..export.quantize import SYMBOLS, quantize

    part = (SYMBOLS + 2 * frozen.model.half_window + 1) * frozen.model.sps
    size = min(part, min(record.size for record in records))
    samples = np.stack([Normalized(record)[:size] for record in records], 1).ravel()
    return quantize(frozen.model.network, frozen.windows(samples.view(np.float32)), bits)


def _with_front_filter(path: str, checkpoint: core.model) -> core.model:
    """Raises ValueError for a file without taps."""
    from ..adann_python import equalizer
    from ..export.fold import fold

    front = equalizer(path).front_filter()
    if front.memory == 0:
        raise ValueError("no front filter's taps are in it, allowed with --front-filter: a checkpoint whose filter "
                         "was in use")
    return fold(checkpoint, front.taps, front.offset)
