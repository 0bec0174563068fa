# SPDX-License-Identifier: GPL-3.0-or-later
"""What the drift suite's runs come to: results.json, table.md and the plots."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..captures.outputs import atomic_output
from ..offline.evaluate import CONVERGED, LATEST, Errors
from ..offline.report import draw_bers, new_figure, save_figure, write_report
from .drift_signals import MOVING
from .page import markdown

JUMP_BLOCK = 512     # symbols that errors are counted over right after a drift
_FOLLOWED = 8192     # symbols in which a filter's drift is to be followed
_WINDOW = 4096       # symbols, the latest, that show whether it is
# Drifts that a linear filter takes off.
_LINEAR = ("reference", "timing", "strong", "extreme", "left", "gain")
# Drifts of several kinds at once, which are to be followed to twice the oracle's BER.
_MANIFOLD = ("combined",)
_PAPERS = ("PAM4", "reference")  # the drift that the paper's factor of 4.5 is of
_GOOD_ORACLE = 6e-4  # BER below which an oracle's case has to be followed all the way
_LARGE = 0.1         # frozen BER above which 24 blocks are allowed, else 16


def write_results(directory: Path, results: dict) -> None:
    """results: what drift.run collects. Adds their summary and the bars to results.json."""
    directory.mkdir(parents=True, exist_ok=True)
    results["summary"] = [
        dict(link=link, case=case, rows={
            row: worst([summarize(run["errors"]) for run in results["runs"]
                        if (run["link"], run["case"], run["row"]) == (link, case, row)])
            for row in results["rows"]})
        for link, case in dict.fromkeys((run["link"], run["case"]) for run in results["runs"])]
    results["jumps"] = [
        dict(link=link, case=case, **worst_jump(
            [jump(run) for run in results["runs"]
             if (run["link"], run["case"], run["row"]) == (link, case, "ours")]))
        for link, case in dict.fromkeys((run["link"], run["case"]) for run in results["runs"])
        if case not in MOVING]
    results["stress_summary"] = _stress_summary(results)
    results["bars"] = bars(results)
    write_report(directory / "results.json", results)
    with atomic_output(directory / "table.md") as path:
        path.write_text(_table(results))
    for link in dict.fromkeys(entry["link"] for entry in results["summary"]):
        _plot_runs(directory / f"ber_{link.lower()}.png", results, link)
    _plot_estimates(directory / "estimate.png", results)


def summarize(errors: Sequence[Errors]) -> dict:
    """One run's figures.

    errors: Errors of each capture, the first one not drifted. The blocks to 1e-3 are those of the
    slowest of the other captures, None if one never gets there; the final BER is that of the last
    blocks of the last one.
    """
    before, *drifted = errors
    blocks = [part.convergence() for part in drifted]
    parts = [part[n:].bit_errors / part[n:].bits for part, n in zip(drifted, blocks) if n]
    after = np.concatenate([[], *parts])
    return {"blocks": None if None in blocks else max(blocks),
            "final": drifted[-1].final().rate(),
            "whole": Errors.join(drifted).rate(),
            "before": before.rate(),
            "worst_block": float(after.max()) if after.size else None}


def jump(run: dict) -> dict:
    """How one run gets over a jump.

    run: its "errors" and "jump", see drift.run_row.
    "symbols": the fewest after it whose latest 4096 have a BER below 1e-3, and so have all that
    follow together, of which the latest 4096 in 2^15 are tried; None if there are none. "start":
    BER of the first 8192. "worst": that of the worst 4096 from there on to 2^15.
    """
    close, drifted = run["jump"], run["errors"][1]
    width, first = _WINDOW // JUMP_BLOCK, _FOLLOWED // JUMP_BLOCK
    sums = [np.convolve(one, np.ones(width), "valid") for one in (close.bit_errors, close.bits)]
    latest = sums[0] / sums[1]
    wrong, bits = (total.sum() - np.cumsum(part)[width - 1:] for total, part in (
        (drifted.bit_errors, close.bit_errors), (drifted.bits, close.bits)))
    met = np.flatnonzero((latest < CONVERGED) & (wrong < CONVERGED * np.maximum(1, bits)))
    return {"symbols": int(met[0] + width) * JUMP_BLOCK if met.size else None,
            "start": close[:first].ber, "worst": float(max(latest[first:], default=0))}


def worst_jump(jumps: list[dict]) -> dict:
    """Of several seeds, figure by figure."""
    symbols = [one["symbols"] for one in jumps]
    return {"symbols": None if None in symbols else max(symbols),
            **{name: max(one[name] for one in jumps) for name in ("start", "worst")}}


def worst(summaries: list[dict]) -> dict:
    """Of several seeds, figure by figure."""
    never = any(summary["blocks"] is None for summary in summaries)
    worst = {name: max((summary[name] for summary in summaries), key=lambda rate: rate["ber"])
             for name in ("final", "whole", "before")}
    return {**worst, **{name: None if never else max(summary[name] or 0 for summary in summaries)
                        for name in ("blocks", "worst_block")}}


def bars(results: dict) -> list[dict]:
    """What adaptation is meant to reach: [{link, case, bar, value, limit, met}]."""
    found = []

    def judge(entry: dict, bar: str, value: float | None, limit: float, met: object) -> None:
        found.append(dict(link=entry["link"], case=entry["case"], bar=bar, value=value,
                          limit=limit, met=bool(met)))

    for entry in results["summary"]:
        rows = entry["rows"]
        ours, frozen, oracle = rows["ours"], rows["frozen"], rows["oracle"]
        # On a link that moves on, the oracle is one for its end only.
        least = oracle["final" if entry["case"] in MOVING else "whole"]["ber"]
        if least < _GOOD_ORACLE:
            most = 24 if frozen["whole"]["ber"] > _LARGE else 16
            judge(entry, "blocks to 1e-3", ours["blocks"], most,
                  ours["blocks"] and ours["blocks"] <= most)
            judge(entry, "final BER / oracle's", ours["final"]["ber"] / least, 1.25,
                  ours["final"]["ci95"][0] <= 1.25 * least)
        else:
            judge(entry, "final BER / frozen's", ours["final"]["ber"] / frozen["whole"]["ber"], 0.5,
                  ours["final"]["ber"] < 0.5 * frozen["whole"]["ber"])
            if entry["case"] in _MANIFOLD:
                judge(entry, "final BER / oracle's", ours["final"]["ber"] / least, 2,
                      ours["final"]["ci95"][0] <= 2 * least)
        if least < _GOOD_ORACLE and entry["case"] in _LINEAR:
            symbols = next(one["symbols"] for one in results["jumps"] if
                           (one["link"], one["case"]) == (entry["link"], entry["case"]))
            judge(entry, "symbols to 1e-3", symbols, _FOLLOWED, symbols and symbols <= _FOLLOWED)
        slower = rows["self-training"]["blocks"]
        # The paper's figures on the reference drift are 72 and 16.
        share = 1 / 4.5 if (entry["link"], entry["case"]) == _PAPERS else 1
        judge(entry, "blocks / self-training's", ours["blocks"] and slower and
              ours["blocks"] / slower, share,
              slower is None or (ours["blocks"] and ours["blocks"] <= share * slower))
        for part in ("before", "whole"):
            judge(entry, {"before": "BER before the drift / frozen's",
                          "whole": "BER after it / frozen's"}[part],
                  ours[part]["ber"] / max(frozen[part]["ber"], 1e-9), 1,
                  ours[part]["ci95"][0] <= frozen[part]["ci95"][1])
    return found


def _stress_summary(results: dict) -> list[dict]:
    rows = []
    for link, drift, event in dict.fromkeys(
            (run["link"], run["drift"], run["event"]) for run in results["stress"]):
        rates: dict[str, list] = {"frozen": [], "ours": []}
        for run in results["stress"]:
            if (run["link"], run["drift"], run["event"]) == (link, drift, event):
                rates[run["row"]].append(run["errors"].rate())
        frozen, ours = (max(rates[row], key=lambda rate: rate["ber"]) for row in rates)
        rows.append(dict(link=link, drift=drift, event=event, frozen=frozen, ours=ours,
                         met=ours["ci95"][0] <= frozen["ci95"][1]))
    return rows


def _ber(rate: dict, interval: bool = False) -> str:
    text = f"{rate['ber']:.1e}"
    return text + " ({0[0]:.1e} to {0[1]:.1e})".format(rate["ci95"]) if interval else text


def _short(figures: dict) -> str:
    return f"{figures['blocks'] or 'never'}, {_ber(figures['final'])}"


def _table(results: dict) -> str:
    sizes = results["sizes"]
    parts = [f"Both links are simulated. Scale: {results['scale']}; blocks are of "
             f"{results['block']} symbols, the drifted captures of {sizes['after']}. Ours: the "
             f"worst of {sizes['seeds']} seeds, figure by figure. The final BER is that of the "
             f"last {LATEST} blocks, with its 95 % interval.\n", "### Overview\n",
             markdown(["link", "drift", "frozen", "self-training", "ours", "oracle"],
                       [[entry["link"], entry["case"], _ber(entry["rows"]["frozen"]["whole"]),
                         _short(entry["rows"]["self-training"]), _short(entry["rows"]["ours"]),
                         _ber(entry["rows"]["oracle"][
                             "final" if entry["case"] in MOVING else "whole"])]
                        for entry in results["summary"]]),
             "Frozen and oracle: BER over the whole run, but where the link moves on the oracle's "
             "final one; else the blocks to 1e-3 and the final BER.\n"]
    for entry in results["summary"]:
        frozen = entry["rows"]["frozen"]["whole"]
        parts.append(f"### {entry['link']}, {entry['case']}: frozen BER {_ber(frozen)}\n")
        parts.append(markdown(
            ["equalizer", "blocks to 1e-3", "final BER", "BER, whole run",
             "worst block after convergence"],
            [[row, str(figures["blocks"] or "never"), _ber(figures["final"], True),
              _ber(figures["whole"]),
              "–" if figures["worst_block"] is None else f"{figures['worst_block']:.1e}"]
             for row, figures in entry["rows"].items()]))
    parts.append("### Right after the jump\n")
    parts.append(markdown(
        ["link", "drift", "symbols to 1e-3", "BER of the first 8192", "worst 4096 after them"],
        [[one["link"], one["case"], str(one["symbols"] or "–"), f"{one['start']:.1e}",
          f"{one['worst']:.1e}"] for one in results["jumps"]]))
    parts.append("Ours, the worst seed, figure by figure. Symbols to 1e-3: after so many the BER "
                 "of the latest 4096 is below 1e-3, and so is that of all that follow; –: not "
                 "within 2^15.\n")
    parts.append("### BER after a disturbance\n")
    parts.append(markdown(
        ["link", "signal", "disturbance", "frozen", "ours, worst seed", "no worse"],
        [[row["link"], {"none": "undrifted", "reference": "drifted"}[row["drift"]],
          "none, steps of 128 symbols" if row["event"] == "none" else row["event"],
          _ber(row["frozen"], True), _ber(row["ours"], True), "yes" if row["met"] else "**no**"]
         for row in results["stress_summary"]]))
    for run in results["long"]:
        bits = 2 * 2**22
        parts.append(markdown(
            ["without drift", "symbols", "BER", "worst stretch of 2^22"],
            [[row, f"{len(run[row]) * 2**22:,}", f"{sum(run[row]) / len(run[row]) / bits:.2e}",
              f"{max(run[row]) / bits:.2e}"] for row in run]))
    parts.append("### Estimated over counted BER, means over 8 blocks\n")
    parts.append(markdown(["link", "estimates", "number", "median", "5 %", "95 %"], [
        [link, "trustworthy" if trusted else "not trustworthy", str(len(ratios)),
         *(f"{part:.2f}" for part in np.percentile(ratios, [50, 5, 95]))]
        for link in results["bits"] for trusted in (True, False)
        if (ratios := [estimated / counted for counted, estimated, trustworthy
                       in estimates_and_counts(results, link)
                       if counted and trustworthy == trusted])]))
    parts.append("### Bars\n")
    parts.append(markdown(
        ["link", "drift", "bar", "value", "limit", "met"],
        [[bar["link"], bar["case"], bar["bar"],
          "–" if bar["value"] is None else f"{bar['value']:.3g}", f"{bar['limit']:.3g}",
          "yes" if bar["met"] else "**no**"] for bar in results["bars"]]))
    return "\n".join(parts)


def _plot_runs(path: Path, results: dict, link: str) -> None:
    """BER over blocks, a panel for each drift; of ours the seed that ends worst."""
    cases = [entry["case"] for entry in results["summary"] if entry["link"] == link]
    columns = 3
    shape = len(cases) // columns + 1, columns  # one panel at least is left for the legend
    figure = new_figure(4.2 * columns, 2.6 * shape[0] + 0.6)
    axes = figure.subplots(*shape, squeeze=False)
    for axis, case in zip(axes.flat, cases):
        for color, row in enumerate(results["rows"]):
            run = max((run for run in results["runs"]
                       if (run["link"], run["case"], run["row"]) == (link, case, row)),
                      key=lambda run: run["errors"][-1].final().ber)
            draw_bers(axis, [errors.latest() for errors in run["errors"]], color=f"C{color}",
                      linewidth=2 if row == "ours" else 1, label=row)
        axis.axhline(CONVERGED, color="0.7", linewidth=0.8)
        axis.set_title(f"{link}, {case}", fontsize="medium")
        axis.grid(True, alpha=0.3)
    for axis in axes.flat[len(cases):]:
        axis.set_axis_off()
    axes.flat[len(cases)].legend(*axes.flat[0].get_legend_handles_labels(), loc="center")
    figure.supxlabel(f"blocks of {results['block']} symbols")
    figure.supylabel(f"bit error rate, latest {LATEST} blocks")
    save_figure(path, figure)


def _plot_estimates(path: Path, results: dict) -> None:
    """Estimated against counted BER, both means over 8 blocks."""
    figure = new_figure(6.5, 6)
    axis = figure.subplots()
    for color, link in enumerate(results["bits"]):
        points = estimates_and_counts(results, link)
        for trusted in (True, False):
            some = np.array([point[:2] for point in points if point[2] == trusted]).reshape(-1, 2)
            axis.loglog(*some.T, "o", color=f"C{color}", markersize=3, zorder=2 + trusted,
                        markerfacecolor=f"C{color}" if trusted else "none", markeredgewidth=0.5,
                        label=f"{link}, {'' if trusted else 'not '}trustworthy")
    axis.loglog([1e-5, 0.5], [1e-5, 0.5], color="0.3", linewidth=1)
    axis.set_xlabel(f"counted bit error rate, {LATEST} blocks")
    axis.set_ylabel("estimated without labels, their mean")
    axis.grid(True, alpha=0.3)
    axis.legend()
    save_figure(path, figure)


def estimates_and_counts(results: dict, link: str) -> list[tuple[float, float, bool]]:
    """[(counted, estimated, trustworthy)] of every 8 blocks for which there are estimates. It
    is trustworthy if all 8 estimates are."""
    points = []
    for run in results["runs"]:
        if run["link"] != link:
            continue
        told = {(capture, block): rest for capture, block, *rest in run["estimates"]}
        for capture, errors in enumerate(run["errors"]):
            for start in range(0, len(errors) - LATEST + 1, LATEST):
                some = [told.get((capture, start + k)) for k in range(LATEST)]
                if None not in some:
                    points.append((errors[start:start + LATEST].ber,
                                   float(np.mean([estimate[0] for estimate in some])),
                                   all(estimate[3] for estimate in some)))
    return points
