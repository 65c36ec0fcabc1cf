"""Hierarchies that a policy describes in a line, built over the values of a column.

The result is plain rows (leaf, level 1, …, ``*``) that `Hierarchy.from_rows` takes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import pairwise

from incrowd.errors import HierarchyError, PolicyError, unknown
from incrowd.hierarchy import codes
from incrowd.hierarchy.tree import Hierarchy, Rows, levels_text, read_levels, write_levels
from incrowd.hierarchy.wanted import Grid, Label, Wanted, rising
from incrowd.schema import EVERYTHING, Kind
from incrowd.values import Value, read_column, read_date, read_texts, value_text

__all__ = [
    "Rows",
    "absent_values",
    "build_levels",
    "complete",
    "grow",
    "levels_text",
    "read_levels",
    "write_levels",
]

OTHER = "Other"
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
    given = [tuple(row) for row in rows]
    absent = len(absent_values(given, values, column, kind, format))
    if absent:
        raise HierarchyError(
            f"the hierarchy of {column} lacks {absent} of the column's {len(values)} distinct values "
            f"(it has {len(given)} leaves); add a row for each"
        )


def absent_values(
    rows: Iterable[Sequence[str]],
    values: Sequence[str],
    column: str,
    kind: Kind = Kind.CATEGORICAL,
    format: str = "",
) -> list[str]:
    """Those of the column's values that are no leaf, in canonical form.

    Examples
    --------
    >>> absent_values([("09.0", "*")], ["9", "10"], "age", Kind.NUMERIC)
    ['10']
    """
    leaves = [row[0] for row in rows]
    known = set(_canonical(leaves, _leaf_values(leaves, kind, format, column)))
    return [text for text in _canonical(values, read_texts(values, kind, format)) if text not in known]


def _canonical(texts: Sequence[str], values: Sequence[Value | None]) -> list[str]:
    return [t if v is None else value_text(v) for t, v in zip(texts, values, strict=True)]


def build_levels(
    spec: Mapping[str, object],
    values: Sequence[str],
    kind: Kind,
    format: str = "",
    column: str = "",
    holders: Mapping[str, int] | None = None,
) -> Rows:
    """Build the hierarchy that a policy describes, over the column's distinct values (without missing).

    `holders` is how many persons have each value; only ``rare`` asks for it.

    ========================================  ==============================================================
    ``{prefix = [4, 3]}``                     keep the first 4, 3 characters: ``9012*``, ``901**``
    ``{mask = [1, 2]}``                       hide the last 1, 2 characters
    ``{intervals = [5, 10], origin = 0}``     widths, each a multiple of the one before: ``20-24``, ``20-29``;
                                              with ``top = 90``, the last one is open: ``90+``
    ``{digits = [2, 1]}``                     2, 1 significant digits of a number: ``12000-12999``
    ``{cuts = [[0, 18, 65, 120], [0, 120]]}`` where intervals begin, and the end of the last: ``18-64``
    ``{dates = ["month", "year"]}``           of day, month, quarter, year, 5 years (any number), decade
    ``{ordered = [...], groups = [2, 4]}``    values from low to high, in groups of 2, 4: ``low..high``
    ``{postcodes = ["outward", "area"]}``     of British postcodes: ``SW1A``, ``SW``
    ``{icd10 = ["category", "chapter"]}``     of diagnoses: ``E11``, ``E00-E90``
    ``{rare = 10}``                           values of fewer than 10 persons: ``Other``
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
    wanted = Wanted(column, kind, sorted(distinct), spec, holders or {})
    return grow(builder(wanted), kind, "", column).rows


def _builder(spec: Mapping[str, object], column: str) -> Callable[[Wanted], list[tuple[str, ...]]]:
    strange = [key for key in spec if key not in _BUILDERS and key not in ("origin", "top", "groups")]
    if strange:
        raise PolicyError(f"the hierarchy of {column}: {unknown('a builder', strange, tuple(_BUILDERS))}")
    named = [key for key in spec if key in _BUILDERS]
    beside = {"intervals": {"origin", "top"}, "ordered": {"groups"}}
    if len(named) != 1 or not set(spec) - set(named) <= beside.get(named[0], set()):
        raise PolicyError(
            f"the hierarchy of {column} must be exactly one of {', '.join(_BUILDERS)} "
            "(origin and top go with intervals, groups with ordered)"
        )
    return _BUILDERS[named[0]]


