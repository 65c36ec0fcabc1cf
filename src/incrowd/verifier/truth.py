"""Truth: is there a one-to-one assignment of records to rows in which every row describes its record?

A row may describe a record if its private part (sensitive and kept values) is the record's, text for text,
and each of its generalized cells holds the record's value. The search is exact. Equal records are one *kind
of record* with a supply, equal rows one *kind of row* with a demand; demands are met by Dinic's method:
search breadth first from all unmet rows at once, then augment along shortest paths until none is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.verifier.columns import Bools, Ints, first_of_each, fold
from incrowd.verifier.domain import MISSING_RANK, CellRegions
from incrowd.verifier.failure import CheckFailed, require

PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class CodedTables:
    """Both tables as numbers.

    Record i of the original has the private part ``record_private[i]`` and the value
    ``record_ranks[j][i]`` in quasi-identifier j. Row p of the release has ``row_private[p]`` (same
    numbers, same texts) and belongs to the class ``row_class[p]``; class c shows the cell
    ``class_cells[j][c]``, which holds what ``regions[j]`` says. Classes are numbered by their texts, so
    that nothing here depends on the order of the rows.
    """

    record_private: Ints
    record_ranks: Sequence[Ints]
    row_private: Ints
    row_class: Ints
    class_cells: Sequence[Ints]
    regions: Sequence[CellRegions]

    def consistent(self, rows: Ints, records: Ints) -> Bools:
        """May row i describe record i? (private parts not compared)"""
        classes = self.row_class[rows]
        fits = np.ones(rows.size, np.bool_)
        for cells, regions, ranks in zip(self.class_cells, self.regions, self.record_ranks, strict=True):
            fits &= regions.hold(cells[classes], ranks[records])
        return fits


def record_of_each_row(tables: CodedTables, links: Ints | None) -> Ints:
    """For each row the record that it describes: those of the links if they all fit, else any that fit."""
    if links is not None and fits(tables, links):
        return links.astype(np.int64)
    match = np.full(tables.row_private.size, -1, np.int64)
    shared = _match_the_unmistakable(tables, match)
    if shared.any():
        records = np.flatnonzero(shared[tables.record_private])
        rows = np.flatnonzero(shared[tables.row_private])
        Kinds(tables, records, rows).match_into(match)
    return match


def person_of_each_row(tables: CodedTables, own: int, links: Ints | None) -> Ints:
    """As `record_of_each_row`, where the first `own` records must all have a row and others may have none.

    By the theorem of Mendelsohn and Dulmage it is enough that one assignment gives every row somebody, and
    another each of the own people a row. To have both at once, begin with the second and go on from the rows
    that are left: whoever has a row keeps one.
    """
    if links is not None and fits(tables, links) and np.unique(links[links < own]).size == own:
        return links.astype(np.int64)
    people, rows = tables.record_private.size, tables.row_private.size
    # Backwards, since of equal people the last are taken first: so the own ones go before others.
    kinds = Kinds(tables, np.arange(people)[::-1], np.arange(rows))
    network = kinds.network()
    mine = np.bincount(kinds.record_kind[people - own :], minlength=network.supply.size)
    seated = Matching(network.turned(mine))
    if not seated.complete():
        raise CheckFailed(f"{sum(seated.unmet)} people of the original table have no row of their own")
    matching = Matching(network)
    matching.begin_with(seated)
    if not matching.complete():
        raise CheckFailed(f"{sum(matching.unmet)} rows describe nobody of either table")
    match = np.full(rows, -1, np.int64)
    kinds.deal(matching, match)
    return match


def fits(tables: CodedTables, links: Ints) -> bool:
    """Do the links give every row a record of its own that it may describe?"""
    rows, records = tables.row_private.size, tables.record_private.size
    if links.shape != (rows,) or links.dtype.kind != "i":
        return False
    if rows and not (links.min() >= 0 and links.max() < records and np.bincount(links).max() == 1):
        return False
    same = tables.record_private[links] == tables.row_private
    return bool(same.all() and tables.consistent(np.arange(rows), links).all())


def _match_the_unmistakable(tables: CodedTables, match: Ints) -> Bools:
    """Match rows whose private part only one record has; say which other private parts there are."""
    count = np.bincount(tables.record_private)
    owner = np.zeros(count.size, np.int64)
    owner[tables.record_private] = np.arange(tables.record_private.size)
    rows = np.flatnonzero(count[tables.row_private] == 1)
    match[rows] = owner[tables.row_private[rows]]
    wrong = int((~tables.consistent(rows, match[rows])).sum())
    require(not wrong, f"{wrong} rows do not describe the only record with their sensitive and kept values")
    shared: Bools = count > 1
    return shared


class Kinds:
    """Some records and rows, equal ones taken together."""

    def __init__(self, tables: CodedTables, records: Ints, rows: Ints) -> None:
        self.tables, self.records, self.rows = tables, records, rows
        private = 1 + int(max(tables.record_private.max(initial=0), tables.row_private.max(initial=0)))
        parts = [tables.record_private[records], *(r[records] for r in tables.record_ranks)]
        self.record_kind = fold(parts, [private, *(regions.size for regions in tables.regions)])
        classes = int(tables.row_class.max(initial=0)) + 1
        self.row_kind = fold([tables.row_private[rows], tables.row_class[rows]], [private, classes])

    def match_into(self, match: Ints) -> None:
        matching = Matching(self.network())
        if not matching.complete():
            lacking = sum(matching.unmet)
            raise CheckFailed(f"{lacking} rows have no record of their own that they describe")
        self.deal(matching, match)

    def deal(self, matching: Matching, match: Ints) -> None:
        """Give single rows single records of the kinds that were matched; of equal records the last first."""
        records, rows = _members(self.records, self.record_kind), _members(self.rows, self.row_kind)
        for kind, given in enumerate(matching.given):
            for row_kind, amount in given.items():
                for _ in range(amount):
                    match[rows[row_kind].pop()] = records[kind].pop()

    def network(self) -> MatchingNetwork:
        """Which kinds of rows may be about which kinds of records."""
        records = self.records[first_of_each(self.record_kind)]
        rows = self.rows[first_of_each(self.row_kind)]
        pairs = [self._tested(rows, records, *pair) for pair in self._candidates(rows, records)]
        row = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in pairs)])
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows.size))])
        return MatchingNetwork(
            starts=starts,
            records=np.concatenate([np.empty(0, np.int64), *(pair[1] for pair in pairs)]),
            demand=np.bincount(self.row_kind),
            supply=np.bincount(self.record_kind),
        )

    def _tested(self, rows: Ints, records: Ints, row: Ints, record: Ints) -> tuple[Ints, Ints]:
        tables = self.tables
        classes = tables.row_class[rows]
        for cells, regions, ranks in zip(
            tables.class_cells, tables.regions, tables.record_ranks, strict=True
        ):
            fits = regions.hold(cells[classes[row]], ranks[records[record]])
            row, record = row[fits], record[fits]
        return row, record

    def _candidates(self, rows: Ints, records: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Pairs (row, record) with one private part, narrowed by the column that narrows most."""
        slices = [self._slices(rows, records, j) for j in range(len(self.tables.regions))]
        order, start, count = min(slices, key=lambda found: int(found[2].sum()))
        before = np.cumsum(count) - count
        parts = before // PAIRS_AT_ONCE
        for part in np.unique(parts):
            row = np.flatnonzero(parts == part)
            repeated = np.repeat(row, count[row])
            place = np.arange(repeated.size) - (before[repeated] - before[row[0]]) + start[repeated]
            yield repeated, order[place]

    def _slices(self, rows: Ints, records: Ints, j: int) -> tuple[Ints, Ints, Ints]:
        """Records in an order in which each row's candidates lie side by side, by column j alone."""
        tables, regions = self.tables, self.tables.regions[j]
        cell = tables.class_cells[j][tables.row_class[rows]]
        low = np.where(regions.missing[cell], MISSING_RANK, regions.low[cell])
        base = tables.row_private[rows] * regions.size
        key = tables.record_private[records] * regions.size + tables.record_ranks[j][records]
        order = np.argsort(key, kind="stable")
        start = np.searchsorted(key[order], base + low)
        end = np.searchsorted(key[order], base + regions.high[cell], side="right")
        return order, start, np.maximum(end - start, 0)


def _members(things: Ints, kind: Ints) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(int(kind.max(initial=-1)) + 1)]
    for thing, number in zip(things.tolist(), kind.tolist(), strict=True):
        members[number].append(thing)
    return members


@dataclass(frozen=True, slots=True, eq=False)
class MatchingNetwork:
    """Row kind r may be about the record kinds ``records[starts[r]:starts[r+1]]``."""

    starts: Ints
    records: Ints
    demand: Ints
    supply: Ints

    def of(self, row: int) -> Ints:
        return self.records[self.starts[row] : self.starts[row + 1]]

    def turned(self, wanted: Ints) -> MatchingNetwork:
        """The same edges with records as rows: so many of each kind of record want a row each."""
        row = np.repeat(np.arange(self.demand.size), np.diff(self.starts))
        order = np.argsort(self.records, kind="stable")
        count = np.bincount(self.records, minlength=wanted.size)
        return MatchingNetwork(np.concatenate([[0], np.cumsum(count)]), row[order], wanted, self.demand)


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
