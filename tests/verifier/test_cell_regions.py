"""What cells hold, looked up many at once, against the set of ranks that each of them means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.verifier import cell_regions
from incrowd.verifier.box_tree import boxed
from incrowd.verifier.cell_regions import CellRegion, CellRegions, ListedSets

SIZE = 7  # ranks of a column, missing included

ranks = st.integers(1, SIZE - 1)
several = st.lists(ranks, min_size=2, max_size=5, unique=True)
one_by_one = st.one_of(
    st.tuples(ranks, ranks, st.booleans()).map(lambda t: CellRegion(min(t[:2]), max(t[:2]), t[2])),
    st.tuples(several, st.booleans()).map(lambda t: CellRegion(min(t[0]), max(t[0]), t[1], frozenset(t[0]))),
    st.just(CellRegion(1, 0, missing=True)),
    st.just(CellRegion(0, SIZE - 1, missing=True)),
)


def means(region: CellRegion) -> set[int]:
    within = region.members or range(region.low, region.high + 1)
    return set(within) | ({0} if region.missing else set())


def together(kinds: list[CellRegion | list[int]]) -> tuple[CellRegions, list[set[int]]]:
    """Cells in this order, some read singly and some as listed sets, and what each means."""
    listed = [at for at, each in enumerate(kinds) if isinstance(each, list)]
    lists = [each for each in kinds if isinstance(each, list)]
    starts = np.cumsum([0, *map(len, lists)])
    flat = np.array([rank for each in lists for rank in each], np.int64)
    sets = ListedSets(np.array(listed, np.int64), starts, flat, frozenset())
    regions = CellRegions.of([each for each in kinds if isinstance(each, CellRegion)], sets, SIZE)
    return regions, [set(each) if isinstance(each, list) else means(each) for each in kinds]


cells = st.lists(st.one_of(one_by_one, several), min_size=1, max_size=8)


@given(cells, st.booleans())
@settings(deadline=None, max_examples=200)
def test_cells_hold_meet_and_contain_what_they_mean(
    kinds: list[CellRegion | list[int]], searched: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if searched:
            patch.setattr(cell_regions, "MOST_BITS", 0)
        regions, meant = together(kinds)
    assert (regions.bitmap is None) == (searched or not regions.keys.size)
    spans = [(low, high) for low in range(SIZE) for high in range(low, SIZE)]
    for cell, inside in enumerate(meant):
        at = np.full(SIZE, cell)
        assert regions.hold(at, np.arange(SIZE)).tolist() == [rank in inside for rank in range(SIZE)]
        at, first, last = np.full(len(spans), cell), *map(np.array, zip(*spans, strict=True))
        span = [set(range(low, high + 1)) for low, high in spans]
        assert regions.meet(at, first, last).tolist() == [bool(inside & each) for each in span]
        assert regions.contain(at, first, last).tolist() == [each <= inside for each in span]


@given(cells, st.lists(st.integers(0, SIZE - 1), max_size=30))
@settings(deadline=None, max_examples=200)
def test_the_box_of_a_cell_ends_where_its_ranks_do(
    kinds: list[CellRegion | list[int]], records: list[int]
) -> None:
    """Along the axis of boxes: ranks in their order, or with sets by falling frequency, ties in order."""
    regions, meant = together(kinds)
    low, high, place = boxed(regions, np.array(records, np.int64))
    often = sorted(range(SIZE), key=lambda rank: (-records.count(rank), rank))
    assert place.tolist() == (
        [often.index(rank) for rank in range(SIZE)] if regions.keys.size else [*range(SIZE)]
    )
    places = [[int(place[rank]) for rank in inside] for inside in meant]
    # of a range among sets nothing is known but its ends, so it has the whole axis
    ranges = [
        isinstance(each, CellRegion) and each.members is None and each.low < each.high for each in kinds
    ]
    whole = [bool(regions.keys.size) and each for each in ranges]
    assert low.tolist() == [0 if every else min(found) for every, found in zip(whole, places, strict=True)]
    assert high.tolist() == [
        SIZE - 1 if every else max(found) for every, found in zip(whole, places, strict=True)
    ]


def test_a_set_that_fills_whole_words_of_its_bitmap_is_read_to_the_end() -> None:
    """The last number that may be asked for lies just beyond the last cell."""
    found = cell_regions.Bitmap.of(np.array([0, 63]), 64)
    assert found is not None
    assert found.words.size == 2
    assert found.below(np.array([64])).tolist() == [2]
