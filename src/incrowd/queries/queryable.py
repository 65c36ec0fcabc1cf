"""Queryable: a release that was read once and answers many queries, over its distinct rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.predicate import Condition, Name, check_measured
from incrowd.predicate.sql import Question, parse
from incrowd.queries.answer import BOUNDS, Answer, Bound, Chosen, Ints, Taken, weighted
from incrowd.queries.columns import Ends, Flags, Floats, RangeColumn
from incrowd.queries.hints import hints
from incrowd.queries.intervals import likely_count, single_numbers
from incrowd.queries.published import (
    DistinctRows,
    PublicKnowledge,
    QueriedBuckets,
    distinct_rows_of,
    read_published,
)
from incrowd.schema import Kind, Schema

MOST_GROUPS = 1_000  # answers of one GROUP BY
EVENLY = "values lie evenly in their cells, and columns have nothing to do with each other"
RAKED = "values are as common in a cell as the totals say, and columns have nothing to do with each other"
IN_GROUPS = "; so do sensitive values and rows of a group"
WITH_MEANS = "; where a class mean is published, it stands for all of its class"

PLACE = "in the release"

Where = Mapping[str, Sequence[Condition]]

_parsed = lru_cache(maxsize=4096)(parse)


@dataclass(frozen=True, slots=True, eq=False)
class _MatchingRows:
    """Rows that may be asked about, whether for certain, who is taken, and people that each stands for.

    ``lines`` are those of the buckets that match. ``weight`` is None where nothing can be estimated.
    """

    rows: Ints
    certain: Flags
    taken: Taken
    weight: Floats | None
    lines: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _ValueBounds:
    low: NDArray[Any]
    high: NDArray[Any]
    middle: Floats


@dataclass(frozen=True, eq=False)
class Queryable:
    """A release, ready to be asked.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> folder = pathlib.Path(place.name)
    >>> age = {"name": "age", "role": "quasi_identifier", "kind": "numeric", "shape": "range"}
    >>> said = {"format": "incrowd-release", "version": 1, "columns": [age]}
    >>> _ = (folder / "release.json").write_text(json.dumps(said))
    >>> _ = (folder / "data.csv").write_text('age\\n"[20,29]"\\n"[20,29]"\\n35\\n')
    >>> answer = Queryable.load(folder).ask("SELECT COUNT(*) WHERE age >= 25")
    >>> answer.lower, answer.upper, answer.estimate
    (1, 3, 2.0)
    >>> place.cleanup()
    """

    published: DistinctRows

    def __repr__(self) -> str:
        return f"Queryable({int(self.published.count.sum())} rows: {', '.join(self.published.names)})"

    @classmethod
    def load(cls, folder: object, policy: object = None, continuous: bool = False) -> Queryable:
        """Read the published files of a release.

        Parameters
        ----------
        folder : path or ReleaseFolder
            The release. Neither its audit nor the original is looked for.
        policy : Policy, dict or path, optional
            Its hierarchies that are files, its texts for missing and its forms of dates are used.
        continuous : bool
            Estimates take numbers to lie anywhere in a range. Otherwise, if all ends of a column are whole
            numbers, its values are taken to be whole too.
        """
        opened = cls(read_published(folder, Policy.of(policy)))
        return opened.continuous() if continuous else opened

    @classmethod
    def of(cls, rows: Table, schema: Schema) -> Queryable:
        """Published rows in memory, as the schema describes them."""
        return cls(distinct_rows_of(rows, schema, PublicKnowledge.of(None, schema), None, {}))

    def continuous(self) -> Queryable:
        """The same, with numbers that lie anywhere in their ranges."""
        columns = {
            name: replace(column, unit=0)
            if isinstance(column, RangeColumn) and column.kind is Kind.NUMERIC
            else column
            for name, column in self.published.columns.items()
        }
        return Queryable(replace(self.published, columns=columns))

    def ask(self, sql: str) -> Answer:
        """Answer one query.

        Parameters
        ----------
        sql : str
            ``SELECT`` one of ``COUNT(*)``, ``COUNT``, ``SUM``, ``AVG``, ``MIN``, ``MAX`` of a column, with
            ``WHERE`` (conditions joined by ``AND``) and ``GROUP BY`` a column, if wanted.
        """
        question = _parsed(sql)
        names = self.published.names
        column = None if question.column is None else question.column.among(names, PLACE)
        where = question.where.by_column(names, PLACE)
        if column is not None and question.aggregate != "COUNT":
            of = self.published.column(column)
            check_measured(of.name, of.kind)
            if question.aggregate in ("SUM", "AVG") and of.kind is Kind.DATE:
                raise InputError(
                    f"{column} holds dates, which have no {question.aggregate}; ask for MIN or MAX"
                )
        described = {name: self.published.column(name) for name in where}
        answer = replace(self._answer(question.aggregate, column, where), hints=hints(described, where))
        if question.group is None:
            return answer
        by = question.group.among(names, PLACE)
        return replace(answer, by=by, groups=self._by_value(question, question.group, column, where))

    def ask_many(self, queries: Iterable[str]) -> list[Answer]:
        """Answer many queries, in their order."""
        return [self.ask(sql) for sql in queries]

    def _by_value(
        self, question: Question, group: Name, column: str | None, where: Where
    ) -> dict[str, Answer]:
        """One answer for each value that somebody may have: the question with one more condition."""
        by = group.among(self.published.names, PLACE)
        values = self.published.column(by).values()
        if len(values) > MOST_GROUPS:
            raise InputError(f"{by} has {len(values):,} values; GROUP BY answers at most {MOST_GROUPS:,}")
        groups = {}
        for value in values:
            also = (*where.get(by, ()), Condition(group, "=", (value,)))
            answer = self._answer(question.aggregate, column, {**where, by: also})
            if answer.rows:
                groups[value] = answer
        return groups

    def _answer(self, aggregate: str, column: str | None, where: Where) -> Answer:
        asked = where if column is None else {**where, column: where.get(column, ())}
        found = self._found(asked)
        least, most = self._within_totals(asked, *self._people(found))
        lower: Bound | None = least
        upper: Bound | None = most
        guess = None if found.weight is None else min(max(float(found.weight.sum()), least), most)
        interval = self._interval(asked, found, least, most) if aggregate == "COUNT" else None
        if column is not None and aggregate != "COUNT":
            if most:
                lower, upper, guess = self._measured(aggregate, column, asked[column], found)
            else:
                lower, upper, guess = (0, 0, 0.0) if aggregate == "SUM" else (None, None, None)
        return Answer(
            aggregate,
            lower,
            upper,
            guess,
            self._assumption(aggregate, column, guess) if most else "nobody is asked about",
            matches=least == most,
            nobody=least == 0,
            rows=int(self.published.count[found.rows].sum()) if most else 0,
            about=self.published.about,
            interval=interval,
        )

    def _interval(
        self, asked: Where, found: _MatchingRows, least: int, most: int
    ) -> tuple[float, float] | None:
        """Where a count probably lies; None of buckets, and of single numbers inside ranges."""
        published = self.published
        if least == most:
            return float(least), float(most)
        columns = ((published.column(name), conditions) for name, conditions in asked.items())
        if (
            found.weight is None
            or published.buckets is not None
            or any(single_numbers(*one) for one in columns)
        ):
            return None
        count = published.count[found.rows]
        return likely_count(found.weight / count, count, least, most, published.totals is not None)

    def _assumption(self, aggregate: str, column: str | None, guess: float | None) -> str:
        """What an estimate takes for granted, or why there is none."""
        if guess is not None:
            spread = EVENLY if self.published.totals is None else RAKED
            if self.published.buckets is not None:
                return spread + IN_GROUPS
            return spread + (WITH_MEANS if aggregate != "COUNT" and column in self.published.means else "")
        if self.published.uncertain:
            return "no estimate: the release does not say how many people of the private table a class has"
        if aggregate in ("MIN", "MAX"):
            return "no estimate: how values lie in their cells says little about the outermost one"
        return (
            "no estimate: which values a label stands for is not known without the policy, or a hierarchy "
            "that is public"
        )

    def _rows(self, asked: Where) -> tuple[Ints, Flags, Floats | None]:
        """The distinct rows that may satisfy all conditions, whether they do for certain, and how far."""
        codes, size = self.published.codes, self.published.count.size
        cuts = [(name, self.published.columns[name].match(conditions)) for name, conditions in asked.items()]
        cuts.sort(key=lambda named: float(named[1].possible.mean()))  # few rows are left at once
        rows = certain = share = None
        for name, cut in cuts:
            cells = codes[name] if rows is None else codes[name][rows]
            kept = np.flatnonzero(cut.possible[cells])
            cells = cells[kept]
            certain = cut.certain[cells] if certain is None else certain[kept] & cut.certain[cells]
            if cut.share is not None and (share is not None or rows is None):
                share = cut.share[cells] if share is None else share[kept] * cut.share[cells]
            else:
                share = None
            rows = kept if rows is None else rows[kept]
        if rows is None or certain is None:
            return np.arange(size), np.ones(size, np.bool_), np.ones(size)
        return rows, certain, share

    def _found(self, asked: Where) -> _MatchingRows:
        published = self.published
        rows, certain, share = self._rows({n: c for n, c in asked.items() if n in published.columns})
        count = published.count[rows]
        weight = None if share is None or published.uncertain else share * count
        if published.buckets is None or published.group is None:
            return _MatchingRows(rows, certain, Taken(count, certain), weight)
        lines = _matching(published.buckets, asked)
        size = int(max(published.group.max(initial=-1), published.buckets.group.max(initial=-1))) + 1
        people = _per(published.buckets.group[lines], published.buckets.count[lines], size)
        group, all_rows = published.group[rows], _per(published.group, published.count, size)
        inside, possible = _per(group[certain], count[certain], size), _per(group, count, size)
        least = np.maximum(people - (all_rows - inside), 0)
        taken = Taken(count, certain, group, least, np.minimum(people, possible))
        shared = people / np.maximum(all_rows, 1)
        return _MatchingRows(rows, certain, taken, None if weight is None else weight * shared[group], lines)

    def _people(self, found: _MatchingRows) -> tuple[int, int]:
        """How many people are asked about, at least and at most."""
        if not self.published.uncertain:
            return found.taken.bounds
        least = int(found.certain.sum()) if self.published.at_least_one else 0
        return least, int(found.taken.count.sum())

    def _within_totals(self, asked: Where, least: int, most: int) -> tuple[int, int]:
        """The same bounds, closer where totals say how many people a condition can be about at all."""
        totals = self.published.totals
        if not asked or totals is None:
            return least, most
        everybody = int(self.published.count.sum())
        found = [totals[name].bounds(some) for name, some in asked.items() if name in totals]
        lacking = sum(everybody - certain for certain, _ in found)
        if len(found) == len(asked):
            least = max(least, everybody - lacking)
        return least, min([most, *(possible for _, possible in found)])

    def _measured(
        self, aggregate: str, column: str, conditions: Sequence[Condition], found: _MatchingRows
    ) -> tuple[Bound | None, Bound | None, float | None]:
        """Bounds and estimate of a sum, average, smallest or largest value of somebody."""
        published = self.published
        of = published.column(column)
        ends = of.ends(conditions)
        taken, weight = found.taken, found.weight
        if published.buckets is not None and column in published.buckets.columns and found.lines is not None:
            taken, weight = _by_lines(published.buckets, found.lines, taken, weight)
            cells = published.buckets.columns[column][1][found.lines]
        else:
            cells = published.codes[column][found.rows]
        values = _ValueBounds(ends.low[cells], ends.high[cells], ends.middle[cells])
        if column in published.means and aggregate in ("SUM", "AVG"):
            values = self._by_means(column, values, found, ends)
        guess = None if weight is None else weighted(aggregate, weight, values.middle)
        guess = None if guess is None else guess / 10**ends.scale
        if ends.open[cells].any():
            return None, None, guess
        least, most = BOUNDS[aggregate](*self._choices(taken, values))
        return _bound(least, of.kind, ends.scale), _bound(most, of.kind, ends.scale), guess

    def _choices(self, taken: Taken, values: _ValueBounds) -> tuple[Chosen, Chosen]:
        if self.published.uncertain:
            forced = np.where(taken.certain & self.published.at_least_one, 1, 0).astype(np.int64)
            return tuple(Chosen(end, forced, taken.count - forced) for end in (values.low, values.high))  # type: ignore[return-value]
        return taken.choose(values.low, True), taken.choose(values.high, False)

    def _by_means(self, name: str, values: _ValueBounds, found: _MatchingRows, ends: Ends) -> _ValueBounds:
        """Rows of classes that are wholly asked about count with their mean, known to half its last place."""
        published, rows = self.published, found.rows
        means, codes = published.means[name]
        size = int(published.classes.max()) + 1
        inside = rows[found.certain]
        whole = _per(published.classes[inside], published.count[inside], size) == _per(
            published.classes, published.count, size
        )
        factor = 10 ** (ends.scale - means.scale)
        mean, half = means.mean[codes[rows]].astype(values.low.dtype) * factor, means.half * factor
        use = means.known[codes[rows]] & whole[published.classes[rows]]
        return _ValueBounds(
            np.where(use, np.maximum(values.low, mean - half), values.low),
            np.where(use, np.minimum(values.high, mean + half), values.high),
            np.where(use, mean.astype(np.float64), values.middle),
        )


def _matching(buckets: QueriedBuckets, asked: Where) -> Ints:
    """The lines of the buckets that satisfy what is asked of their columns."""
    match = np.ones(buckets.count.size, np.bool_)
    for name, conditions in asked.items():
        if name in buckets.columns:
            column, codes = buckets.columns[name]
            match &= column.match(conditions).certain[codes]
    return np.flatnonzero(match)


def _by_lines(
    buckets: QueriedBuckets, lines: Ints, taken: Taken, weight: Floats | None
) -> tuple[Taken, Floats | None]:
    """The same people as lines of the buckets: of each group's, as many as its rows say."""
    group, count = buckets.group[lines], buckets.count[lines]
    if taken.group is None or taken.least is None:
        raise ValueError("lines need the groups of rows")
    size = taken.least.size
    spread = None
    if weight is not None:
        people = np.maximum(_per(group, count, size), 1)
        spread = count * (np.bincount(taken.group, weight, size) / people)[group]
    return Taken(count, np.ones(lines.size, np.bool_), group, taken.least, taken.most), spread


def _per(group: Ints, count: Ints, size: int) -> Ints:
    return np.bincount(group, count, size).astype(np.int64)


def _bound(number: int | Fraction, kind: Kind, scale: int) -> Bound:
    if kind is Kind.DATE:
        return date.fromordinal(int(number))
    return Fraction(number, 10**scale)
