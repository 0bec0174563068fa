# SPDX-License-Identifier: GPL-3.0-or-later
"""adann train"""

import math
from typing import Any

import click

from .. import core
from . import interrupts
from .terminal import Finite, Whole, about, check_outputs, constellation_option, part_options, progress_bar, settled

_FAR = 10  # times what wrong labels may account for, as estimated
_FEW = 1000  # symbols to train on
_UNEXPLAINED = 3.0  # dB over the blind equalizer's error, whose taps may average the noise of --sps samples
_MOST = 1 << 19  # symbols that are used by default


def _sizes(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in value.split(","))
    except ValueError:
        sizes = ()
    if not sizes or not all(1 <= size <= 65536 for size in sizes):
        raise click.BadParameter(f"{value!r:.60} is not a list of numbers such as 10,10, each 1 to 65536")
    return sizes


@click.command()
@click.option("--capture", required=True, metavar="FILE",
              help="Received samples: SigMF (a pair or an archive), .f32, .c64, .cfile, .cs16 ...")
@click.option("--reference", metavar="FILE", help="The labels sent: .u8.")
@click.option("--blind", is_flag=True,
              help="No labels are known: train on the decisions of a slicer, if its eye is open, or else of a blind "
                   "linear equalizer.")
@constellation_option()
@click.option("--sps", required=True, type=click.IntRange(1, 64), help="Samples per symbol.")
@click.option("--half-window", required=True, type=click.IntRange(0, 255),
              help="Symbols on each side of the one decided.")
@click.option("--hidden", default="10,10,10,10", callback=_sizes, metavar="N,N,...",
              help="Neurons of the hidden layers.")
@click.option("--fraction", default=0.25, type=Finite(0, 1, min_open=True),
              help="Part of the capture, from its start, that is trained on; the rest tests.")
@part_options
@click.option("--preset", default="default", type=click.Choice(["default", "paper"]),
              help="What the options below do not give; default: by the number of symbols and points; of two "
                   "networks, from random weights and from a linear equalizer, the better one on a part held "
                   "out; each ends when it gains no more there; paper: momentum, 200 epochs, 16384 "
                   "symbols a step.")
@click.option("--optimizer", type=click.Choice(["momentum", "adam"]),
              help="momentum is SGD with momentum 0.9, as in the paper.")
@click.option("--lr", "learning_rate", type=Finite(0, 10, min_open=True),
              help="Learning rate; if not given, 0.004 for momentum and 0.005 for adam.")
@click.option("--epochs", type=Whole(1), help="At most, where a part is held out.")
@click.option("--batch", type=Whole(1), help="Symbols of one training step.")
@click.option("--seed", default=0, type=Whole(0), help="Of the first weights and the order of the symbols.")
@click.option("--backend", default="core", show_default=True, type=click.Choice(["core", "torch"]),
              help="core is the fast one; torch the reference, on a GPU if there is one.")
