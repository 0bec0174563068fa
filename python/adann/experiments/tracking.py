# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that keep moving: how fast an equalizer may be outrun.

A network is trained with labels on each link while it stands still. A cell is then one equalizer
that runs through one stream of it: AdaNN, which knows no label, or one of GNU Radio's or a Volterra
equalizer, which knows those of the first 4096 symbols (CMA: none), in the best of several steps.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from .. import core
from ..captures.files import Capture
from ..offline.equalize import equalize_captures
from ..offline.evaluate import count
from ..offline.training import TrainingSettings, train
from .cells import Progress, at_cell, run_cells
from .comparators import CMA, FEEDBACK, LINEAR, equalize_with_gnuradio, unit_points
from .tracking_report import write_results
from .tracking_signals import EVENTS, OPTICAL, RADIO, TOLD, Size, case_signal, geometry, training_record
from .volterra import volterra_equalizer

BLOCK = 1024  # symbols that errors are counted over
HALF_WINDOW = 5
_TURN = 64    # symbols in which CMA's carrier phase, which it does not find, is given
_SLOW = "AdaNN, network alone"
NETWORKS: dict[str, dict] = {"frozen": dict(mode="off"),
            _SLOW: dict(mode="lockstep", front_filter=False, decisions="network"),
            "AdaNN": dict(mode="lockstep")}
