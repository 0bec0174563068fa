# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft bits through the decoders whose convention they have: the consumer's own, or one that does what it does.

PAM4 in white noise, whose posteriors have a closed form: 7 or 13 % of the bits are decided wrongly. A convention with a
wrong sign decodes nothing; each test tries that too.
"""

import contextlib
import os

import numpy as np
import pytest
from gnuradio import adann, blocks, fec, gr
from gnuradio.adann import core
from gnuradio.fec.polar import channel_construction_bec

CODE = 2000, 7, 2, [79, 109], 0  # bits of a frame, constraint length, 1/rate, polynomials, first state
ALIST = os.path.join(gr.prefix(), "share/gnuradio/fec/ldpc/n_1100_k_0442_gap_24.alist")
FRAMES = 20
NOISE, NOISE_LDPC = 0.8, 1.05  # the levels are 2 apart; for rate 1/2 and 0.4


def run(source, *path, sink):
    top = gr.top_block()
    top.connect(source, *path, sink)
    top.run()
    return np.array(sink.data())


def encode(encoder, payload):
    return run(blocks.vector_source_b(payload), fec.encoder(encoder, 1, 1), sink=blocks.vector_sink_b())


def payload_of(bits):
    return np.random.default_rng(1).integers(0, 2, bits * FRAMES).astype(np.uint8)


def received(coded, convention, noise=NOISE):
    """The soft bits of coded bits, and a check that decisions alone have errors."""
    points = np.array(core.constellation("pam4").points).real
    labels = coded.reshape(-1, 2) @ np.array([2, 1], np.uint8)
    y = points[labels] + noise * np.random.default_rng(2).standard_normal(labels.size)
    likelihoods = np.exp(-(y[:, None] - points) ** 2 / (2 * noise**2))
    posteriors = (likelihoods / likelihoods.sum(axis=1, keepdims=True)).astype(np.float32)
    decided = np.unpackbits(posteriors.argmax(axis=1).astype(np.uint8)[:, None], axis=1)[:, -2:].ravel()
    assert 0.06 < np.mean(decided != coded) < 0.14
    is_float = core.soft_bits(4, convention).convention.type == "float"
    return run(blocks.vector_source_f(posteriors.ravel(), False, 4), adann.soft_bits(4, convention),
               sink=blocks.vector_sink_f() if is_float else blocks.vector_sink_b()).astype(
                   np.float32 if is_float else np.uint8).view(np.float32 if is_float else np.int8)


def lost(decoded, payload):
    """The part of the frames that are not as they were sent."""
    return np.mean((np.reshape(decoded, (FRAMES, -1)) != payload.reshape(FRAMES, -1)).any(axis=1))


def test_gnu_radios_convolutional_decoder_takes_gnuradio_cc():
    payload = payload_of(CODE[0])
    coded = encode(fec.cc_encoder.make(*CODE, fec.CC_TAILBITING, False), payload)
    soft = received(coded, "gnuradio_cc")

    def decoded(values):
        decoder = fec.cc_decoder.make(*CODE, -1, fec.CC_TAILBITING, False)
        return run(blocks.vector_source_f(values), fec.extended_decoder(decoder, None), sink=blocks.vector_sink_b())

    assert lost(decoded(soft), payload) <= 0.1  # none; of hard decisions all
    assert lost(decoded(np.sign(soft)), payload) == lost(decoded(-soft), payload) == 1


def test_satdumps_decoder_of_unsigned_bytes_takes_satdump():
    """It adds 127 to each soft bit, and decodes as GNU Radio's cc_decoder does, of which it is a port."""
    payload = payload_of(CODE[0])
    soft = received(encode(fec.cc_encoder.make(*CODE, fec.CC_TAILBITING, False), payload), "satdump")
    assert soft.min() == -127 and soft.max() == 127

    def decoded(values):
        decoder = fec.cc_decoder.make(*CODE, -1, fec.CC_TAILBITING, False)
        return run(blocks.vector_source_b((values.astype(int) + 127).astype(np.uint8)), fec.decoder(decoder, 1, 1),
                   sink=blocks.vector_sink_b())

    assert lost(decoded(soft), payload) <= 0.1  # none
    assert lost(decoded(-soft), payload) == 1


def ldpc_decoder():
    """Before GNU Radio 3.10.8 it made ratios y/(2 sigma^2) of its own; where they are exact, it overflows."""
    with contextlib.suppress(TypeError):
        return fec.ldpc_decoder_make(ALIST, 1, 50)
    return fec.ldpc_decoder_make(ALIST, 50)


def polar_code():
    """(512, 256): bits, of them of the payload, frozen ones and their values."""
    order = np.argsort(channel_construction_bec.calculate_bec_channel_capacities(0.4, 512))
    return 512, 256, np.sort(order[:256]).tolist(), [0] * 256


