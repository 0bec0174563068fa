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
from ..captures.labels import known
from ..captures.statistics import error_vector_magnitude
from .blind import wrong_decisions
from .conventional import linear_equalizer, nearest, slicer
from .doubts import data_doubts, filtered_apart
from .equalize import equalize_captures, prepare_capture
from .guess import candidates
from .report import new_figure, save_figure
from .resample import find_rate, resample, without_carrier
from .training import TrainingSettings, feature_view, train, within

_BLIND = 2000    # symbols that a blind start is given, where the record has them
_LARGEST_FRACTION = 0.5
_DEVIATIONS = 3  # of a difference of counts that is no chance
_TRACES = 300    # of the eye
_BLOCKS = 50     # of the picture's errors


@dataclass
class Row:
    """name: who decided; symbols: of them; errors, bits, bit_errors: counted against the labels."""

    name: str
    symbols: int
    errors: int
    bits: int
    bit_errors: int


@dataclass
class Trial:
    """What try_capture has found. said: sentences; samples: at sps a symbol; bursts: of them; symbol_rate: in the
    unit of the sample rate; constellation; fraction: that everything was fitted to; model: core.model; rows: slicer,
    linear equalizer, frozen network, AdaNN, of the symbols that nothing was fitted to; blind: whether the rows'
    errors are differences from the blind equalizer's decisions; verdict: a sentence; curves: {name: errors of
    blocks}; soft: {name: soft symbols} for the picture."""

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


