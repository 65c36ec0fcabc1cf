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

from incrowd.verifier.box_tree import BoxTree, box_tree, boxed
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.columns import Bools, Ints, first_of_each, fold, sums, within
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
        """May row i describe record i? (private parts not compared; one row may stand beside several)"""
        classes = self.row_class[rows]
        fits = np.ones(records.shape, np.bool_)
        for cells, regions, ranks in zip(self.class_cells, self.regions, self.record_ranks, strict=True):
            fits &= regions.hold(cells[classes], ranks[records])
        return fits


def record_of_each_row(tables: CodedTables, links: Ints | None) -> Ints:
    """For each row the record that it describes: those of the links if they all fit, else any that fit."""
    if links is not None and fits(tables, links):
        return links.astype(np.int64)
    match = np.full(tables.row_private.size, -1, np.int64)
    shared = _match_the_unmistakable(tables, match)
    rows = np.flatnonzero(shared[tables.row_private])
    if rows.size:
        records = np.flatnonzero(shared[tables.record_private])
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
    kinds.deal(matching.all_given(), match)
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
        network = self.network()
        given, rest = network.without_the_forced()
        if rest.demand.any():
            matching = Matching(rest)
            if not matching.complete():
                lacking = sum(matching.unmet)
                raise CheckFailed(f"{lacking} rows have no record of their own that they describe")
            given += matching.all_given()
        self.deal(given, match)

    def deal(self, given: Sequence[Given], match: Ints) -> None:
        """Give single rows single records of the kinds that were matched; of equal records the last first."""
        record, row, amount = (np.concatenate(side) for side in zip(*given, strict=True))
        sides = []
        for things, kinds, kind in (
            (self.records, self.record_kind, record),
            (self.rows, self.row_kind, row),
        ):
            # Of each kind the next ones that are left, in the order in which kinds are given.
            members = np.lexsort((-np.arange(kinds.size), kinds))
            first = np.searchsorted(kinds[members], np.arange(int(kinds.max(initial=-1)) + 1))
            order = np.argsort(kind, kind="stable")
            before = np.empty_like(amount)
            before[order] = np.cumsum(amount[order]) - amount[order]
            start = np.full(first.size, amount.sum())
            np.minimum.at(start, kind, before)
            sides.append(things[members[within(first[kind] + before - start[kind], amount)]])
        match[sides[1]] = sides[0]

    def network(self) -> MatchingNetwork:
        """Which kinds of rows may be about which kinds of records."""
        records = self.records[first_of_each(self.record_kind)]
        rows = self.rows[first_of_each(self.row_kind)]
        pairs = [self._tested(rows, records, *pair) for pair in self._candidates(rows, records)]
        none = np.empty(0, np.int64)
        return MatchingNetwork.of_edges(
            row=np.concatenate([none, *(pair[0] for pair in pairs)]),
            record=np.concatenate([none, *(pair[1] for pair in pairs)]),
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
        """Pairs (row, record) with one private part whose class and values meet in a leaf of a tree."""
        tables = self.tables
        private = 1 + int(max(tables.record_private.max(initial=0), tables.row_private.max(initial=0)))
        classes, of_row = np.unique(tables.row_class[rows], return_inverse=True)
        boxes = [boxed(*pair) for pair in zip(tables.regions, tables.record_ranks, strict=True)]
        cells = [column[classes] for column in tables.class_cells]
        tree = box_tree(*([ends[side][c] for ends, c in zip(boxes, cells, strict=True)] for side in (0, 1)))
        ranks = zip(boxes, tables.record_ranks, strict=True)
        leaf = tree.leaves([ends[2][column[records]] for ends, column in ranks])
        key, candidate = self._by_leaf(tree, rows, of_row, private)
        wanted = leaf * private + tables.record_private[records]
        order = np.argsort(wanted, kind="stable")  # in their order, searches are far quicker
        start = np.searchsorted(key, wanted[order])
        count = np.searchsorted(key, wanted[order], side="right") - start
        parts = np.cumsum(count) // PAIRS_AT_ONCE
        for part in np.split(np.arange(records.size), np.flatnonzero(np.diff(parts)) + 1):
            yield candidate[within(start[part], count[part])], np.repeat(order[part], count[part])

    def _by_leaf(self, tree: BoxTree, rows: Ints, of_row: Ints, private: int) -> tuple[Ints, Ints]:
        """Rows by leaf and private part: the sorted keys of both, and the row of each."""
        by_class = np.argsort(of_row, kind="stable")
        size = np.bincount(of_row)
        first = np.cumsum(size) - size
        leaf = np.repeat(np.arange(tree.start.size), tree.stop - tree.start)
        row = by_class[within(first[tree.boxes], size[tree.boxes])]
        key = np.repeat(leaf, size[tree.boxes]) * private + self.tables.row_private[rows[row]]
        order = np.argsort(key, kind="stable")
        return key[order], row[order]


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
