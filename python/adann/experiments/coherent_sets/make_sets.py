# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the sets of the experiments `coherent` (set1, set2) and `polarisations` (dual1, dual2),
in this folder: the paper's 960 km link (Section IV-C), simulated with OptiCommPy, in
some ten to twenty minutes on two cores.

It runs in an environment of its own, since OptiCommPy's numpy is newer than GNU Radio 3.10's:

    python3 -m venv venv && venv/bin/pip install OptiCommPy==0.11.0 numpy==2.4.6 sigmf==1.14.0
    venv/bin/python make_sets.py DIR [NAME ...]

From sender to receiver, per set: symbols of three channels and two polarisations, root-raised
cosine, driver, IQ modulator; 12 spans of fibre by the Manakov equation and as many amplifiers;
optical filter, coherent receiver, oscilloscope; dispersion compensation, matched filter, frequency
recovery, synchronization, phase recovery. set1 and set2 are one polarisation of the middle channel
each. dual1 and dual2 are both, mixed by a fibre whose state of polarisation rotates, as one record of
two channels after the matched filter: nothing was recovered in it.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import sigmf
from optic.dsp.carrierRecovery import cpr, fourthPowerFOE
from optic.dsp.core import firFilter, lowPassFIR, phaseNoise, pulseShape, upsample
from optic.dsp.equalization import edc
from optic.models.channels import manakovSSF
from optic.models.devices import adc, edfa, iqm, pdmCoherentReceiver
from optic.utils import parameters
from scipy.signal import resample_poly

# The paper's: rates, roll-off, linewidths, spans, filter, symbols of a set.
BAUD = 32e9
SCOPE_RATE = 80e9
ROLL_OFF = 0.1
LINEWIDTH = 25e3
SPANS, SPAN_LENGTH = 12, 80.0  # km
FILTER_WIDTH = 45e9
SYMBOLS = 50400           # of dual2 four times as many: its equalizers start from nothing
# Standard single-mode fibre (ITU-T G.652, at 1550 nm): dB/km, ps/(nm km), 1/(W km).
ATTENUATION, DISPERSION, NONLINEARITY = 0.2, 17.0, 1.3
CARRIER = 193.4e12
# Not in the paper: usual values. The launch power and the bits were chosen as the modulators
# below were.
CHANNELS, SPACING = 3, 50e9
NOISE_FIGURE = 5.0        # dB
LAUNCH_POWER = 2.0        # dBm per channel, both polarisations: above the optimum, nonlinear
OSCILLATOR_POWER = 10e-3  # W
FREQUENCY_OFFSET = 150e6  # of the local oscillator
EFFECTIVE_BITS = 5.5      # of the oscilloscope's 8, at the signal's frequencies
FULL_SCALE = 5.5e-3       # A: five times the rms current at 0 dBm
MISALIGNMENT = 2.0        # degrees between the receiver's axes and the sender's
RESIDUAL = 20.0           # ps/nm that the "rough" compensation does not remove
# The two polarisations pass two modulators, and so differ. Chosen such that bit error rates are
# about 1e-3 on set1, and on set2 above 3.8e-3 for the network trained on set1 but below it with
# AdaNN. drive: rms of an arm's voltage over V_pi; bias: error of the arms over V_pi;
# quadrature: error of the angle between them in degrees; bandwidth: of the driver (Gaussian).
MODULATORS = (dict(drive=0.2, bias=0.0, quadrature=1.0, bandwidth=25e9),
              dict(drive=0.25, bias=0.05, quadrature=8.0, bandwidth=18e9))
# Received power in dBm, polarisation, seed.
SETS = {"set1": (0.0, 0, 1), "set2": (-1.0, 1, 2)}


@dataclass(frozen=True)
class Mixture:
    """Of a set with both polarisations. modulator: of both. angle: of the receiver's axes against
    the sender's at first, radians; retardation: between the sender's, likewise; turning: of the
    angle, rad/s."""

    received_power: float
    modulator: dict
    seed: int
    angle: float
    retardation: float
    turning: float
    symbols: int = SYMBOLS


