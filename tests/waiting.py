# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for what another thread does."""

import time


def wait_until(condition, seconds=300):
    """Until it is true; AssertionError after so many seconds, more than a busy machine takes."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # the flowgraph's threads have no event to wait for
