"""Assignments by maximum flows: whether there is one, k-factors, and the least largest match probability.

An assignment can be drawn such that every record is behind every row with probability at most 1/k if and only
if the graph has a k-factor, a spanning subgraph in which every record and every row has k neighbours.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.graph.consistency import Graph, Ints
from incrowd.kernels import flow as flows

_MOST = 2**62


def factor(graph: Graph, k: int) -> NDArray[np.int32]:
    """A k-factor, to draw an assignment from.

    Returns
    -------
    array of shape (n, k)
        Places of rows that each place of a record has. Places are those of records and rows sorted by kind.
        Kinds that fit each other w times share at most w units, so with places inside a kind drawn evenly
        every record is behind every row with probability at most 1/k.

    Raises
    ------
    TableError
        If there is none, or records were left out.

    Examples
    --------
    >>> factor(Graph.of([[0, 1], [0, 1, 2], [1, 2]]), 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    pairs = graph.record_weight[graph.tails] * graph.row_weight[graph.indices]
    sent, flow, _ = send(graph, k * graph.record_weight, pairs, k * graph.row_weight)
    if graph.left_out or sent < k * len(graph):
        raise TableError(f"the consistency graph has no {k}-factor")
    kind = np.repeat(graph.indices, flow)  # of each unit's row; units stand by record
    place = np.empty(kind.size, np.int32)
    place[np.argsort(kind, kind="stable")] = np.arange(kind.size) // k
    return place.reshape(-1, k)


def lambda_star(graph: Graph) -> Fraction:
    r"""The least value that the largest match probability can have, whatever assignment is drawn.

    .. math:: \lambda^* = \max_{S, T} \frac{w(S) - w(T)}{w(E(S, \bar T))}

    over sets S of records and T of rows, with as many edges between S and the other rows as equal records and
    rows have among them. From a bound that is too low, the least cut names S and T of a better one.

    Raises
    ------
    TableError
        If records cannot be assigned to rows one to one.

    Examples
    --------
    >>> lambda_star(Graph.of([[0, 1], [0, 1, 2], [1, 2]]))
    Fraction(1, 2)
    """
    assignment(graph)
    if not graph.published:
        return Fraction(0)
    # A row must be somebody's. A record must have a row only if nobody was left out.
    records, rows = graph.degrees().least()
    level = Fraction(1, rows if graph.left_out else min(records, rows))
    while (cut := _cut(graph, level)) is not None:
        level = _level_of(graph, cut)
    return level


def _cut(graph: Graph, level: Fraction) -> NDArray[np.bool_] | None:
    """Which records, then rows, show that match probabilities of `level` are too few; None if they suffice.

    Everything is multiplied by the denominator of the level, so that whole numbers flow. Being left out
    is no match, and may be certain.
    """
    records, rows, p, q = graph.record_weight, graph.row_weight, level.numerator, level.denominator
    if q * len(graph) > _MOST:
        raise TableError(f"{len(graph)} records are too many for an exact match probability")
    limit = q * records[graph.tails]  # more cannot flow anyway
    pairs = records[graph.tails] * rows[graph.indices]
    small = pairs <= limit // p
    capacity: Ints = np.where(graph.real & small, np.where(small, pairs, 0) * p, limit)
    sent, _, side = send(graph, q * records, capacity, q * rows)
    return None if sent == q * len(graph) else side


def _level_of(graph: Graph, side: NDArray[np.bool_]) -> Fraction:
    """The level below which the records and rows on this side cannot be served."""
    some, taken = side[: graph.record_weight.size], side[graph.record_weight.size :]
    over = graph.real & some[graph.tails] & ~taken[graph.indices]
    pairs = graph.record_weight[graph.tails[over]] * graph.row_weight[graph.indices[over]]
    surplus = graph.record_weight[some].sum() - graph.row_weight[taken].sum()
    return Fraction(int(surplus), int(pairs.sum()))


def assignment(graph: Graph) -> Ints:
    """One assignment: how many records each edge assigns to its row.

    Raises
    ------
    TableError
        If there is none.
    """
    capacity = np.minimum(graph.record_weight[graph.tails], graph.row_weight[graph.indices])
    sent, flow, _ = send(graph, graph.record_weight, capacity, graph.row_weight)
    if sent < len(graph):
        raise TableError(
            f"the published table is not a generalisation of the original: of {len(graph)} records, "
            f"{len(graph) - sent} find no row of their own that holds them"
        )
    return flow


def send(graph: Graph, supply: Ints, capacity: Ints, demand: Ints) -> tuple[int, Ints, NDArray[np.bool_]]:
    """Send as much as possible from records to rows.

    Returns
    -------
    The amount, what each edge carries, and the source side of a least cut: records, then rows.
    """
    records, rows = supply.size, demand.size
    source, sink = records + rows, records + rows + 1
    left, right = np.arange(records), records + np.arange(rows)
    left = left[np.argsort(np.diff(graph.indptr), kind="stable")]
    # What has the fewest choices chooses first, and is chosen first: little is then left to mend.
    order = np.argsort(np.bincount(graph.indices, minlength=rows)[graph.indices], kind="stable")
    tail = np.concatenate([graph.tails[order], np.full(records, source), right])
    head = np.concatenate([graph.indices[order].astype(np.int64) + records, left, np.full(rows, sink)])
    room = np.concatenate([capacity[order], supply[left], demand])
    net, place = flows.network(sink + 1, tail, head, room)
    sent = int(flows.max_flow(net, source, sink))
    flow = np.empty_like(capacity)
    flow[order] = net.room[net.mate[place[: order.size]]]
    return sent, flow, flows.reachable(net, source)[:source]
