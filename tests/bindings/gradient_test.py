# SPDX-License-Identifier: GPL-3.0-or-later
"""The core's losses and gradients against torch autograd, on the same inputs and noise."""

import numpy as np
import pytest
import torch
from gnuradio.adann import core

SIGMA, EPSILON, XI = 0.15, 0.3, 0.1


def torch_network(net):
    """The same network in float64: its logits, its parameters, and how close it came to a kink.

    The last is a list of (N,) arrays: each symbol's smallest distance of a ReLU from zero.
    """
    margins = []
    parameters = [(torch.tensor(net.weight(k), dtype=torch.float64, requires_grad=True),
                   torch.tensor(net.bias(k), dtype=torch.float64, requires_grad=True))
                  for k in range(len(net.sizes) - 1)]

    def logits(x):
        for k, (weight, bias) in enumerate(parameters):
            x = x @ weight.T + bias
            if k + 1 < len(parameters):
                margins.append(x.detach().abs().amin(dim=1))
                x = torch.relu(x)
        return x

    return logits, [p for pair in parameters for p in pair], margins


def adversarial(logits, v, reference, moved):
    """Algorithm 1 of the paper with torch's own gradient; `moved` = v + xi d (+ noise)."""
    moved = moved.detach().requires_grad_()
    o = torch.softmax(logits(reference), dim=1).detach()
    divergence = (o * (o.log() - torch.log_softmax(logits(moved), dim=1))).sum()
    gradient, = torch.autograd.grad(divergence, moved)
    return EPSILON * gradient / gradient.norm(dim=1, keepdim=True).clamp(min=1e-30)


def torch_loss(logits, v, loss, pseudo_label, noise, labels):
    """Each loss written out as the paper's text and Algorithm 2 have it: (the cross-entropy, what
    its gradient is taken of)."""
    noise, clean = iter(noise), pseudo_label != "perturbed"

    def g(x):
        return x + SIGMA * next(noise)

    if loss == "supervised":
        return (torch.nn.functional.cross_entropy(logits(v), labels),) * 2
    if loss == "self_training":
        labelled = trained = v
    elif loss == "pi_model" and clean:
        labelled, trained = v, g(v)
    elif loss == "pi_model":
        trained, labelled = g(v), g(v)
    elif loss == "vat":
        r = adversarial(logits, v, v, v + XI * next(noise))
        labelled, trained = (v, v + r) if clean else (v + r, v)
    elif clean:
        r = adversarial(logits, v, v, g(v + XI * next(noise)))
        labelled, trained = v, g(v + r)
    else:
        trained = g(v)
        r = adversarial(logits, v, trained, g(v + XI * next(noise)))
        labelled = g(v + r)
    output = logits(trained)
    decided = labels if pseudo_label == "refined" else logits(labelled).argmax(dim=1)
    value = torch.nn.functional.cross_entropy(output, decided)
    if pseudo_label not in ("confidence_weighted", "refined"):
        return value, value
    own = torch.softmax(output, dim=1)[torch.arange(len(decided)), decided]
    return value, ((1 - own ** 0.25) / 0.25).mean()


def torch_gradient(net, features, loss, pseudo_label, noise, labels):
    """Loss and gradient by torch in float64, and each symbol's distance from any kink."""
    logits, parameters, margins = torch_network(net)
    features = torch.tensor(features, dtype=torch.float64)
    value, objective = torch_loss(
        logits, features, loss, pseudo_label, torch.tensor(noise, dtype=torch.float64),
        torch.tensor(labels).long())
    objective.backward()
    best, second = logits(features).topk(2, dim=1).values.T
    margins = torch.stack(margins + [(best - second).detach()])
    return (value.item(), np.concatenate([p.grad.numpy().ravel() for p in parameters]),
            margins.amin(dim=0).numpy())


@pytest.mark.parametrize("pseudo_label", core.equalizer_settings()["pseudo_label"].choices)
@pytest.mark.parametrize("loss", core.losses)
@pytest.mark.parametrize("classes, sps, half_window, floats", [
    (2, 1, 3, 1), (4, 4, 5, 1), (4, 2, 3, 2), (16, 4, 5, 2)])
