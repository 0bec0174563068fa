# SPDX-License-Identifier: GPL-3.0-or-later
"""Links on which an equalizer that learns was far worse than its network as it was loaded."""

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.experiments import compared
from gnuradio.adann.experiments.comparators import unit_points
from gnuradio.adann.links.simulation import random_labels
from gnuradio.adann.offline.equalize import equalize_captures

SPS = 2
PULSE = np.array([0.45, 1, 0.6, 0.25, 0.08])


def receive(points, labels, snr, seed, sends=1, distort=lambda samples: samples, more_noise=1):
    """complex64 or float32 (sps*n,). sends: (n,), 0 in pauses; snr: dB; more_noise: (sps*n,), amplitude."""
    impulses = np.zeros(labels.size * SPS, points.dtype)
    impulses[::SPS] = points[labels] * sends
    sent = distort(np.convolve(impulses, PULSE)[1:impulses.size + 1] / np.sqrt(np.sum(PULSE**2) / SPS))
    noise = np.random.default_rng(seed).standard_normal((2, sent.size))
    noise = noise[0] + 1j * noise[1] if np.iscomplexobj(points) else noise[0] * np.sqrt(2)
    received = sent + 10 ** (-snr / 20) / np.sqrt(2) * noise * more_noise
    return received.astype(np.complex64 if np.iscomplexobj(points) else np.float32)


def trained(name, snr):
    """A trained model, its points and its bits of a symbol."""
    alphabet = core.constellation(name)
    points = unit_points(alphabet)
    points = points if np.any(points.imag) else points.real
    labels = random_labels(2**17, 1, alphabet.bits_per_symbol)
    model = compared.train_model(receive(points, labels, snr, 2), labels, name, SPS)
    return model, points, alphabet.bits_per_symbol


def compare(model, samples, labels):
    """{name: (wrong (n,), lost (n,))}, and what equalize_captures returns."""
    settings = {"frozen": dict(mode="off"), "ours": dict(mode="lockstep")}
    counted = {name: compared._Posteriors(labels, model.constellation.bits_per_symbol) for name in settings}
    received, _ = equalize_captures(model, [Capture(samples)], settings,
                                    counted=counted, events=True)
    return {name: (each.wrong, each.lost) for name, each in counted.items()}, received


# Of the errors of the network as it was loaded: 0.2 to 0.4, of 8PSK 1.0 (three draws); 0.4, 42, 96 and 400 before.
@pytest.mark.parametrize("name, snr, on, off", [
    ("64qam", 21.5, 524, 131), ("pam8", 21, 262, 66), ("8psk", 12, 100, 100), ("qpsk", 7.5, 524, 131)])
def test_short_packets_between_pauses(name, snr, on, off):
    model, points, bits = trained(name, snr)
    labels = random_labels(2**17, 3, bits)
    sends = np.arange(labels.size) % (on + off) < on
    found, _ = compare(model, receive(points, labels, snr, 4, sends), labels)
    inside = np.convolve(~sends, np.ones(33), "same") < 0.5  # 16 symbols from both ends of a packet
    inside[:2**14] = False
    frozen, ours = (found[name][0][inside].sum() for name in ("frozen", "ours"))
    assert frozen > 100
    assert ours < 1.15 * frozen


# The first 110 symbols of each packet were wrong, a sixth of all: the phases that the search predicts stood still in
# the pause, here by an eighth of a cycle.
def test_packets_with_a_carrier():
    model, points, bits = trained("64qam", 22)
    labels = random_labels(2**17, 3, bits)
    sends = np.arange(labels.size) % 655 < 524
    samples = receive(points, labels, 22, 4, sends)
    rotates = np.exp(2j * np.pi * 1e-3 / SPS * np.arange(samples.size)).astype(np.complex64)
    still, _ = compare(model, samples, labels)
    rotating, _ = compare(model, samples * rotates, labels)
    inside = np.convolve(~sends, np.ones(33), "same") < 0.5
    inside[:2**16] = False
    frozen, ours = still["frozen"][0][inside].sum(), rotating["ours"][0][inside].sum()
    assert frozen > 30
    assert ours < frozen


# y + a (y² - 1) from the first symbol on: 2.0 and 4.5 times the errors before.
@pytest.mark.parametrize("snr, bent", [(16, 0.25), (19, -0.25)])
def test_labels_that_learning_loses(snr, bent):
    model, points, bits = trained("pam4", snr)
    labels = random_labels(2**17, 3, bits)
    samples = receive(points, labels, snr, 4, distort=lambda y: y + bent * (y**2 - 1))
    found, received = compare(model, samples, labels)
    frozen, ours = (found[name][0][2**16:].sum() for name in ("frozen", "ours"))
    assert frozen > 1000
    assert ours <= 1.05 * frozen
    assert any("less equally frequent" in (each.get("detail") or "") for each in received["ours"].events)


def with_rising_noise(name, snr, rise):
    """What compare() returns of a link whose noise rises at once after a quarter, and the last symbols."""
    model, points, bits = trained(name, snr)
    labels = random_labels(2**17, 3, bits)
    more_noise = np.where(np.arange(labels.size * SPS) < 2**15 * SPS, 1, 10 ** (rise / 20))
    found, received = compare(model, receive(points, labels, snr, 4, more_noise=more_noise), labels)
    return found, received["ours"], slice(-2**14, None)


def is_trusted_wrongly(ours, found, bits, later):
    """Whether the estimated error rate is called trustworthy, and is three times too low or too high."""
    estimate, rate = ours.estimated_ber, found["ours"][0][later].mean() / bits
    return bool(estimate and estimate["trustworthy"]) and not rate / 3 < estimate["ber"] < 3 * rate


@pytest.mark.parametrize("name, snr, rise, bits", [("pam4", 14, 9, 2), ("8psk", 13, 12, 3)])
def test_noise_that_labels_do_not_show(name, snr, rise, bits):
    """The estimate from before is not trusted, and probabilities are no worse than the network's."""
    found, ours, later = with_rising_noise(name, snr, rise)
    assert found["ours"][0][later].sum() < 1.05 * found["frozen"][0][later].sum()
    assert found["ours"][1][later].mean() < found["frozen"][1][later].mean() + 0.02
    assert not is_trusted_wrongly(ours, found, bits, later)
    assert ours.events[-1]["event"] == "paused" and ours.events[-1]["tracking"] == "lost"


# Bits of a symbol before, when the stream stayed lost: 1.94, -0.51 and 2.73; now 2.61, 2.06 and 3.37.
@pytest.mark.parametrize("name, snr, rise, bits, gained", [
    ("8psk", 13, 6, 3, 0.5), ("8psk", 13, 9, 3, 2), ("16qam", 15, 6, 4, 0.6)])
def test_noise_that_complex_points_show(name, snr, rise, bits, gained):
    """Learning goes on in it: a stream that is lost for long is looked at without the filter."""
    found, ours, later = with_rising_noise(name, snr, rise)
    assert found["ours"][0][later].sum() < found["frozen"][0][later].sum()
    assert found["ours"][1][later].mean() < found["frozen"][1][later].mean() - gained
    assert not is_trusted_wrongly(ours, found, bits, later)
    assert ours.events[-1]["tracking"] == "following"
