# SPDX-License-Identifier: GPL-3.0-or-later
"""What `adann equalize` shows while it runs: a live table, and JSON for other programs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .terminal import ProgressLines

if TYPE_CHECKING:
    from ..blocks.status_monitor import StatusPublisher
    from ..offline.evaluate import RunningErrors

REPORT_INTERVAL = 0.5  # s between two `progress` messages


class Watch:
    """Shows and publishes the run of one equalizer; both are optional.

    show: draws the rows of a table, {name: value}; None: nothing is shown.
    publisher: a StatusPublisher or None. total: symbols to come. block: symbols of one block.
    errors: an evaluate.RunningErrors or None.
    """

    def __init__(self, show: Callable[[dict], None] | None, publisher: StatusPublisher | None,
                 total: int, block: int, errors: RunningErrors | None) -> None:
        self._show, self._publisher, self._errors = show, publisher, errors
        self._total, self._block = total, block
        self._lock = threading.Lock()
        self._status: dict = {}
        self._started, self._reported = time.monotonic(), -REPORT_INTERVAL
        #: Whether anyone wants to hear of status messages.
        self.wanted = bool(show or publisher)
        self._lines = None if show else ProgressLines("equalizing")

    def status(self, status: dict) -> None:
        """A status dictionary of the equalizer, in any thread."""
        if self._publisher:
            self._publisher.publish(status)
        with self._lock:
            self._status.update(status)

    def progress(self, labels: npt.NDArray[np.uint8]) -> None:
        """The labels decided so far."""
        seconds = time.monotonic() - self._started
        if self._lines:
            self._lines(len(labels), self._total)
        if not self.wanted:
            return
        told: dict[str, Any] = {"symbols": len(labels), "total": self._total,
                                "blocks": len(labels) // self._block,
                                "symbols_per_second": len(labels) / seconds}
        if self._errors:
            told["measured_ber"] = self._errors.latest_ber()
        due = seconds - self._reported >= REPORT_INTERVAL or len(labels) == self._total
        if self._publisher and due:
            self._reported = seconds
            self._publisher.publish({"event": "progress", **told})
        if self._show:
            with self._lock:
                self._show({**told, **self._status})


@contextlib.contextmanager
def watch(total: int, block: int, errors: RunningErrors | None = None,
          port: int | None = None) -> Iterator[Watch]:
    """Yield a Watch: a live table on stderr if that is a terminal, JSON over ZeroMQ PUB on `port`
    of this machine if it is given. Raises ValueError if the port is not free."""
    from rich.console import Console
    from rich.live import Live

    publisher = None
    if port:
        from ..blocks.status_monitor import StatusPublisher
        publisher = StatusPublisher(f"tcp://127.0.0.1:{port}")
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Watch(None, publisher, total, block, errors)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        def show(rows: dict) -> None:
            live.update(_table(rows), refresh=True)
        yield Watch(show, publisher, total, block, errors)


def _table(rows: Any) -> Any:
    from rich.progress_bar import ProgressBar
    from rich.table import Column, Table

    table = Table(Column("equalizing", no_wrap=True), Column(justify="right", min_width=24))
    rows = dict(rows)
    done, total = rows.pop("symbols"), rows.pop("total")
    table.add_row("symbols", f"{done:,} of {total:,}")
    table.add_row("", ProgressBar(total=total, completed=done, width=24))
    table.add_row("Msymbols/s", f"{rows.pop('symbols_per_second') / 1e6:.2f}")
    rows.pop("event", None)
    for name, value in rows.items():
        shown = "–" if value is None else f"{value:.3g}" if isinstance(value, float) else (
            f"{value:,}" if type(value) is int else str(value) or "–")
        table.add_row(name.replace("_", " "), shown)
    return table
