"""Truth: is there a one-to-one assignment of records to rows in which every row describes its record?

A row may describe a record if its private part (sensitive and kept values) is the record's, text for text,
and each of its generalized cells holds the record's value. Where every record fits one class alone, counting
decides. Else the search is exact: equal records are one *kind of record* with a supply, equal rows one *kind
of row* with a demand, and `matching` meets all demands, or it cannot be done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from incrowd.verifier.box_tree import box_tree, boxed
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.columns import Bools, Ints, first_of_each, fold, within
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.matching import Given, Matching, MatchingNetwork
from incrowd.verifier.threads import ONE_THREAD, Threads

PAIRS_AT_ONCE = 2_000_000
SOME = 1_000  # records that are looked at before all of them are


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

    @property
    def private_parts(self) -> int:
        """One more than the largest number of a private part."""
        return 1 + int(max(self.record_private.max(initial=0), self.row_private.max(initial=0)))

    def consistent(self, rows: Ints, records: Ints, threads: Threads = ONE_THREAD) -> Bools:
        """May row i describe record i? (private parts not compared; one row may stand beside several)"""
        classes = self.row_class[rows]

        def fit(cells: Ints, regions: CellRegions, ranks: Ints) -> Bools:
            return regions.hold(cells[classes], ranks[records])

        columns = zip(self.class_cells, self.regions, self.record_ranks, strict=True)
        fits = np.ones(records.shape, np.bool_)
        for fitting in threads.all([partial(fit, *column) for column in columns]):
            fits &= fitting
        return fits

    def fitting(self, classes: Ints, records: Ints) -> Ints:
        """The places i at which class i may describe record i (private parts not compared)."""
        left = np.arange(classes.size)
        for cells, regions, ranks in zip(self.class_cells, self.regions, self.record_ranks, strict=True):
            left = left[regions.hold(cells[classes[left]], ranks[records[left]])]
        return left


class ClassTree:
    """Which classes may describe a record: a tree over the boxes of all classes."""

    def __init__(self, tables: CodedTables) -> None:
        boxes = [boxed(*pair) for pair in zip(tables.regions, tables.record_ranks, strict=True)]
        sides = [
            [ends[side][c] for ends, c in zip(boxes, tables.class_cells, strict=True)] for side in (0, 1)
        ]
        self.tree = box_tree(*sides)
        places = [ends[2].astype(np.int32) for ends in boxes]
        self._columns = [*zip(places, tables.record_ranks, strict=True)]

    def leaves(self, records: Ints) -> Ints:
        """The leaf of each record."""
        return self.tree.leaves([place[ranks[records]] for place, ranks in self._columns])


def record_of_each_row(tables: CodedTables, links: Ints | None, threads: Threads = ONE_THREAD) -> Ints:
    """For each row the record that it describes: those of the links if they all fit, else any that fit."""
    if links is not None and fits(tables, links, threads):
        return links.astype(np.int64)
    tree = ClassTree(tables)
    counted = _record_of_each_row_by_counting(tables, tree)
    if counted is not None:
        return counted
    match = np.full(tables.row_private.size, -1, np.int64)
    shared = _match_the_unmistakable(tables, match)
    rows = np.flatnonzero(shared[tables.row_private])
    if rows.size:
        records = np.flatnonzero(shared[tables.record_private])
        Kinds(tables, tree, records, rows).match_into(match)
    return match


def person_of_each_row(
    tables: CodedTables, own: int, links: Ints | None, threads: Threads = ONE_THREAD
) -> Ints:
    """As `record_of_each_row`, where the first `own` records must all have a row and others may have none.

    By the theorem of Mendelsohn and Dulmage it is enough that one assignment gives every row somebody, and
    another each of the own people a row. To have both at once, begin with the second and go on from the rows
    that are left: whoever has a row keeps one.
    """
    witnessed = links is not None and fits(tables, links, threads)
    if links is not None and witnessed and np.unique(links[links < own]).size == own:
        return links.astype(np.int64)
    people, rows = tables.record_private.size, tables.row_private.size
    # Backwards, since of equal people the last are taken first: so the own ones go before others.
    kinds = Kinds(tables, ClassTree(tables), np.arange(people)[::-1], np.arange(rows))
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


def fits(tables: CodedTables, links: Ints, threads: Threads = ONE_THREAD) -> bool:
    """Do the links give every row a record of its own that it may describe?"""
    rows, records = tables.row_private.size, tables.record_private.size
    if not are_different(links, rows, records):
        return False
    same = tables.record_private[links] == tables.row_private
    return bool(same.all() and tables.consistent(np.arange(rows), links, threads).all())


def are_different(links: Ints, rows: int, records: int) -> bool:
    """Do links give so many rows different ones of so many records?"""
    if links.shape != (rows,) or links.dtype.kind != "i":
        return False
    return not rows or bool(links.min() >= 0 and links.max() < records and np.bincount(links).max() == 1)


def _record_of_each_row_by_counting(tables: CodedTables, tree: ClassTree) -> Ints | None:
    """A record for each row where every record fits one class and no other; None where it takes a search.

    Then a class has the right rows if they have, taken together, the private parts of who fits it.
    """
    rows, records = tables.row_private.size, tables.record_private.size
    if not rows or rows != records:
        return None
    some = np.arange(0, records, max(1, records // SOME))  # most tables with overlapping classes end here
    if _only_class(tables, tree, some) is None:
        return None
    only = _only_class(tables, tree, np.arange(records))
    if only is None:
        return None
    private = tables.private_parts
    wanted, given = only * private + tables.record_private, tables.row_class * private + tables.row_private
    of_record, of_row = np.argsort(wanted), np.argsort(given)  # of equal ones any has any
    if not np.array_equal(wanted[of_record], given[of_row]):
        return None
    match = np.empty(rows, np.int64)
    match[of_row] = of_record
    return match


def _only_class(tables: CodedTables, classes: ClassTree, records: Ints) -> Ints | None:
    """The class that may describe each record; None if one has several, or none."""
    tree, leaf = classes.tree, classes.leaves(records)
    count = (tree.stop - tree.start)[leaf]
    only = np.empty(records.size, np.int64)
    for part in in_parts(count):
        box = tree.boxes[within(tree.start[leaf[part]], count[part])]
        place = np.repeat(part, count[part])
        fit = tables.fitting(box, records[place])
        if not np.array_equal(place[fit], part):
            return None
        only[part] = box[fit]
    return only


def in_parts(count: Ints) -> Iterator[Ints]:
    """Places in order, in parts whose counts add up to about as many pairs as are looked at together."""
    parts = np.cumsum(count) // PAIRS_AT_ONCE
    yield from np.split(np.arange(count.size), np.flatnonzero(np.diff(parts)) + 1)


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

    def __init__(self, tables: CodedTables, tree: ClassTree, records: Ints, rows: Ints) -> None:
        self.tables, self.tree, self.records, self.rows = tables, tree, records, rows
        private = tables.private_parts
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
        fit = self.tables.fitting(self.tables.row_class[rows[row]], records[record])
        return row[fit], record[fit]

    def _candidates(self, rows: Ints, records: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Pairs (row, record) with one private part whose class and values meet in a leaf of a tree."""
        tables = self.tables
        private = tables.private_parts
        key, candidate = self._by_leaf(rows, private)
        wanted = self.tree.leaves(records) * private + tables.record_private[records]
        order = np.argsort(wanted, kind="stable")  # in their order, searches are far quicker
        start = np.searchsorted(key, wanted[order])
        count = np.searchsorted(key, wanted[order], side="right") - start
        for part in in_parts(count):
            yield candidate[within(start[part], count[part])], np.repeat(order[part], count[part])

    def _by_leaf(self, rows: Ints, private: int) -> tuple[Ints, Ints]:
        """Rows by leaf and private part: the sorted keys of both, and the row of each."""
        tree, of_row = self.tree.tree, self.tables.row_class[rows]
        by_class = np.argsort(of_row, kind="stable")
        size = np.bincount(of_row, minlength=self.tables.class_cells[0].size)
        first = np.cumsum(size) - size
        leaf = np.repeat(np.arange(tree.start.size), tree.stop - tree.start)
        row = by_class[within(first[tree.boxes], size[tree.boxes])]
        key = np.repeat(leaf, size[tree.boxes]) * private + self.tables.row_private[rows[row]]
        order = np.argsort(key, kind="stable")
        return key[order], row[order]
