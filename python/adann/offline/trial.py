# SPDX-License-Identifier: GPL-3.0-or-later
"""From a record at any rate to a verdict: does adaptation help here?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import is_conjugated
from ..captures.files import Capture, cut
from ..captures.labels import UNKNOWN, known
from ..captures.statistics import error_vector_magnitude
from ..captures.timing import NoSymbolRateError
from .blind import FEWEST, check_window, wrong_decisions
from .conventional import linear_equalizer, middles_of, nearest, slicer
from .disputes import refuted
from .doubts import data_doubts, doubts_of, filtered_apart, kurtosis_off, recurrence, uneven
from .equalize import equalize_captures, measure_capture, prepare_capture
from .evaluate import RunningErrors, all_known
from .guess import candidates
from .report import new_figure, save_figure
from .resample import find_rate, resample, resample_offset, without_carrier
from .scope import Measured
from .training import TrainingSettings, feature_view, own_samples, train, within
from .uncertain import Uncertain

_BLIND = 2000    # symbols that a blind start is given, where the record has them
_LARGEST_FRACTION = 0.5
_DEVIATIONS = 3  # of a difference of counts that is no chance
_FAR = 10        # times a slicer's or linear equalizer's count
_LEAST_KNOWN = 100  # symbols, where some are known
_ROOM = 3.0      # dB that the constellation found has more than any other whose excess kurtosis the symbols have,
_OFF = 0.2       # relative
_WRONG = 1e-3    # of a blind start's decisions: more are named first
_REFUTED = 3     # times as many as are expected to be wrong, and _MANY of all, that the samples refute: likewise
_MANY = 0.01
_TRACES = 300    # of the eye
_BLOCKS = 50     # of the picture's errors
_BLOCK = 8192    # symbols that posteriors are scored over


@dataclass
class Row:
    """name: who decided; symbols: of them; errors, bits, bit_errors: counted against the labels; of a blind trial
    errors are what the samples refute, see disputes.refuted, and there are no bits."""

    name: str
    symbols: int
    errors: int
    bits: int
    bit_errors: int


@dataclass
class Trial:
    """What try_capture has found. doubtful: phrases on what may be wrong, some Uncertain; said: sentences;
    samples: at sps a symbol; bursts: of them; symbol_rate: in the
    unit of the sample rate; constellation; fraction: that everything was fitted to; model: core.model; rows: slicer,
    linear equalizer, frozen network, AdaNN, of the symbols that nothing was fitted to; blind: whether no labels were
    given; verdict: a sentence; curves: {name: errors of
    blocks}; soft: {name: soft symbols} for the picture; scope: what was measured before and after AdaNN; scored: gmi
    and ngmi of AdaNN's posteriors over the symbols of the rows, {} where not all labels are known; rates: bit error
    rate of AdaNN in 50 blocks, [] of a blind trial."""

    doubtful: list
    said: list
    samples: npt.NDArray
    bursts: list
    sps: int
    symbol_rate: float
    constellation: core.constellation
    fraction: float
    model: core.model
    rows: list
    blind: bool
    verdict: str
    curves: dict
    soft: dict
    scope: Measured
    scored: dict
    rates: list


def try_capture(capture: Capture, symbol_rate: float | None, constellation: core.constellation | None, sps: int,
                half_window: int, fraction: float, seed: int = 0, skip: int = 0, symbols: int | None = None,
                progress: Callable | None = None, stop: Callable[[], bool] | None = None) -> Trial:
    """Resample, find what was not given, train on the first `fraction`, and decide the rest in four ways.

    capture: at any rate (of no sample rate: 1), with its reference or without; symbol_rate, constellation: None where
    not known; skip, symbols: see files.cut.
    progress: called as progress(text, part done from 0 to 1). stop: see training.train; asked between the stages, too.
    Raises ValueError where something is not found or too few symbols are, KeyboardInterrupt if it was stopped.
    """
    if capture.reference is None:  # before what takes long
        check_window(sps, half_window)
    tell = progress or (lambda text, part: None)

    def begin(text: str, part: float) -> None:
        if stop and stop():
            raise KeyboardInterrupt
        tell(text, part)

    sample_rate = capture.sample_rate or 1.0
    begin("symbol rate", 0)
    capture.samples, said = without_carrier(capture.samples, sample_rate)
    symbol_rate, doubtful = symbol_rate or capture.symbol_rate, []
    is_offset = constellation is not None and constellation.is_offset
    if not symbol_rate and is_offset:
        raise NoSymbolRateError("the symbol rate of oqpsk is not found")
    if not symbol_rate:
        symbol_rate, sentence, doubt = find_rate(capture.samples, sample_rate)
        said.append(sentence)
        doubtful += [doubt] if doubt else []
    capture = cut(capture, skip, symbols, sample_rate / symbol_rate)
    begin("resampling", 0.05)
    done = (resample_offset(np.asarray(capture.samples), sample_rate, symbol_rate, sps) if is_offset else
            resample(np.asarray(capture.samples), sample_rate, symbol_rate, sps, carrier=True, bursts=True))
    said += done.said
    samples, bursts = done.samples, done.bursts
    reference = capture.reference
    count = sum(burst.size for burst in bursts) // sps or samples.size // sps
    told = count if reference is None else min(count, int(np.count_nonzero(np.asarray(reference) != UNKNOWN)))
    least = int(FEWEST / _LARGEST_FRACTION) if reference is None else _LEAST_KNOWN
    if told < least:
        raise ValueError(f"too few symbols ({told} of at least {least}{' where none is known' * (reference is None)}): "
                         f"{count} at {symbol_rate:.6g} a second")
    if reference is None:  # a blind start wants so many
        fraction = max(fraction, min(_LARGEST_FRACTION, _BLIND / count))
    begin("constellation", 0.1)
    if constellation is None:
        constellation = _found(samples, bursts, sps, half_window, fraction, said, doubtful)
    if reference is not None and constellation.is_complex and is_conjugated(
            samples, reference, constellation.centred, sps):
        said.append("the capture is conjugated (its spectrum inverted, or I and Q exchanged): taken as it was sent")
        samples = samples.conj()
    told = count if reference is None else min(count, int(known(reference, constellation.size).sum()))
    settings = TrainingSettings.fitted(max(1, int(fraction * told)), constellation, fraction=fraction,
                                       seed=seed)
    trained = train(samples, reference, constellation, sps, half_window, settings,
                    lambda epoch, loss: tell("training", 0.2 + 0.5 * epoch / settings.most_epochs), stop, bursts)
    if not trained.complete:
        raise KeyboardInterrupt
    begin("adapting", 0.7)
    blind, here, part, labels = reference is None, trained.symbols, trained.part, trained.labels
    prepared = prepare_capture(Capture(samples, bursts=bursts), trained.model)
    counted = None
    if not blind and not bursts and all_known(constellation.size, labels):
        counted = RunningErrors(constellation, [part, labels.size - part], [labels[:part], labels[part:]], _BLOCK)
    received, _ = equalize_captures(trained.model, [prepared], {
        "network, frozen": {"mode": "off", "front_filter": False}, "AdaNN": {"mode": "lockstep"}},
        lambda decided: tell("adapting", 0.7 + 0.3 * len(decided["AdaNN"]) / (samples.size // sps)), stop=stop,
        counted={"AdaNN": counted} if counted else None, soft=["AdaNN"])
    if stop and stop():
        raise KeyboardInterrupt
    features = feature_view(samples, sps, half_window)[here]
    middles = middles_of(samples, sps, constellation)[here]
    soft = linear_equalizer(features, labels, part, constellation)
    decided = {"slicer": slicer(middles, labels, part, constellation),
               "linear equalizer": nearest(soft, constellation),
               **{name: run.labels[0][here] for name, run in received.items()}}
    said += data_doubts(labels, part, constellation.size)
    there = known(labels, constellation.size)
    if trained.blind_ratio is not None:
        wrong = refuted(own_samples(features, sps, half_window, np.iscomplexobj(samples)),
                        {**decided, "": labels}, constellation)
        doubts, sentence = _blind_doubts(trained, features, soft, wrong.pop("", np.zeros(0)))
        doubtful += doubts + _network_doubts({name: int(np.sum(each[part:])) for name, each in wrong.items()})
        said.append(sentence)
    else:
        wrong = {name: (each != labels) & there for name, each in decided.items()}
    rows = [_row(name, each, decided[name], labels, there, part, 0 if blind else constellation.bits_per_symbol)
            for name, each in wrong.items()]
    curves = {name: [int(np.sum(block)) for block in np.array_split(each, _BLOCKS)]
              for name, each in wrong.items()}
    sent = np.full(samples.size // sps, UNKNOWN, np.uint8)
    sent[here] = labels
    scope = measure_capture(prepared, received["AdaNN"].soft[0], received["AdaNN"].labels[0],
                            lambda span: None if blind else sent[span], constellation, sps)
    gmi = counted.gmis()[1] if counted else None
    return Trial(doubtful, said, samples, bursts, sps, done.symbol_rate, constellation, fraction, trained.model, rows,
                 blind, _verdict(rows, blind), curves, {"middle samples": middles, "linear equalizer": soft}, scope,
                 {} if gmi is None else {"gmi": gmi, "ngmi": gmi / constellation.bits_per_symbol},
                 [] if blind else _rates(decided["AdaNN"], labels, there, constellation.bits_per_symbol))


def _rates(decided, labels, there, bits):
    wrong = np.where(there, np.unpackbits((decided ^ labels)[:, None], axis=1).sum(axis=1), 0)
    return [float(np.sum(errors) / max(1, bits * np.count_nonzero(of)))
            for errors, of in zip(np.array_split(wrong, _BLOCKS), np.array_split(there, _BLOCKS))]


def _found(samples, bursts, sps, half_window, fraction, said, doubtful):
    """The constellation in the part that is trained on, appended to `said` with what it was found by."""
    features = feature_view(samples, sps, half_window)[within(bursts, samples.size // sps, sps)]
    part = max(_BLIND, round(fraction * len(features)))
    tried = candidates(features[:part], np.iscomplexobj(samples))
    constellation = core.constellation(tried[0].name)
    said.append(f"constellation found: {tried[0].name}; room between its points, over the error of a "
                "blind equalizer: " + ", ".join(f"{each.name} {each.room:.1f} dB" for each in tried))
    near = [each.name for each in tried if each.room > tried[0].room - _ROOM
            and (each is tried[0] or not each.missing and kurtosis_off(each) < _OFF)]
    doubtful += [Uncertain(f"the constellation, {' or '.join(near)}", "constellation")] * (len(near) > 1)
    doubtful += doubts_of(tried, constellation)
    return constellation


def _blind_doubts(trained, features, soft, wrong):
    """What may be wrong about a blind start's labels, in phrases, and a sentence on them. soft: of a linear equalizer;
    wrong: bool (n,) of its labels, see refuted."""
    constellation, labels, ratio = trained.model.constellation, trained.labels, trained.blind_ratio
    points = constellation.centred if constellation.is_complex else constellation.centred.real
    is_open = trained.teacher == "slicer"
    expected, of = wrong_decisions(constellation, ratio, labels.size), labels.size
    estimate, doubts = f"about {expected} of {of} wrong, if the residual is noise", []
    if not is_open and (found := recurrence(labels, constellation.size)) and found.mostly:
        doubts.append(Uncertain("the decisions of the blind start, which may have learnt what recurs after "
                                f"{found.lag} symbols, since the eye is closed", "reference"))
        estimate = f"the signal does not show how many of {of} are wrong"
    elif expected > _WRONG * of:
        doubts.append(Uncertain(f"some {100 * expected / of:.2g} % of the decisions of the blind start", "reference"))
    if (refused := np.count_nonzero(wrong)) > max(_REFUTED * expected, _MANY * of):
        doubts.append(Uncertain(f"{refused} of {of} decisions of the blind start, which the samples refute",
                                "reference"))
    if constellation.is_complex and not constellation.is_offset:
        doubts += filtered_apart(features, labels, constellation)
    half_distance = constellation.half_distance * float(np.std(points))
    return [*doubts, *uneven(soft - points[labels], half_distance)], (
        f"no labels were given: a {trained.teacher}{', whose eye is open,' * is_open} taught the network (modulation "
        f"error ratio {ratio:.1f} dB, error vector magnitude {100 * error_vector_magnitude(ratio):.1f} %, {estimate})")


def _network_doubts(refused):
    """A phrase if the samples refute many more of the network's decisions than of simpler ones."""
    if not refused:
        return []
    *simple, frozen, adaptive = refused.items()
    name, best = min(simple, key=lambda item: item[1])
    network = min(frozen[1], adaptive[1])
    return [Uncertain(f"the network, {network} of whose decisions the samples refute: a {name}, with {best}, serves "
                      "better, or more symbols to train on", "fraction")] * (network > _FAR * (best + 1))


