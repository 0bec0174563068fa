# SPDX-License-Identifier: GPL-3.0-or-later
"""The Qt panel, on a screen that is not there."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from PyQt5 import QtCore, QtGui, QtWidgets

STEP = {"event": "step", "loss": 0.1, "confidence": 0.9, "network": "adaptive", "refined": True, "step": 9,
        "updates": 8, "dropped": 3, "rejected": 1, "rollbacks": 0, "queued": 2, "ber": 3e-4, "ber_low": 1e-4,
        "ber_high": 6e-4, "trustworthy": True, "untrusted": "", "tracking": "following", "memory": 512,
        "residual": -17.3, "filter_resets": 0, "frequency": 2e-6, "mer": 17.3, "evm": 0.1365}
UNTRUSTED = {"trustworthy": False, "untrusted": "labels not equiprobable"}
BATCH = {"batch": 3, "ber": 2e-3, "symbols": 8192}  # of a BER counter


@pytest.fixture(scope="module")
def application():
    yield QtWidgets.QApplication.instance() or QtWidgets.QApplication([])


def picture(panel):
    image = panel.widget.grab().toImage().convertToFormat(4)  # RGB32
    return np.frombuffer(image.constBits().asstring(image.byteCount()), np.uint8).copy()


def test_it_shows_what_an_equalizer_tells(application):
    panel = adann.status_panel("Here", history=60)
    panel.widget.resize(700, 260)
    empty = picture(panel)
    panel.widget.told.emit(STEP)
    assert panel.widget.text("estimated BER") == "3.0e-04"
    assert panel.widget.text("95 % interval") == "1.0e-04 to 6.0e-04"
    assert panel.widget.text("network in use") == "adaptive"
    assert panel.widget.text("decisions") == "refined"
    assert panel.widget.text("MER") == "17.3 dB"
    assert panel.widget.text("EVM") == "13.7 %"
    assert panel.widget.text("front filter") == "following, memory 512 symbols"
    assert panel.widget.text("trained") == "8 batches" and panel.widget.text("dropped") == "3 batches"
    assert not np.array_equal(picture(panel), empty)
    assert panel.widget.text("not trusted") == "–"
    panel.widget.told.emit({**STEP, **UNTRUSTED, "event": "rollback", "detail": "why"})
    assert panel.widget.text("estimated BER") == "at least 3e-04"
    assert panel.widget.text("not trusted") == "labels not equiprobable"
    assert panel.widget.text("95 % interval") == "–"
    assert panel.widget.text("latest event") == "rollback why"
    panel.widget.told.emit({**STEP, "packets": 12, "packet_ber": 1.3e-3})
    assert panel.widget.text("not trusted") == "–"
    assert panel.widget.text("counted BER") == "1.3e-03 of 12 packets"
    panel.widget.told.emit({"event": "start", "detail": "a stage", "network": "linear"})
    assert panel.widget.text("network in use") == "linear"
    panel.widget.told.emit({"event": "rollback", "detail": "over from the weights 'offline'", "network": "offline"})
    assert panel.widget.text("network in use") == "initial"  # nobody who starts with nothing knows of a file
    assert panel.widget.text("latest event") == "rollback over from the weights 'initial'"


@pytest.mark.parametrize("counter", [False, True])
def test_its_size_is_the_same_whatever_it_tells(application, counter):
    """What lies below it moves while somebody drags a slider."""
    panel = adann.status_panel("Here")
    if counter:
        panel.widget.told.emit({**BATCH, "gmi": 1.87654, "ngmi": 0.93827, "code_rate": "9/10"})
    panel.widget.show()
    application.processEvents()
    panel.widget.told.emit(STEP)
    application.processEvents()
    narrow, sizes = panel.widget.minimumSizeHint().width(), set()
    assert narrow < 950
    for width in narrow, narrow + 300:
        for event in ("start", "x " * 300), ("error", "two\nlines"), ("reset", ""), ("step", ""):
            why = {"trustworthy": False, "untrusted": "x " * 30} if event[0] == "step" else {}
            panel.widget.told.emit({**STEP, **why, "event": event[0], "detail": event[1]})
            panel.widget.resize(width, 10)
            application.processEvents()
            sizes.add((panel.widget.sizeHint().height(), panel.widget.height(), panel.widget.sizeHint().width()))
            assert panel.widget.width() == width
    assert len(sizes) == 1


def test_the_words_of_events_do_not_overlap(application, monkeypatch):
    panel = adann.status_panel("Here", history=60)
    panel.widget.resize(700, 260)
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    for event in ["start"] * 3 + ["rollback"] * 4:
        panel.widget.told.emit({"event": event})
        now[0] += 1
    drawn = []
    plain = QtGui.QPainter.drawText

    def draw(painter, *arguments):
        if isinstance(arguments[0], QtCore.QPointF):
            width = painter.fontMetrics().horizontalAdvance(arguments[1])
            drawn.append((arguments[0].x(), arguments[0].x() + width, arguments[1]))
        return plain(painter, *arguments)

    monkeypatch.setattr("gnuradio.adann.blocks.status_panel.QtGui.QPainter.drawText", draw)
    picture(panel)
    drawn.sort()
    assert drawn and drawn[-1][2] == "rollback" and len(drawn) < 7
    assert all(left[1] < right[0] for left, right in zip(drawn, drawn[1:]))
    assert drawn[-1][1] <= panel.widget.width()


def test_it_shows_what_a_ber_counter_tells(application):
    panel = adann.status_panel()
    panel.widget.show()

    def shown(name):
        return any(label.text() == name and label.isVisible() for label in panel.widget.findChildren(QtWidgets.QLabel))

    panel.widget.told.emit({"locked": True, "delay": 3})
    assert not any(shown(name) for name in ("counted BER", "GMI", "NGMI", "code rate"))
    panel.widget.told.emit(BATCH)
    assert shown("counted BER") and panel.widget.text("counted BER") == "2.0e-03" and not shown("GMI")
    panel.widget.told.emit({**BATCH, "gmi": 1.87654, "ngmi": 0.93827, "code_rate": "9/10"})
    assert panel.widget.text("GMI") == "1.877 bits a symbol" and panel.widget.text("NGMI") == "0.938"
    assert shown("code rate") and panel.widget.text("code rate") == "9/10"
    panel.widget.told.emit({**BATCH, "gmi": 0.5, "ngmi": 0.25, "code_rate": ""})
    assert panel.widget.text("code rate") == "–"
    assert panel.widget.text("estimated BER") == "–"  # that is the equalizer's


def test_a_running_equalizer_reaches_it(application):
    panel = adann.status_panel()
    equalizer = adann.equalizer(constellation="qpsk", sps=1, half_window=1, mode="lockstep")
    random = np.random.default_rng(1)
    points = random.choice([-1, 1], (40_000, 2)) + 0.1 * random.standard_normal((40_000, 2))
    samples = (points / 2**0.5).astype(np.float32).view(np.complex64)[:, 0]
    top = gr.top_block()
    top.connect(blocks.vector_source_c(samples), equalizer, blocks.null_sink(1))
    top.msg_connect(equalizer, "status", panel, "status")
    top.run()
    application.processEvents()
    assert panel.widget.text("network in use") in ("initial", "adaptive", "last good")


def test_a_history_out_of_range_is_refused(application):
    with pytest.raises(ValueError, match="history is 0, allowed: 1 to 86400 s"):
        adann.status_panel(history=0)
