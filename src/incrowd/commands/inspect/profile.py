"""A profile of a table: what its columns are, suggested roles, and how many people are unique.

A profile shows names and counts, never a value of the table (of values that mean missing, only words
that everybody uses).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect.column_facts import counted_texts, facts_of, numbered_values
from incrowd.commands.inspect.known_columns import KnownColumns
from incrowd.commands.inspect.ladders import suggested_ladder
from incrowd.commands.inspect.missing_markers import missing_markers
from incrowd.commands.inspect.relations import (
    MOST_SIBLING_VALUES,
    redundant,
    rows_alone_in,
    siblings,
)
from incrowd.commands.inspect.risks import (
    MOST_ROWS_READ,
    Combination,
    Risk,
    isolating,
    risk_of,
    telling_combinations,
)
from incrowd.commands.inspect.roles import Facts, suggest
from incrowd.errors import InputError, TableError
from incrowd.flow import Codes, Table, TextColumn
from incrowd.measures.demand import Demand
from incrowd.policy.columns import UNIQUE_SHARE as ISOLATING_SHARE
from incrowd.policy.columns import near_unique
from incrowd.policy.exposures import NEAR_UNIQUE_KEEP, NEAR_UNIQUE_SENSITIVE
from incrowd.results import Result, Row
from incrowd.schema import Kind, Role
from incrowd.values import Ambiguous, read_texts
from incrowd.values.dates import TIME


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: what it holds, how far it singles people out, and which role is suggested.

    `once` counts values that occur in one row only; `hierarchy` is one that suits a quasi-identifier, for
    those who need fixed groups: ranges and sets lose less. `format` is the notation of its numbers or dates
    where it is not plain, `note` how they were read or what is open, `readings` the policy entries of which
    one settles that.
    """

    name: str
    kind: Kind
    distinct: int
    missing: int
    once: int
    role: Role
    reason: str
    hierarchy: Mapping[str, object] = field(default_factory=dict)
    format: str = ""
    note: str = ""
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Profile(Result):
    """What `inspect` found; ``reading`` is what was taken for what when the file was read.

    ``isolating`` are sensitive columns, and pairs of them, that single out many rows though they are
    published unchanged. ``known`` is the table, to ask for the risk of other columns; it is never shown.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    missing: tuple[str, ...]
    combinations: tuple[Combination, ...]
    bounded: str
    risk: Risk
    demand: Demand | None = None
    isolating: tuple[Combination, ...] = ()
    reading: tuple[str, ...] = ()
    known: KnownColumns | None = field(default=None, compare=False)

    def having(self, role: Role) -> tuple[ColumnProfile, ...]:
        return tuple(column for column in self.columns if column.role is role)

    def headline(self) -> str:
        roles = Counter(str(column.role) for column in self.columns)
        counts = ", ".join(f"{number} {role.replace('_', '-')}" for role, number in roles.items())
        return f"{self.rows:,} rows; suggested roles: {counts}; {self.risk.unique:,} rows are unique"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = ((c.name, c.kind, c.distinct, c.missing, c.role, c.reason) for c in self.columns)
        return ("column", "kind", "distinct", "missing", "suggested role", "why"), rows

    def risk_of(self, columns: Sequence[str], k: int | None = None) -> Risk:
        """The risk if somebody knows just these columns; each is numbered once, however often it is asked.

        Examples
        --------
        >>> profile = profiled(Table.of({"age": ["30", "30", "41"], "sex": ["F", "M", "F"]}))
        >>> profile.risk_of(["age"]).unique, profile.risk_of(["age", "sex"], k=2).below_k
        (1, 3)
        """
        if self.known is None:
            raise InputError("this profile has no table beside it; inspect the table again")
        return self.known.risk_of(columns, k)

    def to_dict(self) -> dict[str, Any]:
        return asdict(replace(self, known=None), dict_factory=_shown)


def _shown(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: said for name, said in pairs if name != "known"}


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
    markers = missing_markers(table)
    means_missing = frozenset({"", *markers})
    facts = [
        facts_of(name, column, means_missing) for name, column in zip(table.names, table.columns, strict=True)
    ]
    columns = _with_roles(table, facts, means_missing)
    return _with_risks(table, columns, markers, most_rows_read)


def decided(table: Table, profile: Profile, answers: Mapping[str, tuple[Role, str]]) -> Profile:
    """The profile after somebody has said the roles of some columns, and why: risks are counted afresh."""
    means_missing = frozenset({"", *profile.missing})
    columns = tuple(
        replace(column, role=answers[column.name][0], reason=answers[column.name][1])
        if column.name in answers
        else column
        for column in profile.columns
    )
    persons = _persons(columns, table)
    facts = {
        c.name: facts_of(c.name, table.column(c.name), means_missing) for c in columns if c.name in answers
    }
    return _with_risks(
        table,
        tuple(_as_decided(c, facts[c.name], table, persons) if c.name in facts else c for c in columns),
        profile.missing,
        MOST_ROWS_READ,
    )


def _as_decided(
    column: ColumnProfile, facts: Facts, table: Table, persons: NDArray[np.int64]
) -> ColumnProfile:
    """A column whose role was said: with a hierarchy that suits, or a word on what publish will refuse."""
    if column.role is Role.QUASI:
        return replace(column, hierarchy=suggested_ladder(facts))
    alone = rows_alone_in([table.column(column.name).codes], persons)
    refused = {
        Role.SENSITIVE: near_unique(alone, len(table)) and NEAR_UNIQUE_SENSITIVE.name,
        Role.KEEP: alone > ISOLATING_SHARE * len(table) and NEAR_UNIQUE_KEEP.name,
    }.get(column.role)
    return (
        replace(column, reason=f"{column.reason}; refused unless {refused} is accepted")
        if refused
        else column
    )


def _with_risks(
    table: Table, columns: tuple[ColumnProfile, ...], markers: tuple[str, ...], most_rows_read: int
) -> Profile:
    means_missing = frozenset({"", *markers})
    codes = {
        role: _codes_of(table, [c.name for c in columns if c.role is role], means_missing)
        for role in (Role.QUASI, Role.SENSITIVE)
    }
    found, bounded = telling_combinations(codes[Role.QUASI], most_rows_read)
    return Profile(
        len(table),
        columns,
        markers,
        found,
        bounded,
        risk_of(codes[Role.QUASI], len(table)),
        isolating=isolating(codes[Role.SENSITIVE], _persons(columns, table), most_rows_read),
        reading=table.notes,
        known=KnownColumns(table, means_missing),
    )


def _codes_of(table: Table, names: Iterable[str], means_missing: frozenset[str]) -> dict[str, Codes]:
    return {name: numbered_values(table.column(name), means_missing) for name in names}


def _with_roles(
    table: Table, facts: Sequence[Facts], means_missing: frozenset[str]
) -> tuple[ColumnProfile, ...]:
    """Roles from each column by itself, then from what columns say about each other."""
    columns = [_profile(fact) for fact in facts]
    persons = [column for column in columns if column.role is Role.ENTITY]
    columns = [
        replace(column, role=Role.IDENTIFIER, reason="a person's number") if column in persons[1:] else column
        for column in columns
    ]
    columns = _like_siblings(columns, table, means_missing)
    columns = _held_back(columns, table, means_missing)
    columns = _without_redundant(columns, table, means_missing)
    columns = [*_with_something_to_generalise(columns, len(table))]
    by_name = {fact.name: fact for fact in facts}
    return tuple(
        replace(column, hierarchy=suggested_ladder(by_name[column.name]))
        if column.role is Role.QUASI
        else column
        for column in columns
    )


def _profile(facts: Facts) -> ColumnProfile:
    role, reason = suggest(facts)
    kind = Kind.CATEGORICAL if facts.labels else facts.kind
    format, note, readings = _read(facts)
    return ColumnProfile(
        facts.name,
        kind,
        facts.distinct,
        facts.missing,
        facts.once,
        role,
        reason,
        format=format,
        note=note,
        readings=readings,
    )


def _read(facts: Facts) -> tuple[str, str, tuple[str, ...]]:
    """The notation that was found, what to say of it, and what would settle an open question."""
    reading = facts.reading
    if facts.labels:
        return "", "", ()
    if isinstance(reading, Ambiguous):
        return "", reading.why, tuple(way.stated() for way in reading.readings)
    return reading.notation, f"read as {reading.words()}" if reading.notation else "", ()


def _like_siblings(
    columns: Sequence[ColumnProfile], table: Table, means_missing: frozenset[str]
) -> list[ColumnProfile]:
    values = {
        column.name: _few_values(table.column(column.name), column, means_missing) for column in columns
    }
    found = siblings({column.name: column.role for column in columns}, values)
    return [
        replace(column, role=found[column.name][0], reason=f"it is of a kind with {found[column.name][1]}")
        if column.name in found
        else column
        for column in columns
    ]


def _few_values(column: TextColumn, found: ColumnProfile, means_missing: frozenset[str]) -> frozenset[str]:
    """The values of a column that has few; none else."""
    if found.distinct > MOST_SIBLING_VALUES:
        return frozenset()
    counts, missing = counted_texts(column, means_missing)
    return frozenset(column.texts[code] or "" for code in np.flatnonzero((counts > 0) & ~missing).tolist())


def _held_back(
    columns: Sequence[ColumnProfile], table: Table, means_missing: frozenset[str]
) -> list[ColumnProfile]:
    """Sensitive columns whose values are nearly all somebody's own: publishing them would be refused."""
    persons = _persons(columns, table)
    codes = _codes_of(table, [c.name for c in columns if c.role is Role.SENSITIVE], means_missing)
    rows = {name: rows_alone_in([column], persons) for name, column in codes.items()}
    alone = {name: count for name, count in rows.items() if near_unique(count, len(table))}
    return [
        replace(
            column,
            role=Role.UNDECIDED,
            reason=f"{column.reason}; but {alone[column.name] / len(table):.0%} of the rows have a value of "
            "their own, so whoever knows it finds the row: round it, or accept near-unique-sensitive",
        )
        if column.name in alone
        else column
        for column in columns
    ]


