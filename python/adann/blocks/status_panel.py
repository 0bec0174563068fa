# SPDX-License-Identifier: GPL-3.0-or-later
"""What an equalizer knows about itself, in a Qt window."""

from __future__ import annotations

import math
import time
from collections import deque

from PyQt5 import QtCore, QtGui, QtWidgets

from .status_monitor import status_listener

_FLOOR = -9         # of the plot: log10 of a bit error rate
_MARGIN = 46, 8     # pixels: left of the plot for its numbers; on the other sides
_BEFORE = "–"
_COUNTED = {"counted BER": ("ber", "{:.1e}"), "GMI": ("gmi", "{:.3f} bits a symbol"), "NGMI": ("ngmi", "{:.3f}"),
            "code rate": ("code_rate", "{}")}  # of a BER counter's messages


class StatusWidget(QtWidgets.QWidget):
    """The bit error rate estimated without labels against time, and the latest state next to it.

    title: text above, may be empty. history: seconds that the plot shows.
    """

    told = QtCore.pyqtSignal(dict)  # a status message, from any thread

    def __init__(self, title: str, history: float) -> None:
        super().__init__()
        self._history = history
        self._estimates: deque[tuple[float, float, float, float, bool]] = deque()
        self._marks: deque[tuple[float, str]] = deque()
        self._plot = _Plot(self)
        self._fields = {}
        form = QtWidgets.QFormLayout()
        if title:
            form.addRow(QtWidgets.QLabel(f"<b>{title}</b>"))
        for name in ("estimated BER", "95 % interval", "network in use", "decisions", "MER", "EVM", "front filter",
                     "carrier", "trained", "dropped", "lag", *_COUNTED, "latest event"):
            self._fields[name] = QtWidgets.QLabel(_BEFORE)
            self._fields[name].setMinimumWidth(210)
            form.addRow(name, self._fields[name])
        self._form = form
        for name in _COUNTED:  # until a BER counter tells them
            self._show_row(name, False)
        self._fields["latest event"].setWordWrap(True)
        layout = QtWidgets.QHBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(self._plot, 1)
        self.told.connect(self._show)

    def text(self, field: str) -> str:
        """What a field shows."""
        return self._fields[field].text()

    def _show_row(self, name: str, shown: bool) -> None:
        self._fields[name].setVisible(shown)
        self._form.labelForField(self._fields[name]).setVisible(shown)

    def _show(self, status: dict) -> None:
        if "event" in status:
            self._show_equalizer(status)
        elif "batch" in status:
            self._show_counter(status)

    def _show_counter(self, status: dict) -> None:
        for name, (key, form) in _COUNTED.items():
            if key in status:
                self._show_row(name, True)
                self._set(name, form.format(status[key]) or _BEFORE)

    def _show_equalizer(self, status: dict) -> None:
        now = time.monotonic()
        rate = status.get("ber", math.nan)
        if math.isfinite(rate):
            low, high = status["ber_low"], status["ber_high"]
            sure = status["trustworthy"]  # else it is too low rather than too high, and no interval is known
            self._estimates.append((now, rate, low, high, sure))
            self._set("estimated BER", f"{rate:.1e}" if sure else f"at least {rate:.0e}, not calibrated")
            self._set("95 % interval", f"{low:.1e} to {high:.1e}" if sure else _BEFORE)
        self._set("network in use", status.get("network", _BEFORE))
        if "refined" in status:
            self._set("decisions", "refined" if status["refined"] else "the network's")
        if "memory" in status:
            known = "mer" in status
            self._set("MER", f"{status['mer']:.1f} dB" if known else _BEFORE)
            self._set("EVM", f"{100 * status['evm']:.1f} %" if known else _BEFORE)
            doing = f"memory {status['memory']} symbols" if status["memory"] else "does nothing"
            self._set("front filter", f"{status['tracking']}, {doing}")
            if "frequency" in status:  # of complex samples' filters; television's has none
                self._set("carrier", f"{status['frequency']:.1e} turns a symbol")
        self._set("trained", f"{status.get('updates', 0)} batches")
        self._set("dropped", f"{status.get('dropped', 0)} batches")
        self._set("lag", f"{status.get('queued', 0)} batches")
        if status.get("event") not in ("step", None):
            self._marks.append((now, status["event"]))
            self._set("latest event", f"{status['event']} {status.get('detail', '')}")
        while self._estimates and self._estimates[0][0] < now - self._history:
            self._estimates.popleft()
        while self._marks and self._marks[0][0] < now - self._history:
            self._marks.popleft()
        self._plot.update()

    def _set(self, field, text):
        self._fields[field].setText(str(text))


