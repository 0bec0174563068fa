# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages for users and contributors in plain words: short sentences, short lines, the field's terms.
Comments of C++ have the field's terms, too, and comments, docstrings and messages of Python.

Counted are the pages that people wrote; those in folders of docs/results/ are written by `adann reproduce`.
Tables, listings, headings and pictures are no prose, and a row of a table may be as long as it has to be.
"""

import io
import pathlib
import re
import tokenize

import click
import pytest
import yaml
from gnuradio.adann.cli import main as adann

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [*(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
                                    "examples/README.md", "packaging/release.md")),
         *(page for folder in ("docs", "docs/tutorials", "docs/results")
           for page in sorted((ROOT / folder).glob("*.md")))]
MEAN, LONGEST, WIDTH = 20, 45, 110  # words of a sentence on the mean of a page and at most; columns

# What a radio engineer would have to look up, and the field's word for it.
PRIVATE = {
    r"tells?|told|untold|telling": "known, data-aided, indicates, says",
    r"leaves(?! out\b)|leave (?:least|less|more)|what (?:is|was) left|(?:is|are|was|were) left of": "residual",
    r"beside": "next to, relative to, besides",
    r"behind": "after",
    r"foretold|foretells?": "predicted",
    r"turn(?:ed|s|ing)(?!(?: \w+)? (?:on|off|into)\b)": "rotated, rotating, cycles",
    r"aside|displaced": "an ambiguity of delay or rotation",
    r"borne|bears?": "tolerated",
    r"doubts?": "error probability",
    r"misfits?|pattern bias": "model mismatch",
    r"memories|(?:long|short|longer|shorter) memory": "forgetting time constant",
    r"of many makers|of another making": "randomly drawn",
    r"untouched": "held-out",
    r"apart": "every N symbols, separately",
    r"looks? (?:back|before|later)|(?:each|next|every) look": "test, interval",
    r"still (?:link|channel|echo|one)s?": "static",
    r"as ever|unless told otherwise|wont to|lays? aside|in hindsight": "(leave it out)",
}


def without_listings(text):
    """The lines of a page, those of its listings empty."""
    listing = re.compile(r"^\s*```.*?^\s*```", re.DOTALL | re.MULTILINE)
    return listing.sub(lambda found: "\n" * found[0].count("\n"), text).splitlines()


def prose(text):
    """The blocks of running text, each with the number of its first line: paragraphs and items of lists."""
    block, first = [], 0
    for number, line in enumerate([*without_listings(text), ""], 1):
        bare = line.strip()
        item = re.match(r"(?:[-*]|\d+\.) ", bare)
        if block and (item or re.match(r"[|#<!]|$", bare)):
            yield first, " ".join(block)
            block = []
        if bare and not re.match(r"[|#<]|!\[", bare):
            first = first if block else number
            block.append(bare[item.end():] if item else bare)


def words_of(block):
    """A block as it is read: links by their text, code as one word, marks of emphasis left out."""
    block = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
    return re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", re.sub(r"`[^`]*`", "Code", block))


def sentences(text):
    """(line, sentence) of all running text."""
    for line, block in prose(text):
        for sentence in re.split(r"(?<=[.!?])[)\"]?\s+(?=[^a-z\s])", words_of(block)):
            if re.search(r"\w", sentence):
                yield line, sentence


def count(sentence):
    return sum(re.search(r"\w", word) is not None for word in sentence.split())


def private_words(lines):
    """What to say instead, of each private word in the lines."""
    return [f"line {number}: {private[0]}: say {instead}"
            for number, line in enumerate(lines, 1) for pattern, instead in PRIVATE.items()
            for private in re.finditer(rf"\b(?:{pattern})\b", words_of(line), re.IGNORECASE)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_and_lines_are_short(page):
    text = page.read_text()
    found = [(count(sentence), line, sentence) for line, sentence in sentences(text)]
    too_long = [f"line {line}, {words} words: {sentence}" for words, line, sentence in found if words > LONGEST]
    too_long += [f"line {number}, {len(line)} columns" for number, line in enumerate(text.splitlines(), 1)
                 if len(line) > WIDTH and not line.lstrip().startswith("|")]
    assert not too_long, "\n".join(too_long)
    mean = sum(words for words, _, _ in found) / max(len(found), 1)
    assert mean < MEAN, f"{mean:.1f} words a sentence; the longest: {max(found)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_words_are_the_fields(page):
    """In tables, too; code and links have the names that things have."""
    assert not private_words(without_listings(page.read_text()))


def test_the_words_of_dialogs_are_the_fields():
    """Of the descriptions that GNU Radio Companion shows."""
    for path in sorted((ROOT / "grc").glob("*.block.yml")):
        assert not private_words(yaml.safe_load(path.read_text())["documentation"].splitlines()), path.name


def test_the_words_of_help_are_the_fields():
    for name, command in adann.commands.items():
        assert not private_words([" ".join(command.get_help(click.Context(command)).split())]), name


def comments(text):
    """The lines of a C++ file, all but its comments blank; names of parameters and functions as `Code`."""
    found = (re.search(r"//.*|^ *(?:/\*|\*).*", line) for line in text.splitlines())
    names = re.compile(r"\\param [\w,]+|\b\w+::\w+|\b\w+\(\)")
    return [names.sub("Code", each[0]) if each else "" for each in found]


# Strings; from Python 3.12 on f-strings have tokens of their own, without what is in braces.
_STRINGS = tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None)


def prose_of_python(text):
    """Lines of comments, docstrings and messages; names of parameters, and words in quotes, as `Code`."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type in _STRINGS and " " in token.string:
            said = re.sub(r"\{[^{}]*\}|\b\w+:|\"\w+\"|\b\w+(?=, \w+: )", "Code", token.string)
            for number, line in enumerate(said.splitlines(), token.start[0]):
                lines[number - 1] += f" {line}"
    return lines


