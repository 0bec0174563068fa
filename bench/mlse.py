# SPDX-License-Identifier: GPL-3.0-or-later
"""MLSE against GNU Radio's trellis.viterbi_combined_fb: PAM4, one sample per symbol, one core.

Both run alternately in this process, so that whatever else the machine does meets both alike; the
median of the runs counts, in time of this process alone. GNU Radio's decoder does not track the
channel; the last column is the MLSE with LMS on every symbol. usage: ./dev run python3 bench/mlse.py
"""

import os
import time

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")

from gnuradio import blocks, digital, gr, trellis  # noqa: E402
from gnuradio.adann import core  # noqa: E402

# memory: symbols of a turn for the MLSE, and for GNU Radio, which takes far too long for 7
SYMBOLS = {3: (1_000_000, 200_000), 5: (200_000, 20_000), 7: (20_000, None)}
POINTS = core.constellation("pam4").points.real
TURNS = 9


def channel(memory):
    taps = np.array([0.05, -0.15, 0.3, 1.0, 0.35, -0.1, 0.05])
    return taps[(7 - memory) // 2:(7 + memory) // 2]


def received(taps, symbols):
    random = np.random.default_rng(1)
    clean = np.convolve(POINTS[random.integers(0, POINTS.size, symbols)], taps, "same")
    return (clean + 0.2 * random.standard_normal(symbols)).astype(np.float32)


def seconds(function):
    """Of processor time, all threads: a flowgraph has some that only wait."""
    start = time.process_time()
    function()
    return time.process_time() - start


def mlse_seconds(samples, taps, adaptation):
    estimator = core.mlse("pam4", 1, taps.size, response=taps, adaptation=adaptation)
    return seconds(lambda: estimator.process(samples[:, None]))


def viterbi_seconds(samples, taps):
    """Without what a flowgraph costs that decodes next to nothing."""
    size, memory = POINTS.size, taps.size
    states = size ** (memory - 1)
    state, newest = np.divmod(np.arange(states * size), size)
    machine = trellis.fsm(size, states, states * size,
                          (newest * (states // size) + state // size).tolist(),
                          list(range(states * size)))
    digits = [newest] + [state // size ** (memory - 2 - k) % size for k in range(memory - 1)]
    table = sum(tap * POINTS[digit] for tap, digit in zip(taps, digits)).astype(np.float32).tolist()

    def run(part):
        top = gr.top_block()
        top.connect(blocks.vector_source_f(part),
                    trellis.viterbi_combined_fb(machine, part.size, -1, -1, 1, table,
                                                digital.TRELLIS_EUCLIDEAN),
                    blocks.null_sink(1))
        return seconds(top.run)

    return run(samples) - run(samples[:10])


def clock_rate():
    """Hz, as the kernel gives it; turbo makes branch metrics per cycle look better."""
    with open("/proc/cpuinfo") as file:
        return next(float(line.split(":")[1]) * 1e6 for line in file if line.startswith("cpu MHz"))


def measure_memory(memory):
    ours, theirs = SYMBOLS[memory]
    taps = channel(memory)
    samples = received(taps, ours)
    turns = []
    for _ in range(TURNS):
        turns.append((ours / mlse_seconds(samples, taps, "off"),
                      theirs / viterbi_seconds(samples[:theirs], taps) if theirs else np.nan,
                      ours / mlse_seconds(samples, taps, "decision_directed")))
    rate, viterbi, tracking = np.median(turns, axis=0)
    ratio = np.median([turn[0] / turn[1] for turn in turns])
    return {"msymbols_per_second": rate / 1e6,
            "vs_trellis": None if theirs is None else ratio,
            "trellis_msymbols_per_second": None if theirs is None else viterbi / 1e6,
            "tracking_msymbols_per_second": tracking / 1e6,
            "branch_metrics_per_cycle": rate * POINTS.size ** memory / clock_rate()}


def measure():
    """{"memory3": …, "memory5": …, "memory7": …}"""
    return {f"memory{memory}": measure_memory(memory) for memory in SYMBOLS}


def main():
    results = measure()
    print("memory  Msymbols/s  viterbi_combined_fb  ratio  branch metrics/cycle  with LMS")
    for name, row in results.items():
        viterbi, ratio = ("–", "–") if row["vs_trellis"] is None else (
            f"{row['trellis_msymbols_per_second']:.3f}", f"{row['vs_trellis']:.1f}")
        print(f"{name[6:]:>6}  {row['msymbols_per_second']:10.2f}  {viterbi:>19}  {ratio:>5}  "
              f"{row['branch_metrics_per_cycle']:20.2f}  {row['tracking_msymbols_per_second']:8.2f}")


if __name__ == "__main__":
    main()
