# SPDX-License-Identifier: GPL-3.0-or-later
"""AdaNN: a neural-network equalizer that keeps learning on the signal it receives."""

# GNU Radio's own types must be registered before the bindings that refer to them.
from gnuradio import gr  # noqa: F401

from . import core
from .adann_python import ber_counter, equalizer, feature_windower, mlse, normalizer, soft_bits
from .blocks.capture_source import capture_source
from .blocks.receiver import receiver
from .blocks.resampler import resampler
from .blocks.status_monitor import status_monitor
from .captures.statistics import record_statistics
from .links.coherent_link import coherent_link
from .links.vcsel_mmf_link import vcsel_mmf_link

__all__ = ["ber_counter", "capture_source", "coherent_link", "core", "equalizer",
           "feature_windower", "mlse", "normalizer", "receiver", "record_statistics", "resampler",
           "soft_bits", "status_monitor", "vcsel_mmf_link"]
