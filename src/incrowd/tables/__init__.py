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
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.flow import Table
    from incrowd.tables.csv_writer import protected as protected
    from incrowd.tables.csv_writer import unprotected as unprotected
    from incrowd.tables.csv_writer import unprotected_table as unprotected_table
    from incrowd.tables.csv_writer import write_csv as write_csv
    from incrowd.tables.files import read as read
    from incrowd.tables.files import read_standard_input as read_standard_input
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

_HOMES = {"read": "files", "read_standard_input": "files"}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: the child that opens a Parquet file is a module here, and needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'csv_writer')}"), name)
    globals()[name] = found
    return found


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
