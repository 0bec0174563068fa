# SPDX-License-Identifier: GPL-3.0-or-later
"""How few errors are possible on a record: detectors that know what no receiver knows.

Both know the expected waveform that least squares fit with all labels of the record, filters that fit it to each 2048
symbols, the noise's autocorrelation, and which samples impulses hit: those whose residual is beyond four standard
deviations weigh less. They compare label sequences by the squared residual, whitened over three symbols, the likelihood
of Gaussian noise. Of other noise, where the waveform is not what core.expected_waveform can describe, and where a link
moves faster than the filters follow, a detector may do better.

genie: decides each symbol with all others known. No detector has a lower error rate.
Viterbi: decides whole sequences (Forney, "Maximum-likelihood sequence estimation of digital sequences in the presence
    of intersymbol interference", IEEE Trans. Inf. Theory 1972), by Ungerboeck's metric ("Adaptive maximum-likelihood
    receiver for carrier-modulated data transmission systems", IEEE Trans. Commun. 1974).

The sequences are written as changes of the true one. These are approximations:
- A label may change to the 4 nearest points.
- A state has the latest changes, at most 256 states: 3 symbols with 4 other points, 4 of QPSK and PAM4, 8 of PAM2.
  What symbols farther back add is taken from each state's survivor (Duel-Hallen and Heegard, "Delayed decision-feedback
  sequence estimation", IEEE Trans. Commun. 1989), so far as a response reaches.
- What one change does is the whole waveform's; what two do together is the product of their mean responses, scaled to
  the size that each has. It is exact where the waveform is affine.
- Blocks of 128 symbols are decided one by one, with 32 more on both sides; beyond these the labels are the true ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from .. import core
from ..offline.training import feature_view
from .comparators import unit_points

_FITTED, _DECIDED = 2**18, 2**16  # symbols, at the record's end
_FOLLOWED, _FILTER_REACH = 2048, 3  # symbols that a filter of the waveform is fitted to, and that it reaches
_WHITENED = 3     # symbols that the prediction is made from
_RIDGE = 0.1      # of its normal equations, as the equalizer's refinement has it
_LARGE = 4        # standard deviations of a residual, that an impulse exceeds
_OTHERS = 4       # labels that a symbol may have instead
_MOST_STATES = 256
_LEAST = 1e-3     # of a product of responses
_BLOCK, _MARGIN = 128, 32


Expect = Callable[[npt.NDArray], npt.NDArray]


@dataclass(frozen=True)
class Changes:
    """What other labels of each symbol would do, one by one, the rest as sent.

    others: uint8 (M, K), the labels instead of each. gains: (n, K), what the squared residual falls by. steps:
    (n, K, dimensions), the way from the label's point to the other one's, scaled by the change's size over what the
    mean response makes of it. products: (lags, dimensions, dimensions), of the mean responses to a symbol and to one so
    many symbols earlier, the first of a symbol with itself.
    """

    others: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float64]
    steps: npt.NDArray[np.float64]
    products: npt.NDArray[np.float64]


def limits(model: core.model, samples: npt.NDArray, labels: npt.NDArray[np.uint8]) -> dict[str, float]:
    """{"genie", "viterbi": bit error rate} over the last 2^16 symbols of a record.

    model: core.model, as the receiver starts with; samples: normalised, as it takes them; labels: uint8, in step.

    The record as it is, or what a front filter makes of it that knows all labels: the one of which the genie makes
    fewer errors. For each 2048 symbols the waveform goes through a filter of 3 symbols on each side, which least
    squares fit to all labels. Of a link that moves faster than these can follow, more may be possible.
    """
    best, sent, least = None, labels, np.inf
    for rows in (_as_they_are(samples, model.sps), _followed(model, samples, labels)):
        known = labels[-len(rows):]
        waveform = core.expected_waveform.fit(model.constellation, rows[-_FITTED:], known[-_FITTED:])
        latest, known = rows[-_DECIDED:], known[-_DECIDED:]
        reach = waveform.reach + _FILTER_REACH
        changes = find_changes(model.constellation, following(waveform, latest, known), reach, latest, known)
        here = known[reach:][:len(changes.gains)]
        rate = _error_rate(genie(changes, here), here, model.constellation)
        if rate < least:
            best, sent, least = changes, here, rate
    return {"genie": least, "viterbi": _error_rate(viterbi(best, sent), sent, model.constellation)}


def _as_they_are(samples: npt.NDArray, sps: int) -> npt.NDArray:
    """(n - 1, sps): of all symbols but the first."""
    count = samples.size // sps - 1
    return samples[sps - sps // 2:][:count * sps].reshape(count, sps)


def _followed(model: core.model, samples: npt.NDArray, labels: npt.NDArray) -> npt.NDArray:
    network = core.tracked_network(model)
    floats = model.sps * (1 + model.complex)
    windows = feature_view(samples, model.sps, (network.dimension // floats - 1) // 2)
    filtered = network.decide(windows, labels)[1]
    return filtered.view(np.complex64) if model.complex else filtered


def following(waveform: core.expected_waveform, rows: npt.NDArray, labels: npt.NDArray[np.uint8]) -> Expect:
    """The waveform through filters that fit it to rows (n, sps) of so many labels (n,), stretch by stretch.

    Returns a function of labels (n,), which gives (n - 2 (waveform.reach + 3), sps).
    """
    sps, reach = waveform.sps, waveform.reach + _FILTER_REACH
    taps = 2 * _FILTER_REACH * sps + 1
    count = len(rows) - 2 * reach
    edges = sps * np.linspace(0, count, 1 + max(1, count // _FOLLOWED)).astype(int)
    stretches = [slice(*ends) for ends in zip(edges, edges[1:])]

    def windows(labels: npt.NDArray) -> npt.NDArray:
        return np.lib.stride_tricks.sliding_window_view(waveform.expect(labels).ravel(), taps)

    wave, wanted = windows(labels), rows[reach:-reach].ravel()
    filters = [np.linalg.lstsq(wave[stretch], wanted[stretch], rcond=1e-3)[0] for stretch in stretches]

    def expect(labels: npt.NDArray) -> npt.NDArray:
        wave = windows(labels)
        return np.concatenate([wave[stretch] @ each for stretch, each in zip(stretches, filters)]).reshape(-1, sps)

    return expect


def find_changes(constellation: core.constellation, expect: Expect, reach: int, rows: npt.NDArray,
                 labels: npt.NDArray[np.uint8], prediction: npt.NDArray | None = None) -> Changes:
    """Changes of consecutive symbols, as many as whole spans of a change fit in.

    expect: what is expected of rows (n, sps), float32 or complex64, without the first and last `reach` of them, as a
    function of labels (n,). labels: uint8 (n,), as sent. The first symbol of the result is labels[reach]. prediction:
    of the residual's samples from those before, by default that of the least error.
    """
    sps = rows.shape[1]
    span = 2 * reach + 1 + _WHITENED  # symbols whose whitened samples a change changes
    count = (len(labels) - 2 * reach) // span * span
    expected = expect(labels)
    residual = (rows[reach:-reach or None] - expected).ravel()
    if prediction is None:
        prediction = _prediction(residual, _WHITENED * sps)

    def whitened(x: npt.NDArray) -> npt.NDArray:
        return lfilter(np.r_[1, -prediction], [1], np.r_[np.zeros(reach * sps), x, np.zeros(span * sps)])

    def spans(white: npt.NDArray, first: int) -> npt.NDArray:
        """(count / span, floats): what symbols first, first + span … of the result change."""
        return _floats(white[first * sps:][:count * sps].reshape(-1, span * sps))

    points = np.stack([unit_points(constellation).real, unit_points(constellation).imag], 1)
    points = points if constellation.is_complex else points[:, :1]
    others = _nearest(points)
    gains, energies = (np.empty((count, others.shape[1])) for _ in range(2))
    gram = moments = 0.0
    white = whitened(residual)
    weights = _weights(_floats(white)).view(white.dtype)
    # A symbol's span begins `reach` symbols before it; `whitened` has as many more in front.
    for first in range(span):
        left, weight = spans(white, first), spans(weights, first)
        for k in range(others.shape[1]):
            changed = labels.copy()
            places = slice(reach + first, reach + count, span)
            changed[places] = others[labels[places], k]
            change = spans(whitened((expect(changed) - expected).ravel()), first)
            energies[first::span, k] = np.einsum("ij,ij,ij->i", weight, change, change)
            gains[first::span, k] = 2 * np.einsum("ij,ij,ij->i", weight, left, change) - energies[first::span, k]
            step = points[changed[places]] - points[labels[places]]
            gram, moments = gram + step.T @ step, moments + step.T @ change
    products = _products(np.linalg.solve(gram, moments), span, sps * (1 + np.iscomplexobj(rows)))
    steps = points[others[labels[reach:reach + count]]] - points[labels[reach:reach + count]][:, None]
    mean = np.einsum("nkd,de,nke->nk", steps, products[0], steps)
    return Changes(others, gains, steps * np.sqrt(energies / mean)[..., None], products)


def genie(changes: Changes, sent: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Labels (n,), each decided with the others as sent."""
    best = changes.gains.argmax(1)
    wrong = changes.gains.max(1) > 0
    return np.where(wrong, changes.others[sent, best], sent)