@click.option("-o", "--output", required=True, metavar="FILE", help="The model: a safetensors file, whatever its name.")
@interrupts.held()
def train(capture: str, reference: str | None, blind: bool, constellation: core.constellation, sps: int,
          half_window: int, skip: int, symbols: int | None, preset: str, output: str, **options: Any) -> None:
    """Train an equalizer's network on a capture whose symbols are known, or with --blind are not.

    Sample i*sps of the capture is the middle of symbol i, up to a whole number of symbols that is
    found by correlation.

    A slicer and a linear equalizer of the network's window, fitted to the same symbols, are tested on
    the same other ones. A warning says where the network is worse. With --blind the labels are a linear equalizer's,
    and a network may differ from them because it is better. Errors come with their 95 % interval (Clopper-Pearson);
    loss is the mean cross-entropy, in nats.

    With the network it learns the expected waveform: what the samples of a symbol are, given the
    labels around it.

    A blind start needs a linear equalizer of the network's window to open the eye, scrambled
    symbols, and a carrier that has been recovered. It finds the labels up to an inversion (PAM) or
    a rotation (PSK, QAM, APSK), as in any receiver without a known word. It warns where the samples
    indicate another constellation or symbol rate, a carrier, or bursts; an inverted spectrum is not seen.

    Of a long capture the first 524288 symbols are used, of which --fraction is trained on; --symbols takes more, in
    memory.

    Ctrl-C stops it: the network as far as it has been trained is written, from the second epoch on.
    """
    from ..captures.files import check_rates, cut, read_capture, read_reference
    from ..captures.labels import known
    from ..captures.outputs import atomic_output
    from ..captures.statistics import error_vector_magnitude
    from ..offline.blind import wrong_decisions
    from ..offline.doubts import data_doubts, doubts, recurrence
    from ..offline.training import TrainingSettings, residual_of
    from ..offline.training import train as train_network

    if blind == bool(reference):
        raise click.UsageError("give --reference or --blind, and not both")
    check_outputs(output, inputs=(capture, reference))
    record = read_capture(capture)
    if reference:
        record.reference = read_reference(reference, constellation.size)
    with about(*filter(None, (capture, reference))):
        check_rates(record, sps)
        there_are = record.samples.size // sps - skip
        record = cut(record, skip, symbols or _MOST, sps)
    if record.reference is not None:  # as much more as its delay may be
        record.reference = record.reference[:2 * max(symbols or _MOST, _MOST)]
    if symbols is None and there_are > _MOST:
        click.echo(f"the first {_MOST} of {there_are} symbols are used; --symbols takes more")
    labels = record.reference
    given = {name: value for name, value in options.items() if value is not None}
    with about(*filter(None, (capture, reference))):
        if preset == "paper":
            settings = TrainingSettings(**given)
        else:
            there = sum(burst.size for burst in record.bursts) // sps or record.samples.size // sps
            if labels is not None:
                there = min(there, int(known(labels, constellation.size).sum()))
            if blind:  # noise would keep it from undoing what its labels' equalizer undid
                given["noise"] = 0.0
            settings = TrainingSettings.fitted(max(1, int(min(options["fraction"], 1) * there)), constellation,
                                               **given)
        doubtful = doubts(record.samples, constellation, sps, half_window, record.bursts) if blind else []
    for sentence in doubtful:
        click.echo(f"warning: {settled(sentence)}")
    with about(*filter(None, (capture, reference))), progress_bar("training",
                                                                  settings.most_epochs) as update:
        trained = train_network(record.samples, labels, constellation, sps, half_window, settings,
                                lambda epoch, loss: update(epoch, f"loss {loss:.2e}"),
                                stop=interrupts.come, bursts=record.bursts)
    with atomic_output(output) as path:
        core.save_model(path, trained.model)
    if not trained.complete:
        click.echo(f"stopped after {trained.epochs} of {settings.most_epochs} epochs")
    if trained.blind_ratio is not None:
        estimate = (f"about {wrong_decisions(constellation, trained.blind_ratio, trained.labels.size)} of "
                    f"{trained.labels.size} wrong, if the residual is noise")
        recurs = recurrence(trained.labels, constellation.size)
        if trained.teacher != "slicer" and recurs and recurs.mostly:
            estimate = "the signal does not show how many of them are wrong"
            click.echo(f"warning: the eye is closed, and all but a few symbols recur after {recurs.lag}: the equalizer "
                       "may have learnt what recurs; --reference with known symbols settles it")
        click.echo(f"labels are a {trained.teacher}'s decisions, modulation error ratio "
                   f"{trained.blind_ratio:.1f} dB (error vector magnitude "
                   f"{100 * error_vector_magnitude(trained.blind_ratio):.1f} %), {estimate}; what follows are "
                   "differences from them, their own errors included")
    else:
        click.echo(f"reference found at a delay of {trained.delay} symbols")
        if trained.disagreement:
            click.echo(f"warning: {trained.disagreement}", err=True)
    for name, score in (("trained", trained.train), ("tested", trained.test),
                        *((f"a {name} is tested", score) for name, score in trained.conventional.items())):
        if score:
            low, high = core.clopper_pearson(score.bit_errors, score.bits)
            loss = "" if math.isnan(score.loss) else f"loss {score.loss:.2e}, "
            click.echo(f"{name} on {score.symbols} symbols: {loss}"
                       f"BER {score.bit_errors / score.bits:.2e} (95 %: {low:.1e} to {high:.1e}), "
                       f"{score.symbol_errors} {'differences' if blind else 'symbol errors'}")
    whole = min(record.samples.size // sps, labels.size) if labels is not None else trained.labels.size
    if 2 * trained.labels.size < whole and not record.bursts:
        click.echo(f"warning: capture and reference overlap in {trained.labels.size} symbols of {whole}: is the "
                   f"delay right?")
    if trained.part < _FEW:
        click.echo(f"warning: {trained.part} symbols are few to train on: {_FEW} and more are better (--fraction)")
    for sentence in data_doubts(trained.labels, trained.part, constellation.size):
        click.echo(f"warning: {settled(sentence)}")
    linear = trained.conventional.get("linear equalizer")
    if blind and trained.test:
        expected = wrong_decisions(constellation, trained.blind_ratio, trained.test.symbols)
        if trained.test.symbol_errors > _FAR * (expected + linear.symbol_errors + 1):
            click.echo(f"warning: the network differs from its labels in {trained.test.symbol_errors} of "
                       f"{trained.test.symbols} symbols, of which about {expected} are wrong: more symbols to train "
                       "on (--fraction), or a linear equalizer, would serve better")
    elif linear and trained.test.symbol_errors > linear.symbol_errors:
        click.echo(f"warning: the network makes {trained.test.symbol_errors} symbol errors where a linear "
                   f"equalizer makes {linear.symbol_errors}: more symbols to train on (--fraction), or "
                   "that equalizer, would serve better")
    if waveform := trained.model.waveform:
        residual = residual_of(waveform)
        bends = f", a polynomial of {2 * waveform.memory + 1} taps" if waveform.memory else ""
        click.echo(f"expected waveform of {2 * waveform.reach + 1} symbols{bends} and the patterns of "
                   f"{waveform.context}: residual {residual:.1f} dB")
        if blind and residual + trained.blind_ratio > _UNEXPLAINED + 10 * math.log10(sps):
            half = f"the capture is at {sps // 2} samples a symbol (half of --sps), or " if sps % 2 == 0 else ""
            click.echo(f"warning: the labels found explain only {100 * (1 - 10 ** (residual / 10)):.0f} % of the "
                       f"samples' power: {half}another signal is next to it")
    click.echo(f"wrote {output}")
