"""CutRow in which no sensitive value is too frequent, and rings inside them.

Section 6 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing",
SIGMOD 2010. Its claim about ordered parts is false for l >= 3, and an order that is made by sensitive values
gives them away to whoever knows the rule. So parts are cut further here, until each holds every value at most
so often that any assignment will do; who goes where is drawn among records of one value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.ordering import CutRow, sorted_row
from incrowd.contracts import Eligible, Progress
from incrowd.entropy import Entropy, shuffled, system
from incrowd.errors import Infeasible
from incrowd.flow import Codes, Microdata

Ints = NDArray[np.int64]
NEAR = 32  # how many runs on either side are tried before the nearest is taken


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """What a part must keep: k records, and no value of `codes` (n,) with more than its share 1/l.

    With `per_neighbourhood` a part will be cut into neighbourhoods of k, each of which must keep that, too.
    """

    codes: Codes
    size: int
    l: int  # noqa: E741  the paper's letter
    k: int
    per_neighbourhood: bool = False

    @classmethod
    def by(cls, rule: Eligible, k: int, per_neighbourhood: bool = False) -> Sought:
        return cls(rule.codes, rule.size, rule.l, k, per_neighbourhood)

    def allows(self, counts: Ints) -> NDArray[np.bool_]:
        """CutRow as counts of each value (p, size) -> which of them keep it (p,)."""
        sizes, most = counts.sum(axis=1), counts.max(axis=1)
        enough = sizes >= self.k
        if self.per_neighbourhood:
            fits: NDArray[np.bool_] = enough & (most <= (self.k // self.l) * (sizes // self.k))
            return fits
        few: NDArray[np.bool_] = enough & (most * self.l <= sizes)
        return few

    def counts(self, rows: Codes, run: Ints, runs: int) -> Ints:
        """How often each value occurs in each run of rows (runs, size)."""
        flat = np.bincount(run * self.size + self.codes[rows], minlength=runs * self.size)
        return flat.reshape(runs, self.size)


def eligible_parts(data: Microdata, sought: Sought, progress: Progress) -> CutRow:
    """The lexicographic partition with parts that are eligible, records of a part in lexicographic order.

    As Figure 8 the table is cut into runs of one column after the other. A run that is not eligible is merged
    with the nearest one with which it is; where none of the near ones will do, with the nearest, and is
    looked at again. A run of one value is cut further by the next column.
    """
    n, d = data.codes.shape
    everyone = np.arange(n, dtype=np.int32)
    if not n or not sought.allows(sought.counts(everyone, np.zeros(n, np.int64), 1))[0]:
        raise Infeasible(f"not even all {n} records together keep k={sought.k} and l={sought.l}")
    by, order = sorted_row(data)
    done: list[Ints] = []
    settled = 0
    stack = [(np.arange(n), 0)]  # places in the order, and the column to cut by
    while stack:
        places, x = stack.pop()
        if x == d or places.size < 2 * sought.k:
            done.append(places)
            settled += places.size
            progress(settled / n)
            continue
        values = data.codes[order[places], by[x]]
        for piece, single in _cut(places, order[places], values, sought):
            if single:
                stack.append((piece, x + 1))
            else:
                done.append(piece)
                settled += piece.size
    done.sort(key=lambda piece: int(piece[0]))
    sizes = np.array([piece.size for piece in done], np.int64)
    return CutRow(order[np.concatenate(done)], np.concatenate([[0], np.cumsum(sizes)]))


def _cut(places: Ints, rows: Codes, values: Codes, sought: Sought) -> list[tuple[Ints, bool]]:
    """Runs of one value, merged until they are eligible -> places of each, and whether it has one value."""
    edges = np.flatnonzero(np.diff(values, prepend=-1))
    if edges.size == 1:
        return [(places, True)]
    run = np.repeat(np.arange(edges.size), np.diff(np.append(edges, values.size)))
    merged = _Merging(sought.counts(rows, run, edges.size), sought)
    merged.run()
    pieces = np.split(places, edges[1:])
    found = []
    for group in merged.groups():
        together = np.sort(np.concatenate([pieces[i] for i in group])) if len(group) > 1 else pieces[group[0]]
        found.append((together, len(group) == 1))
    return found


class _Merging:
    """Runs in a row, and which of them are one by now."""

    def __init__(self, counts: Ints, sought: Sought) -> None:
        self.counts, self.sought = counts, sought
        self.alive = list(range(len(counts)))
        self.members = {i: [i] for i in self.alive}

    def groups(self) -> list[list[int]]:
        return [sorted(self.members[i]) for i in self.alive]

    def run(self) -> None:
        """From left to right; a run stands where the first of its members stood."""
        allowed = self.sought.allows(self.counts)
        at = 0
        while at < len(self.alive):
            if allowed[self.alive[at]]:
                at += 1
                continue
            at = self._merge(at, self._partner(at), allowed)

    def _partner(self, at: int) -> int:
        """The nearest run with which this one is eligible, else the nearest; the earlier one of equals."""
        near = sorted(
            (abs(other - at), other)
            for other in range(max(0, at - NEAR), min(len(self.alive), at + NEAR + 1))
            if other != at
        )
        others = [other for _, other in near]
        together = self.counts[[self.alive[other] for other in others]] + self.counts[self.alive[at]]
        good = np.flatnonzero(self.sought.allows(together))
        return others[int(good[0])] if good.size else others[0]

    def _merge(self, at: int, partner: int, allowed: NDArray[np.bool_]) -> int:
        """Make both one -> where to go on: at the same run if it is still not eligible."""
        first, last = sorted((at, partner))
        kept, gone = self.alive[first], self.alive[last]
        self.counts[kept] += self.counts[gone]
        self.members[kept] += self.members.pop(gone)
        del self.alive[last]
        allowed[kept] = self.sought.allows(self.counts[kept][None])[0]
        return first if not allowed[kept] else at - (partner < at)


def split_apart(parts: CutRow, sought: Sought, entropy: Entropy = system) -> CutRow:
    """Cut each part into as many as it has times k records, such that no value is frequent in any of them.

    Values are dealt out one after the other, the most frequent first, like cards; who of a value comes when
    is drawn. So no value is in one of m parts more often than once in m of its records, rounded up. Apart
    from the values themselves nothing decides who goes where, so where somebody went tells nothing about them
    beyond the values of that part.

    Examples
    --------
    >>> sought = Sought(np.array([0, 0, 1, 1, 2, 2], np.int32), 3, l=3, k=3, per_neighbourhood=True)
    >>> cut = split_apart(CutRow(np.arange(6, dtype=np.int32), np.array([0, 6])), sought)
    >>> [sorted(sought.codes[part].tolist()) for part in np.split(cut.order, cut.starts[1:-1])]
    [[0, 1, 2], [0, 1, 2]]
    """
    n, sizes = parts.order.size, np.diff(parts.starts)
    part = np.repeat(np.arange(len(parts)), sizes)
    dealt = _dealt(parts.order, part, len(parts), sought, shuffled(n, entropy))
    pieces = sizes // sought.k
    turn = np.arange(n) - parts.starts[part[dealt]]
    piece = np.empty(n, np.int64)
    piece[dealt] = (np.cumsum(pieces) - pieces)[part[dealt]] + turn % pieces[part[dealt]]
    place = np.argsort(piece, kind="stable")  # in each piece the order of the row
    starts = np.concatenate([[0], np.cumsum(np.bincount(piece))])
    return CutRow(parts.order[place], starts)


def _dealt(rows: Codes, part: Ints, parts: int, sought: Sought, drawn: Ints) -> Ints:
    """Places of the row by part, then values by falling frequency in it, then by `drawn`."""
    key = part * sought.size + sought.codes[rows]
    often = np.bincount(key, minlength=parts * sought.size)[key]
    return np.lexsort((drawn, sought.codes[rows], -often, part))


def printed_order(parts: CutRow, sought: Sought) -> CutRow:
    """Order each part so that no l records in a row of the ring have the same value, as section 6 asks.

    As many blocks as the most frequent value has records, equally long but for one; they are filled place by
    place, first all first places, with the values by falling frequency. Records of a value keep their order.

    Examples
    --------
    >>> sought = Sought(np.array([0, 0, 1, 1, 2, 2], np.int32), 3, l=3, k=3, per_neighbourhood=True)
    >>> ordered = printed_order(CutRow(np.arange(6, dtype=np.int32), np.array([0, 6])), sought)
    >>> sought.codes[ordered.order].tolist()
    [0, 1, 2, 0, 1, 2]
    """
    sizes = np.diff(parts.starts)
    part = np.repeat(np.arange(len(parts)), sizes)
    dealt = _dealt(parts.order, part, len(parts), sought, np.arange(parts.order.size))
    key = part * sought.size + sought.codes[parts.order]
    often = np.bincount(key, minlength=len(parts) * sought.size)
    blocks = often.reshape(len(parts), sought.size).max(axis=1)
    ordered = np.empty_like(parts.order)
    for p, first in enumerate(parts.starts[:-1].tolist()):
        size, q = int(sizes[p]), int(blocks[p])
        lengths = np.full(q, size // q)
        lengths[: size % q] += 1
        offset = np.arange(size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        block = np.repeat(np.arange(q), lengths)
        ordered[first + np.lexsort((block, offset))] = parts.order[dealt[first : first + size]]
    return CutRow(ordered, parts.starts)
