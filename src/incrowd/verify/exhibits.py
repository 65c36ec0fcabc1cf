"""Both tables, each read once and turned into numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Role, Schema
from incrowd.verify.domain import Domain
from incrowd.verify.rows import (
    Ints,
    Numbering,
    Picker,
    Restoring,
    Rows,
    as_is,
    column,
    fold,
    joined,
    numbers_of,
    restored,
)
from incrowd.verify.truth import Evidence

MEAN = "_mean"
NO_CELL = "["  # no cell says this, so a generalised cell that is NULL is refused like any malformed one
Progress = Callable[[float], None]


def silent(done: float) -> None:
    """A progress that nobody watches."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is to be judged.

    Parameters
    ----------
    original, published : Rows
        The table as it was, and as it is to be published.
    schema : Schema
        What the columns of the original are.
    claims : sequence of Claim
        What the release must keep.
    suppressed : int
        How many records of the original have no row.
    stated_rows : int, optional
        How many rows the manifest says there are.
    accepted : sequence of str
        Exposures accepted by name.
    protected : bool
        Are the published texts protected against being run as formulas, as in CSV files?
    hint : array of shape (rows,), optional
        For each row the record whose private part it carries. It saves a search and is never trusted.
    """

    original: Rows
    published: Rows
    schema: Schema
    claims: Sequence[Claim]
    suppressed: int = 0
    stated_rows: int | None = None
    accepted: Sequence[str] = ()
    protected: bool = False
    hint: NDArray[np.int64] | None = field(default=None, repr=False)

    @property
    def undo(self) -> Callable[[str], str]:
        return restored if self.protected else as_is

    @property
    def header(self) -> tuple[str, ...]:
        """The names that the published table must have: a mean comes right after its column."""
        pairs = ((c.name, c.name + MEAN) if c.mean else (c.name,) for c in self.schema.published)
        return tuple(name for pair in pairs for name in pair)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts, each distinct text once: row i says ``texts[codes[i]]``."""

    codes: Ints
    texts: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Exhibits:
    """Both tables as numbers: for truth, and what else claims and means speak of."""

    evidence: Evidence
    quasi: Mapping[str, Texts]  # original
    entity: Ints | None  # original
    means: Mapping[str, Texts]  # published
    sensitive: Mapping[str, Texts]  # published


def read(case: Case, progress: Progress) -> Exhibits:
    """Read the original, then the release."""
    private = Numbering()
    records = _Reading(case.original, "the original", as_is)
    quasi = {c.name: records.column(c.name, Numbering()) for c in case.schema.having(Role.QUASI)}
    entity = [records.column(c.name, Restoring(as_is)) for c in case.schema.having(Role.ENTITY)]
    record_private = records.private(case.schema, private)
    records.read()
    progress(0.4)

    rows = _Reading(case.published, "the release", case.undo)
    cells = [rows.column(name, Restoring(case.undo, null=NO_CELL)) for name in quasi]
    means = {c.name: rows.column(c.name + MEAN, Numbering()) for c in case.schema.published if c.mean}
    spoken_of = {claim.column for claim in case.claims}
    sensitive = [c.name for c in case.schema.having(Role.SENSITIVE) if c.name in spoken_of]
    values = {name: rows.column(name, Restoring(case.undo)) for name in sensitive}
    row_private = rows.private(case.schema, private)
    rows.read()
    progress(0.8)

    originals = {name: records.texts(place) for name, place in quasi.items()}
    domains = [
        Domain(case.schema.column(name), own.texts, case.schema.missing) for name, own in originals.items()
    ]
    shown = [_in_order(rows.texts(place)) for place in cells]
    row_class, class_cells = _classes(shown)
    return Exhibits(
        evidence=Evidence(
            record_private=records.codes(record_private),
            record_ranks=[d.ranks[own.codes] for d, own in zip(domains, originals.values(), strict=True)],
            row_private=rows.codes(row_private),
            row_class=row_class,
            class_cells=class_cells,
            regions=[domain.regions(cell.texts) for domain, cell in zip(domains, shown, strict=True)],
        ),
        quasi=originals,
        entity=records.codes(entity[0]) if entity else None,
        means={name: rows.texts(place) for name, place in means.items()},
        sensitive={name: rows.texts(place) for name, place in values.items()},
    )


def _in_order(column: Texts) -> Texts:
    """The same column with its texts sorted, so that no number tells in which order rows were met."""
    order = sorted(range(len(column.texts)), key=column.texts.__getitem__)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Texts(place[column.codes], [column.texts[i] for i in order])


def _classes(columns: Sequence[Texts]) -> tuple[Ints, list[Ints]]:
    """The class of each row, and for each column the cell that each class shows."""
    row_class = fold([column.codes for column in columns], [len(column.texts) for column in columns])
    first = np.unique(row_class, return_index=True)[1]
    return row_class, [column.codes[first] for column in columns]


class _Reading:
    """What to pick from a table, then one pass over it."""

    def __init__(self, rows: Rows, what: str, undo: Callable[[str], str]) -> None:
        self._rows, self._what, self._undo = rows, what, undo
        self._place = {undo(name): place for place, name in enumerate(rows.names)}
        self._picks: list[tuple[Picker, dict[Any, int]]] = []
        self._found: list[Ints] = []

    def column(self, name: str, numbers: dict[Any, int]) -> int:
        return self._pick(column(self._place[name]), numbers)

    def private(self, schema: Schema, numbers: Numbering) -> int:
        names = [c.name for c in schema.having(Role.SENSITIVE, Role.KEEP)]
        if not names:
            return self._pick(lambda block: [""] * len(block), numbers)
        return self._pick(joined([self._place[name] for name in names], self._undo), numbers)

    def _pick(self, picker: Picker, numbers: dict[Any, int]) -> int:
        self._picks.append((picker, numbers))
        return len(self._picks) - 1

    def read(self) -> None:
        self._found = numbers_of(self._rows, self._picks, self._what)

    def codes(self, place: int) -> Ints:
        return self._found[place]

    def texts(self, place: int) -> Texts:
        numbers = self._picks[place][1]
        return Texts(self._found[place], numbers.met if isinstance(numbers, Restoring) else list(numbers))
