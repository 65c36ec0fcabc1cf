"""Claims of plain classes: nobody of a class is an outlier, whichever of its values is whose.

A point is a place for each quasi-identifier with sensitive values. It stands out if at least p of all records
lie farther from it than d. In a class every value must be ordinary at some place, and every place with some
value: for the corners of the class's cells, for the people who may be in it, or for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from incrowd.schema import Claim, Role, Schema
from incrowd.verifier.claims.kd_tree import RegionSearch, Runs
from incrowd.verifier.claims.plain_distance import PlainAxis, corner_values, quasi_axis, sensitive_axis
from incrowd.verifier.claims.plain_neighbours import Floats, NearbyCounts
from incrowd.verifier.claims.subject import BothTables, ClaimSubject
from incrowd.verifier.columns import Ints, first_of_each, fold, within
from incrowd.verifier.failure import CheckFailed, exactly, require, whole

PARAMETERS = ("p", "d", "margin", "form", "distinct", "removal", "rescale", "columns")
FORMS = {"corner": ("corner",), "candidate": ("candidate",), "both": ("corner", "candidate")}
MOST_CORNERS = 2**16
AT_ONCE = 1_000_000  # places of classes, and points, that are in hand at a time
MOST_CANDIDATES = 60_000_000


@dataclass(frozen=True, slots=True)
class PlainTerms:
    """What a claim of plain classes states. `share` and `reach` are p and d less the margin.

    Who stands out by sensitive values alone, and with them the scale, is settled at `p` and `d` themselves:
    then a class that is plain with the margin is so without.
    """

    p: Fraction
    d: Fraction
    share: Fraction
    reach: Fraction
    forms: Sequence[str]
    distinct: int
    removal: str
    rescale: bool
    weights: Mapping[str, Fraction]

    @classmethod
    def of(cls, claim: Claim, schema: Schema) -> PlainTerms:
        require(not claim.column, "plain is about all columns that it lists, not about one column")
        stated = claim.parameters
        p, d, margin = (exactly(stated[name], name) for name in ("p", "d", "margin"))
        terms = cls(
            p=p,
            d=d,
            share=p - margin,
            reach=d - margin,
            forms=FORMS.get(str(stated["form"]), ()),
            distinct=whole(claim, "distinct"),
            removal=str(stated["removal"]),
            rescale=stated["rescale"] == "yes",
            weights=_weights(stated["columns"], schema),
        )
        require(p <= 1 and terms.share > 0, "p minus the margin is not above 0, or p is above 1")
        require(terms.reach > 0, "d minus the margin is not above 0")
        require(bool(terms.forms), "the verifier does not know this form")
        require(terms.removal in ("once", "repeat", "none"), "the verifier does not know this removal")
        require(stated["rescale"] in ("yes", "no"), "rescale is neither yes nor no")
        require(terms.distinct > 1, "distinct is less than 2")
        return terms


def _weights(stated: object, schema: Schema) -> dict[str, Fraction]:
    if not isinstance(stated, Mapping):
        raise CheckFailed("the columns of the distance are not listed")
    known = {column.name: column.role for column in schema.having(Role.QUASI, Role.SENSITIVE)}
    require(
        set(stated) <= set(known),
        "the distance uses columns that are neither quasi-identifiers nor sensitive",
    )
    require(any(known[name] is Role.SENSITIVE for name in stated), "no column of the distance is sensitive")
    weights = {name: exactly(weight, "a weight") for name, weight in stated.items()}
    require(min(weights.values()) > 0, "a weight is not above 0")
    return weights


def plain(claim: Claim, subject: ClaimSubject) -> int:
    """The fewest different combinations of sensitive values of a class, if all classes are plain."""
    schema = subject.classes.schema
    terms = PlainTerms.of(claim, schema)
    classes = PlainClasses(terms, schema, subject.tables)
    fewest = int(np.bincount(classes.values.owner).min())
    require(
        fewest >= terms.distinct, f"one class has only {fewest} different combinations of sensitive values"
    )
    if "corner" in terms.forms:
        classes.check(classes.corners(), "corner of its cells")
    if "candidate" in terms.forms:
        classes.check(classes.candidates(), "person who fits it")
    return fewest


@dataclass(frozen=True, slots=True, eq=False)
class ClassItems:
    """Things of classes: thing i belongs to ``owner[i]``, ascending, and has ``codes[j][i]`` in column j."""

    owner: Ints
    codes: Sequence[Ints]

    def sorted_by(self, score: Floats) -> ClassItems:
        order = np.lexsort((score, self.owner))
        return ClassItems(self.owner[order], [column[order] for column in self.codes])

    def of(self, first: int, last: int) -> ClassItems:
        """Those of the classes first..last, with these numbered from 0."""
        low, high = np.searchsorted(self.owner, [first, last + 1])
        return ClassItems(self.owner[low:high] - first, [column[low:high] for column in self.codes])

    def starts(self, classes: int) -> Ints:
        """Where the things of each class start; one number more than there are classes."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.owner, minlength=classes))])


