"""Matching: enough records for every row, where equal records and equal rows are one kind each.

Demands of rows are met by Dinic's method: search breadth first from all unmet rows at once, then augment
along shortest paths until none is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.verifier.columns import Ints, sums

Given = tuple[Ints, Ints, Ints]  # so many records of a kind to a kind of row: record, row, amount


@dataclass(frozen=True, slots=True, eq=False)
class MatchingNetwork:
    """Row kind r may be about the record kinds ``records[starts[r]:starts[r+1]]``."""

    starts: Ints
    records: Ints
    demand: Ints
    supply: Ints

    @classmethod
    def of_edges(cls, row: Ints, record: Ints, demand: Ints, supply: Ints) -> MatchingNetwork:
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=demand.size))])
        return cls(starts, record[np.argsort(row, kind="stable")], demand, supply)

    def of(self, row: int) -> Ints:
        return self.records[self.starts[row] : self.starts[row + 1]]

    @property
    def row_of_each_edge(self) -> Ints:
        return np.repeat(np.arange(self.demand.size), np.diff(self.starts))

    def without_the_forced(self) -> tuple[list[Given], MatchingNetwork]:
        """Give records to rows as long as one of them has no other choice; what is left is to be searched.

        To match what has a single neighbour with it costs nothing (Karp and Sipser): whoever could have had
        that neighbour instead would leave this one unmatched.
        """
        row, record = self.row_of_each_edge, self.records
        demand, supply = self.demand.copy(), self.supply.copy()
        given: list[Given] = []
        before = 2 * row.size
        while row.size < before - before // 16:  # a few forced ones are found by the search as well
            before = row.size
            for records_first in (True, False):
                ends = (record, row, supply, demand) if records_first else (row, record, demand, supply)
                amount = _forced(*ends)
                given.append((record[amount > 0], row[amount > 0], amount[amount > 0]))
                undecided = (demand[row] > 0) & (supply[record] > 0)
                row, record = row[undecided], record[undecided]
        return given, MatchingNetwork.of_edges(row, record, demand, supply)

    def turned(self, wanted: Ints) -> MatchingNetwork:
        """The same edges with records as rows: so many of each kind of record want a row each."""
        return MatchingNetwork.of_edges(self.records, self.row_of_each_edge, wanted, self.demand)


def _forced(one: Ints, other: Ints, has: Ints, takes: Ints) -> Ints:
    """What edges give whose `one` end has no other edge; it is subtracted from what both ends have."""
    amount = np.zeros(one.size, np.int64)
    single = np.flatnonzero(np.bincount(one, minlength=has.size)[one] == 1)
    single = single[np.argsort(other[single], kind="stable")]
    offered, at = has[one[single]], other[single]
    before = np.cumsum(offered) - offered
    start = np.full(takes.size, offered.sum())
    np.minimum.at(start, at, before)
    amount[single] = np.clip(takes[at] - (before - start[at]), 0, offered)
    has -= sums(one, amount, has.size)
    takes -= sums(other, amount, takes.size)
    return amount


class Matching:
    """A growing assignment of record kinds to row kinds.

    ``given[record]`` says how many of its records each row kind has got.
    """

    def __init__(self, network: MatchingNetwork) -> None:
        self.network = network
        self.unmet: list[int] = network.demand.tolist()
        self.left: list[int] = network.supply.tolist()
        self.given: list[dict[int, int]] = [{} for _ in self.left]

    def complete(self) -> bool:
        """Match as much as can be; is every demand met?"""
        self._take_what_is_free()
        while any(self.unmet):
            levels = self._levels()
            if levels is None:
                return False
            self._augment_all(*levels)
        return True

    def begin_with(self, other: Matching) -> None:
        """Take over what was matched in a network turned round.

        Nothing is taken back later: a record may change to another row, but never loses all.
        """
        for row, given in enumerate(other.given):
            for record, amount in given.items():
                self._give(record, row, amount)

    def all_given(self) -> list[Given]:
        pairs = [(record, *pair) for record, given in enumerate(self.given) for pair in given.items()]
        triples = np.array(pairs, np.int64).reshape(-1, 3)
        return [(triples[:, 0], triples[:, 1], triples[:, 2])]

    def _take_what_is_free(self) -> None:
        """Rows with the fewest choices choose first."""
        wanting = np.flatnonzero(self.unmet)
        choices = np.diff(self.network.starts)[wanting]
        for row in wanting[np.argsort(choices, kind="stable")].tolist():
            for record in self.network.of(row).tolist():
                if not self.unmet[row]:
                    break
                if self.left[record]:
                    self._give(record, row, min(self.unmet[row], self.left[record]))

    def _give(self, record: int, row: int, amount: int) -> None:
        self.left[record] -= amount
        self.unmet[row] -= amount
        self.given[record][row] = self.given[record].get(row, 0) + amount

    def _levels(self) -> tuple[Ints, Ints] | None:
        """How far each row kind and record kind is from an unmet row; None if no free record is near."""
        row_level = np.full(len(self.unmet), -1, np.int64)
        record_level = np.full(len(self.left), -1, np.int64)
        frontier = [row for row, unmet in enumerate(self.unmet) if unmet]
        row_level[frontier] = 0
        depth, found = 0, False
        while frontier and not found:
            ahead: list[int] = []
            for row in frontier:
                near = self.network.of(row)
                fresh = near[record_level[near] < 0]
                record_level[fresh] = depth + 1
                for record in fresh.tolist():
                    found = found or self.left[record] > 0
                    for holder in self.given[record]:
                        if row_level[holder] < 0:
                            row_level[holder] = depth + 2
                            ahead.append(holder)
            frontier, depth = ahead, depth + 2
        return (row_level, record_level) if found else None

    def _augment_all(self, row_level: Ints, record_level: Ints) -> None:
        phase = _Phase(self.network, row_level.tolist(), record_level)
        for row in np.flatnonzero(row_level == 0).tolist():
            while self.unmet[row] and self._augment(row, phase):
                pass

    def _augment(self, start: int, phase: _Phase) -> bool:
        """Walk depth first from an unmet row to a free record, and hand records on along the way."""
        rows, via = [start], list[int]()
        while rows:
            choices = phase.choices(rows[-1])
            if not choices:
                rows.pop()
                del via[-1:]
                continue
            record = choices[-1]
            if self.left[record]:
                self._hand_on(rows, [*via, record])
                return True
            holder = phase.holder(self.given[record], rows[-1])
            if holder is None:
                choices.pop()
            else:
                rows.append(holder)
                via.append(record)
        return False

    def _hand_on(self, rows: list[int], via: list[int]) -> None:
        """Each row gets the record after it; the row that had it gets the next."""
        held = [self.given[record][row] for record, row in zip(via, rows[1:], strict=False)]
        amount = min(self.unmet[rows[0]], self.left[via[-1]], *held)
        for record, row in zip(via, rows[1:], strict=False):
            self.given[record][row] -= amount
            if not self.given[record][row]:
                del self.given[record][row]
        for record, row in zip(via, rows, strict=True):
            self.given[record][row] = self.given[record].get(row, 0) + amount
        self.unmet[rows[0]] -= amount
        self.left[via[-1]] -= amount


class _Phase:
    """What one breadth-first search allows: steps to the next level only, each dead end once."""

    def __init__(self, network: MatchingNetwork, row_level: list[int], record_level: Ints) -> None:
        self._network = network
        self._row_level = row_level
        self._record_level = record_level
        self._choices: dict[int, list[int]] = {}

    def choices(self, row: int) -> list[int]:
        if row not in self._choices:
            near = self._network.of(row)
            self._choices[row] = near[self._record_level[near] == self._row_level[row] + 1].tolist()
        return self._choices[row]

    def holder(self, given: dict[int, int], row: int) -> int | None:
        below = self._row_level[row] + 2
        return next((h for h in given if self._row_level[h] == below and self.choices(h)), None)
