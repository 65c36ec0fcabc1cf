"""CENSUS and ADULT, the tables of "Non-homogeneous Generalization", as tables of coded numbers.

The paper's CENSUS is an extract of IPUMS that may not be passed on. In its place stand the adults of four
states in the American Community Survey of 2024, with the same attributes but the last: Hispanic origin for
country.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.encode import encode
from incrowd.errors import TableError
from incrowd.flow import Codes, Microdata, Sensitive, Table, TextColumn
from incrowd.reproduce.revisited.data import Stored
from incrowd.schema import Column, Kind, Role, Schema, Shape

CENSUS_TABLE = Stored("CENSUS", "acs2024_census/census.csv.gz")
ADULT_TABLE = Stored("ADULT", "adult/adult.csv")
CENSUS = ("AGEP", "SEX", "SCHL", "MAR", "RAC1P", "COW", "HISP")  # the paper's order
ADULT = ("age", "workclass", "education", "marital-status", "occupation", "relationship", "race")
OCCUPATION = "OCCP"
NO_OCCUPATION = ("", "9920")  # never worked or not for five years; unemployed without a last occupation
BAND = 200  # so many occupation codes are one value: 50 values, as many as the paper has
NOT_APPLICABLE = "0"  # a value like any other, and before all others, as censuses code it
SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """A table whose rows are in a drawn order, to take the first n rows and d columns of.

    `occupation` (n,), where there is one, is the sensitive value.
    """

    name: str
    table: Table
    occupation: Codes | None = None

    def __len__(self) -> int:
        return len(self.table)

    def first(self, n: int, d: int) -> Microdata:
        """A sample as numbers: values in their order, published as sets, domains as the sample has them.

        Raises
        ------
        TableError
            If there are fewer rows.
        """
        if n > len(self):
            raise TableError(f"{self.name} has {len(self):,} rows; {n:,} are needed")
        rows = np.arange(n)
        sample = Table(self.table.names[:d], tuple(column.take(rows) for column in self.table.columns[:d]))
        data = encode(sample, Schema(tuple(_ordered(name, sample) for name in sample.names)))
        if self.occupation is None:
            return data
        values = self.occupation[:n]
        return replace(
            data, sensitive=(Sensitive(OCCUPATION, Kind.CATEGORICAL, values, int(values.max()) + 1),)
        )


def _ordered(name: str, sample: Table) -> Column:
    """Numbers by value, then all else by text."""
    column = sample.column(name)
    met = {column.texts[place] or NOT_APPLICABLE for place in np.unique(column.codes).tolist()}
    order = sorted(met, key=lambda text: (not text.isdigit(), int(text) if text.isdigit() else 0, text))
    return Column(name, Role.QUASI, Kind.ORDERED, Shape.SET, order=tuple(order))


def as_ranges(data: Microdata) -> Microdata:
    """The same records, published as ranges of codes: also of nominal attributes, as HR does."""
    attributes = tuple(replace(attribute, shape=Shape.RANGE) for attribute in data.attributes)
    return replace(data, attributes=attributes)


def load_census(folder: Path) -> tuple[People, People]:
    """Everybody; and those with an occupation, in bands of codes, for l-diversity."""
    table = tables.read(folder / CENSUS_TABLE.path, columns=[*CENSUS, OCCUPATION])
    order = _drawn(len(table))
    column = table.column(OCCUPATION)
    bands = np.array([_band(text) for text in column.texts], np.int32)[column.codes[order]]
    works = bands >= 0
    return (
        People(CENSUS_TABLE.name, _taken(table, CENSUS, order)),
        People(CENSUS_TABLE.name, _taken(table, CENSUS, order[works]), bands[works]),
    )


def _band(occupation: str | None) -> int:
    return -1 if occupation is None or occupation in NO_OCCUPATION else int(occupation) // BAND


def load_adult(folder: Path) -> People:
    """All of ADULT; the order of its rows matters to nothing but ties."""
    table = tables.read(folder / ADULT_TABLE.path, columns=[*ADULT])
    return People(ADULT_TABLE.name, _taken(table, ADULT, np.arange(len(table))))


def _drawn(n: int) -> NDArray[np.int64]:
    return np.array(Random(SEED).sample(range(n), n))  # noqa: S311  # which rows, to be drawn again by anyone


def _taken(table: Table, names: Sequence[str], rows: NDArray[np.int64]) -> Table:
    """Some rows; what does not apply to a person is a value."""
    columns = [table.column(name) for name in names]
    return Table(
        tuple(names),
        tuple(
            TextColumn(column.codes[rows], tuple(text or NOT_APPLICABLE for text in column.texts))
            for column in columns
        ),
    )
