# SPDX-License-Identifier: GPL-3.0-or-later
"""What the paper varies about adaptation: loss (Table I), batch size, optimizer.

Each row is one equalizer that runs through set1 and then set2, with several seeds.
"""

from pathlib import Path

from .. import core
from .cells import Progress
from .page import ber_text, claim, plot_runs, write_page
from .vcsel import AUG_VAT, BLOCK, DEFAULTS, PAPER_STEP, PLAIN, SIZES, STEP, figures, offline_network, run_rows

_OPTIMIZERS = core.equalizer_settings()["optimizer"].choices
# Table I: (name, settings, batches to 1e-3, final BER in 1e-4 and its interval)
TABLE_1 = [("self-training", dict(loss="self_training"), 72, "8.39 [6.32, 10.84]")] + [
    (f"Π, σ {sigma}", dict(loss="pi_model", sigma=sigma), batches, final)
    for sigma, batches, final in ((0.1, 24, "4.27 [2.84, 6.08]"), (0.2, 16, "2.75 [1.63, 4.25]"),
                                  (0.3, 16, "2.44 [1.67, 3.45]"), (0.4, 32, "3.43 [2.16, 5.08]"))
] + [
    (f"VAT, ε {epsilon}", dict(loss="vat", epsilon=epsilon), batches, final)
    for epsilon, batches, final in ((0.1, 40, "5.34 [3.72, 7.34]"), (0.2, 24, "2.98 [1.80, 4.53]"),
                                    (0.3, 16, "2.44 [1.67, 3.45]"), (0.4, 16, "2.52 [1.45, 3.96]"),
                                    (0.5, 24, "2.82 [1.69, 4.34]"))
] + [
    (f"Aug-VAT, σ {sigma}, ε 0.3", dict(loss="aug_vat", sigma=sigma, epsilon=0.3), batches, final)
    for sigma, batches, final in ((0.1, 16, "2.59 [1.51, 4.06]"), (0.15, 16, "2.29 [1.28, 3.68]"),
                                  (0.2, 16, "2.75 [1.63, 4.25]"), (0.3, 16, "3.36 [2.10, 4.99]"))]
_PLOTTED = ("self-training", "Π, σ 0.3", "VAT, ε 0.3", "Aug-VAT, σ 0.15, ε 0.3")
_QUICK_STEPS, _STEPS = (0.001, STEP, 0.03), (0.001, STEP, PAPER_STEP, 0.03, 0.1, 0.3)


