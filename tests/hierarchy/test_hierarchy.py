"""Trees, families, hierarchy files and builders, against definitions spelt out in plain Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.places import DATA

from incrowd.errors import HierarchyError
from incrowd.hierarchy import Family, Hierarchy
from incrowd.hierarchy.builders import grow, read_levels, write_levels
from incrowd.hierarchy.tree import MOST_BYTES
from incrowd.schema import Kind

FILES = sorted(DATA.glob("*/hierarchies/*.csv"))
SECRET = "four-and-twenty"


# ---------------------------------------------------------------------------------------------------- trees


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Rows of a random tree: every node of a level has one parent, leaves in any order."""
    height = draw(st.integers(1, 4))
    counts = [draw(st.integers(1, 12)), *(draw(st.integers(1, 5)) for _ in range(height - 1))]
    parents = [[draw(st.integers(0, above - 1)) for _ in range(n)] for n, above in pairwise(counts)]
    rows = []
    for leaf in draw(st.permutations(range(counts[0]))):
        path = [leaf]
        for level in parents:
            path.append(level[path[-1]])
        rows.append((*(f"{'abcd'[i]}{node}" for i, node in enumerate(path)), "*"))
    return rows


def naive_smallest(rows: Sequence[Sequence[str]], wanted: set[str]) -> set[str]:
    """The smallest set of leaves that share a label and include all wanted ones."""
    nodes = [{r[0] for r in rows if r[i] == row[i]} for row in rows for i in range(len(row))]
    return min((node for node in nodes if wanted <= node), key=len)


@settings(deadline=None)
@given(tables(), st.data())
def test_a_node_is_an_interval_and_covers_least(rows: list[tuple[str, ...]], data: st.DataObject) -> None:
    tree = Hierarchy.from_rows(rows)
    assert sorted(tree.leaves) == sorted(row[0] for row in rows)
    for node in range(1, len(tree.labels)):
        under = [
            i
            for i, leaf in enumerate(tree.leaves)
            if tree.labels[node] in rows[[r[0] for r in rows].index(leaf)]
        ]
        assert under == list(range(tree.low[node], tree.high[node] + 1))
        assert tree.parent[node] < node
    assert (tree.low[0], tree.high[0]) == (0, len(tree.leaves) - 1)
    wanted = data.draw(st.sets(st.sampled_from(tree.leaves), min_size=1))
    codes = [tree.leaves.index(leaf) for leaf in wanted]
    node = tree.covering(min(codes), max(codes))
    assert set(tree.leaves[tree.low[node] : tree.high[node] + 1]) == naive_smallest(rows, wanted)
    assert tree.sizes()[node] == len(naive_smallest(rows, wanted))


@settings(deadline=None)
@given(tables())
def test_many_coverings_are_as_one_by_one(rows: list[tuple[str, ...]]) -> None:
    tree = Hierarchy.from_rows(rows)
    pairs = [(a, b) for a in range(len(rows)) for b in range(a, len(rows))]
    low, high = np.array(pairs, dtype=np.int32).T
    assert tree.coverings(low, high).tolist() == [tree.covering(a, b) for a, b in pairs]


@settings(deadline=None)
@given(tables())
def test_rows_of_a_tree_give_the_same_tree(rows: list[tuple[str, ...]]) -> None:
    once = Hierarchy.from_rows(rows)
    twice = Hierarchy.from_rows(once.rows)
    assert (twice.leaves, twice.labels, twice.rows) == (once.leaves, once.labels, once.rows)


def test_labels_are_told_apart_by_their_level() -> None:
    tree = Hierarchy.from_rows([("250", "250", "*"), ("250.1", "250", "*"), ("x", "*", "*")])
    assert tree.rows == (
        ("250", "250 (level 1)", "*"),
        ("250.1", "250 (level 1)", "*"),
        ("x", "* (level 1)", "*"),
    )
    assert Hierarchy.from_rows(tree.rows).rows == tree.rows


