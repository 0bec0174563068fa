# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels for a capture whose symbols are not known: the decisions of a slicer, or of a blind linear equalizer.

Where the eye is open the slicer's are right whatever the data; an equalizer that knows no symbols takes what recurs,
as an idle word does, for interference. Where it is closed, its taps minimise Godard's constant-modulus cost, which
opens the eye, and then the squared error of the decisions. Source: Godard, "Self-recovering equalization and carrier
tracking in two-dimensional data communication systems", IEEE Trans. Commun., 1980.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.special

from .. import core
from .conventional import linear_equalizer

FEWEST = 1000          # symbols
_FITTED = 65536         # symbols at most: plenty for the taps of one window
_DECIDED = 8192         # at once
_TURNED = 8192          # symbols at most that the carrier's phase is found from
_PHASES = 64            # that are tried within one symmetry of the constellation
_ROUNDS = 20            # of decisions and least squares
_LEAST_KURTOSIS = 0.5   # of the decided symbols, relative to the constellation's
APART = 2.0             # dB less residual with taps of their own for I and Q: these were filtered separately
_BORDERS = 1e-3         # of the symbols, that may lie near the border of two points in an open eye
_ECHOES = 5             # symbols on either side that are looked for in it
_EXPLAINED = 16384      # symbols at most that these are found from
_OPENING = 0.25         # of the distance between two points: how much farther the second nearest is than the nearest
_LEAST_ERROR = 1e-12    # mean squared: float32's rounding
_LEAST_VARIANCE = 1e-6  # relative: directions below it are float32's rounding


