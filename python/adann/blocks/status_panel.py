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
_BETWEEN = 10       # pixels: a name and its value
_BEFORE = "–"
_NETWORKS = {"offline": "initial"}  # as loaded, or as the start made it
_COUNTED = {"counted BER": ("ber", "{:.1e}"), "GMI": ("gmi", "{:.3f} bits a symbol"), "NGMI": ("ngmi", "{:.3f}"),
            "code rate": ("code_rate", "{}")}  # of a BER counter's messages
_COLUMNS = (("estimated BER", "95 % interval", "counted BER", "network in use", "decisions", "MER", "EVM"),
            ("not trusted", "front filter", "carrier", "trained", "dropped", "lag", "GMI", "NGMI", "code rate"))


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
        self._fields: dict[str, QtWidgets.QLabel] = {}
        self._forms: dict[str, QtWidgets.QFormLayout] = {}  # that each field is in
        fields = QtWidgets.QHBoxLayout()
        fields.setSpacing(2 * _BETWEEN)
        for names in _COLUMNS:
            form = QtWidgets.QFormLayout()
            form.setVerticalSpacing(2)
            form.setHorizontalSpacing(_BETWEEN)
            for name in names:
                self._fields[name] = _Line() if name == "not trusted" else QtWidgets.QLabel(_BEFORE)
                self._fields[name].setMinimumWidth(160)
                self._forms[name] = form
                form.addRow(name, self._fields[name])
            fields.addLayout(form)
        for name in _COUNTED:  # until a BER counter sends them
            self._show_row(name, False)
        # Of one line, whatever it shows, or all that lies below would move.
        self._fields["latest event"] = _Line()
        event = QtWidgets.QHBoxLayout()
        event.setSpacing(_BETWEEN)
        event.addWidget(QtWidgets.QLabel("latest event"))
        event.addWidget(self._fields["latest event"], 1)
        layout = QtWidgets.QGridLayout(self)
        if title:
            layout.addWidget(QtWidgets.QLabel(f"<b>{title}</b>"), 0, 0)
        layout.addLayout(fields, 1, 0, QtCore.Qt.AlignTop)
        layout.setRowStretch(1, 1)
        layout.addWidget(self._plot, 0, 1, 2, 1)
        layout.addLayout(event, 2, 0, 1, 2)
        layout.setColumnStretch(1, 1)
        layout.setVerticalSpacing(2)
        self.told.connect(self._show)

    def text(self, field: str) -> str:
        """What a field shows."""
        return self._fields[field].text()

    def _show_row(self, name: str, shown: bool) -> None:
        self._fields[name].setVisible(shown)
        self._forms[name].labelForField(self._fields[name]).setVisible(shown)

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
            self._set("estimated BER", f"{rate:.1e}" if sure else f"at least {rate:.0e}")
            self._set("not trusted", status["untrusted"] or _BEFORE)
            self._set("95 % interval", f"{low:.1e} to {high:.1e}" if sure else _BEFORE)
        if "packet_ber" in status:
            self._show_row("counted BER", True)
            self._set("counted BER", f"{status['packet_ber']:.1e} of {status['packets']} packets")
        network = status.get("network", _BEFORE)
        self._set("network in use", _NETWORKS.get(network, network))
        if "refined" in status:
            self._set("decisions", "refined" if status["refined"] else "the network's")
        if "memory" in status:
            known = "mer" in status
            self._set("MER", f"{status['mer']:.1f} dB" if known else _BEFORE)
            self._set("EVM", f"{100 * status['evm']:.1f} %" if known else _BEFORE)
            doing = f"memory {status['memory']} symbols" if status["memory"] else "does nothing"
            self._set("front filter", f"{status['tracking']}, {doing}")
            if "frequency" in status:  # of complex samples' filters; television's has none
                self._set("carrier", f"{status['frequency']:.1e} cycles/symbol")
        self._set("trained", f"{status.get('updates', 0)} batches")
        self._set("dropped", f"{status.get('dropped', 0)} batches")
        self._set("lag", f"{status.get('queued', 0)} batches")
        if status.get("event") not in ("step", None):
            self._marks.append((now, status["event"]))
            detail = status.get("detail", "")
            for name, shown in _NETWORKS.items():
                detail = detail.replace(f"weights '{name}'", f"weights '{shown}'")
            self._set("latest event", f"{status['event']} {detail}")
        while self._estimates and self._estimates[0][0] < now - self._history:
            self._estimates.popleft()
        while self._marks and self._marks[0][0] < now - self._history:
            self._marks.popleft()
        self._plot.update()

    def _set(self, field, text):
        self._fields[field].setText(str(text))


class _Line(QtWidgets.QLabel):
    """One line of text, cut where it does not fit; all of it where the mouse rests on it."""

    def __init__(self) -> None:
        super().__init__(_BEFORE)
        self.setTextFormat(QtCore.Qt.PlainText)
        self.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)

    def setText(self, text):
        super().setText(text.replace("\n", " "))
        self.setToolTip(text)

    def paintEvent(self, _event):
        shown = self.fontMetrics().elidedText(self.text(), QtCore.Qt.ElideRight, self.width())
        QtGui.QPainter(self).drawText(self.rect(), QtCore.Qt.AlignLeft | QtCore.Qt.AlignVCenter, shown)


class _Plot(QtWidgets.QWidget):
    """Draws what a StatusWidget keeps, the latest on the right."""

    def __init__(self, of: StatusWidget) -> None:
        super().__init__()
        self._of = of
        self.setMinimumSize(300, 130)

    def paintEvent(self, _event):
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.Antialiasing)
        left, margin = _MARGIN
        area = QtCore.QRectF(left, margin, self.width() - left - margin, self.height() - 2 * margin)
        painter.fillRect(area, self.palette().base())
        for power in range(_FLOOR, 1):
            height = self._y(10.0**power, area)
            painter.setPen(QtGui.QPen(QtCore.Qt.lightGray, 1))
            painter.drawLine(QtCore.QPointF(area.left(), height), QtCore.QPointF(area.right(), height))
            if power % 2 and area.height() < 16 * -_FLOOR:
                continue
            painter.setPen(self.palette().text().color())
            painter.drawText(QtCore.QRectF(0, height - 8, left - 4, 16),
                             QtCore.Qt.AlignRight | QtCore.Qt.AlignVCenter, f"1e{power}")
        now = time.monotonic()
        free = area.right()  # to the left of the text drawn last: the latest events have priority
        for moment, event in reversed(self._of._marks):
            x = self._x(moment, now, area)
            painter.setPen(QtGui.QPen(QtCore.Qt.darkYellow, 1, QtCore.Qt.DashLine))
            painter.drawLine(QtCore.QPointF(x, area.top()), QtCore.QPointF(x, area.bottom()))
            width = painter.fontMetrics().horizontalAdvance(event) + 4
            at = min(x + 2, area.right() - width)
            if at + width <= free:
                painter.drawText(QtCore.QPointF(at, area.top() + 12), event)
                free = at
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
    """A Qt panel of what an equalizer knows about itself: its own estimate of the bit error rate and why that is not
    trusted, which network decides, MER and EVM, front filter, carrier, how far training lags.

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
