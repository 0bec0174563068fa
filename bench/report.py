# SPDX-License-Identifier: GPL-3.0-or-later
"""The measurements as Markdown and as a plot, and what they were made on."""

import datetime
import os
import platform
import subprocess
from pathlib import Path

import torch
from measuring import SHAPES


def load():
    """What else ran: processes that wanted a core in the last minute, on average."""
    return round(os.getloadavg()[0], 2)


def machine(isas):
    cpu = next((line.split(":")[1].strip()
                for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"],
                            cwd=Path(__file__).parent, text=True, stdout=subprocess.PIPE).stdout
    return dict(cpu=cpu, cores=os.cpu_count(), isa=isas[-1], torch=torch.__version__,
                date=datetime.date.today().isoformat(), commit=commit.strip(),
                load_before=load())


def _table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)] + rows
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rate(value):
    return f"{value:.3g}"


def _times(value):
    return f"{value:.1f}×"


def _percent(value):
    return f"{100 * value:.0f} %"


def _inference(result):
    parts = []
    for name, shape in SHAPES.items():
        found = result["inference"][name]
        best = result["machine"]["isa"]
        title = {f"core {isa}": f"core, {isa}" for isa in result["isa"]} | {
            "torch eager": "torch eager", "eigen": "Eigen, fixed sizes"}
        rows = []
        for contender, measured in sorted(found["contenders"].items(),
                                          key=lambda item: -item[1]["core_is"]):
            isa = contender.removeprefix("core ")
            fraction = result["isa"].get(isa, {}).get("inference", {}).get(name, {}).get(
                "fma_fraction")
            rows.append([title.get(contender, contender),
                         _rate(measured["msymbols_per_second"]), _times(measured["core_is"]),
                         _percent(fraction) if fraction else ""])
        parts.append(f"### {shape.title}\n\n" + _table(
            ["8192 symbols a call", "Msym/s", f"core, {best}, is", "of the FMA peak"], rows))
        done = shape.flops_done() / shape.flops()
        parts.append(
            f"The FMA peak: {found['peak_gflops'][best]:.0f} Gflop/s. The fraction counts all "
            f"{shape.flops()} operations of a symbol's network. As two windows share some of the "
            f"first layer's, the core does {shape.flops_done():.0f} of them: "
            f"{_percent(done * found['fma_fraction'])} of the peak with {best}.")
        parts.append(_table(
            ["symbols a call", "core", "torch eager", "best torch", "Eigen"],
            [[count] + [_rate(row[key]) for key in ("core", "torch_eager", "torch_best", "eigen")]
             for count, row in found["counts"].items()]))
    return parts


def _steps(result):
    header = ["", "torch", "full noise", "", "default noise", ""]

    def row(name, found):
        return [name, _rate(found["torch_msymbols_per_second"]),
                _rate(found["full_msymbols_per_second"]), _times(found["full_vs_torch"]),
                _rate(found["msymbols_per_second"]), _times(found["default_vs_torch"])]

    return [_table(header, [row(loss, found) for loss, found in result["step"].items()]),
            "Aug-VAT with each instruction set:",
            _table(header, [row(isa, found["step"]["aug_vat"])
                            for isa, found in result["isa"].items()])]


def _flowgraph(found):
    rates = found["msymbols_per_second"]
    rows = [[title, _rate(rates[f"{chain}, off"]), _percent(found[f"{key}off_vs_kernel"]),
             _rate(rates[f"{chain}, live"]), _percent(found[f"{key}live_vs_off"])]
            for title, chain, key in (
                ("memory source, GNU Radio's default buffers", "memory", ""),
                ("memory source with a buffer of 1 MiB", "memory, large buffer",
                 "large_buffer_"),
                ("file source, resampler 7 to 4", "file and resampler", "file_"))]
    return [
        _table(["in front of the equalizer", "off", "of the kernel", "live", "of off"], rows),
        f"The bare kernel: {_rate(rates['kernel'])} Msym/s. A null sink comes last.",
        f"Live at {found['throttled_msymbols_per_second']:.2f} Msym/s: "
        f"{found['throttled_steps']} steps, {found['dropped']} batches dropped."]


def _whole_numbers(inference):
    inputs = list(inference)
    rows = [[name if " " in name or name == "float" else f"8 bits, {name}",
             *(text for shape in inputs for found in [inference[shape]["int8"][name]]
               for text in (_rate(found["msymbols_per_second"]), _times(found["vs_float"])))]
            for name in inference[inputs[0]]["int8"]]
    return [_table(["", *(text for shape in inputs for text in (shape, "of float"))], rows)]


def _tracking(found):
    rates = found["msymbols_per_second"]
    return [_table(["link", "Msym/s", "of the network alone"],
                   [["the network alone", _rate(rates["network"]), ""],
                    ["still", _rate(rates["still"]), _percent(found["still_vs_network"])],
                    ["moving", _rate(rates["moving"]), _percent(found["moving_vs_network"])],
                    ["no front filter, refined decisions", _rate(rates["refined"]),
                     _percent(found["refined_vs_network"])],
                    ["the same with their posteriors", _rate(rates["refined, soft"]),
                     f"{_percent(found['soft_vs_refined'])} of that without"]])]


def _channels(found):
    names = {"1x1": "one channel, front filter", "2x1": "two channels to one output",
             "2x2": "two channels to two outputs"}
    return [_table(["", "still, Msym/s", "of one channel", "moving, Msym/s", "of one channel"],
                   [[name, *(text for link in ("still", "moving")
                             for text in (_rate(found[shape][link]["msymbols_per_second"]),
                                          _percent(found[shape][link]["vs_one"]) if shape != "1x1" else ""))]
                    for shape, name in names.items()])]


