"""Randomized assignment of records to rows, and the order of rows, from a cryptographic source.

An assignment that can be repeated protects nobody: a seed, or the state of an ordinary generator, can be
found from a few known identities. Releases draw from the operating system. The source is an argument
everywhere, but only tests bring one of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Assignment, Codes, Neighbourhoods
from incrowd.kernels import matching

Entropy = Callable[[int], bytes]
CHUNK = 1 << 16  # random bytes drawn at once, few enough to stay in a near cache

# Laws for rings of N records with few candidates k: {(N, k): weights and patterns}. A pattern says how many
# rows before its own each record has, all the way round; where it begins is drawn too. Every number of
# rows is equally frequent in all, by weight, so that every match has exactly 1/k. Among such laws the
# ones for k=3 have the least possible posterior after one known pair; the ones for k=4 come near it and
# leave at most 2/3 after two.
SMALL_RINGS = {
    (4, 3): "1:0000 4:0211 1:2222",
    (5, 3): "3:00000 5:02021 10:02111 3:22222",
    (6, 3): "1:000000 2:020211 1:021021 2:021111 1:222222",
    (7, 3): "10:0000000 21:0202111 21:0210211 7:0211111 10:2222222",
    (8, 3): "13:00000000 8:02021021 24:02021111 16:02102111 16:02110211 13:22222222",
    (5, 4): "1:00000 5:00311 5:02021 5:03322 1:11111 5:13132 1:22222 1:33333",
    (6, 4): "3:000000 3:003021 3:003102 9:003111 2:020202 8:020211 4:021021 2:021111 6:033132 5:033213 "
    "11:033222 1:111111 3:131313 6:131322 2:132132 1:132222 1:222222 2:333333",
    (7, 4): "3:0000000 3:0030211 3:0031021 4:0031102 10:0031111 7:0202021 2:0202111 3:0210211 2:0331313 "
    "3:0331322 4:0332132 4:0332213 11:0332222 7:1313132 4:1321322 2:3333333",
}


def system(size: int) -> bytes:
    """Random bytes from the operating system."""
    return os.urandom(size)


def shuffled(n: int, entropy: Entropy = system) -> NDArray[np.int64]:
    """A uniformly random permutation of 0..n-1.

    Rows are sorted by random 64-bit keys. All orders are equally likely as long as the keys differ; keys
    with a tie (less than one draw in a million for ten million rows) are thrown away and drawn again.
    """
    while True:
        keys = np.frombuffer(entropy(8 * n), dtype=np.uint64)
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order.astype(np.int64)


def draws_below(limit: int, size: int, entropy: Entropy = system) -> NDArray[np.uint64]:
    """As many independent numbers below `limit`, each equally likely.

    Examples
    --------
    >>> bool((draws_below(10, 1000) < 10).all())
    True
    """
    top = (1 << 64) // limit * limit - 1
    found = np.empty(0, np.uint64)
    while found.size < size:
        words = np.frombuffer(entropy(8 * (size - found.size)), dtype=np.uint64)
        found = np.append(found, words[words <= top])
    return found % np.uint64(limit)


def draw_below(limit: int, entropy: Entropy = system) -> int:
    """A whole number below `limit`, each with the same probability.

    Examples
    --------
    >>> 0 <= draw_below(10) < 10
    True
    """
    while True:
        number = int.from_bytes(entropy(8), "big")
        if number < (1 << 64) // limit * limit:
            return number % limit


def whole_classes(n: int, entropy: Entropy = system) -> Assignment:
    """Rows of one class say the same, so a row can go with its own record: shuffling hides the rest."""
    order = shuffled(n, entropy)
    return Assignment(region=order, private=order)


def by_neighbourhoods(
    neighbourhoods: Neighbourhoods, entropy: Entropy = system, way: str = "matching"
) -> Assignment:
    """A row for each record among those whose neighbourhoods it is in, equally likely each; then shuffled.

    Every neighbourhood lists k records, and every record is in k of them. Where all of a part are alike, each
    stays behind its own row: their rows are equal, and shuffled. Records of a tuple get rows of one tuple.
    `way` is one of `WAYS`; those that are printed are for comparison only, and go without tuples.

    Examples
    --------
    >>> ring = Neighbourhoods(np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 0], np.int32))
    >>> sorted(by_neighbourhoods(ring).private.tolist())
    [0, 1, 2]
    """
    return _shuffled_rows(drawn_rows(neighbourhoods, entropy, way), entropy)


def drawn_rows(
    neighbourhoods: Neighbourhoods, entropy: Entropy = system, way: str = "matching"
) -> NDArray[np.int64]:
    """The same before rows are shuffled: the row of each record; unless that was drawn already."""
    if neighbourhoods.row_of is not None:
        return neighbourhoods.row_of
    n = len(neighbourhoods)
    row_of = np.arange(n)
    drawn = row_of if neighbourhoods.alike is None else np.flatnonzero(~neighbourhoods.alike)
    if drawn.size:
        place = np.empty(n, np.int32)
        place[drawn] = np.arange(drawn.size)
        members = place[neighbourhoods.members.reshape(n, -1)[drawn]]
        tuples = None if neighbourhoods.tuples is None else neighbourhoods.tuples[drawn]
        if way == "matching":
            row_of[drawn] = drawn[_drawn_rows(members, tuples, entropy)]
        else:
            row_of[drawn] = drawn[WAYS[way](rows_by_place(members), entropy)]
    return row_of


def _drawn_rows(members: Codes, tuples: Codes | None, entropy: Entropy) -> NDArray[np.int64]:
    """The row of each record. Tuples are drawn as if they were records; then who of a tuple has which row."""
    if tuples is None:
        return one_of_disjoint_matchings(rows_of_records(members), entropy)
    number = np.unique(tuples, return_inverse=True)[1].reshape(-1).astype(np.int32)
    count = int(number.max()) + 1
    size = number.size // count
    first = np.empty(count, np.int64)
    first[number] = np.arange(number.size)
    around = np.sort(number[members[first]], axis=1)[:, ::size]
    of_tuple = one_of_disjoint_matchings(rows_of_records(np.ascontiguousarray(around)), entropy)
    rows = np.argsort(number, kind="stable").reshape(count, size)  # of each tuple
    row_of = np.empty(number.size, np.int64)
    row_of[_places(number, entropy)] = rows[of_tuple].ravel()
    return row_of


def rows_by_place(members: Codes) -> Codes:
    """The same in the order of places: of a ring, row s of a record is the one in which it is the s-th."""
    rows = np.empty_like(members)
    rows[members, np.arange(members.shape[1])] = np.arange(len(members), dtype=np.int32)[:, None]
    return rows


def rows_of_records(members: Codes) -> Codes:
    """The records of each row (n, k) -> the rows of each record (n, k), ascending."""
    listed = np.empty(members.shape, np.int32 if members.size < 2**31 else np.int64)
    matching.incidence(members, listed, np.zeros(len(members), np.int32))
    rows: Codes = (listed // members.shape[1]).astype(np.int32)
    return rows


def by_kinds(fits: Codes, record_kind: Codes, row_kind: Codes, entropy: Entropy = system) -> Assignment:
    """As `by_neighbourhoods`, where equal records and equal rows were counted together.

    `fits` (n, k) are places of rows that each place of a record may have, every row's k times, where places
    are those of records and rows sorted by kind (n,). A place may name a row twice if its kinds fit often
    enough. Who of a kind takes which place is drawn too.
    """
    n = record_kind.size
    row = one_of_disjoint_matchings(fits, entropy)
    record_at, row_at = (_places(kind, entropy) for kind in (record_kind, row_kind))
    row_of = np.empty(n, np.int64)
    row_of[record_at] = row_at[row]
    return _shuffled_rows(row_of, entropy)


def _places(kind: Codes, entropy: Entropy) -> NDArray[np.int64]:
    """Everybody sorted by kind, equals in random order."""
    order = shuffled(kind.size, entropy)
    return order[np.argsort(kind[order], kind="stable")]


def _shuffled_rows(row_of: NDArray[np.int64], entropy: Entropy) -> Assignment:
    """Rows in random order, each with the record that it was given to."""
    behind = np.empty(row_of.size, np.int64)
    behind[row_of] = np.arange(row_of.size)
    order = shuffled(row_of.size, entropy)
    return Assignment(region=order, private=behind[order])


def one_of_disjoint_matchings(edges: Codes, entropy: Entropy = system) -> NDArray[np.int64]:
    """The row of each record, by one of k disjoint perfect matchings of a k-regular graph.

    Every edge is drawn with probability exactly 1/k, by induction over the degree d:

    * d even: the edges fall into circuits, of each every second edge is kept, which half by a fair coin.
      An edge is kept with probability 1/2, and what is kept is regular with degree d/2.
    * d odd: a perfect matching is drawn. With probability 1/d it is the answer, else its edges go:
      1/d for its edges, (1 - 1/d) * 1/(d-1) = 1/d for the others.

    That holds whatever pairs and walks prefer, since coins and numbers below d are drawn apart from them.
    Taking always the first matching, or any perfect matching at random, would not do that.

    Small rings of degree 3 and 4 are drawn by laws of their own, `SMALL_RINGS`. There, one known pair would
    tell more about the others than it must. A pattern is drawn by its weight and turned by a uniform number
    below N. So a record of the ring has the row s before its own with the weighted share of s among all
    places of the patterns, which is 1/k for every s.

    Coins and numbers are drawn for each circuit and each component of the graph. One for all would be as
    even for each record, but then one known person would tell which matching was taken everywhere;
    so, nothing that is known about one component tells anything about another.

    `edges` (n, k) are the rows that each record may have; every row occurs k times in all.

    Examples
    --------
    >>> ring = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    >>> sorted(one_of_disjoint_matchings(ring).tolist())
    [0, 1, 2]
    """
    parts = _RegularGraph.of(edges)
    dice = _RandomBytes(entropy, max(256, min(CHUNK, edges.size)))
    row = np.empty(len(parts), np.int64)
    parts = _without_small_rings(parts, row, entropy)
    while parts.degree > 1 and len(parts):
        if parts.degree % 2 == 0:
            parts = replace(parts, edges=_half(parts.edges, dice))
        else:
            over = draws_below(parts.degree, parts.count, entropy) == 0
            parts = parts.settled(_matching(parts.edges, dice), over, row)
    row[parts.record_at] = parts.row_at[parts.edges[:, 0]]
    return row


@dataclass(frozen=True, eq=False)
class _RegularGraph:
    """A regular graph with its records and rows numbered component by component, so that walks stay near."""

    edges: Codes
    label: Codes
    count: int
    record_at: Codes
    row_at: Codes

    @classmethod
    def of(cls, edges: Codes) -> _RegularGraph:
        n, k = edges.shape
        root, degree = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        whole = n > 0 and k > 0 and matching.components(edges, root, degree)
        if not whole or not (degree == k).all():
            raise ValueError("every record must have k rows, and every row k records")
        record_at, row_at, label = (np.empty(n, np.int32) for _ in range(3))
        out = np.empty((n, k), np.int32)
        count = matching.gather(edges, root, record_at, row_at, label, out)
        return cls(out, label, count, record_at, row_at)

    def __len__(self) -> int:
        return self.label.size

    @property
    def degree(self) -> int:
        return int(self.edges.shape[1])

    def settled(self, held: Codes, over: NDArray[np.bool_], row: NDArray[np.int64]) -> _RegularGraph:
        """What is left without the edges held and without components that are over; these get their rows."""
        edges, places = self.edges, (self.label, self.record_at, self.row_at)
        left = matching.settle(edges, held, over, *places, row)
        fewer = edges.reshape(-1)[: left * (self.degree - 1)].reshape(left, self.degree - 1)
        label, record_at, row_at = (place[:left] for place in places)
        return _RegularGraph(fewer, label, self.count, record_at, row_at)

    def only(self, components: NDArray[np.bool_]) -> _RegularGraph:
        """Some of the components (c,). Records and rows of one have the same numbers, so both move alike."""
        stay = components[self.label]
        gone = np.cumsum(~stay, dtype=np.int32)[stay]
        edges = self.edges[stay] - gone[:, None]
        return _RegularGraph(edges, self.label[stay], self.count, self.record_at[stay], self.row_at[stay])


@cache
def small_ring(n: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cumulated weights (m,) and patterns (m, n) of a small ring."""
    entries = [entry.split(":") for entry in SMALL_RINGS[n, k].split()]
    weights = np.cumsum([int(weight) for weight, _ in entries])
    return weights, np.array([list(map(int, pattern)) for _, pattern in entries])


