"""Where values lie on the axes of distances, and the corners of cells."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from incrowd.schema import MISSING, Column, Kind, Role, Shape
from incrowd.verifier.cell_regions import CellRegion, CellRegions, ListedSets
from incrowd.verifier.claims.plain_distance import (
    PlainAxis,
    _stand_ins,
    corner_values,
    quasi_axis,
    sensitive_axis,
)
from incrowd.verifier.columns import CodedColumn
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed

ONE = Fraction(1)
PAY = Column("pay", Role.SENSITIVE, Kind.NUMERIC)


def coded(codes: list[int], *texts: str) -> CodedColumn:
    return CodedColumn(np.array(codes, np.int32), texts)


def test_sensitive_values_have_places_and_missing_has_none() -> None:
    own, shown = coded([0, 1, 2, 3, 0], "2.5", "?", "10", ""), coded([2, 1, 3], "2.5", "?", "10", "")
    axis, rows = sensitive_axis(PAY, own, shown, frozenset(["?"]), ONE)
    assert list(axis.places) == [None, 25, 100]
    assert axis.records.tolist() == [1, 0, 2, 0, 1]
    assert rows.tolist() == [2, 0, 0]


@pytest.mark.parametrize("codes", [[2], [0, 2], [2, 1]])
def test_a_published_value_occurs_in_the_original(codes: list[int]) -> None:
    with pytest.raises(CheckFailed, match="a published value does not occur in the original"):
        sensitive_axis(PAY, coded([0, 1], "1", "2"), coded(codes, "1", "2", "9"), frozenset(), ONE)
    with pytest.raises(CheckFailed, match="a published value does not occur in the original"):
        sensitive_axis(PAY, coded([0, 1], "1", "2", "9"), coded(codes, "1", "2", "9"), frozenset(), ONE)


def corners(
    column: Column, texts: list[str], *cells: str, records: list[int] | None = None
) -> list[list[int]]:
    domain = ColumnDomain(column, texts, frozenset([""]))
    axis = quasi_axis(domain, np.array(records or range(len(texts)), np.int32), ONE)
    return corner_values(domain, axis, domain.regions(cells), cells)


AGE = Column("age", Role.QUASI, Kind.NUMERIC)


def test_corners_of_ranges() -> None:
    cells = ["5", "[1,9]", "missing", "{missing|5}", "{missing|[1,5]}"]
    assert corners(AGE, ["9", "1", "5", ""], *cells) == [[2], [1, 3], [0], [2, 0], [1, 2, 0]]


def test_everything_stands_for_values_that_occur() -> None:
    sets = Column("job", Role.QUASI)
    assert corners(sets, ["a", "b", "c", ""], "*") == [[1, 3, 0]]
    assert corners(sets, ["a", "b", "c", ""], "*", records=[1, 2]) == [[2, 3]]
    assert corners(sets, ["a", "b", "c"], "{a|b}", "c", "*") == [[1, 2], [3], [1, 3]]
    tree = Column("zip", Role.QUASI, levels=(("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")))
    assert corners(tree, ["b", "c"], "*", "x", "y", "b") == [[1, 3], [1, 2], [3], [2]]
    assert corners(tree, ["b", ""], "*", "missing", "{missing|x}") == [[1, 3, 0], [0], [1, 2, 0]]


@pytest.mark.parametrize(
    ("levels", "found"),
    [
        ((("a", "x", "*"), ("", "x", "*"), ("c", "y", "*")), [[1, 0], [0], [1, 3, 0]]),
        ((("", "x", "*"), ("a", "x", "*"), ("c", "y", "*")), [[2, 0], [0], [2, 3, 0]]),
    ],
    ids=["last", "first"],
)
def test_a_leaf_may_stand_for_missing(levels: tuple[tuple[str, ...], ...], found: list[list[int]]) -> None:
    tree = Column("zip", Role.QUASI, levels=levels)
    assert corners(tree, ["a", "", "c"], "x", "missing", "*") == found


def test_leaves_that_are_numbers_keep_their_places() -> None:
    """Where their order is not that of the leaves, the ends are sought among all."""
    tree = Column(
        "age", Role.QUASI, Kind.NUMERIC, levels=(("30", "x", "*"), ("10", "x", "*"), ("20", "y", "*"))
    )
    assert corners(tree, ["10", "20"], "x", "*", "y") == [[2, 1], [2, 1], [3]]


def test_values_of_the_original_have_positions() -> None:
    tree = Column("age", Role.QUASI, Kind.NUMERIC, levels=(("10", "x"), ("old", "x")))
    with pytest.raises(CheckFailed, match="1 values of the original have no position"):
        corners(tree, ["10", "old"], "x")
    assert corners(tree, ["10"], "x") == [[1]]


def test_missing_texts_take_no_place_among_values() -> None:
    domain = ColumnDomain(Column("job", Role.QUASI), ["b", "?", "!"], frozenset(["?"]))
    axis = quasi_axis(domain, np.arange(3, dtype=np.int32), ONE)
    assert list(axis.places) == [None, 0, 1]
    assert axis.records.tolist() == [2, 0, 1]


def test_sensitive_words_lie_by_their_hierarchy_or_their_order() -> None:
    own, shown = coded([0, 1, 2, 0], "flu", "?", "cold"), coded([2, 1], "flu", "?", "cold")
    axis, rows = sensitive_axis(Column("ill", Role.SENSITIVE), own, shown, frozenset(["?"]), ONE)
    assert (list(axis.places), axis.records.tolist(), rows.tolist()) == ([None, 0, 1], [2, 0, 1, 2], [1, 0])
    levels = (("flu", "*"), ("rash", "*"), ("cold", "*"))
    tree = Column("ill", Role.SENSITIVE, levels=levels)
    axis, rows = sensitive_axis(tree, own, shown, frozenset(["?"]), ONE)
    assert (list(axis.places), axis.records.tolist(), rows.tolist()) == ([None, 0, 2], [1, 0, 2, 1], [2, 0])
    with pytest.raises(CheckFailed, match="a value has no position"):
        sensitive_axis(Column("ill", Role.SENSITIVE, levels=levels[:2]), own, shown, frozenset(["?"]), ONE)


def corners_at(places: list[int | None], *regions: CellRegion) -> list[list[int]]:
    """Of cells that hold these ranks, where values lie at these places."""
    column = SimpleNamespace(name="age", shape=Shape.SET)
    domain: Any = SimpleNamespace(column=column, size=len(places))
    none = np.empty(0, np.int64)
    found = CellRegions.of(regions, ListedSets(none, np.zeros(1, np.int64), none, frozenset()), len(places))
    return corner_values(domain, PlainAxis(places, none, ONE), found, [str(i) for i in range(len(regions))])


def test_the_ends_are_those_of_places_not_of_ranks() -> None:
    assert corners_at([None, 1, 0, 2], CellRegion(1, 3)) == [[2, 3]]
    assert corners_at([None, None, 5, 6, 7], CellRegion(1, 4), CellRegion(1, 2)) == [[2, 4], [2]]
    assert corners_at([None, 5, 6, None], CellRegion(1, 3)) == [[1, 2]]


def test_a_cell_holds_something_that_lies_somewhere() -> None:
    with pytest.raises(CheckFailed, match="a cell holds no value that has a position"):
        corners_at([None, None, 5], CellRegion(2, 2), CellRegion(1, 1))
    assert corners_at([None, None, 5], CellRegion(2, 2), CellRegion(1, 1, missing=True)) == [[2], [0]]


def test_a_set_has_its_own_members() -> None:
    one, two = CellRegion(1, 3, members=frozenset([1, 3])), CellRegion(2, 4, members=frozenset([2, 4]))
    assert corners_at([None, 1, 2, 3, 4], one, two, one) == [[1, 3], [2, 4], [1, 3]]


@pytest.mark.parametrize(
    ("leaves", "real", "found"),
    [
        (["a", "?", ""], [], {2}),
        (["a", MISSING, ""], [], {3}),
        (["a", MISSING], [], {2}),
        (["a", MISSING], [MISSING], set()),
        (["a", "b"], [], set()),
    ],
)
def test_one_leaf_at_most_stands_for_missing(leaves: list[str], real: list[str], found: set[int]) -> None:
    ranked = {leaf: 1 + i for i, leaf in enumerate(leaves)}
    domain: Any = SimpleNamespace(
        column=SimpleNamespace(shape=Shape.TREE), ranked=ranked, absent=frozenset(["", "?"]), real=real
    )
    assert _stand_ins(domain) == found
