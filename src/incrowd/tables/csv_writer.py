"""Write CSV: comma, LF, UTF-8, quotes only where RFC 4180 needs them, formulas made harmless.

Every distinct text is quoted and protected once; rows are then only joined, some at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.tables.checked_files import create
from incrowd.tables.texts import column_of

CHUNK = 16_384  # rows joined at once
# At the start of a text, and after each sign at which some spreadsheet might cut the cell or the line.
_SIGN = re.compile(r"[=+\-@\t\r]")
_FORMULA = re.compile(r"(^|[;\t\r\n])(?='*[=+\-@\t\r])")
_PROTECTED = re.compile(r"(^|[;\t\r\n])'(?='*[=+\-@\t\r])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_NAME_NEEDS_QUOTES = re.compile(r'[",\r\n;\t|~]')  # the header is where a reader looks for the delimiter


def protected(text: str) -> str:
    """Put an apostrophe before whatever a spreadsheet would run as a formula.

    That is a text, or what follows a semicolon, a tab or a line break in it. Numbers stay numbers.
    `unprotected` takes it back exactly.

    Examples
    --------
    >>> [protected(text) for text in ("=1+1", "-5", "'=1+1", "A1", "x;=1")]
    ["'=1+1", '-5', "''=1+1", 'A1', "x;'=1"]
    """
    if not _SIGN.search(text) or _NUMBER.fullmatch(text):  # most texts have no such sign at all
        return text
    return _FORMULA.sub(r"\1'", text)


def unprotected(text: str) -> str:
    """Take back what `protected` did.

    Examples
    --------
    >>> [unprotected(text) for text in ("'=1+1", "-5", "''=1+1", "A1", "'quoted'")]
    ['=1+1', '-5', "'=1+1", 'A1', "'quoted'"]
    """
    return _PROTECTED.sub(r"\1", text)


def write_csv(table: Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file that does not exist yet, through to the disk. NULL is an empty cell."""
    path = Path(path)
    file = create(path)
    try:
        with file:
            for part in _parts(table):
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise TableError(f"{path} cannot be written: {error.strerror}") from None


def _parts(table: Table) -> Iterator[bytes]:
    # a row that is one empty cell would be an empty line, which most readers skip
    empty = '""' if len(table.names) == 1 else ""
    yield (",".join(_quoted(protected(name), _NAME_NEEDS_QUOTES) for name in table.names) + "\n").encode()
    cells = [np.array([_cell(text, empty) for text in column.texts], object) for column in table.columns]
    for start in range(0, len(table), CHUNK):
        rows = slice(start, start + CHUNK)
        taken = [cell[column.codes[rows]] for cell, column in zip(cells, table.columns, strict=True)]
        yield ("\n".join(map(",".join, zip(*(t.tolist() for t in taken), strict=True))) + "\n").encode()


def _cell(text: str | None, empty: str) -> str:
    return _quoted(protected(text), _NEEDS_QUOTES) if text else empty


def _quoted(text: str, needs: re.Pattern[str]) -> str:
    return '"' + text.replace('"', '""') + '"' if needs.search(text) else text


def unprotected_table(table: Table) -> Table:
    """A table that `write_csv` wrote and `read` read, with its formulas as they were.

    Examples
    --------
    >>> unprotected_table(Table.of({"'=a": ["'-x", "-1"]})).column("=a").rows()
    ['-x', '-1']
    """
    columns = tuple(
        column_of(column.codes, [text and unprotected(text) for text in column.texts])
        for column in table.columns
    )
    return Table(tuple(unprotected(name) for name in table.names), columns)
