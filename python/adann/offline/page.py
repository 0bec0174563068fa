# SPDX-License-Identifier: GPL-3.0-or-later
"""One page a capture: eye and levels before and after, pulse response, error rate over time, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..captures.outputs import atomic_output
from .eye import PHASES, interpolated
from .report import new_figure
from .scope import EYE_ERROR_RATE, Measured

_TRACES = 1000  # symbols of an eye
_POINTS = 4000  # of a constellation
_INCHES = 11.7, 8.3  # A4, on its side

ROWS = (  # of the table: name, key, unit, form
    ("BER before, nearest level", "ber_before", "", "{:.2e}"), ("BER after", "ber_after", "", "{:.2e}"),
    ("MER before", "mer_before", "dB", "{:.1f}"), ("MER after", "mer_after", "dB", "{:.1f}"),
    ("EVM before", "evm_before", "", "{:.2%}"), ("EVM after", "evm_after", "", "{:.2%}"),
    ("GMI", "gmi", "bits a symbol", "{:.3f}"), ("NGMI", "ngmi", "", "{:.4f}"),
    (f"eye height before, {EYE_ERROR_RATE:g}", "eye_height_before", "of the spacing", "{:.2f}"),
    (f"eye height after, {EYE_ERROR_RATE:g}", "eye_height_after", "of the spacing", "{:.2f}"),
    (f"eye width before, {EYE_ERROR_RATE:g}", "eye_width_before", "UI", "{:.2f}"),
    ("RLM before", "rlm_before", "", "{:.3f}"), ("RLM after", "rlm_after", "", "{:.3f}"),
    ("SNDR", "sndr", "dB", "{:.1f}"), ("TDECQ", "tdecq", "dB", "{:.2f}"),
    ("pulse response, 99 % of energy", "pulse_length", "symbols", "{:.2f}"))


def table_of(scope: Measured, entry: Mapping) -> list[tuple[str, str]]:
    """(name, value or "–") of each figure of the page. entry: what else is known, as gmi and ngmi."""
    figures = {**entry, **scope.figures}

    def shown(value, unit, form):
        values = value if isinstance(value, list) else [value]
        return " ".join([", ".join(form.format(each) for each in values), unit]).strip()

    return [(name, "–" if figures.get(key) is None else shown(figures[key], unit, form))
            for name, key, unit, form in ROWS]


def reasons_of(scope: Measured) -> list[str]:
    """Sentences on what is missing; those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in scope.left_out.items():
        by_reason.setdefault(reason, []).append(key)
    return [f"no {', '.join(keys)}: {reason}" if keys != ["all"] else f"no figures: {reason}"
            for reason, keys in by_reason.items()]


def write_page(path: str | Path, captures: Sequence[tuple[str, Measured, npt.ArrayLike, Mapping]]) -> None:
    """A page for each capture in .pdf; in .png and .svg the last capture's.

    captures: (name, what was measured, error rate over blocks, its entry of the report).
    """
    with atomic_output(path) as temporary:
        if Path(path).suffix == ".pdf":
            from matplotlib.backends.backend_pdf import PdfPages

            with PdfPages(temporary) as pages:
                for capture in captures:
                    pages.savefig(_page(*capture))
        else:
            _page(*captures[-1]).savefig(temporary, dpi=110, format=Path(path).suffix[1:])


def _page(name: str, scope: Measured, rates: npt.ArrayLike, entry: Mapping) -> Any:
    figure = new_figure(*_INCHES)
    (eye, after, levels), (pulse, errors, table) = figure.subplots(2, 3)
    figure.suptitle(name.encode("ascii", "backslashreplace").decode())  # fonts lack characters, and say so
    complex_ = np.iscomplexobj(scope.samples)
    part = scope.samples[:_TRACES * scope.sps].real
    if scope.sps > 1 and part.size:
        _draw_eye(eye, part, scope.sps)
        eye.set(title=f"eye before{', I' * complex_}", xlabel="UI")
    else:
        eye.plot(part, ".", ms=1)
        eye.set(title="before: one sample a symbol", xlabel="symbols")
    soft, middles = scope.soft, scope.samples[::scope.sps][:scope.soft.size]
    after.plot(soft[-_POINTS:].real, ".", ms=1)
    after.set(title=f"after: soft symbols{', I' * complex_}", xlabel="symbols")
    for label, each in (("before", middles), ("after", soft)):
        scaled = each / max(np.sqrt(np.mean(abs(each) ** 2)), 1e-30) if each.size else each
        if complex_:
            levels.plot(scaled.real[-_POINTS:], scaled.imag[-_POINTS:], ".", ms=1, label=label)
        else:
            levels.hist(scaled, 150, histtype="step", label=label)
    levels.set(title="constellation" if complex_ else "levels")
    if complex_:
        levels.set_aspect("equal")
    levels.legend(fontsize="small")
    if scope.pulse:
        response = scope.pulse.response
        at = (np.arange(response.size) - (response.size - scope.pulse.sps) // 2) / scope.pulse.sps
        for label, each in (("I", response.real), ("Q", response.imag))[:1 + complex_]:
            pulse.plot(at, each, ".-", ms=2, label=label)
        if complex_:
            pulse.legend(fontsize="small")
    pulse.set(title="pulse response", xlabel="symbols")
    rates = np.asarray(rates, float)
    errors.plot(np.arange(1, rates.size + 1), np.where(rates > 0, rates, np.nan), ".-")
    if np.any(rates > 0):
        errors.set_yscale("log")
    else:
        errors.text(0.5, 0.5, "no error" if np.any(rates == 0) else "not known", ha="center",
                    transform=errors.transAxes)
    errors.set(title="error rate over time", xlabel="blocks")
    table.axis("off")
    text = [f"{name:<31}{value}" for name, value in table_of(scope, entry)]
    table.text(0, 1, "\n".join(text), va="top", family="monospace", fontsize=6.5, transform=table.transAxes)
    figure.text(0.01, 0.005, "\n".join([
        f"labels: {scope.figures.get('labels', 'none')}, {scope.figures.get('symbols', 0)} symbols; docs/scope.md "
        "defines the figures", *reasons_of(scope)]), fontsize=6, va="bottom")
    notes = 0.03 + 0.014 * len(reasons_of(scope))
    figure.get_layout_engine().set(rect=(0, notes, 1, 1 - notes))
    return figure


def _draw_eye(axes, samples, sps):
    """Two symbols' traces, interpolated, as a density."""
    dense = interpolated(samples, sps).reshape(-1)
    traces = np.lib.stride_tricks.sliding_window_view(dense, 2 * PHASES)[::PHASES]
    instants = np.broadcast_to(np.arange(2 * PHASES) / PHASES - 0.5, traces.shape)
    axes.hist2d(instants.reshape(-1), traces.reshape(-1), bins=(2 * PHASES, 150), cmap="inferno", cmin=1)
