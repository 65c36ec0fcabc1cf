"""A published table straight from its regions, without texts in between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Cells, Codes, Regions
from incrowd.measures.cells import CellCoverage
from incrowd.measures.published import Published
from incrowd.schema import Shape


def published_from_regions(
    regions: Regions, attributes: tuple[Attribute, ...], order: NDArray[np.int64] | None = None
) -> Published:
    """What reading the texts of all rows would give: `published(published_table(...), data)`.

    Parameters
    ----------
    order : array of shape (n,), optional
        The records whose regions the rows carry, one after the other; by default all, as they come.
    """
    row = regions.of if order is None else regions.of[order]
    cells = [cells_of(attribute, said) for attribute, said in zip(attributes, regions.cells, strict=True)]
    rows = (read.same[regions.cell[row, j]] for j, read in enumerate(cells))
    return Published(attributes, tuple(cells), tuple(rows))


def cells_of(attribute: Attribute, cells: Cells) -> CellCoverage:
    """What the cells of a column cover; the last one, added, is the whole domain."""
    owner, runs = _set_runs(cells) if attribute.shape is Shape.SET else _box_runs(attribute, cells)
    size = len(cells) + 1
    runs = np.concatenate([runs, [[0, len(attribute) - 1]]]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(np.append(owner, size - 1), minlength=size))])
    real = attribute.real
    ends = np.zeros((size, 2))
    if attribute.shape is Shape.RANGE and attribute.position[real].size:
        ends[:-1] = attribute.position[np.stack([cells.low, cells.high], axis=1)]
        ends[-1] = attribute.position[real][[0, -1]]
    return CellCoverage.of_runs(attribute, starts, runs, ends, _nodes(attribute, cells))


def _box_runs(attribute: Attribute, cells: Cells) -> tuple[NDArray[np.int64], Codes]:
    """Codes from low to high, and missing: beside them, or a run of its own. -> cell of each run, runs."""
    gap, here = attribute.missing, np.arange(len(cells))
    apart = cells.missing & (cells.low != gap + 1) & (cells.high != gap - 1)
    joined = cells.missing & ~apart
    low = np.where(joined, np.minimum(cells.low, gap), cells.low)
    high = np.where(joined, np.maximum(cells.high, gap), cells.high)
    some = cells.low >= 0
    owner = np.concatenate([here[some], here[apart | ~some]])
    gaps = np.full(owner.size - int(some.sum()), gap)
    runs = np.stack([np.append(low[some], gaps), np.append(high[some], gaps)], axis=1)
    order = np.lexsort([runs[:, 0], owner])
    return owner[order], runs[order].astype(np.int32)


def _set_runs(cells: Cells) -> tuple[NDArray[np.int64], Codes]:
    if cells.sets is None:
        raise ValueError("a set-shaped column needs its sets")
    codes, owner = cells.sets.codes, np.repeat(np.arange(len(cells)), np.diff(cells.sets.starts))
    begins = np.flatnonzero(np.append(True, (np.diff(codes) != 1) | (np.diff(owner) != 0)))
    ends = np.append(begins[1:], codes.size) - 1
    return owner[begins], np.stack([codes[begins], codes[ends]], axis=1)


def _nodes(attribute: Attribute, cells: Cells) -> Codes:
    """The node that each cell's text is read as, and that of the whole domain; -1 where there is none.

    Of nodes with one label, which mean the same leaves, that is the lowest. With missing outside the tree
    only the root holds both.
    """
    tree = attribute.tree
    if tree is None or cells.node is None:
        return np.full(len(cells) + 1, -1, np.int32)
    lowest = {label: node for node, label in enumerate(tree.labels)}
    named = np.array([lowest[label] for label in tree.labels], np.int32)
    named[0] = tree.covering(0, len(attribute) - 1) if len(attribute) == len(tree.leaves) else 0
    if attribute.missing_in_tree:  # written as missing, whatever stands above it
        named[(tree.low == attribute.missing) & (tree.high == attribute.missing)] = tree.leaf_node[
            attribute.missing
        ]
    found = np.where(cells.node < 0, -1, np.where(cells.missing, 0, named[cells.node]))
    return np.append(found, named[0]).astype(np.int32)
