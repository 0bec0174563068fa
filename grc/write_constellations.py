# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the constellations that the core has by name into the blocks' descriptions, for GRC to offer.

What stands there for other points (GNU Radio's own, an object) stays, and so do labels of people's choice.
"""

import re
from pathlib import Path

import yaml
from gnuradio.adann import core

LARGEST = {"adann_mlse": 64}  # points that a block takes, where not all
TOGETHER = {"adann_burst_equalizer", "adann_mlse"}  # blocks that take none whose Q comes later than I
PARAMETER = re.compile(r"^- id: constellation\n.*\n  dtype: enum\n"
                       r"  options: (?P<options>.*)\n  option_labels: (?P<labels>.*)\n"
                       r"(?:  option_attributes:\n    size: (?P<sizes>.*)\n)?", re.MULTILINE)


def listed(values: list) -> str:
    return yaml.safe_dump(values, default_flow_style=True, width=10**6).strip()


def written(text: str, largest: int, together: bool = False) -> str:
    """A description, with all constellations of up to `largest` points in its list, if it has one; only those whose
    I and Q come together, if so."""
    found = PARAMETER.search(text)
    if not found:
        return text
    options, labels = yaml.safe_load(found["options"]), yaml.safe_load(found["labels"])
    named = {name: core.constellation(name).size for name in core.constellation.names()
             if not (together and core.constellation(name).is_offset)}
    sizes = dict(zip(options, yaml.safe_load(found["sizes"]) if found["sizes"] else options))
    sizes = {name: size for name, size in named.items() if size <= largest} | {
        name: size for name, size in sizes.items() if name.startswith("gr:") or name == "given"}
    labels = dict(zip(options, labels))
    lists = {"options": list(sizes), "labels": [labels.get(name, name.upper()) for name in sizes],
             "sizes": list(sizes.values())}
    start = text
    for group in reversed(found.re.groupindex):  # from the end, for the places before it to stay
        if found[group]:
            text = text[:found.start(group)] + listed(lists[group]) + text[found.end(group):]
    return start if yaml.safe_load(start) == yaml.safe_load(text) else text


def main() -> None:
    for path in sorted(Path(__file__).parent.glob("*.block.yml")):
        text = path.read_text()
        block = path.name.removesuffix(".block.yml")
        new = written(text, LARGEST.get(block, 256), block in TOGETHER)
        if new != text:
            path.write_text(new)
            print(f"{path.name}: constellations written")


if __name__ == "__main__":
    main()
