"""How anonymous a table is: the largest k of each class, and the least largest match probability."""

from __future__ import annotations

from typing import Any

from incrowd.graph.classes import degrees_and_matches
from incrowd.graph.components import Components
from incrowd.graph.consistency import Graph
from incrowd.graph.factor import lambda_star

MOST_EDGES = 2_000_000  # up to here the least odds take seconds


def levels(graph: Graph, found: Components) -> tuple[dict[str, Any], dict[str, int], tuple[str, ...]]:
    """The least largest match probability that any draw can have, and the largest k of each class."""
    classes = degrees_and_matches(graph, found)
    if graph.indices.size <= MOST_EDGES:
        least = lambda_star(graph)
        classes["k_factor"] = int(1 / least) if least else 0
        value = float(least)
        level = float(1 / least) if least else 0.0
        return {"lambda": str(least), "low": value, "high": value, "level": level}, classes, ()
    most = max(classes["global_k1"] if graph.left_out else min(classes["global_1k"], classes["global_k1"]), 1)
    classes["k_factor"] = classes["k"]
    bounds = {"lambda": None, "low": 1 / most, "high": 1 / max(classes["k"], 1), "level": None}
    note = (
        f"the table has more than {MOST_EDGES} possible matches: lambda* is bounded, k_factor at least this"
    )
    return bounds, classes, (note,)
