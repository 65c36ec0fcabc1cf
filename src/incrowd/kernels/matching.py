"""Random perfect matchings of a regular bipartite graph, one after the other.

From an unmatched record, walk: take a random edge that is left, jump to the record that holds its row, and
so on until a row is free; then shift everybody along the path. In a regular graph that takes n log n steps
for a matching, whatever the graph (Goel, Kapralov, Khanna 2010). Without the edges of a perfect matching
the graph is regular again, so the next matching is drawn from it in the same way, and no two share an edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from incrowd.kernels.jit import inlined, kernel

NOBODY = -1
OUT_OF_WORDS = -1


@inlined
def below(limit: int, words: Any, at: int) -> Any:
    """A number below `limit` from random 32-bit words, without bias -> (number, next word), or next -1."""
    top = (np.int64(1) << 32) // limit * limit
    while at < words.size:
        word = np.int64(words[at])
        at += 1
        if word < top:
            return word % limit, at
    return np.int64(0), np.int64(OUT_OF_WORDS)


@kernel
def walk(
    start: int, edges: Any, degree: int, row: Any, owner: Any, exit_slot: Any, words: Any, at: int
) -> Any:
    """Find a way from an unmatched record to a free row -> next word, or -1 if the words ran out.

    `edges` (n, k): the first `degree` of each record are left. `row` (n,) is the slot of a record's row among
    its edges, -1 if it has none; `owner` (rows,) the record that holds a row. `exit_slot` (n,) becomes the
    slot by which each record was left last, which cuts loops out of the way.
    """
    record = start
    while True:
        choices = degree if row[record] == NOBODY else degree - 1
        slot, at = below(choices, words, at)
        if at == OUT_OF_WORDS:
            return at
        if row[record] != NOBODY and slot >= row[record]:  # any edge but the one it holds
            slot += 1
        exit_slot[record] = slot
        record = owner[edges[record, slot]]
        if record == NOBODY:
            return at


@kernel
def shift(start: int, edges: Any, row: Any, owner: Any, exit_slot: Any) -> None:
    """Give every record on the way the row by which it was left."""
    record = start
    while record != NOBODY:
        slot = exit_slot[record]
        taken = edges[record, slot]
        row[record] = slot
        record, owner[taken] = owner[taken], record


@kernel
def match(edges: Any, degree: int, row: Any, owner: Any, scratch: Any, words: Any, done: int) -> Any:
    """Match records `done`.. as far as the words reach -> (first record not matched, words used)."""
    at: Any = np.int64(0)
    for record in range(done, edges.shape[0]):
        used = at
        at = walk(record, edges, degree, row, owner, scratch, words, at)
        if at == OUT_OF_WORDS:
            return record, used
        shift(record, edges, row, owner, scratch)
    return edges.shape[0], at


@kernel
def remove(edges: Any, degree: int, row: Any) -> None:
    """Move the matched edge of each record behind those that are left: to slot degree-1."""
    for record in range(edges.shape[0]):
        slot = row[record]
        last = degree - 1
        edges[record, slot], edges[record, last] = edges[record, last], edges[record, slot]
