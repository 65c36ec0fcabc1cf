"""Rows in, rows out: one door for every kind of table.

Whatever comes in becomes a `Table` of texts, each distinct text once. Numbers and dates stay texts here;
what a text means is decided elsewhere, over the whole column.

==================================  ===============================================================
CSV: ``.csv .tsv .txt``             our own strict reader; comma, semicolon, tab, bar or tilde
JSON lines: ``.jsonl .ndjson``      one object a line
both with ``.gz``, or in ``.zip``   one member, watched while it unpacks
Parquet: ``.parquet``, a folder     DuckDB, in a child process that may die
``.xlsx .xlsm .ods``                openpyxl, calamine (extra ``excel``), in a child
``.dta .sav .sas7bdat .xpt``        pyreadstat (extra ``statistics``), in a child
``.sqlite .db .duckdb``             a table or a query; DuckDB in a child
``postgresql://…``                  psycopg (extra ``postgres``)
pandas, polars, pyarrow             narwhals; gaps become NULL
==================================  ===============================================================

How a file is to be read, where its path does not tell, is said by a `Source`. What was taken for what is in
the notes of the table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.flow import Table
from incrowd.schema import Source
from incrowd.tables.csv_writer import protected, unprotected, unprotected_table, write_csv

if TYPE_CHECKING:
    from incrowd.tables.frames import Native
    from incrowd.tables.parquet_writer import Typed

__all__ = [
    "as_frame",
    "protected",
    "read",
    "read_standard_input",
    "unprotected",
    "unprotected_table",
    "write_csv",
    "write_parquet",
]


def read(source: object, *, columns: Sequence[str] | None = None, lists: bool = False) -> Table:
    """Read a path, a `Source`, or a pandas, polars or pyarrow frame, as texts: all columns, or these.

    Distinct texts stand in the order of appearance, rows in the order of the source. An empty CSV cell is the
    empty text; a gap in Parquet or a frame is None. With `lists`, lists of texts in a Parquet file are read
    too, as the cells of a release: ``{F|M}``. An error names file, line and column, never a cell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "people.csv")
    >>> _ = path.write_text("age;zip\\n34;01234\\n34;\\n")
    >>> read(path).column("zip").rows()
    ['01234', '']
    >>> folder.cleanup()
    """
    if isinstance(source, Table) and columns is None:
        return source  # what was piped in is read before it is needed
    given = Source.of(source)
    if given is not None:
        from incrowd.tables.files import read_source

        return read_source(given, columns, lists)
    from incrowd.tables.frames import read_frame

    return read_frame(source, columns)


def read_standard_input(encoding: str = "") -> Table:
    """Read the text that is piped into this program: CSV, or JSON lines."""
    from incrowd.tables.files import read_standard_input

    return read_standard_input(sys.stdin.buffer, encoding)


def write_parquet(
    table: Table, path: str | os.PathLike[str], typed: Mapping[str, Typed] | None = None
) -> None:
    """Write a table to a new Parquet file; see `incrowd.tables.parquet_writer`."""
    from incrowd.tables.parquet_writer import write_parquet

    write_parquet(table, path, typed)


def as_frame(table: Table, like: object, native: Native | None = None) -> Any:
    """Make a frame of the same kind as `like`; see `incrowd.tables.frames`."""
    from incrowd.tables.frames import as_frame

    return as_frame(table, like, native)
