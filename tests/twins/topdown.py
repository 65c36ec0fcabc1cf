"""TopDown in plain Python and without incrowd: the definition, looking at all groups every time.

Points and axes are those of `ordering`, with one more: ("gapped", numbers), whose code 0 is missing and lies
one mean gap below the smallest number. The NCP of a group is its size times its perimeter: the sum of the
widths of its box, each as a fraction of its domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from twins.ordering import Axis, Point, domain

Group = list[int]


def shares(axis: Axis) -> list[Fraction]:
    """Where codes lie, as fractions of the domain."""
    kind, about = axis
    if kind == "gapped":
        numbers = [Fraction(x) for x in about]
        at = [numbers[0] - (numbers[-1] - numbers[0]) / len(numbers), *numbers]
        if at[-1] == at[0]:  # one number: missing lies a step below it
            at[0] -= 1
    else:
        at = [Fraction(x) for x in (about if kind == "range" else range(domain(axis)))]
    wide = at[-1] - at[0]
    return [(each - at[0]) / wide if wide else Fraction(0) for each in at]


class Twin:
    """One table with its options."""

    def __init__(
        self,
        points: Sequence[Point],
        axes: Sequence[Axis],
        k: int,
        assign: str = "weighted",
        seeds: str = "heuristic",
    ) -> None:
        where = [shares(axis) for axis in axes]
        self.at = [tuple(where[j][code] for j, code in enumerate(point)) for point in points]
        self.k, self.assign, self.seeds = k, assign, seeds

    def perimeter(self, members: Sequence[int]) -> Fraction:
        columns = zip(*(self.at[i] for i in members), strict=True)
        return sum((max(column) - min(column) for column in columns), Fraction(0))

    def ncp(self, *groups: Sequence[int]) -> Fraction:
        return sum((len(members) * self.perimeter(members) for members in groups), Fraction(0))

    # Splitting

    def far_pair(self, members: Group) -> tuple[int, int]:
        """The seeds, the smaller index first."""
        if self.seeds == "exact":
            return max(combinations(members, 2), key=lambda pair: (self.perimeter(pair), -pair[0], -pair[1]))
        v = members[0]
        for _ in range(3):
            u = v
            v = max(members, key=lambda i: (self.perimeter([u, i]), -i))
        return min(u, v), max(u, v)

    def growth(self, group: Group, record: int) -> Fraction:
        if self.assign == "printed":
            return self.perimeter([*group, record]) - self.perimeter(group)
        return self.ncp([*group, record]) - self.ncp(group)

    def halves(self, members: Group) -> tuple[Group, Group]:
        first, second = self.far_pair(members)
        one, two = [first], [second]
        for i in members:
            if i not in (first, second):
                (one if self.growth(one, i) <= self.growth(two, i) else two).append(i)
        return sorted(one), sorted(two)

    def split(self, members: Group) -> list[Group]:
        """The groups of the first phase, from left to right."""
        if len(members) <= self.k:
            return [members]
        if self.perimeter(members) == 0:
            pieces = len(members) // self.k
            borders = [*(self.k * p for p in range(pieces)), len(members)]
            return [members[borders[p] : borders[p + 1]] for p in range(pieces)]
        one, two = self.halves(members)
        return self.split(one) + self.split(two)

    # Mending

    def mended(self, groups: list[Group], merge: str, resplit: bool) -> list[Group]:
        while min(map(len, groups)) < self.k:
            small = min(groups, key=lambda g: (len(g), min(g)))
            others = [g for g in groups if g is not small]
            other = min(others, key=lambda g: (self.dearer(small, g), min(g)))
            taking = self.taken(small, others) if merge == "both" else None
            if taking is not None:
                donor, full, rest = taking
                if self.ncp(full, rest) - self.ncp(small, donor) < self.dearer(small, other):
                    groups = [*(g for g in others if g is not donor), full, rest]
                    continue
            union = sorted(small + other)
            parts = self.again(union) if resplit and len(union) >= 2 * self.k else [union]
            groups = [*(g for g in others if g is not other), *parts]
        return groups

    def dearer(self, one: Group, two: Group) -> Fraction:
        return self.ncp(one + two) - self.ncp(one) - self.ncp(two)

    def filled(self, small: Group, pool: Group) -> tuple[Group, Group]:
        """A group with k records, and what is left of the pool it took from."""
        while len(small) < self.k:
            best = min(pool, key=lambda i: (self.perimeter([*small, i]), i))
            small, pool = [*small, best], [i for i in pool if i != best]
        return sorted(small), pool

    def taken(self, small: Group, others: list[Group]) -> tuple[Group, Group, Group] | None:
        """The donor whose records keep the NCP of the filled group smallest, that group, and the rest."""
        donors = [g for g in others if len(g) >= 2 * self.k - len(small)]
        if not donors:
            return None
        donor = min(donors, key=lambda g: (self.perimeter(self.filled(small, g)[0]), min(g)))
        return (donor, *self.filled(small, donor))

    def again(self, union: Group) -> list[Group]:
        """A group of 2k or more in two, if that costs less."""
        if self.perimeter(union) == 0:
            return [union]
        small, large = sorted(self.halves(union), key=len)
        small, large = self.filled(small, large)
        return [small, large] if self.ncp(small, large) < self.ncp(union) else [union]

    def guarded(self, groups: list[Group], allows: Callable[[Group], bool]) -> list[Group]:
        """Merge each group that is not allowed with the cheapest other one, by smallest record."""
        wrong = sorted((g for g in groups if not allows(g)), key=min)
        while wrong and len(groups) > 1:
            this = wrong.pop(0)
            others = [g for g in groups if g is not this]
            other = min(others, key=lambda g: (self.dearer(this, g), min(g)))
            union = sorted(this + other)
            groups = [*(g for g in others if g is not other), union]
            wrong = [*([] if allows(union) else [union]), *(g for g in wrong if g is not other)]
        return groups


def topdown(
    points: Sequence[Point],
    axes: Sequence[Axis],
    k: int,
    assign: str = "weighted",
    seeds: str = "heuristic",
    merge: str = "both",
    resplit: bool = True,
) -> set[frozenset[int]]:
    """The groups of records."""
    twin = Twin(points, axes, k, assign, seeds)
    return {frozenset(g) for g in twin.mended(twin.split(list(range(len(points)))), merge, resplit)}
