"""Is there a one-to-one assignment of records to rows in which every row tells the truth?

A row may be about a record if its private part is the record's, text for text, and each of its
generalised cells holds the record's value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.verifier.domain import MISSING_RANK, Bools, Regions
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.matching import Matching, Network
from incrowd.verifier.rows import Ints, fold

PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
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
    regions: Sequence[Regions]

    def told(self, rows: Ints, records: Ints) -> Bools:
        """May row i be about record i? (private parts not compared)"""
        classes = self.row_class[rows]
        truthful = np.ones(rows.size, np.bool_)
        for cells, regions, ranks in zip(self.class_cells, self.regions, self.record_ranks, strict=True):
            truthful &= regions.hold(cells[classes], ranks[records])
        return truthful


def record_of_each_row(evidence: Evidence, hint: Ints | None) -> Ints:
    """For each row the record that it is about: those of the hint if they all fit, else any that fit."""
    if hint is not None and fits(evidence, hint):
        return hint.astype(np.int64)
    match = np.full(evidence.row_private.size, -1, np.int64)
    shared = _match_the_unmistakable(evidence, match)
    if shared.any():
        records = np.flatnonzero(shared[evidence.record_private])
        rows = np.flatnonzero(shared[evidence.row_private])
        Kinds(evidence, records, rows).match_into(match)
    return match


def person_of_each_row(evidence: Evidence, own: int, hint: Ints | None) -> Ints:
    """As `record_of_each_row`, where the first `own` records must all have a row and others may have none.

    By the theorem of Mendelsohn and Dulmage it is enough that one assignment gives every row somebody, and
    another each of the own people a row. To have both at once, begin with the second and go on from the rows
    that are left: whoever has a row keeps one.
    """
    if hint is not None and fits(evidence, hint) and _all_have_rows(hint, own):
        return hint.astype(np.int64)
    people, rows = evidence.record_private.size, evidence.row_private.size
    # Backwards, since of equal people the last are taken first: so the own ones go before others.
    kinds = Kinds(evidence, np.arange(people)[::-1], np.arange(rows))
    network = kinds.network()
    mine = np.bincount(kinds.record_kind[people - own :], minlength=network.supply.size)
    seated = Matching(network.turned(mine))
    if not seated.complete():
        raise Fault(f"{sum(seated.unmet)} people of the original have no row of their own")
    matching = Matching(network)
    matching.begin_with(seated)
    if not matching.complete():
        raise Fault(f"{sum(matching.unmet)} rows have nobody of either table that they could be about")
    match = np.full(rows, -1, np.int64)
    kinds.deal(matching, match)
    return match


def _all_have_rows(match: Ints, own: int) -> bool:
    return np.unique(match[match < own]).size == own


def fits(evidence: Evidence, hint: Ints) -> bool:
    """Does the hint give every row a record of its own that it may be about?"""
    rows, records = evidence.row_private.size, evidence.record_private.size
    if hint.shape != (rows,) or hint.dtype.kind != "i":
        return False
    if rows and not (hint.min() >= 0 and hint.max() < records and np.bincount(hint).max() == 1):
        return False
    same = evidence.record_private[hint] == evidence.row_private
    return bool(same.all() and evidence.told(np.arange(rows), hint).all())


def _match_the_unmistakable(evidence: Evidence, match: Ints) -> Bools:
    """Match rows whose private part only one record has; say which other private parts there are."""
    count = np.bincount(evidence.record_private)
    owner = np.zeros(count.size, np.int64)
    owner[evidence.record_private] = np.arange(evidence.record_private.size)
    rows = np.flatnonzero(count[evidence.row_private] == 1)
    match[rows] = owner[evidence.row_private[rows]]
    wrong = int((~evidence.told(rows, match[rows])).sum())
    need(not wrong, f"{wrong} rows are not about the record with their private values")
    shared: Bools = count > 1
    return shared


class Kinds:
    """Some records and rows, equal ones taken together."""

    def __init__(self, evidence: Evidence, records: Ints, rows: Ints) -> None:
        self.evidence, self.records, self.rows = evidence, records, rows
        private = 1 + int(max(evidence.record_private.max(initial=0), evidence.row_private.max(initial=0)))
        parts = [evidence.record_private[records], *(r[records] for r in evidence.record_ranks)]
        self.record_kind = fold(parts, [private, *(regions.size for regions in evidence.regions)])
        classes = int(evidence.row_class.max(initial=0)) + 1
        self.row_kind = fold([evidence.row_private[rows], evidence.row_class[rows]], [private, classes])

    def match_into(self, match: Ints) -> None:
        matching = Matching(self.network())
        if not matching.complete():
            lacking = sum(matching.unmet)
            raise Fault(f"{lacking} rows have no record of their own that they could be about")
        self.deal(matching, match)

    def deal(self, matching: Matching, match: Ints) -> None:
        """Give single rows single records of the kinds that were matched; of equal records the last first."""
        records, rows = _members(self.records, self.record_kind), _members(self.rows, self.row_kind)
        for kind, given in enumerate(matching.given):
            for row_kind, amount in given.items():
                for _ in range(amount):
                    match[rows[row_kind].pop()] = records[kind].pop()

    def network(self) -> Network:
        """Which kinds of rows may be about which kinds of records."""
        first_record = np.unique(self.record_kind, return_index=True)[1]
        first_row = np.unique(self.row_kind, return_index=True)[1]
        records, rows = self.records[first_record], self.rows[first_row]
        pairs = [self._tested(rows, records, *pair) for pair in self._candidates(rows, records)]
        row = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in pairs)])
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows.size))])
        return Network(
            starts=starts,
            records=np.concatenate([np.empty(0, np.int64), *(pair[1] for pair in pairs)]),
            demand=np.bincount(self.row_kind),
            supply=np.bincount(self.record_kind),
        )

    def _tested(self, rows: Ints, records: Ints, row: Ints, record: Ints) -> tuple[Ints, Ints]:
        evidence = self.evidence
        classes = evidence.row_class[rows]
        for cells, regions, ranks in zip(
            evidence.class_cells, evidence.regions, evidence.record_ranks, strict=True
        ):
            told = regions.hold(cells[classes[row]], ranks[records[record]])
            row, record = row[told], record[told]
        return row, record

    def _candidates(self, rows: Ints, records: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Pairs (row, record) with one private part, narrowed by the column that narrows most."""
        slices = [self._slices(rows, records, j) for j in range(len(self.evidence.regions))]
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
        evidence, regions = self.evidence, self.evidence.regions[j]
        cell = evidence.class_cells[j][evidence.row_class[rows]]
        low = np.where(regions.missing[cell], MISSING_RANK, regions.low[cell])
        base = evidence.row_private[rows] * regions.size
        key = evidence.record_private[records] * regions.size + evidence.record_ranks[j][records]
        order = np.argsort(key, kind="stable")
        start = np.searchsorted(key[order], base + low)
        end = np.searchsorted(key[order], base + regions.high[cell], side="right")
        return order, start, np.maximum(end - start, 0)


def _members(things: Ints, kind: Ints) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(int(kind.max(initial=-1)) + 1)]
    for thing, number in zip(things.tolist(), kind.tolist(), strict=True):
        members[number].append(thing)
    return members
