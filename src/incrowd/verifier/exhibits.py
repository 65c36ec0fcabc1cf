"""Both tables, each read once and turned into numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.buckets import GROUP, Hidden, stands_apart
from incrowd.verifier.domain import Domain
from incrowd.verifier.people import People, Public, joins, read_people
from incrowd.verifier.rows import (
    Codes,
    Ints,
    Numbering,
    Restoring,
    Rows,
    Texts,
    as_is,
    fold,
    numbers_of,
    restored,
)
from incrowd.verifier.truth import Evidence

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
        How many records of the original have no row, if that is said.
    max_suppression : Fraction, optional
        The share of records that may have no row, if it is not said how many have none.
    levels : mapping, optional
        The level that the manifest says each quasi-identifier with a hierarchy is published at.
    stated_rows : int, optional
        How many rows the manifest says there are.
    accepted : sequence of str
        Exposures accepted by name.
    protected : bool
        Are the published texts protected against being run as formulas, as in CSV files?
    domains : mapping, optional
        What the manifest says about the domain of each quasi-identifier.
    hint : array of shape (rows,), optional
        For each row the record whose private part it carries. It saves a search and is never trusted.
    neighbourhoods : array of shape (rows, k), optional
        For each row the k records that it was made of, for the claim of a k-factor; a hint like the other.
    parts : array of shape (rows,), optional
        For each row the part of the table that it was drawn in, for the claim of a diverse draw; a hint, too.
    odds : mapping, optional
        What the manifest says about the probability of matches; needed with claims about who fits which row.
    buckets : Rows, optional
        The table of sensitive values, where they are published apart from the rows.
    stated_groups : int, optional
        How many groups the manifest says that table has.
    public : Public, optional
        The public table whose people stand in, with the claim of k-join-anonymity only. Then `hint` numbers
        people: all records of the original, then those of the public table who may stand in.
    stated_public, stated_check : int, optional
        How many rows the manifest says the public table and its second source have.
    """

    original: Rows
    published: Rows
    schema: Schema
    claims: Sequence[Claim]
    suppressed: int = 0
    max_suppression: Fraction | None = None
    levels: Any = None
    stated_rows: int | None = None
    accepted: Sequence[str] = ()
    protected: bool = False
    domains: Mapping[str, Any] | None = None
    hint: NDArray[np.int64] | None = field(default=None, repr=False)
    neighbourhoods: NDArray[np.integer] | None = field(default=None, repr=False)
    parts: NDArray[np.integer] | None = field(default=None, repr=False)
    odds: Any = None
    buckets: Rows | None = None
    stated_groups: int | None = None
    public: Public | None = None
    stated_public: int | None = None
    stated_check: int | None = None

    @property
    def joins(self) -> bool:
        """Do people of a public table have rows, too?"""
        return joins(self.claims)

    @property
    def hides_values(self) -> bool:
        """Must sensitive values stand apart from the rows?"""
        return stands_apart(self.claims)

    @property
    def private(self) -> tuple[Column, ...]:
        """The columns that rows show as they are: none where some rows are of people without such values."""
        if self.joins:
            return ()
        return self.schema.having(*((Role.KEEP,) if self.hides_values else (Role.SENSITIVE, Role.KEEP)))

    @property
    def undo(self) -> Callable[[str], str]:
        return restored if self.protected else as_is

    @property
    def header(self) -> tuple[str, ...]:
        """The names that the published table must have: a mean comes right after its column, a group last."""
        shown = [c for c in self.schema.published if c.role is Role.QUASI or c in self.private]
        pairs = ((c.name, c.name + MEAN) if c.mean else (c.name,) for c in shown)
        return tuple(name for pair in pairs for name in pair) + ((GROUP,) if self.hides_values else ())


@dataclass(frozen=True, slots=True, eq=False)
class Exhibits:
    """Both tables as numbers: for truth, and what else claims and means speak of."""

    evidence: Evidence
    quasi: Mapping[str, Texts]  # original
    entity: Codes | None  # original
    means: Mapping[str, Texts]  # published
    sensitive: Mapping[str, Texts]  # published in the rows
    hidden: Hidden | None  # original, where sensitive values stand apart
    groups: Texts | None  # published
    values: Mapping[str, Texts]  # the same columns of the original, with the same numbers
    domains: Mapping[str, Domain]  # of each quasi-identifier
    cells: Mapping[str, Sequence[str]]  # published, each distinct one once
    named: Mapping[str, Any]  # what the published cells name of each quasi-identifier's domain
    people: People | None = None  # of both tables, where a public one is joined

    @property
    def own(self) -> int:
        """How many records the original has."""
        return self.evidence.record_private.size if self.people is None else self.people.own