def try_capture(capture: Capture, symbol_rate: float | None, constellation: core.constellation | None, sps: int,
                half_window: int, fraction: float, seed: int = 0, skip: int = 0, symbols: int | None = None,
                progress: Callable | None = None, stop: Callable[[], bool] | None = None) -> Trial:
    """Resample, find what was not told, train on the first `fraction`, and decide the rest in four ways.

    capture: at any rate (of no sample rate: 1), with its reference or without; symbol_rate, constellation: None where
    not known; skip, symbols: see files.cut.
    progress: called as progress(text, part done from 0 to 1). stop: see training.train; asked between the stages, too.
    Raises ValueError where something is not found, KeyboardInterrupt if it was stopped.
    """
    tell = progress or (lambda text, part: None)

    def begin(text: str, part: float) -> None:
        if stop and stop():
            raise KeyboardInterrupt
        tell(text, part)

    sample_rate = capture.sample_rate or 1.0
    begin("symbol rate", 0)
    capture.samples, said = without_carrier(capture.samples, sample_rate)
    symbol_rate = symbol_rate or capture.symbol_rate
    if not symbol_rate:
        symbol_rate, sentence = find_rate(capture.samples, sample_rate)
        said.append(sentence)
    capture = cut(capture, skip, symbols, sample_rate / symbol_rate)
    begin("resampling", 0.05)
    done = resample(np.asarray(capture.samples), sample_rate, symbol_rate, sps, carrier=True, bursts=True)
    said += done.said
    samples, bursts = done.samples, done.bursts
    reference = capture.reference
    count = sum(burst.size for burst in bursts) // sps or samples.size // sps
    if reference is None:  # a blind start wants so many
        fraction = max(fraction, min(_LARGEST_FRACTION, _BLIND / count))
    begin("constellation", 0.1)
    if constellation is None:
        constellation = _found(samples, bursts, sps, half_window, fraction, said)
    if reference is not None and constellation.is_complex and is_conjugated(
            samples, reference, constellation.points, sps):
        said.append("the capture is conjugated (its spectrum inverted, or I and Q exchanged): taken as it was sent")
        samples = samples.conj()
    told = count if reference is None else min(count, int(known(reference, constellation.size).sum()))
    settings = TrainingSettings.fitted(max(1, int(fraction * told)), constellation, fraction=fraction,
                                       seed=seed)
    trained = train(samples, reference, constellation, sps, half_window, settings,
                    lambda epoch, loss: tell("training", 0.2 + 0.5 * epoch / settings.epochs), stop, bursts)
    if not trained.complete:
        raise KeyboardInterrupt
    begin("adapting", 0.7)
    blind, here, part, labels = reference is None, trained.symbols, trained.part, trained.labels
    prepared = prepare_capture(Capture(samples, bursts=bursts), trained.model)
    received, _ = equalize_captures(trained.model, [prepared], {
        "network, frozen": {"mode": "off", "front_filter": False}, "AdaNN": {"mode": "lockstep"}},
        lambda decided: tell("adapting", 0.7 + 0.3 * len(decided["AdaNN"]) / (samples.size // sps)), stop=stop)
    if stop and stop():
        raise KeyboardInterrupt
    features = feature_view(samples, sps, half_window)[here]
    middles = samples[::sps][:samples.size // sps][here]
    soft = linear_equalizer(features, labels, part, constellation)
    decided = {"slicer": slicer(middles, labels, part, constellation),
               "linear equalizer": nearest(soft, constellation),
               **{name: run.labels[0][here] for name, run in received.items()}}
    there = known(labels, constellation.size)
    rows = [_row(name, each[part:], labels[part:], there[part:], constellation.bits_per_symbol)
            for name, each in decided.items()]
    curves = {name: [int(np.sum((each != labels)[block] & there[block]))
                     for block in np.array_split(np.arange(labels.size), _BLOCKS)]
              for name, each in decided.items()}
    said += data_doubts(labels, part, constellation.size)
    if trained.blind_ratio is not None:
        said += filtered_apart(features, labels, constellation) if constellation.is_complex else []
        said.append("no labels were given: errors are differences from the decisions of a blind linear equalizer "
                    f"(modulation error ratio {trained.blind_ratio:.1f} dB, error vector magnitude "
                    f"{100 * error_vector_magnitude(trained.blind_ratio):.1f} %, about "
                    f"{wrong_decisions(constellation, trained.blind_ratio, labels.size)} of {labels.size} wrong, if "
                    "what is left is noise)")
    return Trial(said, samples, bursts, sps, done.symbol_rate, constellation, fraction, trained.model, rows, blind,
                 _verdict(rows, blind), curves, {"middle samples": middles, "linear equalizer": soft})


def _found(samples, bursts, sps, half_window, fraction, said):
    """The constellation in the part that is trained on, and what that was told by."""
    features = feature_view(samples, sps, half_window)[within(bursts, samples.size // sps, sps)]
    part = max(_BLIND, round(fraction * len(features)))
    tried = candidates(features[:part], np.iscomplexobj(samples))
    said.append(f"constellation found: {tried[0].name}; room between its points, over the error of a "
                "blind equalizer: " + ", ".join(f"{each.name} {each.room:.1f} dB" for each in tried))
    return core.constellation(tried[0].name)


def _row(name, decided, labels, there, bits):
    wrong = (decided ^ labels)[there]
    ones = np.unpackbits(wrong[:, None], axis=1).sum() if wrong.size else 0
    return Row(name, int(wrong.size), int(np.count_nonzero(wrong)), int(wrong.size * bits), int(ones))


def _verdict(rows, blind):
    counts = {row.name: row.errors for row in rows}
    frozen, adaptive, linear = (counts[name] for name in (
        "network, frozen", "AdaNN", "linear equalizer"))
    chance = _DEVIATIONS * np.sqrt(frozen + adaptive + 1)
    what = "differences" if blind else "errors"
    if not any(counts.values()):
        return f"adaptation changes nothing here: no {what} in any row: nothing to equalize"
    counted = f"{adaptive} {what} for {frozen} of the frozen network"
    if abs(adaptive - frozen) <= chance:
        verdict = f"adaptation changes nothing here that is more than chance: {counted}"
    elif blind:
        verdict = f"adaptation changes what is decided here: {counted}"
    else:
        verdict = f"adaptation {'hurts' if adaptive > frozen else 'helps'} here: {counted}"
    best = min(frozen, adaptive)
    if blind:
        return verdict + "; who is right, only labels tell: those of sync words are enough, 255 where not known"
    if best > linear + _DEVIATIONS * np.sqrt(best + linear + 1):
        return verdict + f"; a linear equalizer is better, with {linear}"
    if counts["slicer"] <= best:
        return verdict + f"; a slicer alone makes {counts['slicer']}: nothing to equalize"
    return verdict


def draw(path: str | Path, trial: Trial) -> None:
    """The eye as it came, soft symbols before and behind a linear equalizer, errors over the record."""
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
    errors.set(title="differences" if trial.blind else "symbol errors", xlabel="part of the record",
               yscale="symlog", ylim=(0, None) if any(map(any, trial.curves.values())) else (0, 1))
    errors.legend(fontsize="small")
    save_figure(path, figure)
