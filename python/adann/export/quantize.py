# SPDX-License-Identifier: GPL-3.0-or-later
"""A network in whole numbers: where its binary points lie, and what its weights become; without labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import core

BITS = range(4, 17)
SYMBOLS = 65536  # of a record that are enough to choose by
_SPREADS = (1, 2, 4, 8)  # of ranges that are tried
_NARROWEST, _RANGES = 0.3, 36  # ranges that are tried, of the largest value
_FINER = 4  # exponents that are tried, from the one that holds the largest value on
_MOST = 30  # of an exponent and of a shift
_LARGEST_SUM = 2**31 - 1
_DAMPING = 1e-4  # of the inputs' mean power, so that their correlation can be inverted


def quantize(network: core.network, windows: npt.NDArray[np.float32], bits: int) -> core.quantization:
    """Move the weights of a core.network to what whole numbers of `bits`, 4 to 16, can stand for.

    windows: float32 (n, D), what the network meets. Returns the formats by which weights, samples and hidden
    outputs are whole numbers. First the hidden neurons are brought to similar ranges, which changes nothing of
    what the network does: M. Nagel et al., "Data-free quantization through weight equalization and bias
    correction", ICCV 2019, Section 4.1, with the ranges of outputs instead of weights; of several degrees, that
    whose posteriors come nearest to the network's in float. Each exponent, of the
    samples, of a layer's outputs, of a row of weights, is the one with the least mean squared error; where a
    row's sums could overflow 32 bits, the next that does not. Weights are rounded one input after the other, and
    those of the inputs that are left make up for the error of the sums: E. Frantar et al., "GPTQ", ICLR 2023,
    Section 3.
    Raises ValueError for bits out of range.
    """
    if bits not in BITS:
        raise ValueError(f"bits is {bits}, allowed: {BITS[0]} to {BITS[-1]}")
    wanted, best, divergence = network.decide(windows)[1], None, np.inf
    for spread in _SPREADS:
        candidate = core.network(network.sizes)
        candidate.parameters[:] = network.parameters
        formats = _quantize(candidate, windows, bits, spread)
        found = _divergence(wanted, core.quantized_network(candidate, formats), windows)
        if best is None or found < divergence:
            best, divergence = (candidate, formats), found
    assert best
    network.parameters[:] = best[0].parameters
    return best[1]


def _divergence(wanted, quantized, windows):
    """Mean relative entropy of posteriors (n, M) to those in whole numbers."""
    logits = quantized.decide(windows)[1] * quantized.logit_scale
    logits -= logits.max(1, keepdims=True)
    found = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return float(np.mean((wanted * (np.log(np.maximum(wanted, 1e-30)) - found)).sum(1)))


def _quantize(network, windows, bits, spread):
    limits, count = core.quantization(bits, [], []), len(network.sizes) - 1
    _equalize_ranges(network, windows, limits.largest_hidden, spread)
    values, rows = [_best_exponent(windows, limits.largest)], []
    largest_input = limits.largest
    x = _whole(windows, values[0], largest_input) * 2.0 ** -values[0]
    for k in range(count):
        weights, biases = network.weight(k), network.bias(k)
        is_last = k + 1 == count
        outputs = np.maximum(x @ weights.T + biases, 0)
        finest = _MOST if is_last else _best_exponent(outputs, limits.largest_hidden) - values[k] + _MOST
        exponents = np.array([min(_best_exponent(weights if is_last else row, limits.largest), finest)
                              for row in weights])
        while True:
            moved = _moved(weights, x, exponents, limits.largest)
            sums = np.abs(moved).sum(1) * 2.0**exponents * largest_input
            sums += np.abs(biases) * 2.0 ** (exponents + values[k]) + 2.0 ** (_MOST - 1)
            overflows = sums > _LARGEST_SUM
            if not overflows.any():
                break
            exponents -= overflows.any() if is_last else overflows
        biases += x.mean(0) @ (weights - moved).T
        weights[:] = moved
        rows.append(exponents.tolist())
        if not is_last:
            outputs = np.maximum(x @ moved.T + biases, 0)
            largest_input = limits.largest_hidden
            values.append(min(_best_exponent(outputs, largest_input), min(rows[k]) + values[k]))
            x = _whole(outputs, values[-1], largest_input) * 2.0 ** -values[-1]
    return core.quantization(bits, values, rows)


def _equalize_ranges(network, windows, largest, spread):
    """Scale hidden neurons so that the best ranges of their whole numbers are 0 to 1, and what they feed inversely.

    Ranges below a part of a layer's largest, 1 / spread, count as that part: scaled up further, their weights would
    need more range than the others'.
    """
    x = windows
    for k in range(len(network.sizes) - 2):
        outputs = np.maximum(x @ network.weight(k).T + network.bias(k), 0)
        ranges = np.array([_best_range(each, largest) for each in outputs.T], np.float32)
        ranges = np.maximum(ranges, ranges.max() / spread) if ranges.any() else np.ones_like(ranges)
        network.weight(k)[:] /= ranges[:, None]
        network.bias(k)[:] /= ranges
        network.weight(k + 1)[:] *= ranges
        x = outputs / ranges


def _best_range(x, largest):
    """Where x (n,), not negative, is limited with the least mean squared error of limiting and rounding."""
    peak = float(x.max())
    if not peak > 0:
        return 0.0

    def error(limit):
        step = limit / largest
        return np.mean((np.minimum(np.rint(x / step), largest) * step - x) ** 2)
    # The largest whole number stands for a little less than a power of two.
    return min(peak * np.linspace(_NARROWEST, 1, _RANGES), key=error) * (largest + 1) / largest


def _whole(x, exponent, largest):
    """The whole numbers nearest to x * 2**exponent, limited."""
    return np.clip(np.rint(x * 2.0 ** np.asarray(exponent, float)), -largest, largest)


def _best_exponent(x, largest):
    peak = float(np.abs(x).max())
    if not peak > 0:
        return 0
    first = int(np.clip(np.floor(np.log2(largest / peak)), -_MOST, _MOST))
    candidates = range(first, min(first + _FINER, _MOST + 1))
    errors = [np.mean((_whole(x, each, largest) * 2.0**-each - x) ** 2) for each in candidates]
    return candidates[int(np.argmin(errors))]


def _moved(weights, x, exponents, largest):
    """The weights (outputs, inputs) rounded so that the sums over x (n, inputs) change little."""
    correlation = x.T @ x / len(x)
    correlation += np.eye(len(correlation)) * max(_DAMPING * np.trace(correlation) / len(correlation), 1e-30)
    order = np.argsort(-np.diag(correlation), kind="stable")
    spread = np.linalg.cholesky(np.linalg.inv(correlation[np.ix_(order, order)])).T
    left, moved = weights[:, order].astype(np.float64), np.zeros(weights.shape)
    scales = 2.0 ** exponents.astype(float)
    for i, place in enumerate(order):
        moved[:, place] = _whole(left[:, i], exponents, largest) / scales
        error = (left[:, i] - moved[:, place]) / spread[i, i]
        left[:, i:] -= np.outer(error, spread[i, i:])
    return moved
