"""Tables as the verifier reads them: text files by its own reader, anything else from memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from incrowd import tables
from incrowd.flow import Table
from incrowd.verifier import CsvRows


class TableRows:
    """A table in memory as the verifier reads it."""

    def __init__(self, table: Table) -> None:
        self.names = table.names
        self._table = table

    def __iter__(self) -> Any:
        return tables.iter_rows(self._table)


def original_rows(source: object, table: Table) -> CsvRows | TableRows:
    """The original as the verifier reads it: a text file by its own reader, anything else from memory."""
    if not isinstance(source, str | os.PathLike):
        return TableRows(table)
    name = Path(source).name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        return TableRows(table)
    return CsvRows(Path(source), delimiter="\t" if name.endswith(".tsv") else "")
