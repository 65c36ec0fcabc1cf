"""Renters and UNI, the tables of "k-Anonymity in the Presence of External Databases", as numbers.

The paper's IPUMS is an extract that may not be passed on. In its place stand adults in rented homes of the
American Community Survey of 2024, with the same six attributes. As in the paper the public table has
everybody of the private one, so the joined table is the public one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.reproduce.stored import Stored, drawn_words, whole_numbers

RENTERS_TABLE = Stored("renters", "acs2024_renters/renters.csv.gz")
COLUMNS = ("age", "total_income", "family_size", "years_education", "rent", "sex")  # the paper's order
UNI = "UNI"
GRID = 10_000  # so many different values stand for [0, 1]


@dataclass(frozen=True, slots=True)
class JoinSample:
    """Who is drawn: people of the private table, how many times as many in the public one, by which seed."""

    people: int
    ratio: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Where people are drawn from: each of `codes` (n, d) at most once, or evenly spread values."""

    name: str
    attributes: tuple[Attribute, ...]
    codes: Codes | None = None

    def most(self, people: int) -> int:
        """The largest ratio that there are people for; 0 if any can be had."""
        return 0 if self.codes is None else len(self.codes) // people

    def drawn(self, size: int, seed: int) -> Codes:
        """So many people, in the order in which they were drawn: fewer are the first of more."""
        if self.codes is None:
            return _evenly(size, len(self.attributes), seed)
        if size > len(self.codes):
            raise TableError(f"{self.name} has {len(self.codes):,} rows; {size:,} are needed")
        return self.codes[_shuffled(len(self.codes), seed)[:size]]

    def joined(self, sample: JoinSample, d: int) -> Microdata:
        """The public table with the first d attributes; people of the private one stand first."""
        size = sample.people * sample.ratio
        codes = np.ascontiguousarray(self.drawn(size, sample.seed)[:, :d])
        return Microdata(codes, self.attributes[:d], own=np.arange(size) < sample.people)


def renters(folder: Path) -> Population:
    """Real people."""
    codes, attributes = RENTERS_TABLE.numbered(folder, COLUMNS)
    return Population(RENTERS_TABLE.name, attributes, codes)


def uniform() -> Population:
    """Invented people, as many as are asked for."""
    domain = np.arange(GRID)
    return Population(UNI, tuple(whole_numbers(f"u{j + 1}", domain) for j in range(len(COLUMNS))))


@lru_cache(maxsize=2)
def _shuffled(n: int, seed: int) -> NDArray[np.int64]:
    dice = Random(f"order {seed}")  # noqa: S311  # nothing is published
    return np.argsort(np.frombuffer(dice.randbytes(8 * n), "<u8"), kind="stable")


@lru_cache(maxsize=1)
def _evenly(size: int, d: int, seed: int) -> Codes:
    words = drawn_words(size, d, f"uniform {seed}")
    return (words.astype(np.int64) * GRID >> 32).astype(np.int32)
