"""Rebuilding original rows from a release alone: what is claimed, and how often it is right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measure_tables import box, flat, microdata, plain_set, ranged, release, treed
from twins import attacks as naive

from incrowd import tables
from incrowd.algorithms.partitions.lexicographic import CutRow, Lexicographic
from incrowd.attacks.rebuild import GivenAway, claimed, given_away, rows
from incrowd.attacks.target import Target, as_they_are
from incrowd.encode import encode
from incrowd.flow import Attribute, Microdata, Neighbourhoods, Partition, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.measures import Published, published
from incrowd.publishing.render import cell_texts
from incrowd.schema import Column, Kind, Role, Schema, Shape
from incrowd.values import reading_of

REGIONS = [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")]


def ring(parts: CutRow, k: int) -> Neighbourhoods:
    """The crowd of the j-th record of a part is that record and the k-1 after it, counted round."""
    n, size = parts.order.size, np.diff(parts.starts)
    start, many = np.repeat(parts.starts[:-1], size), np.repeat(size, size)
    place = np.arange(n) - start
    members = np.empty((n, k), np.int32)
    for step in range(k):
        members[parts.order, step] = parts.order[start + (place + step) % many]
    return Neighbourhoods(np.arange(n + 1) * k, members.ravel())


def shown(data: Microdata, partition: Partition | Neighbourhoods) -> Published:
    regions = generalize(data, partition)
    columns = [
        TextColumn(regions.cell[regions.of, j], cell_texts(attribute, regions.cells[j]))
        for j, attribute in enumerate(data.attributes)
    ]
    return published(Table(tuple(a.name for a in data.attributes), tuple(columns)), data)


def even(n: int, size: int) -> CutRow:
    """Records as they come, in parts of one size; n is a multiple of it."""
    return CutRow(np.arange(n, dtype=np.int32), np.arange(0, n + 1, size))


def numbers(codes: np.ndarray, sizes: list[int], shape: Shape = Shape.SET) -> Microdata:
    attributes = [
        Attribute(f"q{j}", Kind.NUMERIC, shape, tuple(map(str, range(m))), np.arange(float(m)))
        for j, m in enumerate(sizes)
    ]
    return Microdata(codes.astype(np.int32), tuple(attributes))


def slow(found: Published) -> set[tuple[int, ...]]:
    """The twin's claims, from the codes that cells cover."""
    table = []
    for i in range(len(found)):
        row = []
        for attribute, cells, column in zip(found.attributes, found.cells, found.rows, strict=True):
            possible = frozenset(cells.codes(int(column[i])))
            real = sorted(possible - {attribute.missing})
            named = possible
            if attribute.shape is Shape.RANGE and real:
                named = frozenset({real[0], real[-1]}) | (possible & {attribute.missing})
            if attribute.shape is Shape.TREE and len(possible) > 1:
                named = frozenset()
            row.append((named, possible))
        table.append(tuple(row))
    return naive.claims(table, [attribute.shape is Shape.RANGE for attribute in found.attributes])


def claims(found: Published) -> set[tuple[int, ...]]:
    return {tuple(claim) for claim in claimed(found).tolist()}


COLUMNS = {
    "range": ranged("range", range(5)),
    "gaps": ranged("gaps", range(4), missing=True),
    "set": flat("set", "uvwxyz"),
    "holes": flat("holes", ["u", "v", "w", ""], missing=3),
    "tree": treed("tree", REGIONS),
}


@given(st.data())
def test_claims_agree_with_naive(draw: st.DataObject) -> None:
    """Rings and whole groups, over columns of every shape."""
    names = draw.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    attributes = [COLUMNS[name] for name in names]
    k, many = draw.draw(st.integers(1, 4)), draw.draw(st.integers(1, 3))
    size = draw.draw(st.integers(k, 2 * k))
    record = st.tuples(*(st.integers(0, len(a) - 1) for a in attributes))
    records = draw.draw(st.lists(record, min_size=size * many, max_size=size * many))
    data = Microdata(np.array(records, dtype=np.int32), tuple(attributes))
    found = shown(
        data,
        ring(even(len(data), size), k) if draw.draw(st.booleans()) else even(len(data), size).partition(),
    )
    assert claims(found) == slow(found)


