"""Are columns published at whole levels of their hierarchies, as the manifest says?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.schema import EVERYTHING, Shape
from incrowd.verifier.domain import Domain, Regions
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.values import Tree, tree_of

Span = tuple[int, int]


def check_levels(
    said: Any,
    domains: Mapping[str, Domain],
    regions: Mapping[str, Regions],
    cells: Mapping[str, Sequence[str]],
) -> None:
    """Every cell of a column with a hierarchy is a node of exactly the level that is said."""
    trees = {name: domain for name, domain in domains.items() if domain.column.shape is Shape.TREE}
    if not isinstance(said, Mapping) or set(said) != set(trees):
        raise Fault("the levels are not those of exactly the quasi-identifiers with a hierarchy")
    for name, domain in trees.items():
        tree, level = tree_of(domain.column.levels), said[name]
        known = type(level) is int and 0 <= level <= tree.height
        need(known, f"column {name}: the hierarchy has no such level")
        spans = [_span(regions[name], cells[name], tree, i) for i in range(len(cells[name]))]
        fit = all(_is_node(span, gone, tree, level) for span, gone in spans)
        need(fit, f"column {name}: a cell is not of level {level} of the hierarchy")
        need(len(set(spans)) == len(spans), f"column {name}: two cells say the same in different words")


def _span(regions: Regions, cells: Sequence[str], tree: Tree, i: int) -> tuple[Span | None, bool]:
    """The first and the last leaf of a cell (None: of none), and whether it may be missing beside them."""
    if cells[i] == EVERYTHING:
        return (0, len(tree.leaf) - 1), False
    low, high = int(regions.low[i]) - 1, int(regions.high[i]) - 1
    return ((low, high) if low <= high else None), bool(regions.missing[i])


def _is_node(span: Span | None, gone: bool, tree: Tree, level: int) -> bool:
    """Missing stays by itself, unless a leaf stands for it; at the top it is one with the others."""
    top = level == tree.height
    if span is None or gone:
        return span is None and not top
    starts = tree.starts[level]
    after = bisect_right(starts, span[0])
    ends = starts[after] - 1 if after < len(starts) else len(tree.leaf) - 1
    return starts[after - 1] == span[0] and ends == span[1]
