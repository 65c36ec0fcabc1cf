"""Columns that count more or less than others in what a row costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced
from incrowd.contracts import exact
from incrowd.errors import PolicyError, unknown
from incrowd.flow import Microdata
from incrowd.kernels import closure


def weighted(table: Priced, data: Microdata, weights: Mapping[str, object]) -> Priced:
    """The same costs, with some columns counting more or less than 1."""
    names = [attribute.name for attribute in data.attributes]
    strange = [name for name in weights if name not in names]
    if strange:
        raise PolicyError(unknown("a quasi-identifier", strange, names))
    if not weights:
        return table
    costs = table.costs
    scale, cost, floor = costs.scale.copy(), costs.cost.copy(), costs.floor.copy()
    nodes, node_floor = costs.node_cost.copy(), costs.node_floor.copy()
    for name, said in weights.items():
        j, weight = names.index(name), float(exact(said))
        own = slice(int(costs.table[j]), int(costs.table[j + 1]) if j + 1 < len(names) else cost.size)
        scale[j] *= weight
        cost[own] *= weight
        floor[own] *= weight
        above = _nodes_of(j, costs)
        nodes[above] *= weight
        node_floor[above] *= weight
    least = table.step * min([1.0, *(float(exact(said)) for said in weights.values())])
    changed = costs._replace(scale=scale, cost=cost, floor=floor, node_cost=nodes, node_floor=node_floor)
    return Priced(table.codes, changed, least)


def _nodes_of(j: int, costs: closure.Costs) -> NDArray[np.int64]:
    """The nodes of a column's tree; none if it has no tree."""
    found = np.unique(costs.leaf[costs.start[j] : costs.start[j + 1]]).astype(np.int64)
    while True:
        more = np.union1d(found, costs.parent[found])
        if more.size == found.size:
            return found[found > 0]
        found = more
