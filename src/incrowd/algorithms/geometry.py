"""Domains as the flat arrays that kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Microdata
from incrowd.schema import Shape

if TYPE_CHECKING:
    from incrowd.kernels.cuts import Geometry


def geometry_of(data: Microdata) -> Geometry:
    """Where codes lie and what a set of them costs, for all attributes end to end."""
    from incrowd.kernels import cuts

    kernel_shape = {Shape.RANGE: cuts.RANGE, Shape.SET: cuts.SET, Shape.TREE: cuts.TREE}
    sizes = [len(attribute) for attribute in data.attributes]
    trees = _NodeTable()
    leaves = [trees.plant(attribute) for attribute in data.attributes]
    return cuts.Geometry(
        shape=np.array([kernel_shape[a.shape] for a in data.attributes], np.int8),
        scale=np.array([_scale(a) for a in data.attributes]),
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        position=np.concatenate([_position(a) for a in data.attributes]),
        leaf=np.concatenate(leaves).astype(np.int32),
        parent=np.array(trees.parent, np.int32),
        high=np.array(trees.high, np.int32),
        cost=np.array(trees.cost, np.float64),
    )


def _scale(attribute: Attribute) -> float:
    """One over the width of the domain; 0 for a single value, which then costs nothing."""
    width = attribute.span if attribute.shape is Shape.RANGE else float(len(attribute) - 1)
    return 1.0 / width if width > 0 else 0.0


def _position(attribute: Attribute) -> NDArray[np.float64]:
    """Positions for choosing cuts; missing lies one mean gap below the smallest number."""
    if attribute.shape is not Shape.RANGE:
        return np.arange(len(attribute), dtype=np.float64)
    position = attribute.position.astype(np.float64, copy=True)
    if attribute.missing == 0:
        gap = attribute.span / max(len(attribute) - 1, 1)
        position[0] = (position[1] if len(attribute) > 1 else 0.0) - gap
    return position


class _NodeTable:
    """The trees of all attributes with their nodes numbered through; node 0 belongs to none."""

    def __init__(self) -> None:
        self.parent = [0]
        self.high = [0]
        self.cost = [0.0]

    def plant(self, attribute: Attribute) -> NDArray[np.int64]:
        """Add an attribute's tree -> the node of each of its codes."""
        tree = attribute.tree
        if attribute.shape is not Shape.TREE or tree is None:
            return np.zeros(len(attribute), np.int64)
        base = len(self.parent)
        others = max(len(attribute) - 1, 1)
        self.parent += (tree.parent + base).tolist()
        self.high += tree.high.tolist()
        self.cost += ((tree.sizes() - 1) / others).tolist()
        leaf = tree.leaf_node.astype(np.int64) + base
        if len(attribute) == len(tree.leaves):
            return leaf
        return np.append(leaf, self._hang_missing(base, len(tree.leaves)))

    def _hang_missing(self, root: int, code: int) -> int:
        """A leaf for missing beside the tree, and a new root over both."""
        missing = len(self.parent)
        self.parent += [missing + 1, missing + 1]
        self.high += [code, code]
        self.cost += [0.0, 1.0]
        self.parent[root] = missing + 1
        return missing
