"""Hierarchies that a policy describes in a line, built over the values of a column.

The result is plain rows (leaf, level 1, …, ``*``) that `Hierarchy.from_rows` takes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from incrowd.errors import HierarchyError, PolicyError, unknown
from incrowd.hierarchy.tree import Hierarchy, Rows, read_levels, write_levels
from incrowd.schema import EVERYTHING, Kind
from incrowd.values import (
    EXACT,
    Number,
    Value,
    number_text,
    read_column,
    read_date,
    read_number,
    read_texts,
    value_text,
)

__all__ = ["Rows", "build_levels", "complete", "grow", "read_levels", "write_levels"]

Label = Callable[[Value], str]
FILL = "_"  # for characters that a label hides: an asterisk would have to be escaped in every cell


def grow(rows: Iterable[Sequence[str]], kind: Kind, format: str = "", column: str = "") -> Hierarchy:
    """The tree of a column: leaves in canonical form and, where they are numbers or dates, in their order.

    Its `rows` are again such rows, with labels told apart and a root on top.

    Examples
    --------
    >>> grow([("10", "*"), ("09.0", "*")], Kind.NUMERIC).leaves
    ('9', '10')
    """
    given = [tuple(row) for row in rows]
    values = _leaf_values([row[0] if row else "" for row in given], kind, format, column)
    named = [
        (value_text(value), *row[1:]) if value is not None else row
        for value, row in zip(values, given, strict=True)
    ]
    if kind in (Kind.NUMERIC, Kind.DATE):
        order = sorted((value, i) for i, value in enumerate(values) if value is not None)
        rest = [i for i, value in enumerate(values) if value is None]
        named = [named[i] for i in [*(i for _, i in order), *rest]]
    return Hierarchy.from_rows(named, column)


def _leaf_values(leaves: Sequence[str], kind: Kind, format: str, column: str) -> list[Value | None]:
    """Leaves as values; None for those that are none, such as a word for missing.

    Leaves may be plain or as the column writes them. Plain goes first, since 1.234 may mean two numbers;
    of dates, those that mean two are refused.
    """
    if kind is Kind.NUMERIC and format:
        plain = read_texts(leaves, kind)
        both = zip(plain, read_texts(leaves, kind, format), strict=True)
        return [own if number is None else number for number, own in both]
    if kind is not Kind.DATE or not format:
        return read_texts(leaves, kind, format)
    values: list[Value | None] = []
    for leaf in leaves:
        iso, written = read_date(leaf), read_date(leaf, format)
        if iso and written and iso != written:
            raise HierarchyError(
                f"the hierarchy of {column} has leaves that are one day in ISO form and another in the "
                "column's own format; write the dates of the column as YYYY-MM-DD"
            )
        values.append(iso or written)
    return values


def complete(
    rows: Iterable[Sequence[str]],
    values: Sequence[str],
    column: str,
    kind: Kind = Kind.CATEGORICAL,
    format: str = "",
) -> None:
    """Check that every value of the column is a leaf."""
    leaves = [row[0] for row in rows]
    known = set(_canonical(leaves, _leaf_values(leaves, kind, format, column)))
    absent = sum(text not in known for text in _canonical(values, read_texts(values, kind, format)))
    if absent:
        raise HierarchyError(
            f"the hierarchy of {column} lacks {absent} of the column's {len(values)} distinct values "
            f"(it has {len(leaves)} leaves); add a row for each"
        )


def _canonical(texts: Sequence[str], values: Sequence[Value | None]) -> list[str]:
    return [t if v is None else value_text(v) for t, v in zip(texts, values, strict=True)]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request to a builder: the column's distinct values in order, and what the policy says."""

    column: str
    kind: Kind
    values: Sequence[Value]
    spec: Mapping[str, object]

    def wrong(self, what: str) -> PolicyError:
        return PolicyError(f"the hierarchy of {self.column}: {what}")

    def needs(self, *kinds: Kind) -> None:
        if self.kind not in kinds:
            raise self.wrong(f"{next(iter(self.spec))} is for {' and '.join(kinds)} columns, not {self.kind}")

    def list_of(self, key: str) -> Sequence[object]:
        found = self.spec.get(key)
        if not isinstance(found, list | tuple) or not found:
            raise self.wrong(f"{key} must be a list with at least one entry")
        return found

    def whole(self, key: str) -> list[int]:
        found = [n for n in self.list_of(key) if isinstance(n, int) and not isinstance(n, bool) and n > 0]
        if len(found) < len(self.list_of(key)):
            raise self.wrong(f"{key} must be a list of whole numbers of at least 1")
        return found

    def numbers(self, key: str, given: Sequence[object]) -> list[Number]:
        found = [read_number(str(n)) for n in given if isinstance(n, int | float | str | Decimal)]
        numbers = [n for n in found if n is not None]
        if len(numbers) < len(given):
            raise self.wrong(f"{key} must hold numbers only")
        return numbers

    def nested(self, key: str, sizes: Sequence[int]) -> None:
        if any(b <= a or b % a for a, b in pairwise(sizes)):
            raise self.wrong(f"each entry of {key} must be a larger multiple of the one before")

    def rows(self, labels: Sequence[Label]) -> list[tuple[str, ...]]:
        return [(value_text(v), *(label(v) for label in labels), EVERYTHING) for v in self.values]