_STEPS = {LINEAR: (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), FEEDBACK: (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
          CMA: (1e-5, 1e-4, 1e-3)}
_VOLTERRA = {f"Volterra, order {order}, {name}": (order, name.lower(), rates)
             for order in (2, 3)
             for name, rates in {"LMS": (0.01, 0.03, 0.1, 0.3),
                                 "RLS": (0.998, 0.9995, 0.9999)}.items()}
_THIRD = [name for name, (order, *_) in _VOLTERRA.items() if order == 3]
_ONCE = {_SLOW, FEEDBACK, CMA, *_VOLTERRA}  # run with seed 0 alone
_SHORT = 2**16  # symbols of a stream at most for Volterra equalizers, which take the longest
_QUICK = Size(labelled=2**16, epochs=80, batch=4096, symbols=2**15, event=2**13, seeds=1)
RATES = (0, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4)  # cycles per symbol
_QUICK_RATES = (0, 1e-5, 1e-4)


def cases_of(scale: str) -> list[tuple]:
    """[(kind, link, value, rows)] in the order of the page; see tracking_signals.case_signal."""
    plain = [*NETWORKS, *_STEPS]
    quick = scale == "quick"
    cases: list[tuple] = [("turns", link, rate,
              plain + (_THIRD if "amplifier" in link and rate in _QUICK_RATES else []))
             for link in (["QPSK", "16QAM, amplifier"] if quick else RADIO)
             for rate in (_QUICK_RATES if quick else RATES)]
    if quick:
        return cases
    cases += [("jumps", link, 2**14, plain) for link in RADIO]
    cases += [(kind, link, value, plain) for kind, values in
              {"carrier": (1e-5, 1e-4, 1e-3, 1e-2), "linewidth": (1e-6, 1e-5, 1e-4)}.items()
              for link in ("QPSK", "16QAM") for value in values]
    lasting = (1e4, 1e5, 1e6, 1e7) if scale == "long" else (1e4, 1e5, 1e6)
    cases += [("drift", link, symbols,
               plain + (list(_VOLTERRA) if "VCSEL" in link and symbols < 1e6 else []))
              for link in OPTICAL for symbols in lasting]
    cases += [("sender", "PAM4, VCSEL", "bias", plain + list(_VOLTERRA))]
    cases += [("event", link, event, list(NETWORKS)) for link in ("QPSK", "16QAM")
              for event in EVENTS]
    return cases


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plots to directory.

    scale: "full"; "quick", a few cells; or "long", full and a drift that lasts 10^7 symbols.
    """
    size = _QUICK if scale == "quick" else Size()
    cases = cases_of(scale)
    links = list(dict.fromkeys(link for _, link, *_ in cases))
    short = replace(size, symbols=min(size.symbols, _SHORT))
    cells = [(kind, link, value, row, seed, short if row in _VOLTERRA else size)
             for kind, link, value, rows in cases for seed in range(size.seeds) for row in rows
             if seed == 0 or row not in _ONCE]
    total = len(links) + len(cells)
    models = dict(zip(links, run_cells(train_model, [(link, size) for link in links],
                                       at_cell(progress, total))))
    found = run_cells(run_row, [(models[cell[1]], *cell) for cell in cells],
                      at_cell(progress, total, len(links)))
    write_results(Path(directory), {
        "scale": scale, "block": BLOCK, "sizes": vars(size),
        "bits": {link: core.constellation(geometry(link)[0]).bits_per_symbol for link in links},
        "runs": [dict(kind=kind, link=link, value=value, row=row, seed=seed, **result)
                 for (kind, link, value, row, seed, _), result in zip(cells, found)]})


def train_model(link: str, size: Size) -> core.model:
    """core.model of a link that stands still."""
    constellation, sps = geometry(link)
    settings = TrainingSettings(fraction=0.75, epochs=size.epochs, optimizer="adam",
                                batch=size.batch)
    samples, labels = training_record(link, size)
    return train(samples, labels, constellation, sps, HALF_WINDOW, settings).model


def run_row(model: core.model, kind: str, link: str, value: float | str, row: str, seed: int,
            size: Size) -> dict:
    """One equalizer on one stream: {"errors": Errors of the part that counts, "symbols": in it,
    "step": of the best run, None where there is only one}."""
    samples, labels, first = case_signal(kind, link, value, seed, size)
    constellation, sps = geometry(link)
    points = unit_points(core.constellation(constellation))
    if row in NETWORKS:
        runs: dict = {None: _decide_with_network(model, samples, NETWORKS[row], seed)}
    elif row in _VOLTERRA:
        order, algorithm, rates = _VOLTERRA[row]
        real = points if np.iscomplexobj(samples) else points.real
        runs = {rate: _nearest(volterra_equalizer(samples, real, sps, HALF_WINDOW, order, algorithm,
                                                  rate, labels[:TOLD]), real) for rate in rates}
    else:
        runs = {step: _decide_with_gnuradio(row, samples, points, sps, step, labels)
                for step in _STEPS[row]}
    counted = {step: count(decided[first:], labels[first:], model.constellation.bits_per_symbol,
                           BLOCK) for step, decided in runs.items()}
    best = min(counted, key=lambda step: counted[step].ber)
    return {"errors": counted[best], "symbols": labels.size - first, "step": best}


def _decide_with_network(model: core.model, samples: np.ndarray, settings: dict,
                         seed: int) -> np.ndarray:
    received, _ = equalize_captures(model, [Capture(samples)], {"it": dict(settings, seed=seed)})
    return received["it"].labels[0]


def _decide_with_gnuradio(kind: str, samples: np.ndarray, points: np.ndarray, sps: int, step: float,
                          labels: np.ndarray) -> np.ndarray:
    soft = equalize_with_gnuradio(kind, np.nan_to_num(samples), points, sps, HALF_WINDOW, step,
                                  () if kind == CMA else labels[:TOLD])
    if kind == CMA and np.iscomplexobj(points) and np.ptp(points.imag):
        told = (points[labels].conj() * soft)[:soft.size // _TURN * _TURN].reshape(-1, _TURN)
        phase = np.repeat(np.angle(told.sum(axis=1)), _TURN)
        soft = soft * np.exp(-1j * np.resize(phase, soft.size))
    return _nearest(soft, points)


def _nearest(soft: np.ndarray, points: np.ndarray) -> np.ndarray:
    """uint8 labels; in parts, which bounds the memory that the distances take."""
    return np.concatenate([abs(part[:, None] - points).argmin(axis=1)
                           for part in np.array_split(soft, -(-soft.size // 65536))]).astype(np.uint8)