# Between the sets the modulators' biases drift, by as much as they differ above.
DRIFTED = dict(MODULATORS[0], bias=MODULATORS[1]["bias"], quadrature=MODULATORS[1]["quadrature"])
DUAL_SETS = {"dual1": Mixture(0.0, MODULATORS[0], 3, 0.5, 0.7, 1e5),
             "dual2": Mixture(-1.0, DRIFTED, 4, 1.1, -0.9, 1e5, 4 * SYMBOLS)}
DUAL_FREQUENCY_OFFSET = 100e6
DUAL_SPS = 2

OVERSAMPLING = 8
RATE = OVERSAMPLING * BAUD
SPS = 4            # of the captures
_LEVELS = np.array([-3, -1, 3, 1])
# In the order of the labels, as core.constellation("16qam").
POINTS = (_LEVELS[:, None] + 1j * _LEVELS).ravel() / np.sqrt(10)


def with_ends(symbols: int) -> int:
    """How many are simulated: filters reach beyond the ends, which are cut off."""
    return symbols * 64 // 63


def settings(**values: object) -> parameters:
    """What OptiCommPy takes its parameters as."""
    chosen = parameters()
    for name, value in values.items():
        setattr(chosen, name, value)
    return chosen


def root_raised_cosine(sps: int) -> np.ndarray:
    return pulseShape(settings(pulseType="rrc", SpS=sps, nFilterTaps=64 * sps, rollOff=ROLL_OFF))


def modulate(labels: np.ndarray, light: np.ndarray, drive: float, bias: float, quadrature: float,
             bandwidth: float) -> np.ndarray:
    v_pi = 2.0
    voltage = firFilter(root_raised_cosine(OVERSAMPLING), upsample(POINTS[labels], OVERSAMPLING))
    voltage = firFilter(lowPassFIR(bandwidth, RATE, 255, "gauss"), voltage)
    voltage *= drive * v_pi / np.sqrt(np.mean(voltage.real**2))
    arm = v_pi * (bias - 1)
    return iqm(light, voltage, settings(Vpi=v_pi, VbI=arm, VbQ=arm,
                                        Vphi=v_pi * (0.5 + quadrature / 180)))


def launch(seed: int, modulators: Sequence[dict] = MODULATORS,
           symbols: int = SYMBOLS) -> tuple[np.ndarray, np.ndarray]:
    """The field of all channels in sqrt(W), (samples, 2), and the middle one's labels, (2, n)."""
    random = np.random.default_rng(seed)
    time = np.arange(with_ends(symbols) * OVERSAMPLING) / RATE
    field = np.zeros((time.size, 2), complex)
    power = 1e-3 * 10**(LAUNCH_POWER / 10) / 2
    for channel in range(CHANNELS):
        offset = (channel - CHANNELS // 2) * SPACING
        noise = phaseNoise(LINEWIDTH, time.size, 1 / RATE, seed=100 * seed + channel)
        light = np.exp(1j * (noise + 2 * np.pi * offset * time))
        labels = random.integers(0, POINTS.size, (2, with_ends(symbols)))
        for polarisation, modulator in enumerate(modulators):
            signal = modulate(labels[polarisation], light, **modulator)
            field[:, polarisation] += signal * np.sqrt(power / np.mean(np.abs(signal)**2))
        if not offset:
            sent = labels
    return field, sent


def propagate(field: np.ndarray, seed: int) -> np.ndarray:
    # One span a call: manakovSSF would draw the same noise for all amplifiers.
    for span in range(SPANS):
        field = manakovSSF(field.astype(np.complex64), settings(
            Ltotal=SPAN_LENGTH, Lspan=SPAN_LENGTH, alpha=ATTENUATION, D=DISPERSION,
            gamma=NONLINEARITY, Fc=CARRIER, Fs=RATE, amp=None, prec=np.complex64, tol=1e-4,
            maxNlinPhaseRot=0.02, prgsBar=False))
        field = np.stack([edfa(part, settings(
            G=ATTENUATION * SPAN_LENGTH, NF=NOISE_FIGURE, Fc=CARRIER, Fs=RATE,
            seed=1000 * seed + 2 * span + number)) for number, part in enumerate(field.T)], axis=1)
        print(f"seed {seed}: span {span + 1} of {SPANS}", flush=True)
    return field


def mixed(field: np.ndarray, mixture: Mixture) -> np.ndarray:
    """The field in the receiver's axes, of a fibre whose state of polarisation rotates."""
    angle = mixture.angle + mixture.turning * np.arange(len(field)) / RATE
    x, y = field.T * np.exp(0.5j * mixture.retardation * np.array([[1], [-1]]))
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=1)


