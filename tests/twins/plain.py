"""Plain groups in plain Python and without incrowd: outliers, the two forms, ExpC and its rivals.

Whole numbers and fractions only. A record is a tuple of codes, one for each quasi-identifier, and a tuple of
sensitive places. The loss of a row is a sum of fractions, 1 for a cell that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

Group = list[int]
Value = tuple[int | None, ...]
Point = tuple[int | None, ...]


@dataclass(frozen=True)
class Column:
    """A quasi-identifier by code.

    `place` is where a code lies for distances (None if missing), `axis` for finding the nearest value and,
    of ranges, what cells cost: there the domain has the width 1. `nodes` are the permissible sets of a tree.
    A `weight` of None takes no part.
    """

    kind: str
    place: tuple[int | None, ...]
    axis: tuple[Fraction, ...]
    nodes: tuple[frozenset[int], ...] = ()
    weight: Fraction | None = Fraction(1)

    def cell(self, codes: Iterable[int]) -> frozenset[int]:
        """What a row over these codes holds; of a range its ends, and missing."""
        found = frozenset(codes)
        gone = frozenset(code for code, place in enumerate(self.place) if place is None)
        known = found - gone
        if self.kind == "set" or not known:
            return found
        if self.kind == "range":
            return (found & gone) | {min(known), max(known)}
        node = min((node for node in self.nodes if node >= known), key=len)
        everything = node == max(self.nodes, key=len)
        return node | (gone if everything else found & gone)

    def loss(self, codes: Iterable[int]) -> Fraction:
        cell = self.cell(codes)
        if self.kind == "range":
            where = [self.axis[code] for code in cell]
            return max(where) - min(where)
        return Fraction(len(cell) - 1, max(len(self.place) - 1, 1))

    def ends(self, codes: Iterable[int]) -> list[int | None]:
        """The places of a cell at which corners lie."""
        places = [self.place[code] for code in self.cell(codes)]
        known = sorted(place for place in places if place is not None)
        return [*sorted({*known[:1], *known[-1:]}), *([None] if None in places else [])]


@dataclass(frozen=True)
class Table:
    """Records with what makes one of them an outlier."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[int, ...], ...]
    values: tuple[Value, ...]
    weights: tuple[Fraction, ...]  # of the sensitive columns
    p: Fraction
    d: Fraction
    form: str = "corner"
    distinct: int = 2
    removal: str = "once"
    rescale: bool = True
    margin: Fraction = Fraction(0)  # p and d are lowered by it already; who is removed is told without it

    # Outliers

    def point(self, i: int) -> Point:
        return tuple(c.place[code] for c, code in zip(self.columns, self.rows[i], strict=True))

    def spans(self, among: Iterable[int]) -> list[int]:
        """How far places lie apart: of every quasi-identifier, then of every sensitive column."""
        whole = [(*self.point(i), *self.values[i]) for i in among]
        known = [[x for x in column if x is not None] for column in zip(*whole, strict=True)]
        return [max(max(column) - min(column), 1) if column else 1 for column in known]

    def removed(self) -> set[int]:
        """The outliers by sensitive values alone."""
        gone: set[int] = set()
        everyone = range(len(self.rows))
        d = len(self.columns)
        while self.removal != "none":
            rest = [i for i in everyone if i not in gone]
            spans = self.spans(rest if self.rescale and gone else everyone)[d:]

            def buckets(i: int, j: int, spans: list[int] = spans) -> Fraction:
                return _squares(self.values[i], self.values[j], spans, self.weights)

            new = {i for i in rest if self._many((buckets(i, j) for j in rest), self.margin)}
            gone |= new
            if not new or self.removal == "once":
                break
        return gone

    def stranded(self, gone: set[int]) -> set[int]:
        """Who of the rest the margin makes outliers by sensitive values alone."""
        rest = [i for i in range(len(self.rows)) if i not in gone]
        if self.removal == "none" or not self.margin or not rest:
            return set()
        spans = self.spans(rest if self.rescale else range(len(self.rows)))[len(self.columns) :]
        by_values = {
            i: [_squares(self.values[i], self.values[j], spans, self.weights) for j in rest] for i in rest
        }
        return {i for i in rest if self._many(by_values[i])}

    def _many(self, squares: Iterable[Fraction], margin: Fraction = Fraction(0)) -> bool:
        d, p = self.d + margin, self.p + margin
        return sum(square > d * d for square in squares) >= p * len(self.rows)

    def is_bad(self, point: Point, value: Value, rest: Sequence[int], spans: list[int]) -> bool:
        return self._many(self.buckets(point, value, j, spans) for j in rest)

    def buckets(self, point: Point, value: Value, j: int, spans: list[int]) -> Fraction:
        d = len(self.columns)
        by_rows = _squares(point, self.point(j), spans[:d], [c.weight for c in self.columns])
        return by_rows + _squares(value, self.values[j], spans[d:], self.weights)