@given(st.data())
def test_claims_of_any_cells_agree_with_naive(draw: st.DataObject) -> None:
    """Cells that nobody made from records: sets that differ by one value are common."""
    shapes = draw.draw(st.lists(st.sampled_from(["set", "range"]), min_size=2, max_size=4))
    attributes = [
        flat(f"q{j}", "0123") if s == "set" else ranged(f"q{j}", range(4)) for j, s in enumerate(shapes)
    ]
    codes = st.sets(st.integers(0, 3), min_size=1, max_size=3).map(sorted)
    many = draw.draw(st.integers(2, 8))
    cells = [
        [
            plain_set(draw.draw(codes)) if s == "set" else box((c := draw.draw(codes))[0], c[-1])
            for s in shapes
        ]
        for _ in range(many)
    ]
    data = Microdata(np.zeros((many, len(shapes)), np.int32), tuple(attributes))
    found = release(data, cells)
    assert claims(found) == slow(found)


@given(st.data())
def test_judging_agrees_with_counting(draw: st.DataObject) -> None:
    record = st.tuples(st.integers(0, 2), st.integers(0, 2))
    records = draw.draw(st.lists(record, min_size=4, max_size=16))
    k = draw.draw(st.integers(1, 4))
    data = numbers(np.array(records[: len(records) // 4 * 4]), [3, 3])
    found = shown(data, ring(even(len(data), 4), 3))
    kept = [tuple(record) for record in data.codes.tolist()]
    right = [claim for claim in slow(found) if claim in kept]
    secret = sum(kept.count(claim) for claim in right if kept.count(claim) < k)
    assert given_away(found, data, k) == GivenAway(secret, len(slow(found)), len(right))


# ---- by hand


def test_a_set_completes_rows() -> None:
    data = microdata(
        [flat("sex", "FM"), flat("job", "abc")], [("F", "a"), ("F", "b"), ("M", "c"), ("M", "c")]
    )
    found = release(data, [("F", "{a|b}"), ("F", "{a|b}"), ("M", "c"), ("M", "c")])
    assert claims(found) == {(0, 0), (0, 1), (1, 2)}
    assert given_away(found, data, 2) == GivenAway(2, 3, 3)  # two share (M, c), which is no secret
    assert given_away(found, data, 3) == GivenAway(4, 3, 3)


def test_the_ends_of_a_range_complete_rows() -> None:
    data = microdata(
        [flat("sex", "FM"), ranged("age", range(20, 30))], [("F", 20), ("F", 23), ("F", 29), ("M", 25)]
    )
    found = release(data, [("F", "[20,29]")] * 3 + [("M", "25")])
    assert claims(found) == {(0, 0), (0, 9), (1, 5)}
    # Ends that are no values of the column are a grid's, and say nothing.
    grid = release(data, [("F", "[15,29]")] * 3 + [("M", "[20,39]")])
    assert claims(grid) == {(0, 9), (1, 0)}


def test_two_wide_columns_say_nothing_alone_and_all_together() -> None:
    data = microdata([flat("p", "abcd"), flat("q", "uvwx")], [("a", "u"), ("b", "v"), ("c", "w")])
    alone = release(data, [("{a|b}", "{u|v}")] * 3)
    assert not claims(alone)
    window = release(data, [("{a|b}", "{u|v}"), ("{b|c}", "{v|w}"), ("{a|c}", "{u|w}")])
    assert claims(window) == {(0, 0), (1, 1), (2, 2)}
    assert given_away(window, data, 2).precision == 1.0


FAR = {
    "two-ranges": [("{a|b}", "[0,4]", "[0,4]"), ("{b|c}", "[1,4]", "[1,4]")],
    "two-come": [("{a|b}", "[0,4]", "3"), ("{b|c|d}", "[1,4]", "3")],
    "two-go": [("{a|b|c}", "[0,4]", "3"), ("{c|d}", "[1,4]", "3")],
    "none-goes": [("{a|b}", "[0,4]", "3"), ("{b|c}", "[0,4]", "3")],
    "strangers": [("{a|b}", "[0,4]", "3"), ("{b|c}", "[1,4]", "2")],
}


@pytest.mark.parametrize("name", FAR)
def test_rows_that_differ_by_more_than_one_record_say_nothing(name: str) -> None:
    data = microdata([flat("p", "abcd"), ranged("q", range(5)), ranged("r", range(5))], [("a", 0, 0)] * 2)
    assert not claims(release(data, FAR[name]))
    near = release(data, [("{a|b}", "[0,4]", "3"), ("{b|c}", "[1,4]", "3")])
    assert claims(near) == {(0, 0, 3)}


@pytest.mark.parametrize("cell", ["x", "*"], ids=["node", "root"])
def test_a_node_names_nothing(cell: str) -> None:
    data = microdata([flat("sex", "FM"), treed("zip", REGIONS)], [("F", "a"), ("F", "b"), ("M", "c")])
    assert claims(release(data, [("F", cell), ("F", cell), ("M", "c")])) == {(1, 2)}


def test_a_family_names_nothing_but_single_values() -> None:
    job = replace(flat("job", "abc"), family=(frozenset({0, 1}),))
    data = microdata([job], [("a",), ("a",), ("c",)])
    assert claims(release(data, [("{a|b}",), ("{a|b}",), ("c",)])) == {(2,)}


# ---- how much rings give away


def test_rings_of_sets_give_back_everything_and_whole_groups_nothing() -> None:
    """No two records share a value: 100 % are rebuilt, and nothing is claimed wrongly."""
    rng = np.random.default_rng(5)
    n, k = 600, 5
    data = numbers(np.stack([rng.permutation(n) for _ in range(3)], axis=1), [n] * 3)
    windows = given_away(shown(data, ring(even(n, 8), k)), data, k)
    assert (windows.records, windows.precision) == (n, 1.0)
    assert given_away(shown(data, even(n, k).partition()), data, k) == GivenAway(0, 0, 0)
    # If rings have k records, all windows say the same.
    assert given_away(shown(data, ring(even(n, k), k)), data, k).claims == 0


def test_rings_of_ranges_give_back_little() -> None:
    rng = np.random.default_rng(5)
    codes = np.stack([rng.permutation(600) for _ in range(3)], axis=1)
    data = numbers(codes, [600] * 3, Shape.RANGE)
    assert given_away(shown(data, ring(even(600, 8), 5)), data, 5).records <= 6


def test_chance_gives_next_to_nothing() -> None:
    rng = np.random.default_rng(5)
    n, k = 600, 5
    data = numbers(rng.integers(0, 60, (n, 3)), [60] * 3)
    target = Target(shown(data, ring(even(n, 8), k)), data, np.full(n, -1), k)
    found = rows(target)
    assert found.works
    assert found.control is not None
    assert found.control.share == 1.0
    assert found.guess.share < 0.02 < 0.5 < found.attack.share
    assert found.details["rows_given_away"] == found.attack.won
    assert float(found.details["precision"]) > 0.95
    assert (found.bound, found.outcome) == (None, "no bound")


def test_what_k_share_is_no_secret() -> None:
    data = numbers(np.repeat(np.arange(3), 4)[:, None], [3])
    target = Target(as_they_are(data), data, np.arange(12), 4)
    found = rows(target)
    assert (found.attack.won, found.details["claims"], found.works) == (0, 3, False)


def test_an_empty_release_gives_nothing() -> None:
    data = numbers(np.arange(3)[:, None], [3])
    assert given_away(release(data, []), data, 2) == GivenAway(0, 0, 0)


@pytest.mark.parametrize(("shape", "least"), [(Shape.SET, 0.9), (Shape.RANGE, 0.6)], ids=["sets", "ranges"])
def test_adult(real_data: Path, shape: Shape, least: float) -> None:
    """Of the records whose combination fewer than k share, most come back; hardly a claim is wrong."""
    table, names, k = tables.read(real_data / "adult" / "adult.csv"), ["age", "occupation", "education"], 10
    kinds = [reading_of([text or "" for text in table.column(name).texts]).kind for name in names]
    columns = [
        Column(name, Role.QUASI, kind, shape if kind is Kind.NUMERIC else Shape.SET)
        for name, kind in zip(names, kinds, strict=True)
    ]
    chosen = Table(tuple(names), tuple(table.column(name) for name in names))
    data = encode(chosen, Schema(tuple(columns), frozenset({"", "?"})))
    found = given_away(shown(data, ring(Lexicographic(k).parts(data, (), silent), k)), data, k)
    counts = np.unique(data.codes, axis=0, return_counts=True)[1]
    assert found.records >= least * counts[counts < k].sum()
    assert found.precision > 0.98
