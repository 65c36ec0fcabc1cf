"""What cells mean, and the one form that each meaning has: every cell over three values."""

from __future__ import annotations

from itertools import chain, combinations, permutations

import numpy as np
import pytest

from incrowd.schema import Column, Kind, Role, Shape
from incrowd.verifier.cell_regions import CellRegions
from incrowd.verifier.domain import ColumnDomain, check_levels
from incrowd.verifier.failure import CheckFailed

SETS = Column("job", Role.QUASI)
AGES = Column("age", Role.QUASI, Kind.NUMERIC)
SIZES = Column("size", Role.QUASI, Kind.ORDERED, Shape.RANGE, order=("s", "m", "l"))
TREE = Column("zip", Role.QUASI, levels=(("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))


def domain(column: Column, *texts: str) -> ColumnDomain:
    return ColumnDomain(column, texts, frozenset([""]))


def held(regions: CellRegions) -> set[int]:
    """The ranks that the first cell holds."""
    ranks = np.arange(regions.size)
    return set(ranks[regions.hold(np.zeros_like(ranks), ranks)].tolist())


def means(found: ColumnDomain, cell: str, canonical: bool = True) -> set[int] | None:
    """The ranks that a cell holds, 0 for missing; None if it is refused."""
    try:
        return held(found.regions([cell], canonical))
    except CheckFailed:
        return None


@pytest.mark.parametrize("missing", [False, True])
def test_every_set_has_one_form(missing: bool) -> None:
    texts = ["a", "b", "c", *([""] if missing else [])]
    words = {1: "a", 2: "b", 3: "c", 0: "missing"}
    ranks = [1, 2, 3, *([0] if missing else [])]
    every = chain.from_iterable(combinations(ranks, n) for n in range(1, len(ranks) + 1))
    for some in every:
        right = "*" if set(some) == set(ranks) else None
        for atoms in permutations(some):
            named = [words[rank] for rank in atoms]
            cell = named[0] if len(named) == 1 else "{" + "|".join(named) + "}"
            first_missing = 0 not in atoms or atoms[0] == 0
            values = [word for word in named if word != "missing"]
            in_order = first_missing and values == sorted(values)
            expected = set(some) if in_order and right is None else None
            assert means(domain(SETS, *texts), cell) == expected, cell
            assert means(domain(SETS, *texts), cell, canonical=False) == set(some), cell
    assert means(domain(SETS, *texts), "*") == {0, 1, 2, 3}
    if not missing:
        assert means(domain(SETS, *texts), "missing") == {0}


def test_where_there_is_one_value_everything_is_no_form() -> None:
    assert means(domain(SETS, "a"), "*") is None
    assert means(domain(SETS, "a"), "a") == {1}
    assert means(domain(SETS, "a", ""), "*") == {0, 1}
    assert means(domain(SETS, "a", ""), "{missing|a}") is None
    assert means(domain(SETS, ""), "missing") == {0}
    assert means(domain(SETS, ""), "*") is None
    assert domain(SETS, "").size == 1


@pytest.mark.parametrize(
    ("cell", "ranks"),
    [
        ("1", {1}),
        ("10", {3}),
        ("[1,2.5]", {1, 2}),
        ("[1,10]", {1, 2, 3}),
        ("missing", {0}),
        ("{missing|2.5}", {0, 2}),
        ("{missing|[2.5,10]}", {0, 2, 3}),
        ("*", None),
        ("1.0", None),
        ("[1,2.50]", None),
        ("[1,1]", None),
        ("[10,1]", None),
        ("[1,3]", None),
        ("{1|10}", None),
        ("{[1,2.5]|10}", None),
        ("{[1,2.5]|missing}", None),
    ],
)
def test_ranges_have_one_form(cell: str, ranks: set[int] | None) -> None:
    assert means(domain(AGES, "10", "1", "2.5", ""), cell) == ranks


@pytest.mark.parametrize(
    ("cell", "ranks"),
    [("s", {1}), ("[s,l]", {1, 2, 3}), ("[m,l]", {2, 3}), ("[l,s]", None), ("xl", None), ("missing", {0})],
)
def test_ordered_values_have_one_form(cell: str, ranks: set[int] | None) -> None:
    assert means(domain(SIZES, "l", "s"), cell) == ranks


@pytest.mark.parametrize(
    ("cell", "ranks"),
    [
        ("a", {1}),
        ("x", {1, 2}),
        ("y", {3}),
        ("*", {0, 1, 2, 3}),
        ("missing", {0}),
        ("{missing|x}", {0, 1, 2}),
        ("{a|b}", None),
        ("\\*", None),
        ("z", None),
        ("[a,b]", None),
        ("{x|missing}", None),
    ],
)
def test_nodes_have_one_form(cell: str, ranks: set[int] | None) -> None:
    assert means(domain(TREE, "a", "b", ""), cell) == ranks


NAMED = Column("zip", Role.QUASI, levels=(("a", "x", "*"), ("", "x", "*"), ("c", "y", "*")))


@pytest.mark.parametrize(
    ("cell", "ranks"),
    [("a", {1}), ("missing", {2}), ("x", {1, 2}), ("*", {0, 1, 2, 3}), ("{missing|x}", None), ("", None)],
)
def test_missing_may_be_a_leaf(cell: str, ranks: set[int] | None) -> None:
    assert means(domain(NAMED, "a", ""), cell) == ranks


FAMILY = Column("ward", Role.QUASI, family=(frozenset("ab"), frozenset("bc"), frozenset("cd")))


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("{a|b}", True),
        ("{b|c}", True),
        ("b", True),
        ("*", True),
        ("{a|c}", False),
        ("{a|b|c}", False),
        ("{a|d}", False),
        ("{missing|a|b}", True),
        ("{missing|a}", True),
        ("{missing|a|c}", False),
    ],
)
def test_sets_of_a_family_are_permissible(cell: str, kept: bool) -> None:
    assert (means(domain(FAMILY, "a", "b", "c", "d", ""), cell) is not None) == kept


def test_texts_that_mean_the_same_are_one_value() -> None:
    found = domain(AGES, "1", "1.0", "", "01e0", "2")
    assert found.ranks.tolist() == [1, 1, 0, 1, 2]
    assert found.size == 3
    with pytest.raises(CheckFailed, match="column age of the original table: a text is not a number"):
        domain(AGES, "one")
    with pytest.raises(CheckFailed, match="a value of the original table is not in the hierarchy"):
        domain(TREE, "z")


def test_two_cells_of_one_meaning_are_refused() -> None:
    found = domain(AGES, "1", "2")
    assert found.regions(["1", "2"], canonical=True).size == 3
    with pytest.raises(CheckFailed, match="not written in the one form"):
        found.regions(["1", "1"], canonical=True)


def test_what_cells_name_is_told() -> None:
    ages = domain(AGES, "10", "1", "2.5", "")
    assert ages.named() == {}
    ages.regions(["2.5", "missing"])
    assert ages.named() == {"low": "2.5", "high": "2.5"}
    ages.regions(["[1,10]"])
    assert ages.named() == {"low": "1", "high": "10"}
    sets = domain(SETS, "b", "a", "c")
    sets.regions(["{b|c}", "*"])
    assert sets.named() == {"values": ["b", "c"]}
    tree = domain(TREE, "a")
    tree.regions(["x", "a", "missing"])
    assert tree.named() == {"labels": ["a", "x"]}


# Whole levels


def levelled(level: object, *cells: str, column: Column = TREE) -> None:
    found = domain(column, "a", "c", "")
    regions = {"zip": found.regions(cells)}
    check_levels({"zip": level}, {"zip": found}, regions, {"zip": cells})


@pytest.mark.parametrize(
    ("level", "cells"),
    [
        (0, ("a", "b", "c")),
        (0, ("a", "missing")),
        (1, ("x", "y", "missing")),
        (2, ("*",)),
    ],
)
def test_cells_of_one_level_are_accepted(level: int, cells: tuple[str, ...]) -> None:
    levelled(level, *cells)


@pytest.mark.parametrize(
    ("level", "cells", "words"),
    [
        (3, ("*",), "has no such level"),
        (-1, ("a",), "has no such level"),
        (True, ("x",), "has no such level"),
        ("1", ("x",), "has no such level"),
        (0, ("x",), "a cell is not of level 0"),
        (1, ("a",), "a cell is not of level 1"),
        (1, ("*",), "a cell is not of level 1"),
        (2, ("x",), "a cell is not of level 2"),
        (2, ("missing",), "a cell is not of level 2"),
        (1, ("{missing|x}",), "a cell is not of level 1"),
        (1, ("y", "c"), "two different cells mean the same"),
    ],
)
def test_cells_of_other_levels_are_refused(level: object, cells: tuple[str, ...], words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        levelled(level, *cells)


def test_missing_as_a_leaf_goes_up_with_its_node() -> None:
    levelled(0, "a", "missing", "c", column=NAMED)
    levelled(1, "x", "y", column=NAMED)
    with pytest.raises(CheckFailed, match="a cell is not of level 1"):
        levelled(1, "missing", column=NAMED)


def test_levels_are_stated_of_every_hierarchy() -> None:
    found = domain(TREE, "a")
    regions, cells = {"zip": found.regions(["a"])}, {"zip": ["a"]}
    for stated in (None, {}, {"zip": 0, "age": 0}, [0]):
        with pytest.raises(CheckFailed, match="does not state one level for each"):
            check_levels(stated, {"zip": found}, regions, cells)
    ages = domain(AGES, "1")
    both = {"zip": found, "age": ages}
    check_levels({"zip": 0}, both, regions | {"age": ages.regions(["1"])}, cells | {"age": ["1"]})