def viterbi(changes: Changes, sent: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Labels (n,) of the likeliest sequence, block by block."""
    count, alternatives = changes.gains.shape
    digits = alternatives + 1  # of a symbol: as sent, or one of the others
    memory = max(n for n in range(1, 9) if digits ** n <= _MOST_STATES)
    blocks = -(-count // _BLOCK)
    padded = ((_MARGIN, blocks * _BLOCK - count + _MARGIN), (1, 0))
    length = _BLOCK + 2 * _MARGIN
    # Beyond the record no label changes.
    gains = np.pad(changes.gains, padded, constant_values=-np.inf)
    gains[:, 0] = 0
    steps = np.pad(changes.steps, (*padded, (0, 0))).astype(np.float32)
    places = _BLOCK * np.arange(blocks)[:, None] + np.arange(length)
    large = np.flatnonzero(np.abs(changes.products).max((1, 2)) > _LEAST * np.abs(changes.products[0]).max())
    interference = changes.products[1:max(2, large[-1] + 1)].astype(np.float32)  # (lags, dimensions, dimensions)
    lags, dimensions = interference.shape[:2]

    older = digits ** (memory - 1)
    scores = np.full((blocks, digits, older), -np.inf)  # the oldest digit first, the newest last
    scores[:, 0, 0] = 0
    pending = np.zeros((blocks, digits, older, lags, dimensions), np.float32)  # of changes so far, at symbols to come
    survivors = np.empty((length, blocks, older, digits), np.uint8)
    for i in range(length):
        step = steps[places[:, i]]
        met = pending[..., 0, :] @ step.transpose(0, 2, 1)[:, None]  # (blocks, digits, older, digits)
        branches = scores[..., None] + gains[places[:, i]][:, None, None] - 2 * met
        oldest = branches.argmax(1)  # (blocks, older, digits)
        survivors[i] = oldest
        best = np.take_along_axis(branches, oldest[:, None], 1)[:, 0]
        added = np.tensordot(step, interference, (2, 1))  # (blocks, digits, lags, dimensions)
        block, state = np.arange(blocks)[:, None, None], np.arange(older)[:, None]
        kept = pending[block, oldest, state]  # (blocks, older, digits, lags, dimensions)
        kept[..., :-1, :] = kept[..., 1:, :]
        kept[..., -1, :] = 0
        pending = (kept + added[:, None]).reshape(pending.shape)
        scores = best.reshape(scores.shape)

    state = scores.reshape(blocks, -1).argmax(1)
    chosen = np.empty((blocks, length), int)
    for i in reversed(range(length)):
        chosen[:, i] = state % digits
        state = survivors[i].reshape(blocks, -1)[np.arange(blocks), state] * older + state // digits
    chosen = chosen[:, _MARGIN:_MARGIN + _BLOCK].ravel()[:count]
    return np.where(chosen > 0, changes.others[sent, chosen - 1], sent)


def _nearest(points: npt.NDArray) -> npt.NDArray[np.uint8]:
    """uint8 (M, K): the labels of the points nearest to each point."""
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    return distances.argsort(1, kind="stable")[:, 1:_OTHERS + 1].astype(np.uint8)


def _prediction(residual: npt.NDArray, lags: int) -> npt.NDArray:
    """(lags,): what the samples before, the latest first, are multiplied with."""
    count = residual.size
    correlation = np.array([np.vdot(residual[:count - lag], residual[lag:]) for lag in range(lags + 1)])
    column = correlation[:lags] * np.r_[1 + _RIDGE, np.ones(lags - 1)]
    return solve_toeplitz((column, column.conj()), correlation[1:])


def _weights(residual: npt.NDArray) -> npt.NDArray:
    most = _LARGE * np.median(np.abs(residual)) / 0.6745  # of a normal variable
    return (most / np.maximum(np.abs(residual), most)) ** 2


def _products(responses: npt.NDArray, span: int, floats: int) -> npt.NDArray:
    """responses: (dimensions, span * floats)."""
    return np.array([[[one[lag * floats:] @ other[:one.size - lag * floats] for other in responses]
                      for one in responses] for lag in range(span)])


def _floats(x: npt.NDArray) -> npt.NDArray:
    return np.ascontiguousarray(x).view(float)


def _error_rate(decided: npt.NDArray, sent: npt.NDArray, constellation: core.constellation) -> float:
    wrong = np.unpackbits((decided ^ sent)[:, None], axis=1).sum()
    return float(wrong / sent.size / constellation.bits_per_symbol)
