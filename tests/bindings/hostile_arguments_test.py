# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever Python hands to the core is taken, or refused by an exception: nothing is indexed by it unchecked."""

import re

import numpy as np
import pytest
from gnuradio.adann import core

RANDOM = np.random.default_rng(6)
SPS, HALF, SIZE, N = 2, 3, 4, 700
LABELS = RANDOM.integers(0, SIZE, N).astype(np.uint8)
QPSK = core.constellation("qpsk")
SAMPLES = (np.repeat(np.array(QPSK.points)[LABELS], SPS) + 0.1 * RANDOM.standard_normal((N * SPS, 2))
           .view(np.complex128).ravel()).astype(np.complex64).reshape(N, SPS)
WIDTH = SPS * (2 * HALF + 1) * 2
FEATURES = np.lib.stride_tricks.sliding_window_view(SAMPLES.view(np.float32).ravel(), WIDTH)[::2 * SPS].copy()
FEATURES = FEATURES[:640]
OWN = LABELS[HALF:HALF + 640]  # of the windows' middles
NETWORK = core.network([WIDTH, 8, SIZE])
NETWORK.initialize(1)
WAVEFORM = core.expected_waveform.fit(QPSK, SAMPLES, LABELS, 2)
FORMATS = core.quantization(8, [8, 8], [[8] * 8, [8] * SIZE])


def model():
    made = core.model(NETWORK, SPS, HALF, True, QPSK, "by hand")
    made.waveform = WAVEFORM
    return made


def tracked():
    return core.tracked_network(model())


def windows(filter_, count=64):
    """Of a stream, as its symbols come."""
    stream = RANDOM.standard_normal(filter_.dimension + 2 * SPS * (count - 1)).astype(np.float32)
    return np.lib.stride_tricks.sliding_window_view(stream, filter_.dimension)[::2 * SPS]


def judge():
    made = core.waveform_judge(WAVEFORM, HALF, 640)
    made.look(FEATURES, OWN)
    return made


def trainer(**settings):
    return core.trainer(NETWORK, constellation=QPSK, sigma=0.1, epsilon=0.1, learning_rate=0.01, **settings)


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
    "expected_waveform.residual": lambda labels: WAVEFORM.residual(SAMPLES[:len(labels)], labels),
    "learner.step": lambda labels: core.learner(model(), batch=640).step(FEATURES, labels),
    "learner.step, supervised": lambda labels: core.learner(model(), batch=640, loss="supervised").step(
        FEATURES, labels),
    "least_squares_response": lambda labels: core.least_squares_response(SAMPLES[:len(labels)], labels, QPSK, 1),
    "loss_gradient": lambda labels: loss_gradient(
        features=FEATURES, noise=np.zeros((1, 640, WIDTH), np.float32), labels=labels, loss="supervised"),
    "mimo_filter.start": lambda labels: two_streams(np.stack([LABELS, np.r_[labels, LABELS[len(labels):]]])),
    "mlse.set_training": lambda labels: core.mlse(QPSK, SPS, 1, True).set_training(labels.tolist()),
    "refine_labels": lambda labels: core.refine_labels(model(), FEATURES, labels, 64),
    "tracked_network.decide": lambda labels: known_by(tracked(), labels),
    "tracked_network.train": lambda labels: tracked().train(labels[:100]),
    "trainer.step": lambda labels: trainer().step(FEATURES, labels),
    "trainer.step, supervised": lambda labels: trainer(loss="supervised").step(FEATURES, labels),
    "waveform_judge.compare": lambda labels: judge().compare(labels, OWN),
    "waveform_judge.compare, second": lambda labels: judge().compare(OWN, labels),
    "waveform_judge.look": lambda labels: judge().look(FEATURES, labels),
}
ANY_LABEL = {"mlse.process", "error_counter.push"}  # M and more: not known; of which the low bits count


def callables():
    """{name: signature} of all that can be called in the core."""
    found = {}
    for name, item in vars(core).items():
        for member in vars(item) if isinstance(item, type) else [""] if callable(item) else []:
            text = (getattr(getattr(item, member) if member else item, "__doc__", None) or "").split("\n")[0]
            if re.match(r"\w+\(.*\)", text) and not name.startswith("_") and (
                    not member.startswith("_") or member == "__init__"):
                found[f"{name}.{member}".removesuffix(".").removesuffix(".__init__")] = text
    return found


