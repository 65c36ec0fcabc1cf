"""The tables of experiments: real ones in a folder, read as codes, and numbers that anyone can draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes, Table, TextColumn
from incrowd.schema import Kind, Shape

SEED = 1  # of every draw but where several are compared


@dataclass(frozen=True, slots=True)
class Stored:
    """A file below the folder of real tables, and how the paper calls what is in it."""

    name: str
    path: str

    def missing_from(self, folder: Path | None) -> str:
        """Why the table cannot be used; empty if it can."""
        if folder is None:
            return f"{self.name}: no folder of real tables was named (--data, or INCROWD_DATA)"
        there = (folder / self.path).is_file()
        return "" if there else f"{self.name}: {self.path} is not in the folder of real tables"

    def read(self, folder: Path, columns: Sequence[str]) -> Table:
        """These columns; without one of them it is another table, an error."""
        return tables.read(folder / self.path, columns=[*columns])

    def numbered(self, folder: Path, columns: Sequence[str]) -> tuple[Codes, tuple[Attribute, ...]]:
        """These columns as whole numbers: texts in the order of the alphabet, `?` being one of them."""
        table = self.read(folder, columns)
        read = [_numbered(name, table.column(name)) for name in columns]
        return np.column_stack([codes for codes, _ in read]), tuple(domain for _, domain in read)


ADULT_TABLE = Stored("ADULT", "adult/adult.csv")
CENSUS_TABLE = Stored("CENSUS", "acs2024_census/census.csv.gz")
CENSUS_COLUMNS = ("AGEP", "SEX", "SCHL", "MAR", "RAC1P", "COW", "HISP")  # in the order of the papers
OCCUPATION = "OCCP"
NO_OCCUPATION = ("", "9920")  # never worked or not for five years; unemployed without a last occupation


def _numbered(name: str, column: TextColumn) -> tuple[Codes, Attribute]:
    texts = [text or "0" for text in column.texts]
    if all(text.removeprefix("-").isdigit() for text in texts):
        values, place = np.unique([int(text) for text in texts], return_inverse=True)
    else:
        met, place = np.unique(texts, return_inverse=True)
        values = np.arange(met.size)
    return place[column.codes].astype(np.int32), whole_numbers(name, values)


def whole_numbers(name: str, values: NDArray[np.int64]) -> Attribute:
    """A column of whole numbers, published as ranges."""
    texts = tuple(map(str, values.tolist()))
    return Attribute(name, Kind.NUMERIC, Shape.RANGE, texts, values.astype(np.float64))


def need_rows(table: Table, n: int, what: str) -> None:
    """Refuse a table of fewer than n rows; `what` says for the error how many there are, as {}."""
    if n > len(table):
        raise TableError(f"{what.format(f'{len(table):,}')}; {n:,} are needed")


def first_rows(table: Table, n: int, d: int, what: str) -> Table:
    """The first n rows of the first d columns; `what` says for the error how many there are, as {}."""
    need_rows(table, n, what)
    return Table(table.names[:d], tuple(column.take(np.arange(n)) for column in table.columns[:d]))


def drawn_order(rows: NDArray[np.int64], seed: int | str = SEED) -> NDArray[np.int64]:
    """Rows in an order that anyone can draw again."""
    return rows[Random(seed).sample(range(rows.size), rows.size)]  # noqa: S311  # nothing is published


def drawn_words(n: int, d: int, what: str) -> NDArray[np.uint32]:
    """Words of 32 bits (n, d), the same for the same `what`."""
    dice = Random(what)  # noqa: S311  # nothing is published
    return np.frombuffer(dice.randbytes(4 * n * d), "<u4").reshape(n, d)
