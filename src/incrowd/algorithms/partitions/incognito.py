"""Incognito: every column at one level of its hierarchy for all records, and of all such recodings the best.

Level vectors form a lattice. They are taken in the order of what they cost at least, and of most it is never
asked whether they are good: they could not cost less than the best that was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import OUTLIERS, Algorithm, need_enough
from incrowd.algorithms.partitions.lattice import Explored, Flags, LatticeSearch
from incrowd.algorithms.partitions.levels import Counts, LevelFrequencies, Node, Rolls
from incrowd.algorithms.partitions.rollups import RollUps
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Share, WholeNumbers, exact, register
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress, silent
from incrowd.schema import Shape

AT_ONCE = 4096  # vectors that are numbered together
MEASURES = ("loss", "discernibility", "classes", "height")

Value = Fraction | int


def anonymous_levels(
    data: Microdata, k: int, max_suppression: str = "0", progress: Progress = silent
) -> Explored:
    """All level vectors that are k-anonymous, if a share of all records may be left out.

    Examples
    --------
    >>> from incrowd.flow import Attribute
    >>> from incrowd.schema import Kind
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, ("35", "36", "37", "38"), np.arange(4.0))
    >>> sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    >>> data = Microdata(np.array([[0, 0], [1, 1], [2, 0], [3, 0]], np.int32), (age, sex))
    >>> anonymous_levels(data, 2).minimal, anonymous_levels(data, 2, "0.5").minimal
    (((1, 1),), ((1, 0),))
    """
    recipe = Incognito(k, max_suppression=max_suppression)
    need_enough(data, k)
    return LatticeSearch(RollUps(Rolls(data)), k, recipe.budget(len(data))).explored(progress)


@register("algorithm", "incognito")
@dataclass(frozen=True)
class Incognito(Algorithm):
    """Publish every column at one level of its hierarchy, at the levels that cost least.

    Parameters
    ----------
    measure : str
        What is least: the mean loss of a cell (``loss``), the sum of squared class sizes
        (``discernibility``), the mean class size (``classes``), or the sum of levels (``height``).
    max_suppression : str
        The share of records that may be left out, an exact decimal: those whose class is too small, or not
        allowed.
    levels : tuple of int
        A level for each column, in the order of the table, chosen without looking at it. Nothing is searched.
    """

    measure: str = "loss"
    max_suppression: str = "0"
    levels: tuple[int, ...] = ()
    paper: ClassVar[str] = OUTLIERS
    section: ClassVar[str] = "8, the rival Incognito, after LeFevre et al.: Incognito"
    publishes: ClassVar[str] = "each column at one level of its hierarchy, the same for all records"
    needs: ClassVar[str] = (
        "hierarchies; else intervals of numbers double, and categories are all or nothing. For "
        "comparison, or with levels that were chosen without the table"
    )
    suppresses: ClassVar[bool] = True
    full_domain: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "measure": Choice(MEASURES),
        "max_suppression": Share(Fraction(0), Fraction(1), low_included=True),
        "levels": WholeNumbers(0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", WholeNumbers.read(self.levels))

    def budget(self, records: int) -> int:
        """How many records may be left out."""
        return int(exact(self.max_suppression) * records)

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        """The group of each record, who is left out (-1), and at which level each column is published."""
        need_enough(data, self.k)
        rolls = Rolls(data)
        vectors = _LevelVectors(rolls, self.k, self.budget(len(data)), guards)
        found = self._given(vectors) if self.levels else self._searched(vectors, progress)
        progress(1.0)
        return _partition(data, rolls, *found)

    def _given(self, vectors: _LevelVectors) -> tuple[_LevelClasses, Node]:
        ladders = vectors.rolls.ladders
        if len(self.levels) != len(ladders):
            raise PolicyError(
                f"levels has {len(self.levels)} numbers, one for each of {len(ladders)} quasi-identifiers is "
                "needed, in the order of the table"
            )
        for ladder, level in zip(ladders, self.levels, strict=True):
            if level > ladder.height:
                raise PolicyError(
                    f"levels: {ladder.attribute.name} has the levels 0 to {ladder.height}, not {level}"
                )
        classes = vectors.classes(self.levels)
        if classes is None:
            raise Infeasible(f"at these levels {self._too_many(vectors)}; choose higher ones")
        return classes, self.levels

    def _searched(self, vectors: _LevelVectors, progress: Progress) -> tuple[_LevelClasses, Node]:
        found = _LeastCost(vectors, self.measure).found(progress)
        if found is None:
            raise Infeasible(f"even with every column at its highest level {self._too_many(vectors)}")
        return found

    def _too_many(self, vectors: _LevelVectors) -> str:
        return (
            "classes that are too small or keep less than asked for have more records than may be suppressed "
            f"(max_suppression = {self.max_suppression}: {vectors.budget} of {vectors.rolls.records})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _LevelClasses:
    """The classes of a level vector with their sizes, and which of them have rows."""

    made: LevelFrequencies
    kept: Flags

    @property
    def sizes(self) -> Counts:
        return self.made.weights


class _LevelVectors:
    """Level vectors under everything that was asked for."""

    def __init__(self, rolls: Rolls, k: int, budget: int, guards: tuple[Guard, ...]) -> None:
        self.rolls, self.k, self.budget, self.guards = rolls, k, budget, guards
        self.sets = RollUps(rolls)

    def of(self, node: Node) -> tuple[LevelFrequencies, Codes]:
        """The frequency set of a vector, and the class of each distinct record."""
        return self.rolls.rolled(self.rolls.distinct, self.rolls.distinct.columns, node)

    def classes(self, node: Node) -> _LevelClasses | None:
        """The classes of a level vector, or None if more would be left out than may be, or everybody."""
        rolls = self.rolls
        if not self.guards:
            made = self.sets.make(node)
            kept = made.weights >= self.k
            left = int(made.weights[~kept].sum())
        else:
            made, of = self.of(node)
            kept = made.weights >= self.k
            left = int(made.weights[~kept].sum())
            for rows, number in self._members(of[rolls.row_of], kept) if left <= self.budget else ():
                if not all(guard.allows(rows) for guard in self.guards):
                    kept[number] = False
                    left += rows.size
                    if left > self.budget:
                        break
        return _LevelClasses(made, kept) if left <= self.budget and kept.any() else None

    def _members(self, labels: Codes, kept: Flags) -> Iterator[tuple[NDArray[np.int32], int]]:
        order = np.argsort(labels, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(labels, minlength=kept.size))
        for number in np.flatnonzero(kept).tolist():
            yield order[(ends[number - 1] if number else 0) : ends[number]], number


class _LeastCost:
    """The allowed vector of least measure; of equal ones that of the smaller sum, then the earlier in order.

    Vectors are taken in the order of what they cost at least, until none that is left can cost less than the
    best; whether those are good is not asked. Without anyone left out and without guards every measure is
    monotone: then the best lies above no other good one.
    """

    def __init__(self, vectors: _LevelVectors, measure: str) -> None:
        self.vectors, self.cost = vectors, _Cost(vectors, measure)
        self.search = LatticeSearch(vectors.sets, vectors.k, vectors.budget)
        self.floors = self.cost.floors_of_all()
        self.monotone = not vectors.budget and not vectors.guards

    def found(self, progress: Progress) -> tuple[_LevelClasses, Node] | None:
        search = self.search
        best: tuple[Value, int, Node] | None = None
        of_best = None
        for node in self._in_order():
            if best is not None and (self.floors[node], sum(node), node) > best:
                break
            if search.unknown[node]:
                search.settle(node)
                progress(search.share())
            if not search.good[node] or (self.monotone and not search.is_minimal(node)):
                continue
            classes = self.vectors.classes(node)
            if classes is not None:
                this = (self.cost.of(classes, node), sum(node), node)
                if best is None or this < best:
                    best, of_best = this, (classes, node)
        return of_best

    def _in_order(self) -> Iterator[Node]:
        """All vectors by what they cost at least, then by their sums, then as they are numbered."""
        shape = self.floors.shape
        order = np.argsort(np.indices(shape).sum(axis=0), axis=None, kind="stable")
        order = order[np.argsort(self.floors.ravel()[order], kind="stable")]
        for start in range(0, order.size, AT_ONCE):
            places = np.unravel_index(order[start : start + AT_ONCE], shape)
            yield from zip(*(place.tolist() for place in places), strict=True)


class _Cost:
    """What a level vector costs, exactly, and a floor of it that needs no classes.

    Loss is counted in a unit of which all losses of whole columns are multiples. Where records may be left
    out, the cells of a range get narrower, so that ranges have no floor; all other columns cost at least what
    they cost with everybody, since nothing costs more than to be left out.
    """

    def __init__(self, vectors: _LevelVectors, measure: str) -> None:
        self.vectors, self.measure = vectors, measure
        rising = measure == "height"
        self.unit = 1
        self.floors = [[rising * h for h in range(ladder.height + 1)] for ladder in vectors.rolls.ladders]
        if measure == "loss":
            self._charge()

    def _charge(self) -> None:
        rolls = self.vectors.rolls
        everyone = [self._weights(j, rolls.distinct.weights) for j in range(len(rolls.ladders))]
        lost = [
            [ladder.lost(level, weight) for level in range(ladder.height + 1)]
            for ladder, weight in zip(rolls.ladders, everyone, strict=True)
        ]
        self.unit = lcm(*(share.denominator for column in lost for share in column))
        for j, (ladder, column) in enumerate(zip(rolls.ladders, lost, strict=True)):
            if not (self.vectors.budget and ladder.attribute.shape is Shape.RANGE):
                self.floors[j] = [int(share * self.unit) for share in column]

    def _weights(self, j: int, weights: Counts) -> Counts:
        """How many of the records have each code of a column."""
        rolls = self.vectors.rolls
        size = len(rolls.ladders[j].attribute)
        return np.bincount(rolls.distinct.rows[:, j], weights, size).astype(np.int64)  # exact below 2^53

    def floors_of_all(self) -> NDArray[np.object_]:
        """What each vector of the lattice costs at least, in whole numbers of any size."""
        found = np.zeros((), np.object_)
        for column in self.floors:
            found = np.add.outer(found, np.array(column, np.object_))
        return np.asarray(found)

    def floor(self, node: Node) -> int:
        return sum(column[level] for column, level in zip(self.floors, node, strict=True))

    def of(self, classes: _LevelClasses, node: Node) -> Value:
        sizes = classes.sizes[classes.kept]
        kept, everyone = int(sizes.sum()), self.vectors.rolls.records
        if self.measure == "discernibility":
            return int((sizes**2).sum()) + (everyone - kept) * everyone
        if self.measure == "classes":
            return Fraction(kept, sizes.size)
        if self.measure == "loss" and self.vectors.budget:
            return self._lost(classes, node)
        return self.floor(node)

    def _lost(self, classes: _LevelClasses, node: Node) -> Fraction:
        rolls = self.vectors.rolls
        left = rolls.records - int(classes.sizes[classes.kept].sum())
        weights: Counts | None = None  # of distinct records: cells of a range are as wide as what is in them
        total = Fraction(0)
        for j, (ladder, level) in enumerate(zip(rolls.ladders, node, strict=True)):
            if len(ladder.attribute) < 2:
                continue
            if ladder.attribute.shape is not Shape.RANGE:
                kept = classes.made.rows[classes.kept, j]
                total += left + ladder.lost_by_parts(level, kept, classes.sizes[classes.kept])
                continue
            if weights is None:
                weights = np.where(classes.kept[self.vectors.of(node)[1]], rolls.distinct.weights, 0)
            total += left + ladder.lost(level, self._weights(j, weights))
        return total * self.unit


def _partition(data: Microdata, rolls: Rolls, classes: _LevelClasses, node: Node) -> Partition:
    number = np.where(classes.kept, np.cumsum(classes.kept) - 1, -1).astype(np.int32)
    slabs = [
        np.unique(ladder.parts[level][data.codes[:, j]], return_inverse=True)[1]
        for j, (ladder, level) in enumerate(zip(rolls.ladders, node, strict=True))
    ]
    of = rolls.rolled(rolls.distinct, rolls.distinct.columns, node)[1]  # classes are numbered as first met
    return Partition(number[of[rolls.row_of]], np.stack(slabs, axis=1).astype(np.int32), node)