def test_every_binding_that_takes_labels_is_in_the_table():
    taking = {name for name, text in callables().items() if "numpy.uint8]," in text or "uint8])" in text
              or "uint8]] " in text or "labels: List[int]" in text}
    assert taking - ANY_LABEL == {name.split(",")[0] for name in LABELED}


@pytest.mark.parametrize("name", LABELED)
def test_labels_out_of_range_are_refused(name):
    LABELED[name](OWN.copy())
    for wrong in SIZE, SIZE + 1, 254, 255:
        for place in 0, 50, -1 if name != "tracked_network.train" else 99:
            labels = OWN.copy()
            labels[place] = wrong
            with pytest.raises(ValueError, match=rf"(is|are) {wrong}\b.*allowed: (0 to )?{SIZE - 1}|"
                                                 rf"label.*{wrong}.*allowed"):
                LABELED[name](labels)


PAIR = np.stack([SAMPLES.ravel(), SAMPLES.ravel()[::-1]])[:, :1280]
# How each is called rightly: keyword arguments, and what it is a member of.
RIGHT = {
    "clopper_pearson": dict(errors=1, trials=10, confidence=0.9),
    "constellation": dict(constellation="qpsk"),
    "constellation.neighbours": (lambda: core.constellation("qpsk"), dict(label=1)),
    "constellation.names": (lambda: core.constellation, {}),
    "constellation.in_tree": (lambda: core.constellation, {}),
    "equalizer_settings": {}, "mlse_settings": {},
    "error_counter": dict(constellation="qpsk", batch=64, search=16, posteriors=False),
    "error_counter.push": (lambda: core.error_counter("qpsk", posteriors=True),
                           dict(decided=LABELS, sent=LABELS, posteriors=np.full((N, SIZE), 0.25, np.float32))),
    "error_counter.batches": (lambda: core.error_counter("qpsk"), {}),
    "error_counter.finish": (lambda: core.error_counter("qpsk"), {}),
    "expected_waveform": dict(constellation=QPSK, sps=2, complex=True, affine_reach=1, context=1, memory=0),
    "expected_waveform.fit": (lambda: core.expected_waveform, dict(
        constellation=QPSK, samples=SAMPLES, labels=LABELS, most_reach=2)),
    "expected_waveform.expect": (lambda: WAVEFORM, dict(labels=LABELS)),
    "expected_waveform.residual": (lambda: WAVEFORM, dict(samples=SAMPLES, labels=LABELS)),
    "expected_waveform.set": (lambda: core.expected_waveform(QPSK, 2, True, 1, 1), dict(
        affine=[0.1] * 28, table=[0.1] * 16, noise=0.1, noise_correlation=[],
        polynomial=[])),
    "gaussian_noise": dict(seed=1),
    "gaussian_noise.fill": (lambda: core.gaussian_noise(1), dict(count=10)),
    "known_carrier": dict(samples=np.ones((100, 2), np.complex64), sent=np.ones(94, np.complex64), half_window=3),
    "learner": dict(model=model(), batch=64, loss="vat"),
    "learner.reset": (lambda: core.learner(model()), {}),
    "learner.step": (lambda: core.learner(model(), batch=640), dict(features=FEATURES, labels=OWN)),
    "least_squares_response": dict(samples=SAMPLES, labels=LABELS, constellation="qpsk", memory=1),
    "load_model": dict(path="/nowhere"), "replay": dict(path="/nowhere"),
    "save_model": dict(path="/nowhere/a", model=model()),
    "loss_gradient": dict(network=NETWORK, features=FEATURES[:32], noise=np.zeros((4, 32, WIDTH), np.float32),
                          labels=OWN[:32], loss="aug_vat", sigma=0.1, epsilon=0.1),
    "mimo_filter": dict(model=model(), channels=2, outputs=2, length=4),
    "mimo_filter.run": (lambda: core.mimo_filter(model()), dict(samples=PAIR)),
    "mimo_filter.start": (lambda: core.mimo_filter(model()), dict(
        samples=PAIR, labels=np.stack([LABELS, LABELS])[:, :640])),
    "mlse": dict(constellation="qpsk", sps=2, memory=1, complex=True, response=np.ones((2, 1), np.complex64)),
    "mlse.process": (lambda: core.mlse("qpsk", 2, 1, True), dict(samples=SAMPLES, known=LABELS)),
    "mlse.set_training": (lambda: core.mlse("qpsk", 2, 1, True), dict(labels=[0, 1, 2])),
    "mlse.start_training": (lambda: core.mlse("qpsk", 2, 1, True), {}),
    "model": dict(network=NETWORK, sps=SPS, half_window=HALF, complex=True, constellation="qpsk", training=""),
    "model.from_bytes": (lambda: core.model, dict(contents=model().to_bytes())),
    "model.to_bytes": (model, {}),
    "multiplications": dict(network=NETWORK, features=FEATURES[:8], loss="vat", noise="full"),
    "network": dict(sizes=[4, 3, 2]),
    "network.bias": (lambda: core.network([4, 3, 2]), dict(layer=0)),
    "network.weight": (lambda: core.network([4, 3, 2]), dict(layer=0)),
    "network.decide": (lambda: NETWORK, dict(features=FEATURES)),
    "network.initialize": (lambda: core.network([4, 3, 2]), dict(seed=1)),
    "quantization": dict(bits=8, values=[8, 8], weights=[[8], [8]]),
    "quantized_network": dict(network=NETWORK, formats=FORMATS),
    **{f"quantized_network.{name}": (lambda: core.quantized_network(NETWORK, FORMATS), dict(layer=0))
       for name in ("bias", "shift", "weight")},
    "quantized_network.decide": (lambda: core.quantized_network(NETWORK, FORMATS), dict(features=FEATURES)),
    "refine_labels": dict(model=model(), features=FEATURES, labels=OWN, batch=64),
    "tracked_network": dict(model=model(), length=4, memories=[100, 200]),
    "tracked_network.decide": (tracked, dict(windows=windows(tracked()), known=OWN[:64])),
    "tracked_network.reset": (tracked, {}),
    "tracked_network.train": (tracked, dict(labels=OWN[:64])),
    "trainer": dict(network=NETWORK, noise="projected", constellation="qpsk", loss="vat", sigma=0.1, epsilon=0.1,
                    learning_rate=0.01),
    "trainer.step": (trainer, dict(features=FEATURES, labels=OWN)),
    "waveform_judge": dict(waveform=WAVEFORM, half_window=3, batch=64),
    "waveform_judge.compare": (judge, dict(first=OWN, second=OWN)),
    "waveform_judge.look": (judge, dict(features=FEATURES, labels=OWN)),
}
EMPTY = np.zeros(0, np.float32)