def test_a_leaf_named_like_the_root_keeps_its_name() -> None:
    tree = Hierarchy.from_rows([("*", "*"), ("a", "*")])
    assert (tree.leaves, tree.labels[0]) == (("*", "a"), "* (level 1)")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no rows"),
        ([("a", "*"), ("b",)], "different length, first in line 2"),
        ([("a", "*"), ("b", "*"), ("a", "*")], "names a leaf twice, in line 3"),
        ([("a", "A", "X", "*"), ("b", "A", "Y", "*")], "does not nest: line 2 puts a label of level 1"),
        ([("a", "", "*")], "empty label above a leaf with a name, in line 1"),
        ([("a", *"*" * 32)], "33 levels; at most 32"),
        ([("1", "1"), ("2", "1"), ("1 (level 1)", "1")], "stay ambiguous"),
    ],
)
def test_what_is_no_tree_is_refused(rows: list[tuple[str, ...]], message: str) -> None:
    with pytest.raises(HierarchyError, match=f"^the hierarchy of zip .*{message}"):
        Hierarchy.from_rows(rows, "zip")


@pytest.mark.quick
def test_boxes_of_figures_1_to_3() -> None:
    """The printed gender ranges, M=1 and F=2, are nodes of the flat tree."""
    vector = vectors("outliers")["figure_boxes"]
    tree = Hierarchy.from_rows([("M", "*"), ("F", "*")])
    person = {row[0]: row for row in vector["input"]["rows"]}
    for figure, groups in vector["input"]["groupings"].items():
        for group, box in zip(groups, vector["expected"]["boxes"][figure], strict=True):
            codes = [tree.leaves.index(person[i][3]) for i in group]
            node = tree.covering(min(codes), max(codes))
            assert [int(tree.low[node]) + 1, int(tree.high[node]) + 1] == box[1]
            ages = [person[i][2] for i in group]
            assert [min(ages), max(ages)] == box[0]


# -------------------------------------------------------------------------------------------------- families


def naive_closed(family: Iterable[frozenset[int]]) -> bool:
    sets = set(family)
    return all(a & b in sets for a, b in product(sets, sets) if a & b)


@pytest.mark.quick
def test_closure_is_unique_only_in_closed_families() -> None:
    vector = vectors("revisited_limits")["closure_uniqueness"]
    bad, domain = vector["input"]["family_bad"], range(1, 5)
    with pytest.raises(HierarchyError, match="the family of age lacks 1 intersections"):
        Family.of(domain, bad, column="age")
    mended = Family.of(domain, bad, complete=True)
    assert frozenset({2, 3}) in mended.members
    assert mended.closure(vector["input"]["values"]) == {2, 3}
    intervals = Family.of(domain, [range(a, b + 1) for a in domain for b in range(a, 5)])
    assert naive_closed(intervals.members) is vector["expected"]["intersection_closed_intervals"]
    assert not intervals.laminar
    # The vector prints the closure of {2,4} here, not of its values {2,3}.
    assert [sorted(intervals.closure({2, 4}))] == vector["expected"]["minimal_supersets_intervals"]
    assert intervals.closure({2, 3}) == {2, 3}


@pytest.mark.quick
def test_closure_in_steps_depends_on_no_order() -> None:
    vector = vectors("revisited_limits")["closure_incremental_fails"]
    family = Family.of(range(1, 5), vector["input"]["family"], complete=True)
    for order in permutations(vector["input"]["values_in_order"]):
        grown = frozenset(order[:1])
        for value in order[1:]:
            grown = family.closure(grown | {value})
        assert sorted(grown) == vector["expected"]["closure_of_all"]


@pytest.mark.quick
@pytest.mark.parametrize("name", ["A1", "A2", "A3", "A4", "A5", "A6"])
def test_families_of_the_artificial_table(name: str) -> None:
    vector = vectors("revisited")["ART"]
    expected = vector["expected"]["per_attribute"][name]
    family = Family.of(range(1, expected["m"] + 1), vector["input"]["nontrivial_subsets"][name])
    assert family.laminar is expected["laminar"]
    assert naive_closed(family.members) is expected["intersection_closed"]


