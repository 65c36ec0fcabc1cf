"""What is audited and what is found: both tables with their columns, and the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incrowd.commands.inspect.missing_markers import WELL_KNOWN
from incrowd.errors import TableError, unknown
from incrowd.flow import Table, TextColumn
from incrowd.measures.proximity import Proximity
from incrowd.policy import Policy
from incrowd.release.folder import ReleaseFolder
from incrowd.results import Result, Row
from incrowd.schema import Column, Role, Schema
from incrowd.values import reading_of


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What a published table protects. Counts are of persons and of rows; ``below`` only if k was asked.

    Where equal rows alone could be counted, ``classes`` has their ``k`` and no other.
    """

    records: int
    rows: int
    columns: tuple[str, ...]
    guessed: bool
    classes: Mapping[str, int]
    k: int | None
    below: Mapping[str, int]
    one_match: int | None
    level: Mapping[str, Any]
    posterior: Mapping[str, Any]
    values: Mapping[str, int]
    ranges: Mapping[str, Proximity]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Has everybody, and every row, k matches that nobody can rule out?"""
        return self.k is None or min(self._reached("global_1k"), self._reached("global_k1")) >= self.k

    def _reached(self, kind: str) -> int:
        """A kind of anonymity; equal rows fit the same persons, so that their number bounds every kind."""
        return self.classes.get(kind, self.classes["k"])

    def headline(self) -> str:
        reached = self._reached("global_1k")
        demanded = (
            "" if self.k is None else f"; k = {self.k} was demanded and is {'' if self.holds else 'not '}kept"
        )
        return f"every person has at least {reached:,} rows that nobody can rule out{demanded}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("kind of anonymity", "largest k"), self.classes.items()

    def to_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "rows": self.rows,
            "suppressed": self.records - self.rows,
            "columns": list(self.columns),
            "columns_guessed": self.guessed,
            "classes": dict(self.classes),
            "k": self.k,
            "holds": self.holds,
            "below_k": dict(self.below),
            "persons_with_one_match": self.one_match,
            "level": dict(self.level),
            "largest_posterior": dict(self.posterior),
            "fewest_values": dict(self.values),
            "ranges": {name: found.to_dict() for name, found in self.ranges.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, eq=False)
class AuditedTables:
    """What is audited: an original and what was published of it, a release or another tool's table."""

    original: object
    published: object
    folder: ReleaseFolder | None
    policy: Policy | None
    quasi: tuple[str, ...]


def gaps_of(schema: Schema, names: Sequence[str]) -> dict[str, frozenset[str]]:
    """Texts of each published column of another tool that mean missing."""
    gaps = {name: schema.missing - {""} for name in names}
    for column in schema.having(Role.QUASI):  # a label above the leaves is no gap, whatever it is called
        gaps[column.name] = schema.missing - {"", *(label for row in column.levels for label in row[1:])}
    return gaps


def guessed_schema(table: Table, shown: Table, quasi: Sequence[str]) -> Schema:
    """The columns that were named, or else that both tables have, with kinds as `inspect` guesses them."""
    for where, there in (("in the original", table), ("in the published table", shown)):
        absent = [name for name in quasi if name not in there.names]
        if absent:
            raise TableError(unknown(where, absent, there.names))
    names = list(quasi) or [name for name in table.names if name in shown.names]
    if not names:
        raise TableError("the two tables have no column in common; name the columns alike, or pass a policy")
    used = {text for name in names for text in table.column(name).texts if text is not None}
    missing = frozenset({"", *used.intersection(WELL_KNOWN)})
    read = {name: reading_of(_real(table.column(name), missing), name) for name in names}
    columns = [Column(name, Role.QUASI, found.kind, format=found.notation) for name, found in read.items()]
    return Schema(tuple(columns), missing)


def _real(column: TextColumn, missing: frozenset[str]) -> list[str]:
    return [text for text in column.texts if text is not None and text not in missing]
