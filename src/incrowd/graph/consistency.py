"""The consistency graph: a record and a published row are joined if the row's cells hold the record.

Equal records are one node with a weight, and so are equal rows: they have the same neighbours, and what
is said about one of them is said about all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes, Microdata, distinct_rows
from incrowd.kernels import boxtree
from incrowd.measures.counted import record_weights
from incrowd.measures.published import Published, covered_regions

Ints = NDArray[np.int64]


class Counts(NamedTuple):
    """A number for each distinct record and one for each distinct published row."""

    records: Ints
    rows: Ints

    def least(self) -> tuple[int, int]:
        """The smallest number among records and among rows, 0 where there are none."""
        return _least(self.records), _least(self.rows)


@dataclass(frozen=True, eq=False)
class Graph:
    """Distinct records u and distinct rows v with weights, and edges from u to rows ``indices[e]``.

    Edges of u are ``indptr[u]..indptr[u+1]-1``, their rows ascend. ``record_of`` and ``row_of`` say which
    distinct one each record and each published row is, -1 if it was taken out; of weighed tables, each line.
    Where fewer rows than records were published, ``left_out`` is the difference: the last row then stands for
    all records that may have been left out; anybody may be, and it counts nowhere as a published row.
    """

    record_weight: Ints
    row_weight: Ints
    indptr: Ints
    indices: Codes
    record_of: Codes
    row_of: Codes
    left_out: int = 0

    def __post_init__(self) -> None:
        if self.record_weight.sum() != self.row_weight.sum():
            raise TableError(
                f"{self.record_weight.sum()} records cannot be matched with {self.row_weight.sum()} rows"
            )
        if self.indptr.size != self.record_weight.size + 1 or self.indptr[-1] != self.indices.size:
            raise TableError("a consistency graph needs a list of rows for each distinct record")

    def __repr__(self) -> str:
        return (
            f"Graph({len(self)} records, {self.record_weight.size} distinct, {self.published} distinct rows, "
            f"{self.indices.size} edges)"
        )

    def __len__(self) -> int:
        return int(self.record_weight.sum())

    @property
    def published(self) -> int:
        """How many distinct rows were published."""
        return self.row_weight.size - (self.left_out > 0)

    @property
    def tails(self) -> Codes:
        """The record of each edge."""
        return np.repeat(np.arange(self.record_weight.size, dtype=np.int32), np.diff(self.indptr))

    @property
    def real(self) -> NDArray[np.bool_]:
        """Which edges lead to a published row."""
        return self.indices < self.published

    def degrees(self) -> Counts:
        """How many rows each record is consistent with, and how many records each row."""
        return self.tally(self.real)

    def tally(self, edges: NDArray[np.bool_]) -> Counts:
        """As `degrees`, counting these edges only."""
        edges = edges & self.real
        tails, heads = self.tails[edges], self.indices[edges]
        records = np.bincount(tails, self.row_weight[heads], self.record_weight.size)
        rows = np.bincount(heads, self.record_weight[tails], self.published)
        return Counts(records.astype(np.int64), rows.astype(np.int64))

    def edge(self, records: NDArray[np.integer], rows: NDArray[np.integer]) -> Ints:
        """Where the edges between distinct records and distinct rows lie, -1 where there is none."""
        width = max(self.row_weight.size, 1)
        keys = self.tails.astype(np.int64) * width + self.indices
        wanted = records.astype(np.int64) * width + rows
        place = np.searchsorted(keys, wanted)
        found = np.append(keys, -1)[place] == wanted
        return np.where(found, place, -1)

    def without(self, known: Iterable[tuple[int, int]]) -> Graph:
        """The graph that is left when some people are known to be behind some rows.

        Parameters
        ----------
        known : iterable of (record, row)
            Numbers of original records and of the published rows that are theirs.

        Examples
        --------
        >>> Graph.of([[0, 1], [0, 1, 2], [1, 2]]).without([(0, 0)]).degrees().records.tolist()
        [2, 2]
        """
        pairs = np.array(list(known), dtype=np.int64).reshape(-1, 2)
        us, vs = self.record_of[pairs[:, 0]], self.row_of[pairs[:, 1]]
        distinct = np.unique(pairs[:, 0]).size == np.unique(pairs[:, 1]).size == len(pairs)
        if not distinct or (us < 0).any() or (vs < 0).any() or (self.edge(us, vs) < 0).any():
            raise TableError(f"{len(pairs)} known pairs contradict the published table or each other")
        record_of, row_of = self.record_of.copy(), self.row_of.copy()
        record_of[pairs[:, 0]] = -1
        row_of[pairs[:, 1]] = -1
        weights = self.record_weight - np.bincount(us, minlength=self.record_weight.size)
        rows = self.row_weight - np.bincount(vs, minlength=self.row_weight.size)
        return self._kept(weights, rows, record_of, row_of)

    def _kept(self, records: Ints, rows: Ints, record_of: Codes, row_of: Codes) -> Graph:
        """With other weights; what has none left is taken out."""
        stays = (records[self.tails] > 0) & (rows[self.indices] > 0)
        to_record = np.append(np.cumsum(records > 0) - 1, -1).astype(np.int32)
        to_row = np.append(np.cumsum(rows > 0) - 1, -1).astype(np.int32)
        degree = np.bincount(self.tails[stays], minlength=records.size)[records > 0]
        return Graph(
            records[records > 0],
            rows[rows > 0],
            _ends(degree),
            to_row[self.indices[stays]],
            to_record[record_of],
            to_row[row_of],
            self.left_out,
        )

    @classmethod
    def of(
        cls,
        adjacency: Sequence[Iterable[int]],
        record_weight: Sequence[int] | None = None,
        row_weight: Sequence[int] | None = None,
    ) -> Graph:
        """Build from the rows that each record is consistent with.

        Parameters
        ----------
        adjacency : sequence of iterables of int
            For each record the rows, numbered from 0, that hold it.
        record_weight, row_weight : sequence of int, optional
            How often each record and each row occurs; once if not given, and then there are as many rows
            as records.

        Examples
        --------
        >>> Graph.of([[0, 1], [1]])
        Graph(2 records, 2 distinct, 2 distinct rows, 3 edges)
        """
        lists = [sorted(set(rows)) for rows in adjacency]
        records = np.array(record_weight or [1] * len(lists), dtype=np.int64)
        weights = np.array(row_weight or [1] * int(records.sum()), dtype=np.int64)
        heads = np.array([row for rows in lists for row in rows], dtype=np.int32)
        if heads.size and not (heads.min() >= 0 and heads.max() < weights.size):
            raise TableError(f"rows must be numbered from 0 to {weights.size - 1}")
        indptr = _ends(np.array([len(rows) for rows in lists], dtype=np.int64))
        return cls(records, weights, indptr, heads, _spread(records), _spread(weights))


def consistency(published: Published, data: Microdata) -> Graph:
    """Join every record with the rows that hold it.

    Parameters
    ----------
    published : Published
        The release, read against the original.
    data : Microdata
        The original, encoded.

    Raises
    ------
    TableError
        If there are more rows than records, or the columns are not the same.

    Examples
    --------
    >>> from incrowd.flow import Attribute, Table
    >>> from incrowd.measures import published
    >>> from incrowd.schema import Kind, Shape
    >>> sex = Attribute("sex", Kind.CATEGORICAL, Shape.SET, ("F", "M"), np.arange(2.0))
    >>> data = Microdata(np.array([[0], [1], [1]], dtype=np.int32), (sex,))
    >>> graph = consistency(published(Table.of({"sex": ["*", "M", "{F|M}"]}), data), data)
    >>> graph.degrees().records.tolist(), graph.degrees().rows.tolist()
    ([2, 3], [3, 2])
    """
    if [a.name for a in published.attributes] != [a.name for a in data.attributes]:
        raise TableError("the published table and the original must have the same quasi-identifiers")
    left_out = len(data) - len(published)
    columns = [data.codes[:, j] for j in range(data.codes.shape[1])]
    sizes = [len(attribute) for attribute in data.attributes]
    found = distinct_rows(columns, sizes, len(data.codes))
    first, record_of, record_weight = _counted(*found, record_weights(data))
    shown, row_of, row_weight = _counted(*published.classes, published.line_weights)
    rows = [column[shown] for column in published.rows]
    if left_out > 0:  # the last cell of each column covers everything
        rows = [np.append(row, len(cells) - 1) for row, cells in zip(rows, published.cells, strict=True)]
        row_weight = np.append(row_weight, left_out)
    tree = boxtree.build(data.codes[first])
    indptr, indices = boxtree.report_inside(tree, covered_regions(rows, published.cells))
    indptr, indices = boxtree.turned(indptr, indices, record_weight.size)
    return Graph(record_weight, row_weight, indptr, indices, record_of, row_of, max(left_out, 0))


def _counted(first: Ints, which: Ints, weights: Ints | None) -> tuple[Ints, Codes, Ints]:
    """Where each distinct row is first met, which one each line is, how often it occurs."""
    return first, which.astype(np.int32), np.bincount(which, weights, first.size).astype(np.int64)


def _least(counts: Ints) -> int:
    return int(counts.min()) if counts.size else 0


def _ends(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _spread(weights: Ints) -> Codes:
    return np.repeat(np.arange(weights.size, dtype=np.int32), weights)
