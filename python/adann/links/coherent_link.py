# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated long-haul coherent link, 32 GBd 16QAM over 960 km of fibre, drifting as it runs."""

from __future__ import annotations

import numpy as np
from gnuradio import analog, blocks, digital, filter, gr

from .. import core

BAUD_RATE = 32e9
_ROLL_OFF = 0.1
_WAVELENGTH = 1550.0          # nm
_SPEED_OF_LIGHT = 299792.458  # nm/ps
_VECTOR = 16                  # samples that the widest instruction set takes at a time
_SPAN = 32                    # symbols that the impulse response of each Nyquist filter lasts
_DISPERSION_SPAN = 16         # and that of the dispersion
_POINTS = np.array(core.constellation("16qam").points) / np.sqrt(10)

_RANGES = {
    "sps": (2, 16), "swing": (0.01, 0.7), "bias": (-0.3, 0.3), "iq_gain": (-6, 6),
    "iq_phase": (-45, 45), "dispersion": (-500, 500), "polarization": (-90, 90),
    "nonlinear_phase": (-2, 2), "timing": (-1, 1), "snr": (-10, 100), "rotation": (-180, 180),
    "gain": (0.01, 100), "offset": (0, 100), "seed": (1, 2**31 - 2)}


def _checked(name, value, whole=False):
    """The value itself if it, or the magnitude of a complex one, is allowed."""
    low, high = _RANGES[name]
    number = abs(value) if name == "offset" else value
    if not low <= number <= high or (whole and number % 1):
        raise ValueError(f"{name} is {value}, allowed: {'magnitude ' * (name == 'offset')}"
                         f"{'whole numbers from ' * whole}{low} to {high}")
    return value


def _root_raised_cosine(frequency):
    """Its frequency response; the frequency is in units of the symbol rate."""
    beyond = np.clip((2 * np.abs(frequency) - 1) / _ROLL_OFF, -1, 1)
    return np.cos(np.pi / 4 * (beyond + 1))


def _taps(response):
    """The impulse response of a frequency response in numpy's order, time zero in the middle."""
    return np.fft.fftshift(np.fft.ifft(response))


