# SPDX-License-Identifier: GPL-3.0-or-later
"""A carrier's offset, found in the spectrum."""

import numpy as np
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.filter import firdes
from scipy.signal import fftconvolve, resample


def received(seed, sps, roll_off, ratio, offset, echo=0.25, symbols=8192):
    """Of 8PSK in noise, `ratio` dB a symbol: a second ray 1.25 symbols late, offset in cycles a symbol."""
    random = np.random.default_rng(seed)
    samples = np.zeros(8 * symbols, complex)
    samples[::8] = np.exp(0.25j * np.pi * random.integers(0, 8, symbols))
    samples = fftconvolve(samples, firdes.root_raised_cosine(1, 8, 1, roll_off, 16 * 8 + 1), "same")
    samples += echo * np.exp(2j * np.pi * random.uniform()) * np.roll(samples, 10)
    samples = resample(samples, int(symbols * sps))
    samples *= np.exp(2j * np.pi * offset / sps * np.arange(samples.size)) / np.sqrt(np.mean(abs(samples) ** 2))
    noise = random.standard_normal((samples.size, 2)) @ [1, 1j]
    return samples + noise * np.sqrt(sps / 2 * 10 ** (-ratio / 10))


def centred(block, samples, items=8192):
    sink, top = blocks.vector_sink_c(), gr.top_block()
    top.connect(blocks.vector_source_c(samples.astype(np.complex64)), block, sink)
    top.run(items)
    return np.array(sink.data())


@pytest.mark.parametrize("sps, roll_off, ratio", [(2, 0.35, 14), (2.4, 0.2, 10), (4, 0.35, 14), (4, 0.35, 0),
                                                  (16, 0.25, 5), (64, 0.35, 14)])
def test_the_offset_is_removed_but_for_a_part_of_what_an_echo_moves_it_by(sps, roll_off, ratio):
    """16 draws of each were within 0.04 cycles a symbol; far offsets are taken whatever the constellation."""
    for seed, offset in enumerate((0.2, -0.1, 0.07)):
        block = adann.coarse_carrier(sps, roll_off)
        samples = received(seed, sps, roll_off, ratio, offset)
        out = centred(block, samples)
        assert abs(block.frequency() - offset) < 0.05
        late = np.arange(samples.size - 1000, samples.size)
        turned = np.unwrap(np.angle(out[late] / samples[late]))
        assert np.polyfit(late, turned, 1)[0] * sps / (2 * np.pi) == pytest.approx(-block.frequency(), abs=1e-6)


@pytest.mark.parametrize("samples", [received(1, 4, 0.35, 14, 0.01), received(2, 4, 0.35, 14, 0, echo=0.5),
                                     received(3, 4, 0.35, -60, 0.2, symbols=100_000), np.zeros(100_000)],
                         ids=["near", "a strong echo", "noise", "nothing"])
def test_what_is_near_the_middle_or_noise_stays(samples):
    """Noise alone fits as well with 32 looks of 50,000 (chi-square of one degree of freedom beyond 150)."""
    block = adann.coarse_carrier(4)
    out = centred(block, samples)
    if np.ptp(abs(samples)) == 0 or np.mean(abs(samples) ** 2) > 1e3:
        assert block.frequency() == 0
    assert abs(block.frequency()) < 0.06
    if block.frequency() == 0:
        np.testing.assert_array_equal(out, samples.astype(np.complex64))


def test_a_sender_that_is_switched_on_is_found_behind_loud_noise_and_a_step_of_its_level():
    noise = received(4, 4, 0.35, -60, 0, symbols=20_000)
    block = adann.coarse_carrier(4)
    centred(block, np.concatenate([noise / 30, 10 * received(5, 4, 0.35, 12, -0.12)]))
    assert abs(block.frequency() + 0.12) < 0.04


def test_another_sender_is_taken_at_once_and_one_that_drifts_is_followed_slowly():
    block = adann.coarse_carrier(4)
    centred(block, np.concatenate([received(6, 4, 0.35, 14, 0.1), received(7, 4, 0.35, 14, -0.1, symbols=20_000)]))
    assert abs(block.frequency() + 0.1) < 0.04
    near = adann.coarse_carrier(4)
    centred(near, np.concatenate([received(8, 4, 0.35, 20, 0.1, 0), received(9, 4, 0.35, 20, 0.155, 0)]))
    assert 0 < abs(near.frequency() - 0.1) < 0.02  # 2e-9 a symbol in each of 8192 symbols, no step


def test_the_output_does_not_depend_on_how_the_stream_is_cut_nor_on_what_is_no_number():
    samples = received(10, 4, 0.35, 14, 0.1)
    whole, cut = (centred(adann.coarse_carrier(4), samples, items) for items in (8192, 130))
    np.testing.assert_array_equal(whole, cut)
    samples[3000:3010] = np.nan
    block = adann.coarse_carrier(4)
    out = centred(block, samples)
    assert np.all(np.isfinite(np.delete(out, range(3000, 3010)))) and abs(block.frequency() - 0.1) < 0.04


@pytest.mark.parametrize("name, offset", [("8psk", 0.1), ("8psk", -0.09), ("bpsk", 0.2), ("16qam", 0.1)])
def test_a_receiver_knows_which_of_the_offsets_that_a_constellation_cannot_tell_apart(name, offset):
    """8PSK turned by an eighth of a turn in each symbol is 8PSK: without this block its reach is 0.0625."""
    alphabet, random = core.constellation(name), np.random.default_rng(3)
    sent = random.integers(0, alphabet.size, 60_000)
    samples = np.zeros(4 * sent.size, complex)
    samples[::4] = alphabet.points[sent] / np.sqrt(np.mean(abs(alphabet.points) ** 2))
    pulse = firdes.root_raised_cosine(1, 4, 1, 0.35, 89)
    samples = fftconvolve(samples, np.array(pulse) / np.linalg.norm(pulse), "same")
    samples *= np.exp(2j * np.pi * offset / 4 * np.arange(samples.size))
    samples += 0.05 * (random.standard_normal((samples.size, 2)) @ [1, 1j])
    receiver = adann.receiver("", 4, 1, constellation=name, carrier_recovery=True, mode="lockstep")
    top = gr.top_block()
    top.connect(blocks.vector_source_c(samples), receiver, blocks.null_sink(1))
    top.run()
    assert abs(receiver.carrier.frequency() - offset) < 1e-4


@pytest.mark.parametrize("given, message", [
    (dict(sps=1.9), "sps is 1.9, allowed: 2 to 64"), (dict(sps=np.nan), "sps is nan, allowed: 2 to 64"),
    (dict(sps=1e30), "sps is 1e[+]30, allowed: 2 to 64"),
    (dict(sps=4, roll_off=0), "roll_off is 0, allowed: 0.05 to 1")])
def test_a_parameter_out_of_range_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        adann.coarse_carrier(**given)
