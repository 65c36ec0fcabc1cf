"""Maximum flow with whole capacities, and strongly connected components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Codes, Ints
from incrowd.kernels.jit import kernel


class Network(NamedTuple):
    """Arcs in both directions: node i owns arcs ``start[i]..start[i+1]-1``.

    Arc e leads to ``head[e]`` and can still carry ``room[e]``; ``mate[e]`` is the same arc backwards.
    """

    start: Ints
    head: Codes
    mate: Ints
    room: Ints


def network(nodes: int, tail: AnyInts, head: AnyInts, capacity: Ints) -> tuple[Network, Ints]:
    """Arcs (m,) as a network, and where each of them lies in it (m,)."""
    m = tail.size
    tails, heads = np.concatenate([tail, head]), np.concatenate([head, tail])
    order = np.argsort(tails, kind="stable")
    place = np.empty(2 * m, np.int64)
    place[order] = np.arange(2 * m)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(tails, minlength=nodes))])
    room = np.zeros(2 * m, np.int64)
    room[place[:m]] = capacity
    mate = np.empty(2 * m, np.int64)
    mate[place[:m]], mate[place[m:]] = place[m:], place[:m]
    return Network(start, heads[order].astype(np.int32), mate, room), place[:m]


def strong_components(indptr: Ints, indices: Codes) -> Any:
    """The strongly connected component of each node of a digraph in CSR form -> (n,) int32."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    nodes = indptr.size - 1
    if not nodes:
        return np.zeros(0, np.int32)
    graph = csr_array((np.ones(indices.size), indices, indptr.astype(indices.dtype)), shape=(nodes, nodes))
    if not graph.has_canonical_format:  # with an arc named twice the search may never end
        graph = graph.copy()  # mending it would reorder the caller's arrays
        graph.sum_duplicates()
    return connected_components(graph, directed=True, connection="strong")[1]


@kernel
def max_flow(net: Network, source: int, sink: int) -> Any:
    """Dinic: send as much as possible from source to sink -> amount; lowers `net.room`."""
    nodes = net.start.size - 1
    level, at = np.empty(nodes, np.int32), np.empty(nodes, np.int64)
    queue, path = np.empty(nodes, np.int32), np.empty(nodes, np.int64)
    total = 0
    while _levels(net, source, sink, level, queue):
        at[:] = net.start[:-1]
        node, depth = source, 0
        while True:
            if node == sink:
                sent = net.room[path[0]]
                for i in range(1, depth):
                    sent = min(sent, net.room[path[i]])
                total += sent
                keep = depth
                for i in range(depth - 1, -1, -1):
                    net.room[path[i]] -= sent
                    net.room[net.mate[path[i]]] += sent
                    if net.room[path[i]] == 0:
                        keep = i
                depth = keep  # go on from the first arc that is full
                node = net.head[net.mate[path[depth]]]
                continue
            e = at[node]
            while e < net.start[node + 1] and not (net.room[e] > 0 and level[net.head[e]] == level[node] + 1):
                e += 1
            at[node] = e
            if e < net.start[node + 1]:
                path[depth] = e
                depth += 1
                node = net.head[e]
            elif depth == 0:
                break
            else:
                depth -= 1
                node = net.head[net.mate[path[depth]]]
                at[node] += 1
    return total


@kernel
def _levels(net: Network, source: int, sink: int, level: Codes, queue: Codes) -> bool:
    """How many arcs with room each node is away from the source -> is the sink reached?

    -1 if a node cannot be reached, or is farther away than the sink.
    """
    level[:] = -1
    level[source], queue[0] = 0, source
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for e in range(net.start[node], net.start[node + 1]):
            if net.room[e] > 0 and level[net.head[e]] < 0:
                level[net.head[e]] = level[node] + 1
                queue[tail] = net.head[e]
                tail += 1
                if net.head[e] == sink:  # nodes that are as far away are of no use
                    return True
    return False


def reachable(net: Network, source: int) -> Any:
    """Which nodes the source still reaches: after `max_flow` the smallest source side of a least cut."""
    nodes = net.start.size - 1
    level = np.empty(nodes, np.int32)
    _levels(net, source, -1, level, np.empty(nodes, np.int32))
    return level >= 0
