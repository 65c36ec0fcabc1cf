"""Two-way error: how far tables of two columns, estimated from a release, are from the true ones.

Of all measures here it says best how wrong counts with two or three conditions will be. Columns are put into
bins (`measures.bins`); for a pair of columns the true table has the share of people in each pair of bins, and
the estimated one is what a reader gets who spreads every published cell over its values. The error of the
pair is the total variation between both: the share of people who stand in the wrong cell. E2 is its mean over
pairs. Skill compares it with the tables that follow from the columns one by one, as if they had nothing to do
with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes, Microdata, distinct_rows
from incrowd.kernels.compiling import compiling
from incrowd.measures.products import product
from incrowd.measures.published import Published
from incrowd.measures.spread import (
    AnyInts,
    OriginalAndRelease,
    SpreadColumn,
    SpreadTable,
    Totals,
    spread_quasi_identifiers,
    spread_table,
)
from incrowd.results import listed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_PAIRS = 200
GOOD_ENOUGH = 0.01  # a two-column table that is wrong for at most so many people can be used as it is
WORSE_THAN_NOTHING = (
    "two-column tables of this release are worse than separate tables of its columns. There are too many "
    "quasi-identifiers for so few records: inspect, asked for costs, says which cost most; or take a "
    "smaller k"
)
STATE_TOTALS = ", or state totals (totals = true in the policy; not in a series), which helps most."
_DENSE = 2.0  # count pairs of cells first while there are at most so many for each row
WORTH_COMPILING = 200_000  # rows


@dataclass(frozen=True, slots=True)
class ColumnError:
    """One column: the error of its own table, and of tables with another column (None without any).

    ``single`` is the latter if columns had nothing to do with each other. ``usable`` says that it can be
    asked about together with others: it is published as it is, or at least half of its tables with columns
    whose own error is no larger are closer to the truth than their margins alone, or wrong for fewer than 1 %
    of people.
    """

    name: str
    one_way: float
    two_way: float | None
    single: float | None
    usable: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "one_way": self.one_way,
            "two_way": self.two_way,
            "skill": skill(self.two_way, self.single),
            "usable": self.usable,
        }


@dataclass(frozen=True, slots=True)
class TwoWayError:
    """E2 of a release, column by column; `withheld` are columns of the original that have no part in it.

    ``error`` and ``single`` are means over ``pairs`` of ``of_pairs`` pairs of columns, None without any: of
    the release, and of the products of true margins. ``why_not`` says why there is nothing, ``totals`` that
    cells were spread by the totals that the release states, ``sampled`` that so many people were looked at.
    """

    columns: tuple[ColumnError, ...] = ()
    withheld: tuple[str, ...] = ()
    error: float | None = None
    single: float | None = None
    pairs: int = 0
    of_pairs: int = 0
    why_not: str = ""
    totals: bool = False
    sampled: int = 0

    @property
    def skill(self) -> float | None:
        """1 - E2 / E2 of single columns: 1 is the truth, 0 no better than separate one-column tables."""
        return skill(self.error, self.single)

    @property
    def usable(self) -> tuple[str, ...]:
        """The columns that can be asked about."""
        return tuple(column.name for column in self.columns if column.usable)

    def to_dict(self) -> dict[str, Any]:
        return {
            "error": self.error,
            "single_columns": self.single,
            "skill": self.skill,
            "pairs": self.pairs,
            "of_pairs": self.of_pairs,
            "columns": {column.name: column.to_dict() for column in self.columns},
            "not_published": list(self.withheld),
            "totals": self.totals,
            "why_not": self.why_not,
            "sampled": self.sampled or None,
            "headline": self.sentences(),
        }

    def sentences(self) -> list[str]:
        """What a reader can do with the release, in words; a warning where that is less than nothing."""
        if not self.columns:
            return [f"How far two-column tables are off is not known: {self.why_not}."]
        count, usable = len(self.columns) + len(self.withheld), self.usable
        names = f": {listed(usable)}" if usable else ""
        lines = [f"Of {count} columns, {len(usable)} can be asked about{names}."]
        coarse = [column.name for column in self.columns if not column.usable]
        if coarse:
            lines.append(f"Published, but too coarse to be asked about: {listed(coarse)}.")
        if self.withheld:
            lines.append(f"Not published: {listed(self.withheld)}.")
        seen = [f"Seen on {self.sampled:,} rows that were drawn by chance."] if self.sampled else []
        return [*lines, *self._errors(), *seen]

    def _errors(self) -> list[str]:
        if self.error is None or self.single is None:
            alone = percent(self.columns[0].one_way)
            return [f"In the table of its one column {alone} of people stand in the wrong cell."]
        some = "" if self.pairs == self.of_pairs else f" ({self.pairs} of {self.of_pairs} tables)"
        said = f"In a two-column table{some} {percent(self.error)} of people stand in the wrong cell"
        kept = self.skill
        if kept is None:
            return [f"{said}; nothing connects the columns."]
        if kept < 0:
            return [
                f"{said}; single columns alone would give {percent(self.single)}.",
                f"WARNING: {WORSE_THAN_NOTHING}{'.' if self.totals else STATE_TOTALS}",
            ]
        return [
            f"{said} (single columns alone: {percent(self.single)}); {100 * kept:.0f} % of what connects "
            "columns is kept."
        ]


def two_way_words(said: Mapping[str, Any]) -> str:
    """The beginning of a line, from `TwoWayError.to_dict`; empty where there is nothing to say."""
    if said["error"] is None:
        return ""
    return f"{percent(said['error'])} of people in the wrong cell of a two-column table; "


def percent(share: float) -> str:
    """A share for people.

    Examples
    --------
    >>> percent(0.0279), percent(0.0001), percent(0)
    ('2.8 %', 'less than 0.1 %', '0 %')
    """
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %" if share else "0 %"


def skill(error: float | None, single: float | None) -> float | None:
    """What is kept of what connects columns; None where nothing connects them."""
    return None if error is None or not single else 1 - error / single


def two_way_error(table: SpreadTable, withheld: Sequence[str] = ()) -> TwoWayError:
    """Measure E2, skill, and which columns can be asked about."""
    columns, margins = table.columns, _margins(table)
    errors = pair_errors(table, pairs_of(len(columns)), margins)
    one_way = [_one_way(table, *pair) for pair in zip(columns, margins, strict=True)]
    exact = {column.name: column.exact for column in columns}
    return errors_of_columns(exact, one_way, errors, withheld)


def errors_of_columns(
    exact: Mapping[str, bool],
    one_way: Sequence[float],
    errors: Sequence[tuple[float, float]],
    withheld: Sequence[str] = (),
) -> TwoWayError:
    """Sum up the errors of the pairs that `pairs_of` names.

    `exact` says by name which columns are published as they are, `one_way` what each is off by itself.
    """
    chosen, of_columns = pairs_of(len(exact)), []
    for place, (name, published_exactly) in enumerate(exact.items()):
        mine = {i + j - place: said for (i, j), said in zip(chosen, errors, strict=True) if place in (i, j)}
        # who is further from the truth by itself is to blame for a table of two
        fair = [said for other, said in mine.items() if one_way[other] <= one_way[place]]
        kept = sum(error < max(alone, GOOD_ENOUGH) or error == 0 for error, alone in fair)
        of_columns.append(
            ColumnError(
                name,
                one_way[place],
                _mean([error for error, _ in mine.values()]),
                _mean([alone for _, alone in mine.values()]),
                usable=published_exactly or 2 * kept >= len(fair),
            )
        )
    return TwoWayError(
        tuple(of_columns),
        tuple(withheld),
        _mean([error for error, _ in errors]),
        _mean([alone for _, alone in errors]),
        len(chosen),
        len(exact) * (len(exact) - 1) // 2,
    )


def pair_errors(
    table: SpreadTable, pairs: Sequence[tuple[int, int]], margins: Sequence[Ints] | None = None
) -> list[tuple[float, float]]:
    """For each pair of columns the error of the estimate, and that of the product of its true margins."""
    distinct, margins = _Distinct.of(table), _margins(table) if margins is None else margins
    return [_pair_errors(table, distinct, margins, i, j) for i, j in pairs]


def _margins(table: SpreadTable) -> list[Ints]:
    return [np.bincount(column.truth, minlength=column.size) for column in table.columns]


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def pairs_of(count: int, most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """All pairs of columns; of more than `most` a choice, always the same, with equally many for each column.

    Columns are laid in a ring, and each is paired with those at some distances, which are evenly spaced.

    Examples
    --------
    >>> pairs_of(3), len(pairs_of(50))
    ([(0, 1), (0, 2), (1, 2)], 200)
    """
    if count * (count - 1) // 2 <= most:
        return list(combinations(range(count), 2))
    reach, taken = (count - 1) // 2, max(most // count, 1)
    steps = [1 + (2 * number + 1) * reach // (2 * taken) for number in range(taken)]
    found = {(min(i, j), max(i, j)) for step in steps for i in range(count) for j in ((i + step) % count,)}
    return sorted(found)


def _one_way(table: SpreadTable, column: SpreadColumn, margin: Ints) -> float:
    people = np.bincount(column.cell, table.people, len(column.share))
    return variation(margin, product(people, column.share))


def _pair_errors(
    table: SpreadTable, distinct: _Distinct, margins: Sequence[Ints], i: int, j: int
) -> tuple[float, float]:
    """The error of a pair: of the estimate, and of the product of both margins."""
    first, second = table.columns[i], table.columns[j]
    true = _counted_rows(first.narrow_truth, second.narrow_truth, (first.size, second.size))
    single = np.multiply.outer(margins[i], margins[j])
    return variation(true, _estimated(table, distinct, i, j)), variation(true, single)


def _counted(first: AnyInts, second: AnyInts, people: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """People (r,) of each pair of cells, added in their order. Of few rows it is not worth compiling."""
    if people.size < WORTH_COMPILING and not compiling.everything:
        found = np.bincount(first.astype(np.int64) * shape[1] + second, people, shape[0] * shape[1])
        return found.reshape(shape).astype(people.dtype)  # whole numbers are exact up to 2^53
    from incrowd.kernels import two_way

    table = np.zeros(shape, people.dtype)
    two_way.count_pairs(_of_one_width(first), _of_one_width(second), people, table)
    return table


def _of_one_width(cells: AnyInts) -> Codes:
    """So that one compiled loop is enough for all."""
    return cells.astype(np.int32, copy=False)


def _counted_rows(first: NDArray[Any], second: NDArray[Any], shape: tuple[int, int]) -> Ints:
    """Rows (r,) of each pair of cells."""
    if first.size < WORTH_COMPILING and not compiling.everything:
        return np.bincount(first.astype(np.int64) * shape[1] + second, minlength=shape[0] * shape[1]).reshape(
            shape
        )
    from incrowd.kernels import two_way

    table = np.zeros(shape, np.int64)
    two_way.count_rows(first, second, table)
    return table


def variation(true: Ints, other: NDArray[Any]) -> float:
    """Half the sum of differences between shares."""
    people, shown = max(int(true.sum()), 1), other.sum()
    return float(np.abs(true / people - other / (shown if shown else 1)).sum() / 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Distinct:
    """The distinct rows of a table without its exact columns: their cells by column, and their people.

    Of rows whose regions are known, one of each region, though several may have the same cells.

    ``alone`` says that behind each row of the table stands one person.
    """

    cells: Mapping[int, AnyInts]
    people: Floats
    alone: bool

    @classmethod
    def of(cls, table: SpreadTable) -> _Distinct:
        spread = [place for place, column in enumerate(table.columns) if not column.exact]
        cells = [table.columns[place].cell for place in spread]
        if table.region is None or any(table.columns[place].lines is not None for place in spread):
            sizes = [len(table.columns[place].share) for place in spread]
            first, which = distinct_rows(cells, sizes, table.people.size)
        else:
            which = table.region.astype(np.int64, copy=False)
            first = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
            first[which] = np.arange(which.size)  # any row of each; regions without one have no people
        people = np.bincount(which, table.people, first.size).astype(np.float64)
        alone = bool((table.people == 1).all())
        return cls({place: cell[first] for place, cell in zip(spread, cells, strict=True)}, people, alone)


def _estimated(table: SpreadTable, distinct: _Distinct, i: int, j: int) -> NDArray[Any]:
    """The table (b, b) of two columns that a reader estimates: people, not shares."""
    first, second = table.columns[i], table.columns[j]
    if first.lines is not None and second.lines is not None and table.counts is not None:
        key = first.lines * second.size + second.lines
        return np.bincount(key, table.counts, first.size * second.size).reshape(first.size, second.size)
    if first.exact and second.exact and distinct.alone:
        return _counted_rows(first.narrow_cell, second.narrow_cell, (first.size, second.size))
    if first.exact or second.exact:
        cells, people = (first.cell, second.cell), table.people
    else:
        cells, people = (distinct.cells[i], distinct.cells[j]), distinct.people
    from incrowd.kernels import two_way

    shape = len(first.share), len(second.share)
    if shape[0] * shape[1] > _DENSE * people.size:
        found = np.zeros((first.size, second.size))
        numbers = _of_one_width(cells[0]), _of_one_width(cells[1])
        two_way.add_rows(*numbers, people, first.share, second.share, first.spans, second.spans, found)
        return found
    joint = _counted(*cells, people, shape)
    part = joint if first.exact else product(first.share.T, joint)
    return part if second.exact else product(part, second.share)


def measure_two_way(given: OriginalAndRelease) -> TwoWayError:
    """The two-way error of a release; where there is none, it says why."""
    try:
        table = spread_table(given)
    except TableError as problem:
        return TwoWayError(why_not=str(problem))
    published = {column.name for column in table.columns}
    withheld = [column.name for column in given.schema.columns if column.name not in published]
    return replace(two_way_error(table, withheld), totals=given.totals is not None)


def quasi_identifier_error(people: Microdata, shown: Published, totals: Totals | None = None) -> float:
    """E2 of the quasi-identifiers alone, whatever the sensitive values are; of a single one its own error.

    Who has no row is missing in the estimated tables, so that leaving people out is no way to look better.
    """
    columns = spread_quasi_identifiers(people, shown, totals)
    table = SpreadTable(columns, np.ones(len(shown)))
    if len(columns) == 1:
        return _one_way(table, columns[0], _margins(table)[0])
    errors = [error for error, _ in pair_errors(table, pairs_of(len(columns)))]
    return sum(errors) / len(errors)
