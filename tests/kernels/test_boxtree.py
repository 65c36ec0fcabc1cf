"""The tree of boxes against its slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from twins import definitions as naive

from incrowd.kernels import boxtree

TOP = 9


@st.composite
def some_points(draw: st.DrawFn, largest: int = 60) -> NDArray[np.int32]:
    d = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[st.integers(0, TOP)] * d), max_size=largest, unique=True))
    return np.array(rows, np.int32).reshape(-1, d)


@st.composite
def some_boxes(draw: st.DrawFn, d: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    ends = draw(st.lists(st.lists(st.tuples(*[st.integers(-2, TOP + 2)] * 2), min_size=d, max_size=d)))
    pairs = np.sort(np.array(ends, np.int32).reshape(-1, d, 2), axis=2)
    return pairs[:, :, 0], pairs[:, :, 1]


def runs_of(low: Any, high: Any) -> list[list[tuple[int, int]]]:
    return [[(int(a), int(b))] for a, b in zip(low, high, strict=True)]


@settings(max_examples=200, deadline=None)
@given(st.data(), some_points(), st.integers(1, 5))
def test_boxes_hold_what_they_hold_by_definition(data: st.DataObject, points: Any, leaf: int) -> None:
    low, high = data.draw(some_boxes(points.shape[1]))
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(points), max_size=len(points))))
    tree, queries = boxtree.build(points, weights, leaf), boxtree.boxes(low, high)
    expected = [naive.points_inside(points.tolist(), runs_of(*ends)) for ends in zip(low, high, strict=True)]
    assert boxtree.count_inside(tree, queries).tolist() == [sum(weights[i] for i in e) for e in expected]
    indptr, indices = boxtree.report_inside(tree, queries)
    assert [sorted(part.tolist()) for part in np.split(indices, indptr[1:-1])][: len(expected)] == expected


def split(codes: set[int]) -> list[tuple[int, int]]:
    """Codes as runs."""
    starts = sorted(c for c in codes if c - 1 not in codes)
    return [(a, next(b for b in range(a, TOP + 2) if b + 1 not in codes)) for a in starts]


@settings(max_examples=200, deadline=None)
@given(st.data(), some_points(), st.integers(1, 5))
def test_sides_may_have_gaps(data: st.DataObject, points: Any, leaf: int) -> None:
    side = st.sets(st.integers(0, TOP), min_size=1).map(split)
    d = points.shape[1]
    regions = data.draw(st.lists(st.lists(side, min_size=d, max_size=d), min_size=1, max_size=5))
    flat = [run for region in regions for runs in region for run in runs]
    counts = np.array([[len(runs) for runs in region] for region in regions])
    begin = (np.cumsum(counts.ravel()) - counts.ravel()).reshape(counts.shape)
    first, last = np.array(flat, np.int32).T.copy()
    query = boxtree.BoxRegions(
        first[begin], last[begin + counts - 1], begin, begin + counts * (counts > 1), first, last
    )
    indptr, indices = boxtree.report_inside(boxtree.build(points, leaf=leaf), query)
    found = [sorted(part.tolist()) for part in np.split(indices, indptr[1:-1])]
    assert found == [naive.points_inside(points.tolist(), region) for region in regions]


@settings(max_examples=100, deadline=None)
@given(some_points(), st.integers(1, 5))
def test_nodes_are_tight_and_halve_their_points(points: Any, leaf: int) -> None:
    tree = boxtree.build(points, leaf=leaf)
    assert sorted(tree.order.tolist()) == list(range(len(points)))
    assert (tree.points == points[tree.order]).all()
    for node, left in enumerate(tree.left.tolist()):
        first, last = tree.first[node], tree.last[node]
        if first < last:
            assert (tree.low[node] == tree.points[first:last].min(axis=0)).all()
            assert (tree.high[node] == tree.points[first:last].max(axis=0)).all()
        if left < 0:
            assert last - first <= leaf
        else:
            assert (tree.first[left], tree.last[left + 1]) == (first, last)
            assert tree.last[left] == tree.first[left + 1] == (first + last) // 2
            assert (tree.high[left] <= tree.low[left + 1]).any()  # on the axis that was split


@pytest.mark.parametrize("m", [0, 1, 16, 17, 5000])
def test_all_is_inside_everything(m: int) -> None:
    points = np.stack([np.arange(m), np.arange(m) % 7], axis=1)
    tree = boxtree.build(points)
    everything = boxtree.boxes(np.array([[0, 0]]), np.array([[m, 6]]))
    assert boxtree.count_inside(tree, everything).tolist() == [m]
    assert sorted(boxtree.report_inside(tree, everything)[1].tolist()) == list(range(m))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sets(st.integers(0, 6)), max_size=8))
def test_turning_keeps_the_edges(rows: list[set[int]]) -> None:
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.array([j for row in rows for j in sorted(row)], np.int32)
    ends, back = boxtree.turned(indptr, indices, 7)
    found = [back[ends[j] : ends[j + 1]].tolist() for j in range(7)]
    assert found == [[i for i, row in enumerate(rows) if j in row] for j in range(7)]
