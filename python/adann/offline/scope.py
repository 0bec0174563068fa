# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sampling oscilloscope shows of a signal whose symbols are known: eye, levels, pulse response, TDECQ.

docs/scope.md has the definitions. A figure that has no meaning for a signal is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.labels import known
from ..captures.statistics import error_vector_magnitude, modulation_error_ratio
from .blind import wrong_decisions
from .conventional import slicer
from .eye import Labels, eye_heights, eye_widths, interpolated, level_mismatch_ratio, levels_of
from .tdecq import tdecq

EYE_ERROR_RATE = 1e-5        # at which eyes are measured, as IEEE 802.3 annex 120E has it
_REACH = 16                  # symbols on each side that the pulse response is fitted over
_ENERGY = 0.99               # of the pulse response, within its length
_LEAST_OF_LEVEL = 1000       # symbols: the tail is fitted over a factor of ten in probability at least
_PER_UNKNOWN = 10            # symbols for each unknown of a fit
_MOSTLY_RIGHT = 0.01         # of decided labels may be wrong where they stand for those sent

MEASURED = 1 << 15           # symbols at a record's end, or at that of its longest burst, that are measured


@dataclass
class Pulse:
    """What a linear channel makes of one symbol of the largest magnitude. response: ((2*16+1)*sps,), sample 16*sps is
    the symbol's middle; residual: rms of what it does not explain, noise and distortion."""

    response: npt.NDArray
    sps: int
    residual: float

    @property
    def length(self) -> float:
        """Symbols of the shortest stretch that holds 99 % of its energy."""
        energy = np.r_[0, np.cumsum(abs(self.response) ** 2)]
        ends = np.searchsorted(energy, energy[:-1] + _ENERGY * energy[-1] * (1 - 1e-9))
        fits = ends < energy.size
        return float((ends - np.arange(ends.size))[fits].min() / self.sps)

    @property
    def sndr(self) -> float:
        """Signal to noise and distortion, dB: the pulse's peak over the residual; IEEE 802.3, 120D.3.1.6."""
        return float(20 * np.log10(abs(self.response).max() / self.residual))


def fit_pulse(samples: npt.NDArray, labels: Labels, points: npt.NDArray, sps: int) -> Pulse:
    """Least squares over the symbols around which all labels are known.

    samples: (n*sps,); labels: (n,); points: (M,). Raises ValueError where there are fewer than 10 symbols an unknown.
    """
    told = known(labels, len(points))
    sent = np.where(told, np.asarray(points)[np.where(told, labels, 0)], 0) / abs(np.asarray(points)).max()
    width = 2 * _REACH + 1
    if labels.size < width:
        raise ValueError(_too_few(0, width + 1))
    around = np.lib.stride_tricks.sliding_window_view(sent, width)[:, ::-1]
    usable = np.lib.stride_tricks.sliding_window_view(told, width).all(axis=1)
    unknowns = width + 1
    if np.count_nonzero(usable) < _PER_UNKNOWN * unknowns:
        raise ValueError(_too_few(np.count_nonzero(usable), unknowns))
    sums = np.column_stack([around[usable], np.ones(np.count_nonzero(usable))])
    received = samples[:labels.size * sps].reshape(-1, sps)[_REACH:labels.size - _REACH][usable]
    taps = np.linalg.lstsq(sums, received, rcond=None)[0]
    error = received - sums @ taps
    residual = np.sqrt(np.sum(abs(error) ** 2) / ((len(sums) - unknowns) * sps))
    return Pulse(taps[:width].reshape(-1), sps, float(residual))


def _too_few(symbols, unknowns):
    return f"{symbols} symbols with known ones around them, wanted: {_PER_UNKNOWN * unknowns}"


def outer_amplitude(pulse: Pulse) -> float:
    """OMA_outer of a linear fit: between long runs of the highest and of the lowest level."""
    return float(2 * pulse.response.reshape(-1, pulse.sps).sum(axis=0).mean())


@dataclass
class Measured:
    """figures: {key: number or list} of a report; left_out: {key: why}; of pictures, where they are known, pulse,
    waveform: the samples, with the labels (n,) and the soft symbols of each. docs/scope.md has the keys."""

    figures: dict = field(default_factory=dict)
    left_out: dict = field(default_factory=dict)
    pulse: Pulse | None = None
    samples: npt.NDArray = field(default_factory=lambda: np.zeros(0))
    soft: npt.NDArray = field(default_factory=lambda: np.zeros(0))
    labels: Labels = field(default_factory=lambda: np.zeros(0, np.uint8))
    sps: int = 1

    def take(self, measured: Callable[[], Any], key: str) -> Any:
        """What a measure gives; None where it has no meaning, and the reason is noted under its key."""
        try:
            return measured()
        except ValueError as error:
            self.left_out[key] = str(error)
            return None

    def entry(self) -> dict:
        """Its entry of a report."""
        return {**self.figures, "left_out": self.left_out}


