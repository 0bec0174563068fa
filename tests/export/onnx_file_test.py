# SPDX-License-Identifier: GPL-3.0-or-later
"""ONNX files, run by onnxruntime, against the core."""

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from gnuradio.adann.export.frozen import Frozen
from gnuradio.adann.export.onnx_file import onnx_contents
from gnuradio.adann.offline.training import feature_view


def session(frozen):
    return onnxruntime.InferenceSession(onnx_contents(frozen), providers=["CPUExecutionProvider"])


def frames(samples, frozen, silence=0.0):
    """Of all symbols of a record and of the half_window around it, (1, frames, floats of a symbol)."""
    model = frozen.model
    before, after = model.half_window * model.sps + model.sps // 2, (model.half_window + 1) * model.sps
    padded = np.pad(samples, (before, after), constant_values=silence).view(np.float32)
    return padded[:padded.size // frozen.stride * frozen.stride].reshape(1, -1, frozen.stride)


def test_a_million_symbols_are_decided_as_in_the_core(link):
    samples = link.record(1_000_000, 2)[0]
    frozen = Frozen(link.model)
    labels, posteriors = link.model.network.decide(
        feature_view(samples, link.model.sps, link.model.half_window))
    found = session(frozen).run(None, {"samples": frames(samples, frozen)})[0][0][:labels.size]
    np.testing.assert_allclose(found, posteriors, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(found.argmax(1), labels)


def test_a_capture_s_mean_and_rms_are_taken_off_in_the_graph(link):
    samples = link.record(5_000, 3)[0]
    mean = np.complex64(0.3 - 0.2j) if link.model.complex else np.float32(0.3)
    received = np.float32(0.02) * samples + mean
    frozen = Frozen.of(link.model, received)
    labels = link.model.network.decide(
        feature_view(samples, link.model.sps, link.model.half_window))[0]
    found = session(frozen).run(None, {"samples": frames(received, frozen, mean)})[0][0][:labels.size]
    assert np.mean(found.argmax(1) == labels) > 0.9999


def test_one_history_of_gnu_radio_4_s_block_gives_one_symbol(link):
    """Its input is (1, history_depth, input_size): blocks/onnx/README.md of fair-acc/gnuradio4."""
    contract = session(Frozen(link.model)).get_modelmeta().custom_metadata_map
    depth, size = int(contract["history_depth"]), int(contract["input_size"])
    assert contract["normalise_mode"] == "None"
    samples = link.record(depth, 4)[0].view(np.float32)
    window = np.resize(samples, (1, depth, size)).astype(np.float32)
    found = session(Frozen(link.model)).run(None, {"samples": window})[0]
    assert found.shape == (1, 1, link.constellation.size)
    np.testing.assert_allclose(found[0], link.model.network.decide(window.reshape(1, -1))[1], atol=1e-5)


def test_the_graph_is_what_debian_12_s_onnx_reads(pam4):
    made = onnx.load_from_string(onnx_contents(Frozen(pam4)))
    assert made.ir_version <= 8 and [each.version for each in made.opset_import] == [13]
    onnx.checker.check_model(made, full_check=True)


def test_a_missing_package_is_told_in_one_sentence(pam4, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="need the package onnx: apt-get install python3-onnx"):
        onnx_contents(Frozen(pam4))
