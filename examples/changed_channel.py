#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records whose data is not scrambled, off air and off a line, and what happens when their channel
changes half-way.

dmr: CAPTURE is dmr_it_8.dis of github.com/f4exb/dsdcc: DMR voice after the discriminator, 48 kS/s
int16, 4800 Bd, four levels in frames. Its sync words are known; between them a matched filter
decides, by levels that the sync words around give.
pcie: CAPTURE is pcie_c1.bin of github.com/ngscopeclient/scopehal-testdata: PCI Express gen 1, 2.5 GBd,
volts at 40 GS/s. A slicer decides, and 8b/10b proves that it is right everywhere.

The network is trained on the first quarter. From the middle on the samples go through a filter of
three taps, one per symbol: as many channels as there are options, one after the other.
"""

import argparse
from pathlib import Path

import numpy as np
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.captures.line_codes import CODE, check_8b10b, find_words
from measured import adann

SPS = 2  # of what is equalized
SYNC = {"base": "755FD7DF75F7", "mobile": "DFF57D75DF5D"}  # ETSI TS 102 361-1, Table 9.2, voice
CHANNELS = {"as it is": [1], "1, .2": [1, 0.2], ".15, 1, .3": [0.15, 1, 0.3],
            "1, .45, -.15": [1, 0.45, -0.15]}
NETWORKS = {"frozen": ["--mode", "off"], "AdaNN": []}


def read_dmr(path):
    """Samples at 10 a symbol from the first symbol's middle on, and the labels of pam4."""
    sps = 10
    samples = np.fromfile(path, "<i2").astype(np.float32)
    matched = np.convolve(samples, _root_raised_cosine(sps, 0.2, 12), "same")
    pairs = {name: np.unpackbits(np.frombuffer(bytes.fromhex(word), np.uint8)).reshape(-1, 2)
             for name, word in SYNC.items()}
    words = {name: np.where(pair[:, 0], -3, 3) for name, pair in pairs.items()}  # 01: +3, 11: -3
    found = find_words(matched, words, sps)
    at = np.array([start for start, _ in found])
    first = np.bincount(at % sps).argmax()
    # What an outer level is, word by word: the oscillators and the discriminator wander.
    rows = [(matched[start:start + sps * 24:sps], words[name] > 0) for start, name in found]
    high, low = (np.interp(np.arange(first, samples.size, sps), at,
                           [np.median(row[up == side]) for row, up in rows]) for side in (1, 0))
    level = 3 * (2 * matched[first::sps] - high - low) / (high - low)
    labels = np.digitize(level, [-2, 0, 2])
    wrong = sum(np.count_nonzero(labels[round((start - first) / sps):][:24]
                                 != 3 * (words[name] > 0)) for start, name in found)
    print(f"{len(found)} sync words of 24 symbols, {wrong} of their symbols decided wrongly")
    return samples[first:], sps, np.array([0, 1, 3, 2], np.uint8)[labels]


def read_pcie(path):
    """Samples at 16 a symbol from a symbol's middle on, and the labels of pam2, all proven."""
    sps = 16
    volts = np.fromfile(path, "<f4")
    volts -= volts.mean()
    opening = [np.percentile(abs(volts[phase::sps]), 1) for phase in range(sps)]
    volts = volts[int(np.argmax(opening)):]
    bits = (volts[::sps] > 0).astype(np.uint8)
    first, valid = check_8b10b(bits)
    print(f"8b/10b: {np.count_nonzero(valid)} of {valid.size} code groups valid, from bit {first}")
    if not valid.all():
        raise SystemExit("8b/10b: the slicer's bits are not proven")
    return volts[sps * first:], sps, bits[first:][:CODE * valid.size]


def _root_raised_cosine(sps, roll_off, span):
    frequency = np.fft.fftfreq(span * sps, 1 / sps)
    beyond = np.clip((2 * abs(frequency) - 1) / roll_off, -1, 1)
    return np.roll(np.fft.ifft(np.cos(np.pi / 4 * (beyond + 1))).real, span * sps // 2)


def changed(samples, taps, first):
    """The samples from `first` on through one tap per symbol, the largest at delay 0."""
    response = np.zeros(SPS * (len(taps) - 1) + 1)
    response[::SPS] = taps
    late = SPS * int(np.argmax(np.abs(taps)))
    through = np.convolve(samples, response)[late:late + samples.size]
    return np.concatenate([samples[:first], through[first:]]).astype(np.float32)


def main():
    readers = {"dmr": (read_dmr, "pam4", 4800), "pcie": (read_pcie, "pam2", 2.5e9)}
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", choices=list(readers))
    parser.add_argument("capture", metavar="CAPTURE", type=Path)
    parser.add_argument("-o", metavar="DIR", dest="directory", required=True, type=Path,
                        help="where captures, labels, model and decisions go")
    parser.add_argument("--channel", nargs="+", choices=list(CHANNELS), default=list(CHANNELS),
                        help="from the middle of the record on (default: one after the other)")
    arguments = parser.parse_args()
    directory = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)

    read, constellation, symbol_rate = readers[arguments.record]
    samples, sps, labels = read(arguments.capture)
    samples = samples[::sps // SPS][:SPS * labels.size]
    samples, labels = samples[:samples.size // SPS * SPS], labels[:samples.size // SPS]
    capture, reference, model = (directory / name for name in (
        "capture.sigmf-meta", "reference.u8", "model.safetensors"))
    write_capture(capture, samples, SPS * symbol_rate)
    labels.tofile(reference)
    adann("train", "--capture", capture, "--reference", reference, "--constellation", constellation,
          "--sps", SPS, "--half-window", 5, "--optimizer", "adam", "--batch", 1024,
          "--epochs", 60, "-o", model)

    half = labels.size // 2
    parts = {"before": slice(labels.size // 4, half), "first 2048": slice(half, half + 2048),
             "third quarter": slice(half + 2048, half + labels.size // 4),
             "last quarter": slice(half + labels.size // 4, None)}
    rows = []
    for channel in arguments.channel:
        write_capture(capture, changed(samples, CHANNELS[channel], SPS * half), SPS * symbol_rate)
        for name, options in NETWORKS.items():
            decided = directory / f"{name}.u8"
            adann("equalize", "--model", model, "--capture", capture, *options, "-o", decided)
            wrong = np.fromfile(decided, np.uint8) != labels
            rows.append([channel, name, *(np.count_nonzero(wrong[part]) for part in parts.values())])

    print("\nsymbol errors\n" + f"{'channel':14}{'network':10}" + "".join(f"{p:>16}" for p in parts))
    for channel, name, *errors in rows:
        print(f"{channel:14}{name:10}" + "".join(f"{count:16}" for count in errors))


if __name__ == "__main__":
    main()