def _persons(columns: Sequence[ColumnProfile], table: Table) -> NDArray[np.int64]:
    """Whose row each is; without a column that says it, every row is a person."""
    for column in columns:
        if column.role is Role.ENTITY:
            return table.column(column.name).codes.astype(np.int64)
    return np.arange(len(table))


def _without_redundant(
    columns: Sequence[ColumnProfile], table: Table, means_missing: frozenset[str]
) -> list[ColumnProfile]:
    known = {c.name: _days(table, c, means_missing) for c in columns if c.role is Role.QUASI}
    said = redundant(known)
    return [
        replace(column, role=Role.DROP, reason=f"{said[column.name]} says it already, in nearly every row")
        if column.name in said
        else column
        for column in columns
    ]


def _with_something_to_generalise(columns: Sequence[ColumnProfile], rows: int) -> Iterable[ColumnProfile]:
    """A release needs a quasi-identifier: if none was recognised, take the next likely columns for one.

    With undecided columns go sensitive ones that isolate people, which are hardly another kind.
    """
    if any(column.role is Role.QUASI for column in columns):
        return columns
    for role in (Role.UNDECIDED, Role.SENSITIVE, Role.KEEP, Role.DROP):
        taken = {column.name for column in columns if column.role is role and column.distinct}
        if role is Role.UNDECIDED and taken:
            alike = (c for c in columns if c.role is Role.SENSITIVE and c.once > ISOLATING_SHARE * rows)
            taken |= {column.name for column in alike}
        if taken:
            reason = "no other column is left that outsiders may know"
            return [
                replace(column, role=Role.QUASI, reason=reason) if column.name in taken else column
                for column in columns
            ]
    return columns


def _days(table: Table, found: ColumnProfile, means_missing: frozenset[str]) -> Codes:
    """The column's values as they will be published: moments of one day are one value."""
    column = table.column(found.name)
    codes = numbered_values(column, means_missing)
    if TIME not in found.format:
        return codes
    read = read_texts([text or "" for text in column.texts], found.kind, found.format)
    number = {day: place for place, day in enumerate(dict.fromkeys(read), 1)}
    days = np.array([number[day] for day in read], np.int32)[column.codes]
    return np.where(codes == 0, 0, days).astype(np.int32)
