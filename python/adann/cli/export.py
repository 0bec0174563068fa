# SPDX-License-Identifier: GPL-3.0-or-later
"""adann export: a model's network for other programs and machines."""

from pathlib import Path

import click

from .. import core
from .terminal import about, check_outputs

_SUFFIXES = {"onnx": ".onnx", "c": ".c", "hls": ""}


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("--format", "form", required=True, type=click.Choice(list(_SUFFIXES)),
              help="onnx: frames of samples to posteriors; c: one C99 file, with its header beside it; hls: a folder "
                   "of C++ for high-level synthesis, of a model that adann quantize made.")
@click.option("--front-filter", is_flag=True,
              help="Take the front filter in, with the taps that a checkpoint has: the window gets as much wider. "
                   "They stand still in what is exported, and a carrier's phase loop stays here.")
@click.option("--capture", metavar="FILE",
              help="Samples as they will come: their mean and rms are taken off in what is exported. Without it, "
                   "samples of zero mean and unit power are expected.")
@click.option("-o", "--output", metavar="FILE|DIR", required=True, type=click.Path(path_type=Path),
              help="The file, .onnx or .c, or the folder of hls.")
def export(model: str, form: str, front_filter: bool, capture: str | None, output: Path) -> None:
    """Write a model's network for other programs and machines.

    The network is exported as it is in the file, with its windows; what adapts stays here.
    """
    from ..captures.files import read_capture, write_files
    from ..export.c_source import c_source
    from ..export.frozen import Frozen
    from ..export.hls_source import hls_source
    from ..export.onnx_file import onnx_contents

    if output.suffix != _SUFFIXES[form]:
        raise click.BadParameter(f"{output}, allowed for --format {form}: a name that ends in "
                                 f"{_SUFFIXES[form] or 'no suffix'}", param_hint="--output")
    is_folder = form == "hls"
    check_outputs(output / "README.md" if is_folder and output.is_dir() else output)
    trained = core.load_model(model)
    samples = read_capture(capture).samples if capture else None
    with about(*filter(None, (model, capture))):
        frozen = Frozen.of(_with_front_filter(model, trained) if front_filter else trained, samples)
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



def _with_front_filter(path: str, checkpoint: core.model) -> core.model:
    """Raises ValueError for a file without taps, and a model in whole numbers."""
    from ..adann_python import equalizer
    from ..export.fold import fold

    if checkpoint.formats:
        raise ValueError("a model in whole numbers, allowed with --front-filter: one in float")
    front = equalizer(path).front_filter()
    if front.memory == 0:
        raise ValueError("no front filter's taps are in it, allowed with --front-filter: a checkpoint whose filter "
                         "was in use")
    return fold(checkpoint, front.taps, front.offset)
