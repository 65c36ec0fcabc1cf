"""A profile of a table: what its columns are, suggested roles, and how many people are unique.

A profile holds names and counts, never a value of the table (of values that mean missing, only words
that everybody uses).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect.roles import Facts, suggest
from incrowd.errors import TableError
from incrowd.flow import Codes, Table, TextColumn
from incrowd.measures.demand import Demand
from incrowd.measures.published import group_sizes
from incrowd.results import Result, Row
from incrowd.schema import Kind, Role
from incrowd.values import Ambiguous, Reading, read_texts, reading_of

WELL_KNOWN_MISSING = (
    "?", "-", "--", ".", "NA", "N/A", "n/a", "na", "#N/A", "NULL", "null", "NaN", "nan", "missing", "Missing",
    "unknown", "Unknown", "UNKNOWN",
)  # fmt: skip
LARGEST_COMBINATION = 3
MOST_COLUMNS_COMBINED = 12
MOST_ROWS_READ = 200_000_000  # over all combinations: about two seconds
MOST_COMBINATIONS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: what it holds, how far it singles people out, and which role is suggested.

    `once` counts values that occur in one row only; `hierarchy` is a builder that suits the column. `format`
    is the notation of its numbers or dates where it is not plain, `note` how they were read or what is open,
    `readings` the policy entries of which one settles that.
    """

    name: str
    kind: Kind
    distinct: int
    missing: int
    once: int
    role: Role
    reason: str
    hierarchy: Mapping[str, Sequence[int | str]]
    format: str = ""
    note: str = ""
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Combination:
    """Columns that are known together, and how many rows are then the only one of their kind."""

    columns: tuple[str, ...]
    unique: int


@dataclass(frozen=True, slots=True)
class Risk:
    """How many rows have how much company on the suggested quasi-identifiers, as the table stands."""

    columns: tuple[str, ...]
    classes: int
    unique: int
    below_5: int
    below_10: int
    smallest: int
    largest: int


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """What `inspect` found; `reading` is what was taken for what when the file was read."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    missing: tuple[str, ...]
    combinations: tuple[Combination, ...]
    bounded: str
    risk: Risk
    demand: Demand | None = None
    reading: tuple[str, ...] = ()

    def having(self, role: Role) -> tuple[ColumnProfile, ...]:
        return tuple(column for column in self.columns if column.role is role)

    def headline(self) -> str:
        roles = Counter(str(column.role) for column in self.columns)
        counts = ", ".join(f"{number} {role.replace('_', '-')}" for role, number in roles.items())
        return f"{self.rows:,} rows; suggested roles: {counts}; {self.risk.unique:,} rows are unique"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = ((c.name, c.kind, c.distinct, c.missing, c.role, c.reason) for c in self.columns)
        return ("column", "kind", "distinct", "missing", "suggested role", "why"), rows

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def profiled(table: Table, most_rows_read: int = MOST_ROWS_READ) -> Profile:
    """Profile a table: kinds, missing values, roles with reasons, and who stands out before anonymizing.

    The search for telling combinations reads `most_rows_read` rows. Where there are more, fewer columns are
    combined; the profile then says so in `bounded`.

    Examples
    --------
    >>> table = Table.of({"age": ["30", "30", "41"], "sex": ["F", "F", "F"], "name": ["A", "B", "C"]})
    >>> profile = profiled(table)
    >>> [(column.name, column.role.value) for column in profile.columns]
    [('age', 'quasi_identifier'), ('sex', 'keep'), ('name', 'identifier')]
    >>> profile.risk.unique
    1
    """
    if not len(table):
        raise TableError("the table has no rows, so there is nothing to inspect")
    markers = _markers(table)
    means_missing = frozenset({"", *markers})
    facts = [
        _facts(name, column, means_missing) for name, column in zip(table.names, table.columns, strict=True)
    ]
    columns = _with_roles(facts)
    codes = {
        column.name: _codes(table.column(column.name), means_missing)
        for column in columns
        if column.role is Role.QUASI
    }
    found, bounded = _combinations(codes, most_rows_read)
    return Profile(
        len(table), columns, markers, found, bounded, _risk(codes, len(table)), reading=table.notes
    )


def _markers(table: Table) -> tuple[str, ...]:
    """Well-known words for missing that the table uses."""
    used = {text for column in table.columns for text in set(WELL_KNOWN_MISSING).intersection(column.texts)}
    return tuple(marker for marker in WELL_KNOWN_MISSING if marker in used)


def _counts(column: TextColumn, means_missing: frozenset[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """How many rows have each text, and which texts mean missing."""
    counts = np.bincount(column.codes, minlength=len(column.texts))
    missing = np.fromiter(
        (t is None or t in means_missing for t in column.texts), np.bool_, len(column.texts)
    )
    return counts, missing


def _facts(name: str, column: TextColumn, means_missing: frozenset[str]) -> Facts:
    counts, missing = _counts(column, means_missing)
    real = (counts > 0) & ~missing
    texts = [column.texts[code] or "" for code in np.flatnonzero(real).tolist()]
    reading = reading_of(texts, name)
    kind = reading.kind
    lengths = [len(text) for text in texts] or [0]
    return Facts(
        name=name,
        kind=kind,
        rows=len(column),
        missing=int(counts[missing].sum()),
        distinct=len(texts),
        once=int((counts[real] == 1).sum()),
        shortest=min(lengths),
        longest=max(lengths),
        mean_length=sum(lengths) / len(lengths),
        consecutive=len(texts) == len(column) > 1 and _consecutive(texts, reading),
        reading=reading,
    )


def _consecutive(texts: Sequence[str], reading: Reading | Ambiguous) -> bool:
    if reading.kind is not Kind.NUMERIC:
        return False
    numbers = [
        number for number in read_texts(texts, reading.kind, reading.notation) if isinstance(number, int)
    ]
    return len(set(numbers)) == len(texts) and max(numbers) - min(numbers) == len(texts) - 1


def _with_roles(facts: Sequence[Facts]) -> tuple[ColumnProfile, ...]:
    columns = [_profile(fact) for fact in facts]
    persons = [column for column in columns if column.role is Role.ENTITY]
    columns = [
        replace(column, role=Role.IDENTIFIER, reason="a person's number") if column in persons[1:] else column
        for column in columns
    ]
    return tuple(_with_something_to_generalise(columns))


def _profile(facts: Facts) -> ColumnProfile:
    role, reason = suggest(facts)
    return ColumnProfile(
        facts.name,
        Kind.CATEGORICAL if facts.labels else facts.kind,
        facts.distinct,
        facts.missing,
        facts.once,
        role,
        reason,
        _hierarchy(facts) if role is Role.QUASI else {},
        *_read(facts),
    )


def _read(facts: Facts) -> tuple[str, str, tuple[str, ...]]:
    """The notation that was found, what to say of it, and what would settle an open question."""
    reading = facts.reading
    if facts.labels:
        return "", "", ()
    if isinstance(reading, Ambiguous):
        return "", reading.why, tuple(way.stated() for way in reading.readings)
    return reading.notation, f"read as {reading.words()}" if reading.notation else "", ()


def _hierarchy(facts: Facts) -> Mapping[str, Sequence[int | str]]:
    if facts.postal:
        return {"prefix": tuple(range(facts.longest, max(facts.longest - 4, 0), -1))}
    if facts.kind is Kind.DATE:
        return {"dates": ("month", "quarter", "year")}
    return {}


def _with_something_to_generalise(columns: Sequence[ColumnProfile]) -> Iterable[ColumnProfile]:
    """A release needs a quasi-identifier: if none was recognised, take the next likely columns for one."""
    if any(column.role is Role.QUASI for column in columns):
        return columns
    for role in (Role.KEEP, Role.SENSITIVE, Role.DROP):
        if any(column.role is role and column.distinct for column in columns):
            reason = "no other column is left that outsiders may know"
            return [
                replace(column, role=Role.QUASI, reason=reason)
                if column.role is role and column.distinct
                else column
                for column in columns
            ]
    return columns


def _codes(column: TextColumn, means_missing: frozenset[str]) -> Codes:
    """The column's values numbered without gaps; all that means missing is one value."""
    counts, missing = _counts(column, means_missing)
    real = (counts > 0) & ~missing
    number = np.where(real, np.cumsum(real), 0).astype(np.int32)
    return number[column.codes]


