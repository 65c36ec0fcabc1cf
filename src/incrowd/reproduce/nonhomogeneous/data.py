"""CENSUS and ADULT, the tables of "Non-homogeneous Generalization", as tables of coded numbers.

The paper's CENSUS is an extract of IPUMS that may not be passed on. In its place stand the adults of four
states in the American Community Survey of 2024, with the same attributes but the last: Hispanic origin for
country.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.encode import encode
from incrowd.flow import Codes, Microdata, Sensitive, Table, TextColumn
from incrowd.reproduce.stored import (
    ADULT_TABLE,
    CENSUS_COLUMNS,
    CENSUS_TABLE,
    NO_OCCUPATION,
    OCCUPATION,
    drawn_order,
    first_rows,
)
from incrowd.schema import Column, Kind, Role, Schema, Shape

ADULT = ("age", "workclass", "education", "marital-status", "occupation", "relationship", "race")
BAND = 200  # so many occupation codes are one value: 50 values, as many as the paper has
NOT_APPLICABLE = "0"  # a value like any other, and before all others, as censuses code it


@dataclass(frozen=True, slots=True, eq=False)
class SampledTable:
    """A table whose rows are in a drawn order, to take the first n rows and d columns of.

    `occupation` (n,), where there is one, is the sensitive value.
    """

    name: str
    table: Table
    occupation: Codes | None = None

    def __len__(self) -> int:
        return len(self.table)

    def first(self, n: int, d: int) -> Microdata:
        """A sample as numbers: values in their order, published as sets, domains as the sample has them."""
        sample = first_rows(self.table, n, d, f"{self.name} has {{}} rows")
        data = encode(sample, Schema(tuple(_ordered(name, sample) for name in sample.names)))
        if self.occupation is None:
            return data
        values = self.occupation[:n]
        sensitive = Sensitive(OCCUPATION, Kind.CATEGORICAL, values, int(values.max()) + 1)
        return replace(data, sensitive=(sensitive,))


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


def load_census(folder: Path) -> tuple[SampledTable, SampledTable]:
    """Everybody; and those with an occupation, in bands of codes, for l-diversity."""
    table = CENSUS_TABLE.read(folder, [*CENSUS_COLUMNS, OCCUPATION])
    order = drawn_order(np.arange(len(table)))
    column = table.column(OCCUPATION)
    bands = np.array([_band(text) for text in column.texts], np.int32)[column.codes[order]]
    works = bands >= 0
    return (
        SampledTable(CENSUS_TABLE.name, _taken(table, CENSUS_COLUMNS, order)),
        SampledTable(CENSUS_TABLE.name, _taken(table, CENSUS_COLUMNS, order[works]), bands[works]),
    )


def _band(occupation: str | None) -> int:
    return -1 if occupation is None or occupation in NO_OCCUPATION else int(occupation) // BAND


def load_adult(folder: Path) -> SampledTable:
    """All of ADULT; the order of its rows matters to nothing but ties."""
    table = ADULT_TABLE.read(folder, ADULT)
    return SampledTable(ADULT_TABLE.name, _taken(table, ADULT, np.arange(len(table))))


def _taken(table: Table, names: Sequence[str], rows: NDArray[np.int64]) -> Table:
    """Some rows; what does not apply to a person is a value."""
    taken = [table.column(name).take(rows) for name in names]
    filled = (
        TextColumn(column.codes, tuple(text or NOT_APPLICABLE for text in column.texts)) for column in taken
    )
    return Table(tuple(names), tuple(filled))