@pytest.mark.parametrize("code", ["ldpc", "polar", "polar list"])
def test_gnu_radios_ldpc_and_polar_decoders_take_gnuradio(code):
    if code == "ldpc":
        bits, encoder, make, noise = 442, fec.ldpc_encoder_make(ALIST), ldpc_decoder, NOISE_LDPC
    else:
        bits, noise, encoder = 256, NOISE, fec.polar_encoder.make(*polar_code(), False)
        make = (lambda: fec.polar_decoder_sc_list.make(8, *polar_code())) if "list" in code else (
            lambda: fec.polar_decoder_sc.make(*polar_code()))
    payload = payload_of(bits)
    soft = received(encode(encoder, payload), "gnuradio", noise)

    def decoded(values):
        return run(blocks.vector_source_f(values), fec.decoder(make(), 4, 1), sink=blocks.vector_sink_b())

    assert lost(decoded(soft), payload) <= 0.1  # none
    assert lost(decoded(-soft), payload) == 1


def parity_checks():
    """The bits of each check of the LDPC code, as GNU Radio's file has them."""
    with open(ALIST) as file:
        lines = [[int(word) for word in line.split()] for line in file]
    bits, checks = lines[0]
    return [[bit - 1 for bit in row if bit] for row in lines[4 + bits:4 + bits + checks]]


def belief_propagation(ratios, combine, iterations=50):
    """The bits (frames, n) that flooding decides of ratios (frames, n), where positive says 0.

    combine: gives of the messages (frames, checks, degree) that come to checks, those that leave."""
    checks = parity_checks()
    degree = max(map(len, checks))
    at = np.array([row + [ratios.shape[1]] * (degree - len(row)) for row in checks])  # the last bit is a known 0
    total = np.pad(ratios.astype(float), ((0, 0), (0, 1)), constant_values=1e3)
    channel, leaving = total.copy(), np.zeros((len(ratios), *at.shape))
    for _ in range(iterations):
        leaving = combine(total[:, at] - leaving)
        total = channel.copy()
        for frame, messages in zip(total, leaving):
            frame += np.bincount(at.ravel(), messages.ravel(), frame.size)
        total[:, -1] = 1e3
    return total[:, :-1] < 0


def sum_product(messages):
    """Of log-likelihood ratios in nats."""
    tanh = np.clip(np.tanh(messages / 2), -1 + 1e-12, 1 - 1e-12)
    tanh[abs(tanh) < 1e-12] = 1e-12
    return 2 * np.arctanh(np.clip(tanh.prod(axis=2, keepdims=True) / tanh, -1 + 1e-12, 1 - 1e-12))


def offset_min_sum(messages):
    """Of whole numbers: gr-dvbs2rx's, with an offset of one step; what comes to a check is limited to -32 … 31."""
    messages = np.clip(messages, -32, 31)
    size = np.sort(abs(messages), axis=2)
    least = np.where(abs(messages) == size[:, :, :1], size[:, :, 1:2], size[:, :, :1])
    sign = np.where(messages < 0, -1, 1)
    return sign.prod(axis=2, keepdims=True) * sign * np.maximum(least - 1, 0)


@pytest.mark.parametrize("convention, says_0, combine", [
    ("aff3ct", 1, sum_product), ("opticommpy", 1, sum_product), ("matlab", 1, sum_product),
    ("sionna", -1, sum_product), ("dvbs2rx", 1, offset_min_sum)])
def test_a_decoder_of_that_convention_decodes_an_ldpc_code(convention, says_0, combine):
    """AFF3CT, OptiCommPy and MATLAB decode ln(P(0)/P(1)), Sionna ln(P(1)/P(0)), in nats; gr-dvbs2rx int8."""
    coded = encode(fec.ldpc_encoder_make(ALIST), payload_of(442))
    soft = received(coded, convention, NOISE_LDPC).reshape(FRAMES, -1)
    assert lost(belief_propagation(says_0 * soft, combine), coded) <= 0.1
    assert lost(belief_propagation(-says_0 * soft, combine, 5), coded) == 1


def test_sionnas_ldpc_decoder_takes_sionna():
    ldpc = pytest.importorskip("sionna.phy.fec.ldpc", reason="Sionna is not installed: pip install sionna-no-rt")
    import torch

    coded = encode(fec.ldpc_encoder_make(ALIST), payload_of(442))
    soft = torch.tensor(received(coded, "sionna", NOISE_LDPC).reshape(FRAMES, -1))
    checks = parity_checks()
    matrix = np.zeros((len(checks), soft.shape[1]), np.uint8)
    for row, bits in zip(matrix, checks):
        row[bits] = 1
    decoder = ldpc.LDPCBPDecoder(matrix, num_iter=50, hard_out=True)
    assert lost(decoder(soft).numpy(force=True), coded) <= 0.1
    assert lost(decoder(-soft).numpy(force=True), coded) == 1


def test_opticommpys_ldpc_decoder_takes_opticommpy():
    optic = pytest.importorskip("optic.comm.fec", reason="OptiCommPy is not installed: pip install opticommpy")
    from optic.utils import parameters
    from scipy.sparse import csr_matrix

    coded = encode(fec.ldpc_encoder_make(ALIST), payload_of(442))
    soft = received(coded, "opticommpy", NOISE_LDPC).reshape(FRAMES, -1).T
    checks = parity_checks()
    settings = parameters()
    rows = np.repeat(np.arange(len(checks)), [len(row) for row in checks])
    settings.H = csr_matrix((np.ones(rows.size, np.uint8), (rows, np.concatenate(checks))))
    settings.maxIter = 50
    assert lost(optic.decodeLDPC(soft, settings)[0].T, coded) <= 0.1
    assert lost(optic.decodeLDPC(-soft, settings)[0].T, coded) == 1