def detect(field: np.ndarray, received_power: float, offset: float, seed: int) -> np.ndarray:
    """What the oscilloscope stores of both polarisations, (samples, 2)."""
    # A steep optical filter, super-Gaussian of order 4.
    frequency = np.fft.fftfreq(len(field), 1 / RATE)
    passed = np.exp(-np.log(2) / 2 * (2 * frequency / FILTER_WIDTH)**8)
    field = np.fft.ifft(np.fft.fft(field, axis=0) * passed[:, None], axis=0)
    power = np.mean(np.sum(np.abs(field)**2, axis=1))
    field *= np.sqrt(1e-3 * 10**(received_power / 10) / power)
    phase = (phaseNoise(LINEWIDTH, len(field), 1 / RATE, seed=seed + 10)
             + 2 * np.pi * offset * np.arange(len(field)) / RATE)
    currents = pdmCoherentReceiver(
        field, np.sqrt(OSCILLATOR_POWER) * np.exp(1j * phase),
        settings(Fs=RATE, polRotation=np.radians(MISALIGNMENT)),
        settings(Fs=RATE, B=30e9, seed=seed))
    converter = settings(inFs=RATE, outFs=SCOPE_RATE, nBits=8, ENOB=EFFECTIVE_BITS)
    return np.stack([adc(current / FULL_SCALE, converter) for current in currents.T], axis=1)


