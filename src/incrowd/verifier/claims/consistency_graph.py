"""The consistency graph that an adversary sees: which record may be behind which row, by generalized cells.

Equal records are one node with a weight, and so are the rows of a class. Edges are never listed one by one:
they are kept as runs of records in the order of `kd_tree`, and counted as runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.claims.kd_tree import RegionSearch, Runs
from incrowd.verifier.columns import Ints, first_of_each, fold, sums, within
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.truth import CodedTables

MOST_EDGES = 30_000_000  # the search for a factor takes 80 bytes each
RUNS_AT_ONCE = 2_000_000
WITNESSES_AT_ONCE = 200_000  # so few that they stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class DegreeCounts:
    """A number for each distinct record and for each class, and how often each occurs."""

    records: Ints
    rows: Ints
    record_weight: Ints
    row_weight: Ints


class ConsistencyGraph:
    """Records and rows, joined where the row's cells hold the record. What is asked for is found once.

    `match` is for each row a record of its own that it holds; `neighbourhoods` are for each row the k records
    that a witness says it was made of. They are never trusted.
    """

    def __init__(
        self, tables: CodedTables, match: Ints, neighbourhoods: NDArray[np.integer] | None = None
    ) -> None:
        self._tables, self._match, self._neighbourhoods = tables, match, neighbourhoods
        self.rows = tables.row_class.size
        self.left_out = tables.record_private.size - self.rows
        self.row_weight = np.bincount(tables.row_class)
        self._witnessed: dict[int, bool] = {}

    @property
    def match(self) -> Ints:
        return self._match

    @cached_property
    def kind(self) -> Ints:
        """Which distinct record each record is."""
        tables = self._tables
        return fold(tables.record_ranks, [regions.size for regions in tables.regions])

    @cached_property
    def record_weight(self) -> Ints:
        return np.bincount(self.kind)

    @cached_property
    def runs(self) -> Runs:
        tables, first = self._tables, first_of_each(self.kind)
        ranks = [column[first] for column in tables.record_ranks]
        return RegionSearch(ranks, tables.class_cells, tables.regions).runs()

    @cached_property
    def degrees(self) -> DegreeCounts:
        """How many rows each record is consistent with, and how many records each row."""
        return self._tally(np.zeros_like(self.record_weight), np.zeros_like(self.row_weight))

    @cached_property
    def matches(self) -> DegreeCounts:
        """As `degrees`, counting only edges that are part of some assignment.

        Such an edge lies on a cycle that alternates with the known assignment: its ends are in one strongly
        connected component of the graph in which records lead to the rows that hold them and rows lead back
        to their own records.
        """
        return self._tally(*self._components())

    def _tally(self, record_label: Ints, row_label: Ints) -> DegreeCounts:
        """Count edges between records and rows of the same label."""
        order, n = self.runs.parts.order, self.record_weight.size
        key = record_label[order] * n + np.arange(n)
        by_label = np.argsort(key)
        key, of = key[by_label], order[by_label]
        before = np.concatenate([[0], np.cumsum(self.record_weight[of])])
        rows, change = np.zeros_like(self.row_weight), np.zeros(n + 1, np.int64)
        for at in range(0, self.runs.row.size, RUNS_AT_ONCE):
            row, part = (side[at : at + RUNS_AT_ONCE] for side in (self.runs.row, self.runs.part))
            base = row_label[row] * n
            start = np.searchsorted(key, base + self.runs.parts.start[part])
            stop = np.searchsorted(key, base + self.runs.parts.stop[part])
            rows += sums(row, before[stop] - before[start], rows.size)
            weight = self.row_weight[row]
            change += sums(start, weight, n + 1) - sums(stop, weight, n + 1)
        records = np.empty(n, np.int64)
        records[of] = np.cumsum(change)[:n]
        return DegreeCounts(records, rows, self.record_weight, self.row_weight)

    def _components(self) -> tuple[Ints, Ints]:
        """The component of each distinct record and of each class."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        tail, head, size = self._directed()
        graph = csr_array((np.ones(tail.size), (tail, head)), shape=(size, size))
        labels = connected_components(graph, connection="strong")[1].astype(np.int64)
        records = np.empty(self.record_weight.size, np.int64)
        records[self.runs.parts.order] = labels[: records.size]
        first = self.runs.parts.above.size
        return records, labels[first : first + self.row_weight.size]

    def _directed(self) -> tuple[Codes, Codes, int]:
        """Places lead to the parts around them, parts to the rows that hold them, rows to their records.

        The node after all rows stands for every row that was not published: anybody may be behind it.
        """
        parts, kinds = self.runs.parts, self.record_weight.size
        first_row, dummy = parts.above.size, parts.above.size + self.row_weight.size
        place = np.empty(kinds, np.int64)
        place[parts.order] = np.arange(kinds)
        inner = np.flatnonzero(parts.above != np.arange(parts.above.size))
        own = np.unique(self._tables.row_class * kinds + self.kind[self._match])
        hidden = place[np.unique(np.delete(self.kind, self._match))]
        edges = [
            (inner, parts.above[inner]),
            (self.runs.part, first_row + self.runs.row),
            (first_row + own // kinds, place[own % kinds]),
            (np.array([parts.whole]), np.array([dummy])),
            (np.full(hidden.size, dummy), hidden),
        ]
        tail, head = (np.concatenate(side).astype(np.int32) for side in zip(*edges, strict=True))
        return tail, head, dummy + 1

    def edges(self) -> tuple[Ints, Ints]:
        """Every edge, as a distinct record and a class."""
        size = self.runs.stop - self.runs.start
        if int(size.sum()) > MOST_EDGES:
            raise CheckFailed("the rows are consistent with too many records to search without a witness")
        return self.runs.parts.order[within(self.runs.start, size)], np.repeat(self.runs.row, size)

    def witnessed(self, k: int) -> bool:
        """Do the given neighbourhoods show by themselves that every row may be any of k records?

        Every row must have k different records that it holds, and no record may serve more than k rows. Where
        there are as many rows as records, each then serves exactly k.
        """
        if k not in self._witnessed:
            self._witnessed[k] = self._shows_factor(k)
        return self._witnessed[k]

    def candidates(self) -> tuple[Ints, Ints]:
        """The k rows that each record may be behind (records, k) by the neighbourhoods; each row k times.

        And the component of each row: nobody of one may be behind a row of another. No search finds these:
        which of all rows that hold a record may be its own only the publisher can say.
        """
        given, n = self._neighbourhoods, self.rows
        k = given.shape[1] if given is not None and given.ndim == 2 else 0
        if given is None or self.left_out or not k or not self.witnessed(k):
            raise CheckFailed(
                "which rows may be whose only the links of the audit say, and they are missing or do not fit"
            )
        record = given.ravel().astype(np.int64)
        row = np.arange(n).repeat(k)
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        graph = csr_array((np.ones(record.size), (row, n + record)), shape=(2 * n, 2 * n))
        component = connected_components(graph, directed=False)[1][:n].astype(np.int64)
        return row[np.argsort(record, kind="stable")].reshape(-1, k), component

    def _shows_factor(self, k: int) -> bool:
        neighbourhoods, records = self._neighbourhoods, self._tables.record_private.size
        if (
            neighbourhoods is None
            or neighbourhoods.shape != (self.rows, k)
            or neighbourhoods.dtype.kind not in "iu"
        ):
            return False
        if neighbourhoods.min() < 0 or neighbourhoods.max() >= records:
            return False
        named = neighbourhoods.astype(np.int64)
        if (np.diff(np.sort(named, axis=1), axis=1) == 0).any() or np.bincount(named.ravel()).max() > k:
            return False
        for rows in np.array_split(np.arange(self.rows), named.size // WITNESSES_AT_ONCE + 1):
            if not self._tables.consistent(rows[:, None], named[rows]).all():
                return False
        return True
