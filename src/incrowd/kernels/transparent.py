"""Strata, and classes with equally many of every colour. See `algorithms.transparent`.

Only `cut_strata` is given values, and looks at how often the commonest occurs. All others are given colours:
numbers without a meaning, of which each class must get equally many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import AnyInts, Bools, Codes, Floats, Ints
from incrowd.kernels.cuts import SET, Geometry, Node, Work, extent, mark
from incrowd.kernels.jit import inlined, inner, kernel
from incrowd.kernels.mondrian import CutRules, Points, Queries, find_cut, look, split

Ground = tuple[Geometry, Queries, Work]  # what every cut of a table needs
LEAST = 1e-9  # what rounding may make of a difference, as a share


@kernel
def cut_strata(
    points: Points,
    spare: Points,
    rules: CutRules,
    ground: Ground,
    values: Codes,
    l: int,  # noqa: E741  the paper's letter
    labels: Codes,
) -> Any:
    """Cut all points by quasi-identifiers: labels (n,) by row id -> number of strata.

    Both sides of a cut have rules.k rows, and l times as many as the commonest value has in the node. Values
    (m, n) of m columns by row id, no two columns with the same numbers, are counted for nothing else.
    """
    n = points.ids.size
    geometry, queries, work = ground
    stack = np.empty((n // rules.k + 2, 4), np.int64)
    parts = np.empty(geometry.parent.size + 3, np.int64)
    count = np.zeros(int(values.max()) + 1, np.int64)
    stack[0] = np.array([0, n, rules.turn, 0])
    top, strata = 1, 0
    while top:
        top -= 1
        first, last, turned = stack[top, 0], stack[top, 1], stack[top, 3]
        node = Node(first, last, last - first, stack[top, 2])
        source, target = (spare, points) if turned else (points, spare)
        need = max(rules.k, l * commonest(source.ids[first:last], values, count))
        how = (rules.choose, rules.strict, rules.below_too, rules.extra_right, rules.turn, rules.parts)
        own = CutRules(need, *how)
        if node.mass >= 2 * need:
            look(source, node, work)
        cut = find_cut(source, node, own, geometry, queries, work)
        if cut.dim < 0:
            for i in range(first, last):
                labels[source.ids[i]] = strata
            strata += 1
            work.clock[1] += node.mass
            continue
        for p in range(split(source, target, node, cut, geometry, work, parts)):
            stack[top, 0], stack[top, 1] = parts[p], parts[p + 1]
            stack[top, 2], stack[top, 3] = (cut.dim + 1) % points.columns.shape[0], 1 - turned
            top += 1
    return strata


@inlined
def commonest(rows: Codes, values: Codes, count: Ints) -> Any:
    """How often the commonest value of these rows occurs; count (size,) is zero before and afterwards."""
    most = np.int64(0)
    for column in range(values.shape[0]):
        for i in range(rows.size):
            count[values[column, rows[i]]] += 1
            most = max(most, count[values[column, rows[i]]])
        for i in range(rows.size):
            count[values[column, rows[i]]] = 0
    return most


@kernel
def cut_by_colours(
    points: Points,
    spare: Points,
    rules: CutRules,
    ground: Ground,
    colours: Codes,
    need: int,
    labels: Codes,
) -> Any:
    """Cut until no cut leaves `need` of every colour on both sides: labels (n,) -> number of classes.

    Where the best cut does not, the best one of the other columns is tried. Colours (n,) are 0..l-1 by row
    id, and rules.k is l times `need`.
    """
    n, size = points.ids.size, rules.k // need
    geometry, queries, work = ground
    stack = np.empty((n // rules.k + 2, 3), np.int64)
    parts = np.empty(geometry.parent.size + 3, np.int64)
    here, left = np.empty(size, np.int64), np.empty(size, np.int64)
    stack[0] = np.array([0, n, 0])
    top, classes = 1, 0
    while top:
        top -= 1
        first, last, turned = stack[top, 0], stack[top, 1], stack[top, 2]
        node = Node(first, last, last - first, 0)
        source, target = (spare, points) if turned else (points, spare)
        side = work.side[: last - first]
        look(source, node, work)
        here[:] = 0
        for i in range(first, last):
            here[colours[source.ids[i]]] += 1
        while True:
            cut = find_cut(source, node, rules, geometry, queries, work)
            if cut.dim < 0:
                for i in range(first, last):
                    labels[source.ids[i]] = classes
                classes += 1
                break
            mark(source.columns[cut.dim, first:last], cut, side)
            left[:] = 0
            for i in range(side.size):
                left[colours[source.ids[first + i]]] += 1 - side[i]
            if left.min() >= need and (here - left).min() >= need:
                split(source, target, node, cut, geometry, work, parts)
                for p in range(2):
                    stack[top, 0], stack[top, 1], stack[top, 2] = parts[p], parts[p + 1], 1 - turned
                    top += 1
                break
            work.tried[cut.dim] = True
    return classes


@inlined
def width(columns: AnyInts, rows: Codes, j: int, geometry: Geometry, work: Work) -> Any:
    """What the cell of column j over these rows costs."""
    column = columns[j]
    if geometry.shape[j] == SET:
        work.clock[0] += 1
        found = 0
        for i in range(rows.size):
            at = geometry.start[j] + column[rows[i]]
            found += work.stamp[0, at] != work.clock[0]
            work.stamp[0, at] = work.clock[0]
        return (found - 1) * geometry.scale[j]
    low: Any = np.int64(column[rows[0]])
    high: Any = low
    for i in range(1, rows.size):
        low, high = min(low, np.int64(column[rows[i]])), max(high, np.int64(column[rows[i]]))
    return extent(j, low, high, geometry)


@inlined
def loss(columns: AnyInts, rows: Codes, geometry: Geometry, work: Work) -> Any:
    """What all cells of a class of these rows cost."""
    total = 0.0
    for j in range(columns.shape[0]):
        total += width(columns, rows, j, geometry, work)
    return total * rows.size


@kernel
def trim(
    columns: AnyInts, order: Codes, starts: Ints, colours: Codes, size: int, geometry: Geometry, kept: Bools
) -> None:
    """Keep as many of each of `size` colours in a class as it has of the rarest: kept (n,) by row.

    Class c has the rows order[starts[c]:starts[c+1]]. Who is furthest from its middle goes first.
    """
    count = np.empty(size, np.int64)
    for c in range(starts.size - 1):
        rows = order[starts[c] : starts[c + 1]]
        count[:] = 0
        for row in rows:
            count[colours[row]] += 1
        least = count.min()
        if count.max() == least:
            for row in rows:
                kept[row] = True
            continue
        far = distances(columns, rows, geometry)
        count[:] = 0
        for i in np.argsort(far, kind="mergesort"):
            colour = colours[rows[i]]
            kept[rows[i]] = count[colour] < least
            count[colour] += 1


@inner
def distances(columns: AnyInts, rows: Codes, geometry: Geometry) -> Any:
    """How far each row is from the middle of all: the widths of the cells over it and the medians."""
    far = np.zeros(rows.size)
    for j in range(columns.shape[0]):
        column = columns[j]
        codes = np.empty(rows.size, np.int64)
        for i in range(rows.size):
            codes[i] = column[rows[i]]
        middle = np.sort(codes)[rows.size // 2]
        for i in range(rows.size):
            if codes[i] != middle and geometry.shape[j] == SET:
                far[i] += geometry.scale[j]
            elif codes[i] != middle:
                far[i] += extent(j, min(codes[i], middle), max(codes[i], middle), geometry)
    return far


@kernel
def nearest(columns: AnyInts, order: Codes, starts: Ints, few: Codes, geometry: Geometry, work: Work) -> Any:
    """The class whose loss grows least if `few` rows join it."""
    best, least = 0, np.inf
    for c in range(starts.size - 1):
        rows = order[starts[c] : starts[c + 1]]
        together = np.concatenate((rows, few))
        grown = loss(columns, together, geometry, work) - loss(columns, rows, geometry, work)
        if grown < least:
            best, least = c, grown
    return best


@kernel
def cut_at_ranks(
    columns: AnyInts,
    tuples: Codes,
    need: int,
    geometry: Geometry,
    work: Work,
    labels: Codes,
    first_label: int,
) -> Any:
    """Cut a class while both parts keep `need` of each colour -> labels used so far.

    tuples (l, w) are the rows of each colour. Each colour is sorted by a column, and as many of the first
    ones of all colours are one part. Of each column the middle rank is tried, and the one that is best for
    the column itself; the cut is the one after which least is lost.
    """
    size, w = tuples.shape
    spare, best = tuples.copy(), tuples.copy()
    stack = np.empty((w // need + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, w
    top, label = 1, first_label
    while top:
        top -= 1
        a, b = stack[top, 0], stack[top, 1]
        if b - a < 2 * need:
            for colour in range(size):
                for i in range(a, b):
                    labels[tuples[colour, i]] = label
            label += 1
            continue
        at, least = a, np.inf
        for j in range(columns.shape[0]):
            sort_colours(columns[j], tuples, spare, a, b)
            for rank in (best_rank(columns[j], spare, a, b, need, j, geometry), (a + b) // 2):
                lost = loss(columns, spare[:, a:rank].copy().ravel(), geometry, work)
                lost += loss(columns, spare[:, rank:b].copy().ravel(), geometry, work)
                if lost < least:
                    at, least = rank, lost
                    best[:, a:b] = spare[:, a:b]
        tuples[:, a:b] = best[:, a:b]
        stack[top, 0], stack[top, 1] = a, at
        stack[top + 1, 0], stack[top + 1, 1] = at, b
        top += 2
    return label


@inlined
def best_rank(column: AnyInts, tuples: Codes, a: int, b: int, need: int, j: int, geometry: Geometry) -> Any:
    """Where to cut places a..b-1 of colours that are sorted by column j, so that its own loss is least."""
    size = tuples.shape[0]
    low: Any = np.int64(column[tuples[0, a]])
    high: Any = np.int64(column[tuples[0, b - 1]])
    for colour in range(1, size):
        low = min(low, np.int64(column[tuples[colour, a]]))
        high = max(high, np.int64(column[tuples[colour, b - 1]]))
    found, least = (a + b) // 2, np.inf
    for rank in range(a + need, b - need + 1):
        upto: Any = low
        above: Any = high
        for colour in range(size):
            upto = max(upto, np.int64(column[tuples[colour, rank - 1]]))
            above = min(above, np.int64(column[tuples[colour, rank]]))
        lost = extent(j, low, upto, geometry) * (rank - a) + extent(j, above, high, geometry) * (b - rank)
        if lost < least:
            found, least = rank, lost
    return found


@inlined
def sort_colours(column: AnyInts, tuples: Codes, target: Codes, a: int, b: int) -> None:
    """Sort places a..b-1 of each colour by a column into `target`; equal ones keep their order."""
    codes = np.empty(b - a, np.int64)
    for colour in range(tuples.shape[0]):
        for i in range(a, b):
            codes[i - a] = column[tuples[colour, i]]
        place = np.argsort(codes, kind="mergesort")
        for i in range(b - a):
            target[colour, a + i] = tuples[colour, a + place[i]]


class Classes(NamedTuple):
    """Classes while rows change places: class c has the rows members[starts[c]:starts[c+1]].

    Row r is in class label[r], and stands at place[r] among the members. `cost` (classes,) is what each
    loses.
    `box` (2, 2, d) is scratch space: the bounds of two classes.
    """

    members: Codes
    starts: Ints
    label: Codes
    place: Ints
    cost: Floats
    box: Ints


@inlined
def without(columns: AnyInts, r: int, classes: Classes, side: int, geometry: Geometry, work: Work) -> None:
    """Bounds of the class of row r without it, into the box of this `side`.

    Of sets it counts the codes, and says when `work.stamp` of that side marked them.
    """
    low, high = classes.box[side, 0], classes.box[side, 1]
    g = classes.label[r]
    rows = classes.members[classes.starts[g] : classes.starts[g + 1]]
    work.clock[0] += 1
    for j in range(columns.shape[0]):
        column = columns[j]
        if geometry.shape[j] == SET:
            found = 0
            for row in rows:
                at = geometry.start[j] + column[row]
                if row != r and work.stamp[side, at] != work.clock[0]:
                    work.stamp[side, at] = work.clock[0]
                    found += 1
            low[j], high[j] = found, work.clock[0]
            continue
        least, most = np.int64(1 << 40), np.int64(-1)
        for row in rows:
            if row != r:
                least, most = min(least, np.int64(column[row])), max(most, np.int64(column[row]))
        low[j], high[j] = least, most


@inlined
def joined_by(
    columns: AnyInts, q: int, size: int, side: int, box: Ints, geometry: Geometry, work: Work
) -> Any:
    """What a class of `size` rows loses if row q takes the place that `without` made free."""
    low, high = box[side, 0], box[side, 1]
    total = 0.0
    for j in range(columns.shape[0]):
        code = np.int64(columns[j, q])
        if geometry.shape[j] == SET:
            new = work.stamp[side, geometry.start[j] + code] != high[j]
            total += (low[j] - 1 + new) * geometry.scale[j]
        else:
            total += extent(j, min(low[j], code), max(high[j], code), geometry)
    return total * size


@kernel
def exchange(
    columns: AnyInts,
    classes: Classes,
    near: Codes,
    colours: Codes,
    window: int,
    geometry: Geometry,
    work: Work,
) -> Any:
    """Let two rows of one colour change their classes wherever both together then lose less -> how often.

    Of rows that widen their class. `near` (n,) is an order in which rows stand beside those that are like
    them; partners are all of the classes that are met at most `window` places away.
    """
    done, n = 0, near.size
    starts, label, cost, members = classes.starts, classes.label, classes.cost, classes.members
    for at in range(n):
        r = near[at]
        g = label[r]
        without(columns, r, classes, 0, geometry, work)
        first = members[starts[g]]
        other = members[starts[g] + 1] if first == r else first
        alone = joined_by(columns, other, starts[g + 1] - starts[g], 0, classes.box, geometry, work)
        if alone >= cost[g] - cost[g] * LEAST:
            continue
        found = False
        for step in range(2 * window):
            there = at + (step // 2 + 1) * (1 if step % 2 else -1)
            if found or not 0 <= there < n or label[near[there]] == g:
                continue
            h = label[near[there]]
            if cost[g] + cost[h] <= alone:
                continue
            for i in range(starts[h], starts[h + 1]):
                if colours[members[i]] == colours[r]:
                    found = exchanged(columns, r, members[i], classes, geometry, work)
                    if found:
                        done += 1
                        break
    return done


@inlined
def exchanged(columns: AnyInts, r: int, q: int, classes: Classes, geometry: Geometry, work: Work) -> Any:
    """Exchange rows r and q if less is lost then; box 0 has the bounds of r's class without r."""
    starts, cost, members, place = classes.starts, classes.cost, classes.members, classes.place
    g, h = classes.label[r], classes.label[q]
    both = cost[g] + cost[h]
    here = joined_by(columns, q, starts[g + 1] - starts[g], 0, classes.box, geometry, work)
    if here >= both:
        return False
    without(columns, q, classes, 1, geometry, work)
    away = joined_by(columns, r, starts[h + 1] - starts[h], 1, classes.box, geometry, work)
    if here + away >= both - both * LEAST:
        return False
    cost[g], cost[h] = here, away
    members[place[r]], members[place[q]] = q, r
    place[r], place[q] = place[q], place[r]
    classes.label[r], classes.label[q] = h, g
    return True


@kernel
def losses(columns: AnyInts, classes: Classes, geometry: Geometry, work: Work) -> None:
    """Fill `cost`."""
    starts = classes.starts
    for c in range(starts.size - 1):
        classes.cost[c] = loss(columns, classes.members[starts[c] : starts[c + 1]], geometry, work)
