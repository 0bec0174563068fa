#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides a record by a network of `adann export --format onnx`: onnxruntime and numpy, nothing of gr-adann.

usage: run_onnx.py MODEL.onnx SAMPLES... LABELS.u8...

SAMPLES: float32, or I and Q of float32, as the network takes them; sample i*sps is the middle of symbol i. Of several
channels a file for each, and a file of labels for each transmitter.
"""

import sys

import numpy as np
import onnxruntime

PART = 65536  # symbols that are decided at a time


def decide(session, samples):
    """Of all channels' samples in turn, labels (n, transmitters), part by part."""
    told = session.get_modelmeta().custom_metadata_map
    floats, frames = int(told["input_size"]), int(told["history_depth"])  # of a symbol; of a window
    sps = int(told["sps"])
    before = (frames // 2 * sps + sps // 2) * (floats // sps)
    symbols = samples.size // floats
    padded = np.zeros((symbols + frames) * floats, np.float32)
    used = min(samples.size, padded.size - before)
    padded[before:before + used] = samples[:used]
    padded = padded.reshape(-1, floats)
    for first in range(0, symbols, PART):
        count = min(PART, symbols - first)
        posteriors, = session.run(["posteriors"], {"samples": padded[None, first:first + count + frames - 1]})
        yield posteriors[0].argmax(-1).astype(np.uint8).reshape(count, -1)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
    told = session.get_modelmeta().custom_metadata_map
    channels, files = int(told["channels"]), sys.argv[2:]
    if len(files) != channels + int(told["outputs"]):
        sys.exit(f"{sys.argv[1]} takes {channels} files of samples and gives {told['outputs']} of labels")
    kind = "<c8" if told["complex"] == "true" else "<f4"
    samples = np.stack([np.fromfile(path, kind) for path in files[:channels]], 1).reshape(-1).view("<f4")
    labels = np.concatenate(list(decide(session, samples)))
    for path, own in zip(files[channels:], labels.T):
        own.tofile(path)


if __name__ == "__main__":
    main()
