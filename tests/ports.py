# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of this machine."""

import socket


def free_port() -> int:
    """One that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
