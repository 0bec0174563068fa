# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples on a screen: opened by the real GNU Radio Companion, and run."""

import json
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import yaml
from gnuradio.adann import core
from gnuradio.adann.offline.blind import blind_labels

ROOT = pathlib.Path(__file__).parents[2]
FLOWGRAPHS = sorted((ROOT / "examples").glob("*.grc"))


def test_gnuradio_companion_opens_every_example_without_a_warning(screen):
    """What its console shows goes to stdout too."""
    program = subprocess.Popen(["gnuradio-companion", *map(str, FLOWGRAPHS)], env=screen, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    told = ""
    try:
        while told.count(">>> Done") < len(FLOWGRAPHS):
            line = program.stdout.readline()
            assert line, told + program.stderr.read()
            told += line
        assert program.poll() is None
    finally:
        program.terminate()
        said = program.communicate()[1]
    assert not any(word in told for word in ("Error", "Warning", "Failure")), told
    assert said == ""
    for path in FLOWGRAPHS:
        assert f'Loading: "{path}"' in told


# As Python ends, GNU Radio's plots close windows that Qt may have deleted before them.
END = """
import os
sys.stdout.flush()
os._exit(0)
"""


# Qt's loop, until something holds: between its events the flowgraph's threads need the processor.
BEGIN = """
import json, sys, time
from PyQt5 import Qt
application = Qt.QApplication([])

def show(until, otherwise):
    end = time.monotonic() + 300
    while not until():
        assert time.monotonic() < end, otherwise
        application.processEvents()
        time.sleep(0.01)
"""


def run(program, arguments, folder, screen):
    done = subprocess.run([sys.executable, "-c", BEGIN + program + END, json.dumps(arguments)], cwd=folder,
                          env=screen, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # GNU Radio logs there too


# Runs a live flowgraph with the setters that are given, until its plots have moved.
RUN = """
import importlib
name, options, rate, plots = json.loads(sys.argv[1])
top = getattr(importlib.import_module(name), name)(**options)
getattr(top, "set_" + rate[0])(rate[1])
top.show()
top.start()

def pictures():
    return {plot: getattr(top, f"_{plot}_win").grab().toImage() for plot in plots}

show(lambda: top.adaptive.steps() > 20, "no steps")
for turn in range(3):  # from an empty plot to one with curves, and on
    start = pictures()
    show(lambda: all(new != start[plot] for plot, new in pictures().items()), "the plots stand still")
if name == "burst_live":  # the estimate of packets: 4096 symbols, none of the noise between them
    show(lambda: top.panel.widget.text("estimated BER") != "–", "no estimate")
top.stop()
top.wait()
print(top.adaptive.steps())
"""
RUNS = {
    "burst_live": ({}, ("symbol_rate", 1e5), ["lost", "received", "panel"]),
    "capture_live": ({}, ("pace", 1e6), ["eye", "soft_symbols", "confidence", "panel"]),
    "coded_live": ({}, ("symbol_rate", 4e5), ["lost_frames", "histogram", "panel"]),
    "coherent_live": ({}, ("symbol_rate", 4e5),
                      ["ber_history", "received", "soft_adaptive", "soft_frozen", "confidence", "panel"]),
    "dual_polarisation_live": ({}, ("symbol_rate", 4e4), ["received_0", "received_1", "soft_0", "soft_1", "ber_now"]),
    "own_block_live": ({}, ("symbol_rate", 4e5), ["soft_symbols", "ber_now", "panel"]),
    "qpsk_live": ({}, ("symbol_rate", 2.5e5), ["ber_history", "received", "soft", "equalized", "panel"]),
    "sdr_live": ({}, ("speed", 40), ["spectrum", "synchronized", "panel"]),
}


# Until the latest 60 batches, 983,040 bits, have less than 0.3 of the errors of GNU Radio's CMA and Costas loop.
ADVANTAGE = """
from gnuradio import blocks
import qpsk_live
top = qpsk_live.qpsk_live()
rates = {name: blocks.vector_sink_f() for name in ("adaptive", "linear")}
for name, sink in rates.items():
    top.connect(getattr(top, "ber_" + name), sink)
top.show()
top.start()

def latest(name):
    return sum(rates[name].data()[-60:]) / 60

show(lambda: all(len(sink.data()) >= 60 for sink in rates.values()) and latest("adaptive") < 0.3 * latest("linear"),
     "no advantage")
top.stop()
top.wait()
print(json.dumps([latest("adaptive"), latest("linear")]))
"""


def test_the_radio_has_an_advantage_over_gnuradios_equalizer_as_it_opens(compiled, screen):
    """1e-5 and 2e-4: ten and two hundred errors, so that no chance makes one of the other."""
    adaptive, linear = run(ADVANTAGE, [], compiled, screen)
    print(adaptive, linear)
    assert adaptive < 0.3 * linear


# Watches television: the echo's slider moves once packets come, and packets go on coming.
TELEVISION = """
import television_live
top = television_live.television_live()
top.show()
top.start()

def pictures():
    return {plot: getattr(top, f"_{plot}_win").grab().toImage() for plot in ("lost", "levels", "panel")}

def counts():
    decoders = {"adann": top.rs_decoder_adann, "in_tree": top.rs_decoder_in_tree}
    return {name: (decoder.num_packets(), decoder.num_bad_packets()) for name, decoder in decoders.items()}

show(lambda: counts()["adann"][0] > 600, "no packets")
first = pictures()
show(lambda: all(new != first[plot] for plot, new in pictures().items()), "the plots stand still")
top._echo_win.d_widget.counter.setValue(0.2)
before = counts()
show(lambda: counts()["adann"][0] > before["adann"][0] + 1000, "no more packets")
after = counts()
top.stop()
top.wait()
print(json.dumps([top.echo, {name: [after[name][k] - before[name][k] for k in range(2)] for name in after}]))
"""


def test_television_goes_on_while_the_echo_is_moved(compiled, screen):
    echo, counted = run(TELEVISION, None, compiled, screen)
    assert echo == 0.2
    packets, lost = counted["adann"]
    assert packets >= 1000 and lost < 0.1 * packets
    assert counted["in_tree"][1] > 0.9 * counted["in_tree"][0]


# Watches bursts, then with carriers that are twenty times as far off.
BURSTS = """
import burst_equalizer_live
top = burst_equalizer_live.burst_equalizer_live()
top.set_symbol_rate(2e4)
top.show()
top.start()
if hasattr(top, "flowgraph_started"):  # of newer GNU Radios: probes wait until main() sets it
    top.flowgraph_started.set()
checks = top.check_equalizer, top.check_linear

def bursts(more):
    before = [(check.bursts, check.wrong) for check in checks]
    show(lambda: all(check.bursts >= sent + more for check, (sent, _) in zip(checks, before)), "no bursts come")
    return [(check.wrong - wrong) / (check.bursts - sent) for check, (sent, wrong) in zip(checks, before)]

def pictures():
    return {plot: getattr(top, f"_{plot}_win").grab().toImage() for plot in ("lost", "received", "estimates")}

lost = bursts(60)
first = pictures()
show(lambda: all(new != first[plot] for plot, new in pictures().items()), "the plots stand still")
top._carrier_win.d_widget.counter.setValue(100)
bursts(20)  # those that were on their way
lost += bursts(60)
show(lambda: " of " in top._lost_equalizer_label.text(), "nothing is counted")
top.stop()
top.wait()
print(json.dumps([top.carrier, lost]))
"""


def test_bursts_with_sixteen_known_symbols_are_received(compiled, screen):
    carrier, (ours, linear, ours_later, linear_later) = run(BURSTS, None, compiled, screen)
    assert carrier == 100
    assert ours < 0.1 and ours_later < 0.1
    assert linear > 0.5 and linear_later > 0.5


# Runs the flowgraph that starts with nothing until it has adapted for a while.
START = """
import qpsk_start
top = qpsk_start.qpsk_start()
top.show()
top.start()
show(lambda: top.equalizer.updates() > 20, "it does not start")
bits, errors = top.counter.bits(), top.counter.errors()
show(lambda: top.counter.bits() > bits + 2**18, "no bits are counted")
print((top.counter.errors() - errors) / (top.counter.bits() - bits))
top.stop()
top.wait()
"""


def test_ten_blocks_start_with_nothing_on_a_channel_with_two_rays(compiled, screen):
    """From an empty canvas: no file, no shell, and soon a bit error rate below 1e-3."""
    saved = yaml.safe_load((ROOT / "examples/qpsk_start.grc").read_text())
    blocks = [block for block in saved["blocks"] if not block["id"].startswith(("variable", "snippet"))]
    assert len(blocks) == 10
    equalizer, = (block["parameters"] for block in blocks if block["id"] == "adann_equalizer")
    assert equalizer["model"] == "" and equalizer["checkpoint"] == ""
    assert run(START, None, compiled, screen) < 1e-3


# Records until the file is complete, then trains on its beginning, as the flowgraph's comment says.
RECORD = """
import record_for_training
top = record_for_training.record_for_training(recording=json.loads(sys.argv[1]))
top.set_sample_rate(4e6)
top.show()
top.start()
show(lambda: top.first.nitems_written(0) >= 2 * top.symbols, "nothing is recorded")
top.stop()
top.wait()
print(top.symbols)
"""


def test_what_is_recorded_for_training_can_be_trained_on(compiled, screen, tmp_path):
    symbols = run(RECORD, str(tmp_path / "record.c64"), compiled, screen)
    samples = np.fromfile(tmp_path / "record.c64", np.complex64)
    assert samples.size == 2 * symbols
    assert np.mean(abs(samples) ** 2) == pytest.approx(1, rel=0.05)
    # The clock has been found: a linear equalizer that knows nothing opens the eye.
    windows = np.lib.stride_tricks.sliding_window_view(samples[:2 * 16384].view(np.float32), 44)[::4]
    labels, ratio = blind_labels(windows.copy(), core.constellation("gr:qpsk"), True)
    assert len(set(labels)) == 4 and ratio > 8


@pytest.mark.parametrize("name", RUNS)
def test_the_plots_move(name, compiled, screen):
    assert run(RUN, [name, *RUNS[name]], compiled, screen) > 20


# As F6 does it, in a folder where nothing is: for so many seconds, in which each slider is moved.
OPEN = """
import importlib, os
name, seconds = json.loads(sys.argv[1])
module = importlib.import_module(name)
top = getattr(module, name)()
getattr(module, "snippets_main_after_init", lambda window: None)(top)
top.start()
top.show()

def wait(seconds):
    end = time.monotonic() + seconds
    show(lambda: time.monotonic() > end, "time stands still")

wait(seconds / 2)
tall = {panel: panel.height() for panel in [getattr(top, "_panel_win", None)] if panel}
sliders = [each.d_widget.counter for each in vars(top).values() if hasattr(getattr(each, "d_widget", None), "counter")]
for slider in sliders:
    before = slider.value()
    slider.setValue((slider.minimum() + slider.maximum()) / 2)
    wait(0.2)
    slider.setValue(before)
wait(seconds / 2)
assert all(panel.height() == height for panel, height in tall.items())
areas = [area for area in top.findChildren(Qt.QScrollArea)]
hidden = max(bar.maximum() for area in areas for bar in (area.verticalScrollBar(), area.horizontalScrollBar()))
size = [top.height(), hidden, len(sliders)]
top.close()
print(json.dumps(size))
"""
WINDOWS = [path.stem for path in FLOWGRAPHS if "generate_options: qt_gui" in path.read_text()]
SAID = re.compile(r"adann_equalizer :info: (a linear equalizer decides|started, |trained on )")


@pytest.fixture(scope="module")
def opened(compiled, screen, tmp_path_factory, request):
    """The windows whose tests run, three at a time: they wait for most of their 20 seconds."""
    def run(name):
        return subprocess.run([sys.executable, "-c", BEGIN + OPEN + END, json.dumps([name, 20])],
                              cwd=tmp_path_factory.mktemp(name),
                              env={**screen, "PYTHONPATH": f"{compiled}:{screen['PYTHONPATH']}"},
                              capture_output=True, text=True, timeout=600)

    names = [item.callspec.params["name"] for item in request.session.items
             if "opened" in getattr(item, "fixturenames", ())]
    with ThreadPoolExecutor(3) as pool:
        yield {name: pool.submit(run, name) for name in names}


@pytest.mark.parametrize("name", WINDOWS)
def test_each_window_opens_by_itself_fits_the_screen_and_says_nothing_odd(name, opened):
    """20 seconds of each, with no file of anybody's; what is on the console is what a user expects."""
    done = opened[name].result()
    assert done.returncode == 0, done.stderr
    *said, told = [line for line in (done.stdout + done.stderr).splitlines() if not SAID.match(line)]
    assert said == []
    height, hidden, _ = json.loads(told)
    assert height <= 950 and hidden == 0


# Moves the fibre as the sliders do, and gives the error rates of the batches before and after.
DRIVE = """
import statistics
from gnuradio import blocks
from vcsel_live import vcsel_live
top = vcsel_live()
top.set_symbol_rate(1e6)
top.resize(1200, 900)
rates = {name: blocks.vector_sink_f() for name in ("adaptive", "frozen", "mlse")}
for name, sink in rates.items():
    top.connect(getattr(top, "ber_" + name), sink)
top.show()
top.start()

def show_batches(batches):
    show(lambda: min(len(sink.data()) for sink in rates.values()) >= batches, "no batches come")

def latest(name):
    return sum(rates[name].data()[-60:]) / 60

# On a busy machine the adapter gets few of the batches: what is awaited, within so many, counts.
def show_until(batches, reached):
    for _ in range(batches // 20):
        if reached():
            break
        show_batches(min(len(sink.data()) for sink in rates.values()) + 20)

def red_height():
    # The row of the plot about which the frozen network's curve is drawn.
    image = top._ber_history_win.grab().toImage()
    return statistics.median(
        y for y in range(image.height()) for x in range(100, image.width() - 150)
        if image.pixelColor(x, y) == Qt.QColor("red"))

show_batches(210)  # the plot shows the latest 201
low = red_height()
drift = len(rates["adaptive"].data())
top.set_power_first(0.14)
top.set_power_main(0.46)
top.set_power_late(0.40)
show_batches(drift + 120)
show_until(4000, lambda: latest("adaptive") < 5e-4 and latest("mlse") < 5e-4)
after = {name: latest(name) for name in rates}
show_until(400, lambda: low - red_height() > 50)  # what is drawn is drawn later
rise = low - red_height()
top.set_frozen(True)
show_until(400, lambda: not top.adaptive.queued())
show_batches(len(rates["adaptive"].data()) + 10)  # and with it the batch that the adapter had
frozen_steps = top.adaptive.steps()
show_batches(len(rates["adaptive"].data()) + 20)
print(json.dumps(dict(
    rates={name: sink.data() for name, sink in rates.items()}, drift=drift, after=after,
    rise=rise, stopped=frozen_steps == top.adaptive.steps(),
    lag=top._lag_label.text(), dropped=top._dropped_label.text())))
top.stop()
top.wait()
"""


def test_the_frozen_network_fails_on_a_moved_fibre_and_adann_comes_back(compiled, screen):
    told = run(DRIVE, None, compiled, screen)
    drift = told["drift"]

    def mean(name, start, end):
        return sum(told["rates"][name][start:end]) / (end - start)

    for name in "frozen", "adaptive", "mlse":
        assert mean(name, drift - 50, drift) < 1e-3, name
    assert 1.2e-2 < told["after"]["frozen"] < 2e-2  # 1.5e-2, of some 7000 errors
    assert told["after"]["adaptive"] < 5e-4
    assert told["after"]["mlse"] < 5e-4
    assert told["rise"] > 50  # pixels, on a screen where a decade has some 55
    assert told["stopped"]
    assert told["lag"].isdigit() and told["dropped"].isdigit()
