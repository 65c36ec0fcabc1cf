"""The risk of any columns of a table: each is read and numbered once, then every set of them is quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect.column_facts import counted_texts, numbered_values, texts_at
from incrowd.commands.inspect.levels import HierarchyLevels, LevelCounts, levels_of
from incrowd.commands.inspect.risks import (
    LARGEST_COMBINATION,
    MOST_ROWS_READ,
    Combination,
    Counted,
    Risk,
    isolating,
    risk_of,
    telling_combinations,
)
from incrowd.errors import InputError, PolicyError, TableError, unknown
from incrowd.flow import Codes, Table, TextColumn
from incrowd.policy import Policy
from incrowd.policy.columns import read_as
from incrowd.policy.parts import Described, Quasi
from incrowd.schema import Kind, Role
from incrowd.values import read_column, same_name, value_text


@dataclass(frozen=True, eq=False)
class KnownColumns:
    """A table whose columns somebody may know, in any combination.

    Without a policy texts are compared, and those of `missing` are one value. With it values are: 1 and 1.0
    are the same number, a moment counts as its day, and persons are counted where it names an entity.
    """

    table: Table
    missing: frozenset[str]
    policy: Policy | None = None
    _codes: dict[str, Codes] = field(default_factory=dict)
    _levels: dict[str, HierarchyLevels] = field(default_factory=dict)
    _counted: Counted = field(default_factory=Counted)

    @classmethod
    def of(cls, table: Table, policy: Policy | None = None) -> KnownColumns:
        """A table as a policy reads it; without one, only what is empty is missing."""
        if not len(table):
            raise TableError("the table has no rows, so there is nothing to inspect")
        return cls(table, frozenset({""} if policy is None else policy.missing), policy)

    def under(self, policy: Policy) -> KnownColumns:
        """The same table as another policy reads it; what both read alike is not numbered or counted again.

        Examples
        --------
        >>> known = KnownColumns.of(Table.of({"zip": ["123", "0124"]}), Policy(quasi_identifiers=["zip"]))
        >>> codes = known.codes("zip")
        >>> known.under(Policy(quasi_identifiers=["zip"], privacy={"k": 2})).codes("zip") is codes
        True
        >>> known.under(Policy(quasi_identifiers={"zip": {"type": "numeric"}})).codes("zip") is codes
        False
        """
        other = KnownColumns.of(self.table, policy)
        alike = [name for name in self._codes if self._read_as(name) == other._read_as(name)]
        other._codes.update({name: self._codes[name] for name in alike})
        return replace(other, _counted=self._counted.of(alike))

    def telling(
        self, columns: Sequence[str], most: int, most_rows_read: int = MOST_ROWS_READ
    ) -> tuple[tuple[Combination, ...], str]:
        """The triples (pairs, of two columns) that single out most rows, and which columns were left out.

        The search reads so many rows at most; what was counted before is not counted again.
        """
        size = min(len(columns), LARGEST_COMBINATION)
        codes = {name: self.codes(name) for name in columns}
        return telling_combinations(codes, most_rows_read, self._counted, (size,), most)

    def isolating(
        self, columns: Sequence[str], most_rows_read: int = MOST_ROWS_READ
    ) -> tuple[Combination, ...]:
        """Columns, and pairs of them, in which many rows have what nobody else has: those of most rows first.

        Examples
        --------
        >>> known = KnownColumns.of(Table.of({"job": ["baker", "nurse"], "sex": ["F", "F"]}))
        >>> known.isolating(["job", "sex"])
        (Combination(columns=('job',), unique=2),)
        """
        codes = {name: self.codes(name) for name in columns}
        persons = np.arange(len(self.table)) if self.persons is None else self.persons
        return isolating(codes, persons, most_rows_read)

    def risk_of(
        self, columns: Sequence[str], k: int | None = None, levels: Mapping[str, int] | None = None
    ) -> Risk:
        """The risk if somebody knows just these columns, of which some may be at a level of their hierarchy.

        Examples
        --------
        >>> table = Table.of({"zip": ["123", "124", "223"], "sex": ["F", "F", "F"]})
        >>> policy = Policy(quasi_identifiers={"zip": {"hierarchy": {"prefix": [1]}}, "sex": {}})
        >>> known = KnownColumns.of(table, policy)
        >>> known.risk_of(["zip", "sex"]).unique, known.risk_of(["zip", "sex"], levels={"zip": 1}).unique
        (3, 1)
        """
        if k is not None and k < 2:
            raise InputError("k must be a whole number of at least 2")
        names = [self.named(name) for name in dict.fromkeys(columns)]
        at = {self.named(name): level for name, level in (levels or {}).items()}
        if not names:
            raise InputError("name the columns that somebody knows, at least one")
        codes = {name: self._at(name, at[name]) if name in at else self.codes(name) for name in names}
        return risk_of(codes, len(self.table), k, self.persons)

    def quasi_identifiers(self) -> tuple[str, ...]:
        """Those of the policy, in the order of the table."""
        roles = () if self.policy is None else self.policy.roles()
        known = {self.named(name) for name, role in roles if role is Role.QUASI}
        return tuple(name for name in self.table.names if name in known)

    def level_counts(self, column: str, k: int | None = None) -> LevelCounts:
        """How many labels each level of a column's hierarchy has, and how small its smallest group is."""
        name = self.named(column)
        return self._tree(name).counts(name, self.persons, k)

    def with_hierarchy(self) -> tuple[str, ...]:
        """The columns to which the policy gives a hierarchy."""
        return tuple(name for name in self.table.names if self._said(name).hierarchy is not None)

    def named(self, column: str) -> str:
        """A column by its name; an error that says what was probably meant."""
        found = self._names.get(same_name(column))
        if found is None:
            raise TableError(unknown("in the table", [column], self.table.names))
        return found

    def codes(self, name: str) -> Codes:
        """The values of a column, numbered without gaps."""
        if name not in self._codes:
            column = self.table.column(name)
            if self.policy is None:
                self._codes[name] = numbered_values(column, self.missing)
            else:
                self._codes[name] = _numbered(column, self._said(name), self.missing, name)
        return self._codes[name]

    @cached_property
    def persons(self) -> NDArray[np.int64] | None:
        """Whose row each is, where the policy says it."""
        if self.policy is None or self.policy.entity is None:
            return None
        return self.table.column(self.named(self.policy.entity)).codes.astype(np.int64)

    @cached_property
    def _names(self) -> dict[str, str]:
        return {same_name(name): name for name in self.table.names}

    def _said(self, name: str) -> Described:
        policy, plain = self.policy, same_name(name)
        said = policy and (policy.quasi_identifiers.get(plain) or policy.sensitive.get(plain))
        return said or Quasi()

    def _read_as(self, name: str) -> tuple[object, ...]:
        """All that decides how a column is numbered."""
        said = self._said(name)
        return self.policy is None, self.missing, said.type, said.format, said.values, repr(said.hierarchy)

    def _at(self, name: str, level: int) -> Codes:
        return self._tree(name).codes(name, level)

    def _tree(self, name: str) -> HierarchyLevels:
        if name not in self._levels:
            said = self._said(name)
            if self.policy is None or said.hierarchy is None:
                raise PolicyError(f"{name} has no hierarchy in the policy, so it has no levels")
            self._levels[name] = levels_of(self.table, name, said, self.policy)
        return self._levels[name]


def _numbered(column: TextColumn, said: Described, missing: frozenset[str], name: str) -> Codes:
    """As `numbered_values`, by what the texts mean and not by how they are written."""
    counts, gone = counted_texts(column, missing)
    real = (counts > 0) & ~gone
    texts = texts_at(column, real)
    how = read_as(said, texts, [], name)
    number = np.zeros(len(column.texts), np.int32)
    if how.kind not in (Kind.NUMERIC, Kind.DATE):  # a text is its own value, and texts are distinct
        number[real] = np.arange(1, len(texts) + 1)
        return number[column.codes]
    seen: dict[str, int] = {}
    values = map(value_text, read_column(texts, how.kind, how.format, name))
    number[real] = [seen.setdefault(value, len(seen) + 1) for value in values]
    return number[column.codes]
