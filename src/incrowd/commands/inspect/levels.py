"""The levels of a hierarchy on a table: how many labels each has, and how small its smallest group is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.encode import encode_texts
from incrowd.errors import InputError, PolicyError
from incrowd.flow import Attribute, Codes, Table
from incrowd.hierarchy.tree import Rows
from incrowd.policy import Policy
from incrowd.policy.columns import PolicySource, described
from incrowd.policy.parts import Described
from incrowd.schema import MISSING, Role


@dataclass(frozen=True, slots=True)
class LevelCount:
    """One level: how many labels some row has there, and the people of its smallest and largest group.

    ``below_k`` are the rows in groups of fewer than k people, where a k is asked for.
    """

    level: int
    labels: int
    smallest: int
    largest: int
    below_k: int | None = None


@dataclass(frozen=True, slots=True)
class LevelCounts:
    """The levels of a column's hierarchy, from its values (0) to everything."""

    column: str
    rows: int
    k: int | None
    levels: tuple[LevelCount, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Group:
    """A label at some level: how many rows have it, how many people these are, and its label above."""

    label: str
    rows: int
    people: int
    values: int
    above: str


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyLevels:
    """A column and its hierarchy as numbers: the leaf of each row, and at each level its label.

    ``names[j]`` are the labels of level j, in the order of the tree. ``tree`` are the rows of the hierarchy.
    """

    leaves: Codes
    label_of: tuple[Codes, ...]
    names: tuple[tuple[str, ...], ...]
    tree: Rows

    def codes(self, name: str, level: int) -> Codes:
        """The label of each row at a level, numbered."""
        if not 0 <= level < len(self.label_of):
            raise InputError(f"the hierarchy of {name} has the levels 0 to {len(self.label_of) - 1}")
        return self.label_of[level][self.leaves]

    def counts(self, name: str, persons: NDArray[np.int64] | None, k: int | None) -> LevelCounts:
        found = (self._count(level, persons, k) for level in range(len(self.label_of)))
        return LevelCounts(name, self.leaves.size, k, tuple(found))

    def groups(self, level: int, persons: NDArray[np.int64] | None) -> tuple[Group, ...]:
        """The labels of a level with their sizes; one that no row has has 0."""
        rows, people = self._sizes(level, persons)
        names, labels = self.names[level], self.label_of[level]
        leaves = np.bincount(labels, minlength=len(names)).tolist()
        above = [""] * len(names)
        if level + 1 < len(self.names):
            for place, parent in zip(labels.tolist(), self.label_of[level + 1].tolist(), strict=True):
                above[place] = self.names[level + 1][parent]
        return tuple(
            Group(*each) for each in zip(names, rows.tolist(), people.tolist(), leaves, above, strict=True)
        )

    def _sizes(self, level: int, persons: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], ...]:
        """Rows and people of each label."""
        labels = self.label_of[level][self.leaves].astype(np.int64)
        rows = np.bincount(labels, minlength=len(self.names[level]))
        if persons is None:
            return rows, rows
        count = int(persons.max()) + 1
        return rows, np.bincount(np.unique(labels * count + persons) // count, minlength=rows.size)

    def _count(self, level: int, persons: NDArray[np.int64] | None, k: int | None) -> LevelCount:
        rows, people = self._sizes(level, persons)
        met = people > 0
        below = None if k is None else int(rows[met & (people < k)].sum())
        return LevelCount(level, int(met.sum()), int(people[met].min()), int(people.max()), below)


def levels_of(table: Table, name: str, said: Described, policy: Policy) -> HierarchyLevels:
    """The hierarchy that a policy gives a column, as the release would have it."""
    source = PolicySource(table, policy.missing, policy.entity, policy.folder)
    column = described(name, Role.QUASI, said, source, None)
    texts = table.column(name)
    counts = texts.counts
    occurring = np.flatnonzero(counts)
    there = [texts.texts[place] for place in occurring.tolist()]
    attribute, codes = encode_texts(column, there, counts[occurring], frozenset(policy.missing))
    leaf_of_text = np.zeros(len(texts.texts), np.int32)
    leaf_of_text[occurring] = codes
    labels, names = _labels(attribute)
    return HierarchyLevels(leaf_of_text[texts.codes], labels, names, column.levels)


def _labels(attribute: Attribute) -> tuple[tuple[Codes, ...], tuple[tuple[str, ...], ...]]:
    """For each level the number of each leaf's label, and the labels; missing that is no leaf is on top."""
    tree = attribute.tree
    if tree is None:
        raise PolicyError(f"{attribute.name} has no hierarchy, so it has no levels")
    row_of = {row[0]: row for row in tree.rows}
    found, names = [], []
    for level in range(tree.height + 1):
        number: dict[str, int] = {}
        labels = [number.setdefault(row_of[leaf][level], len(number)) for leaf in tree.leaves]
        more: tuple[str, ...] = ()
        if len(attribute) > len(tree.leaves):
            labels.append(len(number) if level < tree.height else 0)
            more = (MISSING,) if level < tree.height else ()
        found.append(np.array(labels, np.int32))
        names.append((*number, *more))
    return tuple(found), tuple(names)
