"""Incognito: every column at one level of its hierarchy for all records, and of all such recodings the best.

Level vectors form a lattice. Whether a vector leaves few enough records in small classes is monotone: lifting
a column only merges classes, and who is in a class of k stays in one. So what lies above a vector that is
good is good, and what lies below one that is not is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import OUTLIERS, Algorithm, need_enough
from incrowd.algorithms.partitions.levels import Counts, Frequencies, Node, Rolls
from incrowd.algorithms.partitions.rollups import RollUps
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Series, Share, exact, register
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress, silent
from incrowd.schema import Shape

MEASURES = ("loss", "discernibility", "classes", "height")
MOST_NODES = 1_000_000

Flags = NDArray[np.bool_]
Value = Fraction | int


@dataclass(frozen=True, slots=True)
class Explored:
    """The lattice of a table: which level vectors are k-anonymous.

    ``heights`` are the highest levels, ``anonymous`` all vectors that keep k in lexicographic order,
    ``minimal`` those that lie above no other of them, ``nodes`` how many vectors there are, and ``checked``
    of how many classes were counted.
    """

    heights: Node
    anonymous: tuple[Node, ...]
    minimal: tuple[Node, ...]
    nodes: int
    checked: int


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
    return _LatticeSearch(RollUps(Rolls(data)), k, recipe.budget(len(data))).explored(progress)


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
        "levels": Series(0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", Series.read(self.levels))

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
        explored = _LatticeSearch(vectors.sets, self.k, vectors.budget).explored(progress)
        # Without anyone left out and without guards every measure is monotone: then the best is minimal.
        free = not vectors.budget and not vectors.guards
        found = _best(vectors, explored.minimal if free else explored.anonymous, self.measure)
        if found is None:
            raise Infeasible(f"even with every column at its highest level {self._too_many(vectors)}")
        return found

    def _too_many(self, vectors: _LevelVectors) -> str:
        return (
            "classes that are too small or keep less than asked for have more records than may be suppressed "
            f"(max_suppression = {self.max_suppression}: {vectors.budget} of {vectors.rolls.records})"
        )


class _LatticeSearch:
    """Chains of vectors, each lifted from the one before, are searched by halves.

    What lies above a good vector is good, and what lies below a bad one is bad: neither is counted. A vector
    of fewer columns is one of all columns with the others at their highest level, so it needs no search of
    its own.
    """

    def __init__(self, sets: RollUps, k: int, budget: int) -> None:
        self.sets, self.k, self.budget = sets, k, budget
        self.records = sets.rolls.records
        self.shape = tuple(ladder.height + 1 for ladder in sets.rolls.ladders)
        self.checked = 0
        if prod(self.shape) > MOST_NODES:
            raise PolicyError(
                f"there are {prod(self.shape)} ways to choose a level for each of {len(self.shape)} columns, "
                f"more than {MOST_NODES}; give hierarchies with fewer levels, or name the levels"
            )
        self.unknown, self.good = np.ones(self.shape, np.bool_), np.zeros(self.shape, np.bool_)

    def explored(self, progress: Progress) -> Explored:
        vectors = np.argwhere(self.unknown)
        for node in map(tuple, vectors[np.argsort(vectors.sum(axis=1), kind="stable")].tolist()):
            if self.unknown[node]:
                self._halve(self._chain(node))
                progress(1 - np.count_nonzero(self.unknown) / self.unknown.size)
        return Explored(
            tuple(length - 1 for length in self.shape),
            _nodes(self.good),
            _nodes(_lowest(self.good)),
            self.good.size,
            self.checked,
        )

    def _chain(self, node: Node) -> list[Node]:
        """Vectors from this one upwards, as long as one is unknown; the column that is lowest is lifted."""
        chain = [node]
        while True:
            above = [
                (level / (length - 1), j)
                for j, (level, length) in enumerate(zip(node, self.shape, strict=True))
                if level + 1 < length and self.unknown[(*node[:j], level + 1, *node[j + 1 :])]
            ]
            if not above:
                return chain
            j = min(above)[1]
            node = (*node[:j], node[j] + 1, *node[j + 1 :])
            chain.append(node)

    def _halve(self, chain: list[Node]) -> None:
        """Find the lowest good vector of a chain, and what follows from it and from those below."""
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self._is_good(chain[middle]):
                above = tuple(slice(level, None) for level in chain[middle])
                self.good[above], self.unknown[above], high = True, False, middle
            else:
                below = tuple(slice(None, level + 1) for level in chain[middle])
                self.unknown[below], low = False, middle + 1

    def _is_good(self, node: Node) -> bool:
        self.checked += 1
        weights = self.sets.make(node).weights
        small = int(weights[weights < self.k].sum())
        return small <= self.budget and small < self.records


def _nodes(flags: Flags) -> tuple[Node, ...]:
    return tuple(map(tuple, np.argwhere(flags).tolist()))


def _lowest(flags: Flags) -> Flags:
    """Those that are set and have none set just below; what is set is closed upwards."""
    lowest = flags.copy()
    for axis in range(flags.ndim):
        above = [slice(None)] * flags.ndim
        above[axis] = slice(1, None)
        under = [slice(None)] * flags.ndim
        under[axis] = slice(None, -1)
        lowest[tuple(above)] &= ~flags[tuple(under)]
    return lowest


@dataclass(frozen=True, slots=True, eq=False)
class _LevelClasses:
    """The classes of a level vector with their sizes, and which of them have rows."""

    made: Frequencies
    kept: Flags

    @property
    def sizes(self) -> Counts:
        return self.made.weights


class _LevelVectors:
    """Level vectors under everything that was asked for."""

    def __init__(self, rolls: Rolls, k: int, budget: int, guards: tuple[Guard, ...]) -> None:
        self.rolls, self.k, self.budget, self.guards = rolls, k, budget, guards
        self.sets = RollUps(rolls)

    def of(self, node: Node) -> tuple[Frequencies, Codes]:
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


def _best(vectors: _LevelVectors, nodes: Sequence[Node], measure: str) -> tuple[_LevelClasses, Node] | None:
    """The allowed vector of least measure; of equal ones that of the smaller sum, then the earlier in order.

    Vectors are tried in the order of what they cost at least, until none that is left can cost less.
    """
    cost = _Cost(vectors, measure)
    best: tuple[Value, int, Node] | None = None
    found = None
    for floor, height, node in sorted((cost.floor(node), sum(node), node) for node in nodes):
        if best is not None and (floor, height, node) > best:
            break
        classes = vectors.classes(node)
        if classes is not None:
            this = (cost.of(classes, node), height, node)
            if best is None or this < best:
                best, found = this, (classes, node)
    return found


class _Cost:
    """What a level vector costs, exactly, and a floor of it that needs no classes.

    Loss is counted in a unit of which all losses of whole columns are multiples. Where records may be left
    out, the cells of a range get narrower, so that ranges have no floor; all other columns cost at least what
    they cost with everybody, since nothing costs more than to be left out.
    """

    def __init__(self, vectors: _LevelVectors, measure: str) -> None:
        self.vectors, self.measure = vectors, measure
        self.unit, self.floors = 1, [[0] * (ladder.height + 1) for ladder in vectors.rolls.ladders]
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

    def floor(self, node: Node) -> int:
        if self.measure == "height":
            return sum(node)
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
