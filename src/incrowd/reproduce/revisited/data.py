"""ADT and CMC, the real tables of "k-Anonymization Revisited", with permissible sets of our own.

The paper keeps its sets for a full version that did not appear; it says only that values close in meaning
were put together, and that education had three groups. What loses how much depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd import tables
from incrowd.encode import encode
from incrowd.errors import TableError
from incrowd.flow import Microdata, Table
from incrowd.reproduce.revisited.art import set_column
from incrowd.schema import Column, Schema

Sets = tuple[tuple[str, ...], ...]


def _sets(*groups: str) -> Sets:
    """Sets written as words."""
    return tuple(tuple(group.split()) for group in groups)


def _bands(low: int, high: int, *widths: int) -> Sets:
    """All whole numbers in bands of these widths, each narrower one inside a wider."""
    whole = range(low, high + 1)
    found = [[str(x) for x in whole if x // w == start] for w in widths for start in range(high // w + 1)]
    return tuple(tuple(each) for each in (*found, map(str, whole)) if each)


ADULT: Mapping[str, Sets] = {
    "age": _bands(17, 90, 5, 10, 20),
    "workclass": _sets(
        "Private Self-emp-not-inc Self-emp-inc",
        "Self-emp-not-inc Self-emp-inc",
        "Federal-gov Local-gov State-gov",
        "Without-pay Never-worked",
    ),
    "education": _sets(
        "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad",
        "Some-college Assoc-voc Assoc-acdm Bachelors",
        "Masters Prof-school Doctorate",
    ),
    "marital-status": _sets(
        "Married-civ-spouse Married-AF-spouse", "Divorced Separated Widowed Married-spouse-absent"
    ),
    "occupation": _sets(
        "Exec-managerial Prof-specialty Tech-support Adm-clerical Sales",
        "Craft-repair Machine-op-inspct Transport-moving Handlers-cleaners Farming-fishing",
        "Other-service Protective-serv Priv-house-serv Armed-Forces",
    ),
    "relationship": _sets("Husband Wife", "Own-child Other-relative", "Not-in-family Unmarried"),
    "race": _sets("Asian-Pac-Islander Amer-Indian-Eskimo Other"),
    "sex": (),
    "native-country": _sets(
        "United-States Canada Outlying-US(Guam-USVI-etc)",
        "Mexico Puerto-Rico Cuba Jamaica Haiti Dominican-Republic Honduras Guatemala Nicaragua El-Salvador "
        "Trinadad&Tobago Ecuador Columbia Peru",
        "England Germany Greece Italy Poland Portugal Ireland France Hungary Scotland Yugoslavia "
        "Holand-Netherlands",
        "Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong",
    ),
}
CMC: Mapping[str, Sets] = {
    "wife_age": _bands(16, 49, 5, 10),
    "wife_education": _sets("1 2", "3 4"),
    "husband_education": _sets("1 2", "3 4"),
    "children": _sets("0 1 2", "1 2", "3 4", "5 6 7 8", "3 4 5 6 7 8", "9 10 11 12 13 14 15 16"),
    "wife_religion": (),
    "wife_working": (),
    "husband_occupation": (),
    "standard_of_living": _sets("1 2", "3 4"),
    "media_exposure": (),
}


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


@dataclass(frozen=True, slots=True)
class RealTable(Stored):
    """A stored table, the columns that are used of it with their permissible sets, and how many rows."""

    families: Mapping[str, Sets]
    rows: int

    def load(self, folder: Path) -> Microdata:
        """The first rows as numbers.

        Raises
        ------
        TableError
            If the file has other columns or fewer rows.
        """
        table = tables.read(folder / self.path, columns=[*self.families])
        if len(table) < self.rows:
            raise TableError(
                f"{self.path} has {len(table)} rows; {self.name} are the first {self.rows} of it"
            )
        first = np.arange(self.rows)
        table = Table(table.names, tuple(column.take(first) for column in table.columns))
        return encode(table, Schema(tuple(self._column(name, table) for name in self.families)))

    def _column(self, name: str, table: Table) -> Column:
        """A column with its sets; where there are none, single values and everything are left."""
        met = tuple(text for text in table.column(name).texts if text is not None)
        return set_column(name, self.families[name] or (met,))


ADT_TABLE = RealTable("ADT", "adult/adult.csv", ADULT, 5000)
CMC_TABLE = RealTable("CMC", "cmc/cmc.csv", CMC, 1473)
