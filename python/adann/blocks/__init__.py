# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks in Python: those that only wire blocks of GNU Radio together, and the status monitor."""
