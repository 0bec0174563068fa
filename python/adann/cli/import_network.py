# SPDX-License-Identifier: GPL-3.0-or-later
"""adann import-network: a model from a network that was trained elsewhere."""

from pathlib import Path

import click

from .. import core
from .terminal import about, check_outputs, constellation_option


@click.command("import-network")
@click.argument("network", metavar="NETWORK")
@constellation_option()
@click.option("--sps", required=True, type=click.IntRange(1, 64), help="Samples per symbol.")
@click.option("--half-window", required=True, type=click.IntRange(0, 255),
              help="Symbols on each side of the one decided.")
@click.option("--capture", metavar="FILE", help="Samples, to count the network's errors in.")
@click.option("--reference", metavar="FILE", help="The labels sent: .u8.")
@click.option("-o", "--output", required=True, metavar="FILE", help="The model: .safetensors.")
def import_network(network: str, constellation: core.constellation, sps: int, half_window: int,
                   capture: str | None, reference: str | None, output: str) -> None:
    """Make a model of a network that was trained elsewhere.

    NETWORK is an .onnx file, or a torch module's state dict as safetensors.torch.save_file writes it:
    fully-connected layers with ReLU between them, whose input is the window of samples around a
    symbol (zero mean, unit power; complex ones as I, Q) and whose outputs are one logit a label.

    With --capture and --reference the model also gets its error rate, temperatures and the expected
    waveform, as adann train finds them: the guard and the front filter need them.
    """
    from ..captures.files import read_capture, read_reference
    from ..captures.outputs import atomic_output
    from ..export.network_file import import_network, read_network

    if bool(capture) != bool(reference):
        raise click.UsageError("give --capture and --reference, or neither")
    check_outputs(output, inputs=(network, capture, reference))
    read = read_network(network)
    samples, labels = (read_capture(capture).samples, read_reference(reference, constellation.size)) if (
        capture) else (None, None)
    with about(*filter(None, (network, capture, reference))):
        imported = import_network(read, constellation, sps, half_window, f"imported from {Path(network).name}",
                                  samples, labels)
    with atomic_output(output) as path:
        core.save_model(path, imported.model)
    if imported.symbols:
        click.echo(f"reference found at a delay of {imported.delay} symbols; {imported.errors} errors in "
                   f"{imported.symbols} symbols")
    click.echo(f"wrote {output}: a network of {'-'.join(map(str, read.sizes))} neurons")