def _prefix(wanted: Wanted) -> list[tuple[str, ...]]:
    """A value that is cut is filled up to the longest value, so one prefix is one label."""
    wanted.needs(Kind.CATEGORICAL, Kind.ORDERED)
    lengths = wanted.whole("prefix")
    if not rising(lengths[::-1]):
        raise wanted.wrong("each entry of prefix must be smaller than the one before")
    longest = max(len(str(value)) for value in wanted.values)

    def keeping(length: int) -> Label:
        def label(value: Value) -> str:
            text = str(value)
            return text if len(text) <= length else text[:length].ljust(longest, FILL)

        return label

    return wanted.rows([keeping(length) for length in lengths])


def _mask(wanted: Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.CATEGORICAL, Kind.ORDERED)
    counts = wanted.whole("mask")
    if not rising(counts):
        raise wanted.wrong("each entry of mask must be larger than the one before")

    def hiding(count: int) -> Label:
        return lambda value: str(value)[:-count].ljust(len(str(value)), FILL)

    return wanted.rows([hiding(count) for count in counts])


def _intervals(wanted: Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.NUMERIC)
    widths = wanted.numbers("intervals", wanted.list_of("intervals"))
    (origin,) = wanted.numbers("origin", [wanted.spec.get("origin", 0)])
    tops = wanted.numbers("top", [wanted.spec["top"]] if "top" in wanted.spec else [])
    if min(widths) <= 0:
        raise wanted.wrong("intervals must hold widths above 0")
    grid = Grid.of([*wanted.values, *widths, *tops, origin])  # type: ignore[list-item]  # numbers only
    steps = [grid.steps(width) for width in widths]
    wanted.nested("intervals", steps)
    start = grid.steps(origin)
    top = grid.steps(tops[0]) if tops else None
    if top is not None and (top - start) % steps[0]:
        raise wanted.wrong("an interval must begin at top")

    def within(width: int) -> Label:
        def begin(step: int) -> int:
            return (step - start) // width * width + start

        def label(value: Value) -> str:
            low = begin(grid.steps(value))
            if top is not None and low >= begin(top):
                return f"{grid.text(begin(top))}+"
            return grid.label(low, low + width - 1)

        return label

    return wanted.rows([within(width) for width in steps])


