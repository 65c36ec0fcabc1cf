"""Where everything stands in a TOML text: sections, keys, values, items, each as a span of the text.

Only texts that `tomllib` has read come here, so that nothing is checked again. What an edit does not touch
stays as it is, byte for byte: that is why there are places and no document that is written anew.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from incrowd.errors import PolicyError

Keys = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_SCALAR = re.compile(
    r'''"""(?:\\.|(?!""")[^\\])*"{3,5}'''
    r"""|'''(?:(?!''').)*'{3,5}"""
    r"""|"(?:\\.|[^"\\\n])*"|'[^'\n]*'"""
    r"""|[0-9]{4}-[0-9]{2}-[0-9]{2}[ ][0-9][^\s,\]}#]*"""  # a day and a time may have a space between them
    r"""|[^\s,\]}#]+""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value at text[start:end]: of a list its `items`, of an inline table its `entries`, else neither."""

    start: int
    end: int
    kind: str = "scalar"
    items: tuple[Value, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A key, which may have several parts, and its value."""

    keys: Keys
    start: int
    value: Value


@dataclass(frozen=True, slots=True)
class Section:
    """A header at text[start:end], and the entries below it; the first section has no header."""

    keys: Keys
    start: int
    end: int
    entries: tuple[Entry, ...]

    def full(self, entry: Entry) -> Keys:
        return (*self.keys, *entry.keys)


def sections(text: str) -> tuple[Section, ...]:
    """The places of a text; a list of tables (``[[…]]``), which no policy has, is refused.

    Examples
    --------
    >>> text = 'keep = ["a"]  # why' + chr(10) + '[privacy]' + chr(10) + 'k = 10'
    >>> [(section.keys, [entry.keys for entry in section.entries]) for section in sections(text)]
    [((), [('keep',)]), (('privacy',), [('k',)])]
    """
    return tuple(_sections(text))


def _sections(text: str) -> Iterator[Section]:
    keys: Keys = ()
    start, end, entries = 0, 0, list[Entry]()
    at = _after(_BLANK, text, 0)
    while at < len(text):
        if text[at] == "[":
            yield Section(keys, start, end, tuple(entries))
            if text.startswith("[[", at):
                raise PolicyError("a policy with lists of tables ([[…]]) cannot be edited; edit the file")
            start, entries = at, []
            keys, at = _keys(text, at + 1)
            at = end = at + 1
        else:
            entry = _entry(text, at)
            entries.append(entry)
            at = entry.value.end
        at = _after(_BLANK, text, at)
    yield Section(keys, start, end, tuple(entries))


def parsed_keys(written: str) -> tuple[Keys, int]:
    """A dotted key at the beginning of a text, and where it ends; none where there is no key.

    Examples
    --------
    >>> parsed_keys('quasi_identifiers."zip code".type = 3')
    (('quasi_identifiers', 'zip code', 'type'), 34)
    >>> parsed_keys("= 3")
    ((), 0)
    """
    at = _after(_SPACE, written, 0)
    return _keys(written, at) if _PART.match(written, at) else ((), at)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _keys(text: str, at: int) -> tuple[Keys, int]:
    """The parts of a key, and the place of the sign that follows it."""
    keys = list[str]()
    while True:
        found = _PART.match(text, _after(_SPACE, text, at))
        if found is None:
            raise PolicyError("a dot in a key is followed by another part of it")
        part = found[0]
        keys.append(str(tomllib.loads(f"x = {part}")["x"]) if part[0] in "\"'" else part)
        at = _after(_SPACE, text, found.end())
        if not text.startswith(".", at):
            return tuple(keys), at
        at += 1


def _entry(text: str, at: int) -> Entry:
    keys, sign = _keys(text, at)
    return Entry(keys, at, _value(text, _after(_SPACE, text, sign + 1)))


def _value(text: str, at: int) -> Value:
    if text[at] == "[":
        return _list(text, at)
    if text[at] == "{":
        return _table(text, at)
    return Value(at, _after(_SCALAR, text, at))


def _list(text: str, start: int) -> Value:
    items = list[Value]()
    at = _after(_BLANK, text, start + 1)
    while text[at] != "]":
        items.append(_value(text, at))
        at = _after(_BLANK, text, items[-1].end)
        if text[at] == ",":
            at = _after(_BLANK, text, at + 1)
    return Value(start, at + 1, "list", tuple(items))


def _table(text: str, start: int) -> Value:
    entries = list[Entry]()
    at = _after(_BLANK, text, start + 1)
    while text[at] != "}":
        entries.append(_entry(text, at))
        at = _after(_BLANK, text, entries[-1].value.end)
        if text[at] == ",":
            at = _after(_BLANK, text, at + 1)
    return Value(start, at + 1, "table", (), tuple(entries))


def comma_after(text: str, at: int) -> int | None:
    """Where the comma after an item stands, which may be below a comment; None if there is none."""
    at = _after(_BLANK, text, at)
    return at if text.startswith(",", at) else None


def line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at) + 1, 1 if text.startswith("\ufeff") else 0)


def line_end(text: str, at: int) -> int:
    """Behind the line break; the end of the text where there is none."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1
