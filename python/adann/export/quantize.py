# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the binary points of a network in whole numbers lie: chosen on a record, without labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import core

BITS = range(4, 17)
SYMBOLS = 65536  # of a record that are enough to choose by
_FINER = 4  # exponents that are tried beyond the one that holds the largest value
_LARGEST_EXPONENT = 30
_LARGEST_SUM = 2**31 - 1


def choose_formats(network: core.network, windows: npt.NDArray[np.float32],
                   bits: int) -> core.quantization:
    """core.quantization of a core.network with `bits`, 4 to 16, for what it meets in windows float32 (n, D).

    Each exponent is the one that leaves least mean squared error of what it scales: of the samples, of
    a hidden layer's outputs, of a row of weights. Rows whose sums could overflow 32 bits get fewer.
    Raises ValueError for bits out of range.
    """
    if bits not in BITS:
        raise ValueError(f"bits is {bits}, allowed: {BITS[0]} to {BITS[-1]}")
    largest = 2 ** (bits - 1) - 1
    count = len(network.sizes) - 1
    x = np.asarray(windows, np.float32)
    values = [_best_exponent(x, largest)]
    rows: list = []
    for k in range(count):
        weights, biases = network.weight(k), network.bias(k)
        is_last = k + 1 == count
        chosen = [_best_exponent(weights, largest)] * len(weights) if is_last else [
            _best_exponent(row, largest) for row in weights]
        chosen = [_fitting(exponent, row, bias, values[k], largest)
                  for exponent, row, bias in zip(chosen, weights, biases)]
        if is_last:
            rows.append([min(chosen)] * len(weights))
            break
        x = np.maximum(x @ weights.T + biases, 0)
        values.append(min(_best_exponent(x, largest), min(chosen) + values[k]))
        most = values[k + 1] - values[k] + _LARGEST_EXPONENT  # of a shift
        rows.append([min(exponent, most) for exponent in chosen])
    return core.quantization(bits, values, rows)


def _rounded(x, exponent, largest):
    scaled = np.clip(x * np.float64(2.0) ** exponent, -largest, largest)
    return np.trunc(scaled + np.copysign(0.5, scaled))


def _best_exponent(x, largest):
    peak = np.abs(x).max()
    if not peak > 0:
        return 0
    first = int(np.floor(np.log2(largest / peak)))
    candidates = np.clip(range(first, first + _FINER), -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
    errors = [np.mean((_rounded(x, each, largest) * 2.0**-each - x) ** 2) for each in candidates]
    return int(candidates[int(np.argmin(errors))])


def _fitting(exponent, row, bias, value_exponent, largest):
    """The exponent, or the next smaller one with which no sum overflows."""
    while True:
        sums = np.abs(_rounded(row, exponent, largest)).sum() * largest
        sums += np.abs(bias) * 2.0 ** (exponent + value_exponent) + 2.0**29
        if sums <= _LARGEST_SUM:
            return exponent
        exponent -= 1