def measure(samples: npt.NDArray, soft: npt.NDArray, decided: Labels, sent: Labels | None,
            constellation: core.constellation, sps: int) -> Measured:
    """All figures of a piece of a record, before an equalizer and after it.

    samples: (n*sps,), sample i*sps in the middle of symbol i; soft, decided: what the equalizer made of the symbols,
    (n,) each; sent: labels (n,), UNKNOWN where not known, or None: then the decisions stand for them.
    """
    result = Measured(samples=np.asarray(samples), soft=np.asarray(soft), sps=sps)
    is_complex = np.iscomplexobj(samples)  # BPSK has real points all the same
    points = constellation.centred if is_complex else constellation.centred.real
    labels = decided if sent is None else sent
    result.labels = labels
    figures = result.figures
    told = known(labels, constellation.size)
    figures.update(labels="decided" if sent is None else "sent", symbols=int(np.count_nonzero(told)))
    if not told.any() or sent is None and not _trusted(soft[told], points[labels[told]], constellation):
        result.left_out["all"] = ("no symbol is known" if not told.any() else
                                  "the labels are decisions, of which more than 1 % may be wrong")
        return result
    middles = result.samples[::sps][:labels.size]
    if sent is not None:
        bits = constellation.bits_per_symbol * int(np.count_nonzero(told))
        sliced = slicer(middles, labels, labels.size, constellation)
        for name, each in (("ber_before", sliced), ("ber_after", decided)):
            both = told & known(each, constellation.size)
            wrong = np.unpackbits((each ^ labels)[both][:, None], axis=1).sum()
            figures[name] = int(wrong) / bits
    else:
        result.left_out.update(dict.fromkeys(("ber_before", "ber_after"), "the labels sent are not known"))
    for name, values in (("before", middles), ("after", soft)):
        figures[f"mer_{name}"] = modulation_error_ratio(values[told], points[labels[told]])
        figures[f"evm_{name}"] = error_vector_magnitude(figures[f"mer_{name}"])
    pulse = result.pulse = result.take(lambda: fit_pulse(result.samples, labels, points, sps), "pulse_response")
    if pulse:
        figures.update(pulse_response=[[float(each.real), float(each.imag)] if np.iscomplexobj(each) else float(each)
                                       for each in pulse.response], pulse_length=pulse.length)
    else:
        result.left_out["pulse_length"] = result.left_out["pulse_response"]
    if is_complex:
        result.left_out.update(dict.fromkeys(_OF_LEVELS, "complex samples have no levels"))
        return result
    if pulse:
        figures["sndr"] = pulse.sndr
    else:
        result.left_out["sndr"] = result.left_out["pulse_response"]
    _measure_levels(result, middles, told, points)
    return result


_OF_LEVELS = ("sndr", "levels_before", "levels_after", "rlm_before", "rlm_after", "eye_height_before",
              "eye_height_after", "eye_width_before", "tdecq")


def _trusted(soft, decided, constellation):
    ratio = modulation_error_ratio(soft, decided)
    return wrong_decisions(constellation, ratio, soft.size) <= _MOSTLY_RIGHT * soft.size


def _measure_levels(result, middles, told, points):
    """Eyes, RLM and TDECQ of real samples."""
    figures, left_out = result.figures, result.left_out
    labels, soft, sps = result.labels[told], result.soft[told], result.sps
    fewest = int(np.bincount(labels, minlength=len(points)).min())
    if fewest < _LEAST_OF_LEVEL:
        left_out.update(dict.fromkeys([key for key in _OF_LEVELS if key != "sndr"],
                                      f"{fewest} symbols of a level, wanted: {_LEAST_OF_LEVEL}"))
        return
    shift, sense = 0, 1
    if result.pulse:  # an echo may be the strongest path; a reference may be inverted
        peak = abs(result.pulse.response).argmax()
        shift, sense = round(peak / sps) - _REACH, np.sign(result.pulse.response[peak])
    if sps == 1:
        before = sense * np.roll(middles, -shift)[told]
        left_out.update(dict.fromkeys(("eye_width_before", "tdecq"), "one sample a symbol has no width"))
    else:
        whole = np.roll(interpolated(sense * result.samples, sps), -shift, axis=0)
        widths, best = eye_widths(whole[told], labels, points, EYE_ERROR_RATE)
        before = whole[told][:, best]
        figures["eye_width_before"] = widths.tolist()
    figures["eye_error_rate"] = EYE_ERROR_RATE
    for name, values in (("before", before), ("after", soft)):
        levels = levels_of(values, labels, points)
        figures[f"levels_{name}"] = levels.tolist()
        figures[f"eye_height_{name}"] = eye_heights(values, labels, points, EYE_ERROR_RATE).tolist()
        if len(points) == 4:
            figures[f"rlm_{name}"] = level_mismatch_ratio(levels)
        else:
            left_out[f"rlm_{name}"] = f"{len(points)} levels, wanted: 4"
    if "tdecq" in left_out:
        return
    if len(points) != 4 or not told.all() or not result.pulse:
        left_out["tdecq"] = (f"{len(points)} levels, wanted: 4" if len(points) != 4 else
                             "some symbols are not known" if not told.all() else left_out["pulse_response"])
        return
    levels = np.asarray(figures["levels_before"])
    driven = (levels - levels[[0, -1]].mean())[np.argsort(np.argsort(points))]
    penalty = result.take(lambda: tdecq(whole, labels, points, outer_amplitude(
        fit_pulse(sense * result.samples, result.labels, driven, sps))), "tdecq")
    if penalty:
        figures.update(tdecq=penalty.tdecq, tdecq_taps=penalty.taps.tolist())
