"""What published cells mean: the values that each cell stands for, as exact ranks of the column's domain.

Every value of a quasi-identifier gets a rank: 0 is missing, real values follow in the column's order
(leaves of a hierarchy depth first). A cell then holds the ranks ``low..high``, or a set of ranks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from incrowd.schema import EVERYTHING, MISSING, Column, Kind, Shape
from incrowd.verifier.cell_regions import MISSING_RANK, CellRegion, CellRegions, ListedSets
from incrowd.verifier.cells import ParsedCell, escaped, parse
from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.plain_sets import in_one_form, plain_sets
from incrowd.verifier.values import HierarchyTree, tree_of, value, written

Span = tuple[int, int]


class ColumnDomain:
    """A column's values in the original, and with them the meaning of its published cells.

    `column` is a quasi-identifier, `texts` are its distinct texts in the original table, `missing` those
    texts that mean missing.
    """

    def __init__(self, column: Column, texts: Sequence[str | None], missing: frozenset[str]) -> None:
        self.column = column
        self.absent = missing
        self._met: dict[str, int | None] = {}  # published values, each looked up once
        self._named: dict[str, int] = {}  # values, ends and labels that cells name, with a rank
        self._plain = replace(column, format="")  # how cells are published, whatever the original looks like
        self._declared = [*column.order, *(text for subset in column.family for text in subset)]
        self.real = [text for text in texts if text is not None and text not in missing]
        self._tree = tree_of(column.levels) if column.shape is Shape.TREE else None
        self.ranked = self._ranks()  # the rank of each real value, by its meaning (a leaf's is its text)
        self.size = 1 + max(self.ranked.values(), default=0)
        self._missing_rank = self._rank_of_missing()
        self._words = ["", *(escaped(self._canonical(meaning)) for meaning in self.ranked)]
        # of the whole domain, missing included where something is missing or could be
        self._values = (
            self.size - 1 + any(text is None or text in missing for text in [*texts, *self._declared])
        )
        self.ranks: Ints = np.array([self._rank_of_original(text) for text in texts], np.int64)
        self._family = [frozenset(map(self._rank_of_original, subset)) for subset in column.family]

    def regions(self, cells: Sequence[str], canonical: bool = False) -> CellRegions:
        """Read every distinct published cell of the column; each must have its one form if `canonical`."""
        sets = self._plain_sets(cells)
        others = [cells[at] for at in sets.others(len(cells) - sets.places.size).tolist()]
        found = [self._read(cell) for cell in others]
        if canonical:
            self._check_form(others, found, sets)
        return CellRegions.of(found, sets, self.size)

    def _plain_sets(self, cells: Sequence[str]) -> ListedSets:
        listed = self.column.shape is Shape.SET and not self._family
        return plain_sets(cells if listed else (), self._met, self._read)

    def _check_form(self, cells: Sequence[str], found: Sequence[CellRegion], sets: ListedSets) -> None:
        """Every cell is written in the one way in which its meaning is; so it says nothing beside it."""
        other = "a cell is not written in the one form that its meaning has"
        same = all(map(str.__eq__, cells, map(self._form, cells, found)))
        same = same and in_one_form(sets, self._met, self._words, self._values)
        require(same and len(set(found)) == len(found), f"column {self.column.name}: {other}")

    def _form(self, text: str, region: CellRegion) -> str:
        if text == EVERYTHING:
            whole = self.column.shape is not Shape.RANGE and self._values > 1
            return EVERYTHING if whole or self._tree is not None else ""
        atoms = [MISSING] if region.missing else []
        if self._tree is not None:
            if region.low == region.high == self._missing_rank:
                return MISSING
            labels = parse(text).texts
            atoms += map(escaped, labels)
            if labels and labels[0] == self._tree.root:
                return EVERYTHING
        elif self.column.shape is Shape.RANGE and region.low < region.high:
            atoms.append(f"[{self._words[region.low]},{self._words[region.high]}]")
        else:
            ranks = region.members or range(region.low, region.high + 1)
            atoms += sorted([self._words[rank] for rank in ranks])
            if len(atoms) == self._values > 1 and self.column.shape is Shape.SET:
                return EVERYTHING
        return atoms[0] if len(atoms) == 1 else "{" + "|".join(atoms) + "}"

    def named(self) -> dict[str, Any]:
        """What the cells read so far name of the domain: all that a manifest may state about it."""
        names = sorted(self._named)
        if self.column.shape is Shape.TREE:
            return {"labels": names}
        if self.column.shape is Shape.SET:
            return {"values": names}
        by_rank = sorted(names, key=self._named.__getitem__)
        return {"low": by_rank[0], "high": by_rank[-1]} if by_rank else {}

    def rank_of_value(self, text: str | None) -> int | None:
        """The rank of a value in canonical form, None standing for missing; None if it is no value here."""
        return self._missing_rank if text is None else self._rank_of(text, self._plain)

    def _read(self, text: str) -> CellRegion:
        try:
            cell = parse(text)
            if cell.everything:
                return CellRegion(0, self.size - 1, missing=True)
            readers = {Shape.RANGE: self._range, Shape.TREE: self._node, Shape.SET: self._set}
            return readers[self.column.shape](cell)
        except CheckFailed as fault:
            raise CheckFailed(f"column {self.column.name}: {fault}") from None

    # How texts become ranks

    def _ranks(self) -> dict[Any, int]:
        if self._tree is not None:
            return {text: 1 + place for text, place in self._tree.leaf.items()}
        real = {self._meaning(text) for text in [*self.real, *self._declared] if text not in self.absent}
        return {meaning: 1 + place for place, meaning in enumerate(sorted(real))}

    def _canonical(self, meaning: Any) -> str:
        return self.column.order[meaning] if self.column.kind is Kind.ORDERED else written(meaning)

    def _meaning(self, text: str) -> Any:
        try:
            return value(self.column, text)
        except CheckFailed as fault:
            raise CheckFailed(f"column {self.column.name} of the original table: {fault}") from None

    def _rank_of_missing(self) -> int:
        """A missing value is a leaf where the hierarchy has one for it."""
        leaves = self._tree.leaf if self._tree is not None else {}
        return next((self.ranked[text] for text in leaves if text in self.absent), MISSING_RANK)

    def _rank_of_original(self, text: str | None) -> int:
        if text is None or text in self.absent:
            return self._missing_rank
        rank = self._rank_of(text, self.column)
        require(
            rank is not None,
            f"column {self.column.name}: a value of the original table is not in the hierarchy",
        )
        return rank or 0

    def _rank_of(self, text: str, column: Column) -> int | None:
        """The rank of a text as the column writes it; None if no such value is known."""
        leaf = self.ranked.get(text) if self._tree is not None else None
        if leaf is not None and not column.format:
            return leaf
        try:
            meaning = value(column, text)
        except CheckFailed:
            return leaf
        return self.ranked.get(meaning if self._tree is None else written(meaning))

    # How cells of each shape become regions

    def _range(self, cell: ParsedCell) -> CellRegion:
        require(len(cell.texts) + len(cell.intervals) <= 1, "a cell has more than one range or value")
        if cell.intervals:
            low, high = map(self._value, cell.intervals[0])
            require(low < high, "an interval does not go from a lower to a higher value")
            return CellRegion(low, high, cell.missing)
        return self._single(cell)

    def _value(self, text: str) -> int:
        if text not in self._met:
            self._met[text] = self._rank_of(text, self._plain)
        rank = self._met[text]
        if rank is None:
            raise CheckFailed("a published value does not occur in the original table")
        self._named[text] = rank
        return rank

    def _single(self, cell: ParsedCell) -> CellRegion:
        if not cell.texts:
            return self._only_missing()
        rank = self._value(cell.texts[0])
        return CellRegion(rank, rank, cell.missing)

    def _only_missing(self) -> CellRegion:
        if self._missing_rank != MISSING_RANK:
            return CellRegion(self._missing_rank, self._missing_rank)
        return CellRegion(1, 0, missing=True)

    def _node(self, cell: ParsedCell) -> CellRegion:
        require(not cell.intervals and len(cell.texts) <= 1, "a cell has more than one label")
        if not cell.texts:
            return self._only_missing()
        require(
            not cell.missing or self._missing_rank == MISSING_RANK,
            "missing is written beside a label, though the hierarchy has a leaf for it",
        )
        low, high = self._span(cell.texts[0])
        return CellRegion(1 + low, 1 + high, cell.missing)

    def _span(self, label: str) -> tuple[int, int]:
        tree: HierarchyTree | None = self._tree
        span = tree.span.get(label) if tree is not None else None
        if span is None:
            raise CheckFailed("a published label is not in the hierarchy")
        self._named[label] = 0
        return span

    def _set(self, cell: ParsedCell) -> CellRegion:
        require(not cell.intervals, "a set contains an interval")
        ranks = frozenset(self._value(text) for text in cell.texts)
        require(len(ranks) == len(cell.texts), "a set names the same member twice")
        require(
            not self._family or self._permissible(ranks, cell.missing),
            "a published set is not one of the permissible sets",
        )
        if len(ranks) < 2:
            return self._single(cell)
        return CellRegion(min(ranks), max(ranks), cell.missing, ranks)

    def _permissible(self, ranks: frozenset[int], missing: bool) -> bool:
        """Is it a single value, the whole domain, or what some permissible sets have in common?"""
        choices = [ranks, ranks | {MISSING_RANK}] if missing else [ranks]
        whole = frozenset(range(1, self.size))
        return any(
            len(choice) < 2 or choice | {0} == whole | {0} or self._closed(choice) for choice in choices
        )

    def _closed(self, ranks: frozenset[int]) -> bool:
        above = [subset for subset in self._family if ranks <= subset]
        return bool(above) and frozenset.intersection(*above) == ranks


def check_levels(
    stated: Any,
    domains: Mapping[str, ColumnDomain],
    regions: Mapping[str, CellRegions],
    cells: Mapping[str, Sequence[str]],
) -> None:
    """Every cell of a column with a hierarchy is a node of exactly the level that the manifest states."""
    trees = {name: domain for name, domain in domains.items() if domain.column.shape is Shape.TREE}
    if not isinstance(stated, Mapping) or set(stated) != set(trees):
        raise CheckFailed("the manifest does not state one level for each quasi-identifier with a hierarchy")
    for name, domain in trees.items():
        tree, level = tree_of(domain.column.levels), stated[name]
        known = type(level) is int and 0 <= level <= tree.height
        require(known, f"column {name}: the hierarchy has no such level")
        spans = [_span(regions[name], cells[name], tree, i) for i in range(len(cells[name]))]
        fit = all(_is_node(span, gone, tree, level) for span, gone in spans)
        require(fit, f"column {name}: a cell is not of level {level} of the hierarchy")
        require(len(set(spans)) == len(spans), f"column {name}: two different cells mean the same")


def _span(
    regions: CellRegions, cells: Sequence[str], tree: HierarchyTree, i: int
) -> tuple[Span | None, bool]:
    """The first and the last leaf of a cell (None: of none), and whether it may be missing beside them."""
    if cells[i] == EVERYTHING:
        return (0, len(tree.leaf) - 1), False
    low, high = int(regions.low[i]) - 1, int(regions.high[i]) - 1
    return ((low, high) if low <= high else None), bool(regions.missing[i])


def _is_node(span: Span | None, gone: bool, tree: HierarchyTree, level: int) -> bool:
    """Missing stays by itself, unless a leaf stands for it; at the top it is one with the others."""
    top = level == tree.height
    if span is None or gone:
        return span is None and not top
    starts = tree.starts[level]
    after = bisect_right(starts, span[0])
    ends = starts[after] - 1 if after < len(starts) else len(tree.leaf) - 1
    return starts[after - 1] == span[0] and ends == span[1]
