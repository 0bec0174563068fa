# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated short-reach optical link, 56 Gb/s PAM4 over 100 m OM4, that drifts while it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gnuradio import analog, blocks, digital, filter, gr

BAUD_RATE = 28e9
_DRIVER_BANDWIDTH = 20.0    # GHz
_RECEIVER_BANDWIDTH = 20.0  # GHz, photodiode and oscilloscope together
_SPAN = 16                  # symbols that the impulse response of each filter lasts

# The VCSEL: oxide-confined, 850 nm, 21 GHz wide at 5 mA, as those measured by Mutig et al.,
# "Frequency response of large aperture oxide-confined 850 nm VCSELs", Appl. Phys. Lett. 2009.
_THRESHOLD = 0.6          # mA
_D_FACTOR = 7.5           # GHz/sqrt(mA): resonance over the root of the current above threshold
_K_FACTOR = 0.25          # ns: damping over the squared resonance
_DAMPING_OFFSET = 25.0    # 1/ns


def _bessel_thomson(frequency, bandwidth):
    """Fourth-order Bessel-Thomson low-pass, the reference receiver of IEEE 802.3, undelayed."""
    y = 2.114j * frequency / bandwidth
    return 105 * np.exp(y) / (105 + y * (105 + y * (45 + y * (10 + y))))


def _vcsel_response(frequency, bias):
    """Small-signal response of the laser's rate equations, undelayed; GHz and mA.

    Source: Coldren, Corzine and Masanovic, Diode Lasers and Photonic Integrated Circuits, 5.3.
    """
    resonance = _D_FACTOR * np.sqrt(bias - _THRESHOLD)
    damping = (_K_FACTOR * resonance**2 + _DAMPING_OFFSET) / (2 * np.pi)
    response = resonance**2 / (resonance**2 - frequency**2 + 1j * frequency * damping)
    return response * np.exp(1j * frequency * damping / resonance**2)


_RANGES = {
    "sps": (2, 16), "bias": (1, 20), "quadratic": (-0.5, 0.5), "cubic": (-0.5, 0.5),
    "skew": (-20, 20), "mode_delays": (-100, 100), "mode_powers": (0, 1e6), "timing": (-1, 1),
    "noise": (0, 1), "noise_slope": (-1, 1), "gain": (0.01, 100), "offset": (-100, 100),
    "seed": (1, 2**31 - 1)}


def _checked(name, value, whole=False):
    """The value itself if it, or each number of a sequence, is allowed."""
    low, high = _RANGES[name]
    numbers = np.asarray(value)
    if not np.all((low <= numbers) & (numbers <= high)) or (whole and numbers % 1):
        raise ValueError(f"{name} is {value}, allowed: {'whole numbers from ' * whole}"
                         f"{low} to {high}")
    return value


