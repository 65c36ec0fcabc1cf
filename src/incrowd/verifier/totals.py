"""One-way totals: counted again from the original, none about fewer than k persons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from incrowd.schema import EVERYTHING, Claim, Column, Shape
from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.claims.subject import BothTables
from incrowd.verifier.columns import Ints, RowSource, sums
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed, require

HEADER = ("column", "value", "rows")
WHAT = "the table of totals"
UNORDERED = "lines are not in the order they must have"
_WHOLE = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTotals:
    """The lines of one column: cells, and how many rows each says there are."""

    cells: tuple[str, ...]
    rows: Ints


def check_totals(
    table: RowSource | None,
    undo: Callable[[str], str],
    columns: Sequence[Column],
    missing: frozenset[str],
    tables: BothTables,
    claims: Sequence[Claim],
    with_rows: Ints | None = None,
) -> dict[str, frozenset[str]]:
    """Every line is true, no line is about fewer than k persons, and nobody is left over.

    `with_rows` are the records that have a row, None if all have: totals are of these alone. Gives the
    labels of hierarchies that lines name, by column.
    """
    if table is None:
        raise CheckFailed(f"{WHAT} is not there")
    stated, size = _stated(table, undo, columns), _size(claims)
    labels = {}
    for column in columns:
        own = tables.quasi[column.name]
        domain = ColumnDomain(column, own.texts, missing)
        try:
            codes, entity = (_of(each, with_rows) for each in (own.codes, tables.entity))
            _check_column(stated[column.name], domain, codes, entity, size)
        except CheckFailed as fault:
            raise CheckFailed(f"{WHAT}, {column.name}: {fault}") from None
        labels[column.name] = frozenset(domain.named().get("labels", []))
    return labels


def check_totals_by_count(
    table: RowSource,
    undo: Callable[[str], str],
    columns: Sequence[Column],
    missing: frozenset[str],
    counted: Mapping[str, tuple[Sequence[str | None], Ints]],
    claims: Sequence[Claim],
) -> dict[str, frozenset[str]]:
    """The same where the distinct texts of each column were `counted`, and everybody has one row."""
    stated = _stated(table, undo, columns)
    labels = {}
    for column in columns:
        texts, counts = counted[column.name]
        domain = ColumnDomain(column, texts, missing)
        try:
            regions = domain.regions(stated[column.name].cells, canonical=True)
            line = _narrowest(stated[column.name], regions, domain)[domain.ranks]
            require(not (line < 0).any(), "somebody's value is in no line")
            rows = sums(line, counts, len(stated[column.name].cells))
            _check_lines(stated[column.name], rows, np.ones_like(rows), _size(claims))
            require(_in_order(stated[column.name].cells, regions, column), UNORDERED)
        except CheckFailed as fault:
            raise CheckFailed(f"{WHAT}, {column.name}: {fault}") from None
        labels[column.name] = frozenset(domain.named().get("labels", []))
    return labels


def _size(claims: Sequence[Claim]) -> int:
    """The most persons that a claim asks for."""
    sizes = [k for claim in claims if isinstance(k := claim.parameters.get("k"), int)]
    require(bool(sizes), "no claim has a k, so nothing says how few persons a total may be about")
    return max(sizes)


def _stated(
    table: RowSource, undo: Callable[[str], str], columns: Sequence[Column]
) -> dict[str, ColumnTotals]:
    require(tuple(map(undo, table.names)) == HEADER, f"{WHAT} does not have exactly its three columns")
    stated = _read(table, undo)
    named = [column.name for column in columns]
    require(list(stated) == named, f"{WHAT} is not about every quasi-identifier once, in their order")
    return stated


def _check_lines(stated: ColumnTotals, counted: Ints, largest: Ints, k: int) -> None:
    require(np.array_equal(counted, stated.rows), "a total is not the number of rows that have such a value")
    require(bool((largest * k <= counted).all()), f"a total is about fewer than {k} persons")


def _read(table: RowSource, undo: Callable[[str], str]) -> dict[str, ColumnTotals]:
    lines = []
    for cells in table:
        texts = [undo(text) for text in cells if text is not None]
        whole = len(texts) == len(HEADER) and bool(_WHOLE.fullmatch(texts[-1]))
        require(whole, f"a line of {WHAT} lacks something, or counts no rows")
        lines.append(texts)
    found = {}
    for name, group in groupby(lines, itemgetter(0)):
        require(name not in found, f"{WHAT} comes back to a column")
        of_column = list(group)
        rows = np.array([int(text) for _, _, text in of_column], np.int64)
        found[name] = ColumnTotals(tuple(cell for _, cell, _ in of_column), rows)
    return found


def _of(codes: Any, with_rows: Ints | None) -> Any:
    return codes if codes is None or with_rows is None else codes[with_rows]


def _check_column(
    stated: ColumnTotals, domain: ColumnDomain, codes: Codes, entity: Codes | None, k: int
) -> None:
    regions = domain.regions(stated.cells, canonical=True)
    line_of_rank = _narrowest(stated, regions, domain)
    line = line_of_rank[domain.ranks][codes]
    require(not (line < 0).any(), "somebody's value is in no line")
    counted = np.bincount(line, minlength=len(stated.cells))
    _check_lines(stated, counted, _largest(line, entity), k)
    require(_in_order(stated.cells, regions, domain.column), UNORDERED)


def _narrowest(stated: ColumnTotals, regions: CellRegions, domain: ColumnDomain) -> Ints:
    """For each rank the narrowest line that holds it, -1 if none does.

    Nodes of a hierarchy lie inside each other, and everything inside ``*``; others have nothing in common.
    """
    lines, ranks = len(stated.cells), np.arange(domain.size)
    holds = [regions.hold(np.full(domain.size, line), ranks) for line in range(lines)]
    width = [int(held.sum()) for held in holds]
    nested = domain.column.shape is Shape.TREE
    of_rank = np.full(domain.size, -1, np.int64)
    for line in sorted(range(lines), key=width.__getitem__, reverse=True):
        over = of_rank[holds[line]]
        inside = over[over >= 0]
        others = [stated.cells[other] for other in np.unique(inside).tolist()]
        require(nested or set(others) <= {EVERYTHING}, "two lines have values in common")
        of_rank[holds[line]] = line
    return of_rank


def _largest(line: Ints, entity: Codes | None) -> Ints:
    """How many rows of each line the person has who has most of them."""
    if entity is None:
        return np.ones(int(line.max()) + 1, np.int64)
    size = int(entity.max()) + 1
    pair, rows = np.unique(line * size + entity, return_counts=True)
    most = np.zeros(int(line.max()) + 1, np.int64)
    np.maximum.at(most, pair // size, rows)
    return most


def _in_order(cells: Sequence[str], regions: CellRegions, column: Column) -> bool:
    """Ranges go up, missing before them; others are sorted by their texts, and ``*`` is last."""
    if column.shape is Shape.RANGE:
        ends = list(zip(regions.low.tolist(), regions.high.tolist(), strict=True))
        return ends == sorted(ends)
    return list(cells) == sorted(cells, key=lambda cell: (cell == EVERYTHING, cell))
