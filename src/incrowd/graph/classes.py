"""Which of the papers' classes of anonymity a published table belongs to.

References
----------
Gionis, Mazza, Tassa, "k-Anonymization revisited", ICDE 2008, section IV.
"""

from __future__ import annotations

from incrowd.graph.components import Components, components
from incrowd.graph.consistency import Graph
from incrowd.graph.factor import has_factor


def classes(graph: Graph, k: int, found: Components | None = None) -> dict[str, bool]:
    """Which classes a table belongs to; fails where `components` does.

    Parameters
    ----------
    graph : Graph
        The consistency graph.
    k : int
        At least 1.
    found : Components, optional
        The components of the graph, if they are known already.

    Returns
    -------
    dict
        ``k``: every row occurs k times. ``1k``: every record is consistent with k rows; ``k1``: every row
        with k records; ``kk``: both. ``global_1k``, ``global_k1``: the same for edges that belong to some
        assignment. ``k_factor``: an assignment can be drawn in which no match is likelier than 1/k.

    Examples
    --------
    >>> [name for name, holds in classes(Graph.of([[0, 1], [1, 2], [1, 2]]), 2).items() if holds]
    ['1k']
    """
    reached = degrees_and_matches(graph, found)
    likely = _most_factor(graph, reached) >= k
    return {name: most >= k for name, most in reached.items()} | {"k_factor": likely and has_factor(graph, k)}


def largest(graph: Graph, found: Components | None = None) -> dict[str, int]:
    """The largest k for which a table belongs to each class; 0 for a table without rows.

    Parameters
    ----------
    graph : Graph
        The consistency graph.
    found : Components, optional
        The components of the graph, if they are known already.

    Examples
    --------
    >>> largest(Graph.of([[0, 1], [0, 1, 2], [1, 2]]))
    {'k': 1, '1k': 2, 'k1': 2, 'kk': 2, 'global_1k': 2, 'global_k1': 2, 'k_factor': 2}
    """
    reached = degrees_and_matches(graph, found)
    low, high = 0, _most_factor(graph, reached)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if has_factor(graph, middle) else (low, middle - 1)
    return reached | {"k_factor": low}


def degrees_and_matches(graph: Graph, found: Components | None) -> dict[str, int]:
    found = components(graph) if found is None else found
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


def _most_factor(graph: Graph, reached: dict[str, int]) -> int:
    """A bound on k-factors, since they consist of matches. A record that may be left out needs none."""
    if graph.left_out:
        return reached["global_k1"]
    return min(reached["global_1k"], reached["global_k1"])