def run_losses(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Table I: write results.json, table.md and plot.png to directory."""
    table = [row for row in TABLE_1 if scale != "quick" or row[0] in _PLOTTED]
    rows: dict = {}
    for name, loss, *_ in table:
        for label in (["clean", "perturbed"] if name != "self-training" else ["clean"]):
            for step in (PAPER_STEP, STEP):
                rows[name, label, step] = dict(PLAIN, **loss, pseudo_label=label,
                                               learning_rate=step)
    label = core.equalizer_settings()["pseudo_label"].default
    default = "the project's default", label, "automatic"
    rows[default] = DEFAULTS
    errors, found = _run_rows(rows, scale, progress)

    def soonest(label: str, step: float, slowest: int | None = None) -> int | None:
        return min((found[key]["blocks"] for key in found if key[0] != "self-training"
                    and key[1:] == (label, step) and found[key]["blocks"]), default=slowest)

    ours = found[default]
    claims = []
    for step in (PAPER_STEP, STEP):
        slow = found["self-training", "clean", step]["blocks"]
        for label in ("clean", "perturbed"):
            fast = soonest(label, step)
            claims.append(claim(
                f"the best of Π, VAT and Aug-VAT takes 4.5 times fewer batches than self-training "
                f"(label {label}, step {step})",
                f"{fast or 'never'} against {slow or 'never'}",
                fast and (slow is None or slow >= 4.5 * fast)))
            aug_vat = found["Aug-VAT, σ 0.15, ε 0.3", label, step]
            claims.append(claim(
                f"Aug-VAT with σ 0.15 takes 16 batches (label {label}, step {step}; to 20 allowed)",
                f"{aug_vat['blocks'] or 'never'}, final BER {aug_vat['final']['ber']:.1e}",
                aug_vat["blocks"] and aug_vat["blocks"] <= 20))
    slow = found["self-training", "clean", STEP]["blocks"]
    claims.append(claim(
        f"the same of the project's default, self-training's step {STEP}",
        f"{ours['blocks'] or 'never'} against {slow or 'never'}",
        ours["blocks"] and (slow is None or slow >= 4.5 * ours["blocks"])))
    columns = [(label, step) for label in ("clean", "perturbed") for step in (PAPER_STEP, STEP)]
    body = [[name, f"{batches}; {final}",
             *(_summary(found[name, *column]) if (name, *column) in found else "the same"
               for column in columns)] for name, _, batches, final in table]
    body.append([f"{default[0]} (label {default[1]}, {default[2]} step)", "–", _summary(ours), "–", "–", "–"])
    head = ["loss: batches to 1e-3; final BER, 1e-4", "paper",
            *(f"label {label}, step {step}" for label, step in columns)]
    write_page(directory, "Losses (Table I)", _results(scale, rows, found, errors, claims), head,
               body,
               "The pseudo-label is decided at the clean window and the loss taken at the "
               "perturbed one (label clean), or as the paper's Algorithm 2 prints it, the other "
               "way about (label perturbed). Self-training has one reading.")
    plot_runs(directory / "plot.png", {
        f"{key[0]}, label {key[1]}": errors[key] for key in errors
        if key[0] in _PLOTTED and key[2] == STEP or key[0].startswith("the")})


def run_batch(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """The paper's figure of N_b: write results.json, table.md and plot.png to directory."""
    batches = [128, 2048, BLOCK] if scale == "quick" else [2**k for k in range(7, 16)]
    kinds: dict[str, dict] = {"paper": dict(AUG_VAT, learning_rate=PAPER_STEP), "step": AUG_VAT,
                              "ours": DEFAULTS}
    rows = {(kind, batch): dict(settings, batch=batch) for batch in batches
            for kind, settings in kinds.items()}
    errors, found = _run_rows(rows, scale, progress)
    smallest, usual = found["paper", 128], found["paper", BLOCK]
    claims = [
        claim("with N_b = 128 it may fail to converge (the paper's step, 0.01)",
              f"symbols to 1e-3: {_symbols(smallest)}, final BER {smallest['final']['ber']:.1e}; "
              f"with 8192 {_symbols(usual)} and {usual['final']['ber']:.1e}",
              not smallest["blocks"] or smallest["final"]["ci95"][0] > usual["final"]["ci95"][1]),
        claim("a smaller N_b updates more often and follows sooner (step 0.003, 2048 against 8192)",
              f"symbols to 1e-3: {_symbols(found['step', 2048])} against "
              f"{_symbols(found['step', BLOCK])}",
              _sooner(found["step", 2048], found["step", BLOCK]))]
    head = ["N_b"]
    for kind in ("Aug-VAT, step 0.01", "Aug-VAT, step 0.003", "the defaults"):
        head += [f"{kind}: symbols to 1e-3", "final BER, 1e-4"]
    body = [[str(batch)] + sum((
        [_symbols(found[kind, batch]), ber_text(found[kind, batch]["final"])]
        for kind in ("paper", "step", "ours")), []) for batch in batches]
    write_page(directory, "Batch size (Fig. N_b)", _results(scale, rows, found, errors, claims),
               head, body,
               "The paper gives curves only, of which it says that N_b = 128 may fail to "
               "converge. Aug-VAT has σ 0.15, ε 0.3 and the clean label; symbols are counted in "
               "blocks of 8192.")
    plot_runs(directory / "plot.png", {f"N_b = {batch}, step 0.01": errors["paper", batch]
                                      for batch in batches})


def run_optimizers(directory: Path, scale: str = "full", progress: Progress | None = None) -> None:
    """Section II-B's optimizers: write results.json, table.md and plot.png to directory."""
    steps = _QUICK_STEPS if scale == "quick" else _STEPS
    rows = {(name, step): dict(AUG_VAT, optimizer=name, learning_rate=step)
            for name in _OPTIMIZERS for step in steps}
    errors, found = _run_rows(rows, scale, progress)
    best = {name: min(((name, step) for step in steps), key=lambda key: _rank(found[key]))
            for name in _OPTIMIZERS}
    others = [found[best[name]] for name in _OPTIMIZERS if name != "adam"]
    adam = found[best["adam"]]
    second = min(others, key=_rank)
    claims = [claim("Adam performs best",
                    f"{adam['blocks'] or 'never'} batches, final BER {adam['final']['ber']:.1e}; "
                    f"the best of the others {second['blocks'] or 'never'} and "
                    f"{second['final']['ber']:.1e}",
                    _rank(adam) <= _rank(second))]
    body = [[name, "best" if name == "adam" else "–", str(best[name][1]),
             str(found[best[name]]["blocks"] or "never"), ber_text(found[best[name]]["final"]),
             ", ".join(str(found[name, step]["blocks"] or "never") for step in steps)]
            for name in _OPTIMIZERS]
    write_page(directory, "Optimizers (Section II-B)", _results(scale, rows, found, errors, claims),
               ["optimizer", "paper", "best step", "batches to 1e-3", "final BER, 1e-4",
                "batches at each step: " + ", ".join(map(str, steps))], body,
               "The paper names the best one and no figures. Aug-VAT has σ 0.15, ε 0.3, the clean "
               "label and batches of 8192; each optimizer is shown with the best of the steps "
               "tried, the soonest and then the lowest whole-run BER counting.")
    plot_runs(directory / "plot.png", {f"{name}, step {best[name][1]}": errors[best[name]]
                                      for name in _OPTIMIZERS})


def _run_rows(rows: dict, scale: str, progress: Progress | None) -> tuple[dict, dict]:
    """({row: bit errors of each seed and set}, {row: their figures})."""
    size = SIZES[scale]
    model, _ = offline_network(size)
    errors = run_rows({row: (model, settings) for row, settings in rows.items()}, size, progress, 1)
    return errors, {row: figures(runs) for row, runs in errors.items()}


def _results(scale: str, rows: dict, found: dict, errors: dict, claims: list[dict]) -> dict:
    return {"scale": scale, "seeds": SIZES[scale].seeds, "claims": claims,
            "rows": [dict(row=key, settings=settings, errors=errors[key], **found[key])
                     for key, settings in rows.items()]}


def _summary(row: dict) -> str:
    return f"{row['blocks'] or 'never'}; {ber_text(row['final'])}"


def _rank(row: dict) -> tuple[float, float]:
    return row["blocks"] or float("inf"), row["whole"]["ber"]


def _sooner(row: dict, other: dict) -> object:
    return row["blocks"] and (other["blocks"] is None or row["blocks"] < other["blocks"])


def _symbols(row: dict) -> str:
    return f"{row['blocks'] * BLOCK:,}" if row["blocks"] else "never"
