"""Engine: what a table that does not fit into memory is asked, in eight operations.

::

    open ─► domain ─► encode ─► distinct ─► (tuples that fit: cut in memory)  ─► shuffle ─► publish
                                   └► TooMany ─► node_stats ─► … ─► blocks ──────┘

An engine counts, joins, sorts and writes. It decides nothing: values are read, cuts chosen and cells named by
code that all engines share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Codes

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """The names of all columns, how many rows there are, and what was taken for what."""

    names: tuple[str, ...]
    rows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """The distinct texts of a column, None for gaps, and how many rows have each (m,)."""

    texts: tuple[str | None, ...]
    counts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """How the texts of a column become codes below `size`: ``codes[i]`` is that of ``texts[i]``."""

    name: str
    texts: tuple[str | None, ...]
    codes: Codes
    size: int

    @property
    def bits(self) -> int:
        return max(1, (self.size - 1).bit_length())


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Distinct records: codes (m, d), how many rows have each (m,), and sensitive codes (m,) where asked for.

    They stay in this order until classes are handed back.
    """

    codes: Codes
    weights: Codes
    values: tuple[Codes, ...] = ()

    def __len__(self) -> int:
        return self.weights.size


@dataclass(frozen=True, slots=True)
class TooMany:
    """There are more distinct records than fit; about so many."""

    about: int


@dataclass(frozen=True, slots=True)
class Span:
    """Codes low..high of a column go to a child."""

    low: int
    high: int
    child: int


@dataclass(frozen=True, slots=True)
class NodeCut:
    """A node's cut: its children by spans of one column's codes; whatever is in none goes to `otherwise`."""

    column: int
    spans: tuple[Span, ...]
    otherwise: int


@dataclass(frozen=True, slots=True)
class CutTree:
    """Cuts by node; node 0 is the whole table, and a node without a cut is a leaf."""

    cuts: Mapping[int, NodeCut]

    def leaves(self) -> list[int]:
        """In the order of a walk."""
        found, left = [], [0]
        while left:
            node = left.pop()
            cut = self.cuts.get(node)
            if cut is None:
                found.append(node)
            else:
                left += {*(span.child for span in cut.spans), cut.otherwise}
        return sorted(found)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Of some nodes: how many rows each has (m,), and the lowest and highest code of each column (m, d)."""

    mass: Ints
    low: Ints
    high: Ints


ALL_CODES = 2**31 - 1  # no code is larger


@dataclass(frozen=True, slots=True)
class TallyOf:
    """Count the codes of a column in a node, after so many bits are cut off; of codes first..last alone."""

    node: int
    column: int
    shift: int = 0
    first: int = 0
    last: int = ALL_CODES


@dataclass(frozen=True, slots=True)
class ZonesOf:
    """The codes of a node's column fall into zones: each of the `starts` (ascending) begins another."""

    node: int
    column: int
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """The rows of a node in one combination of zones: the lowest and highest code of each column."""

    zones: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The sensitive codes that occur in a node, ascending (m,), and how many rows have each (m,)."""

    codes: Ints
    counts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The rows of a leaf: distinct records with their weights."""

    node: int
    tuples: Tuples


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Some rows that were drawn: codes (m, d), class (m,), and the texts of each private column."""

    codes: Codes
    classes: Codes
    private: Mapping[str, Sequence[str | None]]

    def __len__(self) -> int:
        return self.classes.size


@dataclass(frozen=True, slots=True, eq=False)
class RangeCells:
    """Cells of numbers or dates: class c covers values low..high (codes; -1: none), and missing or not."""

    low: Codes
    high: Codes
    missing: NDArray[np.bool_]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListedCells:
    """Cells of sets and hierarchies: class c shows ``texts[cells[c]]``."""

    cells: Codes
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClassCells:
    """What equivalence classes publish in each quasi-identifier, and the canonical texts of its values.

    Classes of equal cells are one class to whoever reads the release. The text of a missing value is None.
    """

    names: tuple[str, ...]
    columns: tuple[RangeCells | ListedCells, ...]
    values: tuple[tuple[str | None, ...], ...]

    def __len__(self) -> int:
        first = self.columns[0]
        return first.low.size if isinstance(first, RangeCells) else first.cells.size


class Engine(Protocol):
    """What every engine can be asked, in this order. Counts are checked after each step."""

    def open(self) -> OpenedTable:
        """Look at the table; nothing of it is in memory afterwards."""
        ...

    def domain(self, column: str) -> Frequencies:
        """The distinct texts of a column with their counts."""
        ...

    def encode(self, quasi: Sequence[Lookup], values: Sequence[Lookup], private: Sequence[str]) -> None:
        """Give every row its codes; `values` are sensitive and guard cuts, `private` stay texts."""
        ...

    def distinct(self, limit: int) -> Tuples | TooMany:
        """The distinct records, if they are at most so many."""
        ...

    def node_stats(self, tree: CutTree, nodes: Sequence[int]) -> Bounds:
        """Mass and bounds of some leaves of a tree."""
        ...

    def node_tallies(self, tree: CutTree, wanted: Sequence[TallyOf]) -> list[tuple[Ints, Ints]]:
        """For each: the (shifted) codes that occur, ascending, and how many rows have each."""
        ...

    def node_zones(self, tree: CutTree, wanted: Sequence[ZonesOf]) -> Mapping[int, list[Zone]]:
        """For each node: its rows by zones of all columns that are asked about, in the order asked."""
        ...

    def node_values(
        self, tree: CutTree, wanted: Sequence[ZonesOf], column: int
    ) -> Mapping[int, Mapping[int, frozenset[int]]]:
        """For each node, one question each: which codes of another column each of its zones has."""
        ...

    def node_histograms(self, tree: CutTree, nodes: Sequence[int], value: int) -> Mapping[int, Histogram]:
        """For each of some leaves: how often it has each code of a sensitive column, by its place."""
        ...

    def blocks(self, tree: CutTree) -> Iterator[Block]:
        """The rows of each leaf. The classes of a block are told by `assign` before the next one is read."""
        ...

    def assign(self, classes: Codes, node: int | None = None) -> None:
        """The class of each tuple of a block, or of all tuples, in the order in which they came.

        With a public table, people of class -1 have no row.
        """
        ...

    def sample(self, about: int) -> SampledRows:
        """About so many rows with their classes, or all, to see what a release is worth."""
        ...

    def shuffle(self) -> None:
        """Put class and private part of all rows into an order that nobody can foresee or repeat."""
        ...

    def single_valued(self, column: str) -> int:
        """How many of the shuffled rows are in classes with a single text of a private column."""
        ...

    def publish(self, classes: ClassCells, columns: Sequence[str], target: Path, form: str) -> Sequence[Path]:
        """Write the rows of the release as CSV or Parquet into a folder."""
        ...

    def witness(self, classes: ClassCells, target: Path) -> None:
        """Write which distinct record is in which class, and the cells of each, for the verifier."""
        ...