def _without_small_rings(parts: _RegularGraph, row: NDArray[np.int64], entropy: Entropy) -> _RegularGraph:
    """Give the records of small rings their rows by `SMALL_RINGS` -> all other components."""
    k = parts.degree
    sizes = [n for n, degree in SMALL_RINGS if degree == k]
    if not sizes:
        return parts
    size = np.zeros(parts.count, np.int32)
    records, rows = np.empty(len(parts), np.int32), np.empty(len(parts), np.int32)
    matching.small_rings(parts.edges, parts.label, max(sizes), records, rows, size)
    size[~np.isin(size, sizes)] = 0
    start = np.searchsorted(parts.label, np.arange(parts.count))
    for n in np.unique(size[size > 0]).tolist():
        weights, patterns = small_ring(n, k)
        rings, places = start[size == n], np.arange(n)
        which = np.searchsorted(weights, draws_below(int(weights[-1]), rings.size, entropy), side="right")
        turn = draws_below(n, rings.size, entropy).astype(np.int64)
        back = patterns[which[:, None], (places + turn[:, None]) % n]
        here = rings[:, None] + places
        mine = rows[rings[:, None] + (places - back) % n]
        row[parts.record_at[records[here]]] = parts.row_at[mine]
    return parts.only(size == 0) if size.any() else parts