def build_levels(
    spec: Mapping[str, object], values: Sequence[str], kind: Kind, format: str = "", column: str = ""
) -> Rows:
    """Build the hierarchy that a policy describes, over the column's distinct values (without missing).

    ========================================  ==============================================================
    ``{prefix = [4, 3]}``                     keep the first 4, 3 characters: ``9012*``, ``901**``
    ``{mask = [1, 2]}``                       hide the last 1, 2 characters
    ``{intervals = [5, 10], origin = 0}``     widths, each a multiple of the one before: ``20-24``, ``20-29``
    ``{cuts = [[0, 18, 65, 120], [0, 120]]}`` where intervals begin, and the end of the last: ``18-64``
    ``{dates = ["month", "year"]}``           of day, month, quarter, year, decade
    ``{ordered = [...], groups = [2, 4]}``    values from low to high, in groups of 2, 4: ``low..high``
    ``{flat = true}``                         nothing between a value and everything
    ========================================  ==============================================================

    Examples
    --------
    >>> build_levels({"intervals": [5, 10]}, ["27", "25", "-1"], Kind.NUMERIC, column="age")
    (('-1', '-5 to -1', '-10 to -1', '*'), ('25', '25-29', '20-29', '*'), ('27', '25-29', '20-29', '*'))
    """
    builder = _builder(spec, column)
    if not values:
        raise HierarchyError(f"{column} has no values to build a hierarchy from; leave the hierarchy out")
    distinct = set(read_column(values, kind, format, column))
    wanted = _Wanted(column, kind, sorted(distinct), spec)
    return grow(builder(wanted), kind, "", column).rows


def _builder(spec: Mapping[str, object], column: str) -> Callable[[_Wanted], list[tuple[str, ...]]]:
    strange = [key for key in spec if key not in _BUILDERS and key not in ("origin", "groups")]
    if strange:
        raise PolicyError(f"the hierarchy of {column}: {unknown('a builder', strange, tuple(_BUILDERS))}")
    named = [key for key in spec if key in _BUILDERS]
    beside = {"intervals": {"origin"}, "ordered": {"groups"}}
    if len(named) != 1 or not set(spec) - set(named) <= beside.get(named[0], set()):
        raise PolicyError(
            f"the hierarchy of {column} must be exactly one of {', '.join(_BUILDERS)} "
            "(origin goes with intervals, groups with ordered)"
        )
    return _BUILDERS[named[0]]


