"""Which classes may hold a record: a tree over the boxes of classes.

A box has the smallest and largest rank of each of a class's cells. A node is cut in two at a rank of one
column, where few boxes are cut through; those that are go to both sides. A record goes down by one comparison
a level to a leaf, which names every class whose box may hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.cell_regions import MISSING_RANK, CellRegions
from incrowd.verifier.columns import Bools, Ints

LEAF = 2  # boxes that are not worth a cut
ENOUGH = 64  # boxes of a node by which it is cut
DEEPEST = 64
MOST_COPIES = 8  # of each box, on average
AT_ONCE = 16_384  # records that go down together: what they read stays in the processor's cache
LOSS = 0.5  # what a box that is cut through costs, in boxes on the larger side


@dataclass(frozen=True, slots=True, eq=False)
class BoxTree:
    """Node i sends ranks up to ``cut[i]`` of ``column[i]`` to ``child[i]``, others to the node after it.

    A leaf has no child (0) and the boxes ``boxes[start[i]:stop[i]]``.
    """

    column: Ints
    cut: Ints
    child: Ints
    start: Ints
    stop: Ints
    boxes: Ints

    def leaves(self, ranks: Sequence[NDArray[np.integer]]) -> Ints:
        """The leaf of each record, given by its ranks in each column."""
        none = np.zeros(0, np.int64)
        starts = range(0, ranks[0].size, AT_ONCE)
        return np.concatenate([none, *(self._leaves([r[a : a + AT_ONCE] for r in ranks]) for a in starts)])

    def _leaves(self, ranks: Sequence[NDArray[np.integer]]) -> Ints:
        node = np.zeros(ranks[0].size, np.int64)
        together, width = np.stack(ranks, axis=1).ravel(), len(ranks)
        going = np.arange(node.size)
        while going.size:
            at = node[going]
            inner = self.child[at] > 0
            going, at = going[inner], at[inner]
            right = together[going * width + self.column[at]] > self.cut[at]
            node[going] = self.child[at] + right
        return node


def boxed(regions: CellRegions, ranks: Ints) -> tuple[Ints, Ints, Ints]:
    """The ends of each cell's box in a column, and the place of each rank on the axis of these boxes.

    Sets have no order of their own; along falling frequency those of different classes overlap least.
    """
    place = np.arange(regions.size)
    if not regions.keys.size:
        low = np.where(regions.missing, MISSING_RANK, regions.low)
        return low, np.maximum(regions.high, low), place
    place[np.argsort(-np.bincount(ranks, minlength=regions.size), kind="stable")] = np.arange(regions.size)
    cell, member = regions.keys // regions.size, place[regions.keys % regions.size]
    one, wide = regions.low == regions.high, regions.low < regions.high
    low, high = np.where(one, place[regions.low], regions.size), np.where(one, place[regions.high], -1)
    low[wide & ~regions.spread], high[wide & ~regions.spread] = 0, regions.size - 1
    np.minimum.at(low, cell, member)
    np.maximum.at(high, cell, member)
    low[regions.missing] = np.minimum(low[regions.missing], place[MISSING_RANK])
    high[regions.missing] = np.maximum(high[regions.missing], place[MISSING_RANK])
    return low, high, place


def box_tree(low: Sequence[Ints], high: Sequence[Ints]) -> BoxTree:
    """Cut boxes apart; box i has the ranks ``low[j][i]..high[j][i]`` in column j.

    Examples
    --------
    >>> tree = box_tree([np.arange(40)], [np.arange(40)])
    >>> leaf = tree.leaves([np.array([7, 31])])
    >>> [7 in tree.boxes[tree.start[leaf[0]] : tree.stop[leaf[0]]], int((tree.stop - tree.start).max())]
    [True, 2]
    """
    growing = _Growing(low, high)
    for _ in range(DEEPEST):
        if not growing.split():
            break
    return growing.tree()


class _Growing:
    """A tree whose last level is being cut: box ``box[e]`` is in the node ``first + node[e]``, in order."""

    def __init__(self, low: Sequence[Ints], high: Sequence[Ints]) -> None:
        self._low, self._high = ([side.astype(np.int32) for side in sides] for sides in (low, high))
        self._most = MOST_COPIES * low[0].size + LEAF
        self._box, self._node, self._first = np.arange(low[0].size), np.zeros(low[0].size, np.int64), 0
        self._column: list[Ints] = []
        self._cut: list[Ints] = []
        self._child: list[Ints] = []
        self._leaf_box: list[Ints] = []
        self._leaf_node: list[Ints] = []

    def split(self) -> bool:
        """Cut every node of the last level that is worth it; was there one?"""
        size = np.bincount(self._node)
        nodes = size.size
        column, cut = np.full(nodes, -1), np.zeros(nodes, np.int64)
        some = self._some(size)
        counted = np.bincount(self._node[some], minlength=nodes)
        best = counted * 1.0
        if some.size:
            for j in range(len(self._low)):
                cost, at = self._best_cuts(j, counted, some)
                better = cost < best
                best[better], cut[better], column[better] = cost[better], at[better], j
        inner = column >= 0
        child = np.where(inner, self._first + nodes + 2 * (np.cumsum(inner) - inner), 0)
        self._column.append(column)
        self._cut.append(cut)
        self._child.append(child)
        self._descend(inner, column, cut, child - self._first - nodes)
        self._first += nodes
        return bool(self._box.size)

    def _some(self, size: Ints) -> Ints:
        """Boxes by which nodes are cut, whose sizes these are: of large ones some, of small ones none."""
        if self._box.size > self._most:
            return np.zeros(0, np.int64)
        place = np.arange(self._node.size) - (np.cumsum(size) - size)[self._node]
        every = np.maximum(size // ENOUGH, 1)
        return np.flatnonzero((size > LEAF)[self._node] & (place % every[self._node] == 0))

    def _best_cuts(self, j: int, size: Ints, worth: Ints) -> tuple[Ints, Ints]:
        """For each node the least cost of a cut along column j, and its rank, by the boxes `worth`."""
        radix = int(self._high[j].max()) + 2
        small = size.size * radix < 2**31  # half as many bytes are sorted about twice as fast
        base: Ints = (self._node[worth] * radix).astype(np.int32 if small else np.int64)
        starts, ends = (np.sort(base + side[j][self._box[worth]]) for side in (self._low, self._high))
        node = starts // radix
        new = np.flatnonzero((np.diff(starts) > 0) & (np.diff(node) == 0)) + 1  # a cut just below this start
        least, rank = np.full(size.size, np.inf), np.zeros(size.size, np.int64)
        if not new.size:
            return least, rank
        first = np.cumsum(size) - size
        at = node[new]
        left = new - first[at]
        right = size[at] - (np.searchsorted(ends, starts[new]) - first[at])
        cost = np.maximum(left, right) + LOSS * (left + right - size[at])
        each = np.flatnonzero(np.diff(at, prepend=-1))  # where the cuts of a node begin
        least[at[each]] = np.minimum.reduceat(cost, each)
        found = np.flatnonzero(cost == least[at])
        found = found[np.flatnonzero(np.diff(at[found], prepend=-1))]  # of equal ones the first
        rank[at[found]] = starts[new[found]] % radix - 1
        return least, rank

    def _descend(self, inner: Bools, column: Ints, cut: Ints, child: Ints) -> None:
        """Send boxes into the children of their nodes; those of nodes that are not cut stay in leaves."""
        stays = ~inner[self._node]
        self._leaf_box.append(self._box[stays])
        self._leaf_node.append(self._first + self._node[stays])
        box, node = self._box[~stays], self._node[~stays]
        left, right = np.zeros(box.size, np.bool_), np.zeros(box.size, np.bool_)
        for j, (low, high) in enumerate(zip(self._low, self._high, strict=True)):
            here = np.flatnonzero(column[node] == j)
            left[here] = low[box[here]] <= cut[node[here]]
            right[here] = high[box[here]] > cut[node[here]]
        box = np.concatenate([box[left], box[right]])
        node = np.concatenate([child[node[left]], child[node[right]] + 1])
        order = np.argsort(node, kind="stable")
        self._box, self._node = box[order], node[order]

    def tree(self) -> BoxTree:
        boxes = np.concatenate([*self._leaf_box, self._box])
        nodes = np.concatenate([*self._leaf_node, self._first + self._node])
        child = np.concatenate([*self._child, np.zeros(int(self._node.max(initial=-1)) + 1, np.int64)])
        order = np.argsort(nodes, kind="stable")
        stop = np.cumsum(np.bincount(nodes, minlength=child.size))
        column, cut = (
            np.concatenate([*part, np.zeros(child.size - sum(map(len, part)), np.int64)])
            for part in (self._column, self._cut)
        )
        return BoxTree(column, cut, child, np.concatenate([[0], stop[:-1]]), stop, boxes[order])