def test_the_gradient_is_torchs(loss, pseudo_label, classes, sps, half_window, floats):
    dimension = sps * (2 * half_window + 1) * floats
    count = 1000  # no multiple of the tile
    random = np.random.default_rng(classes)
    net = core.network([dimension, 10, 10, 10, 10, classes])
    net.initialize(classes)
    net.parameters[:] += 0.05 * random.standard_normal(net.parameters.size)
    # Overlapping windows on one stream, as the equalizer takes them.
    stream = random.standard_normal((count - 1) * sps * floats + dimension).astype(np.float32)
    features = np.lib.stride_tricks.sliding_window_view(stream, dimension)[::sps * floats]
    noise = random.standard_normal((4, count, dimension)).astype(np.float32)
    labels = random.integers(0, classes, count).astype(np.uint8)

    def gradient(features, noise, labels):
        return core.loss_gradient(
            net, features, noise, labels, loss=loss, pseudo_label=pseudo_label, sigma=SIGMA,
            epsilon=EPSILON, xi=XI)

    # A float32 sum may lie on the other side of a ReLU's kink or of a decision boundary than
    # torch's float64: no error, but one symbol in 1000. Those that are so close are left out.
    margins = torch_gradient(net, features, loss, pseudo_label, noise, labels)[2]
    clear = margins > 1e-4
    assert clear.sum() > 0.9 * count
    chosen = np.ascontiguousarray(features[clear]), noise[:, clear], labels[clear]
    expected_value, expected, _ = torch_gradient(
        net, chosen[0], loss, pseudo_label, chosen[1], chosen[2])
    value, found = gradient(*chosen)
    assert value == pytest.approx(expected_value, rel=1e-5)
    assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)

    # Windows on the stream are the same vectors.
    value, found = gradient(features, noise, labels)
    copied_value, copied = gradient(np.ascontiguousarray(features), noise, labels)
    assert value == copied_value
    np.testing.assert_array_equal(found, copied)


def test_without_refined_labels_those_decided_are_weighted_by_confidence():
    random = np.random.default_rng(1)
    net = core.network([12, 10, 4])
    net.initialize(1)
    features = random.standard_normal((300, 12)).astype(np.float32)
    noise = random.standard_normal((4, 300, 12)).astype(np.float32)
    found = [core.loss_gradient(net, features, noise, None, loss="aug_vat", pseudo_label=label,
                                sigma=SIGMA, epsilon=EPSILON, xi=XI)
             for label in ("refined", "confidence_weighted")]
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def permuted_16qam():
    """Labels in any order: what is I and what is Q only the points tell."""
    points = core.constellation("16qam").points
    return points[np.random.default_rng(16).permutation(16)]


@pytest.mark.parametrize("name", ["pam2", "qpsk", "gr:8psk", "16qam", "64qam", permuted_16qam()],
                         ids=str)