class _RandomBytes:
    """Random bytes for kernels, drawn many at once. A kernel that runs out of them goes on where it was."""

    def __init__(self, entropy: Entropy, size: int) -> None:
        self.entropy = entropy
        self.size = size
        self.left = np.empty(0, np.uint8)

    def feed(self, step: Callable[[NDArray[np.uint8], int], int]) -> None:
        while (read := step(self.left, 0)) == matching.OUT_OF_BYTES:
            self.left = np.frombuffer(self.entropy(self.size), dtype=np.uint8)
        self.left = self.left[read:]


def _half(edges: Codes, dice: _RandomBytes) -> Codes:
    """A random half of a graph of even degree: half the edges of every record and every row."""
    n, degree = edges.shape
    number: type[np.signedinteger[Any]] = np.int32 if edges.size < 2**31 else np.int64
    dice.feed(partial(matching.pair_up, edges, np.zeros(1, np.int64)))
    listed = np.empty((n, degree), number)
    matching.incidence(edges, listed, np.zeros(n, np.int32))
    dice.feed(partial(matching.pair_up, listed, np.zeros(1, np.int64)))
    partner = np.empty(edges.size, number)
    matching.partners(listed, partner)
    kept = np.full(edges.size // 2, matching.NOBODY, np.int32)
    dice.feed(partial(matching.halve, edges.reshape(-1), partner, kept, np.zeros(1, np.int64)))
    return kept.reshape(n, degree // 2)


def _matching(edges: Codes, dice: _RandomBytes) -> Codes:
    """A random perfect matching -> the slot of each record's row among its edges."""
    held, owner, scratch = (np.full(edges.shape[0], matching.NOBODY, np.int32) for _ in range(3))
    dice.feed(partial(matching.match, edges, held, owner, scratch, np.zeros(2, np.int64)))
    return held


def figure_seven(edges: Codes, entropy: Entropy = system, permuted: bool = True) -> NDArray[np.int64]:
    """The row of each record, as Figure 7 of "Non-homogeneous generalization" draws it: for comparison only.

    With both its optimisations: for each component the index of the assignment is drawn first, and no
    assignment after it is made; each starts from a random permutation, or from the identity if not
    `permuted`. Every edge has probability exactly 1/k here too. The cycle is closed where the record's
    partner is now: what is printed, where it was at first, is right in the first round only.

    Examples
    --------
    >>> ring = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    >>> sorted(figure_seven(ring).tolist())
    [0, 1, 2]
    """
    parts = _RegularGraph.of(edges)
    n, k = edges.shape
    dice = _RandomBytes(entropy, max(CHUNK, 16 * n))  # a walk must fit
    last = draws_below(k, parts.count, entropy)[parts.label]
    found = np.empty(n, np.int64)
    for turn in range(int(last.max()) + 1):
        row = _places(parts.label, entropy) if permuted else np.arange(n)
        owner = np.argsort(row)
        fits = (parts.edges[:, : k - turn] == row[:, None]).any(axis=1)
        waits = np.stack([np.arange(n), (last >= turn) & ~(fits & permuted)])
        walks = matching.FigureSeven(waits, np.zeros((3, n), np.int64), np.array([n, 0]))
        dice.feed(partial(matching.figure_seven, parts.edges, k - turn, row, owner, walks))
        matching.remove(parts.edges, k - turn, row)
        done = last == turn
        found[parts.record_at[done]] = parts.row_at[row[done]]
    return found


def shifted(edges: Codes, entropy: Entropy = system) -> NDArray[np.int64]:
    """The row of each record by one shift for each ring, the "column" of Figure 5: for comparison only.

    Every edge has probability exactly 1/k; but whoever knows one person's row knows those of the whole ring.
    `edges` (n, k) are the rows of each record by their place in the ring, as `rows_by_place` gives them.

    Examples
    --------
    >>> ring = np.array([[0, 2], [1, 0], [2, 1]], np.int32)
    >>> shifted(ring).tolist() in ([0, 1, 2], [2, 0, 1])
    True
    """
    root, degree = np.arange(len(edges), dtype=np.int32), np.zeros(len(edges), np.int32)
    matching.components(edges, root, degree)
    label = np.unique(root, return_inverse=True)[1].reshape(-1)
    shift = draws_below(edges.shape[1], int(label.max()) + 1, entropy).astype(np.int64)
    return edges[np.arange(len(edges)), shift[label]].astype(np.int64)


class Way(Protocol):
    """How rows are assigned: the row of each record, from the k rows that each may have (n, k)."""

    def __call__(self, edges: Codes, entropy: Entropy = system, /) -> NDArray[np.int64]: ...


WAYS: Mapping[str, Way] = {
    "matching": one_of_disjoint_matchings,
    "draw": figure_seven,
    "shift": shifted,
}
