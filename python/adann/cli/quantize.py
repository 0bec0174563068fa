# SPDX-License-Identifier: GPL-3.0-or-later
"""adann quantize: a model whose network runs in whole numbers, made on a capture."""

import click

from .. import core
from .terminal import about, check_outputs


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("--capture", required=True, metavar="FILE", help="Samples that the scales are chosen on.")
@click.option("--reference", metavar="FILE", help="The labels sent, .u8: errors are counted.")
@click.option("--bits", required=True, type=click.IntRange(4, 16),
              help="Of weights, samples and the values between the layers.")
@click.option("-o", "--output", required=True, metavar="FILE", help="The model in whole numbers: .safetensors.")
def quantize(model: str, capture: str, reference: str | None, bits: int, output: str) -> None:
    """Make a model whose network runs in whole numbers.

    The scales are powers of two, one for each row of weights and one for the values between two layers, and are
    chosen on the first 65536 symbols of the capture, without labels. The weights become what their whole
    numbers stand for; adann export --format c writes those.
    """
    from ..captures.alignment import UNKNOWN, known_labels
    from ..captures.files import read_capture, read_reference
    from ..captures.outputs import atomic_output
    from ..export.quantize import SYMBOLS, quantize
    from ..offline.equalize import prepare_capture
    from ..offline.evaluate import count, rate
    from ..offline.training import feature_view

    check_outputs(output, inputs=(model, capture, reference))
    trained = core.load_model(model)
    constellation = trained.constellation
    labels = read_reference(reference, constellation.size) if reference else None
    received = read_capture(capture)
    with about(*filter(None, (capture, reference))):
        samples = prepare_capture(received, trained).samples[:]
        known = None if labels is None else known_labels(samples, labels, constellation.centred, trained.sps)[:]
    windows = feature_view(samples, trained.sps, trained.half_window)
    decided = trained.network.decide(windows)[0]
    trained.formats = quantize(trained.network, windows[:SYMBOLS], bits)
    quantized = core.quantized_network(trained.network, trained.formats).decide(windows)[0]
    with atomic_output(output) as path:
        core.save_model(path, trained)
    click.echo(f"{(quantized != decided).sum()} of {decided.size} symbols are decided in another way than by the "
               "network in float")
    if known is not None:
        there = known != UNKNOWN
        for name, found in ("float", decided), (f"{bits} bits", quantized):
            errors = count(found[there], known[there], constellation.bits_per_symbol, int(there.sum()))
            counted = rate(int(errors.bit_errors.sum()), int(errors.bits.sum()))
            click.echo("{}: BER {:.2e} (95 %: {:.1e} to {:.1e})".format(name, counted["ber"], *counted["ci95"]))
    click.echo(f"wrote {output}")
