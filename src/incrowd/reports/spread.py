"""How the values of a column were spread before, and how they seem to be by the published rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Codes
from incrowd.hierarchy import Hierarchy
from incrowd.measures import Published
from incrowd.schema import Kind, Shape

Floats = NDArray[np.float64]
BINS = 20
NAMED = 12  # categories that are shown; the others are one


def before_and_after(attribute: Attribute, original: Codes, published: Published, j: int) -> dict[str, Any]:
    """Shares of the values of attribute j, among records and among rows.

    A row counts evenly for every value that its cell leaves possible. ``moved`` is the share of people who
    would have to change their value to make one distribution out of the other.
    """
    counts = np.bincount(original, minlength=len(attribute)).astype(np.float64)
    before, after = _shares(counts), _shares(_spread(published, j, len(attribute)))
    line = attribute.shape is Shape.RANGE and attribute.kind is not Kind.ORDERED
    bins = _on_a_line(attribute) if line and len(attribute) > NAMED else _by_name(attribute, before)
    return {
        "ordered": bool(line and len(attribute) > NAMED),
        "moved": float(np.abs(before - after).sum() / 2),
        "bins": [
            {"label": label, "before": float(before[codes].sum()), "after": float(after[codes].sum())}
            for label, codes in bins
        ],
    }


def _shares(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total else weights


def _spread(published: Published, j: int, size: int) -> Floats:
    """What rows say of each code, a row's one divided among all that its cell covers."""
    cells = published.cells[j]
    tally = np.bincount(published.rows[j], minlength=len(cells))
    each = (tally / np.maximum(cells.count, 1))[cells.owner]
    steps = np.zeros(size + 1)
    np.add.at(steps, cells.first, each)
    np.subtract.at(steps, cells.last + 1, each)
    return np.maximum(np.cumsum(steps)[:-1], 0.0)


def _on_a_line(attribute: Attribute) -> list[tuple[str, NDArray[np.int64]]]:
    """Bins of one width from the lowest value to the highest, missing by itself."""
    real = np.array([code for code in range(len(attribute)) if code != attribute.missing])
    place = attribute.position[real] - attribute.position[real].min()
    whole = bool((place == np.round(place)).all())
    width = float(np.ceil((place.max() + 1) / BINS)) if whole else place.max() / BINS
    numbers = np.minimum((place // (width or 1.0)).astype(np.int64), BINS - 1)
    bins = []
    for number in range(int(numbers.max()) + 1):
        codes = real[numbers == number]
        bins.append((_ends(attribute, codes), codes))
    if attribute.missing >= 0:
        bins.append(("missing", np.array([attribute.missing])))
    return bins


def _ends(attribute: Attribute, codes: NDArray[np.int64]) -> str:
    if not codes.size:
        return ""
    low, high = attribute.texts[codes[0]], attribute.texts[codes[-1]]
    return low if low == high else f"{low} to {high}"


def _by_name(attribute: Attribute, before: Floats) -> list[tuple[str, NDArray[np.int64]]]:
    """The most frequent values by name and the others as one; in a hierarchy, nodes high enough to be few."""
    if attribute.tree is not None and len(nodes := _by_node(attribute, attribute.tree)) > 1:
        return nodes
    order = np.lexsort((np.arange(before.size), -before))
    if attribute.shape is Shape.RANGE:
        order = np.arange(before.size)
    named = order if order.size <= NAMED + 1 else order[:NAMED]
    bins = [(_name(attribute, int(code)), np.array([code])) for code in named]
    rest = order[named.size :]
    return [*bins, (f"{rest.size:,} others", rest)] if rest.size else bins


def _by_node(attribute: Attribute, tree: Hierarchy) -> list[tuple[str, NDArray[np.int64]]]:
    """The lowest nodes of a tree that are at most a few, and cover it together; missing beside them."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parent.tolist()):
        if node:
            children.setdefault(parent, []).append(node)
    cut = [0]
    while True:
        finer = [child for node in cut for child in children.get(node, [node])]
        if finer == cut or len(finer) > NAMED:
            break
        cut = finer
    bins = [(tree.labels[node], np.arange(tree.low[node], tree.high[node] + 1)) for node in cut]
    outside = np.arange(len(tree.leaves), len(attribute))
    return [*bins, ("missing", outside)] if outside.size else bins


def _name(attribute: Attribute, code: int) -> str:
    return "missing" if code == attribute.missing else attribute.texts[code]
