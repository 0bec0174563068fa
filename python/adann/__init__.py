# SPDX-License-Identifier: GPL-3.0-or-later
"""AdaNN: a neural-network equalizer that keeps learning on the signal it receives."""

# GNU Radio's own types must be registered before the bindings that refer to them.
from gnuradio import gr  # noqa: F401

from . import core
from .adann_python import equalizer, feature_windower
from .vcsel_mmf_link import vcsel_mmf_link

__all__ = ["core", "equalizer", "feature_windower", "vcsel_mmf_link"]