class vcsel_mmf_link(gr.hier_block2):
    """PAM4 labels in (bytes 0..3: levels -3, -1, +3, +1), received float samples out.

    Driver low-pass, VCSEL, multimode fibre, receiver noise, receiver low-pass; 28 GBd. Sample
    i*sps is the middle of symbol i: the delay of the filters is taken off, so that a symbol's
    samples come once latency() more symbols are there. The output has zero mean and, with the
    default parameters, unit variance. The same seed and labels give the same samples, bit for
    bit, unless a parameter is changed meanwhile.

    sps: samples per symbol, 2 to 16
    bias: current through the VCSEL in mA, 1 to 20; a lower one makes it slower
    quadratic, cubic: -0.5 to 0.5, and skew: -20 to 20 ps. For a drive x of unit power the light
        is x + quadratic*(x^2 - 1) + cubic*x^3 + skew*x*dx/dt: a bent L-I curve, and a higher
        level that arrives earlier
    mode_delays: when the mode groups of the fibre arrive, each -100 to 100 ps. The default is
        0.3 ps/m over 100 m, the outer limit of OM4's differential mode delay (TIA-492AAAD)
    mode_powers: power in each of the mode groups, 0 to 1e6, not all 0; the ratios count
    timing: error of the sampling instant in symbols, -1 to 1; positive is late
    noise: rms of the noise in the output before the gain, 0 to 1, at a mean light level
    noise_slope: part of it by which it grows for each unit of light, -1 to 1: shot noise and
        the laser's intensity noise
    gain, offset: of the receiver, 0.01 to 100 and -100 to 100
    seed: of the noise, 1 to 2^31-1

    All but sps, mode_delays and seed can be set while the flowgraph runs.
    Raises ValueError, with name, value and range, for a parameter out of range.
    """

    def __init__(self, sps: int = 4, bias: float = 5.0, quadratic: float = -0.05,
                 cubic: float = -0.01, skew: float = 2.0,
                 mode_delays: Sequence[float] = (-14.0, 0.0, 16.0),
                 mode_powers: Sequence[float] = (0.25, 0.5, 0.25), timing: float = 0.0,
                 noise: float = 0.11, noise_slope: float = 0.2, gain: float = 1.24,
                 offset: float = 0.0, seed: int = 1) -> None:
        super().__init__("vcsel_mmf_link", gr.io_signature(1, 1, gr.sizeof_char),
                         gr.io_signature(1, 1, gr.sizeof_float))
        self._sps = int(_checked("sps", sps, whole=True))
        seed = int(_checked("seed", seed, whole=True))
        self._frequency = np.fft.rfftfreq(_SPAN * self._sps, 1e9 / (self._sps * BAUD_RATE))
        self._mode_delays = np.array(_checked("mode_delays", mode_delays), dtype=float)
        self._parameters: dict = {}

        levels = digital.chunks_to_symbols_bf(np.array([-3, -1, 3, 1]) / np.sqrt(5))
        nrz = self._sps * np.sinc(self._frequency * 1e9 / BAUD_RATE)
        driver = filter.interp_fir_filter_fff(
            self._sps, self._taps(nrz * _bessel_thomson(self._frequency, _DRIVER_BANDWIDTH)))
        # The light is (1 + quadratic*x + cubic*x^2 + skew*dx/dt) * x, by Horner's rule.
        self._vcsel, self._skew = self._filter(), self._filter()
        self._cubic, self._quadratic = blocks.multiply_const_ff(0), blocks.add_const_ff(0)
        curve, slopes, one = blocks.multiply_ff(), blocks.add_ff(), blocks.add_const_ff(1)
        light = blocks.multiply_ff()
        self._fibre = self._filter()
        self._noise = analog.noise_source_f(analog.GR_GAUSSIAN, 0, seed)
        self._noise_slope, mean = blocks.multiply_const_ff(0), blocks.add_const_ff(1)
        scaled, photodiode = blocks.multiply_ff(), blocks.add_ff()
        self._receiver = self._filter()
        self._offset = blocks.add_const_ff(0)
        delay = 4 * _SPAN // 2 * self._sps
        undelayed = blocks.skiphead(gr.sizeof_float, delay)

        self.connect(self, levels, driver, self._vcsel, light, self._fibre, photodiode,
                     self._receiver, self._offset, undelayed, self)
        self.connect(self._vcsel, self._cubic, self._quadratic, curve, slopes, one, (light, 1))
        self.connect(self._vcsel, (curve, 1))
        self.connect(driver, self._skew, (slopes, 1))
        self.connect(self._fibre, self._noise_slope, mean, scaled, (photodiode, 1))
        self.connect(self._noise, (scaled, 1))
        # A tag goes straight through, once; its symbol's delay is added before it is taken off.
        for branch in (self._cubic, curve, self._skew, self._noise_slope):
            branch.set_tag_propagation_policy(gr.TPP_DONT)
        self._receiver.declare_sample_delay(delay)

        self._set(bias=bias, quadratic=quadratic, cubic=cubic, skew=skew, mode_powers=mode_powers,
                  timing=timing, noise=noise, noise_slope=noise_slope, gain=gain, offset=offset)

    def latency(self) -> int:
        """Symbols that must follow a symbol before its samples come out."""
        # Half of each of the four filters; and where the endless noise joins it, the scheduler
        # keeps back up to 7 samples of a stream that ends.
        return 4 * _SPAN // 2 + 4

    def set_bias(self, bias: float) -> None:
        self._set(bias=bias)

    def set_nonlinearity(self, quadratic: float, cubic: float, skew: float) -> None:
        self._set(quadratic=quadratic, cubic=cubic, skew=skew)

    def set_mode_powers(self, mode_powers: Sequence[float]) -> None:
        self._set(mode_powers=mode_powers)

    def set_timing(self, timing: float) -> None:
        self._set(timing=timing)

    def set_noise(self, noise: float, noise_slope: float) -> None:
        self._set(noise=noise, noise_slope=noise_slope)

    def set_gain(self, gain: float) -> None:
        self._set(gain=gain)

    def set_offset(self, offset: float) -> None:
        self._set(offset=offset)

    def _filter(self):
        return filter.fir_filter_fff(1, np.zeros(_SPAN * self._sps))

    def _taps(self, response):
        """The impulse response of a frequency response, its time zero in the middle."""
        taps = np.fft.irfft(response, _SPAN * self._sps)
        return np.roll(taps, taps.size // 2)

    def _set(self, **changed):
        """Check the changed parameters, then pass them to all blocks."""
        for name, value in changed.items():
            _checked(name, value)
        p = {**self._parameters, **changed}
        powers = np.array(p["mode_powers"], dtype=float)
        if powers.size != self._mode_delays.size or not powers.any():
            raise ValueError(f"mode_powers is {p['mode_powers']}, allowed: one for each of the "
                             f"{self._mode_delays.size} mode_delays, not all 0")
        self._parameters = p

        radians = 2j * np.pi * self._frequency
        vcsel = _vcsel_response(self._frequency, p["bias"])
        modes = np.exp(-1e-3 * radians[:, None] * self._mode_delays)
        receiver = _bessel_thomson(self._frequency, _RECEIVER_BANDWIDTH)
        late = np.exp(radians * p["timing"] * 1e9 / BAUD_RATE)
        self._vcsel.set_taps(self._taps(vcsel))
        self._skew.set_taps(self._taps(1e-3 * p["skew"] * radians * vcsel))
        self._quadratic.set_k(p["quadratic"])
        self._cubic.set_k(p["cubic"])
        self._fibre.set_taps(self._taps(modes @ (powers / powers.sum())))
        self._receiver.set_taps(p["gain"] * self._taps(receiver * late))
        self._noise.set_amplitude(p["noise"] / np.linalg.norm(self._taps(receiver)))
        self._noise_slope.set_k(p["noise_slope"])
        # The detector is AC-coupled: the mean of the quadratic term does not come out.
        self._offset.set_k(p["offset"] - p["gain"] * p["quadratic"])