@pytest.mark.parametrize("path", [path for folder in ("python", "examples", "bench", "docs", "fuzz", "grc")
                                  for path in sorted((ROOT / folder).rglob("*.py"))],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_of_python_are_the_fields(path):
    assert not private_words(prose_of_python(path.read_text()))


def test_comments_docstrings_and_messages_are_found():
    text = ('def told(aside):\n    """Tells.\n\n    turns: of it."""\n    told = {"told": aside}  # beside\n'
            '    raise ValueError(f"{told} lies behind")\n')
    assert [line.split(": say")[0] for line in private_words(prose_of_python(text))] == [
        "line 2: Tells", "line 5: beside", "line 6: behind"]


@pytest.mark.parametrize("path", [path for folder in ("include", "lib") for path in sorted((ROOT / folder).rglob("*"))
                                  if path.suffix in (".h", ".cc")], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_of_comments_are_the_fields(path):
    assert not private_words(comments(path.read_text()))


def test_comments_are_found():
    """Of a file in which one can see them; code has the names that things have."""
    text = "/*! told\n * tells */\nint behind; //!< beside\nint aside = 1;\n//! \\param apart of apart()\n"
    assert [line for line in private_words(comments(text)) if line] == [
        "line 1: told: say known, data-aided, indicates, says",
        "line 2: tells: say known, data-aided, indicates, says",
        "line 3: beside: say next to, relative to, besides"]


def test_what_is_counted_is_what_is_read():
    """The counts of this file, on a page whose counts one can see."""
    page = ("# A heading that does not count\nOne two three. Four, `five six`, [seven](far/away.md)\neight!\n\n"
            "- Nine ten e.g. eleven.\n- Twelve\n  thirteen.\n\n| a table | row |\n```\ncode. Code.\n```\n"
            "1. **Fourteen.**\n")
    assert [(line, count(sentence)) for line, sentence in sentences(page)] == [(2, 3), (2, 4), (5, 4), (6, 2), (13, 1)]
