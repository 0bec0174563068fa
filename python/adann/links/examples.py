# SPDX-License-Identifier: GPL-3.0-or-later
"""What the examples begin with: the models next to them, and recordings that they make at their first start."""

from __future__ import annotations

from pathlib import Path

from ..captures.files import write_capture
from .packet_radio import ECHO, SPS, SYMBOL_RATE, packets
from .simulation import random_labels, simulate_vcsel


def model(path: str) -> str:
    """The path or, where nothing is there, that of the same name next to the examples.

    GNU Radio Companion runs a flowgraph whose folder it may not write to in the folder of temporary files.
    """
    if path and not Path(path).exists():
        for above in Path(__file__).resolve().parents:
            for folder in above / "examples", above / "share/gnuradio/examples/adann":
                if (folder / path).is_file():
                    return str(folder / path)
    return path


def make_packets(path: str) -> None:
    """300 packets over a radio link with an echo, as a capture of this name; one that is there stays."""
    if not _is_there(path):
        write_capture(path, packets(300, 1, ECHO)[0], SPS * SYMBOL_RATE, f"300 frames, BPSK, {SYMBOL_RATE} Bd, echo")


def make_fibre(path: str) -> None:
    """PAM4 at 28 GBd over the simulated fibre after it was moved, likewise, and its labels as .u8 next to it."""
    if not _is_there(path):
        labels = random_labels(2**18, 3)
        labels.tofile(Path(path).with_suffix(".u8"))
        write_capture(path, simulate_vcsel(labels, "reference", seed=4), 112e9, "PAM4 over a fibre that was moved")


def _is_there(path: str) -> bool:
    return Path(path).with_suffix(".sigmf-meta").exists()
