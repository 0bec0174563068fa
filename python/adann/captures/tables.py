# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of numbers in text files, as oscilloscopes and spreadsheets of many languages write them.

Errors are ValueErrors without the file's name.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_EXACT = 1e-6  # relative: what two intervals of one rate may differ by
_SAMPLE = 1000  # rows at each end of a table that show how its numbers are written
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
                     (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
#: Signs of typography that numbers are written with, as Python's float() takes them.
_SIGNS = str.maketrans({"−": "-", "∞": "inf", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})
_NUMBER = re.compile(r"(?i)[+-]?(\d[\d.,]*([ ']\d{3}[\d.,]*)*|[.,]\d+)(e[+-]?\d+)?|[+-]?(nan|inf(inity)?)")
#: Numbers by their decimal mark, whose thousands may be divided.
_GROUPED = {mark: re.compile(rf"(?i)[+-]?((\d{{1,3}}([{other}' ]\d{{3}})+|\d*)(\{mark}\d*)?(e[+-]?\d+)?|nan|"
                             r"inf(inity)?)") for mark, other in ((".", ","), (",", "."))}
_MOMENT = re.compile(r"\d+[:/.-]\d+[:/.-]\d+")  # a date, or the time of a day
_COMPLEX = re.compile(r"(?i)\d[ij]\b")  # the end of a complex number
#: One comma or point that may be a decimal mark or divide thousands.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
_PREFIXES = {"f": 1e-15, "femto": 1e-15, "p": 1e-12, "pico": 1e-12, "n": 1e-9, "nano": 1e-9, "u": 1e-6, "µ": 1e-6,
             "micro": 1e-6, "m": 1e-3, "milli": 1e-3, "": 1.0, "k": 1e3, "kilo": 1e3, "mega": 1e6, "g": 1e9,
             "giga": 1e9}
_KINDS = {"s": "time", "v": "value", "a": "value", "h": "frequency"}  # by a unit's first letter
#: A unit that is all of a field, stands after "in", between brackets, or after / or _, at its end.
_UNIT = re.compile(r"(?i)(?:^|\bin\s+|[(\[/_]\s*)(femto|pico|nano|micro|milli|kilo|mega|giga|[fpnuµmkg]?)"
                   r"(s|sec|seconds?|sekunden?|v|volts?|a|amp|amperes?|hz|hertz|sa/s|s/s)\s*[)\]]?$")
#: A unit of times other than seconds, anywhere in a title without numbers.
_SHORT_TIMES = re.compile(r"(?i)(?:(?<![a-zµ])(femto|pico|nano|micro|milli|[fpnuµm])|(?<=[a-z])(?-i:([FPNUM])))"
                          r"(s|sec|seconds?|sekunden)(?![a-z])")
#: A title between blanks, with its unit.
_BLANKS = re.compile(r"\S+(?:\s+(?:[(\[][^)\]]*[)\]]|in \S+))?")
_RIGOL = re.compile(r"\btInc ?= ?(\S+?),?(?:\s|$)")
_UNITS = {kind: re.compile(rf"(?i)\W*(?:{names})[ _-]?(?:axis )?units?\W+(\S+)\W*$")
          for kind, names in (("time", "time|horizontal|h|x"), ("value", "voltage|vertical|v|y|"))}
_SAMPLING = re.compile(r"(?i)\W*(?:delta[ _-]?x|(?:sampl(?:e|ing)|(?:time|horizontal|h|x|point)"
                       r"(?=[ _-]?(?:inter|inc|step|resol)))[ _-]?"
                       r"(interval|increment|inc|period|step|resolution|rate|frequency))\b([^\d.]*)"
                       r"(\d[\d.]*(?:e[+-]?\d+)?)\s*([^\d\s]*)\W*")
#: A time below a second, as in a line about a record.
_SHORT = re.compile(r"(?i)(?<![\d.])(\d[\d.]*(?:e[+-]?\d+)?) ?([fpnuµm]s)(?![a-z])")


@dataclass
class Table:
    """columns: {its place in a row: float64 (n,)}; header: the fields of each line above them."""

    columns: dict[int, npt.NDArray]
    header: list[list[str]]

    def title(self, column: int) -> list[str]:
        """What the last two lines of the header say above a column: its name, its unit."""
        return [line[column] for line in self._last() if len(line) > max(self.columns) and line[column]]

    def unit(self, column: int) -> tuple[str, float] | None:
        """("time", "value" or "frequency", in seconds, volts or amperes, hertz) as the last line that has units says;
        None: it does not."""
        for line in reversed(self._last()):
            if len(line) > max(self.columns) and any(_unit(line[each]) for each in self.columns):
                return _unit(line[column])
        return None

    def common_unit(self, kind: str) -> float | None:
        """Seconds ("time") or volts ("value") of a number, where a line as "Horizontal Units,ms" gives them for all."""
        for line in self.header:
            fields = [field for field in line if field]
            told = _UNITS[kind].match(_words(fields[:1] + fields[-1:]))
            unit = told and _unit(told[1])
            if not unit or unit[0] != kind:
                continue
            if any(other and other != unit for other in map(_unit, fields[1:])):
                raise ValueError(f"channels in different units, {', '.join(fields[1:])}, allowed: one unit, or that of "
                                 "each in its title")
            return unit[1]
        return None

    def unit_of_step(self, step: float) -> float | None:
        """Seconds of the unit with which the header gives a time of this number."""
        told = [match.groups() for line in self.header for match in _SHORT.finditer(" ".join(line).replace("μ", "µ"))]
        return next((_PREFIXES[unit[0].lower()] for number, unit in told
                     if (value := _positive(number)) and abs(value / step - 1) < 1e-6), None)

    def has_unplaced_times(self) -> bool:
        """Whether the header has a unit of times other than seconds, but not of which column."""
        units = [_unit(text) for line in self._last() if len(line) <= max(self.columns) for field in line
                 for text in re.findall(r"[(\[][^)\]]*[)\]]", field)]
        return any(unit and unit[0] == "time" and unit[1] != 1 for unit in units)

    def _last(self):
        """The titles: lines that say nothing of all columns, nor when the table was made."""
        about_all = _SAMPLING, *_UNITS.values()
        return [line for line in self.header if any(line) and not any(map(_MOMENT.match, line)) and not any(
            each.match(_words(line)) for each in about_all)][-2:]

    def interval(self) -> float | None:
        """Seconds per sample, where a line or a column of the header has the interval or the rate."""
        for names, values in zip(self.header, self.header[1:]):
            if "Increment" in names and len(values) > names.index("Increment"):
                return _positive(values[names.index("Increment")])  # Rigol
        for line in self.header:
            if told := _RIGOL.search(" ".join(line)):
                return _positive(told[1])
            if not (told := _SAMPLING.fullmatch(_words(line))):
                continue
            kind = "frequency" if told[1] and told[1].lower() in ("rate", "frequency") else "time"
            bracketed = re.search(r"[(\[].+?[)\]]", told[2])
            unit = told[4] or (bracketed and bracketed[0])
            found, scale = (_unit(unit) or ("", 0.0)) if unit else (kind, 1.0)
            if not unit and kind == "time":
                scale = self.common_unit("time") or 1.0
            if found == kind and (value := _positive(told[3])):
                return value * scale if kind == "time" else 1 / (value * scale)
        return None


def read_table(content: bytes) -> Table:
    """The table of numbers at the end of a text: rows of as many columns, below any header.

    Between columns: semicolon, tab, comma or blanks; fields may be quoted. Decimal points or commas, thousands divided
    by the other of them, by blanks or apostrophes. UTF-8, -16 and -32, else Windows' Western encoding.
    Raises ValueError where numbers may be read in two ways, and where rows differ.
    """
    lines = re.split(r"\r\n|\n|\r", decoded(content).translate(_SIGNS))
    while lines and not lines[-1].strip(",;\t "):
        lines.pop()
    # What a row is like is seen in the last but one: the last may be truncated.
    row = lines[-min(2, len(lines))] if lines else ""
    delimiters = [mark for mark in (";", "\t", ",", None) if _is_row(row, mark)]
    if not delimiters and _COMPLEX.search(row):
        raise ValueError("complex numbers in one column, allowed: real and imaginary parts in columns of their own")
    if not delimiters:
        raise ValueError("no table of numbers, allowed: rows of numbers without units, between commas, semicolons, "
                         "tabs or blanks")
    tail = lines[-50:-1]
    delimiter = max(delimiters, key=lambda mark: sum(_numbers(row, mark) <= _numbers(line, mark) for line in tail))
    columns = _numbers(row, delimiter)
    start = next(number for number, line in enumerate(lines) if columns <= _numbers(line, delimiter))
    rows = [line for line in lines[start:] if line.strip()]
    width = len(_fields(row, delimiter))
    header = [_titles(line, delimiter, width) for line in lines[:start]]
    sample = [_fields(line, delimiter) for line in dict.fromkeys(itertools.chain(rows[:_SAMPLE], rows[-_SAMPLE:]))]
    _check_last_rows(sample, columns, row)
    numbers = [fields[column] for fields in sample for column in sorted(columns) if len(fields) > column]
    mark = _decimal_mark(numbers)
    if delimiter == "," and '"' not in rows[0]:
        _check_commas(numbers, columns, header)
    try:
        values = _values(rows, delimiter, sorted(columns), mark, numbers)
    except ValueError as error:
        raise ValueError(f"truncated or segmented: below the header, {error}") from error
    return Table(dict(zip(sorted(columns), values)), header)


def decoded(content: bytes) -> str:
    """A text by its byte-order mark; without one UTF-8, or UTF-16 where every other byte is 0."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace").removeprefix("\ufeff")
    head = content[:1024]
    for order, zeros in (("le", head[1::2]), ("be", head[::2])):
        if head.count(0) and zeros.count(0) > len(zeros) // 2:
            return content.decode(f"utf-16-{order}", "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _fields(line, delimiter):
    if delimiter is None:
        return line.split()
    try:
        return [each.strip("' ") for each in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:  # a field of more than 128 KiB
        return []


def _titles(line, delimiter, width):
    """The fields of a line of the header, which may be a comment and divided otherwise than the rows are."""
    line = line.lstrip("#%;!/ ".replace(delimiter or " ", ""))
    found = _fields(line, delimiter)
    if delimiter is not None and len(found) > 1:
        return found
    others = [_fields(line, mark) for mark in ",;\t" if mark != delimiter]
    return next((fields for fields in (*others, _BLANKS.findall(line)) if len(fields) == width), [line])


def _numbers(line, delimiter):
    """Which fields of a line are numbers."""
    return {column for column, text in enumerate(_fields(line, delimiter)) if _NUMBER.fullmatch(text)}


def _is_row(line, delimiter):
    """Whether a line that is divided so has numbers, and nothing else that begins as one."""
    numbers, fields = _numbers(line, delimiter), _fields(line, delimiter)
    others = [text for column, text in enumerate(fields) if column not in numbers]
    if delimiter is None:
        return bool(fields) and not others
    return bool(numbers) and len(fields) > 1 and not any(
        re.match(r"\(?[-+]?[.,]?\d", text) and not _MOMENT.match(text) for text in others)


def _check_last_rows(sample, columns, row):
    """Raise ValueError where most rows have a number in a column that the last ones lack: sums, or a channel that ends
    before the others."""
    for column in range(max(map(len, sample))):
        if column not in columns and 2 * sum(len(fields) > column and bool(_NUMBER.fullmatch(fields[column]))
                                             for fields in sample) > len(sample):
            raise ValueError(f"its last rows, as {row!r:.60}, have no number in column {column + 1}, allowed: rows "
                             "with as many numbers as those above them")


def _decimal_mark(numbers):
    """"." or ",", by what can be nothing else. Raises ValueError for both, or if none shows which."""
    found, either = set(), set()
    for text in numbers:
        mantissa, exponent, _ = text.lower().partition("e")
        marks = [each for each in mantissa if each in ".,"]
        if not marks:
            continue
        if (match := _EITHER.fullmatch(mantissa)) and not exponent:
            either.add(match[1])
        elif len(set(marks)) > 1 or len(marks) == 1:
            found.add(marks[-1])
        else:  # one mark, several times: thousands
            found.add("." if marks[0] == "," else ",")
    if len(found) > 1:
        raise ValueError("some of its numbers have decimal points and some decimal commas, allowed: one of them; "
                         "save it again, with points")
    if not found and "," in either:
        raise ValueError("its commas may be decimal or divide thousands, allowed: tables that show which; save it "
                         "again, with decimal points and without commas in numbers")
    return found.pop() if found else "."


def _check_commas(numbers, columns, header):
    """Raise ValueError where a comma between columns is one within numbers, too: none has a point, and either the
    title has half as many columns, or some begin as only decimals do."""
    titles = [line for line in header if any(line)][-1:]
    halved = any(2 * len(line) == len(columns) and not any(map(_NUMBER.fullmatch, line)) for line in titles)
    signed = any(text.startswith(("-", "+")) for text in numbers[1::2])
    if (halved and not signed or any(re.match(r"0\d", text) for text in numbers)) and not any(
            "." in text for text in numbers):
        raise ValueError("its commas are decimal and between columns, allowed: one of both; save it again, with "
                         "decimal points or with ; between columns")


def _values(rows, delimiter, columns, mark, numbers):
    """(columns, n)."""
    other = "," if mark == "." else "."
    dividers = "'" + other.replace(delimiter or " ", "") + (" " if delimiter else "")
    divided = re.compile(rf"\d[{dividers}]\d")
    if mark == delimiter or any(map(divided.search, rows)) or any(other in text for text in numbers):
        pattern = _GROUPED[mark]
        values = np.empty((len(columns), len(rows)))
        for number, line in enumerate(rows):
            fields = _fields(line, delimiter)
            for place, column in enumerate(columns):
                text = fields[column] if column < len(fields) else ""
                if not text or not pattern.fullmatch(text):
                    raise ValueError(f"row {number} has {text!r:.60}, allowed: numbers such as {numbers[0]}")
                values[place, number] = float(re.sub(f"[{other}' ]", "", text).replace(mark, "."))
        return values
    if mark == ",":
        rows = [line.replace(",", ".") for line in rows]
    return np.loadtxt(rows, delimiter=delimiter, usecols=columns, comments=None, ndmin=2, quotechar='"').T


def _words(line):
    """Of a line of the header, in which a value may stand once for each column."""
    return " ".join(filter(None, dict.fromkeys(line)))


def unit_of_times(name: str) -> float | None:
    """Seconds of the unit in the name of a variable, as in t_ms; None: it has none of times."""
    unit = _unit(name)
    return unit[1] if unit and unit[0] == "time" else None


def _unit(text):
    text = text.replace("μ", "µ")
    match = _UNIT.search(text)
    if not match:
        short = None if re.search(r"\b\d", text) else _SHORT_TIMES.search(text)
        return short and ("time", _PREFIXES[(short[1] or short[2]).lower()])
    prefix, unit = match[1], match[2].lower()
    kind = "frequency" if "/" in unit else _KINDS[unit[0]]
    scale = 1e6 if prefix == "M" and kind == "frequency" or prefix == "m" and "/" in unit else _PREFIXES[prefix.lower()]
    return kind, scale


def _positive(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def rises_evenly(values: npt.NDArray) -> bool:
    """Whether values are times: nowhere more than an interval off, which printing may round."""
    if values.size < 3 or np.iscomplexobj(values) or not np.isfinite(values).all():
        return False
    interval = (values[-1] - values[0]) / (values.size - 1)
    return bool(interval > 0 and _off(values).max() <= interval and (np.diff(values) >= 0).all())


def _off(values):
    """How far values are from those that rise evenly between the first and the last."""
    values = values - values[0]  # whole numbers, as nanoseconds since 1970, are as large as floats are exact
    return abs(values - values[-1] / (values.size - 1) * np.arange(values.size))


def _interval(values):
    """Between times: by both ends, or where those are rounded much, by a line through all."""
    ends = (values[-1] - values[0]) / (values.size - 1)
    if _off(values).max() <= _EXACT * ends * values.size:
        return ends
    places = np.arange(values.size) - (values.size - 1) / 2
    return places @ (values - values[0]) / (places @ places)


def is_index(values: npt.NDArray) -> bool:
    """Whether values count the samples, from 0 or 1 on."""
    return values.size > 2 and values[0] in (0, 1) and np.array_equal(values, values[0] + np.arange(values.size))


def without_times(columns: dict[Any, npt.NDArray], kinds: Sequence[str | None] = ()) -> tuple[
        dict, float | None, float]:
    """The columns without those of times, which may be repeated, and those that count samples; the interval of the
    times, None where there are none; and by how many intervals repeated ones differ at most.

    kinds: "time", "value" or None, not known, of each column; none known: the first column that rises evenly.
    """
    named = dict(itertools.zip_longest(columns, kinds))
    rest, interval, skew = dict(columns), None, 0.0
    for name, values in columns.items():
        if len(rest) == 1 or named[name] == "value" or not rises_evenly(values):
            continue
        if named[name] != "time" and is_index(values):
            del rest[name]
            continue
        found = _interval(values)
        repeated = interval is not None and abs(found / interval - 1) <= _EXACT
        if interval is not None and named[name] == "time" and not repeated:
            raise ValueError("two different sample rates, allowed: 1")
        if interval is None:
            interval, times = found, values
            del rest[name]
        elif repeated:
            skew = max(skew, abs(np.mean(values - times)) / interval)
            del rest[name]
    return rest, interval, skew
