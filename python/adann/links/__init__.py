# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated links whose drift can be changed while they run."""