def _row(name, wrong, decided, labels, there, part, bits):
    errors, tested = wrong[part:], int(np.count_nonzero(there[part:]))
    ones = np.unpackbits((decided ^ labels)[part:][errors][:, None], axis=1).sum() if bits else 0
    return Row(name, tested, int(np.count_nonzero(errors)), tested * bits, int(ones))


def _verdict(rows, blind):
    counts = {row.name: row.errors for row in rows}
    if not counts:
        return "without labels it is open who is right: those of sync words are enough, 255 where not known"
    frozen, adaptive, linear = (counts[name] for name in (
        "network, frozen", "AdaNN", "linear equalizer"))
    chance = _DEVIATIONS * np.sqrt(frozen + adaptive + 1)
    what = "decisions that the samples refute" if blind else "errors"
    if not any(counts.values()):
        return f"adaptation changes nothing here: no {what} in any row: nothing to equalize"
    counted = f"{adaptive} {what} for {frozen} of the frozen network"
    if abs(adaptive - frozen) <= chance:
        verdict = f"adaptation changes nothing here that is more than chance: {counted}"
    else:
        verdict = f"adaptation {'hurts' if adaptive > frozen else 'helps'} here: {counted}"
    best = min(frozen, adaptive)
    if best > linear + _DEVIATIONS * np.sqrt(best + linear + 1):
        verdict += f"; a linear equalizer is better, with {linear}"
    elif counts["slicer"] <= best:
        verdict += f"; a slicer alone makes {counts['slicer']}: nothing to equalize"
    return verdict + "; errors that all four make alike show with labels only" * blind


