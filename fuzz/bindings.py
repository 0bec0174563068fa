# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile arguments for every binding of the core: it takes them, or raises an exception.

Arguments: seconds to run, and a seed. Prints how many calls there were; what is broken ends the process.
"""

import random
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests/bindings"))
from calls import RIGHT, called, hostile, right_arguments  # noqa: E402

NUMBERS = [0, 1, -1, 1e-45, 1e30, 3e38, float("inf"), float("nan")]


def changed(value: object, dice: random.Random) -> object:
    """Something else in the place of a right value: any thing, or an array that is nearly right."""
    if not isinstance(value, np.ndarray) or dice.random() < 0.3:
        return dice.choice(list(hostile(value)))
    value = value.copy()
    if value.dtype.kind == "u":
        for _ in range(dice.randrange(1, 4)):
            value.flat[dice.randrange(value.size)] = dice.randrange(256) if dice.random() < 0.5 else dice.randrange(4)
    else:
        for _ in range(dice.randrange(1, 20)):
            value.flat[dice.randrange(value.size)] = dice.choice(NUMBERS)
    if dice.random() < 0.3:
        value = value[:dice.randrange(len(value) + 1)]
    if dice.random() < 0.1:
        value = value[::dice.choice([-1, 2, 3])]
    return value


def main(seconds: float, seed: int) -> None:
    dice = random.Random(seed)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    np.seterr(all="ignore")
    names = [name for name in RIGHT if right_arguments(name)]
    calls = taken = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        name = dice.choice(names)
        arguments = dict(right_arguments(name))
        for key in dice.sample(sorted(arguments), min(len(arguments), dice.randrange(1, 3))):
            arguments[key] = changed(arguments[key], dice)
        calls += 1
        try:
            called(name, arguments)
            taken += 1
        except (ValueError, TypeError, IndexError, RuntimeError, MemoryError):
            pass
    print(f"bindings: {calls} calls, {taken} taken, seed {seed}")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
