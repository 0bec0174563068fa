# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated links whose drift can be turned while they run."""