def _class_sizes(columns: Iterable[Codes]) -> NDArray[np.int64]:
    """How many rows share each combination of values that occurs."""
    codes = list(columns)
    return group_sizes(codes, [int(column.max()) + 1 for column in codes])


def _combinations(codes: Mapping[str, Codes], most_rows_read: int) -> tuple[tuple[Combination, ...], str]:
    """Pairs and triples of the most telling columns that single out most rows."""
    telling = sorted(codes, key=lambda name: _agreement(codes[name]))
    width = _affordable(len(telling), len(next(iter(codes.values()), ())), most_rows_read)
    found = [
        Combination(columns, int((_class_sizes(codes[name] for name in columns) == 1).sum()))
        for size in range(2, LARGEST_COMBINATION + 1)
        for columns in combinations(telling[:width], size)
    ]
    found.sort(key=lambda combination: (-combination.unique, len(combination.columns)))
    left_out = len(telling) - width
    bounded = (
        f"pairs and triples of the {width} most identifying quasi-identifiers only" if left_out > 0 else ""
    )
    return tuple(found[:MOST_COMBINATIONS_SHOWN]), bounded


def _agreement(codes: Codes) -> int:
    """Ordered pairs of rows with the same value: the fewer, the more the column tells."""
    return sum(count * count for count in np.bincount(codes).tolist())


def _affordable(columns: int, rows: int, most_rows_read: int) -> int:
    """How many columns may be combined; three at least."""
    width = min(columns, MOST_COLUMNS_COMBINED)
    while width > LARGEST_COMBINATION and (comb(width, 2) + comb(width, 3)) * rows > most_rows_read:
        width -= 1
    return width


def _risk(codes: Mapping[str, Codes], rows: int) -> Risk:
    sizes = _class_sizes(codes.values()) if codes else np.array([rows])
    return Risk(
        columns=tuple(codes),
        classes=sizes.size,
        unique=int((sizes == 1).sum()),
        below_5=int(sizes[sizes < 5].sum()),
        below_10=int(sizes[sizes < 10].sum()),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
    )
