"""Permissible sets: which generalised values a column may take, where they form no tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

from incrowd.errors import HierarchyError

Member = TypeVar("Member", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Family(Generic[Member]):
    """The permissible sets of one column: all singletons, the whole domain, and what was given.

    Every set of values has one smallest permissible superset exactly if the family is closed under
    non-empty intersection; otherwise the result would depend on the order of the work.

    Examples
    --------
    >>> family = Family.of("abc", [{"a", "b"}])
    >>> sorted(family.closure({"a"})), sorted(family.closure({"a", "c"}))
    (['a'], ['a', 'b', 'c'])
    """

    domain: frozenset[Member]
    members: frozenset[frozenset[Member]]

    @classmethod
    def of(
        cls,
        domain: Iterable[Member],
        subsets: Iterable[Iterable[Member]],
        complete: bool = False,
        column: str = "",
    ) -> Family[Member]:
        """Check the family; with `complete`, add the intersections that it lacks instead of refusing."""
        whole = frozenset(domain)
        given = {frozenset(subset) for subset in subsets}
        where = f"the family of {column}" if column else "the family"
        if any(not subset or not subset <= whole for subset in given):
            raise HierarchyError(f"{where} has a set that is empty or holds a value outside the domain")
        members = given | {whole} | {frozenset({value}) for value in whole}
        lacking = _lacking_intersections(members)
        if lacking and not complete:
            raise HierarchyError(
                f"{where} lacks {len(lacking)} intersections of its sets, so a smallest permissible "
                "set is not always unique; add them, or say complete = true"
            )
        while lacking:
            members |= lacking
            lacking = _lacking_intersections(members)
        return cls(whole, frozenset(members))

    @property
    def laminar(self) -> bool:
        """Do any two sets nest or keep apart, so that the family is a tree?"""
        large = [member for member in self.members if len(member) > 1]
        return all(a <= b or b <= a or not a & b for a in large for b in large)

    def closure(self, values: Iterable[Member]) -> frozenset[Member]:
        """The smallest permissible set that holds all values."""
        wanted = frozenset(values)
        if not wanted or not wanted <= self.domain:
            raise HierarchyError("only a set of one or more values of the domain has a smallest superset")
        return min((member for member in self.members if wanted <= member), key=len)


def _lacking_intersections(members: set[frozenset[Member]]) -> set[frozenset[Member]]:
    large = [member for member in members if len(member) > 1]  # a singleton cuts nothing new out of a set
    return {a & b for a, b in combinations(large, 2) if a & b} - members
