# SPDX-License-Identifier: GPL-3.0-or-later
"""Every drift of both simulated links, and every disturbance: what adaptation is worth there.

Two networks are trained with labels on the undrifted links, by the recipes in examples/README.md,
and one more, the oracle, on each drift. A cell is then one equalizer that runs through the captures
of one drift or disturbance.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from .. import core
from ..captures.files import Capture
from ..offline.equalize import Received, equalize_captures
from ..offline.evaluate import count
from ..offline.training import TrainingSettings, train
from .cells import Progress, at_cell, run_cells
from .drift_report import JUMP_BLOCK, write_results
from .drift_signals import (
    BLOCK,
    EVENTS,
    HALF_WINDOW,
    LINKS,
    MOVING,
    SPS,
    UNNORMALISED,
    Scale,
    case_signal,
    stress_signal,
    training_record,
)

# The losses without the project's additions, stable: not the paper's own step and label.
_PLAIN = dict(mode="lockstep", pseudo_label="clean", batch=BLOCK, learning_rate=0.003,
              average=0, balance=0.0, guard=False, front_filter=False, decisions="network",
              sigma=0.1, epsilon=0.1)
_OURS = dict(mode="lockstep", batch=256, guard=True)  # the defaults, which the estimates need to know
ROWS: dict[str, dict] = {
    "frozen": dict(mode="off"),
    "self-training": dict(_PLAIN, loss="self_training"),
    "Π-model": dict(_PLAIN, loss="pi_model"),
    "VAT": dict(_PLAIN, loss="vat"),
    "Aug-VAT": dict(_PLAIN, loss="aug_vat"),
    "Aug-VAT, label perturbed": dict(_PLAIN, loss="aug_vat", pseudo_label="perturbed"),
    "ours": _OURS,
    "supervised online": dict(_OURS, loss="supervised"),
    "oracle": dict(mode="off"),  # another model
}
_QUICK = Scale(labelled=2**18, fraction=0.375, epochs=120, seeds=2, before=2**16, after=2**19,
               event=2**16, recovery=2**16)
_QUICK_CASES = [("PAM4", "reference"), ("PAM4", "extreme"), ("16QAM", "reference")]
_QUICK_ROWS = ["frozen", "self-training", "ours", "supervised online", "oracle"]
JUMP = 2**15  # symbols after a drift that are looked at closely
_RECORD = 2**22  # symbols that 10^8 without drift repeat


def run(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Write results.json, table.md and plots to directory.

    scale: "full"; "quick", a few cells; or "long", full and 10^8 symbols without drift.
    """
    quick = scale == "quick"
    size = _QUICK if quick else Scale(long=10**8 if scale == "long" else 0)
    cases = _QUICK_CASES if quick else [
        (name, case) for name, link in LINKS.items()
        for case in [drift for drift in link.drifts if drift != "none"] + list(MOVING)]
    rows = _QUICK_ROWS if quick else list(ROWS)
    seeds = {row: size.seeds if row == "ours" else 1 for row in ROWS}

    wanted = list(dict.fromkeys(
        [(link, "none") for link, _ in cases]
        + [(link, MOVING.get(case, case)) for link, case in cases]))
    stresses = [(link, drift, event) for link in (["PAM4"] if quick else LINKS)
                for drift in ("none", "reference") for event in (EVENTS[1:3] if quick else EVENTS)]
    stressed = [("frozen", 0)] + [("ours", seed) for seed in range(size.seeds)]
    total = (len(wanted) + len(cases) * sum(seeds[row] for row in rows)
             + len(stresses) * len(stressed) + bool(size.long))
    done = 0

    def run_stage(function: Callable, cells: Sequence[tuple]) -> list:
        nonlocal done
        results = run_cells(function, cells,
                            at_cell(progress, total, done))
        done += len(cells)
        return results

    models = dict(zip(wanted, run_stage(train_model, [(*cell, size) for cell in wanted])))
    cells = [(link, case, row, seed, size) for link, case in cases for row in rows
             for seed in range(seeds[row])]
    runs = run_stage(run_row, [
        (models[link, MOVING.get(case, case) if row == "oracle" else "none"],
         link, case, row, seed, size) for link, case, row, seed, size in cells])
    shocks = [(link, drift, event, row, seed) for link, drift, event in stresses
              for row, seed in stressed]
    endured = run_stage(run_stress, [(models[cell[0], "none"], *cell, size) for cell in shocks])
    results = {
        "scale": scale, "block": BLOCK, "sizes": vars(size), "rows": {r: ROWS[r] for r in rows},
        "bits": {name: link.bits for name, link in LINKS.items()},
        "runs": [dict(link=link, case=case, row=row, seed=seed, **result)
                 for (link, case, row, seed, _), result in zip(cells, runs)],
        "stress": [dict(zip(("link", "drift", "event", "row", "seed"), cell), **result)
                   for cell, result in zip(shocks, endured)],
        "long": run_stage(run_long, [(models["PAM4", "none"], size)]) if size.long else []}
    write_results(Path(directory), results)


