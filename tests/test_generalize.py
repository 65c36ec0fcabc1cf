"""Cells against their slow twins: the smallest permissible one over each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.measure_tables import flat, microdata, ranged, treed
from twins import definitions as naive

from incrowd.flow import Attribute, Cells, Microdata, Neighbourhoods, Partition, Regions
from incrowd.generalize import generalize, mean_text
from incrowd.hierarchy import Family
from incrowd.schema import Shape

LEAVES = [("a", "ab", "abc", "*"), ("b", "ab", "abc", "*"), ("c", "c", "abc", "*"), ("d", "d", "d", "*")]
PATHS = [
    [frozenset({0}), frozenset({0, 1}), frozenset({0, 1, 2}), frozenset(range(4))],
    [frozenset({1}), frozenset({0, 1}), frozenset({0, 1, 2}), frozenset(range(4))],
    [frozenset({2}), frozenset({0, 1, 2}), frozenset(range(4))],
    [frozenset({3}), frozenset(range(4))],
]
FAMILY = Family.of(range(6), [{0, 1, 2}, {1, 2, 3}, {1, 2}, {3, 4, 5}]).members
COLUMNS: dict[str, Attribute] = {
    "range": ranged("range", [10, 20, 25, 40, 90]),
    "gappy range": ranged("gappy range", [10, 20, 25, 40], missing=True),
    "nothing but missing": ranged("nothing but missing", [], missing=True),
    "tree": treed("tree", LEAVES),
    "tree and missing": treed("tree and missing", LEAVES, beside=True),
    "tree with missing": treed("tree with missing", LEAVES, missing="d"),
    "set": flat("set", "abcde"),
    "set with missing": flat("set with missing", "ab?de", missing=2),
    "wide set": flat("wide set", [f"v{i}" for i in range(70)], missing=64),
    "family": replace(flat("family", "abcdef", missing=1), family=tuple(sorted(FAMILY, key=len))),
}


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Microdata, Partition]:
    """A table of some of the columns above, its records in groups."""
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    attributes = tuple(COLUMNS[name] for name in names)
    n = draw(st.integers(1, 24))
    codes = [[draw(st.integers(0, len(a) - 1)) for a in attributes] for _ in range(n)]
    labels = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return Microdata(np.array(codes, np.int32), attributes), Partition(dense(labels))


def dense(labels: Sequence[int]) -> Any:
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def told(attribute: Attribute, cells: Cells, i: int) -> Any:
    """A cell in the words of its twin."""
    low, high, missing = int(cells.low[i]), int(cells.high[i]), bool(cells.missing[i])
    if cells.sets is not None:
        members = frozenset(cells.sets.of(i).tolist())
        assert (low, high) == (min(members), max(members))
        assert missing == (attribute.missing in members)
        return members
    if cells.node is None:
        return (low, high, missing) if low >= 0 else (None, None, missing)
    assert attribute.tree is not None
    node = int(cells.node[i])
    if node < 0:
        assert (low, high) == (-1, -1)
        return None, missing
    assert (low, high) == (attribute.tree.low[node], attribute.tree.high[node])
    return frozenset(range(low, high + 1)), missing


def expected(attribute: Attribute, codes: Sequence[int]) -> Any:
    if attribute.family or (attribute.tree is None and attribute.shape == "set"):
        return naive.smallest_set(codes, attribute.family)
    gone = attribute.missing if not attribute.missing_in_tree else -1
    values = [None if code == gone else code for code in codes]
    if attribute.tree is None:
        return naive.smallest_range(values)
    return naive.smallest_node(values, PATHS, beside=len(attribute) > len(PATHS))


def says(data: Microdata, regions: Regions, record: int) -> list[Any]:
    cell = regions.cell[regions.of[record]]
    pairs = zip(data.attributes, regions.cells, strict=True)
    return [told(attribute, cells, cell[j]) for j, (attribute, cells) in enumerate(pairs)]


@settings(max_examples=300)
@given(grouped())
def test_every_cell_is_the_smallest_over_its_group(table: tuple[Microdata, Partition]) -> None:
    data, partition = table
    regions = generalize(data, partition)
    for record, label in enumerate(partition.labels):
        inside = data.codes[partition.labels == label]
        twins = [expected(a, inside[:, j].tolist()) for j, a in enumerate(data.attributes)]
        assert says(data, regions, record) == twins


@settings(max_examples=200)
@given(grouped(), st.data())
def test_a_crowd_of_ones_own_gives_a_row_of_ones_own(
    table: tuple[Microdata, Partition], more: st.DataObject
) -> None:
    data, _ = table
    n = len(data)
    neighbourhoods = [sorted({i, *more.draw(st.sets(st.integers(0, n - 1), max_size=5))}) for i in range(n)]
    starts = np.concatenate([[0], np.cumsum([len(crowd) for crowd in neighbourhoods])])
    members = np.array([member for crowd in neighbourhoods for member in crowd], np.int32)
    made = Neighbourhoods(starts, members)
    regions = generalize(data, made)
    for record, crowd in enumerate(neighbourhoods):
        codes = [data.codes[crowd, j].tolist() for j in range(len(data.attributes))]
        if not made.regular:
            codes = [between(a, inside) for a, inside in zip(data.attributes, codes, strict=True)]
        twins = [expected(a, inside) for a, inside in zip(data.attributes, codes, strict=True)]
        assert says(data, regions, record) == twins


@settings(max_examples=100)
@given(grouped(), st.data())
def test_cells_that_no_row_has_are_not_listed(
    table: tuple[Microdata, Partition], more: st.DataObject
) -> None:
    """A ring of which some rows say what the whole ring has: a manifest would name what they hide."""
    data, _ = table
    n, width = data.codes.shape
    assume(n > 1)
    members = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1).astype(np.int32)
    marks = more.draw(st.lists(st.booleans(), min_size=n * width, max_size=n * width))
    whole = np.array(marks).reshape(n, width)
    made = Neighbourhoods(np.arange(n + 1) * 2, members.ravel(), np.zeros(n, np.int32), whole)
    regions = generalize(data, made)
    for j, attribute in enumerate(data.attributes):
        assert set(regions.cell[:, j].tolist()) == set(range(len(regions.cells[j])))
        for record in range(n):
            crowd = range(n) if whole[record, j] else members[record]
            assert says(data, regions, record)[j] == expected(attribute, data.codes[list(crowd), j].tolist())


def between(attribute: Attribute, codes: list[int]) -> list[int]:
    """With missing among others: all codes between, from the first number on, or all leaves."""
    real = [code for code in codes if code != attribute.missing]
    if not real or len(real) == len(codes):
        return codes
    if attribute.shape is Shape.RANGE:
        return [*codes, 1]
    if attribute.tree is not None and not attribute.missing_in_tree:
        return [*codes, *range(len(attribute.tree.leaves))]
    return codes


def test_nobody_is_outside_their_own_neighbourhood() -> None:
    with pytest.raises(ValueError, match="own neighbourhood"):
        Neighbourhoods(np.array([0, 1, 2]), np.array([0, 0], np.int32))


@settings(max_examples=150)
@given(grouped())
def test_groups_that_say_the_same_are_one_region(table: tuple[Microdata, Partition]) -> None:
    data, partition = table
    regions = generalize(data, partition)
    rows = [repr(says(data, regions, record)) for record in range(len(data))]
    assert len(regions) == len(set(rows))
    assert sorted(regions.sizes.tolist()) == sorted(rows.count(row) for row in set(rows))
    for cells in regions.cells:  # nor is any cell kept twice
        keys = {(cells.low[i], cells.high[i], cells.missing[i]) for i in range(len(cells))}
        assert cells.sets is not None or len(keys) == len(cells)


@settings(max_examples=150)
@given(grouped(), st.randoms(use_true_random=False))
def test_slabs_speak_for_everyone_in_them(table: tuple[Microdata, Partition], rng: Any) -> None:
    """Where columns are recoded on their own, a cell covers its slab, not only its group."""
    data, _ = table
    slabs = np.stack([dense([rng.randint(0, 2) for _ in range(len(data))]) for _ in data.attributes], axis=1)
    labels = np.unique(slabs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
    regions = generalize(data, Partition(labels, slabs))
    for record in range(len(data)):
        inside = [data.codes[slabs[:, j] == slabs[record, j], j] for j in range(slabs.shape[1])]
        twins = [expected(a, codes.tolist()) for a, codes in zip(data.attributes, inside, strict=True)]
        assert says(data, regions, record) == twins


@settings(max_examples=100)
@given(grouped())
def test_all_ways_to_find_sets_agree(table: tuple[Microdata, Partition]) -> None:
    data, partition = table
    by_default = generalize(data, partition)
    for bits, room in ((0, 2**27), (0, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("incrowd.generalize.BITS", bits)
            patch.setattr("incrowd.generalize.DENSE", room)
            otherwise = generalize(data, partition)
        for record in range(len(data)):
            assert says(data, by_default, record) == says(data, otherwise, record)


def test_many_columns_do_not_run_into_each_other() -> None:
    """The key of a region is one number; with 40 columns it would outgrow it."""
    rng = np.random.default_rng(7)
    attributes = [ranged(f"c{j}", range(9)) for j in range(40)]
    codes = rng.integers(0, 9, (60, 40), dtype=np.int32)
    codes[30:] = codes[:30]
    regions = generalize(Microdata(codes, tuple(attributes)), Partition(np.arange(60, dtype=np.int32)))
    assert len(regions) == 30
    assert (regions.of[:30] == regions.of[30:]).all()
    assert [says(Microdata(codes, tuple(attributes)), regions, 7)[j][0] for j in range(40)] == list(codes[7])


def test_inputs_are_not_changed() -> None:
    data = microdata([COLUMNS["gappy range"], COLUMNS["set"]], [["", "a"], ["20", "b"], ["40", "a"]])
    labels = np.array([0, 0, 1], np.int32)
    codes = data.codes.copy()
    generalize(data, Partition(labels))
    assert (data.codes == codes).all()
    assert labels.tolist() == [0, 0, 1]


# Means


@settings(max_examples=200)
@given(st.data())
def test_means_are_exact(data: st.DataObject) -> None:
    """Recomputed with fractions: half to even, one decimal more than the column has."""
    values = data.draw(
        st.lists(st.decimals(-(10**6), 10**6, places=data.draw(st.integers(0, 3))), min_size=1, unique=True)
    )
    texts = [format(value if value else value.copy_abs(), "f") for value in sorted(values)]
    missing = data.draw(st.booleans())
    attribute = replace(
        ranged("x", range(len(texts)), missing), texts=("",) * missing + tuple(texts), missing=-1 + missing
    )
    rows = st.lists(st.tuples(st.integers(0, len(attribute) - 1), st.integers(0, 2)), min_size=1, max_size=20)
    drawn = data.draw(rows)
    codes = np.array([[code] for code, _ in drawn], np.int32)
    least = data.draw(st.sampled_from([1, 5]))
    table = Microdata(codes, (attribute,))
    regions = generalize(table, Partition(dense([label for _, label in drawn])), ("x",), least)
    places = max(len(text.partition(".")[2]) for text in texts)
    for region in range(len(regions)):
        inside = [attribute.texts[code] or None for code in codes[regions.of == region, 0]]
        assert regions.means["x"][region] == naive.mean_text(inside, places, least)


def test_means_of_long_numbers_keep_every_digit() -> None:
    texts = ("1234567890123456789012345678901234567.5", "1234567890123456789012345678901234568.5")
    attribute = replace(ranged("x", [0, 1]), texts=texts)
    codes = np.array([[0], [0], [1]], np.int32)
    regions = generalize(Microdata(codes, (attribute,)), Partition(np.zeros(3, np.int32)), ("x",), 1)
    assert regions.means["x"] == ("1234567890123456789012345678901234567.83",)


def test_classes_that_say_the_same_share_one_mean() -> None:
    """Two groups with one range are one class to an outsider: a mean of each would split it."""
    data = microdata([ranged("x", [1, 2, 9])], [[1], [9], [1], [2], [9]])
    regions = generalize(data, Partition(np.array([0, 0, 1, 1, 1], np.int32)), ("x",), 5)
    assert regions.means["x"] == ("4.4",)


@pytest.mark.parametrize(
    ("total", "count", "places", "text"),
    [(1, 20, 0, "0.0"), (3, 20, 0, "0.2"), (-1, 20, 0, "0.0"), (-3, 20, 0, "-0.2"), (5, 1, 2, "0.050")],
)
def test_halves_go_to_even(total: int, count: int, places: int, text: str) -> None:
    assert mean_text(total, count, places) == text
