# SPDX-License-Identifier: GPL-3.0-or-later
"""What `adann equalize` tells while it runs: on a terminal, to a subscriber, and to neither."""

import json
import os
import pathlib
import pty
import re
import socket
import subprocess

import pytest
import zmq
from gnuradio.adann import core
from pam4_sets import MODEL, adann, drifted_capture
from ports import free_port
from said import but_progress

SYMBOLS = 2**18  # of a capture
CAPTURES = 8     # long enough to be heard


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    capture = drifted_capture(tmp_path_factory.mktemp("capture"), SYMBOLS)
    return ["adann", "equalize", "--model", str(MODEL),
            *CAPTURES * ["--capture", str(capture)],
            *CAPTURES * ["--reference", f"{capture}.u8"],
            "--report", str(capture.parent / "report.json")]


def final_ber(command):
    report = json.loads(pathlib.Path(command[-1]).read_text())
    return report["captures"][-1]["final_ber"]


def test_a_subscriber_hears_steps_and_progress(command):
    port = free_port()
    with zmq.Context() as context, context.socket(zmq.SUB) as subscriber:
        subscriber.reconnect_ivl = 5  # ms: it waits for the program
        subscriber.connect(f"tcp://127.0.0.1:{port}")
        subscriber.subscribe("")
        subscriber.rcvtimeo = 600_000
        program = subprocess.Popen([*command, "--monitor", str(port)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        messages = []
        while not messages or messages[-1].get("symbols") != CAPTURES * SYMBOLS:
            messages.append(subscriber.recv_json())
        assert but_progress(program.communicate(timeout=600)[1]) == "" and program.returncode == 0
    steps = [message for message in messages if message["event"] == "step"]
    assert steps and {"loss", "confidence", "dropped", "rejected", "queued"} <= set(steps[-1])
    progress = messages[-1]
    assert progress["event"] == "progress" and progress["total"] == CAPTURES * SYMBOLS
    assert progress["blocks"] == CAPTURES * SYMBOLS // 8192 and progress["symbols_per_second"] > 0
    assert progress["measured_ber"] == pytest.approx(final_ber(command), rel=0.3)


def test_a_terminal_shows_a_live_table(command):
    leader, follower = pty.openpty()
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=follower,
                               env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 65536):
            shown += part
    except OSError:
        pass  # its end, to Linux
    os.close(leader)
    assert program.wait(timeout=600) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    values = dict(re.findall(r"│ (\w[\w /]*?) +│ +(\S[^│]*?) +│", text))
    assert values["symbols"] == f"{CAPTURES * SYMBOLS:,} of {CAPTURES * SYMBOLS:,}"
    assert values["blocks"] == f"{CAPTURES * SYMBOLS // 8192:,}"
    assert float(values["measured ber"]) == pytest.approx(final_ber(command), rel=0.3)
    assert 0.9 < float(values["confidence"]) <= 1
    assert values["rejected"] == "0" and "dropped" in values and float(values["Msymbols/s"]) > 0
    assert values["trustworthy"] in ("True", "False")
    assert (values["untrusted"] == "–") == (values["trustworthy"] == "True")


def test_why_the_estimate_is_not_trusted_is_in_the_report_and_in_a_line(tmp_path):
    model = core.load_model(str(MODEL))
    model.calibrated = False
    core.save_model(str(tmp_path / "model"), model)
    said = {}
    for path in MODEL, tmp_path / "model":
        result = adann("equalize", "--model", path, "--capture", drifted_capture(tmp_path, 2**15), "--mode", "lockstep",
                       "--report", tmp_path / "report.json")
        assert result.exit_code == 0, result.stderr
        said[path] = re.search(r"estimated without labels: (.*)", result.stdout)[1]
        estimated = json.loads((tmp_path / "report.json").read_text())["estimated_ber"]
        assert estimated["trustworthy"] == (path == MODEL)
        assert estimated["untrusted"] == ("" if path == MODEL else "model not calibrated")
    assert said[MODEL].endswith(")")
    assert said[tmp_path / "model"].endswith("), not trustworthy: model not calibrated")


def test_what_is_no_terminal_stays_quiet(command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, but_progress(done.stderr)) == (0, "")


def test_a_port_in_use_is_one_line(command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([*command, "--monitor", str(port)], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"adann: address is 'tcp://127.0.0.1:{port}': Address already")