def matched(stored: np.ndarray, sps: int) -> np.ndarray:
    """One polarisation, sps samples a symbol, after dispersion compensation and matched filter."""
    length = (DISPERSION * SPANS * SPAN_LENGTH - RESIDUAL) / DISPERSION
    signal = edc(stored, settings(L=length, D=DISPERSION, Fc=CARRIER, Fs=SCOPE_RATE, Rs=BAUD))
    up, down = 2 * sps, 5  # from 80 GS/s
    signal = resample_poly(signal, up, down)[:stored.size * up // down]
    return firFilter(root_raised_cosine(sps), signal)


def without_ends(signal: np.ndarray, sps: int, symbols: int) -> np.ndarray:
    ends = (with_ends(symbols) - symbols) // 2
    return signal[sps * ends:][:sps * symbols]


def demodulate(stored: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples, SPS a symbol, and labels of the middle SYMBOLS symbols."""
    signal = matched(stored, SPS)
    signal /= np.sqrt(np.mean(np.abs(signal)**2))

    _, (offset,) = fourthPowerFOE(signal[::SPS, None], BAUD)
    signal *= np.exp(-2j * np.pi * offset / (SPS * BAUD) * np.arange(signal.size))
    signal = synchronized(signal, labels)

    signal, labels = without_ends(signal, SPS, SYMBOLS), without_ends(labels, 1, SYMBOLS)
    middles = signal[::SPS] / np.sqrt(np.mean(np.abs(signal[::SPS])**2))
    middles, phase = cpr(middles, settings(alg="bps", M=16, N=128, B=64, runFOE=False,
                                           returnPhases=True))
    # Blind phase search cannot find the quadrant; the known symbols show it, and that it never slips.
    parts = (middles * POINTS[labels].conj()).reshape(-1, 504).mean(axis=1)
    quadrant = np.round(np.angle(parts * np.exp(-1j * np.angle(parts[0]))) / (np.pi / 2))
    if quadrant.any():
        raise RuntimeError("the phase recovery slipped")
    phase -= np.round(np.angle(parts.mean()) / (np.pi / 2)) * np.pi / 2
    positions = np.arange(signal.size) / SPS
    return signal * np.exp(1j * np.interp(positions, np.arange(SYMBOLS), phase)), labels


def synchronized(signal: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The signal moved by a part of a sample, such that sample i*SPS is the middle of symbol i."""
    sent = np.fft.fft(upsample(POINTS[labels], SPS))
    # The phase drifts: coherent over 4096 symbols, then powers.
    parts = np.zeros((12, signal.size), complex)
    for number, part in enumerate(parts):
        here = slice(SPS * 4096 * number, SPS * 4096 * (number + 1))
        part[here] = signal[here]
    match = np.sum(np.abs(np.fft.ifft(np.fft.fft(parts) * sent.conj()))**2, axis=0)**0.5
    peak = int(np.argmax(match))
    before, at, after = match[[peak - 1, peak, (peak + 1) % match.size]]
    delay = peak + (before - after) / (2 * (before - 2 * at + after))  # top of a parabola
    ramp = np.exp(2j * np.pi * np.fft.fftfreq(signal.size, 1.0) * delay)
    return np.fft.ifft(np.fft.fft(signal) * ramp)


def write(folder: Path, name: str, signal: np.ndarray, rate: float, description: str,
          bits: int) -> None:
    """signal: complex (n,), or of several channels (n, channels). bits: 8 or 16, of a sample."""
    rms, dtype, datatype = {8: (24, "i1", "ci8"), 16: (4096, "<i2", "ci16_le")}[bits]
    scaled = np.round(signal * (rms / np.sqrt(np.mean(np.abs(signal)**2)))).view(float)
    if np.abs(scaled).max() >= 2**(bits - 1):
        raise RuntimeError("the signal is clipped")
    data = folder / f"{name}.sigmf-data"
    scaled.astype(dtype).tofile(data)
    several = {"core:num_channels": signal.shape[1]} if signal.ndim > 1 else {}
    record = sigmf.SigMFFile(data_file=data, global_info={
        "core:datatype": datatype, "core:sample_rate": rate, **several,
        "core:description": description})
    record.add_capture(0)
    record.tofile(folder / f"{name}.sigmf-meta")


def make(folder: Path, name: str) -> None:
    received_power, polarisation, seed = SETS[name]
    field, sent = launch(seed)
    stored = detect(propagate(field, seed), received_power, FREQUENCY_OFFSET, seed)[:, polarisation]
    signal, labels = demodulate(stored, sent[polarisation])
    labels.astype(np.uint8).tofile(folder / f"{name}.u8")
    write(folder, name, signal, SPS * BAUD,
          f"Simulated: 32 GBd 16QAM, Nyquist-WDM, 960 km of SSMF, {received_power:g} dBm "
          f"received, polarisation {'XY'[polarisation]}; make_sets.py says how", 16)


def make_dual(folder: Path, name: str) -> None:
    mixture = DUAL_SETS[name]
    field, sent = launch(mixture.seed, [mixture.modulator] * 2, mixture.symbols)
    field = mixed(propagate(field, mixture.seed), mixture)
    stored = detect(field, mixture.received_power, DUAL_FREQUENCY_OFFSET, mixture.seed)
    signal = np.stack([matched(each, DUAL_SPS) for each in stored.T], axis=1)
    for polarisation, labels in zip("xy", sent):
        kept = without_ends(labels, 1, mixture.symbols)
        kept.astype(np.uint8).tofile(folder / f"{name}_{polarisation}.u8")
    write(folder, name, without_ends(signal, DUAL_SPS, mixture.symbols), DUAL_SPS * BAUD,
          f"Simulated: 32 GBd 16QAM, Nyquist-WDM, 960 km of SSMF, {mixture.received_power:g} dBm "
          "received, both polarisations, mixed, and their carrier; make_sets.py says how", 8)


if __name__ == "__main__":
    makers = {**dict.fromkeys(SETS, make), **dict.fromkeys(DUAL_SETS, make_dual)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("names", nargs="*", choices=[*makers, []], metavar="NAME",
                        help=f"of {', '.join(makers)}; if not given, all")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(makers[name], given.folder, name)
                     for name in given.names or makers]:
            done.result()