class _Plot(QtWidgets.QWidget):
    """Draws what a StatusWidget keeps, the latest on the right."""

    def __init__(self, of: StatusWidget) -> None:
        super().__init__()
        self._of = of
        self.setMinimumSize(300, 180)

    def paintEvent(self, _event):  # noqa: N802 (Qt's name)
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.Antialiasing)
        left, margin = _MARGIN
        area = QtCore.QRectF(left, margin, self.width() - left - margin, self.height() - 2 * margin)
        painter.fillRect(area, self.palette().base())
        for power in range(_FLOOR, 1):
            height = self._y(10.0**power, area)
            painter.setPen(QtGui.QPen(QtCore.Qt.lightGray, 1))
            painter.drawLine(QtCore.QPointF(area.left(), height), QtCore.QPointF(area.right(), height))
            painter.setPen(self.palette().text().color())
            painter.drawText(QtCore.QRectF(0, height - 8, left - 4, 16),
                             QtCore.Qt.AlignRight | QtCore.Qt.AlignVCenter, f"1e{power}")
        now = time.monotonic()
        for moment, event in self._of._marks:
            x = self._x(moment, now, area)
            painter.setPen(QtGui.QPen(QtCore.Qt.darkYellow, 1, QtCore.Qt.DashLine))
            painter.drawLine(QtCore.QPointF(x, area.top()), QtCore.QPointF(x, area.bottom()))
            painter.drawText(QtCore.QPointF(x + 2, area.top() + 12), event)
        before = None
        for moment, rate, low, high, sure in self._of._estimates:
            x = self._x(moment, now, area)
            if sure:
                painter.setPen(QtGui.QPen(QtGui.QColor(120, 160, 220, 90), 2))
                painter.drawLine(QtCore.QPointF(x, self._y(low, area)), QtCore.QPointF(x, self._y(high, area)))
            painter.setPen(QtGui.QPen(QtCore.Qt.blue if sure else QtCore.Qt.darkGray, 2))
            here = QtCore.QPointF(x, self._y(rate, area))
            painter.drawLine(before or here, here)
            before = here

    def _x(self, moment, now, area):
        return area.right() - (now - moment) / self._of._history * area.width()

    @staticmethod
    def _y(rate, area):
        power = max(math.log10(rate) if rate > 0 else _FLOOR, _FLOOR)
        return area.top() + min(power, 0) / _FLOOR * area.height()


class status_panel(status_listener):
    """A Qt panel of what an equalizer knows about itself: its own estimate of the bit error rate, which
    network decides, MER and EVM, front filter, carrier, how far training lags.

    title: text above; history: seconds that the plot shows, 1 to 86400. Connect an equalizer's
    `status` to `status`, and put `widget` into a layout. Connect the `ber` of a BER counter to `status`
    too, and its latest batch is shown: BER, and with posteriors GMI, NGMI and the code rate whose
    limit they meet. Raises ValueError if history is out of range.
    """

    def __init__(self, title: str = "", history: float = 60) -> None:
        if not 1 <= history <= 86400:
            raise ValueError(f"history is {history}, allowed: 1 to 86400 s")
        self.widget = StatusWidget(title, history)
        super().__init__(self.widget.told.emit, "adann_status_panel")
