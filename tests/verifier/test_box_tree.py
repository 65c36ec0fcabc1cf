"""The tree over the boxes of classes: every class that holds a record is named by the record's leaf."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.verifier import box_tree as module
from incrowd.verifier.box_tree import LEAF, LOSS, box_tree, boxed
from incrowd.verifier.cell_regions import CellRegions

SIZE = 9  # ranks of a column, missing included


@st.composite
def columns(draw: st.DrawFn, cells: int) -> CellRegions:
    """Intervals, sets, single ranks and everything, with and without missing."""
    low, high, missing, members = [], [], [], []
    for _ in range(cells):
        form = draw(st.sampled_from(["interval", "set", "everything", "only missing"]))
        ranks = sorted(draw(st.sets(st.integers(1, SIZE - 1), min_size=1)))
        if form == "only missing":
            ranks = [1, 0]
        elif form == "everything":
            ranks = [0, SIZE - 1]
        low.append(ranks[0])
        high.append(ranks[-1])
        missing.append(form in ("everything", "only missing") or draw(st.booleans()))
        members.append(ranks if form == "set" and len(ranks) > 1 else None)
    keys = sorted(i * SIZE + r for i, ranks in enumerate(members) for r in ranks or ())
    return CellRegions(
        np.array(low),
        np.array(high),
        np.array(missing),
        np.array([ranks is not None for ranks in members]),
        np.array(keys, np.int64),
        SIZE,
    )


@given(st.data(), st.integers(1, 30), st.integers(1, 3))
@settings(deadline=None, max_examples=200)
def test_the_leaf_of_a_record_names_every_class_that_holds_it(
    data: st.DataObject, classes: int, width: int
) -> None:
    regions = [data.draw(columns(classes)) for _ in range(width)]
    records = data.draw(st.lists(st.tuples(*[st.integers(0, SIZE - 1)] * width), min_size=1, max_size=20))
    ranks = [np.array(column) for column in zip(*records, strict=True)]
    boxes = [boxed(*pair) for pair in zip(regions, ranks, strict=True)]
    tree = box_tree([low for low, _, _ in boxes], [high for _, high, _ in boxes])
    leaf = tree.leaves([place[column] for (_, _, place), column in zip(boxes, ranks, strict=True)])
    every = np.arange(classes)
    for i, at in enumerate(leaf.tolist()):
        held = np.all(
            [
                region.hold(every, np.full(classes, rank[i]))
                for region, rank in zip(regions, ranks, strict=True)
            ],
            axis=0,
        )
        assert set(every[held].tolist()) <= set(tree.boxes[tree.start[at] : tree.stop[at]].tolist())


def test_boxes_apart_are_told_apart() -> None:
    """A grid of 64 x 64 boxes that do not meet: no leaf has more than a few, and none is copied."""
    x, y = (side.ravel() * 3 for side in np.meshgrid(np.arange(64), np.arange(64)))
    tree = box_tree([x, y], [x + 2, y + 2])
    assert (tree.stop - tree.start).max() <= LEAF
    assert tree.boxes.size == 64 * 64
    for far in (0, 2):  # whoever stands in a box finds it in their leaf
        leaf = tree.leaves([x + far, y + 2 - far])
        own = [box in tree.boxes[tree.start[at] : tree.stop[at]] for box, at in enumerate(leaf.tolist())]
        assert all(own)


Node = tuple[int, int, int, list[int]]


def naive_tree(low: list[list[int]], high: list[list[int]], most: int, deepest: int) -> list[Node]:
    """Column, cut, child and boxes of each node, level by level; a leaf has column -1 or, below all, 0."""
    nodes: list[Node] = []
    level = [list(range(len(low[0])))]
    for _ in range(deepest):
        below: list[list[int]] = []
        child = len(nodes) + len(level)
        many = sum(map(len, level)) > most
        for boxes in level:
            cuts = [] if many or len(boxes) <= LEAF else naive_cuts(low, high, boxes)
            cost, column, cut = min(cuts, default=(0.0, -1, 0))
            if column < 0 or cost >= len(boxes):
                nodes.append((-1, 0, 0, boxes))
                continue
            nodes.append((column, cut, child + len(below), []))
            below.append([box for box in boxes if low[column][box] <= cut])
            below.append([box for box in boxes if high[column][box] > cut])
        level = below
        if not level:
            break
    return nodes + [(0, 0, 0, boxes) for boxes in level]


def naive_cuts(low: list[list[int]], high: list[list[int]], boxes: list[int]) -> list[tuple[float, int, int]]:
    """Every cut just below where a box begins, with its cost."""
    found = []
    for j in range(len(low)):
        for cut in sorted({low[j][box] for box in boxes})[1:]:
            left = sum(low[j][box] < cut for box in boxes)
            right = sum(high[j][box] >= cut for box in boxes)
            found.append((max(left, right) + LOSS * (left + right - len(boxes)), j, cut - 1))
    return found


def found_tree(low: list[list[int]], high: list[list[int]]) -> list[Node]:
    tree = box_tree([np.array(side) for side in low], [np.array(side) for side in high])
    listed = [tree.boxes[a:b].tolist() for a, b in zip(tree.start, tree.stop, strict=True)]
    return [*zip(tree.column.tolist(), tree.cut.tolist(), tree.child.tolist(), listed, strict=True)]


@pytest.mark.parametrize("deepest", [2, 64])
@pytest.mark.parametrize("copies", [0, 1, 8])
@pytest.mark.parametrize("width", [1, 2])
def test_nodes_are_cut_where_it_costs_least(
    copies: int, deepest: int, width: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Of cuts that cost the same the first, in the first column."""
    monkeypatch.setattr(module, "MOST_COPIES", copies)
    monkeypatch.setattr(module, "DEEPEST", deepest)
    for boxes in (1, LEAF - 1, LEAF, LEAF + 1, 20, 40):
        ends = np.sort(rng.integers(0, 40, (width, boxes, 2)), axis=2)
        ends[:, :, 1] = np.minimum(ends[:, :, 1], ends[:, :, 0] + 6)
        low, high = ends[:, :, 0].tolist(), ends[:, :, 1].tolist()
        assert found_tree(low, high) == naive_tree(low, high, copies * boxes + LEAF, deepest)


def test_boxes_beyond_the_most_copies_are_not_cut_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just as many are."""
    low = [[0, 1, 2, 3, 4, 5]]
    for copies, leaves in ((1, 1), (0, 0)):
        monkeypatch.setattr(module, "MOST_COPIES", copies)
        monkeypatch.setattr(module, "LEAF", 2)
        cut = [child for _, _, child, _ in found_tree(low, low) if child]
        assert bool(cut) == bool(leaves)
    monkeypatch.setattr(module, "MOST_COPIES", 0)
    monkeypatch.setattr(module, "LEAF", 5)
    assert [child for _, _, child, _ in found_tree(low, low)] == [0]