def check_window(sps: int, half_window: int) -> None:
    """Raises ValueError for a window that a blind start refuses."""
    most = (core.most_blind_samples // sps - 1) // 2
    if half_window > most:
        raise ValueError(f"half-window is {half_window}, allowed of a blind start: up to {most} at {sps} samples per "
                         f"symbol, a window of {core.most_blind_samples} samples")


def blind_labels(features: npt.NDArray[np.float32], constellation: core.constellation,
                 is_complex: bool, part: int | None = None, sps: int = 2) -> tuple[npt.NDArray[np.uint8], float]:
    """Decide every window by its middle sample, or with one linear equalizer as long as the windows.

    features: float32 (n, dimension), as training.feature_view gives them; constellation:
    core.constellation; is_complex: whether the samples are; part: windows, from the first on, that the
    equalizer is fitted to; None: all; sps: samples a symbol, even, of an offset constellation, whose I and Q have real
    taps each. The carrier must be recovered, but for a constant phase, and where open_eye()
    finds no open eye, the symbols must be uniform and independent. Complex points get a complex
    tap for each sample, and where the residual is 2 dB less, I and Q taps of their own (widely linear: Picinbono and
    Chevalier, "Widely linear estimation with complex data", IEEE Trans. Signal Process., 1995); real points a real tap
    for each of its parts.
    Returns (labels, ratio): uint8 (n,), and the modulation error ratio in dB that the equalizer's decisions
    have by themselves, of an open eye that of an equalizer taught by the slicer's. Labels are right up to one of the
    constellation's symmetries, which the signal does not show. Raises ValueError where no such equalizer finds the
    constellation. Of a window beyond check_window() it takes minutes.
    """
    part = len(features) if part is None else part
    if part < FEWEST:
        raise ValueError(f"{part} symbols are too few for a blind start, allowed: from "
                         f"{FEWEST} on")
    if constellation.is_offset:
        return _offset_labels(features, part, sps)
    points = _unit_points(constellation)
    sliced = open_eye(features, constellation, is_complex)
    if sliced is not None:
        # At random: every other symbol of an idle pattern may be the same one.
        picked = np.sort(np.random.default_rng(0).permutation(part)[:_FITTED])
        there = sliced[picked]
        soft = linear_equalizer(features[picked], there, there.size, constellation)
        scale = np.mean(abs(constellation.centred) ** 2)
        return _found(sliced, np.mean(abs(soft - constellation.centred[there]) ** 2) / scale)
    picked = np.unique(np.linspace(0, part - 1, 2 * _FITTED).astype(int))
    fitted = _taps_inputs(features[picked[::2]], constellation)
    whitening = _whitening(fitted)
    parts = 2 if is_complex and not constellation.is_complex else 1
    middle = fitted.shape[1] // parts // 2 * parts
    starts = fitted[:, middle:middle + parts].copy()
    white = fitted[:, :whitening.shape[1]]  # in its place: it is the largest of what is held
    for first in range(0, len(fitted), _DECIDED):
        white[first:first + _DECIDED] = fitted[first:first + _DECIDED] @ whitening
    taps = _godard(white, starts, points)
    _check_kurtosis(_filtered(features, picked[1::2], whitening @ taps, constellation), points, constellation.name)
    if constellation.is_complex:
        taps = taps * _rotation(white[:_TURNED] @ taps, points, len(constellation.symmetries))
    taps, error = _least_squares(white, taps, points)

    whole, conjugate = np.arange(len(features)), None
    if constellation.is_complex:
        own, left = _widely_linear(white, _nearest(white @ taps, points), points)
        if left < error * 10 ** (-APART / 10):
            taps, conjugate, error = own[0], own[1], left
    y = _filtered(features, whole, whitening @ taps, constellation)
    if conjugate is not None:
        y += _filtered(features, whole, whitening @ conjugate, constellation).conj()
    return _found(_nearest(y, points), error)


def _offset_labels(features, part, sps):
    """I and Q of oqpsk, by real taps each: those of one are those of the other, a quarter of a turn and half a symbol
    later, before its decisions follow. Which of the two is I is open."""
    binary = core.constellation("bpsk")
    bits = [blind_labels(features, binary, True, part)[0]]
    taps = np.linalg.lstsq(features[:_TURNED], 2.0 * bits[0][:_TURNED] - 1, rcond=None)[0].reshape(-1, 2)
    later = np.zeros_like(taps)
    later[sps // 2:] = np.column_stack([-taps[:, 1], taps[:, 0]])[:len(taps) - sps // 2]
    bits.append((features @ later.ravel().astype(np.float32) > 0).astype(np.uint8))
    errors = []
    for number, each in enumerate(bits):
        for _ in range(_ROUNDS):
            soft = linear_equalizer(features, each, part, binary)
            before, each = each, (soft > 0).astype(np.uint8)
            if np.array_equal(before, each):
                break
        bits[number] = each
        errors.append(np.mean((soft - (2.0 * each - 1)) ** 2))
    return _found(2 * bits[0] + bits[1], np.mean(errors))


def open_eye(features: npt.NDArray[np.float32], constellation: core.constellation,
             is_complex: bool) -> npt.NDArray[np.uint8] | None:
    """The labels, uint8 (n,), that a slicer decides of the windows' middle samples, if their eye is open: if all but
    one in 1000 lie clearly nearer to their point than to any other. Else None. Arguments as of blind_labels."""
    points: Any = _unit_points(constellation).astype(np.complex64 if constellation.is_complex else np.float32)
    parts = 1 + is_complex
    middle = features.shape[1] // parts // 2 * parts
    y: Any = np.ascontiguousarray(features[:, middle:middle + parts])
    y = y.view(np.complex64 if is_complex else np.float32)[:, 0]
    y = y / max(np.sqrt(np.mean(abs(y) ** 2)), np.float32(1e-30))
    if constellation.is_complex:
        y *= _rotation(y[:_TURNED], points, len(constellation.symmetries))
    elif is_complex:
        y = np.ascontiguousarray((y * np.exp(-0.5j * np.angle(np.mean(y**2)))).real, np.float32)
    labels = _nearest(y, points)
    for _ in range(_ROUNDS):  # gain and offset: the mean of symbols that are not alike often was taken out
        sent = points[labels]
        y -= y.mean(dtype=np.complex128 if constellation.is_complex else np.float64)
        y *= np.vdot(y, sent) / max(np.vdot(y, y).real, np.float32(1e-30))
        y += sent.mean()
        before, labels = labels, _nearest(y, points)
        if np.array_equal(before, labels):
            break
    margins = np.concatenate([np.diff(np.partition(abs(part[:, None] - points), 1, axis=1)[:, :2])[:, 0]
                              for part in np.array_split(y, -(-y.size // _DECIDED))])
    is_open = np.quantile(margins, _BORDERS) > _OPENING * _apart(points)
    return labels if is_open and _explained(y, points[labels], points) > _OPENING else None


def _explained(y, sent, points):
    """How far all but few of y lie from the border to another point where decided symbols, themselves and as echoes,
    explain them; of the distance between two points, below 0 beyond it. Between the levels that echoes of idle words
    make, there are gaps, too, but symbols that are decided at these explain no other ones."""
    columns = np.lib.stride_tricks.sliding_window_view(np.pad(sent, _ECHOES), 2 * _ECHOES + 1)
    picked = np.unique(np.linspace(0, y.size - 1, _EXPLAINED).astype(int))
    taps, *_ = np.linalg.lstsq(np.column_stack([columns[picked], np.ones(picked.size, y.dtype)]), y[picked], rcond=1e-4)
    left = np.concatenate([abs(columns[first:first + _DECIDED] @ taps[:-1] + taps[-1] - y[first:first + _DECIDED])
                           for first in range(0, y.size, _DECIDED)])
    if abs(taps[_ECHOES]) < abs(taps[:-1]).max():
        return 0.0
    return 1 - 2 * np.quantile(left, 1 - _BORDERS) / (abs(taps[_ECHOES]) * _apart(points))


def _unit_points(constellation):
    points = constellation.centred if constellation.is_complex else constellation.centred.real
    return points / np.sqrt(np.mean(abs(points) ** 2))


def _apart(points):
    return abs(points[:, None] - points)[~np.eye(points.size, dtype=bool)].min()


def _found(labels, error):
    """Labels (n,) and their modulation error ratio in dB, from the mean squared error."""
    if np.all(labels == labels[0]):
        raise ValueError(f"no symbols are found: all {labels.size} are decided alike")
    return labels, float(-10 * np.log10(max(error, _LEAST_ERROR)))


def wrong_decisions(constellation: core.constellation, ratio: float, symbols: int) -> int:
    """How many of so many decisions are wrong at a modulation error ratio in dB, if the error is Gaussian noise and
    each neighbour as far away as the nearest."""
    points = constellation.centred / np.sqrt(np.mean(abs(constellation.centred) ** 2))
    distances = abs(points[:, None] - points)
    apart = distances[distances > 1e-6].min()
    neighbours = (distances < 1.01 * apart).sum() / points.size - 1
    deviation = 10 ** (-ratio / 20) / (np.sqrt(2) if constellation.is_complex else 1)
    wrong = neighbours * scipy.special.erfc(apart / deviation / np.sqrt(8)) / 2
    return round(symbols * min(1.0, wrong))


def _taps_inputs(features, constellation):
    """What each tap multiplies: for complex points samples, for real ones a window's numbers."""
    features = np.ascontiguousarray(features)
    return features.view(np.complex64) if constellation.is_complex else features


def _filtered(features, index, taps, constellation):
    """What taps make of the windows that index names, few of them copied out of their view at once."""
    return np.concatenate([_taps_inputs(features[index[first:first + _DECIDED]], constellation) @ taps
                           for first in range(0, index.size, _DECIDED)])


def _whitening(x):
    """The matrix (dimension, rank) that makes the columns of x uncorrelated, of power 1."""
    double = np.result_type(x, np.float64)
    power = sum(part.conj().T @ part for part in np.array_split(x, -(-len(x) // _DECIDED)))
    power, directions = np.linalg.eigh((power / len(x)).astype(double))
    kept = power > _LEAST_VARIANCE * power[-1]
    return (directions[:, kept] / np.sqrt(power[kept])).astype(x.dtype)


def _godard(white, starts, points):
    """Taps on `white` of unit output power at the least mean of (|y|^2 - R)^2 that is found.

    starts: (n, 1 or 2), the window's middle sample: of PAM in complex samples, I and Q.
    """
    radius = np.mean(abs(points) ** 4)
    double = np.result_type(white, np.float64)

    def cost(taps):
        y = white @ taps.view(double).astype(white.dtype)
        error = abs(y) ** 2 - radius
        gradient = 4 / len(y) * ((error * y.conj()) @ white).conj()
        return np.mean(error**2, dtype=np.float64), gradient.astype(double).view(np.float64)

    found = [scipy.optimize.minimize(
        cost, (_correlation(white, start) / start.size).astype(double).view(np.float64), jac=True,
        method="L-BFGS-B") for start in starts.T]
    taps = min(found, key=lambda result: result.fun).x.view(double)
    taps = (taps / np.linalg.norm(taps)).astype(white.dtype)
    white = white[:0].copy()  # scipy's optimizer makes reference cycles that hold `cost`, and so all of it
    return taps


def _check_kurtosis(y, points, name):
    """Noise has no kurtosis, and a sum of many symbols less than one symbol."""
    of_noise = 2 if np.iscomplexobj(y) else 3  # a normal variable's fourth moment
    moment = np.mean(abs(y) ** 4) / np.mean(abs(y) ** 2) ** 2
    of_points = np.mean(abs(points) ** 4) - of_noise
    if not (moment - of_noise) / of_points > _LEAST_KURTOSIS:
        raise ValueError(f"no linear equalizer finds {name} in the capture: after the best one its excess kurtosis is "
                         f"{moment - of_noise:.2f}, that of {name} {of_points:.2f} (needed: half of it), that "
                         f"of noise, "
                         "of a mix of many symbols or of bursts 0 or more")


def _rotation(y, points, symmetries):
    """The rotation of y whose decisions are nearest: blind phase search.

    Source: Pfau, Hoffmann, Noe, "Hardware-efficient coherent digital receiver concept with
    feedforward carrier recovery for M-QAM constellations", J. Lightwave Technol., 2009.
    """
    turns = np.exp(2j * np.pi / symmetries * np.arange(_PHASES) / _PHASES).astype(y.dtype)
    return min(turns, key=lambda turn: np.mean(
        abs(y * turn - points[_nearest(y * turn, points)]) ** 2))


def _correlation(x, y):
    """x.conj().T @ y without a copy of x."""
    return (y.conj() @ x).conj()


def _least_squares(white, taps, points):
    """Taps for their own decisions, and the mean squared error."""
    labels = None
    for _ in range(_ROUNDS):
        before, labels = labels, _nearest(white @ taps, points)
        if np.array_equal(before, labels):
            break
        taps = (_correlation(white, points[labels].astype(white.dtype)) / len(labels)).astype(white.dtype)
    return taps, np.mean(abs(white @ taps - points[labels]) ** 2)


def _widely_linear(white, labels, points):
    """(a, b), taps of y = white @ a + (white @ b).conj(), for their own decisions, from labels on; and the mean squared
    error that is left."""
    x = white.view(white.real.dtype)  # I, Q
    power = sum(part.T @ part for part in np.array_split(x, -(-len(x) // _DECIDED))).astype(np.float64)
    points = points.astype(white.dtype)
    for _ in range(_ROUNDS):
        own = np.linalg.lstsq(power, x.T @ points[labels].view(x.dtype).reshape(-1, 2), rcond=None)[0].astype(x.dtype)
        y = (x @ own).view(white.dtype)[:, 0]
        before, labels = labels, _nearest(y, points)
        if np.array_equal(before, labels):
            break
    of_i, of_q = (np.ascontiguousarray(own[part::2]).view(white.dtype)[:, 0] for part in (0, 1))
    return ((of_i - 1j * of_q) / 2, ((of_i + 1j * of_q) / 2).conj()), np.mean(abs(y - points[labels]) ** 2)


def _nearest(y, points):
    return np.concatenate([abs(y[first:first + _DECIDED, None] - points).argmin(axis=1).astype(np.uint8)
                           for first in range(0, y.size, _DECIDED)])
