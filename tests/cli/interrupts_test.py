# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C and SIGTERM: exit status 130, what is done is written whole, and no process is left."""

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import time

import click
import numpy as np
import pytest
import zmq
from gnuradio.adann.cli import _Program, interrupts
from pam4_sets import MODEL, drifted_capture
from said import but_progress

SYMBOLS = 2**16  # of a capture
INSTANTS = 4  # of each command, on a pipe and on a terminal


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    return drifted_capture(tmp_path_factory.mktemp("capture"), SYMBOLS)


def equalize(capture, times, folder):
    return ["adann", "equalize", "--model", MODEL, *times * ["--capture", capture],
            *times * ["--reference", f"{capture}.u8"], "-o", folder / "out.u8", "--report",
            folder / "report.json", "--plot", folder / "ber.png"]


def start(command, stderr=subprocess.PIPE):
    """A pytest in the background of a shell would have its children ignore SIGINT."""
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=stderr,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))


def check_results(folder, complete=None):
    """All of the files or none, each whole. Returns the symbols decided."""
    assert not [path for path in folder.iterdir() if path.name.startswith(".adann-") or path.suffix == ".part"]
    report = json.loads((folder / "report.json").read_text())
    assert complete is None or report["complete"] == complete
    symbols = sum(entry["symbols"] for entry in report["captures"])
    assert symbols == (folder / "out.u8").stat().st_size
    assert symbols == sum(row["symbols"] for row in report["blocks"])
    return symbols


def begun(command):
    """A program that has decided something, as --monitor tells: neither starting nor, of many files, done."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
        subscriber.reconnect_ivl = 5  # ms
        subscriber.connect(f"tcp://127.0.0.1:{port}")
        subscriber.subscribe("")
        subscriber.rcvtimeo = 600_000
        program = start([*command, "--monitor", port])
        while subscriber.recv_json().get("symbols", 0) < 8192:
            pass
    return program


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_decided_is_written(capture, tmp_path, number):
    times = 64
    program = begun(equalize(capture, times, tmp_path))
    program.send_signal(number)
    program.send_signal(number)  # as timeout(1) does
    said = program.communicate(timeout=600)[1]
    assert (program.returncode, but_progress(said.decode())) == (interrupts.STATUS, "adann: interrupted\n")
    assert 8192 <= check_results(tmp_path, False) < times * SYMBOLS
    assert (tmp_path / "ber.png").stat().st_size > 1000
    first = json.loads((tmp_path / "report.json").read_text())["captures"][0]
    assert 0 < first["ber"] < 1e-2


def commands(capture, folder):
    yield equalize(capture, 6, folder)
    yield ["adann", "mlse", "--constellation", "pam4", "--sps", 4, "--capture", capture, "--reference",
           f"{capture}.u8", "-o", folder / "out.u8", "--report", folder / "report.json"]
    yield ["adann", "train", "--capture", capture, "--reference", f"{capture}.u8", "--constellation",
           "pam4", "--sps", 4, "--half-window", 5, "--epochs", 20, "-o", folder / "model.safetensors"]
    yield ["adann", "simulate", "vcsel", "--symbols", 2**16, "-o", folder]
    yield ["adann", "resample", capture, "--sample-rate", 112e9, "--baud", 28e9 * (1 + 1e-5), "--sps", 4, "-o",
           folder / "out"]
    yield ["adann", "try", capture, "--baud", 28e9, "--constellation", "pam4", "--symbols", 2**14, "-o", folder / "try"]


@pytest.fixture(scope="module")
def durations():
    """Of commands that end by themselves, by their number: filled by the first test that needs one."""
    return {}


@pytest.mark.parametrize("command", range(6), ids=["equalize", "mlse", "train", "simulate", "resample", "try"])
@pytest.mark.parametrize("terminal", [False, True])
def test_an_interrupt_at_any_instant_is_answered(capture, tmp_path, command, terminal, durations):
    """At random instants between the program's start and its end; whether one comes in time to be
    noticed is the machine's affair."""
    arguments = list(commands(capture, tmp_path))[command]
    if command not in durations:
        begin = time.monotonic()
        assert start(arguments).wait(timeout=600) == 0
        durations[command] = time.monotonic() - begin
    random = np.random.default_rng([command, terminal])
    for instant in durations[command] * random.random(INSTANTS):
        shutil.rmtree(tmp_path / "try", ignore_errors=True)
        for path in tmp_path.iterdir():
            path.unlink()
        master, other = pty.openpty()
        program = start(arguments, other if terminal else subprocess.PIPE)
        os.close(other)
        time.sleep(instant)
        program.send_signal(signal.SIGINT)
        said = read_all(master) if terminal else program.communicate(timeout=600)[1]
        os.close(master)
        if program.wait(timeout=600) == -signal.SIGINT or b"init_import_site" in said:
            continue  # Python itself was starting: it had not come to the program yet
        assert program.returncode in (0, interrupts.STATUS), (instant, said)
        assert b"Traceback" not in said and b"ignored" not in said, (instant, said)
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".adann-") or path.suffix == ".part"]
        if (tmp_path / "report.json").exists():
            check_results(tmp_path)
        data = [path for path in tmp_path.glob("*.sigmf-*")]
        assert len(data) % 2 == 0
        if (tmp_path / "try").exists():
            assert sorted(path.name for path in (tmp_path / "try").iterdir()) == [
                "capture.sigmf-data", "capture.sigmf-meta", "model.safetensors", "report.json", "report.pdf", "try.png"]