def _receiver(found):
    rows = [[name, _rate(row["msymbols_per_second"]), _times(row["vs_torch_step"]),
             _percent(row["vs_step"])] for name, row in found.items()]
    return [_table(["", "Msym/s", "of torch's Aug-VAT step", "of the bare step"], rows)]


def _peers(found):
    rows = [[row, *(text for link in found.values()
                    for text in (_rate(link[row]["msymbols_per_second"]), _times(link[row]["vs_lms"])))]
            for row in next(iter(found.values()))]
    return [_table(["", *(text for name in found for text in (f"{name}, Msym/s", "of LMS"))], rows)]


def _mlse(found):
    def optional(value, shown):
        return "" if value is None else shown(value)

    rows = [[name.removeprefix("memory"), _rate(row["msymbols_per_second"]),
             optional(row["trellis_msymbols_per_second"], _rate),
             optional(row["vs_trellis"], _times), f"{row['branch_metrics_per_cycle']:.2f}",
             _rate(row["tracking_msymbols_per_second"])] for name, row in found.items()]
    return [_table(["memory", "Msym/s", "viterbi_combined_fb", "", "branch metrics a cycle",
                    "with LMS, Msym/s"], rows)]


def markdown(result):
    on = result["machine"]
    parts = [
        "# Measured speed",
        f"{on['cpu']}, {on['cores']} cores, best instruction set {on['isa']}; torch {on['torch']}; "
        f"{on['date']}, commit {on['commit']}; load {on['load_before']} before, "
        f"{on['load_after']} after. Written by `./dev bench`.",
        "One thread each; all contenders of a table in turn, 0.1 s each; medians over the rounds, "
        "of ratios too. "
        "Rates in millions of symbols per second: of processor time, but for flowgraphs of "
        "wall-clock time. Networks: D-10-10-10-10-M, float32. Batch and call: 8192 symbols.",
        "![Inference and steps](results.png)",
        "## Inference, samples to labels",
        "torch takes the overlapping windows as a view; \"copied\": as a matrix made beforehand, "
        "the copying not counted. Eigen is compiled for this machine and knows the sizes.",
        *_inference(result),
        "## Inference in whole numbers",
        "Models of `adann quantize`. Up to 8 bits VNNI adds four products an instruction; else two are added.",
        *_whole_numbers(result["inference"]),
        "## Adaptation steps, D = 44, M = 4",
        "Noise, gradient and Adam. torch does all the work: for Aug-VAT three forward passes, "
        "two backward, three noise vectors. \"Default\" draws noise of the same distribution in "
        "fewer numbers (`lib/core/training/projected_perturber.h`).",
        *_steps(result),
        "## Front filter, network and refined decisions, D = 44, M = 4, 49 taps",
        *_tracking(result["tracking"]),
        "## Several channels, D = 44, M = 4, complex, 25 taps from each channel to each output",
        "The matrix of filters, with the network that decides each output in it, and one channel's front filter and "
        "network. Symbols of each channel; what is received rotates by 4.8e-5 radians a symbol, for one channel an "
        "echo comes and goes.",
        *_channels(result["channels"]),
        "## Flowgraphs, D = 44, M = 4",
        *_flowgraph(result["flowgraph"]),
        "## The receiver, D = 44, M = 4",
        "The equalizer as it comes, in lockstep: front filter, refined labels and decisions, judge and guard, "
        "steps of 256 symbols, on the simulated VCSEL link that has drifted; wall-clock time. "
        "Next to it torch's step on batches of 8192, and the core's on batches of 256.",
        *_receiver(result["receiver"]),
        "## Next to GNU Radio's equalizers",
        "One flowgraph each, symbols per second of processor time, of all threads. QPSK and 16QAM at 2 samples a "
        "symbol after an echo that rotates: 25 taps each, 6 symbols fed back. PAM4 at 4, as complex samples for "
        "GNU Radio's: 49 taps. GNU Radio's put out soft symbols, ours labels.",
        *_peers(result["peers"])]
    if "mlse" in result:
        parts += ["## MLSE, PAM4, one sample per symbol", *_mlse(result["mlse"])]
    return "\n\n".join(parts) + "\n"


def plot(result, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    lines = {"core": "core", "eigen": "Eigen", "torch_best": "best torch",
             "torch_eager": "torch eager"}
    counts = result["inference"]["d44_m4"]["counts"]
    for key, label in lines.items():
        left.plot([int(count) for count in counts], [row[key] for row in counts.values()],
                  marker="o", label=label)
    left.set(xscale="log", yscale="log", xlabel="symbols a call", ylabel="Msym/s",
             title="Inference, D = 44, M = 4")
    left.set_ylim(bottom=1)
    left.legend(loc="lower right", ncols=2)
    left.grid(True, which="both", alpha=0.3)

    bars = {"torch_msymbols_per_second": "torch", "full_msymbols_per_second": "full noise",
            "msymbols_per_second": "default noise"}
    for offset, (key, label) in enumerate(bars.items()):
        found = [step[key] for step in result["step"].values()]
        drawn = right.bar([x + 0.27 * (offset - 1) for x in range(len(found))], found, 0.27,
                          label=label)
        right.bar_label(drawn, fmt="%.1f", fontsize=8)
    right.set_xticks(range(len(result["step"])), result["step"])
    right.set(yscale="log", ylabel="Msym/s", title="Adaptation steps, batch 8192")
    fastest = max(step["msymbols_per_second"] for step in result["step"].values())
    right.set_ylim(top=4 * fastest)
    right.legend(ncols=3)
    on = result["machine"]
    figure.suptitle(f"{on['cpu']}, {on['isa']}, one thread, {on['date']}", fontsize=9)
    figure.savefig(path, dpi=100)
