"""From groups to regions: each column's smallest permissible cell over each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import (
    Attribute,
    Cells,
    Codes,
    Microdata,
    Neighbourhoods,
    Partition,
    Regions,
    ValueSets,
    distinct_rows,
)
from incrowd.generalize.groups import Groups
from incrowd.generalize.means import means_of
from incrowd.generalize.ranges import range_cells
from incrowd.generalize.sets import set_cells
from incrowd.generalize.trees import level_cells, tree_cells
from incrowd.schema import Shape


def generalize(
    data: Microdata, partition: Partition | Neighbourhoods, means: tuple[str, ...] = (), least: int = 5
) -> Regions:
    """The region of each record's row.

    Parameters
    ----------
    partition : Partition or Neighbourhoods
        Groups whose rows say the same, or a crowd for each record's own row.
    means : tuple of str
        Columns whose class mean is published beside the range.
    least : int
        Classes with fewer known values publish no mean: range and mean of three give all three away.

    Notes
    -----
    Groups that happen to say the same become one region, so a region is what an outsider sees as a class.
    Crowds that are not k-regular count on all that lies between their smallest and largest code, missing
    included; regular ones name everyone they count on.
    """
    whole = Groups.around(partition) if isinstance(partition, Neighbourhoods) else Groups.of(partition.labels)
    convex = isinstance(partition, Neighbourhoods) and not partition.regular
    found = [_column(data, partition, j, whole, convex) for j in range(len(data.attributes))]
    columns = [cell for _, cell in found]
    first, of_group = distinct_rows(columns, [len(cells) for cells, _ in found], columns[0].size)
    of = of_group.astype(np.int32)
    if isinstance(partition, Partition):
        of = of[partition.labels]
    rows = np.stack([cell[first] for cell in columns], axis=1).astype(np.int32)
    texts = means_of(data, Groups.of(of), means, least) if means else {}
    return Regions(of, rows, tuple(cells for cells, _ in found), texts)


def _column(
    data: Microdata, partition: Partition | Neighbourhoods, j: int, whole: Groups, convex: bool
) -> tuple[Cells, NDArray[np.int64]]:
    """The distinct cells of column j, and which of them each group has (g,)."""
    attribute, codes = data.attributes[j], np.ascontiguousarray(data.codes[:, j])
    if isinstance(partition, Neighbourhoods):
        return _crowd_cells(attribute, codes, partition, j, whole, convex)
    if partition.slabs is None:
        return _cells(attribute, codes, whole)
    slabs = partition.slabs[:, j]
    level = None if partition.levels is None else partition.levels[j]
    cells, of_slab = _slab_cells(attribute, codes, Groups.of(slabs), level)
    return cells, of_slab[slabs[whole.first]]


def _slab_cells(
    attribute: Attribute, codes: Codes, slabs: Groups, level: int | None
) -> tuple[Cells, NDArray[np.int64]]:
    """Cells over slabs. At a level, trees and sets say what it says, whoever is there; ranges do not."""
    if level is not None and attribute.shape is Shape.TREE:
        return level_cells(attribute, codes, slabs, level)
    if level and attribute.shape is Shape.SET:
        return _everything(attribute), np.zeros(len(slabs), np.int64)
    return _cells(attribute, codes, slabs)


def _everything(attribute: Attribute) -> Cells:
    """The one cell of a set column at its highest level: all its values, also those that no record has."""
    size = len(attribute)
    whole = ValueSets(np.array([0, size]), np.arange(size, dtype=np.int32))
    ends = np.array([0], np.int32), np.array([size - 1], np.int32)
    return Cells(*ends, np.array([attribute.missing >= 0]), sets=whole)


def _crowd_cells(
    attribute: Attribute, codes: Codes, partition: Neighbourhoods, j: int, groups: Groups, convex: bool
) -> tuple[Cells, NDArray[np.int64]]:
    """Cells over crowds, and where the cover says so over whole parts."""
    if partition.whole is None or partition.parts is None or not partition.whole[:, j].any():
        return _cells(attribute, codes, groups, convex)
    cells, of = _cells(attribute, codes, groups.and_(Groups.of(partition.parts)), convex)
    own, of_part = of[: len(partition)], of[len(partition) :]
    return cells, np.where(partition.whole[:, j], of_part[partition.parts], own)


def _cells(
    attribute: Attribute, codes: Codes, groups: Groups, convex: bool = False
) -> tuple[Cells, NDArray[np.int64]]:
    if attribute.shape is Shape.RANGE:
        return range_cells(attribute, codes, groups, convex)
    if attribute.shape is Shape.TREE:
        return tree_cells(attribute, codes, groups, convex)
    return set_cells(attribute, codes, groups)
