# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the core against torch and Eigen, the machine's limit and whole flowgraphs.

Everything that is compared runs in turn, one short moment each, for many rounds; a figure is the
median of the rounds, a ratio the median of each round's ratio. One thread each. Rates count
processor time, those of flowgraphs wall-clock time.
"""

import argparse
import json
import tempfile
from pathlib import Path

import flowgraph
import mlse
import peers
import receiver
import report
import torch_network
from gnuradio.adann import core
from measuring import SHAPES, KernelsBench, interleave

BATCH = 8192
COUNTS = (512, 1000, 4096, 8192, 10000, 65536)  # 1000 and 10000: not whole tiles
LOSSES = [name for name, takes in core.losses.items() if not takes.supervised]
NOISES = ("full", "projected")
HERE = Path(__file__).parent
MODELS = HERE.parent / "examples/models"
TRACKED = MODELS / "vcsel_pam4.safetensors"
RECEIVED = MODELS / "qpsk_packets.safetensors"  # by one channel or two


def measure_inference(kernels, shape, rounds, seconds):
    """All instruction sets, torch, Eigen and the peak at a batch's length."""
    best = kernels.isas[-1]
    torch = torch_network.inference(shape, BATCH, seconds)
    contenders = {f"core {isa}": kernels.inference(isa, shape, BATCH) for isa in kernels.isas}
    contenders |= {f"peak {isa}": kernels.peak(isa) for isa in kernels.isas if isa != "plain"}
    contenders |= torch | {"eigen": kernels.eigen(shape, BATCH)}
    measured = interleave(contenders, rounds)

    core_best, torch_best = f"core {best}", measured.fastest(torch)
    result = dict(
        vs_torch_eager=measured.ratio(core_best, "torch eager"),
        vs_torch_best=measured.ratio(core_best, torch_best),
        vs_eigen=measured.ratio(core_best, "eigen"),
        fma_fraction=shape.flops() * measured.ratio(core_best, f"peak {best}"),
        msymbols_per_second=measured.median(core_best) / 1e6,
        torch_best=torch_best,
        contenders={name: dict(msymbols_per_second=measured.median(name) / 1e6,
                               core_is=measured.ratio(core_best, name))
                    for name in contenders if not name.startswith("peak")},
        peak_gflops={isa: measured.median(f"peak {isa}") / 1e9 for isa in kernels.isas
                     if isa != "plain"})
    per_isa = {}
    for isa in kernels.isas:
        per_isa[isa] = dict(msymbols_per_second=measured.median(f"core {isa}") / 1e6,
                            vs_torch_eager=measured.ratio(f"core {isa}", "torch eager"),
                            vs_torch_best=measured.ratio(f"core {isa}", torch_best))
        if isa != "plain":
            per_isa[isa]["fma_fraction"] = shape.flops() * measured.ratio(
                f"core {isa}", f"peak {isa}")
    return result, per_isa


def measure_counts(kernels, shape, counts, rounds, seconds):
    """{N: Msymbols/s of core, torch's two and Eigen}."""
    result = {}
    for count in counts:
        torch = torch_network.inference(shape, count, seconds)
        contenders = torch | {"core": kernels.inference(kernels.isas[-1], shape, count),
                              "eigen": kernels.eigen(shape, count)}
        measured = interleave(contenders, rounds)
        result[str(count)] = dict(
            core=measured.median("core") / 1e6, eigen=measured.median("eigen") / 1e6,
            torch_eager=measured.median("torch eager") / 1e6,
            torch_best=measured.median(measured.fastest(torch)) / 1e6)
    return result


def measure_steps(kernels, shape, rounds, seconds):
    """Each loss with the best instruction set, and Aug-VAT with all of them."""
    best = kernels.isas[-1]
    contenders = {}
    for loss in LOSSES:
        contenders[f"torch {loss}"] = torch_network.step(shape, BATCH, loss, seconds)
        for noise in NOISES:
            for isa in kernels.isas if loss == "aug_vat" else [best]:
                contenders[f"{isa} {loss} {noise}"] = kernels.step(
                    isa, loss, noise, shape, BATCH)
    measured = interleave(contenders, rounds)

    def figures(isa, loss):
        full, projected = (f"{isa} {loss} {noise}" for noise in NOISES)
        return dict(full_vs_torch=measured.ratio(full, f"torch {loss}"),
                    default_vs_torch=measured.ratio(projected, f"torch {loss}"),
                    msymbols_per_second=measured.median(projected) / 1e6,
                    full_msymbols_per_second=measured.median(full) / 1e6,
                    torch_msymbols_per_second=measured.median(f"torch {loss}") / 1e6)

    return ({loss: figures(best, loss) for loss in LOSSES},
            {isa: figures(isa, "aug_vat") for isa in kernels.isas})


def measure_whole_numbers(kernels, shape, rounds):
    """Networks in whole numbers against the best one in float."""
    contenders = {isa: kernels.whole_numbers(isa, 8, shape, BATCH) for isa in kernels.isas}
    contenders["16 bits"] = kernels.whole_numbers(kernels.isas[-1], 16, shape, BATCH)
    contenders["float"] = kernels.inference(kernels.isas[-1], shape, BATCH)
    measured = interleave(contenders, rounds)
    return {name: dict(msymbols_per_second=measured.median(name) / 1e6, vs_float=measured.ratio(name, "float"))
            for name in contenders}


