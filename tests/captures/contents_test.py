# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that hold other samples than their name or metadata says are refused or noted, and no others."""

import json
import warnings

import numpy as np
import pytest
import scipy.signal
from gnuradio.adann.captures.files import read_capture
from gnuradio.adann.captures.notes import CaptureWarning
from gnuradio.adann.captures.recordings import read_recording

SIZE = 30_000
QPSK = np.exp(0.5j * np.pi * (np.arange(4) + 0.5))


def shaped(points, sps, snr=20, seed=0, size=SIZE):
    """Linear modulation with a Hann pulse of two symbols, in white noise; mean power 1."""
    random = np.random.default_rng(seed)
    sent = np.zeros(size + 4 * sps, complex)
    sent[::sps] = random.choice(points, sent[::sps].size)
    samples = scipy.signal.lfilter(scipy.signal.windows.hann(2 * sps + 1)[1:] if sps > 1 else [1], 1, sent)[:size]
    samples /= np.sqrt(np.mean(abs(samples) ** 2))
    return samples + 10 ** (-snr / 20) * random.standard_normal((size, 2)) @ [1, 1j] / np.sqrt(2)


def turned(samples, cycles):
    return samples * np.exp(2j * np.pi * cycles * np.arange(samples.size))


def flat(samples):
    """I and Q in turn."""
    return np.ascontiguousarray(samples, np.complex128).view(np.float64)


