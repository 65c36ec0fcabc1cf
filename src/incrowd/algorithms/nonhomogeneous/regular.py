"""k-regular neighbourhoods: everyone in exactly k of them, everyone's own over exactly k.

They split into k assignments without a common pair, so one of these can be drawn with every match probability
exactly 1/k. Rows that are merely consistent with k records, and records with k rows, need not allow that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import need_enough
from incrowd.algorithms.costs import EXTENT, Priced, groups_of, priced
from incrowd.algorithms.nonhomogeneous.exchange import Exchange
from incrowd.algorithms.nonhomogeneous.neighbourhoods import RecordTree
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition
from incrowd.kernels import closure, flow, regular

FREE = 4  # times k: how many of the records that a row holds are looked at
NEAR = 8  # how many records outside a row are looked at, each time
LEVELS = 8  # how often rows may be widened, by twice as much each time
FIRST = 1 / 8  # of what a row costs on average: by how much they may be widened first


def mended(data: Microdata, neighbourhoods: Neighbourhoods, k: int, measure: str = "lm") -> Neighbourhoods:
    """Neighbourhoods of exactly k, near those given, such that everyone is in exactly k.

    The rows are meant to be those of Algorithms 4 and 5, but any will do. Equal input gives equal output.
    """
    need_enough(data, k)
    n = len(data)
    if k == 1:
        return Neighbourhoods(np.arange(n + 1), np.arange(n, dtype=np.int32))
    mend = Mend.of(data, neighbourhoods, k, measure)
    mend.match()
    mend.close()
    work = Exchange.of(mend.table, mend.members)
    work.run()
    mend.members[:] = work.rows.members
    return mend.neighbourhoods()


def rings(data: Microdata, partition: Partition, k: int) -> Neighbourhoods:
    """In each group a ring: everyone with the k-1 that follow, in an order in which neighbours are alike."""
    place = RecordTree.over(data, "lm").ids
    order = np.lexsort((place, partition.labels))
    sizes = partition.sizes
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)[:, None]
    at = np.arange(len(data))[:, None] - starts + np.arange(k)
    members = np.empty((len(data), k), np.int32)
    members[order] = order[starts + at % np.repeat(sizes, sizes)[:, None]]
    return Neighbourhoods(np.arange(len(data) + 1) * k, members.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class Mend:
    """The work in hand. Records stand in the order of the tree: place x holds record ``record[x]``.

    `owner` and `came` are the neighbourhoods that came in, as pairs of a row and the codes of a record.
    `members` (n, k), `held` and `load` (n,) are what was paired so far: see `kernels.Factor`.
    """

    table: Priced
    plain: Priced
    space: regular.PointTree
    record: NDArray[np.int64]
    place: NDArray[np.int64]
    owner: NDArray[np.int64]
    came: Codes
    members: Codes
    held: NDArray[np.int64]
    load: NDArray[np.int64]

    @classmethod
    def of(cls, data: Microdata, neighbourhoods: Neighbourhoods, k: int, measure: str) -> Mend:
        n, found = len(data), RecordTree.over(data, measure)
        record = np.argsort(found.ids, kind="stable")
        place = np.empty(n, np.int64)
        place[record] = np.arange(n)
        starts = np.concatenate([[0], np.cumsum(found.points.size)])
        members = np.full((n, k), -1, np.int32)
        members[:, 0] = np.arange(n)
        return cls(
            table=replace(found.table, codes=found.table.codes[record]),
            plain=priced(data, EXTENT),
            space=regular.PointTree(starts, found.points, found.tree),
            record=record,
            place=place,
            owner=place[np.repeat(np.arange(n), neighbourhoods.sizes)],
            came=found.table.codes[neighbourhoods.members],
            members=members,
            held=np.ones(n, np.int64),
            load=np.ones(n, np.int64),
        )

    def neighbourhoods(self) -> Neighbourhoods:
        """What was paired, by record."""
        n, k = self.members.shape
        members = np.sort(self.record[self.members][self.place], axis=1)
        return Neighbourhoods(np.arange(n + 1) * k, members.astype(np.int32).ravel())

    def match(self) -> None:
        """Pair as much as possible within rows as they came, then within rows that are widened ever more."""
        n, k = self.members.shape
        rows = self._rows(allowed=True)
        limit = FIRST * float(rows.cost.mean())
        found = np.full((n, FREE * k), -1, np.int32)
        regular.free_pairs(rows, self.space, self.plain.costs, found)
        pairs = _Pairs.none().joined_by(found)
        for level in range(LEVELS + 1):
            pairs, lacking, spare = self._flow(pairs)
            if level == LEVELS or not lacking.any():
                return
            found = np.full((n, NEAR), -1, np.int32)
            rows = self._rows(allowed=True)
            regular.near_pairs(limit, lacking, spare, rows, self.space, self.table.costs, found)
            pairs = pairs.joined_by(found)
            limit *= 2

    def close(self) -> None:
        """Pair the rest."""
        if (self.held < self.members.shape[1]).any():
            regular.pair_leftovers(self.members.shape[1], self.space, self._factor(), self.table.costs)

    def _rows(self, allowed: bool = False) -> closure.GroupBounds:
        """The rows over what they hold; with `allowed`, and over what they came with."""
        owner, codes = np.repeat(np.arange(len(self.held)), self.held), self._held_codes()
        if allowed:
            owner, codes = np.concatenate([self.owner, owner]), np.concatenate([self.came, codes])
        return groups_of(owner, replace(self.table, codes=codes))

    def _held_codes(self) -> Codes:
        return self.table.codes[self.members[self.members >= 0]]

    def _factor(self) -> regular.Factor:
        records = groups_of(np.arange(len(self.held)), self.table)
        return regular.Factor(self.members, self.held, self.load, records, self._rows())

    def _flow(self, pairs: _Pairs) -> tuple[_Pairs, NDArray[np.bool_], NDArray[np.bool_]]:
        """Use as many pairs as possible -> they; rows that could take more, records that could be in more.

        Only a pair of these two can let more be used.
        """
        n, k = self.members.shape
        everyone, m = np.arange(n), pairs.row.size
        source, sink = 2 * n, 2 * n + 1
        tail = np.concatenate([pairs.record, np.full(n, source), n + everyone])
        head = np.concatenate([n + pairs.row, everyone, np.full(n, sink)])
        room = np.concatenate([np.ones(m, np.int64), np.full(2 * n, k - 1)])
        net, at = flow.network(2 * n + 2, tail, head, room)
        carried = np.concatenate([pairs.used, self.load - 1, self.held - 1])
        net.room[at] -= carried
        net.room[net.mate[at]] += carried
        flow.max_flow(net, source, sink)
        pairs = replace(pairs, used=net.room[at[:m]] == 0)
        self.members[:] = -1
        regular.read_pairs(pairs.row, pairs.record, pairs.used, self.members, self.held, self.load)
        backwards = net._replace(room=net.room[net.mate])
        return pairs, flow.reachable(backwards, sink)[n:source], flow.reachable(net, source)[:n]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Pairs of a row and a record (m,), sorted and distinct, and which of them are used."""

    row: NDArray[np.int64]
    record: NDArray[np.int64]
    used: NDArray[np.bool_]

    @classmethod
    def none(cls) -> _Pairs:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    def joined_by(self, found: Codes) -> _Pairs:
        """With the records found for each row (n, most), -1 for none."""
        n = found.shape[0]
        row, slot = np.nonzero(found >= 0)
        more = row * n + found[row, slot]
        keys, first = np.unique(np.concatenate([self.row * n + self.record, more]), return_index=True)
        used = np.concatenate([self.used, np.zeros(row.size, np.bool_)])[first]
        return _Pairs(keys // n, keys % n, used)