def measure_tracking(kernels, rounds):
    """A front filter before the network, D = 44 and 49 taps, and refined decisions after it, each against
    the network alone."""
    measured = interleave({what: kernels.tracking(TRACKED, what)
                           for what in ("network", "still", "moving", "refined", "refined, soft")}, rounds)
    return dict(still_vs_network=measured.ratio("still", "network"),
                moving_vs_network=measured.ratio("moving", "network"),
                refined_vs_network=measured.ratio("refined", "network"),
                soft_vs_refined=measured.ratio("refined, soft", "refined"),
                msymbols_per_second={what: measured.median(what) / 1e6 for what in measured.rates})


def measure_channels(kernels, rounds):
    """Two channels through the matrix of filters to one output or two, and one through the front filter: each with the
    network that decides, D = 44, 25 taps from each channel to each output."""
    links = "still", "moving"
    contenders = {f"1x1 {link}": kernels.tracking(RECEIVED, link) for link in links}
    contenders |= {f"2x{outputs} {link}": kernels.channels(RECEIVED, outputs, link) for outputs in (1, 2)
                   for link in links}
    measured = interleave(contenders, rounds)
    return {shape: {link: dict(msymbols_per_second=measured.median(f"{shape} {link}") / 1e6,
                               vs_one=measured.ratio(f"{shape} {link}", f"1x1 {link}")) for link in links}
            for shape in ("1x1", "2x1", "2x2")}


def measure_flowgraph(kernels, shape, rounds, seconds, throttled_seconds):
    with tempfile.TemporaryDirectory() as folder:
        contenders = flowgraph.contenders(folder, seconds)
        contenders["kernel"] = kernels.inference(kernels.isas[-1], shape, BATCH)
        measured = interleave(contenders, rounds)
    rate, steps, dropped = flowgraph.throttled(throttled_seconds)
    result = dict(dropped=dropped, throttled_steps=steps,
                  throttled_msymbols_per_second=rate / 1e6,
                  msymbols_per_second={name: measured.median(name) / 1e6 for name in contenders})
    for prefix, chain in (("", "memory"), ("large_buffer_", "memory, large buffer"),
                          ("file_", "file and resampler")):
        result[prefix + "off_vs_kernel"] = measured.ratio(f"{chain}, off", "kernel")
        result[prefix + "live_vs_off"] = measured.ratio(f"{chain}, live", f"{chain}, off")
    return result


def measure_all(program, quick):
    """Everything, as ./dev bench --json writes it; quick: too short to be quoted."""
    seconds = 0.01 if quick else 0.1
    rounds = 1 if quick else 15
    kernels = KernelsBench(program, seconds)
    result = dict(machine=report.machine(kernels.isas), inference={},
                  isa={isa: dict(inference={}, step={}) for isa in kernels.isas})
    for name, shape in SHAPES.items():
        print(f"inference, {shape.title}", flush=True)
        result["inference"][name], per_isa = measure_inference(kernels, shape, rounds, seconds)
        for isa, figures in per_isa.items():
            result["isa"][isa]["inference"][name] = figures
        result["inference"][name]["counts"] = measure_counts(
            kernels, shape, COUNTS[:2] if quick else COUNTS, max(1, rounds // 3), seconds)
        result["inference"][name]["int8"] = measure_whole_numbers(kernels, shape, rounds)
    print("adaptation steps", flush=True)
    shape = SHAPES["d44_m4"]
    result["step"], per_isa = measure_steps(kernels, shape, rounds, seconds)
    for isa, figures in per_isa.items():
        result["isa"][isa]["step"]["aug_vat"] = figures
    print("front filter", flush=True)
    result["tracking"] = measure_tracking(kernels, rounds)
    print("channels", flush=True)
    result["channels"] = measure_channels(kernels, rounds)
    print("flowgraphs", flush=True)
    result["flowgraph"] = measure_flowgraph(
        kernels, shape, rounds, 0.05 if quick else 0.5, 0.3 if quick else 5)
    print("receiver", flush=True)
    result["receiver"] = receiver.measure(
        kernels, 1 if quick else 5, seconds, quick)
    print("peers", flush=True)
    result["peers"] = peers.measure(1 if quick else 7, quick)
    if not quick:
        print("MLSE", flush=True)
        result["mlse"] = mlse.measure()
    result["machine"]["load_after"] = report.load()
    return result


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--quick", action="store_true",
                        help="a few seconds, to see that it works; RESULTS.md stays as it is")
    parser.add_argument("--kernels-bench", required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    result = measure_all(arguments.kernels_bench, arguments.quick)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    print(report.markdown(result))
    if not arguments.quick:
        (HERE / "RESULTS.md").write_text(report.markdown(result))
        report.plot(result, HERE / "results.png")


if __name__ == "__main__":
    main()
