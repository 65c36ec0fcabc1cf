"""The file of hierarchies: exactly the labels that the release names anyway, and those above them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from incrowd.schema import EVERYTHING, Column, Shape
from incrowd.verifier.columns import RowSource
from incrowd.verifier.failure import require
from incrowd.verifier.values import HierarchyTree, tree_of

HEADER = ("column", "label", "above", "leaf")
WHAT = "the table of hierarchies"

Line = tuple[str | None, ...]


def check_hierarchies(
    table: RowSource,
    undo: Callable[[str], str],
    columns: Sequence[Column],
    missing: frozenset[str],
    named: Mapping[str, frozenset[str]],
) -> None:
    """Line for line what the hierarchies say; `named` are the labels in cells and totals, by column."""
    require(tuple(map(undo, table.names)) == HEADER, f"{WHAT} does not have exactly its four columns")
    found = [tuple(None if text is None else undo(text) for text in cells) for cells in table]
    wanted = [
        line for column in columns if column.shape is Shape.TREE for line in _lines(column, missing, named)
    ]
    require(found == wanted, f"{WHAT} is not what the hierarchies say about the labels that are named")


def _lines(column: Column, missing: frozenset[str], named: Mapping[str, frozenset[str]]) -> Iterator[Line]:
    tree = tree_of(column.levels)
    shown: set[str] = set()
    for label in tree.span if column.public else named[column.name]:
        while label != tree.root and label not in shown and not _means_missing(label, tree, missing):
            shown.add(label)
            label = tree.above[label]
    for label in sorted(shown):
        above = tree.above[label]
        leaf = "yes" if label in tree.leaf else "no"
        yield column.name, label, EVERYTHING if above == tree.root else above, leaf


def _means_missing(label: str, tree: HierarchyTree, missing: frozenset[str]) -> bool:
    """A missing value that is a leaf is published as the word missing, so nothing names the leaf."""
    return label in tree.leaf and label in missing
