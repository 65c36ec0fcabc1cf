"""Rows in a row: an engine that sorts all of them, along the Hilbert curve or column by column.

A sorted row is read piece by piece, and each piece is handed back with what was decided on it. Which of equal
records comes first is drawn: the order of the table has no say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import Engine, Ints
from incrowd.flow import Codes

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Along the Hilbert curve with so many bits a column; or, with none, by these columns in turn."""

    bits: int = 0
    columns: Sequence[int] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """What was decided on a piece of the row: the class g of each record (m,).

    With `rings` also, for each place: part, place in it, the class of the row that was made here, and at
    which place of the part the record stands that is behind this row.
    """

    classes: Codes
    rings: Arrays = field(default_factory=dict)


@runtime_checkable
class OrderedEngine(Engine, Protocol):
    """An engine that can also put all rows in an order."""

    @property
    def folder(self) -> Path: ...

    def sort(self, order: RowOrder) -> None:
        """Sort all rows; of equal records, whose order is drawn, none comes before another for a reason."""
        ...

    def codes(self, first: int, last: int) -> Codes:
        """The quasi-identifiers of rows first..last-1 of the sorted row (m, d)."""
        ...

    def values(self, column: str, first: int, last: int) -> Codes:
        """The texts of a private column of the same rows, as numbers; equal texts have the same one."""
        ...

    def guarded(self, place: int, first: int, last: int) -> Codes:
        """The codes of a sensitive column that guards cuts, by its place among these, of the same rows."""
        ...

    def regroup(self, groups: Codes) -> None:
        """Sort all rows once more, by the group of each (n,)."""
        ...

    def label(self, rows: LabelledRows) -> None:
        """What was decided on the next rows of the sorted row."""
        ...


def whole_parts(starts: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Runs of parts with at most so many rows together, or one part, as places in `starts`.

    Examples
    --------
    >>> list(whole_parts(np.array([0, 2, 5, 9, 20]), 6))
    [(0, 2), (2, 3), (3, 4)]
    """
    first = 0
    while first < starts.size - 1:
        last = int(np.searchsorted(starts, starts[first] + most, "right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
