# SPDX-License-Identifier: GPL-3.0-or-later
"""A Volterra equalizer, the nonlinear one of the optical literature, to compare with.

Its terms, the linear window and products of samples near the symbol, are combined by LMS or RLS.
Sources: Mathews, "Adaptive polynomial filters", IEEE Signal Process. Mag., 1991; Stojanovic et al.,
"Volterra and Wiener equalizers for short-reach 100G PAM-4 applications", J. Lightwave Technol.,
2017. Complex samples have products x_i x_j conj(x_k) alone: of an even number of samples they fall
out of the signal's band.
"""

from itertools import combinations_with_replacement

import numpy as np

_BLOCK = 8           # symbols that are decided with the same taps
_SPACING = 2         # samples a symbol that products are taken of
_SECOND, _THIRD = 9, 5  # of these samples, around the symbol
_CHUNK = 4096        # symbols whose terms are made at a time
_START = 1e-2        # RLS: the first correlation matrix is this times the identity


def volterra_equalizer(samples: np.ndarray, points: np.ndarray, sps: int, half_window: int,
                       order: int, algorithm: str, rate: float, training: np.ndarray) -> np.ndarray:
    """Soft symbols, complex or float (n // sps,), of samples float32 or complex64 (n,).

    points: of the symbols, (M,), of unit power as the samples; order: 2 or 3, of the highest
    products, for complex samples 3, within 2 symbols of the one decided; algorithm: "lms", of which
    rate is the step over the number of terms, or "rls", of which rate is the forgetting factor;
    training: labels of the first symbols, uint8; after them it takes its own decisions. Taps change
    every 8 symbols; RLS is exact but for that delay.
    """
    symbols = samples.size // sps
    near = half_window * sps
    padded = np.pad(samples, (near, near + sps)).astype(np.result_type(samples, np.float64))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * near + 1)[::sps][:symbols]
    step = _rls if algorithm == "rls" else _lms
    soft = np.zeros(symbols, padded.dtype)
    state = scale = None
    for start in range(0, symbols, _CHUNK):
        terms = _terms(windows[start:start + _CHUNK], sps, order)
        if state is None:
            scale = np.sqrt(np.mean(abs(terms) ** 2, axis=0))
            size = terms.shape[1]
            state = np.zeros(size, terms.dtype), np.eye(size, dtype=terms.dtype) / _START
        terms /= scale
        for first in range(0, len(terms), _BLOCK):
            rows = terms[first:first + _BLOCK]
            y = rows @ state[0]
            now = slice(start + first, start + first + len(rows))
            soft[now] = y
            known = points[training[now]]
            wanted = np.append(known, points[abs(y[known.size:, None] - points).argmin(axis=1)])
            state = step(*state, rows, wanted - y, rate)
    return soft


def _terms(windows: np.ndarray, sps: int, order: int) -> np.ndarray:
    """(symbols, terms): the window, products of two and three samples of it, and for real samples
    a constant."""
    middle = windows.shape[1] // 2
    every = max(1, sps // _SPACING)

    def near(count: int) -> list[np.ndarray]:
        return [windows[:, middle + every * (k - count // 2)] for k in range(count)]

    columns = [windows]
    if np.iscomplexobj(windows):
        columns += [(a * b * c.conj())[:, None] for a, b in combinations_with_replacement(
            near(_THIRD), 2) for c in near(_THIRD)]
    else:
        columns += [np.ones((len(windows), 1))]
        columns += [(a * b)[:, None] for a, b in combinations_with_replacement(near(_SECOND), 2)]
        if order == 3:
            columns += [(a * b * c)[:, None] for a, b, c in combinations_with_replacement(
                near(_THIRD), 3)]
    return np.concatenate(columns, axis=1)


def _lms(taps: np.ndarray, inverse: np.ndarray, rows: np.ndarray, error: np.ndarray,
         step: float) -> tuple[np.ndarray, np.ndarray]:
    return taps + step / taps.size * (rows.conj().T @ error), inverse


def _rls(taps: np.ndarray, inverse: np.ndarray, rows: np.ndarray, error: np.ndarray,
         forget: float) -> tuple[np.ndarray, np.ndarray]:
    """With the matrix inversion lemma, a block of rows at once; inverse: of the correlation."""
    inverse = inverse / forget ** len(rows)
    right = inverse @ rows.conj().T
    gain = right @ np.linalg.inv(np.eye(len(rows)) + rows @ right)
    inverse = inverse - gain @ right.conj().T
    return taps + gain @ error, (inverse + inverse.conj().T) / 2
