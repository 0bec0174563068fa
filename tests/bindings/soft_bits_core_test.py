# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft bits in numpy, their conventions and what they are worth, against formulas."""

import numpy as np
import pytest
from gnuradio.adann import core

# Of each decoder: its source or manual.
CONVENTIONS = {
    "gnuradio": (1, "float", 1, 20), "gnuradio_cc": (1, "float", 0.25, 10), "sionna": (1, "float", 1, 20),
    "aff3ct": (0, "float", 1, 20), "opticommpy": (0, "float", 1, 20), "matlab": (0, "float", 1, 20),
    "dvbs2rx": (0, "int8", 2, 20), "satdump": (1, "int8", 12.7, 10)}


def posteriors(size, symbols=2000):
    return np.random.default_rng(1).dirichlet(np.full(size, 0.4 / size), symbols).astype(np.float32)


def ratios(p):
    """ln(P(1)/P(0)) of each bit, most significant first."""
    labels = np.arange(p.shape[1], dtype=np.uint8)
    ones = np.unpackbits(labels[:, None], axis=1)[:, -(p.shape[1].bit_length() - 1):]
    with np.errstate(divide="ignore"):
        return (np.log(p.astype(float) @ ones) - np.log(p.astype(float) @ (1 - ones))).ravel()


def test_the_table_is_that_of_the_decoders():
    assert core.soft_bit_decoders.keys() == core.soft_bit_conventions.keys()
    found = {name: (one.positive, one.type, pytest.approx(one.scale), one.clip)
             for name, one in core.soft_bit_conventions.items()}
    assert found == CONVENTIONS


@pytest.mark.parametrize("size", [2, 4, 16])
@pytest.mark.parametrize("convention", [
    *CONVENTIONS, core.soft_bit_convention(positive=0, type="int8", scale=30, clip=5),
    core.soft_bit_convention(scale=3, clip=0.5)], ids=str)
def test_soft_bits_are_sign_scale_and_limit_of_the_ratios(convention, size):
    soft = core.soft_bits(size, convention)
    p, how = posteriors(size), soft.convention
    expected = (1 if how.positive else -1) * how.scale * np.clip(ratios(p), -how.clip, how.clip)
    found = soft.process(p)
    if how.type == "float":
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-3 * how.scale)
    else:
        assert found.dtype == np.int8 and abs(found.astype(int)).max() == min(127, round(how.scale * how.clip))
        np.testing.assert_allclose(found, np.clip(expected, -127, 127), atol=0.51)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_convention_keeps_the_generalized_mutual_information(convention):
    """Integers lose less than 0.01 bits a symbol. Expected: its definition, of labels drawn from the posteriors."""
    p = posteriors(4, 100_000)
    sent = (p.cumsum(axis=1) < np.random.default_rng(2).random(len(p))[:, None]).sum(axis=1).astype(np.uint8)
    bits = np.unpackbits(sent[:, None], axis=1)[:, -2:].ravel()
    expected = 2 - 2 * np.mean(np.log2(1 + np.exp(np.clip((1 - 2 * bits.astype(int)) * ratios(p), -50, 50))))
    soft = core.soft_bits(4, convention)
    assert 1 < expected < 1.9
    assert soft.gmi(soft.process(p), sent) == pytest.approx(expected, abs=0.01)
    assert soft.gmi(-soft.process(p), sent) < 0  # the other sign is worse than to know nothing


def test_a_code_rates_limit_is_the_capacity_at_which_dvb_s2_decodes():
    """ETSI EN 302 307-1, Table 13: Es/N0 of QPSK, whose bits have ratios N(2 Es/N0, 4 Es/N0)."""
    x, weight = np.polynomial.hermite_e.hermegauss(100)
    for rate, snr in {"1/4": -2.35, "1/3": -1.24, "2/5": -0.3, "1/2": 1, "3/5": 2.23, "2/3": 3.1, "3/4": 4.03,
                      "4/5": 4.68, "5/6": 5.18, "8/9": 6.2, "9/10": 6.42}.items():
        mean = 2 * 10 ** (snr / 10)
        missing = np.log2(1 + np.exp(-(mean + np.sqrt(2 * mean) * x)))
        limit = 1 - missing @ weight / weight.sum()
        assert core.highest_code_rate(limit + 1e-4) == rate != core.highest_code_rate(limit - 1e-4)
    assert core.highest_code_rate(0.3) == core.highest_code_rate(np.nan) == core.highest_code_rate(-1) == ""


@pytest.mark.parametrize("make, said", [
    (lambda: core.soft_bits(4, "aff3"), "convention is 'aff3', allowed: gnuradio, gnuradio_cc, sionna, aff3ct, "
     "opticommpy, matlab, dvbs2rx, satdump"),
    (lambda: core.soft_bits(4, None), "convention is None, allowed: a name of core.soft_bit_conventions, or a "
     "core.soft_bit_convention"),
    (lambda: core.soft_bits(12), "size is 12, allowed: powers of two from 2 to 256"),
    (lambda: core.soft_bit_convention(positive=2), "positive is 2, allowed: 0 to 1"),
    (lambda: core.soft_bit_convention(type="int16"), "type is 'int16', allowed: float, int8"),
    (lambda: core.soft_bit_convention(scale=0), "scale is 0, allowed: 0.001 to 1000"),
    (lambda: core.soft_bit_convention(clip=np.nan), "clip is nan, allowed: 0.1 to 60"),
    (lambda: core.soft_bits(4).process(np.zeros((3, 2))), r"posteriors' shape is (3, 2), allowed: (N, 4)"),
    (lambda: core.soft_bits(4).gmi(np.zeros(3), np.zeros(2)), "soft_bits' shape is (3,), allowed: (4,), those of the "
     "labels sent")])
def test_what_is_not_allowed_is_named(make, said):
    with pytest.raises(ValueError) as error:
        make()
    assert str(error.value) == said


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_extrinsic_soft_bits_are_the_ratios_without_those_known_a_priori(convention):
    soft, p = core.soft_bits(4, convention), posteriors(4)
    a_priori = np.random.default_rng(3).normal(0, 12, 2 * len(p)).astype(np.float32)
    how = soft.convention
    expected = (1 if how.positive else -1) * how.scale * np.clip(
        np.clip(ratios(p), -69, 69) - np.clip(a_priori, -20, 20), -how.clip, how.clip)
    found = soft.process(p, a_priori)
    np.testing.assert_allclose(found, np.clip(expected, -127, 127), atol=1e-3 if how.type == "float" else 0.51)
    np.testing.assert_array_equal(soft.process(p, 0 * a_priori), soft.process(p))


@pytest.mark.parametrize("a_priori, refusal", [
    (np.zeros(7), r"a_priori's shape is \(7,\), allowed: \(8,\), a ratio for each bit"),
    (np.zeros((4, 2)), r"a_priori's shape is \(4, 2\), allowed: \(8,\), a ratio for each bit"),
    ([0, 0, np.nan, 0, 0, 0, 0, 0],
     r"a_priori\[2\] is nan, allowed: log-likelihood ratios, 0 where nothing is known")])
def test_a_priori_ratios_that_do_not_fit_are_refused(a_priori, refusal):
    with pytest.raises(ValueError, match=refusal):
        core.soft_bits(4).process(np.full((4, 4), 0.25), a_priori)
