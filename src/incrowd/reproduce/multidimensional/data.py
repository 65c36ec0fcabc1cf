"""Points to cut: evenly and normally spread ones, and ADULT with every column as numbers.

The paper runs no experiments. These tables are in the style of those that its algorithm was first tried on.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from pathlib import Path

import numpy as np

from incrowd.flow import Attribute, Codes, Microdata
from incrowd.reproduce.stored import ADULT_TABLE, SEED, drawn_words, whole_numbers

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


@dataclass(frozen=True, slots=True, eq=False)
class NumberTable:
    """A table of whole numbers, to take the first columns of."""

    name: str
    codes: Codes
    attributes: tuple[Attribute, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def first(self, d: int) -> Microdata:
        return Microdata(np.ascontiguousarray(self.codes[:, :d]), self.attributes[:d])


def uniform(n: int) -> NumberTable:
    """Every value with the same chance, columns independent of each other."""
    return _invented("UNIFORM", n, [1.0] * DOMAIN)


def normal(n: int) -> NumberTable:
    """Values around the middle of the domain more often, columns independent of each other."""
    middle = (DOMAIN - 1) / 2
    return _invented("NORMAL", n, [exp(-(((v - middle) / SPREAD) ** 2) / 2) for v in range(DOMAIN)])


def _invented(name: str, n: int, weights: list[float]) -> NumberTable:
    upto = np.cumsum(weights)
    drawn = drawn_words(n, MOST_COLUMNS, f"{name} {SEED}") / 2.0**32
    codes = np.searchsorted(upto[:-1] / upto[-1], drawn, side="right").astype(np.int32)
    domain = np.arange(DOMAIN)
    return NumberTable(name, codes, tuple(whole_numbers(f"x{j + 1}", domain) for j in range(MOST_COLUMNS)))


def adult(folder: Path) -> NumberTable:
    """Everybody of ADULT."""
    return NumberTable(ADULT_TABLE.name, *ADULT_TABLE.numbered(folder, COLUMNS))
