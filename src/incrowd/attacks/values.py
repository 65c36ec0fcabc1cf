"""Homogeneity: which sensitive values a person's matches leave possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Table, TextColumn
from incrowd.graph import Components, Graph

Ints = NDArray[np.int64]

MOST_PAIRS = 5_000_000  # pairs of a person and a value that are held at once


def fewest_values(graph: Graph, found: Components, shown: Table, names: Sequence[str]) -> dict[str, int]:
    """For each sensitive column the fewest different values that one person's matches leave possible."""
    edges = np.flatnonzero(found.effective & graph.real)
    tails, heads = graph.tails[edges].astype(np.int64), graph.indices[edges]
    return {
        name: _fewest(tails, heads, *_values_of(graph, shown.column(name)))
        for name in names
        if name in shown.names and edges.size
    }


def _values_of(graph: Graph, column: TextColumn) -> tuple[Ints, Ints]:
    """The different values behind each distinct row: where they start, and the values."""
    width = len(column.texts) + 1
    pairs = np.unique(graph.row_of.astype(np.int64) * width + column.codes)
    starts = np.searchsorted(pairs // width, np.arange(graph.published + 1))
    return starts, pairs % width


def _fewest(tails: Ints, heads: NDArray[np.int32], starts: Ints, values: Ints) -> int:
    """Edges come by person; as many persons are taken at once as memory allows."""
    counts = starts[heads + 1] - starts[heads]
    width = int(values.max()) + 1
    chunk = np.cumsum(counts) // MOST_PAIRS
    first = np.flatnonzero(np.diff(tails, prepend=-1))
    chunk = np.repeat(chunk[first], np.diff(np.append(first, tails.size)))  # nobody is divided
    fewest = width
    for part in np.unique(chunk).tolist():
        here = np.flatnonzero(chunk == part)
        owner = np.repeat(tails[here], counts[here])
        offset = np.arange(owner.size) - np.repeat(np.cumsum(counts[here]) - counts[here], counts[here])
        keys = np.unique(owner * width + values[np.repeat(starts[heads[here]], counts[here]) + offset])
        fewest = min(fewest, int(np.unique(keys // width, return_counts=True)[1].min()))
    return fewest
