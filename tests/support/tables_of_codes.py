"""Small tables of codes for tests of grouping: the same table for incrowd and for its naive twin."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from incrowd.flow import Attribute, Microdata, Partition
from incrowd.hierarchy import Hierarchy
from incrowd.schema import Kind, Shape


@dataclass(frozen=True)
class CodeTable:
    """Points with their axes, as `naive` wants them; `data` is what incrowd wants."""

    points: list[tuple[int, ...]]
    axes: list[tuple[str, Any]]

    @property
    def data(self) -> Microdata:
        attributes = tuple(_attribute(f"a{j}", axis) for j, axis in enumerate(self.axes))
        codes = np.array(self.points, np.int32).reshape(len(self.points), len(self.axes))
        return Microdata(codes, attributes)


def _attribute(name: str, axis: tuple[str, Any]) -> Attribute:
    kind, about = axis
    if kind == "gapped":  # code 0 is missing
        texts, position = ("", *map(str, about)), np.array([0, *about], np.float64)
        return Attribute(name, Kind.NUMERIC, Shape.RANGE, texts, position, missing=0)
    if kind == "range":
        return Attribute(name, Kind.NUMERIC, Shape.RANGE, tuple(map(str, about)), np.array(about, np.float64))
    if kind == "set":
        return Attribute(
            name,
            Kind.CATEGORICAL,
            Shape.SET,
            tuple(f"v{i}" for i in range(about)),
            np.arange(about, dtype=float),
        )
    if kind == "family":
        nodes = tuple(dict.fromkeys(node for path in about for node in path))
        texts, position = tuple(f"v{i}" for i in range(len(about))), np.arange(len(about), dtype=float)
        return Attribute(name, Kind.CATEGORICAL, Shape.SET, texts, position, family=nodes)
    if kind == "hung":  # the last code is missing, beside the tree
        tree = tree_of([path[:-1] for path in about[:-1]])
        texts, position = (*tree.leaves, ""), np.arange(len(about), dtype=float)
        return Attribute(
            name, Kind.CATEGORICAL, Shape.TREE, texts, position, missing=len(about) - 1, tree=tree
        )
    tree = tree_of(about)
    return Attribute(
        name, Kind.CATEGORICAL, Shape.TREE, tree.leaves, np.arange(len(tree.leaves), dtype=float), tree=tree
    )


def tree_of(paths: Sequence[Sequence[frozenset[int]]]) -> Hierarchy:
    """The hierarchy with these paths; a node is named by its leaves."""
    longest = max(map(len, paths))
    names = {node: str(sorted(node)) for node in {node for path in paths for node in path}}
    rows = [[names[node] for node in path] for path in paths]
    return Hierarchy.from_rows([[row[0]] * (longest - len(row)) + row for row in rows])


def groups_of(partition: Partition) -> set[frozenset[int]]:
    """A cover as a set of sets of records."""
    return {frozenset(np.flatnonzero(partition.labels == g).tolist()) for g in range(len(partition))}


def members_of(labels: NDArray[Any]) -> list[list[int]]:
    """The records of each class; classes are numbered from 0 without gaps."""
    assert sorted(set(labels.tolist())) == list(range(int(labels.max()) + 1))
    return [np.flatnonzero(labels == a).tolist() for a in range(int(labels.max()) + 1)]


TREES = (
    ((0, 1), (2, 3), (4,)),
    ((0,), (1, 2, 3, 4, 5)),
    ((0, 1, 2), (3, 4, 5), (6, 7, 8)),
)


def paths_of(children: Sequence[Sequence[int]]) -> list[list[frozenset[int]]]:
    """Paths of a tree of two levels, given the leaves of each child of the root."""
    root = frozenset(leaf for child in children for leaf in child)
    found = []
    for child in children:
        for leaf in child:
            middle = [frozenset(child)] if len(child) > 1 else []
            found.append([frozenset({leaf}), *middle, root])
    return found


def hung(paths: Sequence[Sequence[frozenset[int]]]) -> list[list[frozenset[int]]]:
    """Paths of a tree beside which missing hangs, as one leaf more at its end."""
    missing = len(paths)
    root = frozenset(range(missing + 1))
    return [*([*path, root] for path in paths), [frozenset({missing}), root]]


def nested(sets: Sequence[Sequence[int]], size: int) -> list[list[frozenset[int]]]:
    """Paths of a family of nested sets over the codes 0..size-1."""
    nodes = {*map(frozenset, sets), *(frozenset({code}) for code in range(size)), frozenset(range(size))}
    return [sorted((node for node in nodes if code in node), key=len) for code in range(size)]


ONE = st.just(1)
AXES: dict[str, st.SearchStrategy[tuple[str, Any]]] = {
    "range": st.sets(st.integers(0, 20), min_size=1, max_size=7).map(lambda at: ("range", sorted(at))),
    "gapped": st.sets(st.integers(0, 20), min_size=1, max_size=6).map(lambda at: ("gapped", sorted(at))),
    "set": st.integers(2, 6).map(lambda size: ("set", size)),
    "tree": st.sampled_from(TREES).map(lambda children: ("tree", paths_of(children))),
    "hung": st.sampled_from(TREES).map(lambda children: ("hung", hung(paths_of(children)))),
    "family": st.sampled_from([[[0, 4], [1, 3, 5]], [[3, 5], [1, 3, 5]], [[0, 2, 4], [0, 2]]]).map(
        lambda sets: ("family", nested(sets, 6))
    ),
    "long": st.just(("range", [i * i for i in range(900)])),
    "bushy": st.just(("tree", paths_of([range(a, a + 90) for a in range(0, 900, 90)]))),
}
UP = ("tree", "hung", "family")  # cells are levels
SMALL = ("range", "gapped", "set", *UP)


@st.composite
def mixed_tables(
    draw: st.DrawFn,
    kinds: Sequence[str] = SMALL,
    most: int = 14,
    least: st.SearchStrategy[int] = ONE,
) -> CodeTable:
    """Tables with columns of every kind that costs know, missing values and large domains among them."""
    axes = [draw(AXES[draw(st.sampled_from(kinds))]) for _ in range(draw(st.integers(1, 3)))]
    point = st.tuples(*(st.integers(0, size_of(axis) - 1) for axis in axes))
    return CodeTable(draw(st.lists(point, min_size=draw(least), max_size=most)), axes)


def size_of(axis: tuple[str, Any]) -> int:
    """How many values an axis has."""
    kind, about = axis
    return int(about) if kind == "set" else len(about) + (kind == "gapped")


@cache
def ks(low: int, high: int) -> st.SearchStrategy[int]:
    """The k of an example: the same number wherever the example draws it."""
    return st.shared(st.integers(low, high), key="k")


@cache
def ls(low: int, high: int) -> st.SearchStrategy[int]:
    """The l of an example."""
    return st.shared(st.integers(low, high), key="l")


@st.composite
def code_tables(
    draw: st.DrawFn,
    kinds: Sequence[str] = ("range", "set", "tree"),
    most: int = 40,
    least: st.SearchStrategy[int] = ONE,
) -> CodeTable:
    """Tables of `least` (often the example's k) to `most` records with many ties."""
    axes: list[tuple[str, Any]] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        if kind == "range":
            positions = draw(st.sets(st.integers(0, 20), min_size=1, max_size=7))
            axes.append(("range", sorted(positions)))
        elif kind == "set":
            axes.append(("set", draw(st.integers(2, 6))))
        else:
            axes.append(("tree", paths_of(draw(st.sampled_from(TREES)))))
    sizes = [about if kind == "set" else len(about) for kind, about in axes]
    point = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    return CodeTable(draw(st.lists(point, min_size=draw(least), max_size=most)), axes)


@st.composite
def rare_values(draw: st.DrawFn, n: int, limit: int, kinds: int = 6) -> list[int]:
    """n sensitive values, none more often than `limit`: drawn freely, then what is too often is renamed."""
    values = draw(st.lists(st.integers(0, kinds - 1), min_size=n, max_size=n))
    counts = Counter(values)
    for i, value in enumerate(values):
        if counts[value] > limit:
            values[i] = next(other for other in itertools.count() if counts[other] < limit)
            counts[value] -= 1
            counts[values[i]] += 1
    return values
