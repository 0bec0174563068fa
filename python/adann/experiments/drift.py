# SPDX-License-Identifier: GPL-3.0-or-later
"""Every drift of both simulated links, and every disturbance: what adaptation is worth there.

Two networks are trained with labels on the undrifted links, by the recipes in examples/README.md,
and one more, the oracle, on each drift. A cell is then one equalizer that runs through the captures
of one drift or disturbance.
"""

import tempfile
from pathlib import Path

import numpy as np

from .. import core
from ..offline.equalize import equalize_captures
from ..offline.training import TrainingSettings, train
from .cells import run_cells
from .drift_report import write_results
from .drift_signals import (BLOCK, EVENTS, HALF_WINDOW, LINKS, MOVING, SPS, Scale, case_signal,
                            stress_signal, training_record)

# The losses without the project's additions, stable: not the paper's own step and label.
_PLAIN = dict(mode="lockstep", pseudo_label="clean", batch=BLOCK, learning_rate=0.003,
              average=0, balance=0.0, guard=False, sigma=0.1, epsilon=0.1)
_OURS = dict(mode="lockstep")
ROWS = {
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
_QUICK = Scale(labelled=2**17, fraction=0.75, epochs=120, seeds=2, before=2**16, after=2**18,
               event=2**16, recovery=2**16)
_QUICK_CASES = [("PAM4", "reference"), ("PAM4", "extreme"), ("16QAM", "reference")]
_QUICK_ROWS = ["frozen", "self-training", "ours", "supervised online", "oracle"]
_RECORD = 2**22  # symbols that 10^8 without drift repeat


def run(directory, scale="full", progress=None):
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
    stressed = [("frozen", 0, {})] + [("ours", seed, {}) for seed in range(size.seeds)]
    total = (len(wanted) + len(cases) * sum(seeds[row] for row in rows)
             + len(stresses) * len(stressed) + bool(size.long))
    done = 0

    def run_stage(function, cells):
        nonlocal done
        results = run_cells(function, cells,
                            progress and (lambda count: progress(done + count, total)))
        done += len(cells)
        return results

    models = dict(zip(wanted, run_stage(train_model, [(*cell, size) for cell in wanted])))
    cells = [(link, case, row, seed, size) for link, case in cases for row in rows
             for seed in range(seeds[row])]
    runs = run_stage(run_row, [
        (models[link, MOVING.get(case, case) if row == "oracle" else "none"],
         link, case, row, seed, size) for link, case, row, seed, size in cells])
    shocks = [(link, drift, event, row, seed) for link, drift, event in stresses
              for row, seed, _ in stressed]
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


def train_model(link, drift, scale):
    """The bytes of a model file: a network trained on a link with a drift."""
    samples, labels = training_record(link, drift, scale)
    settings = TrainingSettings(fraction=scale.fraction, epochs=scale.epochs,
                                optimizer=LINKS[link].optimizer)
    trained = train(samples, labels, LINKS[link].constellation, SPS, HALF_WINDOW, settings)
    with tempfile.TemporaryDirectory() as folder:
        core.save_model(f"{folder}/model", trained.model)
        return Path(folder, "model").read_bytes()


def run_row(model, link, case, row, seed, scale):
    """One equalizer on one case: {"errors": bit errors of each block of each capture,
    "estimates": [capture, block, BER, lower, upper, trustworthy] where they were made}."""
    captures, sent = case_signal(link, case, scale)
    if row == "oracle" and case == "gain":  # it was trained on a record with a scale of its own
        captures = [(part - part.mean()) / part.std() for part in captures]
    received = _equalize(model, captures, ROWS[row], seed, sent)
    errors = [_bit_errors(decided, labels) for decided, labels in zip(received.labels, sent)]
    edges = np.cumsum([0, *(len(blocks) for blocks in errors)])
    estimates = []
    for event in received.events or []:
        block, within = divmod(event["step"] * ROWS[row]["batch"], BLOCK)
        if within == 0 and 0 < block <= edges[-1] and "ber" in event:
            capture = int(np.searchsorted(edges, block - 1, "right")) - 1
            estimates.append([capture, int(block - 1 - edges[capture]),
                              *(event[key] for key in ("ber", "ber_low", "ber_high",
                                                       "trustworthy"))])
    return {"errors": errors, "estimates": estimates}


def run_stress(model, link, drift, event, row, seed, scale):
    """{"errors": bit errors of each block after the event, "rejected": batches}.

    The event "none" is run with steps of 128 symbols.
    """
    captures, sent = stress_signal(link, drift, event, scale)
    settings = dict(ROWS[row], **({"batch": 128} if event == "none" and row == "ours" else {}))
    received = _equalize(model, captures, settings, seed)
    return {"errors": _bit_errors(received.labels[-1], sent), "rejected": received.rejected}


def run_long(model, scale):
    """{"frozen" and "ours": bit errors in each repetition of a record without drift}."""
    record, sent = case_signal("PAM4", "none", Scale(before=BLOCK, after=_RECORD))
    captures = [record[1]] * -(-scale.long // _RECORD)
    return {row: [sum(_bit_errors(labels, sent[1])) for labels in
                  _equalize(model, captures, ROWS[row], 0).labels] for row in ("frozen", "ours")}


def _equalize(model, captures, settings, seed, sent=None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(model)
        received, _ = equalize_captures(path, captures, {"it": dict(settings, seed=seed)}, sent,
                                        events=bool(settings.get("guard")))
    return received["it"]


def _bit_errors(decided, sent):
    """Of each block. The alignment is known: a decision that is late or inverted is wrong."""
    wrong = np.unpackbits((decided ^ sent)[:, None], axis=1).sum(axis=1)
    return [int(wrong[start:start + BLOCK].sum()) for start in range(0, wrong.size, BLOCK)]
