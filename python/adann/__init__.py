# SPDX-License-Identifier: GPL-3.0-or-later
"""AdaNN: a neural-network equalizer that keeps learning on the signal it receives."""

# GNU Radio's own types must be registered before the bindings that refer to them.
from gnuradio import gr  # noqa: F401

from . import core
from .adann_python import (
    atsc_equalizer,
    ber_counter,
    burst_equalizer,
    carrier_recovery,
    coarse_carrier,
    equalizer,
    feature_windower,
    mimo_filter,
    mlse,
    normalizer,
    soft_bits,
)
from .blocks.capture_source import capture_source
from .blocks.receiver import receiver
from .blocks.resampler import resampler
from .blocks.status_monitor import status_monitor
from .captures.statistics import record_statistics
from .links.coherent_link import coherent_link
from .links.polarization_mixer import polarization_mixer
from .links.vcsel_mmf_link import vcsel_mmf_link

__all__ = ["atsc_equalizer", "ber_counter", "burst_equalizer", "capture_source", "carrier_recovery",
           "coarse_carrier", "coherent_link", "core", "equalizer", "feature_windower", "mimo_filter", "mlse",
           "normalizer", "polarization_mixer", "receiver", "record_statistics", "resampler", "soft_bits",
           "status_monitor", "status_panel", "vcsel_mmf_link"]


def __getattr__(name):
    """The block that needs Qt, when it is asked for."""
    if name == "status_panel":
        from .blocks.status_panel import status_panel
        return status_panel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
