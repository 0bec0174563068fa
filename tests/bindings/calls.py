# SPDX-License-Identifier: GPL-3.0-or-later
"""How everything in the core is called rightly from Python, and what may be handed over instead."""

import re

import numpy as np
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
    "expected_waveform.learn_probabilities": (lambda: core.expected_waveform(QPSK, 2, True, 1, 1), dict(labels=LABELS)),
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
    "burst_equalizer": dict(constellation="qpsk", sps=2, complex=True, length=6, carrier=0.03, most=64),
    "burst_equalizer.equalize": (lambda: core.burst_equalizer("qpsk", most=64),
                                 dict(samples=np.ones(139, np.complex64), known=np.zeros(64, np.uint8))),
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
    "network.initialize_linear": (lambda: core.network([WIDTH, 8, SIZE]),
                                  dict(seed=1, constellation=QPSK, features=FEATURES, labels=OWN)),
    "quantization": dict(bits=8, values=[8, 8], weights=[[8], [8]]),
    "quantized_network": dict(network=NETWORK, formats=FORMATS),
    **{f"quantized_network.{name}": (lambda: core.quantized_network(NETWORK, FORMATS), dict(layer=0))
       for name in ("bias", "shift", "weight")},
    "quantized_network.decide": (lambda: core.quantized_network(NETWORK, FORMATS), dict(features=FEATURES)),
    "refine_labels": dict(model=model(), features=FEATURES, labels=OWN, batch=64),
    "highest_code_rate": dict(ngmi=0.9),
    "soft_bit_convention": dict(positive=1, type="float", scale=1.0, clip=20.0),
    "soft_bits": dict(constellation=4, convention="gnuradio"),
    "soft_bits.process": (lambda: core.soft_bits(4), dict(
        posteriors=np.full((N, SIZE), 0.25, np.float32), a_priori=np.ones(2 * N, np.float32))),
    "soft_bits.gmi": (lambda: core.soft_bits(4), dict(soft_bits=np.zeros(2 * N, np.float32), sent=LABELS)),
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


def called(name, arguments):
    """What a binding returns of keyword arguments."""
    of = RIGHT[name][0]() if isinstance(RIGHT[name], tuple) else None
    return (getattr(core, name) if of is None else getattr(of, name.split(".")[1]))(**arguments)


def right_arguments(name):
    return RIGHT[name][1] if isinstance(RIGHT[name], tuple) else RIGHT[name]