def _rising(numbers: Sequence[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


def _prefix(wanted: _Wanted) -> list[tuple[str, ...]]:
    """A value that is cut is filled up to the longest value, so one prefix is one label."""
    wanted.needs(Kind.CATEGORICAL, Kind.ORDERED)
    lengths = wanted.whole("prefix")
    if not _rising(lengths[::-1]):
        raise wanted.wrong("each entry of prefix must be smaller than the one before")
    longest = max(len(str(value)) for value in wanted.values)

    def keeping(length: int) -> Label:
        def label(value: Value) -> str:
            text = str(value)
            return text if len(text) <= length else text[:length].ljust(longest, FILL)

        return label

    return wanted.rows([keeping(length) for length in lengths])


def _mask(wanted: _Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.CATEGORICAL, Kind.ORDERED)
    counts = wanted.whole("mask")
    if not _rising(counts):
        raise wanted.wrong("each entry of mask must be larger than the one before")

    def hiding(count: int) -> Label:
        return lambda value: str(value)[:-count].ljust(len(str(value)), FILL)

    return wanted.rows([hiding(count) for count in counts])


@dataclass(frozen=True, slots=True)
class _Grid:
    """Numbers as whole steps of the finest decimal place that occurs among them."""

    places: int

    @classmethod
    def of(cls, numbers: Iterable[Number]) -> _Grid:
        return cls(max(0, *(-int(Decimal(n).as_tuple().exponent) for n in numbers)))

    def steps(self, value: Value) -> int:
        return int(EXACT.scaleb(Decimal(value), self.places))  # type: ignore[arg-type]  # numbers only

    def label(self, low: int, high: int) -> str:
        """The closed interval between two steps."""
        ends = [EXACT.scaleb(Decimal(step), -self.places) for step in (low, high)]
        if low == high:
            return number_text(ends[0])
        return (" to " if low < 0 else "-").join(format(end, "f") for end in ends)


def _intervals(wanted: _Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.NUMERIC)
    widths = wanted.numbers("intervals", wanted.list_of("intervals"))
    (origin,) = wanted.numbers("origin", [wanted.spec.get("origin", 0)])
    if min(widths) <= 0:
        raise wanted.wrong("intervals must hold widths above 0")
    grid = _Grid.of([*wanted.values, *widths, origin])  # type: ignore[list-item]  # numbers only
    steps = [grid.steps(width) for width in widths]
    wanted.nested("intervals", steps)
    start = grid.steps(origin)

    def within(width: int) -> Label:
        def label(value: Value) -> str:
            low = (grid.steps(value) - start) // width * width + start
            return grid.label(low, low + width - 1)

        return label

    return wanted.rows([within(width) for width in steps])


def _cuts(wanted: _Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.NUMERIC)
    levels = [level if isinstance(level, list | tuple) else () for level in wanted.list_of("cuts")]
    numbers = [wanted.numbers("cuts", level) for level in levels]
    grid = _Grid.of([*wanted.values, *(n for level in numbers for n in level)])  # type: ignore[list-item]
    edges = [[grid.steps(n) for n in level] for level in numbers]
    _check_edges(wanted, edges)
    outside = sum(not edges[0][0] <= grid.steps(value) <= edges[0][-1] for value in wanted.values)
    if outside:
        raise HierarchyError(f"{outside} distinct values of {wanted.column} lie outside its cuts; widen them")

    def between(level: Sequence[int]) -> Label:
        def label(value: Value) -> str:
            at = min(bisect_right(level, grid.steps(value)), len(level) - 1)  # the last one holds its end
            return grid.label(level[at - 1], level[at] - (at < len(level) - 1))

        return label

    return wanted.rows([between(level) for level in edges])


def _check_edges(wanted: _Wanted, edges: Sequence[Sequence[int]]) -> None:
    for level in edges:
        if len(level) < 2 or not _rising(level):
            raise wanted.wrong("each level of cuts must be a list of at least two rising numbers")
    for fine, coarse in pairwise(edges):
        if not set(coarse) <= set(fine) or (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
            raise wanted.wrong("each level of cuts must keep the ends of the one before and add no cut")


def _iso(value: Value) -> str:
    return value_text(value)


def _quarter(value: Value) -> str:
    month = value.month if isinstance(value, date) else 0
    return f"{_iso(value)[:4]}-Q{(month + 2) // 3}"


_SPANS: dict[str, Label] = {
    "day": _iso,
    "month": lambda value: _iso(value)[:7],
    "quarter": _quarter,
    "year": lambda value: _iso(value)[:4],
    "decade": lambda value: _iso(value)[:3] + "0s",
}


def _dates(wanted: _Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.DATE)
    spans = wanted.list_of("dates")
    known = list(_SPANS)
    places = [known.index(span) for span in spans if isinstance(span, str) and span in known]
    if len(places) < len(spans) or not _rising(places):
        raise wanted.wrong(f"dates must be some of {', '.join(known)}, in this order")
    return wanted.rows([_SPANS[known[place]] for place in places])


def _ordered(wanted: _Wanted) -> list[tuple[str, ...]]:
    given = wanted.list_of("ordered")
    if not all(isinstance(v, str | int) and not isinstance(v, bool) for v in given):
        raise wanted.wrong("ordered must be a list of texts")
    order = [value_text(v) for v in read_column([str(v) for v in given], wanted.kind, "", wanted.column)]
    sizes = wanted.whole("groups")
    wanted.nested("groups", sizes)
    rows = []
    for i, leaf in enumerate(order):
        groups = [order[i // size * size :][:size] for size in sizes]
        labels = [group[0] if len(group) == 1 else f"{group[0]}..{group[-1]}" for group in groups]
        rows.append((leaf, *labels, EVERYTHING))
    complete(rows, [value_text(value) for value in wanted.values], wanted.column)
    return rows


def _flat(wanted: _Wanted) -> list[tuple[str, ...]]:
    if wanted.spec["flat"] is not True:
        raise wanted.wrong("flat can only be true")
    return wanted.rows([])


_BUILDERS: dict[str, Callable[[_Wanted], list[tuple[str, ...]]]] = {
    "prefix": _prefix,
    "mask": _mask,
    "intervals": _intervals,
    "cuts": _cuts,
    "dates": _dates,
    "ordered": _ordered,
    "flat": _flat,
}
