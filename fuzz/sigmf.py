# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutated SigMF pairs: each is read, or refused in one line without control characters.

Arguments: seconds to run, and a seed. Prints how many there were; an exception ends it.
"""

import json
import random
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from gnuradio.adann.captures import sigmf
from gnuradio.adann.captures.files import read_capture, read_channels, stored_capture, write_capture
from gnuradio.adann.captures.notes import CaptureWarning

SIZE = 256  # bytes of samples
FROM_FILES = 64  # one of so many is written to a file, the others stay in memory
NUMBERS = [0, 1, -1, 3, 4, 8, 63, 64, 2**31, 2**63, 2**64, -2**63, 0.5, 1e308, float("inf"), float("nan"), 10**400]
OTHERS = [None, True, [], {}, "", "rf32_le", "cf64_be", "ci8", "ru16_be", "burst", "\x1b[31m", "../a",
          "/etc/passwd", [[]], [{}]]
KEYS = ["core:datatype", "core:sample_rate", "core:num_channels", "core:header_bytes", "core:trailing_bytes",
        "core:dataset", "core:sha512", "core:offset", "core:metadata_only", "core:sample_start", "core:sample_count",
        "core:label", "core:frequency", "global", "captures", "annotations"]


def mutate(value: object, dice: random.Random) -> object:
    """A copy of a JSON value with one part changed."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        value = dict(value)
        key = dice.choice([*value, *KEYS])
        if dice.random() < 0.1:
            value.pop(key, None)
        else:
            value[key] = mutate(value.get(key), dice)
        return value
    if isinstance(value, list) and value and dice.random() < 0.7:
        value = list(value)
        at = dice.randrange(len(value))
        value[at] = mutate(value[at], dice)
        return value * dice.choice([1, 1, 1, 2])
    return dice.choice(NUMBERS + OTHERS)


def scramble(text: str, dice: random.Random) -> bytes:
    """Bytes of a text, some of them changed."""
    changed = bytearray(text.encode())
    for _ in range(dice.randrange(1, 6)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed[:dice.randrange(len(changed))] if dice.random() < 0.1 else changed)


def examine(capture: sigmf.StoredCapture) -> None:
    """What is read lies within the file."""
    assert capture.size > 0 and capture.offset >= 0
    item = capture.component.itemsize * (1 + capture.is_complex) * capture.channels
    assert capture.offset + capture.size * item <= SIZE
    assert all(0 <= burst.first < burst.end <= capture.size for burst in capture.bursts)
    assert all(len(note) < 400 and note.isprintable() for note in capture.notes)


def main(seconds: float, seed: int) -> None:
    dice = random.Random(seed)
    warnings.simplefilter("ignore", CaptureWarning)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    runs = loaded = opened = 0
    with tempfile.TemporaryDirectory() as folder:
        meta = write_capture(Path(folder, "a"), np.arange(SIZE // 4, dtype=np.float32), 1e6)
        data = meta.with_suffix(".sigmf-data")
        record = json.loads(meta.read_text())
        del record["global"]["core:sha512"]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            changed = record
            for _ in range(dice.randrange(1, 4)):
                changed = mutate(changed, dice)
            text = json.dumps(changed)
            stored = scramble(text, dice) if dice.random() < 0.3 else text.encode()
            runs += 1
            try:
                if runs % FROM_FILES:
                    examine(sigmf.described(sigmf.parsed(stored), data, SIZE))
                else:
                    meta.write_bytes(stored)
                    opened += 1
                    channels = read_channels(meta)
                    sizes = {channel.samples.size for channel in channels} | {len(channels[-1].samples[:])}
                    capture, found = read_capture(meta), stored_capture(meta)
                    examine(found)
                    assert sizes == {capture.samples.size} == {found.size}
                loaded += 1
            except ValueError as error:
                said = str(error)
                assert len(said) < 1000 and said.isprintable(), said
    print(f"sigmf: {runs} executions, {opened} of them by files, {loaded} loaded, seed {seed}")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
