"""The tree over the boxes of classes: every class that holds a record is named by the record's leaf."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.verifier.box_tree import LEAF, box_tree, boxed
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
