#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packet error rates with a preamble of 64 symbols: AdaNN, GNU Radio's linear_equalizer, a slicer."""

import sys

from gnuradio.adann.experiments.bursts import CASES, measure


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for case in CASES:
        print(f"{case}, {count} packets")
        for receiver, rate in measure(case, count):
            print(f"  {rate:.3f}  {receiver}", flush=True)


if __name__ == "__main__":
    main()
