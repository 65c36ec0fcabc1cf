"""Read JSON lines: one object a line, the same columns for all.

Numbers keep the digits that are written. A key that a line lacks, and null, are NULL. Lists and objects in
a line are refused, and so is a key that occurs twice, of which one value would be lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from incrowd.errors import TableError, option
from incrowd.flow import Table
from incrowd.tables.checked_files import (
    COLUMN_LIMIT,
    ROW_LIMIT,
    NotThisEncoding,
    Stream,
    check_beginning,
    check_shape,
    check_texts,
    chosen,
)
from incrowd.tables.texts import column_of

_CHUNK = 1024 * 1024


def read_json_lines(stream: Stream, source: str, columns: Sequence[str] | None) -> Table:
    """Read a stream of JSON lines (UTF-8)."""
    names: dict[str, int] = {}
    rows: list[list[int]] = []
    texts: list[dict[str | None, int]] = []
    for number, line in _lines(stream, source):
        row = [-1] * len(names)
        for key, value in _parsed(line, number, source).items():
            place = names.setdefault(key, len(names))
            if place == len(row):
                row.append(-1)
                texts.append({})
                _check_width(names, source)
            row[place] = texts[place].setdefault(_text(value, number, key, source), len(texts[place]))
        rows.append(row)
    check_shape(list(names), len(rows), source)
    places = chosen(list(names), columns)
    found = []
    for place in places:
        gap = texts[place].setdefault(None, len(texts[place]))
        codes = [gap if place >= len(row) or row[place] < 0 else row[place] for row in rows]
        check_texts(texts[place], list(names)[place], source)
        found.append(column_of(np.array(codes, np.int64), list(texts[place])))
    return Table(tuple(list(names)[place] for place in places), tuple(found))


def _check_width(names: dict[str, int], source: str) -> None:
    if len(names) > COLUMN_LIMIT:
        raise TableError(f"{source} has more than {COLUMN_LIMIT} different keys; it is no table")


def _lines(stream: Stream, source: str) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers."""
    rest, number = stream.read(_CHUNK), 0
    check_beginning(rest, source)
    rest = rest.removeprefix(b"\xef\xbb\xbf")
    while rest:
        *whole, rest = rest.split(b"\n")
        for line in whole:
            number += 1
            if line.strip():
                yield number, line
        if len(rest) > ROW_LIMIT:
            raise TableError(f"{source}: line {number + 1} is longer than {ROW_LIMIT} bytes")
        more = stream.read(_CHUNK)
        if not more and rest:
            more = b"\n"
        rest += more


def _parsed(line: bytes, number: int, source: str) -> dict[str, Any]:
    try:
        found = json.loads(line.decode(), parse_int=_Digits, parse_float=_Digits, object_pairs_hook=_once)
    except UnicodeDecodeError:
        found = NotThisEncoding(f"{source}: line {number} is not UTF-8; say {option('encoding')}")
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, NotThisEncoding):
        raise found
    if not isinstance(found, dict):
        _refuse(number, "is not a JSON object in UTF-8 whose keys differ", source)
    return found


class _Digits(str):
    """A number as it is written."""

    __slots__ = ()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _text(value: Any, number: int, key: str, source: str) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    _refuse(number, f"has a list, an object or a number that is none under {key[:100]!r}", source)


def _refuse(number: int, why: str, source: str) -> NoReturn:
    raise TableError(f"{source}: line {number} {why}")