def test_pattern_balances_gradient_is_torchs(name):
    """The second step's gradient: the first one's mean posteriors, by context, judge it, and the
    classes that were missing there are raised for the pseudo-labels."""
    tile, weight = 128, 0.7
    points = core.constellation(name).points
    classes = points.size
    random = np.random.default_rng(classes)
    first, second = random.standard_normal((2, 1000, 12)).astype(np.float32)
    net = core.network([12, 10, classes])
    net.initialize(9)
    trainer = core.trainer(net, loss="self_training", pseudo_label="clean", balance=weight,
                           optimizer="sgd", learning_rate=1, constellation=name)
    trainer.step(first)
    before = trainer.network
    trainer.step(second)
    found = before.parameters - trainer.network.parameters

    dimensions = 1 if classes <= 8 else 2
    count = round(classes ** (1 / dimensions))  # of levels

    def levels(labels, dimension):
        if dimensions == 1:
            return labels
        values = points.imag if dimension else points.real
        return np.unique(values, return_inverse=True)[1][labels]

    def tables(labels, dimension):
        """(symbols that have the neighbours in their tile, number of each one's context)"""
        own, other = levels(labels, dimension), levels(labels, 1 - dimension)
        neighbours = [[(own, -2), (own, -1), (own, 1)], [(own, -1), (own, 1), (own, 2)]]
        if dimensions == 2:
            neighbours += [[(own, -1), (other, 0)], [(own, 1), (other, 0)]]
        for context in neighbours:
            at = np.arange(labels.size)
            at = at[(at % tile >= 2) & (at % tile < tile - 2) & (at < labels.size - 2)]
            yield at, np.ravel_multi_index(tuple(level[at + shift] for level, shift in context),
                                           (count,) * len(context))

    def posteriors_of_levels(posteriors, dimension):
        if dimensions == 1:
            return posteriors
        level = levels(np.arange(classes), dimension)
        chosen = np.eye(count)[level]
        return posteriors @ (torch.tensor(chosen) if torch.is_tensor(posteriors) else chosen)

    labels, posteriors = net.decide(first)
    share = len(first) / classes
    raised = np.maximum(0, 16 * (0.5 - np.bincount(labels, minlength=classes) / share))
    means = []
    for d in range(dimensions):
        for at, context in tables(labels, d):
            sums = np.ones((count ** 3, count))  # one symbol of each level more than was seen
            np.add.at(sums, context, posteriors_of_levels(posteriors, d)[at])
            means.append(sums / sums.sum(axis=1, keepdims=True))

    logits, parameters, _ = torch_network(before)
    output = logits(torch.tensor(second, dtype=torch.float64))
    labels = output.argmax(dim=1)
    mean, term = iter(means), 0
    for d in range(dimensions):
        for at, context in tables(labels.numpy(), d):
            m = next(mean)
            mine = posteriors_of_levels(torch.softmax(output, dim=1), d)[at]
            term += (mine * torch.tensor(np.log(count * m[context]))).sum()
    labels = (output + torch.tensor(raised if share >= 32 else 0)).argmax(dim=1)
    loss = torch.nn.functional.cross_entropy(output, labels) + weight * term / len(labels)
    loss.backward()
    expected = np.concatenate([p.grad.numpy().ravel() for p in parameters])
    assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_a_class_that_is_never_decided_comes_back():
    """The network takes all of level 3 for level 2, and is sure of it: e^-24 for what was sent. Its
    own decisions alone keep it there."""
    random = np.random.default_rng(4)
    levels = np.array([-3, -1, 1, 3]) / 5 ** 0.5
    sent = random.integers(0, 4, 40_000)
    received = levels[sent] + 0.05 * random.standard_normal(sent.size)
    received = received.astype(np.float32).reshape(-1, 1)
    wrong = {}
    for balance in (0, 1):
        net = core.network([1, 4])
        net.weight(0)[:] = 60 * levels[:, None]
        net.bias(0)[:] = -30 * levels ** 2 - [0, 0, 0, 60]
        assert net.decide(received[sent == 3])[0].max() == 2
        assert net.decide(received[sent == 3])[1][:, 3].max() < 1e-7
        trainer = core.trainer(net, loss="self_training", learning_rate=0.1, balance=balance,
                               constellation="pam4")
        for start in range(0, sent.size - 512, 512):
            trainer.step(received[start:start + 512])
        wrong[balance] = np.mean(trainer.network.decide(received)[0] != sent)
    assert wrong[0] > 0.2
    assert wrong[1] < 0.01


def test_a_dead_network_has_a_finite_gradient():
    """All ReLUs off: the adversarial gradient is zero, and r/|r| must not become NaN."""
    net = core.network([8, 4, 4, 2])
    net.initialize(0)
    net.bias(0)[:] = -1000
    features = np.ones((50, 8), np.float32)
    noise = np.ones((4, 50, 8), np.float32)
    for loss in core.losses:
        value, gradient = core.loss_gradient(
            net, features, noise, np.zeros(50, np.uint8), loss=loss, sigma=SIGMA, epsilon=EPSILON)
        assert np.isfinite(value) and np.isfinite(gradient).all()