@settings(deadline=None)
@given(
    st.lists(st.frozensets(st.integers(0, 5), min_size=1), max_size=6),
    st.frozensets(st.integers(0, 5), min_size=1),
)
def test_a_completed_family_has_one_smallest_superset(
    sets: list[frozenset[int]], wanted: frozenset[int]
) -> None:
    family = Family.of(range(6), sets, complete=True)
    assert naive_closed(family.members)
    supersets = [member for member in family.members if wanted <= member]
    assert all(family.closure(wanted) <= superset for superset in supersets)


@pytest.mark.parametrize("sets", [[set()], [{9}]], ids=["empty", "outside"])
def test_a_family_stays_in_its_domain(sets: list[set[int]]) -> None:
    with pytest.raises(HierarchyError, match="empty or holds a value outside"):
        Family.of(range(3), sets)
    with pytest.raises(HierarchyError, match="one or more values of the domain"):
        Family.of(range(3), []).closure(sets[0])


# ----------------------------------------------------------------------------------------------------- files


@settings(deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
        unique=True,
        min_size=1,
    ),
    st.integers(0, 2),
    st.sampled_from([";", ","]),
)
def test_what_is_written_is_read(
    tmp_path_factory: Any, leaves: list[str], above: int, separator: str
) -> None:
    path = tmp_path_factory.mktemp("levels") / "h.csv"
    rows = tuple((leaf, *['a;"b', "c,d"][:above]) for leaf in leaves)
    write_levels(path, rows, separator)
    assert read_levels(path) == rows


@pytest.mark.parametrize(
    "content",
    [b"a;X, Y;*\nb;X, Y;*\n", b'\xef\xbb\xbfa,"X, Y",*\r\nb,"X, Y",*\r\n', b'"a";"X, Y";*\nb;X, Y;*\n\n\n'],
    ids=["semicolon", "comma-bom-crlf", "quoted"],
)
def test_file_forms(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    assert read_levels(path) == (("a", "X, Y", "*"), ("b", "X, Y", "*"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "h.csv has no rows"),
        (b"a;*\nb\n", "h.csv has rows of different length, first in line 2"),
        (b"a;*\n\nb;*\n", "h.csv, line 2: an empty line"),
        (b"a;*\na;*\n", "h.csv names a leaf twice, in line 2"),
        (b"a;X;1\nb;X;2\n", "h.csv does not nest: line 2"),
        (b'a;*\n"b;*\n', "h.csv, line 2: a quote is not closed"),
        (b'a;*\n"b"c;*\n', "h.csv, line 2: a quote is not closed, or stands inside"),
        (b"a;*\nb\xe9;*\n", "h.csv, line 2: not UTF-8"),
        ("a;*\n".encode("utf-16"), "h.csv, line 1: not UTF-8"),
        (b"a;*\nb\0;*\n", "h.csv, line 2: not UTF-8"),
        (b"a;" + b"*;" * 32 + b"*\n", "h.csv has 34 levels; at most 32"),
        (b"a;" + b"x" * 200_000 + b"\n", "h.csv, line 1"),
    ],
)
def test_malformed_files_are_named_with_their_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message):
        read_levels(path)


def test_only_regular_files_of_sensible_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HierarchyError, match="pipe is not a regular file"):
        read_levels(tmp_path / "pipe")
    with pytest.raises(HierarchyError, match="is not a regular file"):
        read_levels(tmp_path)
    for strange in (tmp_path / "none.csv", "nul\0.csv"):
        with pytest.raises(HierarchyError, match="does not exist"):
            read_levels(strange)
    with open(tmp_path / "big.csv", "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(HierarchyError, match="larger than 64 MiB"):
        read_levels(tmp_path / "big.csv")
    with pytest.raises(HierarchyError, match="separated by"):
        write_levels(tmp_path / "h.csv", [("a", "*")], "\t")


@pytest.mark.skipif(not FILES, reason="the hierarchies of the real tables are not here (INCROWD_DATA)")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_hierarchies_of_real_tables(path: Path, tmp_path: Path) -> None:
    rows = read_levels(path)
    tree = grow(rows, Kind.CATEGORICAL, column=path.stem)
    assert sorted(tree.leaves) == sorted(row[0] for row in rows)
    write_levels(tmp_path / "copy.csv", rows, ",")
    assert read_levels(tmp_path / "copy.csv") == rows
