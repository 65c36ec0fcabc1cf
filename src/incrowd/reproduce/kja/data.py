"""IPUMS and UNI, the tables of "k-Anonymity in the Presence of External Databases", as numbers.

The paper's IPUMS is an extract that may not be passed on. In its place stand adults in rented homes of the
American Community Survey of 2024, with the same six attributes. As in the paper the public table has
everybody of the private one, so the joined table is the public one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.reproduce.revisited.data import Stored
from incrowd.schema import Kind, Shape

RENTERS_TABLE = Stored("renters", "acs2024_renters/renters.csv.gz")
COLUMNS = ("age", "total_income", "family_size", "years_education", "rent", "sex")  # the paper's order
UNI = "UNI"
GRID = 10_000  # so many different values stand for [0, 1]
SEED = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """Who is drawn: people of the private table, how many times as many in the public one, by which seed."""

    people: int
    ratio: int
    seed: int


class Source(ABC):
    """Where people are drawn from."""

    name: str

    @property
    @abstractmethod
    def attributes(self) -> tuple[Attribute, ...]:
        """All quasi-identifiers, in the paper's order."""

    @abstractmethod
    def most(self, people: int) -> int:
        """The largest ratio that there are people for; 0 if any can be had."""

    @abstractmethod
    def drawn(self, size: int, seed: int) -> Codes:
        """So many people, in the order in which they were drawn: fewer are the first of more."""

    def joined(self, sample: Sample, d: int) -> Microdata:
        """The public table with the first d attributes; people of the private one stand first.

        Raises
        ------
        TableError
            If there are fewer people.
        """
        size = sample.people * sample.ratio
        codes = np.ascontiguousarray(self.drawn(size, sample.seed)[:, :d])
        return Microdata(codes, self.attributes[:d], own=np.arange(size) < sample.people)


@lru_cache(maxsize=2)
def shuffled(n: int, seed: int) -> NDArray[np.int64]:
    """The numbers below n in an order that anyone can draw again."""
    dice = Random(f"order {seed}")  # noqa: S311  # nothing is published
    return np.argsort(np.frombuffer(dice.randbytes(8 * n), "<u8"), kind="stable")


@dataclass(frozen=True, eq=False)
class Renters(Source):
    """Real people, each at most once in a sample."""

    codes: Codes
    domains: tuple[Attribute, ...]
    name: str = RENTERS_TABLE.name

    @classmethod
    def load(cls, folder: Path) -> Renters:
        """Read the table.

        Raises
        ------
        TableError
            If it has other columns.
        """
        table = tables.read(folder / RENTERS_TABLE.path, columns=[*COLUMNS])
        read = []
        for name in COLUMNS:
            column = table.column(name)
            values, place = np.unique([int(text or 0) for text in column.texts], return_inverse=True)
            read.append((place[column.codes].astype(np.int32), _numbers(name, values)))
        return cls(np.column_stack([codes for codes, _ in read]), tuple(domain for _, domain in read))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.domains

    def most(self, people: int) -> int:
        return len(self.codes) // people

    def drawn(self, size: int, seed: int) -> Codes:
        if size > len(self.codes):
            raise TableError(f"{self.name} has {len(self.codes):,} rows; {size:,} are needed")
        return self.codes[shuffled(len(self.codes), seed)[:size]]


@dataclass(frozen=True, eq=False)
class Uniform(Source):
    """Invented people, evenly spread; as many as are asked for."""

    name: str = UNI

    @cached_property
    def _domains(self) -> tuple[Attribute, ...]:
        return tuple(_numbers(f"u{j + 1}", np.arange(GRID)) for j in range(len(COLUMNS)))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self._domains

    def most(self, people: int) -> int:  # noqa: ARG002  # there are always enough
        return 0

    def drawn(self, size: int, seed: int) -> Codes:
        return _evenly(size, len(COLUMNS), seed)


@lru_cache(maxsize=1)
def _evenly(size: int, d: int, seed: int) -> Codes:
    dice = Random(f"uniform {seed}")  # noqa: S311  # nothing is published
    drawn = np.frombuffer(dice.randbytes(4 * size * d), "<u4").reshape(size, d)
    return (drawn.astype(np.int64) * GRID >> 32).astype(np.int32)


def _numbers(name: str, values: NDArray[np.int64]) -> Attribute:
    """A column of whole numbers, published as ranges."""
    texts = tuple(map(str, values.tolist()))
    return Attribute(name, Kind.NUMERIC, Shape.RANGE, texts, values.astype(np.float64))
