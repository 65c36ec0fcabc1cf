"""How anonymous a table is: the largest k of each class of the papers, and the least match probability.

References
----------
Gionis, Mazza, Tassa, "k-Anonymization revisited", ICDE 2008, section IV.
"""

from __future__ import annotations

from typing import Any

from incrowd.graph.components import Components
from incrowd.graph.consistency import Graph
from incrowd.graph.factor import lambda_star

MOST_EDGES = 2_000_000  # up to here the least odds take seconds


def levels(graph: Graph, found: Components) -> tuple[dict[str, Any], dict[str, int], tuple[str, ...]]:
    """The least largest match probability that any draw can have, and the largest k of each class.

    ``k``: every row occurs k times. ``1k``: every record is consistent with k rows; ``k1``: every row with k
    records; ``kk``: both. ``global_1k``, ``global_k1``: the same for edges that belong to some assignment.
    ``k_factor``: an assignment can be drawn in which no match is likelier than 1/k. All are 0 for a table
    without rows.
    """
    classes = _degrees_and_matches(graph, found)
    if graph.indices.size <= MOST_EDGES:
        least = lambda_star(graph)
        classes["k_factor"] = int(1 / least) if least else 0
        value = float(least)
        level = float(1 / least) if least else 0.0
        return {"lambda": str(least), "low": value, "high": value, "level": level}, classes, ()
    # matches bound k-factors, which consist of them; a record that may be left out needs none
    most = max(classes["global_k1"] if graph.left_out else min(classes["global_1k"], classes["global_k1"]), 1)
    classes["k_factor"] = classes["k"]
    bounds = {"lambda": None, "low": 1 / most, "high": 1 / max(classes["k"], 1), "level": None}
    note = (
        f"the table has more than {MOST_EDGES} possible matches: lambda* is bounded, k_factor at least this"
    )
    return bounds, classes, (note,)


def _degrees_and_matches(graph: Graph, found: Components) -> dict[str, int]:
    one_k, k_one = graph.degrees().least()
    matches, owners = found.matches().least()
    sizes = graph.row_weight[: graph.published]
    return {
        "k": int(sizes.min()) if sizes.size else 0,
        "1k": one_k,
        "k1": k_one,
        "kk": min(one_k, k_one),
        "global_1k": matches,
        "global_k1": owners,
    }
