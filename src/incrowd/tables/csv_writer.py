"""Write CSV: comma, LF, UTF-8, quotes only where RFC 4180 needs them, formulas made harmless.

Every distinct text is quoted and protected once; rows are then only joined, some at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes, Table
from incrowd.kernels.compiling import compiling
from incrowd.long_work import side_by_side, threads
from incrowd.tables.checked_files import create
from incrowd.tables.texts import column_of

CHUNK = 16_384  # rows joined at once
WORTH_COMPILED = 100_000  # rows from which on compiled code is worth loading
# At the start of a text, and after each sign at which some spreadsheet might cut the cell or the line.
_SIGN = re.compile(r"[=+\-@\t\r]")
_FORMULA = re.compile(r"(^|[;\t\r\n])(?='*[=+\-@\t\r])")
_PROTECTED = re.compile(r"(^|[;\t\r\n])'(?='*[=+\-@\t\r])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_SPECIAL = '=+-@\t\r\n",'  # what has none of these has nothing to protect and nothing to quote
_AS_IT_IS = re.compile(f"[^{re.escape(_SPECIAL)}]+")
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


def _parts(table: Table) -> Iterator[bytes | memoryview]:
    # a row that is one empty cell would be an empty line, which most readers skip
    empty = '""' if len(table.names) == 1 else ""
    yield (",".join(_quoted(protected(name), _NAME_NEEDS_QUOTES) for name in table.names) + "\n").encode()
    cells = [_cells(column.texts, empty) for column in table.columns]
    codes = [column.codes for column in table.columns]
    if compiling.everything or len(table) >= WORTH_COMPILED:
        yield from _by_kernel(codes, cells)
    else:
        yield from _by_python(codes, cells)


def _by_python(codes: Sequence[Codes], cells: Sequence[list[str]]) -> Iterator[bytes]:
    """The rows of a table, some at a time, without compiled code, which takes its time to load."""
    texts = [np.array(column, object) for column in cells]
    for start in range(0, codes[0].size, CHUNK):
        rows = slice(start, start + CHUNK)
        taken = [text[column[rows]].tolist() for text, column in zip(texts, codes, strict=True)]
        yield ("\n".join(map(",".join, zip(*taken, strict=True))) + "\n").encode()


def _by_kernel(codes: Sequence[Codes], cells: Sequence[list[str]]) -> Iterator[memoryview]:
    """The same bytes for many rows: cells are encoded once, each with the sign that follows it."""
    from incrowd.kernels.csv_rows import WORD, bytes_of_rows, join_cells

    ends = [","] * (len(cells) - 1) + ["\n"]
    ready = [(text + end).encode() for column, end in zip(cells, ends, strict=True) for text in column]
    size = np.fromiter(map(len, ready), np.int64, len(ready))
    starts = np.concatenate([[0], np.cumsum(size)])
    base = np.concatenate([[0], np.cumsum([len(column) for column in cells])[:-1]]).astype(np.int64)
    flat = _words(np.frombuffer(b"".join(ready) + bytes(WORD), np.uint8))

    def joined(start: int) -> memoryview:
        part = np.stack([column[start : start + CHUNK] for column in codes])
        out = np.empty(bytes_of_rows(part, base, starts) + WORD, np.uint8)
        size = join_cells(part, base, starts, flat, _words(out))
        return out[:size].data

    places = iter(range(0, codes[0].size, CHUNK))
    while some := [*islice(places, threads())]:
        yield from side_by_side([partial(joined, start) for start in some])


def _words(text: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Every place of a text, read as the eight bytes that start there."""
    size = np.dtype(np.uint64).itemsize
    return np.ndarray((text.size - size + 1,), np.uint64, text, strides=(1,))


def _cells(texts: Sequence[str | None], empty: str) -> list[str]:
    """Each text as it is written; most columns have nothing to change, which is seen of all at once."""
    shown = [text or empty for text in texts]
    joined = "".join(shown)
    if any(sign in joined for sign in _SPECIAL):
        return [text if text and _AS_IT_IS.fullmatch(text) else _cell(text, empty) for text in texts]
    return shown


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