@pytest.mark.parametrize("name, torch_optimizer", [
    ("sgd", lambda p, lr: torch.optim.SGD(p, lr)),
    ("momentum", lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9)),
    ("nesterov", lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, nesterov=True)),
    ("adagrad", lambda p, lr: torch.optim.Adagrad(p, lr)),
    ("rmsprop", lambda p, lr: torch.optim.RMSprop(p, lr)),
    ("adam", lambda p, lr: torch.optim.Adam(p, lr))])
def test_the_optimizers_follow_torchs(name, torch_optimizer):
    random = np.random.default_rng(5)
    net = core.network([12, 10, 4])
    net.initialize(3)
    logits, parameters, _ = torch_network(net)
    optimizer = torch_optimizer(parameters, 0.01)
    trainer = core.trainer(net, loss="supervised", optimizer=name, learning_rate=0.01)
    for _ in range(20):
        features = random.standard_normal((64, 12)).astype(np.float32)
        labels = random.integers(0, 4, 64).astype(np.uint8)
        trainer.step(features, labels)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(
            logits(torch.tensor(features, dtype=torch.float64)),
            torch.tensor(labels).long()).backward()
        optimizer.step()
    expected = np.concatenate([p.detach().numpy().ravel() for p in parameters])
    change = np.linalg.norm(expected - net.parameters)
    assert np.linalg.norm(trainer.network.parameters - expected) < 1e-4 * change


def test_posteriors_and_labels_are_torchs():
    net = core.network([44, 10, 10, 10, 10, 4])
    net.initialize(1)
    features = np.random.default_rng(2).standard_normal((777, 44)).astype(np.float32)
    labels, posteriors = net.decide(features)
    logits, _, _ = torch_network(net)
    expected = torch.softmax(logits(torch.tensor(features, dtype=torch.float64)), dim=1)
    np.testing.assert_allclose(posteriors, expected.detach().numpy(), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(labels, expected.argmax(dim=1).numpy())


@pytest.mark.parametrize("classes, floats", [(4, 1), (16, 2)])
def test_labels_that_may_be_wrong_are_targets_that_torch_takes(classes, floats):
    """Targets: 1 - d for the label, d for the others as the clean posteriors share it."""
    count, dimension = 1000, 44 * floats
    random = np.random.default_rng(classes)
    net = core.network([dimension, 10, 10, classes])
    net.initialize(classes)
    features = random.standard_normal((count, dimension)).astype(np.float32)
    noise = random.standard_normal((1, count, dimension)).astype(np.float32)
    labels = random.integers(0, classes, count).astype(np.uint8)
    doubts = random.uniform(0, 1, count).astype(np.float32)
    doubts[::7], doubts[::11] = np.nan, 0

    logits, parameters, margins = torch_network(net)
    v = torch.tensor(features, dtype=torch.float64)
    output = logits(v + SIGMA * torch.tensor(noise[0], dtype=torch.float64))
    target = torch.softmax(logits(v), dim=1).detach()
    own = target[torch.arange(count), torch.tensor(labels).long()]
    known = torch.tensor(np.where(np.isnan(doubts), (1 - own).numpy(), doubts))
    target *= (known / (1 - own))[:, None]
    target[torch.arange(count), torch.tensor(labels).long()] = 1 - known
    clear = torch.stack(margins).amin(dim=0) > 1e-4  # no kink lies between float32 and float64
    assert clear.sum() > 0.9 * count
    sure = torch.softmax(output, dim=1)[torch.arange(count), torch.tensor(labels).long()]
    each = torch.nn.functional.cross_entropy(output, target, reduction="none")
    (sure.detach() ** 0.25 * each)[clear].mean().backward()
    expected = np.concatenate([p.grad.numpy().ravel() for p in parameters])
    chosen = clear.numpy()
    _, found = core.loss_gradient(
        net, features[chosen], noise[:, chosen], labels[chosen], doubts[chosen], loss="pi_model",
        pseudo_label="refined", sigma=SIGMA)
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max() + 1e-6
