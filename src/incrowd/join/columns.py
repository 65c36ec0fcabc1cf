"""One quasi-identifier in all tables that are joined: equal values have one number, however written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.errors import HierarchyError, TableError
from incrowd.flow import Codes, TextColumn
from incrowd.hierarchy.builders import grow
from incrowd.schema import Column, Kind
from incrowd.values import Value, read_column, read_texts, value_text

GAP = -1  # the number of a missing value
THE_PUBLIC = "the public table"


def numbered(
    column: Column, missing: frozenset[str], private: TextColumn, others: Mapping[str, TextColumn]
) -> list[Codes]:
    """The rows of one quasi-identifier in each table; equal values have one number, however they are written.

    `others` are tables by what they are. Refused are texts that the column's type cannot be, and in the
    public table also those that a hierarchy or an order lacks. An error names the row where the table is not
    private.
    """
    seen: dict[str, int] = {}

    def rows(met: _Met, values: Sequence[str]) -> Codes:
        lookup = np.full(len(met.source.texts), GAP, np.int32)
        lookup[met.places] = [seen.setdefault(value, len(seen)) for value in values]
        return lookup[met.source.codes]

    mine = _Met.of(column, private, missing)
    own = read_column(mine.texts, column.kind, column.format, column.name)
    coded = [rows(mine, [*map(value_text, own)])]
    for what, source in others.items():
        theirs = _Met.of(column, source, missing, what)
        values = theirs.canonical(missing)
        if what == THE_PUBLIC:  # the second source only confirms: what it has besides does not matter
            _check_domain(theirs, values)
        coded.append(rows(theirs, values))
    return coded


@dataclass(frozen=True, slots=True, eq=False)
class _Met:
    """The distinct texts of a column that occur and are not missing, and their places in ``source.texts``."""

    column: Column
    source: TextColumn
    places: Sequence[int]
    texts: Sequence[str]
    what: str

    @classmethod
    def of(cls, column: Column, source: TextColumn, missing: frozenset[str], what: str = "") -> _Met:
        places, texts = [], []
        for place in np.unique(source.codes).tolist():
            text = source.texts[place]
            if text is not None and text not in missing:
                places.append(place)
                texts.append(text)
        return cls(column, source, places, texts, what)

    def canonical(self, missing: frozenset[str]) -> list[str]:
        """The one text of each value."""
        kind, format = self.column.kind, self.column.format
        values = read_texts(self.texts, kind, format)
        unread = [value is None for value in values]
        if any(unread):
            kinds = "numbers" if kind is Kind.NUMERIC else f"dates ({format or 'YYYY-MM-DD'})"
            raise TableError(
                f"{self.count(unread)} are no {kinds}, {self.first_row(unread)}; list those that mean "
                "missing under 'missing', or declare the column categorical"
            )
        self.check_missing(values, missing)
        return [value_text(value) for value in values if value is not None]

    def check_missing(self, values: Sequence[Value | None], missing: frozenset[str]) -> None:
        """If -9 means missing, -9.0 can be neither a number nor silently the same."""
        gone = {v for v in read_texts([*missing], self.column.kind, self.column.format) if v is not None}
        twins = [value in gone for value in values]
        if any(twins):
            raise TableError(
                f"{self.count(twins)} mean missing in another form, {self.first_row(twins)}; name every form "
                "under 'missing'"
            )

    def count(self, wrong: Sequence[bool]) -> str:
        return f"in {self.what}, {sum(wrong)} of the {len(wrong)} distinct values of {self.column.name}"

    def first_row(self, wrong: Sequence[bool]) -> str:
        flags = np.zeros(len(self.source.texts), np.bool_)
        flags[self.places] = wrong
        return f"first in row {int(flags[self.source.codes].argmax()) + 1} (the header not counted)"


def _check_domain(met: _Met, values: Sequence[str]) -> None:
    """Where the policy says which values there are, those of the public table must be among them."""
    column = met.column
    if column.levels:
        known = set(grow(column.levels, column.kind, column.format, column.name).leaves)
    elif column.kind is Kind.ORDERED:
        known = set(column.order)
    else:
        return
    strange = [value not in known for value in values]
    if any(strange) and column.levels:
        raise HierarchyError(
            f"{met.count(strange)} are not in its hierarchy, {met.first_row(strange)}; add a row to the "
            "hierarchy for each"
        )
    if any(strange):
        raise TableError(
            f"{met.count(strange)} are not in its list 'values', {met.first_row(strange)}; add them to it"
        )