def read_all(master):
    """What a program wrote to its terminal, until it ends."""
    said = b""
    while True:
        try:
            said += os.read(master, 65536)
        except OSError:  # EIO: nobody has it open any more
            return said


def test_an_interrupt_while_python_loads_modules_is_answered(tmp_path):
    """The first that the program asks for, of those that are files, sends it."""
    (tmp_path / "signal.py").write_text("import os, _signal\nos.kill(os.getpid(), _signal.SIGINT)\n")
    (tmp_path / "enum.py").write_text((tmp_path / "signal.py").read_text())
    begun = subprocess.run(["adann", "--help"], capture_output=True, text=True, timeout=100, env={
        **os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert (begun.returncode, begun.stdout, begun.stderr) == (130, "", "")


def test_a_keyboard_interrupt_that_was_lost_is_raised_again():
    """As in a destructor, where Python reports an exception and goes on."""
    class Destroyed:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)

    before = signal.getsignal(signal.SIGINT)
    with interrupts.answered():
        Destroyed()
        assert interrupts.come()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    assert signal.getsignal(signal.SIGINT) == before


def test_a_second_interrupt_ends_the_wait_for_a_reader(capture, tmp_path):
    """Of a FIFO that nobody reads: the first one ends the work, whose result cannot be written."""
    os.mkfifo(tmp_path / "fifo")
    captures = 64 * ["--capture", capture]
    program = begun(["adann", "equalize", "--model", MODEL, *captures, "-o", tmp_path / "fifo"])
    while program.poll() is None:
        program.send_signal(signal.SIGINT)
        time.sleep(1.5 * interrupts.SAME)  # two that come sooner count as one
    said = program.communicate()[1]
    # A third one that comes while Python ends, which takes longer than that on a busy machine, finds no handler.
    assert program.returncode in (interrupts.STATUS, -signal.SIGINT)
    assert but_progress(said.decode()) == "adann: interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_a_held_interrupt_comes_at_the_end():
    done = False
    with interrupts.answered(), pytest.raises(KeyboardInterrupt):
        with interrupts.held():
            os.kill(os.getpid(), signal.SIGINT)
            interrupts.check()
            done = interrupts.come()
    assert done


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_at_each_line_around_a_command_ends_with_its_status(number, capsys):
    """A signal comes at one line after another of what begins and ends a command."""
    program = _Program(commands=[click.Command("nothing", callback=lambda: None)])
    files = interrupts.__file__, sys.modules[_Program.__module__].__file__
    statuses = []
    for line in range(1000):
        left = line

        def send(frame, event, argument):
            nonlocal left
            if frame.f_code.co_filename in files and event == "line":
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), number)
            return send

        tracing, handler = sys.gettrace(), signal.getsignal(number)
        signal.signal(number, lambda *_: sys.exit(interrupts.STATUS))  # as the program has it before and after
        sys.settrace(send)
        try:
            program.main(["nothing"])
        except SystemExit as end:
            statuses.append(end.code)
        finally:
            sys.settrace(tracing)
            signal.signal(number, handler)
        if left > 0:
            break
    assert 10 < line < 999
    assert statuses == [0] + (line - 1) * [interrupts.STATUS] + [0]
    assert set(capsys.readouterr().err.splitlines()) == {"adann: interrupted"}