def whole(numbers, rms, kind):
    """Rounded to a type of whole numbers."""
    limits = np.iinfo(kind)
    return (np.round(rms * numbers) + (limits.min + limits.max + 1) // 2).clip(limits.min, limits.max).astype(kind)


def written(folder, name, numbers):
    path = folder / name
    content = numbers.tobytes()
    path.write_bytes(content[:len(content) // 16 * 16])
    return path


def meta(folder, datatype):
    path = folder / "a.sigmf-meta"
    path.write_text(json.dumps({"global": {"core:datatype": datatype, "core:version": "1.0.0"},
                                "captures": [{"core:sample_start": 0}]}))
    return path


SIGNAL = flat(turned(shaped(QPSK, 4), 0.01))
OTHERS = {
    "i1": (whole(SIGNAL, 20, "i1"), "8-bit numbers", "ci8 or cu8"),
    "u1": (whole(SIGNAL, 20, "u1"), "8-bit numbers", "ci8 or cu8"),
    "<i2": (whole(SIGNAL, 6000, "<i2"), "16-bit little-endian numbers", "ci16 or cu16"),
    ">i2": (whole(SIGNAL, 6000, ">i2"), "16-bit big-endian numbers", "ci16be or cu16be"),
    "<i4": (whole(SIGNAL, 1e8, "<i4"), "32-bit little-endian numbers", "cf32 or ci32"),
    "<f4": (SIGNAL.astype("<f4"), "32-bit little-endian numbers", "cf32 or ci32"),
    ">f4": (SIGNAL.astype(">f4"), "32-bit big-endian numbers", "cf32be or ci32be"),
    "<f8": (SIGNAL.astype("<f8"), "64-bit little-endian numbers", "cf64"),
    ">f8": (SIGNAL.astype(">f8"), "64-bit big-endian numbers", "cf64be")}


@pytest.mark.parametrize("kind", [kind for kind in OTHERS if kind != "<i2"])
def test_other_numbers_under_the_name_of_16_bits_are_refused_and_their_type_is_named(tmp_path, kind):
    numbers, found, ways = OTHERS[kind]
    path = written(tmp_path, "a.cs16", numbers)
    with pytest.raises(ValueError, match=f"a.cs16: its bytes are as of {found}, allowed: 16-bit little-endian numbers; "
                                         f"adann import --type {ways} reads those") as error:
        read_capture(path)
    assert "\n" not in str(error.value)
    way = ways.split(" or ")[{"u1": 1, "<i4": 1}.get(kind, 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samples = flat(read_recording([path], kind=way)[0].samples[:])
    np.testing.assert_allclose(samples / samples.std(), (SIGNAL / SIGNAL.std())[:samples.size], atol=0.05)


@pytest.mark.parametrize("datatype, kind", [
    ("ci8", "<i2"), ("cu8", "<i2"), ("ci8", ">i2"), ("ci16_be", "<i2"), ("ci16_be", "u1"), ("ci32_le", "<i2"),
    ("ci16_le", "<f4"), ("cf64_le", "<f4"), ("ci32_be", "<i4"), ("ri16_le", "<f4")])
def test_other_numbers_than_the_metadata_says_are_refused(tmp_path, datatype, kind):
    numbers, found, _ = OTHERS[kind]
    written(tmp_path, "a.sigmf-data", numbers)
    with pytest.raises(ValueError, match=f"a.sigmf-meta: its bytes are as of {found}, allowed: "):
        read_capture(meta(tmp_path, datatype))


@pytest.mark.parametrize("said, kind", [("ci8", "<i2"), ("ci16", "u1"), ("ci16be", "<i2"), ("ci16", "<f4")])
def test_a_type_that_is_given_is_taken_and_what_contradicts_it_is_noted(tmp_path, said, kind):
    path = written(tmp_path, "a.iq", OTHERS[kind][0])
    with pytest.warns(CaptureWarning, match=f"a.iq: its bytes are as of {OTHERS[kind][1]}, allowed: "):
        assert read_recording([path], kind=said)[0].samples.size


@pytest.mark.parametrize("said, kind", [("cf32be", "<f4"), ("cf64", ">f8"), ("cf64be", "<f8")])
def test_floats_of_another_order_are_noted(tmp_path, said, kind):
    path = written(tmp_path, "a.iq", OTHERS[kind][0])
    with pytest.warns(CaptureWarning, match=f"% of its numbers are beyond .*endian float{said[2:4]}; adann import"):
        read_recording([path], kind=said)


REAL = {
    "PAM4": shaped(np.array([-3, -1, 1, 3]), 4).real, "on and off": shaped(np.array([0, 1]), 8).real,
    "much noise": shaped(np.array([-1, 1]), 4, 10).real, "a carrier": turned(shaped(QPSK, 8), 0.1).real,
    "voice": scipy.signal.lfilter([1], [1, -1.8, 0.9], np.random.default_rng(1).standard_normal(SIZE))}


@pytest.mark.parametrize("case", REAL)
@pytest.mark.parametrize("name, kind", [("a.c64", "f32"), ("a.cfile", "f32"), ("a.cs16", "i16")])
def test_real_samples_under_the_name_of_complex_ones_are_noted(tmp_path, case, name, kind):
    numbers = REAL[case] / REAL[case].std()
    path = written(tmp_path, name, numbers.astype("<f4") if kind == "f32" else whole(numbers, 3000, "<i2"))
    with pytest.warns(CaptureWarning, match=f"{name}: its I and Q are correlated as successive samples of a real "
                                            f"signal; if they are, adann import --type {kind} reads them"):
        read_capture(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_recording([path], kind=kind)[0].samples.size == path.stat().st_size // (4 if kind == "f32" else 2)


COMPLEX = {
    "QPSK": shaped(QPSK, 4), "off the middle": turned(shaped(QPSK, 4), 0.05), "much noise": shaped(QPSK, 8, 3),
    "two samples a symbol": shaped(QPSK, 2), "a tone": turned(np.ones(SIZE) + 0.01 * shaped(QPSK, 1), 0.03),
    "a sideband": scipy.signal.hilbert(REAL["voice"])}


@pytest.mark.parametrize("case", COMPLEX)
def test_i_and_q_under_the_name_of_real_samples_are_noted(tmp_path, case):
    path = written(tmp_path, "a.f32", flat(COMPLEX[case]).astype("<f4"))
    with pytest.warns(CaptureWarning, match="a.f32: its samples are correlated as I and Q in turn; if they are, adann "
                                            "import --type cf32 reads them"):
        read_capture(path)


RANDOM = np.random.default_rng(2)
GATE = np.arange(SIZE) % 9000 < 2000
LEGITIMATE = {
    **COMPLEX, "one sample a symbol": shaped(QPSK, 1), "BPSK on I": shaped([-1, 1], 4).real + 0j,
    "BPSK at 45 degrees": shaped([-1, 1], 8).real * (1 + 1j), "BPSK at 45 degrees in noise": shaped(
        [-1 - 1j, 1 + 1j], 20, 3), "a slow one": shaped([-1 - 1j, 1 + 1j], 200, 10),
    "no noise": shaped(QPSK, 1, 300), "noise": RANDOM.standard_normal((SIZE, 2)) @ [1, 1j],
    "packets": shaped(QPSK, 4) * GATE, "packets in little noise": shaped(QPSK, 4) * GATE + 1e-3 * shaped(QPSK, 1),
    "I and Q out of balance": shaped(QPSK, 4) + 0.05 * np.exp(1j) * shaped(QPSK, 4).conj(),
    "a chirp": np.exp(3e-5j * np.pi * np.arange(SIZE) ** 2.0), "a tone alone": turned(np.ones(SIZE), 0.123),
    "clipped": flat(turned(shaped(QPSK, 4), 0.01)).clip(-0.6, 0.6).view(complex),
    "a ramp on I": (np.arange(SIZE) % 500 / 250 - 1) + 0j, "uniform": RANDOM.uniform(-1.7, 1.7, (SIZE, 2)) @ [1, 1j],
    "BPSK, half a sample later on I": scipy.signal.lfilter([0.25 + 1j, 0.25], 1, shaped([-1, 1], 4).real),
    "BPSK, a sample later on I": scipy.signal.lfilter([1j, 0.8], 1, shaped([-1, 1], 4).real),
    "a sine on I": np.sin(0.1 * np.arange(SIZE)) + 1e-4j * shaped(QPSK, 1).real,
    "silence": np.zeros(SIZE, complex), "a mean": shaped(QPSK, 4) + 3 - 2j}


@pytest.mark.parametrize("case", LEGITIMATE)
def test_captures_of_every_kind_are_taken_for_what_they_are(tmp_path, case):
    numbers = flat(LEGITIMATE[case])
    stored = [("a.c64", numbers.astype("<f4")), ("a.c64", (1e-4 * numbers).astype("<f4")),
              ("a.c64", (whole(numbers, 3000, "<i2") / 2**15).astype("<f4")),
              ("a.c64", ((whole(numbers, 20, "i1") - 0.4) / 128).astype("<f4")),
              *(("a.cs16", whole(numbers, rms, "<i2")) for rms in (0.7, 3, 30, 300, 3000, 12_000, 32_000, 40_000)),
              *(("a.cs16", whole(numbers, rms, "<i2").clip(-2**11, 2**11 - 1) << 4) for rms in (8, 600)),  # 12 bits
              ("a.cs16", whole(numbers, 600, "<i2").clip(-2**10, 2**10 - 1) << 5),  # 11 bits
              *(("a.cs16", np.floor(step * whole(numbers, 25, "i1")).astype("<i2")) for step in (
                  256, 257, 258.007, 255.99)),  # 8 bits
              ("a.cs16", 256 * whole(numbers, 70, "i1").astype("<i2"))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, each in stored:
            assert read_capture(written(tmp_path, name, each)).samples.size == SIZE


@pytest.mark.parametrize("case", [*REAL, "two samples a symbol", "a quarter of the rate", "white", "a walk"])
def test_real_records_of_every_kind_are_taken_for_what_they_are(tmp_path, case):
    samples = {**REAL, "two samples a symbol": shaped([-1, 1], 2).real, "white": RANDOM.standard_normal(SIZE),
               "a quarter of the rate": turned(shaped(QPSK, 8), 0.25).real,
               "a walk": np.cumsum(RANDOM.standard_normal(SIZE))}[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_capture(written(tmp_path, "a.f32", samples.astype("<f4")))
        for kind in "i1", "u1", "<i2", ">i2", "<i4", "<f4", ">f4", "<f8", ">f8":
            numbers = samples / samples.std()
            size = np.dtype(kind).itemsize
            numbers = numbers.astype(kind) if kind[-2] == "f" else whole(numbers, 0.18 * 2.0**(8 * size - 1), kind)
            name = f"{kind[-2]}{8 * size}{'be' if kind[0] == '>' else ''}"
            read_recording([written(tmp_path, "a.raw", numbers)], kind=name)
