# SPDX-License-Identifier: GPL-3.0-or-later
"""Interleaved measurements: in each round every contender runs for a moment, one after the other.

What disturbs the machine for longer than a moment then disturbs them all alike, and a ratio taken
round by round does not see it.
"""

import subprocess
import time

import numpy as np


class Rounds:
    """Rates of each contender in each round, in items per second."""

    def __init__(self, rates):
        self.rates = {name: np.array(rates) for name, rates in rates.items()}

    def median(self, name):
        return float(np.median(self.rates[name]))

    def ratio(self, name, other):
        """Median over the rounds of name's rate by other's."""
        return float(np.median(self.rates[name] / self.rates[other]))

    def fastest(self, names):
        return max(names, key=self.median)


def interleave(contenders, rounds):
    """contenders: {name: function that measures its rate}. Returns Rounds."""
    rates = {name: [] for name in contenders}
    for number in range(rounds):
        # Each second round backwards: nobody always comes first.
        for name in sorted(contenders, reverse=number % 2):
            rates[name].append(contenders[name]())
    return Rounds(rates)


def processor_rate(work, items, seconds):
    """How many items go through calls of work(), each of which does so many, in a second of this
    thread's processor time; the twin of rate() in bench.h."""
    calls_at_once = 1

    def timed_calls():
        start = time.thread_time()
        for _ in range(calls_at_once):
            work()
        return time.thread_time() - start

    spent = 0
    while spent < seconds / 4:
        last = timed_calls()
        spent += last
        if last < 1e-3:
            calls_at_once *= 2
    spent = calls = 0
    while spent < seconds:
        spent += timed_calls()
        calls += calls_at_once
    return items * calls / spent


class KernelsBench:
    """The core and Eigen, measured by the program kernels_bench."""

    def __init__(self, program, seconds):
        self.program = program
        self.seconds = seconds
        self.isas = self._run("isas").split()

    def _run(self, *words):
        return subprocess.run([self.program, *map(str, words)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def peak(self, isa):
        return lambda: float(self._run("peak", isa, self.seconds))

    def inference(self, isa, shape, count):
        return lambda: float(self._run("inference", isa, *shape.words(count), self.seconds))

    def whole_numbers(self, isa, bits, shape, count):
        return lambda: float(self._run("quantized", isa, bits, *shape.words(count), self.seconds))

    def eigen(self, shape, count):
        return lambda: float(self._run("eigen", *shape.words(count), self.seconds))

    def step(self, isa, loss, noise, shape, count):
        return lambda: float(self._run("step", isa, loss, noise, *shape.words(count),
                                       self.seconds))

    def tracking(self, model, what):
        return lambda: float(self._run("tracking", model, what, self.seconds))

    def channels(self, model, outputs, what):
        return lambda: float(self._run("channels", model, outputs, what, self.seconds))


class Shape:
    """A network and the stream in front of it."""

    def __init__(self, sizes, stride, title):
        self.sizes = sizes
        self.stride = stride  # floats per symbol
        self.title = title

    def words(self, count):
        """As kernels_bench takes them."""
        return ["-".join(map(str, self.sizes)), self.stride, count]

    def flops(self):
        """Of one symbol's inference: a multiplication and an addition per weight."""
        return 2 * sum(a * b for a, b in zip(self.sizes, self.sizes[1:]))

    def flops_done(self):
        """Those that are done, as two windows share what they can:
        lib/core/network/fast_fir.h."""
        symbols = self.sizes[0] // self.stride
        spared = symbols - (symbols // 2 + 2 * (symbols - symbols // 2)) / 2
        return self.flops() - 2 * spared * self.stride * self.sizes[1]


SHAPES = {
    "d44_m4": Shape([44, 10, 10, 10, 10, 4], 4, "D = 44 (real, 4 samples/symbol), M = 4"),
    "d88_m16": Shape([88, 10, 10, 10, 10, 16], 8, "D = 88 (complex, 4 samples/symbol), M = 16"),
}