def draw(path: str | Path, trial: Trial) -> None:
    """The eye as it came, soft symbols before and after a linear equalizer, errors over the record."""
    figure = new_figure(11, 3.8)
    eye, points, errors = figure.subplots(1, 3)
    sps = trial.sps
    first = trial.bursts[0].first if trial.bursts else 0
    part = trial.samples[first:first + (_TRACES * 2 + 1) * sps]
    traces = np.lib.stride_tricks.sliding_window_view(part.real, 2 * sps + 1)[::sps]
    eye.plot(np.arange(-sps, sps + 1) / sps, traces.T, color="C0", alpha=0.05)
    eye.set(title="eye, resampled", xlabel="symbols", ylabel="I" if np.iscomplexobj(part) else "")
    for name, soft in trial.soft.items():
        scale = np.sqrt(np.mean(abs(soft) ** 2))
        if np.iscomplexobj(soft):
            points.plot(soft.real[-4000:] / scale, soft.imag[-4000:] / scale, ".", ms=1, label=name)
        else:
            points.hist(soft[-20000:] / scale, 100, histtype="step", label=name)
    points.set(title="soft symbols, at the record's end")
    points.legend(fontsize="small")
    for name, counts in trial.curves.items():
        errors.plot(np.linspace(0, 1, len(counts)), counts, label=name)
    errors.set(title="refuted by the samples" if trial.blind else "symbol errors", xlabel="part of the record",
               yscale="symlog", ylim=(0, None) if any(map(any, trial.curves.values())) else (0, 1))
    errors.legend(fontsize="small")
    save_figure(path, figure)
