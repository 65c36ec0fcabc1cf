"""Growing trees of near records, as the forest algorithm does."""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.arrays import Ints
from incrowd.kernels.closure import Costs, GroupBounds, rounded, union_cost
from incrowd.kernels.jit import inlined, kernel


@inlined
def nearest_outside(u: int, tree: Ints, singles: GroupBounds, costs: Costs) -> Any:
    """The vertex of another tree whose union with this one costs least; of equal ones the first."""
    best, found = np.inf, -1
    for v in range(tree.size):
        if tree[v] != tree[u]:
            here = rounded(union_cost(u, singles, v, singles, costs))
            if here < best:
                best, found = here, v
    return found


@kernel
def grow_forest(k: int, singles: GroupBounds, costs: Costs, clock: Ints, to: Ints) -> None:
    """Edges of a forest whose trees have at least k vertices: to (n,) is where each vertex points, or -1.

    The tree with the smallest vertex grows first, from its one vertex that points nowhere.
    """
    n = to.size
    tree, size, root = np.arange(n), np.ones(n, np.int64), np.arange(n)
    to[:] = -1
    for i in range(n):
        clock[1] = i
        while size[tree[i]] < k:
            u = root[tree[i]]
            v = nearest_outside(u, tree, singles, costs)
            to[u] = v
            old, new = tree[i], tree[v]
            size[new] += size[old]
            for w in range(n):
                if tree[w] == old:
                    tree[w] = new
