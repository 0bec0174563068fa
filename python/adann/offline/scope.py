# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sampling oscilloscope shows of a signal whose symbols are known: eye, levels, pulse response, TDECQ.

docs/scope.md has the definitions. A figure that has no meaning for a signal is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.optimize
import scipy.signal
import scipy.special

from .. import core
from ..captures.labels import known
from ..captures.statistics import error_vector_magnitude, modulation_error_ratio
from .blind import wrong_decisions
from .conventional import slicer

EYE_ERROR_RATE = 1e-5        # at which eyes are measured, as IEEE 802.3 annex 120E has it
TDECQ_ERROR_RATE = 4.8e-4    # of symbols, and what it is in deviations of the noise: IEEE 802.3, 121.8.5.3
TDECQ_Q = 3.414
TDECQ_TAPS = 5               # of the reference equalizer, one a symbol
PHASES = 50                  # instants of a symbol that the waveform is interpolated to: 0.02 UI
_HISTOGRAMS = ((-3, -2), (2, 3))  # instants of two windows 0.04 UI wide, whose centres are 0.05 UI off the eye's
_BINS = 2000                 # of such a histogram
_RECEIVER_BANDWIDTH = 0.5    # of the symbol rate: Bessel-Thomson of order 4, IEEE 802.3, 121.8.5.1
_REACH = 16                  # symbols on each side that the pulse response is fitted over
_ENERGY = 0.99               # of the pulse response, within its length
_TAIL = 0.1                  # part of a level's samples that its tail is fitted to, but for
_OUTERMOST = 10              # samples: fewer have no certain quantile
_LEAST_OF_LEVEL = 1000       # symbols: the tail is fitted over a factor of ten in probability at least
_PER_UNKNOWN = 10            # symbols for each unknown of a fit
_MOSTLY_RIGHT = 0.01         # of decided labels may be wrong where they stand for those sent

MEASURED = 1 << 15           # symbols at a record's end, or at that of its longest burst, that are measured

Labels = npt.NDArray[np.uint8]
Reals = npt.NDArray[np.float64]


def levels_of(values: npt.NDArray, labels: Labels, points: npt.NDArray) -> Reals:
    """The mean value of each level, the lowest point first; nan of a level that does not occur.

    values: real (n,); labels: (n,), all known; points: real (M,), in label order.
    """
    counts = np.bincount(labels, minlength=len(points))
    with np.errstate(invalid="ignore"):
        means = np.bincount(labels, values, len(points)) / counts
    return means[np.argsort(points)]


def level_mismatch_ratio(levels: npt.ArrayLike) -> float:
    """RLM of four levels, the lowest first: IEEE 802.3, equation 120D-4. 1: equally spaced."""
    lowest, low, high, highest = np.asarray(levels, float)
    middle = (lowest + highest) / 2
    lower, upper = (low - middle) / (lowest - middle), (high - middle) / (highest - middle)
    return float(min(3 * lower, 3 * upper, 2 - 3 * lower, 2 - 3 * upper))


def inner_edge(values: npt.NDArray, error_rate: float) -> float:
    """The value below which a level's samples are with a probability of error_rate.

    values: (n,). A straight line in Q, x = mean - deviation * Q^-1(p), is fitted to the quantiles of the lowest
    tenth but for the 10 lowest samples. Gaussian noise lies on it; so do the outer edges of bounded interference.
    """
    quantiles = np.sort(values)[:max(2, int(_TAIL * values.size))]
    inside = np.unique(np.geomspace(_OUTERMOST, quantiles.size, 40).astype(int)) - 1
    deviations = scipy.special.ndtri((inside + 0.5) / values.size)
    slope, mean = np.polyfit(deviations, quantiles[inside], 1)
    return float(mean + slope * scipy.special.ndtri(error_rate))


def eye_edges(values: npt.NDArray, labels: Labels, points: npt.NDArray, error_rate: float) -> Reals:
    """(M-1, 2): of each eye, the lowest first, its lower and upper edge at an error rate; arguments as of levels_of."""
    parts = [values[labels == label] for label in np.argsort(points)]
    return np.array([(-inner_edge(-lower, error_rate), inner_edge(upper, error_rate))
                     for lower, upper in zip(parts[:-1], parts[1:])])


