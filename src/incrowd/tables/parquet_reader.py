"""Read Parquet in a child process that may die.

A crafted Parquet file can crash its reader or make it allocate without end. So a child with limits on
memory and time opens it, allowed to touch that one file only, and sends every value as text in CSV, which
our own reader takes apart as strictly as any file. Inside, columns are called c0, c1, …: no name of the
table becomes part of a statement. The child's own words never reach the user, since they may quote data.
What it does is in `parquet_child`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, BinaryIO

import numpy as np

from incrowd.errors import TableError
from incrowd.flow import Table, TextColumn
from incrowd.system import APART, NOWHERE
from incrowd.tables import parquet_child
from incrowd.tables.checked_files import (
    check_shape,
    check_texts,
    chosen,
    too_large,
)
from incrowd.tables.csv_reader import blocks_of, read_rows
from incrowd.tables.parquet_child import LIST, NULL
from incrowd.tables.texts import column_of, float_text, moment_texts

_FLOATS = {"FLOAT": np.float32, "DOUBLE": np.float64}
_MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_PLAIN = (
    *("VARCHAR", "JSON", "UUID", "BOOLEAN", "TIME", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)


def read_parquet(file: BinaryIO, source: str, columns: Sequence[str] | None, lists: bool = False) -> Table:
    """Read a Parquet file as texts. Lists of texts only if asked for: their members as a cell has them."""
    if file.read(4) != b"PAR1":
        raise TableError(f"{source} is not a Parquet file")
    with _child(file.fileno()) as child:
        try:
            table = _received(child, source, columns, lists)
        finally:
            child.kill()
    if table is None:
        raise TableError(f"{source} is damaged, or cannot be read with the memory and time allowed")
    return table


def _child(descriptor: int) -> subprocess.Popen[bytes]:
    return start_child(parquet_child.__name__, descriptor)


def start_child(module: str, descriptor: int, *words: str) -> subprocess.Popen[bytes]:
    """Start a reader of an open file; it can write neither into its folder nor for temporary use."""
    if not APART:
        raise TableError(
            "this kind of file is read apart and with limits, which this system cannot do; save it as CSV"
        )
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.Popen(  # noqa: S603 -- our own module
        [sys.executable, "-P", "-m", module, str(descriptor), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[descriptor],
        cwd=NOWHERE,
        start_new_session=True,  # Ctrl-C is for us, and we end it
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": NOWHERE},
    )


def _received(
    child: subprocess.Popen[bytes], source: str, columns: Sequence[str] | None, lists: bool
) -> Table | None:
    """Ask the child for columns and read what it sends; None if it died."""
    answer, question = child.stdout, child.stdin
    described = _described(answer)
    if answer is None or question is None or described is None:
        return None
    names, types, rows = described
    check_shape(names, rows, source)
    places = chosen(names, columns)
    for place in places:
        if not (lists and types[place] == LIST):
            _check_type(types[place], names[place], source)
    with contextlib.suppress(BrokenPipeError), question:
        question.write(json.dumps(places).encode() + b"\n")
    table = sent_rows(answer, [names[place] for place in places])
    if child.wait() != 0:
        return None
    if table is None or len(table) != rows:
        raise too_large(source)
    typed = zip(table.columns, (types[place] for place in places), table.names, strict=True)
    return Table(table.names, tuple(_as_texts(column, kind, name, source) for column, kind, name in typed))


def _described(answer: IO[bytes] | None) -> tuple[list[str], list[str], int] | None:
    """Names, types and number of rows as the child tells them; None if it died before it could."""
    line = answer.readline() if answer else b""
    return tuple(json.loads(line)) if line.endswith(b"\n") else None


def _check_type(kind: str, name: str, source: str) -> None:
    if kind.endswith("WITH TIME ZONE"):
        raise TableError(
            f"{source}: column {name!r} has moments with a time zone; convert them to local time without one"
        )
    if kind not in (*_PLAIN, *_FLOATS, *_MOMENTS) and not re.fullmatch(r"DECIMAL\(\d+,\d+\)", kind):
        raise TableError(
            f"{source}: column {name!r} is not of a plain type (it holds lists, records, bytes or "
            "durations); convert it to text, numbers or dates, or leave it out"
        )


def sent_rows(stream: IO[bytes], names: list[str]) -> Table | None:
    try:
        return read_rows(blocks_of(stream, "the child"), names, range(len(names)), ord(","))
    except TableError:
        return None  # the caller knows better words: lines and bytes of the child mean nothing to a user


def _as_texts(column: TextColumn, kind: str, name: str, source: str) -> TextColumn:
    texts = [None if text == NULL else (text or "")[1:] for text in column.texts]
    check_texts(texts, name, source)
    if kind in _FLOATS:
        return column_of(column.codes, [text and float_text(_FLOATS[kind](text)) for text in texts])
    if kind in _MOMENTS:
        present = [text for text in texts if text]
        found = dict(zip(present, _moments(present, kind, name, source), strict=True))
        return column_of(column.codes, [text and found[text] for text in texts])
    return TextColumn(column.codes, tuple(texts))


def _moments(texts: list[str], kind: str, name: str, source: str) -> list[str]:
    moments = None
    with contextlib.suppress(ValueError):  # before the year 1, or infinite
        moments = np.array(texts, dtype=f"datetime64[{'ns' if kind == 'TIMESTAMP_NS' else 'us'}]")
    if moments is None:
        raise TableError(f"{source}: column {name!r} holds a date outside the years 1 to 9999")
    return moment_texts(moments, name, source)
