"""k-join-anonymity: people of a public table stand in, so that groups get smaller boxes.

Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010. Everybody
hides among k people of whom some are not in the private table; that is safe as long as nobody knows which.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import EXTERNAL, Algorithm
from incrowd.algorithms.partitions.lexicographic import places_of
from incrowd.contracts import (
    AnyLimit,
    Choice,
    Guard,
    Limit,
    Partitioner,
    Progress,
    catalogue,
    need_enough,
    register,
    silent,
)
from incrowd.entropy import Entropy, shuffled, system
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata, Partition, records_by_label
from incrowd.policy.exposures import UNSAFE_OUTLINE, UNSAFE_TRIMMING, KnownExposure
from incrowd.schema import Shape

Ints = NDArray[np.int64]
TRIMS = ("none", "greedy", "exact")
MOST_BOXES = 100_000  # that are tried for one group; beyond that, one after the other is left out
BASES = ("mondrian", "mondrian-relaxed", "topdown", "agglomerative", "hilbert", "lexicographic")


@dataclass(frozen=True)
class KJoinAnonymization(Algorithm):
    """What both ways have in common: every group keeps at least k people, of either table.

    Parameters
    ----------
    base : str
        The partition that makes groups: a method that makes classes.
    trim : str
        ``none`` keeps all people of a group. ``exact`` and ``greedy`` leave out people of the public table to
        make boxes smaller, as printed: whoever knows the rule learns for certain that some are in the
        private table.
    """

    base: str = "mondrian"
    trim: str = "none"

    paper: ClassVar[str] = EXTERNAL
    behind: ClassVar[str] = "each row has its own person; rows of a class are equal, and shuffled"
    guarantee: ClassVar[str] = (
        "everyone's row equals those of at least k-1 other people, some of them of the public table"
    )
    adversary: ClassVar[str] = (
        "knows everyone's quasi-identifiers and the public table, but not who is in the private one"
    )
    needs: ClassVar[str] = (
        "a public table of real people with the same quasi-identifiers and ids; secret membership"
    )
    not_claimed: ClassVar[str] = (
        "anything against somebody who knows who is in the private table; that nobody's presence is "
        "guessed better than by chance; anything about two releases"
    )
    joins: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "base": Choice(BASES), "trim": Choice(TRIMS)}

    @property
    def printed(self) -> bool:
        return bool(self.exposures())

    def exposures(self) -> Mapping[KnownExposure, str]:
        return {} if self.trim == "none" else {UNSAFE_TRIMMING: 'leave trim = "none"'}

    def model_of_k(self, _accept: Sequence[str]) -> str:
        return "k-join-anonymity"

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Partition:
        """The groups of people of both tables; those of the public one who are not needed are in none."""
        base: Partitioner = catalogue("algorithm")[self.base](k=self.k)
        return self.grouped(data, base, guards, progress, entropy)

    def grouped(
        self,
        data: Microdata,
        base: Partitioner,
        guards: tuple[Guard, ...],
        progress: Progress,
        entropy: Entropy = system,
    ) -> Partition:
        """The same with any partition as base, whatever its options.

        People are mixed first: a base that breaks ties by their order would else put those of the private
        table, who stand first, together.
        """
        order, own = shuffled(len(data), entropy), _own(data)
        mixed = Microdata(data.codes[order], data.attributes, own=own[order])
        number = (np.cumsum(own) - 1)[order].astype(np.int32)
        partition = self._grouped(mixed, base, tuple(_Numbered(guard, number) for guard in guards), progress)
        back = np.argsort(order)
        buckets = None if partition.buckets is None else partition.buckets[back]
        return Partition(partition.labels[back], buckets=buckets)

    @abstractmethod
    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        """The algorithm. Guards take the places of private people among all."""

    def _finished(self, data: Microdata, labels: Codes, buckets: Codes | None) -> Partition:
        """Without groups of public people alone, and trimmed where that is asked for."""
        own = _own(data)
        with_own = np.zeros(int(labels.max()) + 1, np.bool_)
        with_own[labels[own]] = True
        number = np.where(with_own, np.cumsum(with_own) - 1, -1).astype(np.int32)
        kept = np.where(labels >= 0, number[labels], -1).astype(np.int32)
        if self.trim != "none":
            kept[trimmed(data, kept, self.k, self.trim)] = -1
        if buckets is None:
            return Partition(kept)
        return Partition(kept, buckets=np.where(kept >= 0, buckets, -1).astype(np.int32))


@register("algorithm", "kja-direct")
@dataclass(frozen=True)
class Direct(KJoinAnonymization):
    """Group the people of both tables as one, and leave out groups without anybody of the private one."""

    section: ClassVar[str] = "3 and 4, Direct"
    publishes: ClassVar[str] = (
        "for everyone of the private table, and those of the public one who stand in, the smallest "
        "box, node or set over their group; no sensitive values"
    )

    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        if guards:
            raise PolicyError("kja-direct publishes no sensitive values, so it keeps k alone; use kja-refine")
        need_enough(data, self.k)
        partition = base.group(Microdata(data.codes, data.attributes), (), progress)
        return self._finished(data, _labels(partition), None)


@register("algorithm", "kja-refine")
@dataclass(frozen=True)
class Refinement(KJoinAnonymization):
    """Make groups with k people of the private table, then group each again by k people of either.

    Parameters
    ----------
    first : str
        What the first groups are of. ``both`` tables, each group with k people of the private one: cuts are
        made where people of either table are. The ``private`` one alone, joined by the public people inside
        its boxes, as printed: nobody's box then is larger than without the public table, but boxes end
        where private people do, and whoever alone stands at an end is one of them.
    """

    first: str = "both"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **KJoinAnonymization.limits,
        "first": Choice(("both", "private")),
    }
    section: ClassVar[str] = "3 and 4, Refinement; l, which the paper leaves open"
    publishes: ClassVar[str] = (
        "the same, and sensitive values apart, by the groups of the private table alone"
    )
    buckets: ClassVar[bool] = True

    def exposures(self) -> Mapping[KnownExposure, str]:
        outline = {UNSAFE_OUTLINE: 'leave first = "both"'} if self.first == "private" else {}
        return {**super().exposures(), **outline}

    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        own = np.flatnonzero(_own(data)).astype(np.int32)
        private = Microdata(data.codes[own], data.attributes)
        need_enough(private, self.k)
        if self.first == "both":
            enough = _EnoughOwn(_own(data), self.k, guards)
            home = _labels(base.group(Microdata(data.codes, data.attributes), (enough,), silent))
        else:
            asked = tuple(_Numbered(guard, own) for guard in guards)
            home = _around(data, private, _labels(base.group(private, asked, silent)))
        progress(0.4)
        labels = self._divided(data, home, base, progress)
        return self._finished(data, labels, home)

    def _divided(self, data: Microdata, home: Codes, base: Partitioner, progress: Progress) -> Codes:
        """The groups of each group, where people of the public table joined it."""
        groups = records_by_label(home)
        labels = np.full(len(data), -1, np.int32)
        met = 0
        own = _own(data)
        for done, people in enumerate(groups):
            found = np.zeros(people.size, np.int32)
            if not own[people].all() and people.size >= 2 * self.k:
                found = _labels(base.group(Microdata(data.codes[people], data.attributes), (), silent))
            labels[people] = met + found
            met += int(found.max()) + 1
            progress(0.4 + 0.6 * (done + 1) / len(groups))
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class _Numbered:
    """A guard that sees other numbers: row i is ``number[i]`` to it."""

    guard: Guard
    number: Codes

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.guard.allows(self.number[rows])


@dataclass(frozen=True, slots=True, eq=False)
class _EnoughOwn:
    """A group must hold k people of the private table, and these must keep what guards ask."""

    own: NDArray[np.bool_]
    k: int
    guards: tuple[Guard, ...]

    def allows(self, rows: NDArray[np.int32]) -> bool:
        mine = rows[self.own[rows]]
        return mine.size >= self.k and all(guard.allows(mine) for guard in self.guards)


def _around(data: Microdata, private: Microdata, groups: Codes) -> Codes:
    """The groups of private people, joined by each public one inside the box of one; -1 for the others."""
    own = _own(data)
    home = np.full(len(data), -1, np.int32)
    home[own] = groups
    home[~own] = GroupBoxes.over(private, groups).holding(data.codes[~own])
    return home


def _own(data: Microdata) -> NDArray[np.bool_]:
    return np.ones(len(data), np.bool_) if data.own is None else data.own


def _labels(partition: Partition) -> Codes:
    if partition.slabs is not None:
        raise PolicyError("a base of k-join-anonymity must make groups, each with a box of its own")
    return partition.labels


@dataclass(frozen=True, slots=True, eq=False)
class GroupBoxes:
    """The smallest boxes over groups: bounds (g, d) of codes, whether missing is inside, members of sets.

    ``gap[j]`` is the code of missing in column j, -1 where it is a value like others.
    ``named[g, first[j] + c]`` says for a column of sets that its value c is in group g; other columns have
    first[j] = -1.
    """

    low: Codes
    high: Codes
    gaps: NDArray[np.bool_]
    gap: Ints
    named: NDArray[np.bool_]
    first: Ints

    @classmethod
    def over(cls, data: Microdata, labels: Codes) -> GroupBoxes:
        from incrowd.kernels import kja as kernels

        groups, d = int(labels.max()) + 1, len(data.attributes)
        sets = np.array([attribute.shape is Shape.SET for attribute in data.attributes])
        starts = np.cumsum([0, *np.where(sets, [len(attribute) for attribute in data.attributes], 0)])
        first = np.where(sets, starts[:-1], -1)
        gap = np.where(sets, -1, [-1 if a.missing_in_tree else a.missing for a in data.attributes])
        low, high = np.full((groups, d), 2**31 - 1, np.int32), np.full((groups, d), -1, np.int32)
        gaps, named = np.zeros((groups, d), np.bool_), np.zeros((groups, int(starts[-1])), np.bool_)
        kernels.bounds_of_groups(data.codes, labels, gap, low, high, gaps)
        for j in np.flatnonzero(sets).tolist():
            named[labels, starts[j] + data.codes[:, j]] = True
        return cls(low, high, gaps, gap.astype(np.int64), named, first.astype(np.int64))

    def holding(self, codes: Codes) -> Codes:
        """The first box that holds each of these people (m,), -1 if none does."""
        from incrowd.kernels import kja as kernels

        by, starts, listed = self._shortest_lists(codes)
        found = np.full(len(codes), -1, np.int32)
        boxes = kernels.HeldCodes(self.low, self.high, self.gaps, self.gap, self.named, self.first)
        kernels.first_holders(codes, by, starts, listed, boxes, found)
        return found

    def _shortest_lists(self, codes: Codes) -> tuple[int, Ints, Codes]:
        """The column by which fewest boxes must be tried, and the boxes that hold each of its codes."""
        from incrowd.kernels import kja as kernels

        d = self.low.shape[1]
        counts = [self._holders(j, int(codes[:, j].max(initial=-1)) + 1) for j in range(d)]
        by = int(np.argmin([held[codes[:, j]].sum() for j, held in enumerate(counts)])) if len(codes) else 0
        starts = np.concatenate([[0], counts[by]]).astype(np.int64)
        low, high = self.low[:, by], np.minimum(self.high[:, by], counts[by].size - 1)
        listed = np.empty(int(starts.sum()), np.int32)
        kernels.list_groups(low, high, starts, listed)
        return by, starts, listed

    def _holders(self, j: int, size: int) -> Ints:
        """How many boxes hold each code below `size` of column j, by their bounds alone."""
        change = np.zeros(size + 1, np.int64)
        real = self.low[:, j] <= np.minimum(self.high[:, j], size - 1)
        np.add.at(change, self.low[real, j], 1)
        np.add.at(change, np.minimum(self.high[real, j], size - 1) + 1, -1)
        return np.cumsum(change)[:-1]


def trimmed(data: Microdata, labels: Codes, k: int, how: str) -> Ints:
    """The people of the public table to be left out of their groups, so that boxes get smaller.

    The paper's form only (section 4). A group that stayed large, or a box that was not made smaller, proves
    that whoever stands at its border is in the private table.
    """
    own = _own(data)
    places = np.column_stack([p[data.codes[:, j]] for j, p in enumerate(places_of(data))]).astype(np.int64)
    gone = []
    for people in records_by_label(labels):
        others = people[~own[people]]
        if others.size and people.size > k:
            kept = kept_of(places[people[own[people]]], places[others], k, how)
            gone.append(np.delete(others, kept))
    return np.concatenate(gone) if gone else np.empty(0, np.int64)


def kept_of(own: Ints, others: Ints, k: int, how: str) -> list[int]:
    """Which of the others (e, d) stay with the own people (m, d), so that there are k and the box is small.

    Examples
    --------
    >>> others = np.array([[0, 5], [3, 2], [4, 3]])
    >>> kept_of(np.array([[1, 5]]), others, 2, "exact"), kept_of(np.array([[1, 5]]), others, 2, "greedy")
    ([0], [2])
    """
    sides = [_sides(own[:, j], others[:, j]) for j in range(own.shape[1])]
    boxes = np.prod([float(len(lows) * len(highs)) for lows, highs in sides])
    if how == "exact" and boxes <= MOST_BOXES:
        return _smallest(own, others, k, sides)
    return _one_after_the_other(own, others, k)


def _sides(own: Ints, others: Ints) -> tuple[list[int], list[int]]:
    """Where a box may begin and end in one column: it holds all own people."""
    low, high = int(own.min()), int(own.max())
    values = set(others.tolist())
    return sorted({low, *(v for v in values if v < low)}), sorted({high, *(v for v in values if v > high)})


def _smallest(own: Ints, others: Ints, k: int, sides: list[tuple[list[int], list[int]]]) -> list[int]:
    """Of all boxes with enough people the one with the least perimeter, of equals that with most people."""
    best: tuple[int, int] | None = None
    kept: list[int] = []
    for box in product(*(product(lows, highs) for lows, highs in sides)):
        width = sum(high - low for low, high in box)
        if best is not None and width > best[0]:
            continue
        low, high = np.array(box).T
        inside = np.flatnonzero(((others >= low) & (others <= high)).all(axis=1))
        score = (width, -inside.size)
        if len(own) + inside.size >= k and (best is None or score < best):
            best, kept = score, inside.tolist()
    return kept


def _one_after_the_other(own: Ints, others: Ints, k: int) -> list[int]:
    """While there are more than k, leave out whoever makes the box smallest, the first of equals."""
    kept = list(range(len(others)))
    while len(own) + len(kept) > k and kept:
        saved = _saved(own, others[kept])
        best = int(np.argmax(saved))
        if saved[best] == 0:
            break
        del kept[best]
    return kept


def _saved(own: Ints, others: Ints) -> Ints:
    """By how much the box gets narrower without each of the others, summed over columns."""
    people = np.concatenate([own, others])
    saved = np.zeros(len(others), np.int64)
    for j in range(people.shape[1]):
        column = np.sort(people[:, j])
        if column.size < 2:
            continue
        saved += np.where(others[:, j] == column[0], column[1] - column[0], 0)
        saved += np.where(others[:, j] == column[-1], column[-1] - column[-2], 0)
    return saved
