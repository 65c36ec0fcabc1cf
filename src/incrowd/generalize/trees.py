"""Hierarchies: the lowest node over all values of a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Cells, Codes
from incrowd.generalize.groups import Groups
from incrowd.hierarchy import Hierarchy


def tree_cells(
    attribute: Attribute, codes: Codes, groups: Groups, convex: bool = False
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct nodes of a column, and which of them each group has.

    A missing value that the hierarchy names is a leaf like any other; otherwise it is kept beside the node,
    but the root stands for everything. Where groups are `convex` only the root holds missing and a leaf.
    """
    tree = attribute.tree
    if tree is None:
        raise ValueError("a tree-shaped attribute needs its hierarchy")
    low, high = groups.bounds(codes)
    beside = len(tree.leaves)  # the code of a missing value outside the tree
    missing = high == beside
    only = low == beside
    if missing.any():
        high = groups.bounds(np.where(codes == beside, -1, codes).astype(np.int32))[1]
    node = tree.coverings(np.where(only, 0, low), np.where(only, 0, high))
    node = np.where(only, -1, np.where(missing & convex, 0, node))
    missing |= (node == 0) & (len(attribute) > beside)
    return _cells(tree, node, missing)


def level_cells(
    attribute: Attribute, codes: Codes, groups: Groups, level: int
) -> tuple[Cells, NDArray[np.int64]]:
    """The same where each group holds what lies below one node of a level: that node, whoever is there.

    A node over all leaves is published as the root (above level 0), which also holds a missing value outside
    the tree.
    """
    tree = attribute.tree
    if tree is None:
        raise ValueError("a tree-shaped attribute needs its hierarchy")
    beside = len(tree.leaves)
    low = groups.bounds(codes)[0]
    node = tree.leaf_node[np.where(low == beside, 0, low)]
    for _ in range(level):
        node = tree.parent[node]
    all_below = tree.sizes()[node] == beside
    node = np.where(all_below & (level > 0), 0, np.where(low == beside, -1, node))
    return _cells(tree, node, (node < 0) | ((node == 0) & (len(attribute) > beside)))


def _cells(
    tree: Hierarchy, node: NDArray[np.int32], missing: NDArray[np.bool_]
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct cells, given node and missing of each group, and which of them each group has."""
    _, first, of = np.unique(node.astype(np.int64) * 2 + missing, return_index=True, return_inverse=True)
    at = node[first].astype(np.int32)
    real = at >= 0
    return (
        Cells(
            low=np.where(real, tree.low[at], -1).astype(np.int32),
            high=np.where(real, tree.high[at], -1).astype(np.int32),
            missing=missing[first],
            node=at,
        ),
        of,
    )
