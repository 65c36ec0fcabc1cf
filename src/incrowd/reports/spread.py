"""How the values of a column were spread before, and how they seem to be by the published rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute
from incrowd.hierarchy import Hierarchy
from incrowd.measures import Published
from incrowd.reports.ordering import order_of
from incrowd.schema import Kind, Shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BINS = 20
NAMED = 12  # categories that are shown; the others are one


def before_and_after(attribute: Attribute, original: Ints, published: Published, j: int) -> dict[str, Any]:
    """Shares of the values of attribute j, among records and among rows; `original` (m,) counts records.

    A row counts evenly for every value that its cell leaves possible. ``moved`` is the share of people who
    would have to change their value to make one distribution out of the other.
    """
    before, after = _shares(original.astype(np.float64)), _shares(_spread(published, j, len(attribute)))
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
    each = (published.tallies[j] / np.maximum(cells.count, 1))[cells.owner]
    steps = np.zeros(size + 1)
    np.add.at(steps, cells.first, each)
    np.subtract.at(steps, cells.last + 1, each)
    return np.maximum(np.cumsum(steps)[:-1], 0.0)


def _on_a_line(attribute: Attribute) -> list[tuple[str, NDArray[np.int64]]]:
    """Bins of one width from the lowest value to the highest, missing by itself."""
    real = np.array([code for code in range(len(attribute)) if code != attribute.missing])
    numbers = bins_on_a_line(attribute.position[real] - attribute.position[real].min())
    inside = [real[numbers == number] for number in range(int(numbers.max()) + 1)]
    bins = [(ends_of(attribute.texts, codes), codes) for codes in inside]
    return [*bins, ("missing", np.array([attribute.missing]))] if attribute.missing >= 0 else bins


def bins_on_a_line(places: Floats) -> NDArray[np.int64]:
    """The bin of each place, from 0 on: at most `BINS` of one width, whole if places are whole.

    Examples
    --------
    >>> bins_on_a_line(np.array([0.0, 1.0, 2.0, 39.0])).tolist()
    [0, 0, 1, 19]
    """
    whole = bool((places == np.round(places)).all())
    width = float(np.ceil((places.max() + 1) / BINS)) if whole else places.max() / BINS
    return np.minimum((places // (width or 1.0)).astype(np.int64), BINS - 1)


def ends_of(texts: Sequence[str | None], codes: NDArray[np.int64]) -> str:
    """The first and the last text of a bin; nothing if it is empty."""
    if not codes.size:
        return ""
    low, high = texts[codes[0]] or "", texts[codes[-1]] or ""
    return low if low == high else f"{low} to {high}"


def _by_name(attribute: Attribute, before: Floats) -> list[tuple[str, NDArray[np.int64]]]:
    """The most frequent values by name and the others as one; in a hierarchy, nodes high enough to be few.

    They stand in their order, if they have one; else the most frequent first.
    """
    if attribute.tree is not None and len(nodes := _by_node(attribute, attribute.tree)) > 1:
        return nodes
    by_count = np.lexsort((np.arange(before.size), -before))
    named = by_count if by_count.size <= NAMED + 1 else by_count[:NAMED]
    rest = by_count[named.size :]
    bins = [(_name(attribute, code), np.array([code])) for code in _in_order(attribute, named.tolist())]
    return [*bins, (f"{rest.size:,} others", rest)] if rest.size else bins


def _in_order(attribute: Attribute, codes: list[int]) -> list[int]:
    """Codes in the order of their values, missing last; as they are, if values have no order."""
    if attribute.shape is Shape.RANGE:
        return sorted(codes, key=lambda code: (code == attribute.missing, code))
    order = order_of([_name(attribute, code) for code in codes], str(attribute.kind))
    return codes if order is None else [codes[place] for place in order]


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
