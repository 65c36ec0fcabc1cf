"""Rows in, rows out: one door for every kind of table.

Whatever comes in becomes a `Table` of texts, each distinct text once. Numbers and dates stay texts here;
what a text means is decided elsewhere, over the whole column.

=============================  ===============================================================
CSV: ``.csv .tsv .txt``        our own strict reader; comma, semicolon, tab or bar; UTF-8 only
the same with ``.gz``          one gzip member, watched while it unpacks
Parquet: ``.parquet``          DuckDB, in a child process that may die
pandas, polars, pyarrow        narwhals; gaps become NULL
=============================  ===============================================================
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.tables.csv_writer import protected, unprotected, unprotected_table, write_csv

if TYPE_CHECKING:
    from incrowd.tables.frames import Native
    from incrowd.tables.parquet_writer import Typed

__all__ = [
    "as_frame",
    "protected",
    "read",
    "unprotected",
    "unprotected_table",
    "write_csv",
    "write_parquet",
]

_TAB = ord("\t")
_DELIMITERS = {".csv": None, ".txt": None, ".tsv": _TAB}  # None: the header decides


def read(source: object, *, columns: Sequence[str] | None = None, lists: bool = False) -> Table:
    """Read a path, or a pandas, polars or pyarrow frame, as texts: all columns, or these in this order.

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
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source), columns, lists)
    from incrowd.tables.frames import read_frame

    return read_frame(source, columns)


def _read_file(path: Path, columns: Sequence[str] | None, lists: bool) -> Table:
    from incrowd.tables.checked_files import Gunzip, open_regular

    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = "".join(suffixes[:-1][-1:] if zipped else suffixes[-1:])
    if kind not in _DELIMITERS and (kind != ".parquet" or zipped):
        raise TableError(
            f"{path}: the name must end in .csv, .tsv, .txt (or one of these and .gz) or .parquet"
        )
    with open_regular(path) as file:
        if kind == ".parquet":
            from incrowd.tables.parquet_reader import read_parquet

            return read_parquet(file, path.name, columns, lists)
        from incrowd.tables.csv_reader import read_csv

        stream = Gunzip(file, path.name) if zipped else file
        return read_csv(stream, path.name, columns, _DELIMITERS[kind])


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