class coherent_link(gr.hier_block2):
    """16QAM labels in (bytes 0..15, as core.constellation), received complex samples out.

    One polarisation of a 32 GBd Nyquist link, roll-off 0.1, after the receiver has taken most of
    the dispersion and the carrier off: pulse shaping, IQ modulator, the other polarisation's
    crosstalk, residual dispersion, nonlinear phase, noise, matched filter. Sample i*sps is the
    middle of symbol i: the delay of the filters is taken off, so that a symbol's samples come once
    latency() more symbols are there. In the symbols' middles the output has unit power with the
    default gain and offset. The same seed and labels give the same samples, bit for bit, unless a
    parameter is changed meanwhile. The fibre is lumped: first it disperses, then its nonlinearity
    acts.

    sps: samples per symbol, 2 to 16
    swing: rms of the voltage at each of the modulator's two arms over V_pi, 0.01 to 0.7. The field
        of an arm, a Mach-Zehnder interferometer, is sin(pi/2 * (V + V_bias) / V_pi): a greater
        swing compresses more
    bias: V_bias / V_pi, how far the arms are from their null, -0.3 to 0.3: part of the carrier
        leaks and the levels of each arm are compressed unequally
    iq_gain: of Q over I in dB, -6 to 6. iq_phase: -45 to 45 degrees more than 90 between them.
        Whatever the modulator does, an amplifier launches unit power
    polarization: angle in degrees, -90 to 90, by which the receiver's axes are rotated against the
        transmitter's: cos of it is received of this polarisation, sin of the other, which carries
        independent 16QAM symbols
    dispersion: after its compensation, -500 to 500 ps/nm, at 1550 nm. The default is 0.6 %
        of 960 km of standard fibre, 17 ps/(nm km)
    nonlinear_phase: rotation in rad by self-phase modulation at mean power, -2 to 2: the field is
        multiplied by exp(j*nonlinear_phase*(power - 1)); carrier recovery has removed the
        mean. 12 spans of 80 km launched with 1 mW give 0.33 (1.3 /(W km), 21 km effective length);
        dispersion spreads the symbols, so that less acts at once
    timing: error of the sampling instant in symbols, -1 to 1; positive is late
    snr: mean power of the signal over that of the noise in 32 GHz, in dB, -10 to 100. Both
        polarisations counted, the OSNR in 0.1 nm is 4.1 dB more; the 12 spans, 16 dB each, with
        amplifiers of 5 dB noise figure, have one of 26 dB
    rotation: residual after carrier recovery, -180 to 180 degrees
    gain, offset: of the receiver, 0.01 to 100 and a complex number of magnitude 0 to 100
    seed: of the noise and of the other polarisation's symbols, 1 to 2^31-2

    All but sps and seed can be set while the flowgraph runs.
    Raises ValueError, with name, value and range, for a parameter out of range.
    """

    def __init__(self, sps: int = 4, swing: float = 0.2, bias: float = 0.0, iq_gain: float = 0.0,
                 iq_phase: float = 0.0, polarization: float = 2.0, dispersion: float = 100.0,
                 nonlinear_phase: float = 0.1, timing: float = 0.0, snr: float = 19.5,
                 rotation: float = 0.0, gain: float = 1.0, offset: complex = 0.0,
                 seed: int = 1) -> None:
        super().__init__("coherent_link", gr.io_signature(1, 1, gr.sizeof_char),
                         gr.io_signature(1, 1, gr.sizeof_gr_complex))
        self._sps = int(_checked("sps", sps, whole=True))
        seed = int(_checked("seed", seed, whole=True))
        self._parameters: dict = {}

        # Scaled so that the shaped signal has unit power, and a symbol's middle its value again
        # after the matched filter.
        self._nyquist = np.fft.fftfreq(_SPAN * self._sps, 1 / self._sps)
        shape = self._sps * _taps(_root_raised_cosine(self._nyquist)).real
        points = digital.chunks_to_symbols_bc(_POINTS)
        shaping = filter.interp_fir_filter_ccf(self._sps, shape)
        self._shape = shape.reshape(_SPAN, self._sps)

        self._bias, arms = blocks.add_const_cc(0), blocks.complex_to_float()
        # The imaginary part of a modulated phase is its sine.
        self._arms = [analog.phase_modulator_fc(0) for _ in "IQ"]
        self._imbalance = blocks.multiply_matrix_ff(np.eye(2), gr.TPP_ONE_TO_ONE)
        modulator = blocks.float_to_complex()

        other = analog.random_uniform_source_b(0, 16, seed + 1)
        other_points = digital.chunks_to_symbols_bc(_POINTS)
        other_shaping = filter.interp_fir_filter_ccf(self._sps, shape)
        self._polarization = blocks.multiply_matrix_cc([[1, 0]])

        self._dispersion = filter.fir_filter_ccc(1, np.zeros(_DISPERSION_SPAN * self._sps))
        power, fibre = blocks.complex_to_mag_squared(), blocks.multiply_cc()
        self._nonlinear_phase = analog.phase_modulator_fc(0)

        self._noise = analog.noise_source_c(analog.GR_GAUSSIAN, 0, seed)
        receiver = blocks.add_cc()
        self._matched = filter.fir_filter_ccf(1, np.zeros(_SPAN * self._sps))
        self._gain, self._offset = blocks.multiply_const_cc(1), blocks.add_const_cc(0)
        delay = self._sps * (2 * _SPAN + _DISPERSION_SPAN) // 2
        undelayed = blocks.skiphead(gr.sizeof_gr_complex, delay)

        self.connect(self, points, shaping, self._bias, arms)
        for port, arm in enumerate(self._arms):
            self.connect((arms, port), arm, blocks.complex_to_imag(), (self._imbalance, port))
            self.connect((self._imbalance, port), (modulator, port))
        self.connect(other, other_points, other_shaping, (self._polarization, 1))
        self.connect(modulator, self._polarization, self._dispersion, fibre, receiver,
                     self._matched, self._gain, self._offset, undelayed, self)
        self.connect(self._dispersion, power, self._nonlinear_phase, (fibre, 1))
        self.connect(self._noise, (receiver, 1))
        # A tag goes straight through, once; its symbol's delay is added before it is taken off.
        for branch in (self._arms[1], power):
            branch.set_tag_propagation_policy(gr.TPP_DONT)
        self._matched.declare_sample_delay(delay)
        # A vector's products and those of a remainder are rounded differently.
        for product in (self._imbalance, self._polarization, power, fibre, self._gain):
            product.set_output_multiple(_VECTOR)

        self._set(swing=swing, bias=bias, iq_gain=iq_gain, iq_phase=iq_phase,
                  polarization=polarization, dispersion=dispersion,
                  nonlinear_phase=nonlinear_phase, timing=timing, snr=snr, rotation=rotation,
                  gain=gain, offset=offset)

    def latency(self) -> int:
        """Symbols that must follow a symbol before its samples come out."""
        # Half of each filter; and of a stream that ends, less than a vector stays back.
        return (2 * _SPAN + _DISPERSION_SPAN) // 2 + _VECTOR // 2

    def set_modulator(self, swing: float, bias: float, iq_gain: float, iq_phase: float) -> None:
        self._set(swing=swing, bias=bias, iq_gain=iq_gain, iq_phase=iq_phase)

    def set_polarization(self, polarization: float) -> None:
        self._set(polarization=polarization)

    def set_dispersion(self, dispersion: float) -> None:
        self._set(dispersion=dispersion)

    def set_nonlinear_phase(self, nonlinear_phase: float) -> None:
        self._set(nonlinear_phase=nonlinear_phase)

    def set_timing(self, timing: float) -> None:
        self._set(timing=timing)

    def set_snr(self, snr: float) -> None:
        self._set(snr=snr)

    def set_rotation(self, rotation: float) -> None:
        self._set(rotation=rotation)

    def set_gain(self, gain: float) -> None:
        self._set(gain=gain)

    def set_offset(self, offset: complex) -> None:
        self._set(offset=offset)

    def _set(self, **changed):
        """Check the changed parameters, then pass them to all blocks."""
        for name, value in changed.items():
            _checked(name, value)
        p = self._parameters = {**self._parameters, **changed}

        # Each arm of the shaped signal has a variance of 1/2.
        slope = np.pi / 2 * np.sqrt(2) * p["swing"]
        phase = np.pi / 2 * p["bias"]
        self._bias.set_k(phase / slope * (1 + 1j))
        for arm in self._arms:
            arm.set_sensitivity(slope)
        quadrature = 10 ** (p["iq_gain"] / 20) * np.exp(1j * np.radians(p["iq_phase"]))
        imbalance = np.array([[1, -quadrature.imag], [0, quadrature.real]])
        self._imbalance.set_A(self._launched(slope, phase, imbalance) * imbalance)

        angle = np.radians(p["polarization"])
        self._polarization.set_A([[np.cos(angle), np.sin(angle)]])
        self._dispersion.set_taps(_taps(self._all_pass(p["dispersion"])))
        self._nonlinear_phase.set_sensitivity(p["nonlinear_phase"])

        late = np.exp(2j * np.pi * self._nyquist * p["timing"])
        self._matched.set_taps(_taps(_root_raised_cosine(self._nyquist) * late).real)
        self._noise.set_amplitude(np.sqrt(self._sps) * 10 ** (-p["snr"] / 20))
        turn = np.radians(p["rotation"]) - p["nonlinear_phase"]
        self._gain.set_k(p["gain"] * np.exp(1j * turn))
        self._offset.set_k(p["offset"])

    def _launched(self, slope, phase, imbalance):
        """The amplifier's gain that makes the power after the modulator 1.

        The mean of sin(slope*x + phase) and of its square follow from the characteristic function
        of an arm's drive x: the product of those of all symbols that overlap.
        """
        def characteristic(t):
            overlapping = t * self._shape / np.sqrt(10)
            of_symbol = (np.cos(overlapping) + np.cos(3 * overlapping)) / 2
            return of_symbol.prod(axis=0).mean()

        mean = np.sin(phase) * characteristic(slope)
        square = (1 - np.cos(2 * phase) * characteristic(2 * slope)) / 2
        moments = np.full((2, 2), mean**2)
        np.fill_diagonal(moments, square)
        return 1 / np.sqrt(np.trace(imbalance @ moments @ imbalance.T))

    def _all_pass(self, dispersion):
        """Response of residual dispersion in ps/nm: exp(-j*pi*wavelength^2*D*f^2/c).

        Source: Savory, "Digital filters for coherent optical receivers", Opt. Express 2008; the
        sign goes with that of the nonlinear phase.
        """
        frequency = np.fft.fftfreq(_DISPERSION_SPAN * self._sps, 1 / self._sps)
        # Beyond the symbol rate there is no signal: the delay grows no further, and the impulse
        # response fits into its span.
        within = np.clip(frequency, -1, 1)
        square = (2 * frequency * within - within**2) * (BAUD_RATE / 1e12)**2  # THz^2
        curvature = np.pi * _WAVELENGTH**2 / _SPEED_OF_LIGHT  # nm*ps
        return np.exp(-1j * curvature * dispersion * square)