class PlainClasses:
    """Both tables, as far as a claim of plain classes is about them."""

    def __init__(self, terms: PlainTerms, schema: Schema, tables: BothTables) -> None:
        self._terms, self._tables, self._quasi = terms, tables, list(tables.quasi)
        self._known = [name for name in self._quasi if name in terms.weights]
        private = [c for c in schema.having(Role.SENSITIVE) if c.name in terms.weights]
        shown = all(c.name in tables.values and c.name in tables.sensitive for c in private)
        require(shown, "the rows do not show its sensitive columns")
        self._axes = {
            name: quasi_axis(tables.domains[name], tables.quasi[name].codes, terms.weights[name])
            for name in self._known
        }
        row_codes = []
        for column in private:
            own, seen = tables.values[column.name], tables.sensitive[column.name]
            weight = terms.weights[column.name]
            self._axes[column.name], codes = sensitive_axis(column, own, seen, schema.missing, weight)
            row_codes.append(codes)
        self._private = [self._axes[column.name] for column in private]
        self._records, self._classes = tables.own, int(tables.coded.row_class.max()) + 1
        self._rest = self._remaining()
        require(bool(self._rest.size), "everybody is an outlier by sensitive values alone")
        axes, scale = list(self._axes.values()), self._rest if terms.rescale else np.arange(self._records)
        self._field = NearbyCounts(axes, self._rest, scale, terms.reach)
        self.values = self._by_centre(
            _distinct(tables.coded.row_class, row_codes, self._private), len(self._known)
        )

    def _limit(self, counted: int, share: Fraction) -> int:
        """With so many records near or fewer, at least this share of all lies far."""
        return math.floor(counted - share * self._records)

    def _remaining(self) -> Ints:
        """The records without those that stand out by their sensitive values alone."""
        everybody = np.arange(self._records)
        rest = everybody
        while self._terms.removal != "none" and rest.size:
            scale = rest if self._terms.rescale else everybody
            field = NearbyCounts(self._private, rest, scale, self._terms.d)
            kind = fold([axis.records[rest] for axis in self._private], _sizes(self._private))
            first = rest[first_of_each(kind)]
            odd = field.few(
                [axis.records[first] for axis in self._private], self._limit(rest.size, self._terms.p)
            )
            if not odd.any():
                break
            rest = rest[~odd[kind]]
            if self._terms.removal == "once":
                break
        return rest

    def _by_centre(self, bunch: ClassItems, first: int) -> ClassItems:
        """Within a class those first that are likely to be ordinary."""
        some = range(first, first + len(bunch.codes))
        return bunch.sorted_by(self._field.centrality(some, bunch.codes)) if bunch.codes else bunch

    def corners(self) -> Iterator[tuple[int, int, ClassItems]]:
        """For some classes at a time the corners of their cells."""
        coded, count = self._tables.coded, np.ones(self._classes)
        choices = []
        for name in self._known:
            j = self._quasi.index(name)
            domain, cells = self._tables.domains[name], self._tables.cells[name]
            found = corner_values(domain, self._axes[name], coded.regions[j], cells)
            size = np.array(list(map(len, found)))[coded.class_cells[j]]
            table = np.array([(values * 3)[:3] for values in found])[coded.class_cells[j]]
            choices.append((size, table))
            count *= size
        require(bool(count.max() <= MOST_CORNERS), f"too many corners: one class has {int(count.max())}")
        for first, last in _spells(count.astype(np.int64)):
            amount = count[first : last + 1].astype(np.int64)
            owner = np.repeat(np.arange(amount.size), amount)
            left = np.arange(owner.size) - np.repeat(np.cumsum(amount) - amount, amount)
            codes = []
            for size, table in choices:
                here = size[first + owner]
                codes.append(table[first + owner, left % here])
                left //= here
            yield first, last, ClassItems(owner, codes)

    def candidates(self) -> Iterator[tuple[int, int, ClassItems]]:
        """For some classes at a time the people who may be in them, as their known places."""
        coded, rest = self._tables.coded, self._rest
        ranks = [column[rest] for column in coded.record_ranks]
        kinds = first_of_each(fold(ranks, [regions.size for regions in coded.regions]))
        runs = RegionSearch([column[kinds] for column in ranks], coded.class_cells, coded.regions).runs()
        runs = replace(runs, row=(row := runs.row[order := np.argsort(runs.row)]), part=runs.part[order])
        size = np.zeros(self._classes, np.int64)
        np.add.at(size, row, runs.stop - runs.start)
        require(
            bool(size.all()),
            f"{int((size == 0).sum())} classes fit nobody except outliers by sensitive values alone",
        )
        require(
            int(size.sum()) <= MOST_CANDIDATES,
            "the classes are consistent with too many records to look at them all",
        )
        axes = [self._axes[name] for name in self._known]
        for first, last in _spells(size):
            owner, person = _people(runs, *np.searchsorted(row, [first, last + 1]).tolist())
            codes = [axis.records[rest[kinds[person]]] for axis in axes]
            yield first, last, _distinct(owner - first, codes, axes)

    def check(self, spells: Iterator[tuple[int, int, ClassItems]], what: str) -> None:
        """Every value of a class must be ordinary at some place, and every place with some value."""
        for first, last, places in spells:
            columns = self._by_centre(places, 0)
            self._check_some(self.values.of(first, last), columns, last - first + 1, what)

    def _check_some(self, values: ClassItems, places: ClassItems, classes: int, what: str) -> None:
        """Try them in order, the likely first; a value and a place that are ordinary together are done."""
        sides = (values, places)
        starts = [side.starts(classes) for side in sides]
        left = [np.ones(side.owner.size, np.bool_) for side in sides]
        tried, width = 0, 1
        while left[0].any() or left[1].any():
            turns = [
                _tries(np.flatnonzero(left[i]), sides[i].owner, starts[1 - i], tried, width) for i in (0, 1)
            ]
            value = np.concatenate([turns[0][0], turns[1][1]])
            place = np.concatenate([turns[0][1], turns[1][0]])
            fine = self._ordinary([*(c[place] for c in places.codes), *(c[value] for c in values.codes)])
            left[0][value[fine]] = False
            left[1][place[fine]] = False
            tried += width
            over = [np.diff(starts[1 - i])[sides[i].owner] <= tried for i in (0, 1)]
            require(not (left[0] & over[0]).any(), f"in one class a value is an outlier at every {what}")
            require(
                not (left[1] & over[1]).any(),
                f"in one class there is a {what} at which every value is an outlier",
            )
            width = max(1, min(tried, AT_ONCE // max(int(left[0].sum() + left[1].sum()), 1)))

    def _ordinary(self, points: Sequence[Ints]) -> Ints:
        """Which points do not stand out? Equal ones are asked about once."""
        kind = fold(points, _sizes(list(self._axes.values())))
        first = first_of_each(kind)
        limit = self._limit(self._rest.size, self._terms.share)
        few = self._field.few([column[first] for column in points], limit)
        return np.flatnonzero(~few[kind])


def _tries(things: Ints, owner: Ints, starts: Ints, tried: int, width: int) -> tuple[Ints, Ints]:
    """Each thing with the next few of the other side of its class."""
    thing = np.repeat(things, width)
    other = starts[owner[thing]] + tried + np.tile(np.arange(width), things.size)
    there = other < starts[owner[thing] + 1]
    return thing[there], other[there]


def _distinct(owner: Ints, codes: Sequence[Ints], axes: Sequence[PlainAxis]) -> ClassItems:
    classes = int(owner.max()) + 1
    first = first_of_each(fold([owner, *codes], [classes, *_sizes(axes)]))
    return ClassItems(owner[first], [column[first] for column in codes])


def _sizes(axes: Sequence[PlainAxis]) -> list[int]:
    return [len(axis.places) for axis in axes]


def _people(runs: Runs, first: int, last: int) -> tuple[Ints, Ints]:
    """The class and the distinct record of everything that some runs hold."""
    some = slice(first, last)
    start, size = runs.start[some], (runs.stop - runs.start)[some]
    return np.repeat(runs.row[some].astype(np.int64), size), runs.parts.order[within(start, size)]


def _spells(size: Ints) -> Iterator[tuple[int, int]]:
    """Classes in their order, as many at a time as have not too many things together."""
    spell = (np.cumsum(size) - size) // AT_ONCE
    ends = np.flatnonzero(np.diff(spell, append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    yield from zip(starts.tolist(), ends.tolist(), strict=True)
