# SPDX-License-Identifier: GPL-3.0-or-later
"""An equalizer that learns live for long: a link that moves, NaN, setters, messages, restarts.

Argument: symbols in all, such as 1e9. Prints a table of ten parts and, for 1000 starts and stops, what
stays; ends with status 1 if memory, threads or open files grow from the second part on (ended
threads take a while to go).
"""

import itertools
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pmt
from gnuradio import adann, blocks, gr
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel

MODEL = Path(__file__).parents[1] / "examples/models/vcsel_pam4.safetensors"
PARTS = 10
RECORD = 2**18  # symbols of each drift
HEAD = f"{'part':>5} {'symbols':>14} {'BER':>9} {'estimate':>9} {'trusted':>8} {'RSS MB':>7} {'threads':>8} " \
       f"{'files':>6} {'steps':>9} {'dropped':>9} {'rollbacks':>9}"


def resources() -> tuple[float, int, int]:
    """Resident memory in MB, threads and open files of this process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) / 1e3, int(status["Threads"]), len(os.listdir("/proc/self/fd"))


def moving_record() -> tuple[np.ndarray, np.ndarray]:
    """Labels, and samples of a link that drifts away and comes back, with bursts of NaN."""
    labels, samples = [], []
    for number, drift in enumerate(("none", "reference", "bias")):
        labels.append(random_labels(RECORD, [9, number]))
        samples.append(simulate_vcsel(labels[-1], drift, 20 + number))
        samples[-1][4 * RECORD // 2:4 * RECORD // 2 + 300] = np.nan
    return np.concatenate(labels), np.concatenate(samples)


def disturb(equalizer: adann.equalizer, stop: threading.Event) -> None:
    """Setters with good and bad values, and a reader, until `stop` is set."""
    for value in itertools.cycle((1e-3, float("nan"), 2e-3, -5.0, 1e30)):
        if stop.wait(1e-3):
            return
        for setter in (equalizer.set_learning_rate, equalizer.set_sigma):
            try:
                setter(value if setter == equalizer.set_learning_rate else 50 * value)
            except ValueError:
                pass
        equalizer.estimated_ber()


def flood(equalizer: adann.equalizer) -> None:
    """Control messages, most of which make no sense."""
    intern = pmt.intern
    for message in (intern("resume"), intern("nonsense"), pmt.PMT_NIL, pmt.from_double(float("nan")),
                    pmt.cons(intern("freeze"), pmt.PMT_F), pmt.cons(intern("save"), pmt.PMT_NIL),
                    pmt.make_u8vector(100_000, 7), pmt.cons(intern("save"), intern("/no/such/folder/file"))):
        equalizer.to_basic_block()._post(intern("control"), message)


def soak(symbols: int) -> list[tuple]:
    labels, samples = moving_record()
    equalizer = adann.equalizer(str(MODEL), mode="live")
    seen = []
    print(HEAD)
    for part in range(PARTS):
        counter = adann.ber_counter("pam4")
        top = gr.top_block()
        top.connect(blocks.vector_source_f(samples, True), blocks.head(4, 4 * (symbols // PARTS)), equalizer,
                    counter)
        top.connect(blocks.vector_source_b(labels.tolist(), True), (counter, 1))
        stop = threading.Event()
        disturber = threading.Thread(target=disturb, args=(equalizer, stop))
        top.start()
        disturber.start()
        flood(equalizer)
        top.wait()
        stop.set()
        disturber.join()
        estimate = equalizer.estimated_ber()
        top.disconnect_all()
        del top
        seen.append(resources())
        print(f"{part:5} {counter.bits() // 2:14,} {counter.ber():9.2e} {estimate.ber:9.2e} "
              f"{str(estimate.trustworthy):>8} {seen[-1][0]:7.1f} {seen[-1][1]:8} {seen[-1][2]:6} "
              f"{equalizer.steps():9,} {equalizer.dropped():9,} {equalizer.rollbacks():9,}", flush=True)
    return seen


def restart(times: int) -> list[tuple]:
    """Starts and stops of one flowgraph."""
    equalizer = adann.equalizer(str(MODEL), mode="live")
    top = gr.top_block()
    top.connect(blocks.vector_source_f(np.ones(65536, np.float32), True), equalizer, blocks.null_sink(1))
    seen = []
    for number in range(times):
        top.start()
        top.stop()
        top.wait()
        if number in (times // 10, times - 1):
            seen.append(resources())
    print(f"{times} starts and stops: RSS {seen[0][0]:.1f} to {seen[1][0]:.1f} MB, threads {seen[0][1]} to "
          f"{seen[1][1]}, open files {seen[0][2]} to {seen[1][2]}")
    return seen


def main(symbols: int) -> None:
    parts = soak(symbols)
    for early, late in ((parts[1], parts[-1]), restart(max(20, min(1000, symbols // 10**6)))):
        if late[0] > 1.2 * early[0] + 10 or late[1] > early[1] + 3 or late[2] > early[2]:
            sys.exit("it grows")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**9)
