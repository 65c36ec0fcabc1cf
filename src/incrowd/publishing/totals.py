"""One-way totals: how many rows have which value of a quasi-identifier, each line about at least k persons.

A release that states them can be read far better: a cell says which values a person may have, the totals how
common each is. They follow from the quasi-identifiers alone, which the adversary of every promise knows, so
no promise is touched. Whoever does not know them learns something; the attack `totals` measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import Infeasible
from incrowd.flow import Attribute, Cells, Microdata, Table
from incrowd.measures.totals import HEADER
from incrowd.publishing.render import cell_texts
from incrowd.schema import EVERYTHING, MISSING, Shape
from incrowd.values import escaped

PARTS = 50  # a line of numbers or dates holds at least one in so many rows

Counts = NDArray[np.int64]
Line = tuple[str, int]  # a cell, and how many rows have a value in it


def totals(data: Microdata, k: int) -> Table:
    """The lines of every quasi-identifier; each record is in exactly one, the narrowest that holds its value.

    Nobody has more than one in k rows of a line, so each is about k persons or more; that what no line names
    is left over, too, is a line ``*`` of the same size, or nobody.
    """
    most = 1 if data.entity is None else int(np.bincount(data.entity).max())
    if len(data) < k * most:
        raise Infeasible(
            f"totals: somebody has {most} of {len(data)} rows, more than one in k = {k}: no total would be "
            "about k persons; leave out totals"
        )
    pairs = zip(data.attributes, data.codes.T, strict=True)
    return counted_totals(
        [(attribute, np.bincount(codes, minlength=len(attribute))) for attribute, codes in pairs], k * most
    )


def counted_totals(columns: Iterable[tuple[Attribute, Counts]], floor: int) -> Table:
    """The same of quasi-identifiers whose codes were counted; no line has fewer than `floor` rows."""
    found: list[tuple[str, str, str]] = []
    for attribute, count in columns:
        lines = LINES[attribute.shape](attribute, count, floor)
        found += [(attribute.name, text, str(rows)) for text, rows in lines]
    return Table.of({name: [line[place] for line in found] for place, name in enumerate(HEADER)})


def _ranges(attribute: Attribute, count: Counts, floor: int) -> Iterable[Line]:
    """Common values by themselves, the others in ranges of about equal size; in order, missing first."""
    step = max(floor, ceil(int(count.sum()) / PARTS))
    missing = int(count[attribute.missing]) if attribute.missing >= 0 else 0
    bins: list[list[int]] = []  # first code, last code, rows
    open_end = False
    for code in np.flatnonzero(count).tolist():
        if code == attribute.missing:
            continue
        rows = int(count[code])
        if open_end and rows < step:
            bins[-1][1:] = [code, bins[-1][2] + rows]
        else:
            bins.append([code, code, rows])
        open_end = bins[-1][2] < step
    while len(bins) > 1 and min(rows for *_, rows in bins) < floor:
        _join_smallest(bins)
    alone = missing >= floor or not bins
    short = bool(bins) and bins[0][2] < floor  # then hardly anybody has a value, and there is one range
    lines = [(_range(attribute, first, last), rows) for first, last, rows in bins]
    if missing and (not alone or short):
        place = min(range(len(lines)), key=lambda i: lines[i][1])
        text, rows = lines[place]
        lines[place] = (f"{{{MISSING}|{text}}}", rows + missing)
    elif missing:
        lines.insert(0, (MISSING, missing))
    return lines


def _join_smallest(bins: list[list[int]]) -> None:
    """Join the smallest range with the smaller of its neighbours."""
    i = min(range(len(bins)), key=lambda i: bins[i][2])
    sides = [j for j in (i - 1, i + 1) if 0 <= j < len(bins)]
    j = min(sides, key=lambda j: bins[j][2])
    first, last = sorted((i, j))
    bins[first] = [bins[first][0], bins[last][1], bins[first][2] + bins[last][2]]
    del bins[last]


def _range(attribute: Attribute, first: int, last: int) -> str:
    low, high = attribute.texts[first], attribute.texts[last]
    return low if first == last else f"[{low},{high}]"


def _values(attribute: Attribute, count: Counts, floor: int) -> Iterable[Line]:
    """Common values by themselves, all others together."""
    words = [MISSING if code == attribute.missing else escaped(x) for code, x in enumerate(attribute.texts)]
    lines = {words[code]: int(count[code]) for code in np.flatnonzero(count >= floor).tolist()}
    rest = int(count.sum()) - sum(lines.values())
    while 0 < rest < floor:
        rest += lines.pop(min(lines, key=lambda text: (lines[text], text)))
    return _sorted(lines, rest)


def _nodes(attribute: Attribute, count: Counts, floor: int) -> Iterable[Line]:
    """Leaves that are common by themselves, the others at the lowest node where enough of them meet."""
    tree = attribute.tree
    if tree is None:
        raise ValueError("a tree-shaped column needs its tree")
    waiting = np.zeros(len(tree.labels), np.int64)  # rows under each node that no line below it counts
    waiting[tree.leaf_node] = count[: len(tree.leaves)]
    stated: dict[int, int] = {}
    for node in range(len(tree.labels) - 1, 0, -1):
        if waiting[node] >= floor:
            stated[node] = int(waiting[node])
        else:
            waiting[tree.parent[node]] += waiting[node]
    absent = int(count[len(tree.leaves) :].sum())
    rest = int(waiting[0]) + (absent if absent < floor else 0)
    while 0 < rest < floor and stated:
        top = [node for node in stated if not _has_above(tree.parent, node, stated)]
        rest += stated.pop(min(top, key=lambda node: (stated[node], tree.labels[node])))
    nodes = np.array(list(stated), np.int32)
    cells = Cells(tree.low[nodes], tree.high[nodes], np.zeros(nodes.size, np.bool_), nodes)
    lines = dict(zip(cell_texts(attribute, cells), stated.values(), strict=True))
    if absent >= floor:
        if 0 < rest < floor:
            rest += absent
        else:
            lines[MISSING] = absent
    return _sorted(lines, rest)


def _has_above(parent: NDArray[np.int32], node: int, stated: dict[int, int]) -> bool:
    while node:
        node = int(parent[node])
        if node in stated:
            return True
    return False


def _sorted(lines: dict[str, int], rest: int) -> Iterable[Line]:
    """By their texts, so that their order says nothing; the rest comes last."""
    return [*sorted(lines.items()), *([(EVERYTHING, rest)] if rest else [])]


LINES: dict[Shape, Callable[[Attribute, Counts, int], Iterable[Line]]] = {
    Shape.RANGE: _ranges,
    Shape.SET: _values,
    Shape.TREE: _nodes,
}
