"""Columns with hierarchies as levels: the chain of cells around every value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced, family_as_tree, intervals
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.kernels import cells, closure
from incrowd.schema import Shape

MOST_LEAVES = 4096  # of a column with a tree, for a square table of levels
MOST_VECTORS = 10_000  # of levels


def levels_of(data: Microdata, table: Priced) -> cells.Lattice | None:
    """The levels of every column, if all have a tree or nested sets; else None."""
    chains = [_chains(attribute) for attribute in data.attributes]
    if any(len(attribute) > MOST_LEAVES for attribute in data.attributes):
        return None
    found = [chain for chain in chains if chain is not None]
    if len(found) < len(chains):
        return None
    d, sizes = len(found), np.array([low.shape[0] for low, _ in found])
    levels = np.array([low.shape[1] for low, _ in found])
    if int(np.prod(levels.astype(float))) > MOST_VECTORS:
        return None
    costs = [_node_prices(j, low, high, table.costs) / d for j, (low, high) in enumerate(found)]
    return cells.Lattice(
        levels=levels.astype(np.int64),
        stride=np.concatenate([[1], np.cumprod(levels)[:-1]]).astype(np.int64),
        size=sizes.astype(np.int64),
        start=_starts([low.size for low, _ in found]),
        square=_starts([size * size for size in sizes]),
        low=np.concatenate([low.ravel() for low, _ in found]),
        high=np.concatenate([high.ravel() for _, high in found]),
        cost=np.concatenate([cost.ravel() for cost in costs]),
        meet=np.concatenate([_meet(low, high).ravel() for low, high in found]),
    )


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _chains(attribute: Attribute) -> tuple[Codes, Codes] | None:
    """The cells that hold each code, smallest first -> bounds (m, levels); short chains end at the root."""
    if attribute.shape is Shape.SET and attribute.family:
        nodes: list[tuple[int, int]] | None = family_as_tree(attribute)[1]
    else:
        nodes = intervals(attribute)
    if nodes is None:
        return None
    size = len(attribute)
    each = np.arange(size)
    lows, highs = [each.astype(np.int32)], [each.astype(np.int32)]
    depth = np.zeros(size, np.int64)
    for low, high in sorted(set(nodes), key=lambda node: node[1] - node[0]):
        if low == high:
            continue
        here = slice(low, high + 1)
        depth[here] += 1
        if depth[here].max() == len(lows):
            lows.append(np.zeros(size, np.int32))
            highs.append(np.full(size, size - 1, np.int32))
        for level in np.unique(depth[here]):
            which = each[here][depth[here] == level]
            lows[level][which], highs[level][which] = low, high
    return np.stack(lows, axis=1), np.stack(highs, axis=1)


def _node_prices(j: int, low: Codes, high: Codes, costs: closure.Costs) -> NDArray[np.float64]:
    if costs.kind[j] == closure.TABLE:
        at = costs.table[j] + low.astype(np.int64) * costs.size[j] + high
        return np.asarray(costs.cost[at], np.float64)
    pairs = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
    return np.array([closure.rare_cost(j, *pair, costs) for pair in pairs]).reshape(low.shape)


def _meet(low: Codes, high: Codes) -> NDArray[np.uint8]:
    """The lowest level of each code that holds each other code (m, m)."""
    size, levels = low.shape
    found = np.full((size, size), levels - 1, np.uint8)
    for level in range(levels - 1, -1, -1):
        for code in range(size):
            found[code, low[code, level] : high[code, level] + 1] = level
    return found
