# SPDX-License-Identifier: GPL-3.0-or-later
"""Two channels, a matrix of filters and a network behind each output, exported as one: against numpy and the core."""

import subprocess

import numpy as np
import onnxruntime
import pytest
from c_source_test import STRICT
from gnuradio.adann import core
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.export.c_source import c_source
from gnuradio.adann.export.fold import fold_matrix, read_matrix
from gnuradio.adann.export.frozen import Frozen
from gnuradio.adann.export.hls_source import hls_source
from gnuradio.adann.export.onnx_file import onnx_contents
from gnuradio.adann.export.quantize import quantize
from gnuradio.adann.offline.training import feature_view
from hls_source_test import simulated, write

TAPS, SYMBOLS = 7, 1_000_000
EDGE = 8  # symbols whose windows reach beyond the record, where one has silence and the other silence filtered


class Mixture:
    """Two transmitters in two channels, and the inverse matrix that somebody found."""

    def __init__(self, link):
        random = np.random.default_rng(5)
        turned = np.array([[np.cos(0.7), -np.sin(0.7) * 1j], [np.sin(0.7) * 1j, np.cos(0.7)]])
        self.matrix = 0.02 * (random.standard_normal((2, 2, TAPS)) + 1j * random.standard_normal((2, 2, TAPS)))
        self.matrix[..., TAPS // 2] += np.linalg.inv(turned)
        self.matrix = self.matrix.astype(np.complex64)
        other = core.model.from_bytes(link.model.to_bytes())
        other.network.bias(0)[:] += 0.05  # as if it had adapted
        self.models, self.link, self.turned = (link.model, other), link, turned

    def channels(self, symbols, seed=2):
        """complex64 (2, n), normalised."""
        sent = np.stack([self.link.record(symbols, seed + k)[0] for k in (0, 1)])
        return np.stack([normalized(each.astype(np.complex64)) for each in self.turned @ sent])

    def decided(self, channels):
        """Labels (n, 2) and posteriors (n, 2, M) of the filters by numpy, with the networks behind them."""
        labels, posteriors = [], []
        for taps, model in zip(self.matrix, self.models):
            stream = sum(np.convolve(each, filter[::-1], "same") for each, filter in zip(channels, taps))
            found = model.network.decide(feature_view(stream.astype(np.complex64), model.sps, model.half_window))
            labels.append(found[0])
            posteriors.append(found[1])
        return np.stack(labels, 1), np.stack(posteriors, 1)

    def folded(self):
        return fold_matrix(self.models, self.matrix)


@pytest.fixture(scope="module")
def mixture(complex_link):
    return Mixture(complex_link)


def interleaved(channels):
    """A sample of each channel in turn, floats."""
    return np.ascontiguousarray(channels.T).reshape(-1).view(np.float32)


def surrounded(frozen, channels):
    """Floats of a record with silence around it: as many windows lie in it as it has symbols."""
    return np.pad(interleaved(channels), (frozen.floats_before, frozen.inputs - frozen.floats_before - frozen.stride))


def test_onnx_decides_a_million_symbols_as_the_filters_and_the_networks(mixture):
    channels = mixture.channels(SYMBOLS)
    labels, posteriors = mixture.decided(channels)
    frozen = Frozen(mixture.folded())
    session = onnxruntime.InferenceSession(onnx_contents(frozen), providers=["CPUExecutionProvider"])
    frames = surrounded(frozen, channels).reshape(1, -1, frozen.stride)
    found = session.run(None, {"samples": frames})[0][0]
    assert found.shape == (SYMBOLS, 2, frozen.model.constellation.size)
    inner = slice(EDGE, -EDGE)
    # Twice 7 taps more than a network alone, by floats in another order: 2.0e-5 measured.
    np.testing.assert_allclose(found[inner], posteriors[inner], rtol=0, atol=5e-5)
    differs = found.argmax(2)[inner] != labels[inner]
    second, first = np.sort(posteriors[inner][differs])[:, -2:].T
    assert differs.sum() <= 6 and np.all(first - second < 1e-4)


def test_c_decides_a_million_symbols_as_the_filters_and_the_networks(mixture, tmp_path):
    channels = mixture.channels(SYMBOLS)
    labels, posteriors = mixture.decided(channels)
    found = run_c(Frozen(mixture.folded()), channels, tmp_path)
    differs = found[EDGE:-EDGE] != labels[EDGE:-EDGE]
    second, first = np.sort(posteriors[EDGE:-EDGE][differs])[:, -2:].T
    assert differs.sum() <= 6 and np.all(first - second < 1e-4)


def run_c(frozen, channels, folder):
    """Labels (n, 2), after the self-test."""
    write(folder / "c", c_source(frozen, "dual"))
    for option in "SELF_TEST", "FILTER":
        subprocess.run(["gcc", *STRICT, f"-DADANN_{option}", "dual.c", "-o", option], cwd=folder / "c", check=True)
    run = subprocess.run([folder / "c/SELF_TEST"], capture_output=True)
    assert (run.returncode, run.stdout) == (0, b"0 of 32 golden windows differ\n")
    found = subprocess.run([folder / "c/FILTER"], input=interleaved(channels).tobytes(), capture_output=True,
                           check=True).stdout
    return np.frombuffer(found, np.uint8).reshape(-1, 2)


@pytest.fixture
def whole(mixture):
    """In 12 bits: with 88 rounded inputs instead of 28, 8 cost many more errors than in one channel."""
    folded = mixture.folded()
    folded.formats = quantize(folded.network, Frozen(folded).windows(interleaved(mixture.channels(20_000, 7))), 12)
    return Frozen(folded)


def test_whole_numbers_in_c_are_the_core_s_to_the_bit(mixture, whole, tmp_path):
    channels = mixture.channels(SYMBOLS)
    expected = whole.labels(whole.quantized.decide(whole.windows(surrounded(whole, channels)))[1])
    np.testing.assert_array_equal(run_c(whole, channels, tmp_path), expected)
    in_float = mixture.decided(channels)[0]
    sent = np.stack([mixture.link.record(SYMBOLS, 2 + k)[1] for k in (0, 1)], 1)
    assert np.mean(expected != sent) < 1.05 * np.mean(in_float != sent)


def test_the_test_bench_for_high_level_synthesis_passes(whole, ap_types, tmp_path):
    write(tmp_path / "dual", hls_source(whole, "dual"))
    run = simulated(ap_types, tmp_path / "test", *(tmp_path / "dual").glob("*.cpp"))
    assert (run.returncode, run.stdout) == (0, "0 differences\n")


def test_each_channel_s_mean_and_rms_are_taken_off(mixture, tmp_path):
    channels = mixture.channels(20_000)
    received = (channels * np.array([[0.02], [30]]) + np.array([[0.1 - 0.03j], [-4 + 9j]])).astype(np.complex64)
    found = run_c(Frozen.of(mixture.folded(), *received), received, tmp_path)
    assert np.mean(found[EDGE:-EDGE] != mixture.decided(channels)[0][EDGE:-EDGE]) < 1e-3


@pytest.mark.parametrize("taps, said", [
    (np.ones((2, 2, 4), np.complex64), r"\(2, 2, 4\), allowed: complex"),
    (np.ones((3, 2, 5), np.complex64), "as many outputs or fewer"),
    (np.ones((2, 2, 5), np.float32), "float32"),
    (np.full((1, 2, 5), np.nan, np.complex64), "not finite"),
    (np.array([{}]), "no matrix of filters")])
def test_what_is_no_matrix_is_refused(tmp_path, taps, said):
    np.save(tmp_path / "matrix.npy", taps)
    with pytest.raises(ValueError, match=said):
        read_matrix(tmp_path / "matrix.npy")


def test_a_damaged_file_is_refused(tmp_path):
    np.save(tmp_path / "matrix.npy", np.ones((2, 2, 5), np.complex64))
    for contents in (b"no numbers", (tmp_path / "matrix.npy").read_bytes()[:-3]):
        (tmp_path / "matrix.npy").write_bytes(contents)
        with pytest.raises(ValueError, match="no matrix of filters"):
            read_matrix(tmp_path / "matrix.npy")


def test_networks_that_are_not_alike_and_real_samples_are_refused(pam4):
    taps = np.ones((2, 2, 1), np.complex64)
    with pytest.raises(ValueError, match="the model is for real samples"):
        fold_matrix([pam4], taps)
    qpsk = [core.model(core.network([20, size, 4]), 2, 2, True, core.constellation("qpsk")) for size in (5, 6, 7)]
    with pytest.raises(ValueError, match="different size or constellation"):
        fold_matrix(qpsk[:2], taps)
    with pytest.raises(ValueError, match="3 models, allowed: 1, or one for each"):
        fold_matrix(qpsk, taps)
