"""The files of a release that hold rows, and the cells in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from incrowd import tables
from incrowd.flow import Table
from incrowd.release.typed import as_cells
from incrowd.schema import Schema

PARTS = "data"  # the folder of a release whose rows are in several files


def read_rows(folder: Path, schema: Callable[[], Schema]) -> Table:
    """The rows of a release as cells; only typed columns of Parquet need the schema."""
    path = rows_path(folder)
    if path.suffix == ".csv":
        return tables.unprotected_table(tables.read(path))
    return read_file(path, schema())


def rows_path(folder: Path) -> Path:
    """Where the rows of a release are: a Parquet file, a folder of them, or data.csv, perhaps lost."""
    files = data_files(folder)
    if not files:
        return folder / "data.csv"
    return files[0] if files[0].parent == folder else folder / PARTS


def read_file(path: Path, schema: Schema) -> Table:
    """A Parquet file of rows, or a folder of them, as cells."""
    return as_cells(tables.read(path, lists=True), schema)


def data_files(folder: Path) -> list[Path]:
    """The Parquet files that hold the rows of a release, in order: data.parquet, or those in data/."""
    whole = folder / "data.parquet"
    return [whole] if whole.exists() else sorted((folder / PARTS).glob("*.parquet"))


def read_buckets(folder: Path) -> Table:
    """The file of sensitive values by bucket."""
    parquet = folder / "sensitive.parquet"
    if parquet.exists():
        return tables.read(parquet)
    return tables.unprotected_table(tables.read(folder / "sensitive.csv"))
