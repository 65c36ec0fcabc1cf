"""Can every row be given a record of its own? Exact, on any instance.

Equal records are one *kind of record* with a supply, equal rows one *kind of row* with a demand; an edge
joins them where the row may be about the record. Demands are met by Dinic's method: search breadth first
from all unmet rows at once, then augment along shortest paths until none is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.verifier.rows import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Row kind r may be about the record kinds ``records[starts[r]:starts[r+1]]``."""

    starts: Ints
    records: Ints
    demand: Ints
    supply: Ints

    def of(self, row: int) -> Ints:
        return self.records[self.starts[row] : self.starts[row + 1]]

    def turned(self, wanted: Ints) -> Network:
        """The same edges with records as rows: so many of each kind of record want a row each."""
        row = np.repeat(np.arange(self.demand.size), np.diff(self.starts))
        order = np.argsort(self.records, kind="stable")
        count = np.bincount(self.records, minlength=wanted.size)
        return Network(np.concatenate([[0], np.cumsum(count)]), row[order], wanted, self.demand)


class Matching:
    """A growing assignment of record kinds to row kinds.

    ``given[record]`` says how many of its records each row kind has got.
    """

    def __init__(self, network: Network) -> None:
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

    def _take_what_is_free(self) -> None:
        """Rows with the fewest choices choose first: what is forced then needs no search."""
        choices = np.diff(self.network.starts)
        for row in np.argsort(choices, kind="stable").tolist():
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

    def __init__(self, network: Network, row_level: list[int], record_level: Ints) -> None:
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