def train_model(link: str, drift: str, scale: Scale) -> core.model:
    """core.model: a network trained on a link with a drift."""
    samples, labels = training_record(link, drift, scale)
    settings = TrainingSettings(fraction=scale.fraction, epochs=scale.epochs,
                                optimizer=LINKS[link].optimizer)
    return train(samples, labels, LINKS[link].constellation, SPS, HALF_WINDOW, settings).model


def run_row(model: core.model, link: str, case: str, row: str, seed: int, scale: Scale) -> dict:
    """One equalizer on one case: {"errors": Errors of each capture, "jump": those right after the
    drift, in blocks of JUMP_BLOCK symbols, "estimates": [capture, block, BER, lower, upper,
    trustworthy] where they were made}."""
    captures = case_signal(link, case, scale)
    if row == "oracle" and case in UNNORMALISED:  # it was trained on a record with a scale of its own
        captures = [replace(one, samples=(one.samples - one.samples.mean()) / one.samples.std())
                    for one in captures]
    received = _equalize(model, captures, ROWS[row], seed)
    bits = model.constellation.bits_per_symbol
    errors = [count(decided, capture.reference, bits, BLOCK)
              for decided, capture in zip(received.labels, captures)]
    jump = count(received.labels[1][:JUMP], captures[1].reference[:JUMP], bits, JUMP_BLOCK)
    edges = np.cumsum([0, *(len(blocks) for blocks in errors)])
    estimates = []
    events = received.events or []
    ends = np.arange(1, edges[-1] + 1) * BLOCK
    for block, latest in enumerate(np.searchsorted([event["decided"] for event in events], ends, "right") - 1):
        if latest >= 0 and "ber" in events[latest]:
            capture = int(np.searchsorted(edges, block, "right")) - 1
            estimates.append([capture, int(block - edges[capture]),
                              *(events[latest][key] for key in ("ber", "ber_low", "ber_high", "trustworthy"))])
    return {"errors": errors, "jump": jump, "estimates": estimates}


def run_stress(model: core.model, link: str, drift: str, event: str, row: str, seed: int,
               scale: Scale) -> dict:
    """{"errors": Errors after the event, "rejected": batches}.

    The event "none" is run with steps of 128 symbols.
    """
    captures = stress_signal(link, drift, event, scale)
    settings = dict(ROWS[row], **({"batch": 128} if event == "none" and row == "ours" else {}))
    received = _equalize(model, captures, settings, seed)
    return {"errors": count(received.labels[-1], captures[-1].reference,
                            model.constellation.bits_per_symbol, BLOCK),
            "rejected": received.rejected}


def run_long(model: core.model, scale: Scale) -> dict:
    """{"frozen" and "ours": bit errors in each repetition of a record without drift}."""
    _, record = case_signal("PAM4", "none", Scale(before=BLOCK, after=_RECORD))
    captures = [record] * -(-scale.long // _RECORD)
    return {row: [int(count(labels, record.reference, LINKS["PAM4"].bits, _RECORD).bit_errors[0])
                  for labels in _equalize(model, captures, ROWS[row], 0).labels]
            for row in ("frozen", "ours")}


def _equalize(model: core.model, captures: Sequence[Capture], settings: dict,
              seed: int) -> Received:
    received, _ = equalize_captures(model, captures, {"it": dict(settings, seed=seed)},
                                    events=bool(settings.get("guard")))
    return received["it"]
