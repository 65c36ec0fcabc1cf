"""Points to cut: evenly and normally spread ones, and ADULT with every column as numbers.

The paper runs no experiments. These tables are in the style of those that its algorithm was first tried on.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.flow import Attribute, Codes, Microdata, TextColumn
from incrowd.reproduce.nonhomogeneous.data import ADULT_TABLE
from incrowd.schema import Kind, Shape

UNIFORM, NORMAL, ADULT = "UNIFORM", "NORMAL", ADULT_TABLE.name
COLUMNS = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education-num",
    "native-country",
    "workclass",
    "occupation",
)
MOST_COLUMNS = len(COLUMNS)
DOMAIN = 50  # values of an invented column
SPREAD = 10.0  # standard deviation of a normal column
SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A table of whole numbers, to take the first columns of."""

    name: str
    codes: Codes
    attributes: tuple[Attribute, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def first(self, d: int) -> Microdata:
        return Microdata(np.ascontiguousarray(self.codes[:, :d]), self.attributes[:d])


def numbers(name: str, values: NDArray[np.int64]) -> Attribute:
    """A column of whole numbers, published as ranges."""
    return Attribute(
        name, Kind.NUMERIC, Shape.RANGE, tuple(map(str, values.tolist())), values.astype(np.float64)
    )


def uniform(n: int) -> Points:
    """Every value with the same chance, columns independent of each other."""
    return _invented(UNIFORM, n, [1.0] * DOMAIN)


def normal(n: int) -> Points:
    """Values around the middle of the domain more often, columns independent of each other."""
    middle = (DOMAIN - 1) / 2
    return _invented(NORMAL, n, [exp(-(((v - middle) / SPREAD) ** 2) / 2) for v in range(DOMAIN)])


def _invented(name: str, n: int, weights: list[float]) -> Points:
    dice = Random(f"{name} {SEED}")  # noqa: S311  # nothing is published
    drawn = np.frombuffer(dice.randbytes(4 * n * MOST_COLUMNS), "<u4").reshape(n, MOST_COLUMNS) / 2.0**32
    upto = np.cumsum(weights)
    codes = np.searchsorted(upto[:-1] / upto[-1], drawn, side="right").astype(np.int32)
    domain = np.arange(DOMAIN)
    return Points(name, codes, tuple(numbers(f"x{j + 1}", domain) for j in range(MOST_COLUMNS)))


def adult(folder: Path) -> Points:
    """Everybody of ADULT; texts are numbered in the order of the alphabet, `?` being one of them.

    Raises
    ------
    TableError
        If the file has other columns.
    """
    table = tables.read(folder / ADULT_TABLE.path, columns=[*COLUMNS])
    read = [_numbered(name, table.column(name)) for name in COLUMNS]
    return Points(ADULT, np.column_stack([codes for codes, _ in read]), tuple(domain for _, domain in read))


def _numbered(name: str, column: TextColumn) -> tuple[Codes, Attribute]:
    texts = [text or "" for text in column.texts]
    if all(text.isdigit() for text in texts):
        values, place = np.unique([int(text) for text in texts], return_inverse=True)
    else:
        met, place = np.unique(texts, return_inverse=True)
        values = np.arange(met.size)
    return place[column.codes].astype(np.int32), numbers(name, values)
