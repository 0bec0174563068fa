# SPDX-License-Identifier: GPL-3.0-or-later
"""What an equalizer's run is reported as: report.json and the picture of the BER over blocks."""

import json

import numpy as np

from .. import core
from ..captures.files import atomic_output

LATEST = 8  # blocks that a running BER is the mean of, as in the paper's figures
CONVERGED = 1e-3  # BER


def capture_report(index, file, symbols, bits_per_symbol, block, errors=None):
    """Rows of report.json for one capture.

    symbols: decided ones. block: symbols of a reported block. errors: None without a reference, or
    integers (n, 3): for each block the compared symbols, the symbol errors and the bit errors.
    Returns (its entry of "captures", its entries of "blocks").
    """
    entry = {"file": str(file), "symbols": symbols, "bit_errors": None, "ber": None, "ci95": None,
             "convergence_blocks": None, "final_ber": None}
    if errors is None:
        compared = [min(block, symbols - start) for start in range(0, symbols, block)]
        return entry, [_block(index, i, n, n * bits_per_symbol) for i, n in enumerate(compared)]
    errors = np.asarray(errors)
    bits, bit_errors = errors[:, 0] * bits_per_symbol, errors[:, 2]
    total, wrong = int(bits.sum()), int(bit_errors.sum())
    entry.update(bit_errors=wrong, ber=wrong / total,
                 ci95=list(core.clopper_pearson(wrong, total)),
                 convergence_blocks=convergence_blocks(bit_errors, bits),
                 final_ber=_ber(bit_errors[-LATEST:], bits[-LATEST:]))
    return entry, [_block(index, i, int(n), int(b), int(s), int(e))
                   for i, ((n, s, e), b) in enumerate(zip(errors, bits))]


def _block(capture, index, symbols, bits, symbol_errors=None, bit_errors=None):
    return {"capture": capture, "index": index, "symbols": symbols, "symbol_errors": symbol_errors,
            "bits": bits, "bit_errors": bit_errors,
            "ber": None if bit_errors is None else bit_errors / bits}


def _ber(bit_errors, bits):
    return float(np.sum(bit_errors) / np.sum(bits))


def convergence_blocks(bit_errors, bits):
    """The smallest number n of blocks after which the equalizer has converged, or None.

    That is: the BER of blocks n-8 … n-1 is below 1e-3, and so is the BER of all blocks from n on
    together. bit_errors, bits: (blocks,).
    """
    for n in range(LATEST, len(bits) + 1):
        latest = slice(n - LATEST, n)
        if _ber(bit_errors[latest], bits[latest]) < CONVERGED and (
                n == len(bits) or _ber(bit_errors[n:], bits[n:]) < CONVERGED):
            return n
    return None


def running_ber(blocks):
    """BER of the latest 8 blocks, or of as many as there are, after each of a capture's blocks.

    blocks: rows of report.json with errors. Returns float64 (n,).
    """
    def latest(name):
        total = np.cumsum([row[name] for row in blocks], dtype=np.float64)
        total[LATEST:] -= total[:-LATEST].copy()
        return total
    return latest("bit_errors") / latest("bits")


def write_report(path, report):
    """Write report.json whole or not at all."""
    with atomic_output(path) as temporary:
        temporary.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n")


def write_plot(path, curves, block, names=()):
    """Draw the running BER over blocks.

    curves: {label: [rows of report.json for each capture]}; the captures follow each other on the
    axis and a line marks where the next one starts. names: of the captures, written
    above their starts. path: .png, .pdf or .svg.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for color, (label, captures) in enumerate(curves.items()):
        start = 0
        for blocks in captures:
            if start:
                axes.axvline(start + 0.5, color="0.5", linestyle="--")
            if blocks[0]["bit_errors"] is not None:
                # No error in 8 blocks is not a BER of 0: the curve has a gap there.
                ber = running_ber(blocks)
                axes.semilogy(start + np.arange(1, ber.size + 1), np.where(ber > 0, ber, np.nan),
                              color=f"C{color}", label=label)
                label = None
            start += len(blocks)
    lengths = [len(blocks) for blocks in next(iter(curves.values()))]
    for name, start in zip(names, np.cumsum([0, *lengths])):
        axes.text(start + 1, 1.01, name, transform=axes.get_xaxis_transform())
    axes.axhline(CONVERGED, color="0.7", linewidth=1)
    axes.set_xlabel(f"blocks of {block} symbols")
    axes.set_ylabel(f"bit error rate, latest {LATEST} blocks")
    axes.grid(True, alpha=0.3)
    axes.legend()
    with atomic_output(path) as temporary:
        figure.savefig(temporary, dpi=150)
