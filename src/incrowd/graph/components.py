"""Which edges of a consistency graph belong to some assignment, and how anonymous the table is by that.

Given one assignment of records to rows, another one differs from it by cycles that alternate between
edges outside and inside. So an edge is in some assignment if and only if it lies inside a strongly connected
component of the graph in which every edge leads to its row and assigned rows lead back to their records.

References
----------
Wong, Mamoulis, Cheung, "Non-homogeneous generalization in privacy preserving data publishing", SIGMOD 2010,
Theorem 1.
Gionis, Mazza, Tassa, "k-Anonymization revisited", ICDE 2008, section IV: the classes of `levels`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Codes
from incrowd.graph.consistency import Counts, Graph, Ints
from incrowd.graph.factor import assignment, lambda_star
from incrowd.kernels import boxtree
from incrowd.kernels import flow as flows

MOST_EDGES = 2_000_000  # up to here the least odds take seconds


@dataclass(frozen=True, eq=False)
class Components:
    """A graph with one assignment, and the component of each distinct record and row.

    ``flow[e]`` is how many records edge e assigns to its row.
    """

    graph: Graph
    flow: Ints
    record: Codes
    row: Codes

    @property
    def effective(self) -> NDArray[np.bool_]:
        """Which edges are in some assignment."""
        inside: NDArray[np.bool_] = self.record[self.graph.tails] == self.row[self.graph.indices]
        return inside

    def matches(self) -> Counts:
        """How many rows each distinct record may be behind, and how many records each distinct row.

        Examples
        --------
        >>> found = components(Graph.of([[0, 1], [1, 2], [1, 2]])).matches()
        >>> found.records.tolist(), found.rows.tolist()
        ([1, 2, 2], [1, 2, 2])
        """
        return self.graph.tally(self.effective)

    def exposed(self, k: int) -> tuple[Ints, Ints]:
        """The original records, and the published rows, that have fewer than k matches."""
        found = self.matches()
        return _fewer(found.records, self.graph.record_of, k), _fewer(found.rows, self.graph.row_of, k)


def components(graph: Graph, hint: NDArray[np.integer] | None = None) -> Components:
    """Find an assignment and what it implies.

    Parameters
    ----------
    graph : Graph
        The consistency graph.
    hint : array of shape (n,), optional
        The row of each original record, -1 if it was left out. It is checked; a wrong one only costs the
        search for another.

    Raises
    ------
    TableError
        If records cannot be assigned to rows one to one.
    """
    flow = _flow_of(graph, hint) if hint is not None else None
    if flow is None:
        flow = assignment(graph)
    labels = flows.strong_components(*residual(graph, flow))
    left = graph.record_weight.size
    return Components(graph, flow, labels[:left], labels[left:])


class GraphComponents:
    """The components of a graph, one by one."""

    def __init__(self, found: Components) -> None:
        graph = found.graph
        self.found, self.tails = found, graph.tails
        edges = np.flatnonzero(found.effective)
        label = found.record[self.tails[edges]]
        order = np.argsort(label, kind="stable")
        count = int(max(found.record.max(initial=-1), found.row.max(initial=-1))) + 1
        self._edges = edges[order]
        self._ends = np.searchsorted(label[order], np.arange(count + 1))
        self.size = np.bincount(found.record, graph.record_weight, count).astype(np.int64)
        possible = np.bincount(found.record, minlength=count) * np.bincount(found.row, minlength=count)
        # Where everything is possible, nothing has to be counted.
        self.whole = np.diff(self._ends) == possible

    def edges(self, part: int) -> Ints:
        """The effective edges of a component, ascending."""
        return self._edges[self._ends[part] : self._ends[part + 1]]

    def graph(self, part: int) -> tuple[Graph, Codes, Codes]:
        """A component as a graph of its own, and which distinct records and rows it has."""
        whole, edges = self.found.graph, self.edges(part)
        us, tail = np.unique(self.tails[edges], return_inverse=True)
        vs, head = np.unique(whole.indices[edges], return_inverse=True)
        records, rows = whole.record_weight[us], whole.row_weight[vs]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(tail, minlength=us.size))])
        alone = Graph(
            records,
            rows,
            indptr,
            head.astype(np.int32),
            np.repeat(np.arange(us.size, dtype=np.int32), records),
            np.repeat(np.arange(vs.size, dtype=np.int32), rows),
            whole.left_out if vs.size and vs[-1] >= whole.published else 0,
        )
        return alone, us, vs

    def unequal(self) -> Iterator[int]:
        """The components in which some matches are likelier than others."""
        return iter(np.flatnonzero(~self.whole & (self.size > 0)).tolist())


def residual(graph: Graph, flow: Ints) -> tuple[Ints, Codes]:
    """The digraph of an assignment, as CSR: records, then rows; edges, then assigned edges backwards."""
    left, right = graph.record_weight.size, graph.row_weight.size
    # Edges that assign nobody lead to a row behind all others, whose list is then cut off.
    back, owners = boxtree.turned(graph.indptr, np.where(flow > 0, graph.indices, right), right + 1)
    indptr = np.concatenate([graph.indptr, graph.indptr[-1] + back[1:-1]])
    return indptr, np.concatenate([graph.indices + np.int32(left), owners[: back[-2]]])


def _flow_of(graph: Graph, hint: NDArray[np.integer]) -> Ints | None:
    """What an assignment that somebody named carries on each edge; None if it is none."""
    if hint.shape != graph.record_of.shape or (graph.record_of < 0).any() or (graph.row_of < 0).any():
        return None
    shown = hint[hint >= 0]
    if shown.size != graph.row_of.size or not np.array_equal(np.sort(shown), np.arange(shown.size)):
        return None
    rows = np.append(graph.row_of, graph.published)[np.where(hint < 0, graph.row_of.size, hint)]
    edges = graph.edge(graph.record_of, rows)
    return None if (edges < 0).any() else np.bincount(edges, minlength=graph.indices.size)


def _fewer(counts: Ints, of: Codes, k: int) -> Ints:
    return np.flatnonzero((of >= 0) & (np.append(counts, k)[of] < k))


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
