# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C and SIGTERM in every command: what is done is kept, and the exit status is 130; a second one ends at once."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator

STATUS = 130
_SIGNALS = signal.SIGINT, signal.SIGTERM
SAME = 1.0  # s: what comes so soon after one is the same one; timeout(1), for example, sends two


class _State:
    """The handler runs between any two instructions of the main thread."""

    come = False           # since the program began
    last = -float("inf")   # when one that was not the same came
    held = 0               # above 0, the first one is noted and not raised


def come() -> bool:
    """Whether the program has been asked to end."""
    return _State.come


def check() -> None:
    """Raises KeyboardInterrupt if it has: one raised in a destructor or a callback was lost."""
    if _State.come and not _State.held:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, the first signal is noted, for come() to return, and raised at the end as KeyboardInterrupt; the second
    is raised at once.

    For what is best not cut in two: a running flowgraph, files that belong together. What it waits for, as the reader
    of a FIFO, may never come.
    """
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
    check()


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """Inside, a signal becomes a KeyboardInterrupt; those that the caller ignores stay ignored."""
    _State.come, _State.last = False, -float("inf")
    if threading.current_thread() is not threading.main_thread():
        yield  # Python gives signals to the main thread only
        return
    unraisable = sys.unraisablehook
    before = {number: signal.signal(number, _note) for number in _SIGNALS
              if signal.getsignal(number) not in (signal.SIG_IGN, None)}
    sys.unraisablehook = lambda lost: (
        None if lost.exc_type is KeyboardInterrupt else unraisable(lost))
    try:
        yield
    finally:
        sys.unraisablehook = unraisable
        for number, handler in before.items():
            signal.signal(number, handler)


def _note(number: int, frame: object) -> None:
    first, _State.come = not _State.come, True
    now = time.monotonic()
    if now - _State.last > SAME:
        _State.last = now
        if not (first and _State.held):
            raise KeyboardInterrupt
