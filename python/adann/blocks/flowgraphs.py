# SPDX-License-Identifier: GPL-3.0-or-later
"""Flowgraphs over files, run to their end by a thread that can be interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gnuradio import gr


def run_flowgraph(top: gr.top_block, stop: Callable[[], bool] | None = None) -> None:
    """Run a flowgraph to its end, or until stop(), asked every 0.1 s, says so.

    A KeyboardInterrupt is raised, where GNU Radio's own run() keeps it to itself. On every way out the flowgraph
    has ended: the destructor of one that runs waits for its threads, and holds the interpreter that the Python
    blocks in these threads wait for.
    """
    try:
        top.start()
        waiter = threading.Thread(target=top.wait)
        waiter.start()
        while True:
            waiter.join(0.1)
            if not waiter.is_alive() or stop and stop():
                break
    finally:
        top.stop()
        top.wait()
