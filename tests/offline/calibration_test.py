# SPDX-License-Identifier: GPL-3.0-or-later
"""Temperatures, against what the labels were drawn with and a closed form."""

from pathlib import Path

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.captures.files import Capture
from gnuradio.adann.captures.statistics import normalized
from gnuradio.adann.links.simulation import random_labels, simulate_vcsel
from gnuradio.adann.offline.calibration import calibrate, fit_temperature, refined_error_rate, weigh_doubts
from gnuradio.adann.offline.equalize import equalize_captures
from gnuradio.adann.offline.training import feature_view

EXAMPLE = str(Path(__file__).parents[2] / "examples/models/vcsel_pam4.safetensors")


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("temperature", [0.5, 1, 3])
def test_the_temperature_that_labels_were_drawn_with_is_found(temperature):
    """Its deviation is 0.5 to 0.8 % here: 3 % are allowed."""
    random = np.random.default_rng(1)
    logits = 3 * random.standard_normal((50_000, 4))
    cumulated = softmax(logits / temperature).cumsum(axis=1)
    labels = (random.random((50_000, 1)) > cumulated[:, :-1]).sum(axis=1)
    assert fit_temperature(softmax(logits), labels) == pytest.approx(temperature, rel=0.03)


@pytest.mark.parametrize("count", [10, 1000])
def test_without_errors_it_is_as_if_one_had_been_made(count):
    """Two classes, each logit 5 above the other: one wrong among n + 1 is e^(-5/T) / (1 + e^(-5/T)),
    so that T = 5 / ln n."""
    labels = np.arange(count) % 2
    posteriors = softmax(np.where(labels[:, None] == [0, 1], 5.0, 0.0))
    assert fit_temperature(posteriors, labels) == pytest.approx(5 / np.log(count), rel=1e-3)


@pytest.mark.parametrize("worse, better, counts", [
    (1, 0, False), (4, 0, False), (5, 0, True), (12, 8, False), (18, 12, False), (40, 26, False), (40, 20, True),
    (0, 3, True), (0, 0, True)])
def test_errors_by_chance_are_not_counted_against_refined_labels(worse, better, counts):
    """worse, better: symbols of 1000 which are wrong by refinement alone, or without it. The deviation of their
    difference is the root of their sum."""
    sent = np.arange(1000, dtype=np.uint8) % 4
    refined, decided = sent.copy(), sent.copy()
    refined[:worse] ^= 1
    decided[worse:worse + better] ^= 1
    assert refined_error_rate(refined, decided, sent) == (worse if counts else better) / 1000


def test_where_many_symbols_are_wrong_all_errors_count():
    """One in ten."""
    sent = np.zeros(1000, np.uint8)
    decided, refined = sent.copy(), sent.copy()
    decided[:100] = refined[:101] = 1
    assert refined_error_rate(refined, decided, sent) == 0.101
    assert refined_error_rate(refined[1:], decided[1:], sent[1:]) == 99 / 999


def test_doubts_are_weighed_where_there_are_errors_enough():
    """Those of the example's model on 2^17 symbols of its own link: 38 refined labels are wrong, for which the
    doubts would have 18; the count's deviation is a sixth."""
    model = core.load_model(EXAMPLE)
    sent = random_labels(2**17, 6, 2)
    features = feature_view(normalized(simulate_vcsel(sent, "none", 7)), model.sps, model.half_window)
    model.refined_errors_per_doubt = np.nan
    weigh_doubts(model, features[:2**14], sent[:2**14])
    assert np.isnan(model.refined_errors_per_doubt)
    weigh_doubts(model, features, sent[:len(features)])
    assert 0.7 < model.refined_errors_per_doubt < 3


def test_a_temperature_is_calibrated_where_there_are_errors_enough(tmp_path):
    """The network is wrong at 5e-4: some 8 errors in 2^14 symbols, some 65 in 2^17; 30 are enough."""
    model = core.load_model(EXAMPLE)
    assert model.calibrated  # an older file, which does not say
    sent = random_labels(2**17, 6, 2)
    features = feature_view(normalized(simulate_vcsel(sent, "none", 7)), model.sps, model.half_window)
    calibrate(model, features[:2**14], sent[:2**14])
    core.save_model(str(tmp_path / "few.safetensors"), model)
    assert not model.calibrated and not core.load_model(str(tmp_path / "few.safetensors")).calibrated
    calibrate(model, features, sent[:len(features)])
    assert model.calibrated


@pytest.mark.parametrize(("calibrated", "factor", "is_trusted"), [
    (True, 2, True), (False, 2, False), (True, 4, False), (True, 0.3, False), (True, np.nan, False)])
def test_what_training_did_not_measure_is_not_trusted(calibrated, factor, is_trusted):
    model = core.load_model(EXAMPLE)
    model.calibrated, model.refined_errors_per_doubt = calibrated, factor
    capture = Capture(normalized(simulate_vcsel(random_labels(2**15, 6, 2), "none", 7)))
    received, _ = equalize_captures(model, [capture], {"it": dict(mode="lockstep")})
    estimated = received["it"].estimated_ber
    assert estimated["trustworthy"] == is_trusted
    assert estimated["untrusted"] == ("" if is_trusted else "model not calibrated")