def _digits(wanted: Wanted) -> list[tuple[str, ...]]:
    """Significant digits, counted in steps of the finest decimal place; none leaves the number of digits."""
    wanted.needs(Kind.NUMERIC)
    kept = wanted.list_of("digits")
    whole = [n for n in kept if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    if len(whole) < len(kept) or not rising(whole[::-1]):
        raise wanted.wrong("digits must be whole numbers of at least 0, each smaller than the one before")
    grid = Grid.of(wanted.values)  # type: ignore[arg-type]  # numbers only

    def keeping(count: int) -> Label:
        def label(value: Value) -> str:
            step = grid.steps(value)
            length = len(str(abs(step)))
            if not step or length <= count:
                return grid.label(step, step)
            unit = 10 ** (length - count)
            low = abs(step) // unit * unit if count else unit // 10
            high = low + unit - 1 if count else unit - 1
            return grid.label(low, high) if step > 0 else grid.label(-high, -low)

        return label

    return wanted.rows([keeping(count) for count in whole])


def _cuts(wanted: Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.NUMERIC)
    levels = [level if isinstance(level, list | tuple) else () for level in wanted.list_of("cuts")]
    numbers = [wanted.numbers("cuts", level) for level in levels]
    grid = Grid.of([*wanted.values, *(n for level in numbers for n in level)])  # type: ignore[list-item]
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


def _check_edges(wanted: Wanted, edges: Sequence[Sequence[int]]) -> None:
    for level in edges:
        if len(level) < 2 or not rising(level):
            raise wanted.wrong("each level of cuts must be a list of at least two rising numbers")
    for fine, coarse in pairwise(edges):
        if not set(coarse) <= set(fine) or (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
            raise wanted.wrong("each level of cuts must keep the ends of the one before and add no cut")


def _iso(value: Value) -> str:
    return value_text(value)


def _quarter(value: Value) -> str:
    month = value.month if isinstance(value, date) else 0
    return f"{_iso(value)[:4]}-Q{(month + 2) // 3}"


YEARS_OF = {"year": 1, "decade": 10}

_SPANS: dict[str, Label] = {
    "day": _iso,
    "month": lambda value: _iso(value)[:7],
    "quarter": _quarter,
    "year": lambda value: _iso(value)[:4],
    "decade": lambda value: _iso(value)[:3] + "0s",
}


_YEARS = re.compile(r"([1-9][0-9]{0,2}) years")


def _span_of_years(count: int) -> Label:
    def label(value: Value) -> str:
        year = value.year if isinstance(value, date) else 0
        low = year // count * count
        return f"{low:04}-{low + count - 1:04}" if count > 1 else f"{low:04}"

    return label


def _dates(wanted: Wanted) -> list[tuple[str, ...]]:
    wanted.needs(Kind.DATE)
    spans = [span if isinstance(span, str) else "" for span in wanted.list_of("dates")]
    known = list(_SPANS)
    lengths = [int(found[1]) for span in spans if (found := _YEARS.fullmatch(span))]
    fixed = [known.index(span) for span in spans if span in known]
    years = [int(found[1]) if (found := _YEARS.fullmatch(span)) else YEARS_OF.get(span, 0) for span in spans]
    if len(fixed) + len(lengths) < len(spans) or not rising(fixed) or years != sorted(years):
        raise wanted.wrong(
            f"dates must be some of {', '.join(known)}, or such as 5 years, from short to long"
        )
    wanted.nested("dates", [length for length in years if length])
    return wanted.rows([_SPANS.get(span) or _span_of_years(years[i]) for i, span in enumerate(spans)])


def _ordered(wanted: Wanted) -> list[tuple[str, ...]]:
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


def _postcodes(wanted: Wanted) -> list[tuple[str, ...]]:
    return _of_codes(wanted, "postcodes", "British postcodes", codes.POSTCODE_PARTS)


def _icd10(wanted: Wanted) -> list[tuple[str, ...]]:
    return _of_codes(wanted, "icd10", "codes of ICD-10", codes.ICD10_PARTS)


def _of_codes(
    wanted: Wanted, key: str, what: str, known: Mapping[str, Callable[[str], str | None]]
) -> list[tuple[str, ...]]:
    """Levels of codes that say themselves what they belong to."""
    wanted.needs(Kind.CATEGORICAL, Kind.ORDERED)
    asked = wanted.list_of(key)
    places = [[*known].index(part) for part in asked if isinstance(part, str) and part in known]
    if len(places) < len(asked) or not rising(places):
        raise wanted.wrong(f"{key} must be some of {', '.join(known)}, in this order")
    parts = [[*known.values()][place] for place in places]
    wanted.readable(what, parts[0])
    return wanted.rows([lambda value, part=part: part(str(value)) or "" for part in parts])  # type: ignore[misc]


def _rare(wanted: Wanted) -> list[tuple[str, ...]]:
    """Depends on the table, but on nothing except how many have which value of this very column."""
    wanted.needs(Kind.CATEGORICAL)
    least = wanted.spec["rare"]
    if not isinstance(least, int) or isinstance(least, bool) or least < 2:
        raise wanted.wrong("rare must be a whole number of at least 2")
    if not wanted.holders:
        raise wanted.wrong("rare counts persons, and is for quasi-identifiers without a public table")
    return wanted.rows([lambda v: value_text(v) if wanted.holders.get(value_text(v), 0) >= least else OTHER])


def _flat(wanted: Wanted) -> list[tuple[str, ...]]:
    if wanted.spec["flat"] is not True:
        raise wanted.wrong("flat can only be true")
    return wanted.rows([])


_BUILDERS: dict[str, Callable[[Wanted], list[tuple[str, ...]]]] = {
    "prefix": _prefix,
    "mask": _mask,
    "intervals": _intervals,
    "digits": _digits,
    "cuts": _cuts,
    "dates": _dates,
    "ordered": _ordered,
    "postcodes": _postcodes,
    "icd10": _icd10,
    "rare": _rare,
    "flat": _flat,
}
