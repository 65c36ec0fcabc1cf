"""CENSUS as "Hiding Distinguished Ones into Crowd" has it: workers, and their salary in fifty classes.

The paper's extract of IPUMS may not be passed on. In its place stand people of the American Community Survey
who have an occupation and a wage, with the hierarchies that lie beside the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.encode import encode
from incrowd.flow import Codes, Microdata, Table, TextColumn
from incrowd.hierarchy.tree import read_levels
from incrowd.reproduce.stored import (
    CENSUS_COLUMNS,
    CENSUS_TABLE,
    NO_OCCUPATION,
    OCCUPATION,
    Stored,
    drawn_order,
    first_rows,
)
from incrowd.schema import Column, Kind, Role, Schema

AGE, WAGE, SALARY = "AGEP", "WAGP", "salary"
QUASI = (*CENSUS_COLUMNS, OCCUPATION)  # the paper's order
CLASSES = 50
Levels = tuple[tuple[str, ...], ...]
NEEDED = (
    CENSUS_TABLE,
    *(Stored(f"levels of {name}", f"acs2024_census/hierarchies/{name}.csv") for name in QUASI if name != AGE),
)


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """Rows in a drawn order, to take the first n rows and d quasi-identifiers of.

    `salary` (n,) is the class of each, 0..49.
    """

    table: Table
    salary: Codes
    levels: Mapping[str, Levels]

    def __len__(self) -> int:
        return len(self.table)

    def first(self, n: int, d: int) -> Microdata:
        """A sample as numbers: age as a number, all else in its hierarchy, the class of salary sensitive."""
        sample = first_rows(self.table, n, d, f"{CENSUS_TABLE.name} has {{}} people with a wage")
        salary = TextColumn(self.salary[:n], tuple(map(str, range(CLASSES))))
        columns = (*map(self._column, sample.names), Column(SALARY, Role.SENSITIVE, Kind.NUMERIC))
        return encode(Table((*sample.names, SALARY), (*sample.columns, salary)), Schema(columns))

    def _column(self, name: str) -> Column:
        if name == AGE:
            return Column(name, Role.QUASI, Kind.NUMERIC)
        return Column(name, Role.QUASI, Kind.CATEGORICAL, levels=self.levels[name])


def load_workers(folder: Path) -> Workers:
    """Those with an occupation and a wage; hierarchies have the values that one of them has."""
    table = CENSUS_TABLE.read(folder, [*QUASI, WAGE])
    wages = np.array([int(text or 0) for text in table.column(WAGE).texts])[table.column(WAGE).codes]
    occupation = table.column(OCCUPATION)
    known = np.array([text is not None and text not in NO_OCCUPATION for text in occupation.texts])
    rows = drawn_order(np.flatnonzero(known[occupation.codes] & (wages > 0)))
    taken = Table(QUASI, tuple(table.column(name).take(rows) for name in QUASI))
    stored = {name: read_levels(folder / one.path) for name, one in zip(QUASI[1:], NEEDED[1:], strict=True)}
    levels = {name: _levels_met(taken.column(name), tuple(rows)) for name, rows in stored.items()}
    return Workers(taken, salary_classes(wages[rows]), levels)


def _levels_met(column: TextColumn, rows: Levels) -> Levels:
    met = {column.texts[code] for code in np.unique(column.codes).tolist()}
    return tuple(tuple(row) for row in rows if row[0] in met)


def salary_classes(wages: NDArray[np.int64]) -> Codes:
    """Classes 0..49 of wages (n,) by rank, of about as many people each; one wage is in one class.

    Examples
    --------
    >>> salary_classes(np.array([700, 10, 700, 900])).tolist()
    [25, 6, 25, 43]
    """
    _, of, counts = np.unique(wages, return_inverse=True, return_counts=True)
    twice = 2 * np.cumsum(counts) - counts  # twice the middle rank of each wage
    return (twice * CLASSES // (2 * wages.size))[of].astype(np.int32)
