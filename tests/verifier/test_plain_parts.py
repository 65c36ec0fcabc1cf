"""Plain classes part by part: terms, things of classes, spells of them, and tries."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.verifier_cases import Case, verified
from verifier.test_verifier import Lines

from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier.cell_regions import CellRegion, CellRegions, ListedSets
from incrowd.verifier.claims import plain as module
from incrowd.verifier.claims.plain import ClassItems, PlainClasses, PlainTerms, _spells, _tries, _weights
from incrowd.verifier.claims.plain_distance import PlainAxis
from incrowd.verifier.failure import CheckFailed

SCHEMA = Schema(
    (
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("pay", Role.SENSITIVE, Kind.NUMERIC),
        Column("ill", Role.SENSITIVE),
        Column("note", Role.KEEP),
    )
)
GOOD: dict[str, Any] = {
    **{"p": "0.8", "d": "0.5", "margin": "0", "form": "both", "distinct": 2},
    **{"removal": "once", "rescale": "yes", "columns": {"age": "1", "pay": "0.5"}},
}


def terms(column: str = "", **change: Any) -> PlainTerms:
    return PlainTerms.of(Claim("plain", {**GOOD, **change}, column), SCHEMA)


def test_terms_that_can_be() -> None:
    found = terms(margin="0.1", rescale="no", form="corner")
    assert (str(found.share), str(found.reach)) == ("7/10", "2/5")
    assert (found.forms, found.rescale, found.distinct) == (("corner",), False, 2)
    assert terms(form="candidate").forms == ("candidate",)
    assert terms(p="1").p == 1
    assert terms().rescale
    for removal in ("once", "repeat", "none"):
        assert terms(removal=removal).removal == removal


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"column": "pay"}, "not about one column"),
        ({"p": "1.01"}, "p is above 1"),
        ({"margin": "0.8", "d": "1"}, "p minus the margin is not above 0"),
        ({"margin": "0.5"}, "d minus the margin is not above 0"),
        ({"form": "some"}, "does not know this form"),
        ({"removal": "twice"}, "does not know this removal"),
        ({"rescale": "maybe"}, "neither yes nor no"),
        ({"distinct": 1}, "distinct is less than 2"),
        ({"columns": ["age"]}, "are not listed"),
        ({"columns": {"age": "1", "note": "1", "pay": "1"}}, "neither quasi-identifiers nor sensitive"),
        ({"columns": {"age": "1"}}, "no column of the distance is sensitive"),
        ({"columns": {"age": "1", "pay": "0"}}, "a weight is not above 0"),
    ],
)
def test_terms_that_cannot_be(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        terms(**change)


def test_a_weight_is_any_number_above_nothing() -> None:
    assert str(_weights({"pay": "0.01", "age": "3"}, SCHEMA)["pay"]) == "1/100"


def test_sensitive_columns_must_be_shown() -> None:
    """In both tables, and all of them."""
    chosen = terms(columns={"pay": "1", "ill": "1"})
    shown = {"pay": None, "ill": None}
    for values, sensitive in (
        ({}, {}),
        (shown, {}),
        ({}, shown),
        ({"pay": None}, shown),
        (shown, {"ill": None}),
    ):
        tables: Any = SimpleNamespace(quasi={}, values=values, sensitive=sensitive)
        with pytest.raises(CheckFailed, match="the rows do not show its sensitive columns"):
            PlainClasses(chosen, SCHEMA, tables)


def test_things_of_some_classes() -> None:
    things = ClassItems(np.array([0, 0, 1, 2, 2, 2, 3]), [np.arange(7)])
    some = things.of(1, 2)
    assert some.owner.tolist() == [0, 1, 1, 1]
    assert some.codes[0].tolist() == [2, 3, 4, 5]
    assert things.of(3, 3).codes[0].tolist() == [6]
    assert things.starts(5).tolist() == [0, 2, 3, 6, 7, 7]
    by = things.sorted_by(np.array([2.0, 1.0, 0.0, 3.0, 1.0, 2.0, 0.0]))
    assert by.codes[0].tolist() == [1, 0, 2, 4, 5, 3, 6]
    assert by.owner.tolist() == things.owner.tolist()


def naive_spells(sizes: list[int], most: int) -> list[tuple[int, int]]:
    """A class goes with those before it as long as what is before it lies in the same share of `most`."""
    found: list[list[int]] = []
    last = None
    for place in range(len(sizes)):
        share = sum(sizes[:place]) // most
        if share != last:
            found.append([place, place])
        found[-1][1] = place
        last = share
    return [(first, end) for first, end in found]


@pytest.mark.parametrize("most", [1, 3, 5, 100])
def test_classes_come_in_spells(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", most)
    for sizes in ([1], [2, 2, 2, 2], [7, 1, 1, 9, 2], [1] * 9):
        assert list(_spells(np.array(sizes))) == naive_spells(sizes, most)


def test_each_thing_is_tried_with_the_next_few() -> None:
    """Of classes with three and one things on the other side, from the second on, two at a time."""
    thing, other = _tries(np.array([0, 2]), np.array([0, 0, 1]), np.array([0, 3, 4]), 1, 2)
    assert (thing.tolist(), other.tolist()) == ([0, 0], [1, 2])
    thing, other = _tries(np.array([0, 2]), np.array([0, 0, 1]), np.array([0, 3, 4]), 0, 2)
    assert (thing.tolist(), other.tolist()) == ([0, 0, 2], [0, 1, 3])


# Corners and people of classes


def three_classes() -> Case:
    """Of two, three and three people; in the first somebody lacks b. Classes are sorted by their cells."""
    people = [("8", "9"), ("8", ""), ("1", "1"), ("1", "2"), ("2", "3"), ("5", "5"), ("6", "7"), ("6", "5")]
    cells = [("8", "{missing|9}")] * 2 + [("[1,2]", "[1,3]")] * 3 + [("[5,6]", "[5,7]")] * 3
    pays = [str(i) for i in range(8)]
    columns = [Column(n, Role.SENSITIVE if n == "s" else Role.QUASI, Kind.NUMERIC) for n in "abs"]
    claim = {**GOOD, "p": "1", "d": "9", "removal": "none", "columns": dict.fromkeys("abs", "1")}
    return Case(
        Lines(["a", "b", "s"], [[*person, pay] for person, pay in zip(people, pays, strict=True)]),
        Lines(["a", "b", "s"], [[*cell, pay] for cell, pay in zip(cells, pays, strict=True)]),
        Schema(tuple(columns)),
        [Claim("plain", claim)],
        max_suppression=Fraction(1),
    )


# By rank: a has 1 2 5 6 8, b has 1 2 3 5 7 9, and 0 is missing.
CORNERS = {
    0: {(5, 6), (5, 0)},
    1: {(1, 1), (1, 3), (2, 1), (2, 3)},
    2: {(3, 4), (3, 5), (4, 4), (4, 5)},
}
PEOPLE = {0: {(5, 6), (5, 0)}, 1: {(1, 1), (1, 2), (2, 3)}, 2: {(3, 4), (4, 5), (4, 4)}}


@pytest.mark.parametrize("at_once", [1, 3, 5, 1_000_000])
def test_corners_and_people_of_every_class_are_looked_at(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    assert verified(three_classes()).passed
    seen: dict[str, dict[int, list[tuple[int, ...]]]] = {}

    def record(_: PlainClasses, spells: Any, what: str) -> None:
        found = seen.setdefault(what, {})
        for first, last, items in spells:
            assert items.owner.max() == last - first
            for owner, *codes in zip(items.owner.tolist(), *(c.tolist() for c in items.codes), strict=True):
                found.setdefault(first + owner, []).append(tuple(codes))

    monkeypatch.setattr(PlainClasses, "check", record)
    assert verified(three_classes()).passed
    for what, wanted in (("corner of its cells", CORNERS), ("person who fits it", PEOPLE)):
        assert {one: set(codes) for one, codes in seen[what].items()} == wanted
        assert sum(map(len, seen[what].values())) == sum(map(len, wanted.values()))


@pytest.mark.parametrize(
    ("limit", "most", "words"),
    [("MOST_CORNERS", 4, "too many corners: one class has 4"), ("MOST_CANDIDATES", 8, "too many records")],
)
def test_as_many_as_may_be_are_looked_at(
    limit: str, most: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, most)
    assert verified(three_classes()).passed
    monkeypatch.setattr(module, limit, most - 1)
    assert words in verified(three_classes()).failures[0].detail


def test_who_stands_out_by_values_is_removed_once_or_again_and_again() -> None:
    """Pays 0 to 5, 25 and 100: without the last the one before stands out, too."""
    pays = ["0", "1", "2", "3", "4", "5", "25", "100"]
    sizes = {}
    for removal in ("none", "once", "repeat"):
        case = three_classes()
        case.original.rows = [[*row[:2], pay] for row, pay in zip(case.original, pays, strict=True)]  # type: ignore[attr-defined]
        case.published.rows = [[*row[:2], pay] for row, pay in zip(case.published, pays, strict=True)]  # type: ignore[attr-defined]
        claim = {**case.claims[0].parameters, "removal": removal, "p": "0.75", "d": "0.3"}
        claim = {**claim, "columns": {"s": "1"}, "form": "corner"}
        kept: list[int] = []

        def record(found: PlainClasses, _: Any, __: str, kept: list[int] = kept) -> None:
            kept.append(found._rest.size)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PlainClasses, "check", record)
            verified(replace(case, claims=[Claim("plain", claim)]))
        sizes[removal] = kept
    assert sizes == {"none": [8], "once": [7], "repeat": [6]}


def bare(class_cells: list[list[int]], **parts: Any) -> PlainClasses:
    """Classes with these cells, without what is not asked about."""
    found = object.__new__(PlainClasses)
    names = [str(j) for j in range(len(class_cells))]
    coded = SimpleNamespace(class_cells=[np.array(cells) for cells in class_cells], **parts.pop("coded"))
    tables = SimpleNamespace(coded=coded, domains=dict.fromkeys(names), **parts.pop("tables", {}))
    vars(found).update(_tables=tables, _quasi=names, _known=names, _classes=len(class_cells[0]), **parts)
    return found


@pytest.mark.parametrize("at_once", [1, 4, 1000])
def test_classes_have_as_many_corners_as_their_own_cells(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    monkeypatch.setattr(module, "corner_values", lambda _, __, ___, cells: cells)
    ends = {"0": [[1], [2, 3], [4, 5, 0]], "1": [[1, 2], [3]]}
    cells = [[0, 1, 2, 0, 2], [0, 1, 0, 1, 1]]
    classes = bare(cells, coded={"regions": [None] * 2}, tables={"cells": ends}, _axes=dict.fromkeys("01"))
    found = [
        (first + owner, *codes)
        for first, _, items in classes.corners()
        for owner, *codes in zip(items.owner.tolist(), *(c.tolist() for c in items.codes), strict=True)
    ]
    wanted = [
        (i, a, b)
        for i, (one, two) in enumerate(zip(*cells, strict=True))
        for a in ends["0"][one]
        for b in ends["1"][two]
    ]
    assert sorted(found) == sorted(wanted)


def test_outliers_are_nobody_whom_a_class_fits() -> None:
    """Three classes of one value each; of the people one is an outlier by sensitive values alone."""
    none = np.empty(0, np.int64)
    cells = [CellRegion(i, i) for i in (1, 2, 3)]
    regions = CellRegions.of(cells, ListedSets(none, np.zeros(1, np.int64), none, frozenset()), 4)
    coded = {"record_ranks": [np.array([1, 2, 3])], "regions": [regions]}
    axes = {"0": PlainAxis([None, 1, 2, 3], np.array([1, 2, 3]), Fraction(1))}
    classes = bare([[0, 1, 2]], coded=coded, _axes=axes, _rest=np.arange(3))
    ((first, last, items),) = classes.candidates()
    assert (first, last, items.owner.tolist(), items.codes[0].tolist()) == (0, 2, [0, 1, 2], [1, 2, 3])
    with pytest.raises(CheckFailed, match="1 classes fit nobody except outliers"):
        next(bare([[0, 1, 2]], coded=coded, _axes=axes, _rest=np.array([0, 2])).candidates())