def read(case: Case, progress: Progress) -> Exhibits:
    """Read the original, then the release."""
    private = {c.name: Numbering() for c in case.private}
    hidden = {c.name: Numbering() for c in case.schema.having(Role.SENSITIVE)} if case.hides_values else {}
    quasi = [c.name for c in case.schema.having(Role.QUASI)]
    records = _Reading(case.original, "the original", as_is)
    values = {name: Numbering() for name in quasi}
    records.want(values)
    records.want({c.name: Restoring(Numbering(), as_is) for c in case.schema.having(Role.ENTITY)})
    records.want({case.public.id: Numbering()} if case.public is not None else {})
    records.want({name: Restoring(numbers, as_is) for name, numbers in (private | hidden).items()})
    records.read()
    progress(0.3)
    people = _people(case, case.public, records, values) if case.public is not None else None
    progress(0.4)

    rows = _Reading(case.published, "the release", case.undo)
    rows.want({name: Restoring(Numbering(), case.undo, null=NO_CELL) for name in quasi})
    rows.want({c.name + MEAN: Numbering() for c in case.schema.published if c.mean})
    rows.want({name: Restoring(numbers, case.undo) for name, numbers in private.items()})
    rows.want({GROUP: Numbering()} if case.hides_values else {})
    rows.read()
    progress(0.8)
    return _exhibits(case, records, rows, hidden, people)


def _people(case: Case, public: Public, records: _Reading, numbers: Mapping[str, Numbering]) -> People:
    own = {name: records.found[name].codes for name in numbers}
    return read_people(public, case.schema, records.found[public.id], own, numbers)


def _exhibits(
    case: Case, records: _Reading, rows: _Reading, hidden: Mapping[str, Numbering], people: People | None
) -> Exhibits:
    schema = case.schema
    found = records.found if people is None else people.columns
    originals = {c.name: found[c.name] for c in schema.having(Role.QUASI)}
    domains = [Domain(schema.column(name), own.texts, schema.missing) for name, own in originals.items()]
    shown = [_in_order(rows.found[name]) for name in originals]
    record_private, row_private = _private(case, records, rows, len(records if people is None else people))
    row_class, class_cells = _classes(shown)
    regions = [domain.regions(cells.texts) for domain, cells in zip(domains, shown, strict=True)]
    entity = [records.found[c.name].codes for c in schema.having(Role.ENTITY)]
    return Exhibits(
        evidence=Evidence(
            record_private=record_private,
            record_ranks=[d.ranks[own.codes] for d, own in zip(domains, originals.values(), strict=True)],
            row_private=row_private,
            row_class=row_class,
            class_cells=class_cells,
            regions=regions,
        ),
        quasi=originals,
        entity=entity[0] if entity else None,
        means={c.name: rows.found[c.name + MEAN] for c in schema.published if c.mean},
        sensitive={c.name: rows.found[c.name] for c in case.private if c.role is Role.SENSITIVE},
        values={c.name: records.found[c.name] for c in case.private if c.role is Role.SENSITIVE},
        domains=dict(zip(originals, domains, strict=True)),
        cells={name: column.texts for name, column in zip(originals, shown, strict=True)},
        hidden=Hidden({n: records.found[n].codes for n in hidden}, hidden) if case.hides_values else None,
        groups=rows.found[GROUP] if case.hides_values else None,
        named={name: domain.said() for name, domain in zip(originals, domains, strict=True)},
        people=people,
    )


def _private(case: Case, records: _Reading, rows: _Reading, size: int) -> tuple[Ints, Ints]:
    """One number for each private part, the same in both tables for the same texts."""
    names = [c.name for c in case.private]
    both = [np.concatenate([records.found[name].codes, rows.found[name].codes]) for name in names]
    sizes = [len(rows.found[name].texts) for name in names]
    if not names:
        both, sizes = [np.zeros(size + len(rows), np.int32)], [1]
    part = fold(both, sizes)
    return part[:size], part[size:]


def _in_order(column: Texts) -> Texts:
    """The same column with its texts sorted, so that no number tells in which order rows were met."""
    order = sorted(range(len(column.texts)), key=column.texts.__getitem__)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    return Texts(place[column.codes], [column.texts[i] for i in order])


def _classes(columns: Sequence[Texts]) -> tuple[Ints, list[Ints]]:
    """The class of each row, and for each column the cell that each class shows."""
    row_class = fold([column.codes for column in columns], [len(column.texts) for column in columns])
    first = np.unique(row_class, return_index=True)[1]
    return row_class, [column.codes[first].astype(np.int64) for column in columns]


class _Reading:
    """One pass over a table: name the columns that are wanted, then read."""

    def __init__(self, rows: Rows, what: str, undo: Callable[[str], str]) -> None:
        self._rows, self._what = rows, what
        self._place = {undo(name): place for place, name in enumerate(rows.names)}
        self._wanted: dict[str, Numbering | Restoring] = {}
        self.found: dict[str, Texts] = {}

    def want(self, columns: Mapping[str, Numbering | Restoring]) -> None:
        self._wanted.update(columns)

    def read(self) -> None:
        picks = [(self._place[name], numbers) for name, numbers in self._wanted.items()]
        codes = numbers_of(self._rows, picks, self._what)
        for (name, numbers), column in zip(self._wanted.items(), codes, strict=True):
            met = numbers.numbers if isinstance(numbers, Restoring) else numbers
            self.found[name] = Texts(column, list(met))

    def __len__(self) -> int:
        return next(iter(self.found.values())).codes.size