def _squares(one: Value, other: Value, spans: Sequence[int], weights: Sequence[Fraction | None]) -> Fraction:
    total = Fraction(0)
    for a, b, span, weight in zip(one, other, spans, weights, strict=True):
        if weight is None or (a is None and b is None):
            continue
        total += weight * (1 if a is None or b is None else Fraction(a - b, span) ** 2)
    return total


@dataclass
class Space:
    """A table whose sensitive outliers are gone, and what is known of its points."""

    table: Table
    gone: set[int] = field(init=False)
    rest: list[int] = field(init=False)
    spans: list[int] = field(init=False)
    known: dict[tuple[Point, Value], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        everyone = range(len(self.table.rows))
        self.gone = self.table.removed()
        self.rest = [i for i in everyone if i not in self.gone]
        self.spans = self.table.spans(self.rest if self.table.rescale else everyone)

    def bad(self, point: Point, value: Value) -> bool:
        key = (point, value)
        if key not in self.known:
            self.known[key] = self.table.is_bad(point, value, self.rest, self.spans)
        return self.known[key]

    def outliers(self) -> set[int]:
        return {i for i in self.rest if self.bad(self.table.point(i), self.table.values[i])}

    def lone(self) -> set[int]:
        """Those who are outliers by their quasi-identifiers alone."""
        table, weights = self.table, [column.weight for column in self.table.columns]
        spans = self.spans[: len(weights)]
        points = {i: table.point(i) for i in self.rest}

        def far(i: int) -> bool:
            return table._many(_squares(points[i], points[j], spans, weights) for j in self.rest)

        return {
            i
            for i in self.rest
            if table._many(_squares(points[i], points[j], spans, weights) for j in self.rest)
        }

    # Plain groups

    def codes(self, group: Sequence[int]) -> Iterator[tuple[Column, list[int]]]:
        for j, column in enumerate(self.table.columns):
            yield column, [self.table.rows[i][j] for i in group]

    def corners(self, group: Sequence[int]) -> list[Point]:
        """Corners that differ in distance: a column that takes no part has one end."""
        ends = [c.ends(codes) if c.weight is not None else [None] for c, codes in self.codes(group)]
        return list(product(*ends))

    def candidates(self, group: Sequence[int]) -> list[Point]:
        """Places of the records of the rest that lie in the box."""
        cells = [column.cell(codes) for column, codes in self.codes(group)]
        if_range = [self._inside(j, cell) for j, cell in enumerate(cells)]
        inside = [i for i in self.rest if all(ok(self.table.rows[i][j]) for j, ok in enumerate(if_range))]
        return sorted({self.table.point(i) for i in inside}, key=repr)

    def _inside(self, j: int, cell: frozenset[int]) -> Callable[[int], bool]:
        column = self.table.columns[j]
        if column.kind != "range":
            return lambda code: code in cell
        known = [place for code in cell if (place := column.place[code]) is not None]
        missing = any(column.place[code] is None for code in cell)

        def ok(code: int) -> bool:
            place = column.place[code]
            return missing if place is None else bool(known) and min(known) <= place <= max(known)

        return ok

    def holds(self, points: list[Point], values: list[Value]) -> bool:
        """No value is bad at all points, and no point with all values."""
        rows = all(any(not self.bad(point, value) for point in points) for value in values)
        return rows and all(any(not self.bad(point, value) for value in values) for point in points)

    def values(self, group: Sequence[int]) -> list[Value]:
        return sorted({self.table.values[i] for i in group}, key=repr)

    def quick(self, group: Sequence[int]) -> bool:
        """Enough values, and the corner form unless only the other is asked for."""
        values = self.values(group)
        if len(values) < self.table.distinct:
            return False
        return self.table.form == "candidate" or self.holds(self.corners(group), values)

    def plain(self, group: Sequence[int]) -> bool:
        if not self.quick(group):
            return False
        return self.table.form == "corner" or self.holds(self.candidates(group), self.values(group))

    def loss(self, group: Sequence[int]) -> Fraction:
        """What one row of the group loses."""
        return sum((column.loss(codes) for column, codes in self.codes(group)), Fraction(0))

    def dearer(self, group: Sequence[int], others: Sequence[int]) -> Fraction:
        """How much more all rows of a group and of others lose as one; what the others lose now is aside."""
        both = [*group, *others]
        return len(both) * self.loss(both) - len(group) * self.loss(group)


@dataclass
class Result:
    groups: list[Group] = field(default_factory=list)
    suppressed: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    residue: list[int] = field(default_factory=list)


@dataclass
class ExpC:
    """Step 2 and 3 with their limits; 0 is none."""

    space: Space
    k: int
    delta: int
    tries: int = 0
    patience: int = 0
    merges: int = 0
    strangers: str = "any"  # last: who is an outlier with any value takes no part in step 2
    usual: bool = False  # does no group grow around an outlier?
    values: str = "any"  # new: until there are enough, only records with a new value are candidates
    plain: bool = True  # False: only enough values

    def done(self, group: Group) -> bool:
        return len(group) >= self.k and (self.space.plain(group) if self.plain else self.enough(group))

    def enough(self, group: Group) -> bool:
        return len(self.space.values(group)) >= self.space.table.distinct

    def quick(self, group: Group) -> bool:
        return len(group) >= self.k and (self.space.quick(group) if self.plain else self.enough(group))

    # Step 2

    @property
    def lone(self) -> set[int]:
        return self.space.lone() if self.strangers == "last" and self.plain else set()

    def near(self, group: Group, free: list[int]) -> list[int]:
        """For every column those whose value is nearest to the group's."""
        found: set[int] = set()
        for j, column in enumerate(self.space.table.columns):
            where = {i: column.axis[self.space.table.rows[i][j]] for i in (*free, *group)}
            low, high = min(where[i] for i in group), max(where[i] for i in group)
            away = {i: max(low - where[i], where[i] - high, 0) for i in free}
            found |= {i for i in free if away[i] == min(away.values())}
        return sorted(found)

    def nodes(self, group: Group, free: list[int]) -> list[int]:
        """Those that are no outliers and would be corners: outside or on the bounds in every column."""
        rows, table = self.space.table.rows, self.space.table
        found = []
        for i in free:
            for j, column in enumerate(table.columns):
                where = [column.axis[rows[each][j]] for each in group]
                if min(where) < column.axis[rows[i][j]] < max(where):
                    break
            else:
                if not self.space.bad(table.point(i), table.values[i]):
                    found.append(i)
        return found

    def winner(self, group: Group, among: list[int]) -> int | None:
        """The cheapest with which the group looks plain, of the first `tries` distinct ones that matter."""
        table, tried = self.space.table, set[object]()
        now = self.shape(group)
        for i in sorted(among, key=lambda i: (self.space.loss([*group, i]), i)):
            if not self.quick(group) and self.shape([*group, i]) == now:
                continue  # nothing changes but the size
            if len(group) + 1 < self.k or len(self.space.values([*group, i])) < table.distinct:
                continue
            if (table.rows[i], table.values[i]) in tried:
                continue
            tried.add((table.rows[i], table.values[i]))
            if self.tries and len(tried) > self.tries:
                return None
            if self.quick([*group, i]):
                return i
        return None

    def shape(self, group: Group) -> tuple[object, ...]:
        small = len(group) < self.k
        cells = [column.cell(codes) for column, codes in self.space.codes(group)]
        return (*cells, tuple(self.space.values(group)), len(group) if small else self.k)

    def take(self, group: Group, among: list[int]) -> None:
        found = self.winner(group, among)
        cheapest = min(among, key=lambda i: (self.space.loss([*group, i]), i))
        group.append(cheapest if found is None else found)

    def grown(self, seed: int, pool: list[int]) -> Group | None:
        """A plain group around a seed, out of the pool; None if there is none to be found."""
        group, banned, num = [seed], set[int](), 0
        limit = self.delta + (self.patience or len(pool))
        while not self.done(group):
            free = [i for i in pool if i not in group and i not in banned]
            known = self.space.values(group)
            fresh = self.values == "new" and len(known) < self.space.table.distinct
            among = [i for i in free if not fresh or self.space.table.values[i] not in known]
            if not among or num > limit:
                return None
            self.take(group, self.near(group, among))
            num += 1
            if num < self.delta or self.quick(group):
                continue
            free = [i for i in free if i not in group]
            nodes = self.nodes(group, free)
            if nodes:
                self.take(group, nodes)
            else:
                worst = max(group[1:], key=lambda i: (self.bounds(group, i), -i))
                group.remove(worst)
                banned.add(worst)
        return group

    def bounds(self, group: Group, i: int) -> int:
        """On how many bounds of the group a record lies."""
        rows, total = self.space.table.rows, 0
        for j, column in enumerate(self.space.table.columns):
            where = [column.axis[rows[each][j]] for each in group]
            total += column.axis[rows[i][j]] in (min(where), max(where))
        return total

    def expand(self, seeds: list[int], others: list[int], result: Result) -> None:
        """Groups around the seeds, in their order, out of the seeds that are left and the others."""
        ungrouped = sorted({*seeds, *others})
        for seed in seeds:
            point, value = self.space.table.point(seed), self.space.table.values[seed]
            if seed in ungrouped and self.usual and self.space.bad(point, value):
                result.residue.append(seed)
                ungrouped.remove(seed)
            if seed in ungrouped:
                pool = [i for i in ungrouped if i in others or i in seeds]
                group = self.grown(seed, [i for i in pool if i != seed])
                if group is None:
                    result.residue.append(seed)
                    ungrouped.remove(seed)
                else:
                    result.groups.append(group)
                    ungrouped = [i for i in ungrouped if i not in group]

    # Step 3

    def settle(self, result: Result) -> None:
        result.residue += sorted(self.lone - set(result.residue))
        for i in result.residue:
            if not (self.inserted(i, result) or self.merged([i], result)):
                result.suppressed.append(i)

    def by_loss(self, group: Group, result: Result) -> list[Group]:
        return sorted(result.groups, key=lambda other: (self.space.dearer(other, group), min(other)))

    def inserted(self, i: int, result: Result) -> bool:
        for group in self.by_loss([i], result)[: self.tries or None]:
            if self.done([*group, i]):
                group.append(i)
                return True
        return False

    def merged(self, start: Group, result: Result) -> bool:
        union, taken = list(start), list[Group]()
        while len(taken) < min(self.merges or len(result.groups), len(result.groups)):
            left = [group for group in self.by_loss(union, result) if group not in taken]
            union, taken = [*union, *left[0]], [*taken, left[0]]
            if self.done(union):
                result.groups[:] = [group for group in result.groups if group not in taken] + [union]
                return True
        return False


def expc(run: ExpC) -> Result:
    result = Result(removed=sorted(run.space.gone))
    run.usual = run.strangers == "last"
    others = [i for i in run.space.rest if i not in run.lone]
    run.expand(others, others, result)
    run.settle(result)
    return result


def gnof(run: ExpC) -> Result:
    """Groups of those who are no outliers; outliers are residue."""
    result, outliers = Result(removed=sorted(run.space.gone)), run.space.outliers()
    others = [i for i in run.space.rest if i not in outliers]
    run.expand(others, others, result)
    result.residue += sorted(outliers)
    run.settle(result)
    return result


def gof(run: ExpC) -> Result:
    """Groups around outliers, of those who are none; then groups of the rest."""
    result, outliers = Result(removed=sorted(run.space.gone)), run.space.outliers()
    others = [i for i in run.space.rest if i not in outliers]
    for seed in sorted(outliers - run.lone):
        free = [i for i in others if not any(i in group for group in result.groups)]
        group = run.grown(seed, free)
        if group is None:
            result.residue.append(seed)
        else:
            result.groups.append(group)
    free = [i for i in others if not any(i in group for group in result.groups)]
    run.expand(free, free, result)
    run.settle(result)
    return result


def remove_outliers(run: ExpC) -> Result:
    """No outlier stays; groups need enough values and no more."""
    outliers = run.space.outliers()
    result = Result(removed=sorted({*run.space.gone, *outliers}))
    run.plain = False
    others = [i for i in run.space.rest if i not in outliers]
    run.expand(others, others, result)
    run.settle(result)
    return result


def repair(run: ExpC, groups: list[Group]) -> Result:
    """Any partition made plain: groups that are not merge with one neighbour or several, or are dissolved."""
    result = Result(removed=sorted(run.space.gone))
    lone = run.space.lone()
    left = ([i for i in group if i not in run.space.gone | lone] for group in groups)
    result.groups = [group for group in left if group]
    loose: list[int] = []
    for group in sorted((each for each in result.groups if not run.done(each)), key=min):
        if group in result.groups and not _with_neighbours(run, group, result):
            result.groups.remove(group)
            loose += sorted(group)
    loose += sorted(i for group in groups for i in group if i in lone)
    result.suppressed = [i for i in loose if not run.inserted(i, result)]
    return result


def _with_neighbours(run: ExpC, group: Group, result: Result) -> bool:
    near = [other for other in run.by_loss(group, result) if other != group][: run.merges]
    unions = [[group, other] for other in near]
    taken = [group]
    while len(taken) <= run.merges and len(taken) < len(result.groups):
        union = [i for each in taken for i in each]
        taken = [*taken, next(each for each in run.by_loss(union, result) if each not in taken)]
        unions.append(taken)
    for parts in unions:
        union = [i for each in parts for i in each]
        if run.done(union):
            result.groups = [each for each in result.groups if each not in parts] + [union]
            return True
    return False
