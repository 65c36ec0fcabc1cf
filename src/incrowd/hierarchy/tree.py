"""Taxonomies: trees over a column's values, with leaves numbered depth first.

With that numbering every node is an interval of leaf codes, and the smallest node that covers a set of
leaves depends only on the smallest and the largest of them. Ranges and trees so share one code path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import HierarchyError
from incrowd.schema import EVERYTHING

MOST_LEVELS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A tree of labels. Node 0 is the root; node v covers the leaves ``low[v]..high[v]``.

    Nodes are numbered so that a parent comes before its children; ``parent[0]`` is 0. ``leaf_node[c]``
    is the node of leaf c. ``level[v]`` is how far v lies above the leaves in the written table (0 for a
    leaf). ``height`` is the number of levels above the leaves. Build it with `from_rows`.
    """

    leaves: tuple[str, ...]
    labels: tuple[str, ...]
    parent: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    level: NDArray[np.int32]
    leaf_node: NDArray[np.int32]
    height: int
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        return f"Hierarchy({len(self.leaves)} leaves, {self.height} levels)"

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], column: str = "") -> Hierarchy:
        """Build from rows (leaf, level 1, …, top): one row for each leaf, all of one length.

        A last column that does not hold one label everywhere gets a root ``*`` above it. A label may
        stand at several levels of a row if it means the same leaves there. One that means different
        leaves at different levels (as in ICD codes, where 250 is a code and a category) is told apart by
        its level: ``250 (level 1)``; only leaves and the root ``*`` keep their names. Leaves keep the order
        in which they and their ancestors are first met.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("F", "*"), ("M", "*")])
        >>> tree.leaves, tree.labels[tree.covering(0, 1)]
        (('F', 'M'), '*')
        """
        table = _checked_rows(rows, column)
        return _grow(table, column)

    def covering(self, low: int, high: int) -> int:
        """The smallest node over leaves `low` to `high`."""
        node = int(self.leaf_node[low])
        while self.high[node] < high:
            node = int(self.parent[node])
        return node

    def coverings(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
        """The smallest node over leaves low[i] to high[i], for each i."""
        node = self.leaf_node[low]
        while True:
            short = self.high[node] < high
            if not short.any():
                return node
            node = np.where(short, self.parent[node], node)

    def sizes(self) -> NDArray[np.int32]:
        """How many leaves each node covers."""
        return self.high - self.low + 1

    def under(self) -> dict[str, range]:
        """The leaves under each label, as codes."""
        ends = zip(self.labels, self.low.tolist(), self.high.tolist(), strict=True)
        return {label: range(low, high + 1) for label, low, high in ends}

    def missing_from(self, values: Iterable[str]) -> list[str]:
        """Those of the values that are no leaves."""
        known = set(self.leaves)
        return [value for value in values if value not in known]


def _checked_rows(rows: Iterable[Sequence[str]], column: str) -> list[tuple[str, ...]]:
    table = [tuple(row) for row in rows]
    where = f"the hierarchy of {column}" if column else "the hierarchy"
    if not table:
        raise HierarchyError(f"{where} has no rows")
    widths = {len(row) for row in table}
    if len(widths) > 1:
        line = next(i for i, row in enumerate(table, 1) if len(row) != len(table[0]))
        raise HierarchyError(f"{where} has rows of different length, first in line {line}")
    if len(table[0]) > MOST_LEVELS:
        raise HierarchyError(f"{where} has {len(table[0])} levels; at most {MOST_LEVELS} are read")
    if len({row[0] for row in table}) < len(table):
        line = _first_repeat([row[0] for row in table])
        raise HierarchyError(f"{where} names a leaf twice, in line {line}")
    nameless = [line for line, row in enumerate(table, 1) if row[0] and "" in row]
    if nameless:
        raise HierarchyError(f"{where} has an empty label above a leaf with a name, in line {nameless[0]}")
    if len({row[-1] for row in table}) > 1 or len(table[0]) == 1:
        table = [(*row, EVERYTHING) for row in table]
    return _told_apart(table, where)


def _told_apart(table: list[tuple[str, ...]], where: str) -> list[tuple[str, ...]]:
    unclear = _unclear_labels(table)
    if not unclear:
        return table
    top = len(table[0]) - 1
    # A leaf keeps its name. So does a root `*`, since that is how a release writes the whole domain.
    kept = {0, top} if table[0][top] == EVERYTHING and all(row[0] != EVERYTHING for row in table) else {0}
    taken = {label for row in table for label in row}
    if any(f"{label} (level {i})" in taken for label in unclear for i in range(1, top + 1)):
        raise HierarchyError(f"{where} has labels that stay ambiguous even with their level; rename them")
    return [
        tuple(x if x not in unclear or i in kept else f"{x} (level {i})" for i, x in enumerate(row))
        for row in table
    ]


def _unclear_labels(table: list[tuple[str, ...]]) -> set[str]:
    """Labels that mean different leaves at different levels."""
    meaning: dict[tuple[int, str], list[int]] = {}
    for line, row in enumerate(table):
        for level, label in enumerate(row):
            meaning.setdefault((level, label), []).append(line)
    first: dict[str, list[int]] = {}
    return {label for (_, label), lines in meaning.items() if first.setdefault(label, lines) != lines}


def _first_repeat(texts: Sequence[str]) -> int:
    seen: set[str] = set()
    for line, text in enumerate(texts, 1):
        if text in seen:
            return line
        seen.add(text)
    raise AssertionError("no repeat")


def _grow(table: list[tuple[str, ...]], column: str) -> Hierarchy:
    """Number nodes and leaves by one walk over the rows in the order of their ancestors."""
    where = f"the hierarchy of {column}" if column else "the hierarchy"
    height = len(table[0]) - 1
    met: dict[tuple[int, str], int] = {}  # (level, label) -> rank of first meeting, for a stable order
    for row in table:
        for level, label in enumerate(row):
            met.setdefault((level, label), len(met))
    above: dict[tuple[int, str], str] = {}
    for line, row in enumerate(table, 1):
        for level in range(height):
            if above.setdefault((level, row[level]), row[level + 1]) != row[level + 1]:
                raise HierarchyError(
                    f"{where} does not nest: line {line} puts a label of level {level} under a second parent"
                )
    ordered = sorted(table, key=lambda row: [met[level, row[level]] for level in range(height, -1, -1)])
    tree = _Builder()
    for code, row in enumerate(ordered):
        tree.add(code, row)
    tree.check_labels(where)
    return tree.finish(tuple(table), height)


class _Builder:
    """Collects nodes while leaves arrive in depth-first order."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.parent: list[int] = []
        self.low: list[int] = []
        self.high: list[int] = []
        self.level: list[int] = []
        self.leaf_node: list[int] = []
        self.leaves: list[str] = []
        self.path: list[tuple[int, str, int]] = []  # open nodes: (level, label, node)

    def add(self, code: int, row: tuple[str, ...]) -> None:
        height = len(row) - 1
        kept: list[tuple[int, str, int]] = []
        for level, label, node in self.path:
            if row[level] != label:
                break
            kept.append((level, label, node))
        for level in range(height - len(kept), -1, -1):
            node = self._open(level, row[level], kept[-1][2] if kept else -1, code)
            kept.append((level, row[level], node))
        for _, _, node in kept:
            self.high[node] = code
        self.path = kept
        self.leaf_node.append(kept[-1][2])
        self.leaves.append(row[0])

    def _open(self, level: int, label: str, parent: int, code: int) -> int:
        node = len(self.labels)
        self.labels.append(label)
        self.parent.append(max(parent, 0))
        self.low.append(code)
        self.high.append(code)
        self.level.append(level)
        return node

    def check_labels(self, where: str) -> None:
        """One label may stand at several levels only if it means the same leaves there."""
        meaning: dict[str, tuple[int, int]] = {}
        for label, low, high in zip(self.labels, self.low, self.high, strict=True):
            if meaning.setdefault(label, (low, high)) != (low, high):
                raise HierarchyError(
                    f"{where} uses one label for two different sets of leaves; rename one of them"
                )

    def finish(self, rows: tuple[tuple[str, ...], ...], height: int) -> Hierarchy:
        def ints(values: list[int]) -> NDArray[np.int32]:
            return np.array(values, dtype=np.int32)

        return Hierarchy(
            leaves=tuple(self.leaves),
            labels=tuple(self.labels),
            parent=ints(self.parent),
            low=ints(self.low),
            high=ints(self.high),
            level=ints(self.level),
            leaf_node=ints(self.leaf_node),
            height=height,
            rows=rows,
        )
