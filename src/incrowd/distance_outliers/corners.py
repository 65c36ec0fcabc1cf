"""What a cell holds, as codes: the nodes that corners are made of, and the runs of codes inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from incrowd.distance_outliers.axes import Axis
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.schema import Shape


@dataclass(frozen=True, slots=True)
class CellPlaces:
    """One cell: ``nodes`` are the codes at its smallest and largest place, and missing if it may be.

    ``runs`` are all codes that it holds, as pairs (first, last), ascending and apart. A column that takes no
    part in the distance has no nodes.
    """

    nodes: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Closing:
    """The cells of one column. ``axis`` is None if it takes no part in the distance."""

    attribute: Attribute
    axis: Axis | None
    occurring: frozenset[int]  # codes that records of the original have
    made: dict[tuple[int, ...], CellPlaces] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Microdata, axes: Sequence[Axis]) -> tuple[Closing, ...]:
        """One for each quasi-identifier of the table."""
        by_index = {axis.index: axis for axis in axes if axis.quasi}
        met = [np.flatnonzero(np.bincount(column)).tolist() for column in data.codes.T]
        return tuple(
            cls(attribute, by_index.get(j), frozenset(met[j])) for j, attribute in enumerate(data.attributes)
        )

    def over(self, codes: Codes) -> CellPlaces:
        """The cell over a group's codes: the smallest that the column's shape allows."""
        attribute = self.attribute
        if attribute.shape is Shape.SET:
            return self._set(tuple(np.unique(codes).tolist()))
        low, high = int(codes.min()), int(codes.max())
        gone = False
        outside = attribute.missing >= 0 and not attribute.missing_in_tree
        if outside and attribute.missing in (low, high):
            gone, real = True, codes[codes != attribute.missing]
            low, high = (int(real.min()), int(real.max())) if real.size else (-1, -1)
        if attribute.tree is not None and low >= 0:
            return self._node(attribute.tree.covering(low, high), gone)
        return self._range(low, high, gone)

    def _range(self, low: int, high: int, gone: bool) -> CellPlaces:
        gone = gone or low < 0
        key = (low, high, gone)
        if key not in self.made:
            held = [(low, high)] if low >= 0 else []
            runs = [*held, (self.attribute.missing, self.attribute.missing)] if gone else held
            self.made[key] = self._cell((low, high) if held else (), gone, runs)
        return self.made[key]

    def _node(self, node: int, gone: bool) -> CellPlaces:
        tree, attribute = self.attribute.tree, self.attribute
        if tree is None:
            raise ValueError("a node needs its hierarchy")
        key = (node, gone)
        if key not in self.made:
            low, high = int(tree.low[node]), int(tree.high[node])
            inside, runs = low <= attribute.missing <= high, [(low, high)]
            beside = attribute.missing >= len(tree.leaves)
            if node == 0:  # everything: whether somebody's value is missing, the original says
                gone, inside = attribute.missing in self.occurring, False
            if beside and gone:
                runs.append((attribute.missing, attribute.missing))
            self.made[key] = self._cell(range(low, high + 1), gone or inside, runs)
        return self.made[key]

    def _set(self, members: tuple[int, ...]) -> CellPlaces:
        if members not in self.made:
            attribute, held = self.attribute, frozenset(members)
            if attribute.family:
                held = next(member for member in attribute.family if held <= member)
            gone, real = attribute.missing in held, held
            if len(held) == len(attribute) > 1:
                gone, real = attribute.missing in self.occurring, self.occurring
            codes = sorted(held)
            starts = [c for c in codes if c - 1 not in held]
            ends = [c for c in codes if c + 1 not in held]
            self.made[members] = self._cell(real, gone, list(zip(starts, ends, strict=True)))
        return self.made[members]

    def _cell(
        self, codes: Sequence[int] | frozenset[int], gone: bool, runs: Sequence[tuple[int, int]]
    ) -> CellPlaces:
        if self.axis is None:
            return CellPlaces((), tuple(sorted(runs)))
        places = self.axis.places
        placed = [(place, code) for code in codes if (place := places[code]) is not None]
        ends = (min(placed), max(placed)) if placed else ()
        nodes = [code for _, code in (ends if len(set(ends)) == 2 else ends[:1])]
        return CellPlaces((*nodes, self.attribute.missing) if gone else tuple(nodes), tuple(sorted(runs)))
