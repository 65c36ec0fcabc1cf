"""Tables as the judge wants them, and releases read back from their folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from incrowd import tables
from incrowd.flow import Table
from incrowd.release.typed import as_cells
from incrowd.schema import Schema
from incrowd.verifier import CsvRows


class TableRows:
    """A table in memory as the judge wants it."""

    def __init__(self, table: Table) -> None:
        self.names = table.names
        self._table = table

    def __iter__(self) -> Any:
        return tables.iter_rows(self._table)


def original_rows(source: object, table: Table) -> CsvRows | TableRows:
    """The original as the judge reads it: a text file by its own reader, anything else from memory."""
    if not isinstance(source, str | os.PathLike):
        return TableRows(table)
    name = Path(source).name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        return TableRows(table)
    return CsvRows(Path(source), delimiter="\t" if name.endswith(".tsv") else "")


def read_release(folder: Path, schema: Schema) -> Table:
    """The published rows of a release folder, as cells."""
    parquet = folder / "data.parquet"
    if not parquet.exists():
        return tables.unprotected_table(tables.read(folder / "data.csv"))
    return as_cells(tables.read(parquet, lists=True), schema)


def read_sensitive(folder: Path) -> Table:
    """The table of sensitive values of a release folder."""
    parquet = folder / "sensitive.parquet"
    if parquet.exists():
        return tables.read(parquet)
    return tables.unprotected_table(tables.read(folder / "sensitive.csv"))
