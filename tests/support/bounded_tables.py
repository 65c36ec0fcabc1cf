"""Tiny tables with columns of every kind, for lower bounds: once for incrowd, once as lists of cells."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from support.measure_tables import flat, ranged, treed
from twins import bounds as naive

from incrowd.flow import Attribute, Microdata

KINDS = ("range", "gapped", "set", "family", "overlap", "tree", "ragged", "beside")
LAMINAR = ("tree", "ragged", "family")
TREES: dict[str, list[tuple[str, ...]]] = {
    "tree": [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")],
    "ragged": [
        ("a", "ab", "abc", "*"),
        ("b", "ab", "abc", "*"),
        ("c", "c", "abc", "*"),
        ("d", "d", "d", "*"),
    ],
    "beside": [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")],
}
FAMILIES = {
    "family": ({0, 1}, {0, 1, 2}),
    "overlap": ({0, 1, 2}, {1, 2, 3}, {1, 2}),
}


@dataclass(frozen=True)
class BoundedTable:
    """Records as codes, what incrowd knows of them, and all cells of each column."""

    records: list[naive.Record]
    attributes: tuple[Attribute, ...]
    columns: list[list[naive.Cell]]

    @property
    def data(self) -> Microdata:
        return Microdata(np.array(self.records, np.int32), self.attributes)

    @property
    def costs(self) -> naive.Costs:
        return naive.Costs(self.records, self.columns)


def column(rng: random.Random, kind: str, name: str) -> tuple[Attribute, list[naive.Cell]]:
    if kind in TREES:
        attribute = treed(name, TREES[kind], beside=kind == "beside")
        tree = attribute.tree
        assert tree is not None
        ends = zip(tree.low.tolist(), tree.high.tolist(), strict=True)
        nodes = [frozenset(range(low, high + 1)) for low, high in ends]
        return attribute, naive.tree_cells(nodes, len(attribute))
    if kind in FAMILIES:
        family = tuple(frozenset(each) for each in FAMILIES[kind])
        members = (*family, frozenset(range(4)), *(frozenset({code}) for code in range(4)))
        plain = flat(name, "abcd")
        closed = Attribute(name, plain.kind, plain.shape, plain.texts, plain.position, family=members)
        return closed, naive.set_cells(4, family)
    if kind == "set":
        size = rng.randint(2, 4)
        return flat(name, "abcd"[:size]), naive.set_cells(size)
    places = sorted(rng.sample(range(12), rng.randint(1, 5)))
    missing = kind == "gapped"
    return ranged(name, places, missing), naive.range_cells([None, *places] if missing else places)


def bounded_table(rng: random.Random, n: int, kinds: Sequence[str] = KINDS, most: int = 3) -> BoundedTable:
    """n records with many ties in up to so many columns."""
    made = [column(rng, rng.choice(kinds), f"q{j}") for j in range(rng.randint(1, most))]
    pool = [tuple(rng.randrange(len(attribute)) for attribute, _ in made) for _ in range(rng.randint(2, n))]
    records = [rng.choice(pool) for _ in range(n)]
    return BoundedTable(records, tuple(each for each, _ in made), [cells for _, cells in made])
