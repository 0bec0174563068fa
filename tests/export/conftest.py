# SPDX-License-Identifier: GPL-3.0-or-later
"""Links with a trained network each: PAM4, QPSK and 16QAM through echoes and a curve, in noise."""

import functools
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.offline.training import TrainingSettings, train

SPS, HALF_WINDOW = 2, 3
NOISE = {"pam4": 0.19, "qpsk": 0.3, "16qam": 0.12}


@dataclass
class Link:
    model: core.model
    constellation: core.constellation

    def record(self, symbols, seed):
        """Normalised samples and the labels sent."""
        random = np.random.default_rng(seed)
        labels = random.integers(0, self.constellation.size, symbols).astype(np.uint8)
        sent = self.constellation.points[labels] / np.sqrt(np.mean(np.abs(self.constellation.points) ** 2))
        wave = np.repeat(sent + 0.25 * np.roll(sent, 1) + 0.1 * np.roll(sent, -1), SPS)
        wave = np.roll(wave + 0.1 * wave * np.abs(wave), -(SPS // 2))
        noise = random.standard_normal((2, wave.size))
        wave = wave + NOISE[self.constellation.name] * (noise[0] + 1j * noise[1])
        return normalized(wave.astype(np.complex64) if self.constellation.is_complex
                          else wave.real.astype(np.float32)), labels


@functools.cache
def trained(name):
    made = Link(None, core.constellation(name))
    made.model = train(*made.record(20_000, 1), made.constellation, SPS, HALF_WINDOW,
                       TrainingSettings((12, 8), 0.9, 30, 256, "adam")).model
    return made


@pytest.fixture(scope="session", params=NOISE)
def link(request):
    return trained(request.param)


@pytest.fixture(scope="session", params=["qpsk", "16qam"])
def complex_link(request):
    return trained(request.param)


@pytest.fixture(scope="session")
def pam4():
    """A link's network that nobody trained."""
    network = core.network([SPS * (2 * HALF_WINDOW + 1), 6, 4])
    network.initialize(1)
    return core.model(network, SPS, HALF_WINDOW, False, core.constellation("pam4"))


@pytest.fixture(scope="session")
def ap_types():
    files = importlib.metadata.files("hls4ml")  # of ./dev's environment
    header = next(each for each in files if each.match("vivado/ap_types/ap_fixed.h"))
    return Path(header.locate()).parent