def eye_heights(values: npt.NDArray, labels: Labels, points: npt.NDArray, error_rate: float) -> Reals:
    """(M-1,): the height of each eye over the mean spacing of the levels; 0: closed. Of Gaussian noise
    1 - 2 Q^-1(error_rate) deviation / spacing. Arguments as of levels_of."""
    spacing = np.ptp(levels_of(values, labels, points)) / (len(points) - 1)
    return np.maximum(0, np.diff(eye_edges(values, labels, points, error_rate))[:, 0] / spacing)


def interpolated(samples: npt.NDArray, sps: int) -> Reals:
    """(n, PHASES): the waveform of each symbol, band-limited; phase PHASES/2 is its middle."""
    symbols = samples.size // sps
    padded = scipy.fft.next_fast_len(symbols, real=True)  # a transform of another length takes ten times the memory
    periodic = np.pad(np.asarray(samples[:symbols * sps], np.float64), (0, (padded - symbols) * sps), "wrap")
    dense = scipy.signal.resample(periodic, padded * PHASES)
    return np.roll(dense, PHASES // 2).reshape(padded, PHASES)[:symbols]


def eye_widths(waveform: Reals, labels: Labels, points: npt.NDArray, error_rate: float) -> tuple[Reals, int]:
    """(M-1,): of each eye, in symbols, how long both edges are on their sides of the threshold; and the best phase.

    waveform: (n, PHASES); the best phase is that of which the levels explain most; the threshold of an eye is the
    middle of its edges there.
    """
    edges = np.array([eye_edges(column, labels, points, error_rate) for column in waveform.T])
    shares = np.bincount(labels, minlength=len(points))[np.argsort(points)] / labels.size
    means = np.array([levels_of(column, labels, points) for column in waveform.T])
    between = (means ** 2) @ shares - (means @ shares) ** 2
    best = int((between / waveform.var(axis=0)).argmax())
    thresholds = edges[best].mean(axis=1)
    margins = np.minimum(thresholds - edges[:, :, 0], edges[:, :, 1] - thresholds)
    return np.array([_opening(margin, best) for margin in margins.T]), best


def _opening(margin, best):
    """Of margins (PHASES,) how long they are positive around `best`, the crossings interpolated, in symbols."""
    if margin[best] <= 0:
        return 0.0
    length = 0.0
    for step in (-1, 1):
        at = best
        while 0 <= at + step < margin.size and margin[at + step] > 0:
            at += step
        length += abs(at - best)
        if 0 <= at + step < margin.size:
            length += margin[at] / (margin[at] - margin[at + step])
        else:
            length += 0.5
    return length / margin.size


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


@dataclass
class Penalty:
    """TDECQ in dB; taps (5,) of the reference equalizer, their sum 1; phase: of the eye's centre, 0 to PHASES - 1;
    noise: that could be added, rms, and the outer modulation amplitude."""

    tdecq: float
    taps: Reals
    phase: int
    noise: float
    amplitude: float


def tdecq(waveform: Reals, labels: Labels, points: npt.NDArray, amplitude: float, scope_noise: float = 0.0,
          phases: Sequence[int] = range(PHASES // 2 - 10, PHASES // 2 + 11, 2)) -> Penalty:
    """Transmitter and dispersion eye closure of PAM4: IEEE 802.3, 121.8.5.3.

    waveform: (n, PHASES); labels: (n,), all known; points: real (4,); amplitude: OMA_outer, between runs of the
    outer levels; scope_noise: rms of the scope's own noise, which is in the samples; phases: at which the eye's centre
    is looked for. The taps and the phase are those of the least penalty. Raises ValueError where more symbols than
    4.8e-4 are wrong before noise is added.
    """
    order = np.argsort(np.argsort(points))[labels]
    average = levels_of(waveform.mean(axis=1), labels, points).mean()  # as if all labels came alike often
    thresholds = average + amplitude / 3 * np.array([-1, 0, 1])
    target = amplitude * (order / 3 - 0.5) + average
    found: list[tuple[float, Reals, int]] = []
    for phase in phases:
        taps = _reference_taps(_windows(waveform, phase), target)
        found.append((_most_noise(waveform, order, thresholds, taps, phase), taps, phase))
    noise, taps, phase = max(found, key=lambda each: each[0])
    if noise <= 0:
        raise ValueError(f"more than {TDECQ_ERROR_RATE} of the symbols are wrong after the reference equalizer")
    free = [k for k in range(TDECQ_TAPS) if k != abs(taps).argmax()]

    def whole(some):
        full = np.empty(TDECQ_TAPS)
        full[free] = some
        full[abs(taps).argmax()] = 1 - np.sum(some)
        return full

    best = scipy.optimize.minimize(
        lambda some: -_most_noise(waveform, order, thresholds, whole(some), phase), taps[free],
        method="Nelder-Mead", options={
            "maxfev": 120, "xatol": 1e-3, "fatol": 1e-4 * noise,
            "initial_simplex": taps[free] + np.vstack([np.zeros(len(free)), 0.02 * np.eye(len(free))])})
    noise, taps = max((noise, taps), (-float(best.fun), whole(best.x)), key=lambda each: each[0])
    total = np.hypot(noise, scope_noise)
    return Penalty(float(10 * np.log10(amplitude / (6 * TDECQ_Q * total))), taps, phase, float(noise), amplitude)


def noise_gain(taps: npt.ArrayLike) -> float:
    """C_eq: what the reference equalizer makes of the rms of noise that a Bessel-Thomson filter of order 4 and half
    the symbol rate has shaped; IEEE 802.3, equation 121-9."""
    frequency = np.linspace(0, 4, 4001)  # cycles a symbol
    _, shape = scipy.signal.freqs(*scipy.signal.bessel(4, 2 * np.pi * _RECEIVER_BANDWIDTH, analog=True, norm="mag"),
                                  2 * np.pi * frequency)
    weight = abs(shape) ** 2
    taps = np.asarray(taps)
    gain = abs(np.exp(-2j * np.pi * np.outer(frequency, np.arange(taps.size))) @ taps) ** 2
    return float(np.sqrt(np.sum(weight * gain) / np.sum(weight)))


def _windows(waveform, instant):
    """(n-4, 5): the values at an instant, which may be in a neighbouring symbol, of each symbol and those around it."""
    column = np.roll(waveform.reshape(-1), -instant)[::PHASES]
    return np.lib.stride_tricks.sliding_window_view(column, TDECQ_TAPS)


def _reference_taps(windows, target):
    """Least squares to the levels, with taps whose sum is 1."""
    inner = TDECQ_TAPS // 2
    wanted = target[inner:len(target) - inner] - windows[:, inner]
    others = [k for k in range(TDECQ_TAPS) if k != inner]
    some = np.linalg.lstsq(windows[:, others] - windows[:, [inner]], wanted, rcond=None)[0]
    taps = np.empty(TDECQ_TAPS)
    taps[others], taps[inner] = some, 1 - some.sum()
    return taps


def _most_noise(waveform, order, thresholds, taps, phase):
    """The rms of noise at the equalizer's input at which the worse of both histograms has the target error rate; 0 or
    less where it has that without noise."""
    inner = TDECQ_TAPS // 2
    sides = np.sign(order[inner:order.size - inner, None] - (np.arange(3) + 0.5))
    spread = thresholds[1] - thresholds[0]
    least = np.inf
    for instants in _HISTOGRAMS:
        values = np.concatenate([_windows(waveform, phase + instant) @ taps for instant in instants])
        margins = (np.tile(sides, (len(instants), 1)) * (values[:, None] - thresholds)).reshape(-1)
        centres = 4 * spread * ((np.arange(_BINS) + 0.5) / _BINS - 0.5)
        bins = np.clip((margins / (4 * spread) + 0.5) * _BINS, 0, _BINS - 1).astype(int)
        counts = np.bincount(bins, minlength=_BINS) / values.size

        def excess(deviation, counts=counts, centres=centres):
            return counts @ scipy.special.ndtr(-centres / deviation) - TDECQ_ERROR_RATE

        if excess(1e-6 * spread) >= 0:
            return -float(excess(1e-6 * spread))
        least = min(least, scipy.optimize.brentq(excess, 1e-6 * spread, 2 * spread, xtol=1e-6 * spread))
    return least / noise_gain(taps)


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
