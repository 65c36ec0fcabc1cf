"""k-join-anonymity: people of a public table stand in, so that groups get smaller boxes.

Sacharidis, Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010. Everybody
hides among k people of whom some are not in the private table; that is safe as long as nobody knows which.

Whoever re-runs the program on every candidate for the private table must not find out, either. So classes are
made without a look at who is private, or follow from numbers that are published.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import EXTERNAL, Algorithm, all_methods, method, need_enough
from incrowd.algorithms.kja_printed import trimmed
from incrowd.algorithms.partitions.mondrian import Mondrian, MondrianRun, StrictMondrian
from incrowd.assign import Entropy, shuffled, system
from incrowd.contracts import AnyLimit, Choice, Guard, Limit, Partitioner, Share, SizedGuard, exact, register
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress, silent
from incrowd.policy.exposures import UNSAFE_TRIMMING, KnownExposure

Ints = NDArray[np.int64]
TRIMS = ("none", "greedy", "exact")
LEAST_TOGETHER = 2  # private people of a class whose values are published
CUTTING = ("mondrian", "mondrian-relaxed")
BASES = (*CUTTING, "cells", "topdown", "agglomerative", "forest", "hilbert", "lexicographic")


@dataclass(frozen=True)
class KJoinAnonymization(Algorithm):
    """What all ways have in common: every group keeps at least k people, of either table.

    Parameters
    ----------
    base : str
        The partition that makes groups: a method that makes classes.
    """

    base: str = "mondrian"

    paper: ClassVar[str] = EXTERNAL
    behind: ClassVar[str] = "each row has its own person; rows of a class are equal, and shuffled"
    guarantee: ClassVar[str] = (
        "everyone's row equals those of at least k-1 other people, some of them of the public table, and "
        "nobody of a class is likelier to be private than another, even if the program is re-run"
    )
    adversary: ClassVar[str] = (
        "knows everyone's quasi-identifiers and the public table, but not who is in the private one; re-runs "
        "the program"
    )
    needs: ClassVar[str] = (
        "a public table of real people with the same quasi-identifiers and ids, which has everybody of the "
        "private one; secret membership"
    )
    not_claimed: ClassVar[str] = (
        "anything against somebody who knows who is in the private table; that nobody's presence is "
        "guessed better than by chance; anything about two releases"
    )
    joins: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "base": Choice(BASES)}

    def __post_init__(self) -> None:
        if isinstance(self.base, str) and self.base not in BASES:
            _refuse_base(self.name, self.base)
        super().__post_init__()
        _ = self._partitioner  # a base that takes no such k is refused before a table is read

    @cached_property
    def _partitioner(self) -> Any:
        return method(self.base)(k=self.k)

    @property
    def printed(self) -> bool:
        return bool(self.exposures())

    def model_of_k(self, _accept: Sequence[str]) -> str:
        return "k-join-anonymity"

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Partition:
        """The groups of people of both tables; those of the public one who are not needed are in none."""
        return self.grouped(data, self._partitioner, guards, progress, entropy)

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
        order, own = shuffled(len(data), entropy), own_people(data)
        mixed = Microdata(data.codes[order], data.attributes, own=own[order])
        number = (np.cumsum(own) - 1)[order].astype(np.int32)
        partition = self._grouped(mixed, base, tuple(numbered(guard, number) for guard in guards), progress)
        back = np.argsort(order)
        buckets = None if partition.buckets is None else partition.buckets[back]
        return Partition(partition.labels[back], buckets=buckets)

    @abstractmethod
    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        """The algorithm. Guards take the places of private people among all."""


@dataclass(frozen=True)
class Trimming(KJoinAnonymization):
    """With the paper's trimming as an option.

    Parameters
    ----------
    trim : str
        ``none`` keeps all people of a group. ``exact`` and ``greedy`` leave out people of the public table to
        make boxes smaller, as printed: whoever knows the rule learns for certain that some are in the
        private table.
    """

    trim: str = "none"
    limits: ClassVar[Mapping[str, AnyLimit]] = {**KJoinAnonymization.limits, "trim": Choice(TRIMS)}

    def exposures(self) -> Mapping[KnownExposure, str]:
        return {} if self.trim == "none" else {UNSAFE_TRIMMING: 'leave trim = "none"'}

    def _finished(self, data: Microdata, labels: Codes, buckets: Codes | None) -> Partition:
        """Without groups of public people alone, and trimmed where that is asked for."""
        own = own_people(data)
        kept = with_private_people(labels, own)
        if self.trim != "none":
            kept[trimmed(data, own, kept, self.k, self.trim)] = -1
        if buckets is None:
            return Partition(kept)
        return Partition(kept, buckets=np.where(kept >= 0, buckets, -1).astype(np.int32))


@register("algorithm", "kja-direct")
@dataclass(frozen=True)
class Direct(Trimming):
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
        return self._finished(data, group_labels(partition), None)


@register("algorithm", "kja-refine")
@dataclass(frozen=True)
class Refinement(KJoinAnonymization):
    """Group the people of both tables as one; publish how many of each group are private, and values.

    Groups do not depend on who is private, and numbers are published. So everything that is derived from
    quasi-identifiers and these numbers alone, as the groups of sensitive values are, discloses nothing more.

    Parameters
    ----------
    presence : str
        The largest share that private people may have in a group, and so the largest probability with which
        somebody is found to be in the private table. ``1`` leaves groups as small as k allows. Below it a
        group of n private people is cut only where both sides have n / presence people.
    """

    presence: str | float = "1"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **KJoinAnonymization.limits,
        "presence": Share(Fraction(0), Fraction(1)),
    }
    section: ClassVar[str] = "3 and 4; groups that follow from published numbers, and l, which it leaves open"
    publishes: ClassVar[str] = (
        "the same as kja-direct, how many people of each group are private, and sensitive values apart, by "
        "larger groups"
    )
    buckets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._of_values
        if self.most_present < 1 and self.base not in CUTTING:
            raise PolicyError(f"kja-refine: presence below 1 needs base = {' or '.join(CUTTING)}")

    @cached_property
    def _of_values(self) -> Mondrian:
        """What cuts classes into groups of sensitive values."""
        return StrictMondrian(self.k)

    @property
    def most_present_share(self) -> str:
        return str(self.presence)

    @cached_property
    def most_present(self) -> Fraction:
        return exact(self.presence)

    def _grouped(
        self, data: Microdata, base: Partitioner, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition:
        own = own_people(data)
        need_enough(Microdata(data.codes[own], data.attributes), self.k)
        labels = with_private_people(self._classes(data, base, progress), own)
        classes = ClassCounts.of(labels, own)
        groups = self._groups_of_values(data, classes, guards)
        return Partition(labels, buckets=np.where(labels >= 0, groups[labels], -1).astype(np.int32))

    def _classes(self, data: Microdata, base: Partitioner, progress: Progress) -> Codes:
        """Blind to who is private, or cut by the numbers of private people that are published."""
        blind = Microdata(data.codes, data.attributes)
        share, own = self.most_present, own_people(data)
        if share == 1:
            return group_labels(base.group(blind, (), progress))
        if int(own.sum()) > share * len(data):
            raise Infeasible(
                f"{int(own.sum())} of {len(data)} people are in the private table, more than presence = "
                f"{self.presence} allows; raise it, or join a longer public table"
            )
        if not isinstance(base, Mondrian):
            raise PolicyError(f"kja-refine: presence below 1 needs base = {' or '.join(CUTTING)}")

        def need(people: NDArray[np.int32]) -> int:
            private = int(own[people].sum())
            return max(self.k, -(-private * share.denominator // share.numerator))

        return MondrianRun(base, blind).by_need(need, (), progress)

    def _groups_of_values(self, data: Microdata, classes: ClassCounts, guards: tuple[Guard, ...]) -> Codes:
        """For each class the group that its sensitive values are published in.

        Classes are cut apart by where they lie and how many private people each has. What is cut, both sides
        have k of these, and as many as keep l whichever values they have: so a cut follows from what is
        published. A guard that must see the values of both sides vetoes the cut, and no other is tried.
        """
        sized = [guard for guard in guards if isinstance(guard, SizedGuard)]
        others = tuple(_OfClasses(guard, classes) for guard in guards if not isinstance(guard, SizedGuard))

        def need(which: NDArray[np.int32]) -> int:
            people = classes.private_of(which) if sized else np.zeros(0, np.int32)
            return max(self.k, *(guard.enough(people) for guard in sized), 0)

        places = Microdata(classes.middles(data), data.attributes)
        return MondrianRun(self._of_values, places).by_need(need, others, silent, classes.private)


def _refuse_base(name: str, base: str) -> None:
    """Say of a method why it is no base; of what is no method the limits say enough."""
    chosen = all_methods().get(base)
    if chosen is None:
        return
    if chosen.needs_plain:
        why = "groups people by their sensitive values, which people of the public table do not have"
    elif chosen.overlapping:
        why = "makes no equivalence classes"
    elif chosen.joins:
        why = "takes a public table itself"
    elif chosen.needs_l or chosen.transparent:
        why = "is there for sensitive values, which people of the public table do not have"
    else:
        why = "publishes more than its classes, or makes them by the time that it has"
    raise PolicyError(f"{name}: {base} cannot be the base, because it {why}; take {_any_of(BASES)}")


def _any_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def own_people(data: Microdata) -> NDArray[np.bool_]:
    """Who is of the private table; everybody where no public one is joined."""
    return np.ones(len(data), np.bool_) if data.own is None else data.own


@dataclass(frozen=True, slots=True, eq=False)
class _Numbered:
    """A guard that sees other numbers: row i is ``number[i]`` to it."""

    guard: Guard
    number: Codes

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.guard.allows(self.number[rows])


@dataclass(frozen=True, slots=True, eq=False)
class _SizedNumbered(_Numbered):
    """The same of a guard that says how many are enough."""

    guard: SizedGuard

    def enough(self, rows: NDArray[np.int32]) -> int:
        return self.guard.enough(self.number[rows])


def numbered(guard: Guard, number: Codes) -> Guard:
    return _SizedNumbered(guard, number) if isinstance(guard, SizedGuard) else _Numbered(guard, number)


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """The classes of a partition of people: who is in each, how many, and how many of them are private.

    Those of class c are ``members[starts[c]:starts[c+1]]``, private people first.
    """

    members: Ints
    starts: Ints
    people: Codes
    private: Codes

    @classmethod
    def of(cls, labels: Codes, own: NDArray[np.bool_]) -> ClassCounts:
        """Of classes numbered from 0 without gaps; -1 are people in none.

        Examples
        --------
        >>> found = ClassCounts.of(np.array([1, 0, -1, 0, 1]), np.array([True, True, False, False, True]))
        >>> found.people.tolist(), found.private.tolist(), found.private_of(np.array([0])).tolist()
        ([2, 2], [1, 2], [1])
        """
        kept = np.flatnonzero(labels >= 0)
        members = kept[np.lexsort((~own[kept], labels[kept]))]
        people = np.bincount(labels[kept]).astype(np.int32)
        private = np.bincount(labels[own], minlength=people.size).astype(np.int32)
        return cls(members, np.concatenate([[0], np.cumsum(people)]), people, private)

    def private_of(self, which: NDArray[np.int32]) -> NDArray[np.int32]:
        """The private people of some classes."""
        spans = [self.members[self.starts[c] : self.starts[c] + self.private[c]] for c in which.tolist()]
        return np.concatenate(spans).astype(np.int32)

    def middles(self, data: Microdata) -> Codes:
        """The middle of the box of each class, over all its people (classes, d)."""
        codes, first = data.codes[self.members], self.starts[:-1]
        low, high = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
        return ((low + high) // 2).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _OfClasses:
    """A guard that is asked about classes: about all their private people."""

    guard: Guard
    classes: ClassCounts

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.guard.allows(self.classes.private_of(rows))


def with_private_people(labels: Codes, own: NDArray[np.bool_]) -> Codes:
    """The same groups, numbered without gaps, without those of public people alone: these get -1."""
    with_own = np.zeros(int(labels.max()) + 1, np.bool_)
    with_own[labels[own]] = True
    number = np.where(with_own, np.cumsum(with_own) - 1, -1).astype(np.int32)
    return np.where(labels >= 0, number[labels], -1).astype(np.int32)


def group_labels(partition: Partition) -> Codes:
    if partition.slabs is not None:
        raise PolicyError("a base of k-join-anonymity must make groups, each with a box of its own")
    return partition.labels
