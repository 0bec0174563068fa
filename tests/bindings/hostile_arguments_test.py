# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever Python hands to the core is taken, or refused by an exception: nothing is indexed by it unchecked."""

import re

import numpy as np
import pytest
from calls import (
    FEATURES,
    LABELS,
    NETWORK,
    OWN,
    QPSK,
    RIGHT,
    SAMPLES,
    SIZE,
    SPS,
    WAVEFORM,
    WIDTH,
    callables,
    called,
    hostile,
    judge,
    model,
    right_arguments,
    tracked,
    trainer,
    windows,
)
from gnuradio.adann import core


def loss_gradient(network=NETWORK, features=FEATURES[:32], noise=None, labels=OWN[:32], **settings):
    noise = np.zeros((1, 32, WIDTH), np.float32) if noise is None else noise
    return core.loss_gradient(network, features, noise, labels, **settings)


def two_streams(labels):
    filter_ = core.mimo_filter(model())
    filter_.start(np.stack([SAMPLES.ravel(), SAMPLES.ravel()[::-1]]), labels)


def known_by(filter_, labels):
    return filter_.decide(windows(filter_, len(labels)), labels)


# What takes labels and indexes by them, by name.
LABELED = {
    "expected_waveform.expect": WAVEFORM.expect,
    "expected_waveform.fit": lambda labels: core.expected_waveform.fit(QPSK, SAMPLES[:len(labels)], labels, 2),
    "expected_waveform.learn_probabilities": core.expected_waveform(QPSK, 2, True, 1, 1).learn_probabilities,
    "expected_waveform.residual": lambda labels: WAVEFORM.residual(SAMPLES[:len(labels)], labels),
    "learner.step": lambda labels: core.learner(model(), batch=640).step(FEATURES, labels),
    "learner.step, supervised": lambda labels: core.learner(model(), batch=640, loss="supervised").step(
        FEATURES, labels),
    "least_squares_response": lambda labels: core.least_squares_response(SAMPLES[:len(labels)], labels, QPSK, 1),
    "loss_gradient": lambda labels: loss_gradient(
        features=FEATURES, noise=np.zeros((1, 640, WIDTH), np.float32), labels=labels, loss="supervised"),
    "mimo_filter.start": lambda labels: two_streams(np.stack([LABELS, np.r_[labels, LABELS[len(labels):]]])),
    "mlse.set_training": lambda labels: core.mlse(QPSK, SPS, 1, True).set_training(labels.tolist()),
    "network.initialize_linear": lambda labels: core.network([WIDTH, 8, SIZE]).initialize_linear(
        1, QPSK, FEATURES, labels),
    "refine_labels": lambda labels: core.refine_labels(model(), FEATURES, labels, 64),
    "tracked_network.decide": lambda labels: known_by(tracked(), labels),
    "tracked_network.train": lambda labels: tracked().train(labels[:100]),
    "trainer.step": lambda labels: trainer().step(FEATURES, labels),
    "trainer.step, supervised": lambda labels: trainer(loss="supervised").step(FEATURES, labels),
    "waveform_judge.compare": lambda labels: judge().compare(labels, OWN),
    "waveform_judge.compare, second": lambda labels: judge().compare(OWN, labels),
    "burst_equalizer.equalize": lambda labels: core.burst_equalizer(QPSK, SPS, most=4096).equalize(
        np.ones(SPS * (len(labels) - 1) + 13, np.complex64), labels),
    "waveform_judge.look": lambda labels: judge().look(FEATURES, labels),
    "soft_bits.gmi": lambda labels: core.soft_bits(SIZE).gmi(np.zeros(2 * len(labels), np.float32), labels),
}
UNKNOWN = 255
MAY_BE_UNKNOWN = {"burst_equalizer.equalize", "loss_gradient", "tracked_network.decide", "trainer.step, supervised"}
ANY_LABEL = {"mlse.process", "error_counter.push"}  # M and more: not known; of which the low bits count


def test_every_binding_that_takes_labels_is_in_the_table():
    taking = {name for name, text in callables().items() if "numpy.uint8]," in text or "uint8])" in text
              or "uint8]] " in text or re.search(r"labels: \w*[Ll]ist\[int\]", text)}
    assert taking - ANY_LABEL == {name.split(",")[0] for name in LABELED}


@pytest.mark.parametrize("name", LABELED)
def test_labels_out_of_range_are_refused(name):
    LABELED[name](OWN.copy())
    for wrong in SIZE, SIZE + 1, 254, *([] if name in MAY_BE_UNKNOWN else [UNKNOWN]):
        for place in 0, 50, -1 if name != "tracked_network.train" else 99:
            labels = OWN.copy()
            labels[place] = wrong
            with pytest.raises(ValueError, match=rf"(is|are) {wrong}\b.*allowed: (0 to )?{SIZE - 1}|"
                                                 rf"label.*{wrong}.*allowed"):
                LABELED[name](labels)


@pytest.mark.parametrize("name", callables())
def test_hostile_arguments_are_taken_or_refused(name):
    """A crash would end the test's process."""
    arguments = right_arguments(name)
    if not name.endswith(("load_model", "replay", "save_model")):
        called(name, arguments)
    for key, right in arguments.items():
        for value in hostile(right):
            try:
                called(name, {**arguments, key: value})
            except (ValueError, TypeError, IndexError, RuntimeError) as error:
                assert str(error)
            except MemoryError:
                pass


def test_every_binding_is_called():
    assert set(callables()) == set(RIGHT)


def test_noise_without_symbols_is_refused():
    with pytest.raises(ValueError, match=rf"noise's shape is \(4, 0, {WIDTH}\), allowed: \(uses, N, dimension\)"):
        loss_gradient(noise=np.zeros((4, 0, WIDTH), np.float32), loss="aug_vat", sigma=0.1, epsilon=0.1)
