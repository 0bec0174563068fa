# SPDX-License-Identifier: GPL-3.0-or-later
"""adann export: a model's network for other programs and machines."""

from pathlib import Path

import click

from .. import core
from .terminal import about, check_outputs

_SUFFIXES = {"onnx": ".onnx", "c": ".c"}


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("--format", "form", required=True, type=click.Choice([*_SUFFIXES, "hls"]),
              help="onnx: frames of samples to posteriors; c: one C99 file, with its header beside it; hls: a folder of "
                   "C++ for high-level synthesis, of a model in whole numbers.")
@click.option("--capture", metavar="FILE",
              help="Samples as they will come: their mean and rms are taken off in what is exported. Without it, "
                   "samples of zero mean and unit power are expected.")
@click.option("-o", "--output", metavar="FILE|DIR", required=True, help="The file, .onnx or .c, or the folder.")
def export(model, form, capture, output):
    """Write a model's network for other programs and machines.

    The network is exported as it is in the file, with its windows; the front filter and all that adapts stay here.
    """
    from ..captures.files import read_capture, write_files
    from ..export.c_source import c_source
    from ..export.frozen import Frozen
    from ..export.hls_source import hls_source
    from ..export.onnx_file import onnx_contents

    output, folder = Path(output), form == "hls"
    if not folder and output.suffix != _SUFFIXES[form]:
        raise click.BadParameter(f"{output}, allowed for --format {form}: a name that ends in {_SUFFIXES[form]}",
                                 param_hint="--output")
    check_outputs(output / "README.md" if folder and output.is_dir() else output)
    trained = core.load_model(model)
    samples = read_capture(capture).samples if capture else None
    with about(*filter(None, (model, capture))):
        frozen = Frozen.of(trained, samples)
        files = {"onnx": lambda: {output.name: onnx_contents(frozen)}, "c": lambda: c_source(frozen, output.stem),
                 "hls": lambda: hls_source(frozen, output.name)}[form]()
    if folder:
        output.mkdir(exist_ok=True)
    write_files(output if folder else output.parent, files)
    click.echo(f"wrote {output}" if folder else
               f"wrote {' and '.join(str(output.parent / name) for name in files)}")