def hostile(value):
    """What may be handed over in the place of a right value."""
    yield from (None, True, -1, 0, 255, 2**63, 10**30, float("nan"), float("inf"), -1e308, "", "\0", "x" * 9999, b"",
                [], [[]], object(), EMPTY, np.zeros((0, 0)), np.zeros((2, 0), np.float32), np.zeros((3, 3, 3)),
                np.array(["a"]), np.array([None]), [float("nan")] * 3, [2**40, 2**40], [-1, 3], [0, 0])
    if isinstance(value, np.ndarray):
        yield from (value[:-1], value[:1], value[:, :0] if value.ndim > 1 else value[:0], value[..., :1], value[::2],
                    value[::-1], value.T, value[None], np.asfortranarray(value), value.astype(np.complex128),
                    value.real.astype(">f8"), value.real.astype(bool))
        if value.dtype.kind != "u":
            yield from (np.full_like(value, each) for each in (np.nan, np.inf, 3e38, 1e-45))
    if isinstance(value, list):
        yield from (value[:-1], value * 3, [value], [each * 10**6 if isinstance(each, int) else each for each in value])
    if isinstance(value, bytes):
        yield from (value[:-1], value[:100], value[:8] + b"{" * 1000 + value[8:], bytes(len(value)))


@pytest.mark.parametrize("name", callables())
def test_hostile_arguments_are_taken_or_refused(name):
    """A crash would end the test's process."""
    of, arguments = RIGHT[name] if isinstance(RIGHT[name], tuple) else (lambda: None, RIGHT[name])

    def called(**given):
        owner = of()
        return (getattr(owner, name.split(".")[1]) if owner is not None else getattr(core, name))(**given)

    if not name.endswith(("load_model", "replay", "save_model")):
        called(**arguments)
    for key, right in arguments.items():
        for value in hostile(right):
            try:
                called(**{**arguments, key: value})
            except (ValueError, TypeError, IndexError, RuntimeError) as error:
                assert str(error)
            except MemoryError:
                pass


def test_every_binding_is_called():
    assert set(callables()) == set(RIGHT)


def test_noise_without_symbols_is_refused():
    with pytest.raises(ValueError, match=rf"noise's shape is \(4, 0, {WIDTH}\), allowed: \(uses, N, dimension\)"):
        loss_gradient(noise=np.zeros((4, 0, WIDTH), np.float32), loss="aug_vat", sigma=0.1, epsilon=0.1)
