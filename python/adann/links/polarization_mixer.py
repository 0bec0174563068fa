# SPDX-License-Identifier: GPL-3.0-or-later
"""Mixes two polarisations of light, endlessly rotating, as a fibre does."""

from __future__ import annotations

import numpy as np
from gnuradio import analog, blocks, gr

_RANGES = {"sps": (1, 64), "angle": (-180, 180), "turning": (-0.01, 0.01), "loss": (0, 20)}


def _checked(name, value):
    low, high = _RANGES[name]
    if not low <= value <= high or (name == "sps" and value % 1):
        raise ValueError(f"{name} is {value}, allowed: {'whole numbers from ' * (name == 'sps')}{low} to {high}")
    return value


class polarization_mixer(gr.hier_block2):
    """Two complex streams in, the polarisations x and y as they are sent; two out, as they are received.

    With the angle a they become cos(a) x - sin(a) y and sin(a) x + cos(a) y; then the second one is
    attenuated. Put it after two coherent_link, one for each polarisation, with polarization=0.

    sps: samples per symbol, 1 to 64
    angle: a at the first sample, -180 to 180 degrees
    turning: growth of a, -0.01 to 0.01 rad a symbol; 3.1e-6 is 100 krad/s at 32 GBd
    loss: of the second output, 0 to 20 dB: polarisation-dependent loss after the amplifiers, so that the noise
        in the signal is attenuated with it

    `turning` and `loss` can be set while the flowgraph runs. Raises ValueError, with name, value and range, for a
    parameter out of range.
    """

    def __init__(self, sps: int = 4, angle: float = 20.0, turning: float = 1e-6, loss: float = 0.0) -> None:
        super().__init__("polarization_mixer", gr.io_signature(2, 2, gr.sizeof_gr_complex),
                         gr.io_signature(2, 2, gr.sizeof_gr_complex))
        self._sps = int(_checked("sps", sps))
        # Of circular polarisations, x + jy and x - jy, a rotation is a phase of each.
        start = np.exp(1j * np.radians(_checked("angle", angle)) * np.array([1, -1])) / np.sqrt(2)
        circular = blocks.multiply_matrix_cc((start[:, None] * [[1, 1j], [1, -1j]]).tolist())
        self._phases = [analog.sig_source_c(1, analog.GR_COS_WAVE, 0, 1) for _ in "LR"]
        self._linear = blocks.multiply_matrix_cc([[1, 0], [0, 1]])
        self.set_turning(turning)
        self.set_loss(loss)
        for port, phase in enumerate(self._phases):
            turned = blocks.multiply_cc()
            self.connect((self, port), (circular, port), turned, (self._linear, port), (self, port))
            self.connect(phase, (turned, 1))

    def set_turning(self, turning: float) -> None:
        for sign, phase in zip((1, -1), self._phases):
            phase.set_frequency(sign * _checked("turning", turning) / (2 * np.pi * self._sps))

    def set_loss(self, loss: float) -> None:
        left = 10 ** (-_checked("loss", loss) / 20)
        self._linear.set_A((np.array([[1, 1], [-1j * left, 1j * left]]) / np.sqrt(2)).tolist())
