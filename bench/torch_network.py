# SPDX-License-Identifier: GPL-3.0-or-later
"""The same network and the same adaptation steps in torch, on one thread."""

import os

# Before torch and its BLAS are loaded.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import torch  # noqa: E402
from measuring import processor_rate  # noqa: E402
from torch.nn.functional import cross_entropy, log_softmax  # noqa: E402

torch.set_num_threads(1)

SIGMA, EPSILON, XI = 0.1, 0.1, 0.1


def _network(sizes):
    torch.manual_seed(1)
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _features(shape, count):
    """(count, D), overlapping windows on one stream: a view, which costs torch nothing."""
    samples = torch.randn((count - 1) * shape.stride + shape.sizes[0])
    return samples.as_strided((count, shape.sizes[0]), (shape.stride, 1))


class _Decider(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x).argmax(1)


def inference(shape, count, seconds):
    """Contenders {name: measure}: features to labels, eager and as frozen traces. "copied": the
    windows have been copied into a matrix beforehand, and the copying is not counted."""
    windows = _features(shape, count)
    copied = windows.contiguous()
    eager = _Decider(_network(shape.sizes)).eval()
    with torch.no_grad():
        contenders = {"torch eager": (eager, windows), "torch eager, copied": (eager, copied),
                      "torch.jit": (torch.jit.freeze(torch.jit.trace(eager, windows)), windows)}
        copied_trace = torch.jit.freeze(torch.jit.trace(eager, copied))
        contenders["torch.jit, copied"] = copied_trace, copied
        if torch.__version__ < "2":  # the second call of an optimized module hangs in torch 2.6
            contenders["torch.jit optimized, copied"] = (
                torch.jit.optimize_for_inference(copied_trace), copied)

    def contender(module, features):
        def measure():
            with torch.inference_mode():
                return processor_rate(lambda: module(features), count, seconds)
        return measure

    return {name: contender(*each) for name, each in contenders.items()}


def step(shape, count, loss, seconds):
    """Measure of one loss's whole step: noise, gradient and Adam.

    The reading is the core's default: the label comes from the clean vector, the loss from the
    perturbed one (lib/core/training/loss.h).
    """
    v = _features(shape, count)
    network = _network(shape.sizes)
    parameters = list(network.parameters())
    adam = torch.optim.Adam(parameters, lr=0.002)

    def noise(deviation):
        return torch.randn(v.shape).mul_(deviation)

    def adversarial(o, moved):
        """Algorithm 1 from o = NN(v) and `moved` = v + xi d (+ noise)."""
        moved.requires_grad_()
        # KL(o || o') but for o's entropy, which does not depend on `moved`.
        divergence = -(o.softmax(1) * log_softmax(network(moved), 1)).sum()
        gradient, = torch.autograd.grad(divergence, moved)
        length = gradient.norm(dim=1, keepdim=True).clamp_(min=1e-30)
        return gradient.mul_(EPSILON / length)

    def perturbed(o):
        if loss == "pi_model":
            return noise(SIGMA).add_(v)
        if loss == "vat":
            return adversarial(o, noise(XI).add_(v)).add_(v)
        r = adversarial(o, noise(XI).add_(noise(SIGMA)).add_(v))
        return r.add_(v).add_(noise(SIGMA))

    def work():
        if loss == "self_training":
            logits = network(v)
            labels = logits.detach().argmax(1)
        else:
            with torch.no_grad():
                o = network(v)
            labels = o.argmax(1)
            logits = network(perturbed(o).detach())
        adam.zero_grad()
        cross_entropy(logits, labels).backward()
        adam.step()

    return lambda: processor_rate(work, count, seconds)
