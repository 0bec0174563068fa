# SPDX-License-Identifier: GPL-3.0-or-later
"""Example models: those that ./dev models trains, with the errors that are noted, on symbols not trained on."""

import json
import pathlib
import struct
import subprocess
import sys
from dataclasses import replace

import bars
import numpy as np
import pytest
from gnuradio import filter
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.experiments import bursts
from gnuradio.adann.links.simulation import random_labels, simulate_coherent, simulate_vcsel
from gnuradio.adann.offline.equalize import equalize_captures, prepare_capture
from gnuradio.adann.offline.evaluate import count_aligned
from scipy.special import erfc

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
MODELS = sorted((EXAMPLES / "models").glob("*.safetensors"))
SYMBOLS = 2**19
BPSK_SNR = 5  # dB, Es/N0


def model_of(name):
    return core.load_model(str(EXAMPLES / f"models/{name}.safetensors"))


def vcsel(sent):
    return simulate_vcsel(sent, seed=9)


def coherent(sent):
    return simulate_coherent(sent, seed=9)


def bpsk(sent):
    """Root-raised-cosine pulses in white noise after their matched filter, two samples a symbol."""
    pulse = np.array(filter.firdes.root_raised_cosine(1, 2, 1, 0.35, 45))
    pulse /= np.sqrt(np.sum(pulse ** 2))
    impulses = np.zeros(2 * sent.size)
    impulses[::2] = 2.0 * sent - 1
    noise = np.random.default_rng(9).standard_normal((2, 2 * sent.size)) * np.sqrt(0.5 * 10 ** (-BPSK_SNR / 10))
    return (np.convolve(np.convolve(impulses, pulse, "same") + noise[0] + 1j * noise[1], pulse, "same")
            ).astype(np.complex64)


def packets(sent):
    """The transmitter of the packets, without a second ray and carrier, at 11 dB."""
    link = replace(bursts.CASES["Doppler, amplifier"], echo=0, turns=0, carrier=0, snr=11)
    return link.receive(sent, 9).astype(np.complex64)


RECEIVED = {"vcsel_pam4": vcsel, "coherent_16qam": coherent, "sdr_bpsk": bpsk, "qpsk_packets": packets}


def wrong_symbols(name):
    """{"model, mode": symbols decided wrongly} of SYMBOLS on the link that the model knows."""
    model = model_of(name)
    sent = random_labels(SYMBOLS, [1, 7], model.constellation.bits_per_symbol)  # trained on those of seed 0
    capture = prepare_capture(Capture(RECEIVED[name](sent), path=name, reference=sent), model)
    results, _ = equalize_captures(model, [capture], {"frozen": {"mode": "off"}, "adapting": {"mode": "lockstep"}})
    found = {}
    for mode, result in results.items():
        errors = count_aligned(result.labels[0], sent, model.constellation, 8192)
        assert errors.symbols.sum() > 0.99 * SYMBOLS
        found[f"{name}, {mode}"] = int(errors.symbol_errors.sum())
    return found


@pytest.fixture(scope="module")
def found():
    return {name: count for model in RECEIVED for name, count in wrong_symbols(model).items()}


def test_wrong_symbols_are_those_noted(found):
    assert not bars.outside("example models, wrong symbols of 2^19", found)


@pytest.mark.parametrize("name", ["vcsel_pam4", "coherent_16qam"])
def test_the_frozen_network_has_the_error_rate_that_its_model_states(found, name):
    """Some 500 errors: 30 % either way are six deviations."""
    assert found[f"{name}, frozen"] / SYMBOLS == pytest.approx(model_of(name).symbol_error_rate, rel=0.3)


def test_no_receiver_has_fewer_errors_than_a_matched_filter(found):
    """BPSK without interference: the closed form, less four deviations."""
    least = SYMBOLS * 0.5 * erfc(np.sqrt(10 ** (BPSK_SNR / 10)))
    for mode in "frozen", "adapting":
        assert least - 4 * np.sqrt(least) < found[f"sdr_bpsk, {mode}"] < 3 * least


def metadata(path):
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    return json.loads(content[8:8 + length])["__metadata__"]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_they_are_of_the_present_method(path):
    """Files of before November 2026 lack these."""
    assert {"calibrated", "refined_symbol_error_rate", "waveform_noise"} <= metadata(path).keys()


def test_the_command_that_trains_them_makes_one_as_it_is_shipped(tmp_path):
    script = EXAMPLES / "train_models.py"
    said = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True).stdout
    assert all(path.stem in said for path in MODELS) and {path.stem for path in MODELS} == set(RECEIVED)
    subprocess.run([sys.executable, script, "qpsk_packets", "-o", tmp_path], check=True, capture_output=True)
    made, shipped = (metadata(folder / "qpsk_packets.safetensors") for folder in (tmp_path, EXAMPLES / "models"))
    assert made.keys() == shipped.keys() and made["training"] == shipped["training"]
    assert float(made["waveform_noise"]) == pytest.approx(float(shipped["waveform_noise"]), rel=0.02)
