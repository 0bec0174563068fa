# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of the suites that are held to an interval: all of them are in bars.json.

A figure outside of its interval fails, on either side: a loss is mended, and a gain is noted, as it would hide the next
loss. The commit that moves a figure says why, and writes the new interval:

    ./dev run python3 tests/bars.py SUITE DIR           compare what `adann reproduce` wrote to DIR
    ./dev run python3 tests/bars.py SUITE DIR --write   note it
"""

import json
import math
import pathlib
import sys

FILE = pathlib.Path(__file__).parent / "bars.json"
DEVIATIONS = 4  # of a count: rounding by another instruction set, or another GNU Radio, draws other errors
NEAR = 0.01  # part of a suite's bars that lie so near to their limits that rounding decides


def outside(suite, found):
    """What to say of the figures, {name: number}, that are not within the suite's intervals, or not among them."""
    bars = json.loads(FILE.read_text())[suite]
    said = [f"{suite}: {name} is {'not measured' if name in bars else 'not in bars.json'}"
            for name in sorted(found.keys() ^ bars.keys())]
    return said + [f"{suite}: {name} is {found[name]:g}, not {bar['low']:g} to {bar['high']:g}: "
                   f"{'more' if found[name] > bar['high'] else 'less'} than the {bar['measured']:g} noted"
                   for name, bar in bars.items() if name in found and not bar["low"] <= found[name] <= bar["high"]]


def interval(count):
    """Of a count of errors."""
    around = DEVIATIONS * math.sqrt(count + 1)
    return {"low": max(0, math.floor(count - around)), "measured": count, "high": math.ceil(count + around)}


def write(suite, found):
    """Note the figures of a suite, {name: a count}."""
    bars = json.loads(FILE.read_text()) if FILE.exists() else {}
    bars[suite] = {name: interval(count) for name, count in found.items()}
    FILE.write_text(json.dumps(bars, indent=1) + "\n")


def met(results):
    """{"bars met": their number} of the results.json of a suite that judges by itself, and how many there are."""
    return {"bars met": sum(bar["met"] for bar in results["bars"])}, len(results["bars"])


def main(suite, folder, *options):
    found, of = met(json.loads((pathlib.Path(folder) / "results.json").read_text()))
    if options == ("--write",):
        bars = json.loads(FILE.read_text())
        near = math.ceil(NEAR * of)
        bars[suite] = {name: {"low": count - near, "measured": count, "high": min(count + near, of)}
                       for name, count in found.items()}
        FILE.write_text(json.dumps(bars, indent=1) + "\n")
        return 0
    said = outside(suite, found)
    print("\n".join(said) or f"{suite}: all within their intervals")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
