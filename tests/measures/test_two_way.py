"""Two-way error and raking: against their definitions said plainly, and on tables worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from measures.test_definitions import Case, built, tables
from support.measure_tables import close, flat, microdata, ranged, release
from twins import two_way as naive

from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.measures import two_way
from incrowd.measures.bins import Bins, deciles, most_frequent, text_bins
from incrowd.measures.boxes import Among, Between
from incrowd.measures.parts import Parts, parted
from incrowd.measures.raking import OneWayTotal, rake
from incrowd.measures.spread import OriginalAndRelease, SpreadColumn, SpreadTable, spread_table
from incrowd.measures.two_way import pairs_of, two_way_error
from incrowd.schema import Column, Kind, Role, Schema

VALUES = ["flu", "cold", "", "asthma"]


def spread(
    cases: list[Case], second: bool, values: list[str], shown: list[str], weights: Any = None
) -> tuple[SpreadTable, list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """A drawn release with a sensitive column beside it, as arrays and as plain Python."""
    data, *releases = built(cases)
    cells = releases[second]
    names = [attribute.name for attribute in data.attributes]
    schema = Schema((*(Column(name, Role.QUASI) for name in names), Column("ill", Role.SENSITIVE)))
    published = release(data, [[text for text, _ in row] for row in cells])
    rows = Table.of({"ill": shown})
    found = spread_table(
        OriginalAndRelease(Table.of({"ill": values}), schema, data, published, rows, weights=weights)
    )
    known = [text or None for text in dict.fromkeys(values)]
    ill = {"values": known, "ranged": False, "original": [text or None for text in values]}
    plain = [
        [*(meaning for _, meaning in row), {"covers": {text or None}}]
        for row, text in zip(cells, shown, strict=True)
    ]
    return found, [*(column for _, column, _ in cases), ill], plain


@given(tables(), st.booleans(), st.sampled_from([0, 1000]), st.data())
@settings(deadline=None, max_examples=150)
def test_two_way_error_is_what_its_definition_says(
    cases: list[Case], second: bool, dense: int, data: st.DataObject
) -> None:
    """Whether rows are added one by one (0), or pairs of cells are counted first."""
    n = len(cases[0][1]["original"])
    values = data.draw(st.lists(st.sampled_from(VALUES), min_size=n, max_size=n))
    shown = data.draw(st.permutations(values))
    weights = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    assume(weights is None or any(weights))
    people = None if weights is None else np.array(weights, float)
    found, columns, rows = spread(cases, second, values, shown, people)
    with patch.object(two_way, "_DENSE", dense):
        error = two_way_error(found)
        if n and len(found.columns) > 1:  # regions that are known, though several may have the same cells
            spread_cells = [column.cell for column in found.columns if not column.exact]
            finer = np.column_stack([*spread_cells, np.arange(n) % 2])
            region = np.unique(finer, axis=0, return_inverse=True)[1].ravel() + 1
            assert two_way_error(replace(found, region=region)).error == close(error.error)
    each = [Fraction(weight) for weight in weights or [1] * n]
    expected = naive.pair_errors(columns, rows, each)
    assert error.error == close(sum(e for e, _ in expected.values()) / len(expected))
    assert error.single == close(sum(s for _, s in expected.values()) / len(expected))
    alone = [naive.one_way(column, [row[j] for row in rows], each) for j, column in enumerate(columns)]
    tied = any(0 < abs(a - b) < 1e-9 for a in alone for b in alone)
    for place, column in enumerate(error.columns):
        mine = [pair for at, pair in expected.items() if place in at]
        assert column.one_way == close(alone[place])
        assert column.two_way == close(sum(e for e, _ in mine) / len(mine))
        doubtful = any(abs(e - s) < 1e-9 or abs(e - Fraction(1, 100)) < 1e-9 for e, s in mine)
        equal = any(other != place and alone[other] == alone[place] != 0 for other in range(len(alone)))
        if not (doubtful or tied or equal):  # where floats could fall on either side of a tie
            assert column.usable == naive.usable(place, column.name == "ill", expected, alone)


def test_a_release_of_the_truth_has_no_error_and_all_skill() -> None:
    people = [["20", "F"], ["20", "F"], ["30", "M"], ["40", "M"]]
    data = microdata([ranged("age", [20, 30, 40]), flat("sex", ["F", "M"])], people)
    schema = Schema((Column("age", Role.QUASI), Column("sex", Role.QUASI), Column("name", Role.IDENTIFIER)))
    shown = release(data, people)
    found = two_way_error(spread_table(OriginalAndRelease(Table.of({}), schema, data, shown, Table.of({}))))
    assert (found.error, found.skill, found.usable) == (0, 1, ("age", "sex"))
    # margins: F and M one half each, ages one half, one quarter, one quarter
    assert found.single == 0.5


def test_wide_cells_know_less_than_single_columns() -> None:
    """Nine of ten are F: spreading {F|M} evenly misplaces four of ten, which separate margins do not."""
    data = microdata([flat("sex", ["F", "M"]), flat("town", ["A", "B"])], [["F", "A"]] * 9 + [["M", "B"]])
    schema = Schema((Column("sex", Role.QUASI), Column("town", Role.QUASI)))
    shown = release(data, [["{F|M}", "{A|B}"]] * 10)
    found = two_way_error(spread_table(OriginalAndRelease(Table.of({}), schema, data, shown, Table.of({}))))
    # estimated 1/4 each; true .9 and .1: off by (.65 + .25 + .25 + .15) / 2
    assert found.error == close(0.65)
    # product of margins .81, .09, .09, .01
    assert found.single == close(0.18)
    assert found.skill is not None
    assert found.skill < 0
    assert found.usable == ()
    assert found.columns[0].one_way == close(0.4)


def test_values_in_buckets_are_read_through_the_bucket_and_together_line_by_line() -> None:
    data = microdata([flat("sex", ["F", "M"])], [["F"], ["F"], ["M"], ["M"]])
    schema = Schema((Column("sex", Role.QUASI), Column("ill", Role.SENSITIVE), Column("pay", Role.SENSITIVE)))
    original = Table.of(
        {"sex": ["F", "F", "M", "M"], "ill": ["a", "b", "a", "b"], "pay": ["x", "y", "x", "y"]}
    )
    rows = Table.of({"sex": ["F", "F", "M", "M"], "group": ["1", "1", "1", "1"]})
    buckets = Table.of({"group": ["1", "1"], "ill": ["a", "b"], "pay": ["x", "y"], "count": ["2", "2"]})
    shown = release(data, [["F"], ["F"], ["M"], ["M"]])
    found = spread_table(OriginalAndRelease(original, schema, data, shown, rows, buckets))
    error = two_way_error(found)
    assert error.error == 0  # a and b are even in both sexes, and ill tells pay line by line
    worse = Table.of({"sex": ["F", "F", "M", "M"], "ill": ["a", "a", "b", "b"], "pay": ["x", "x", "y", "y"]})
    error = two_way_error(spread_table(OriginalAndRelease(worse, schema, data, shown, rows, buckets)))
    assert error.error == close(1 / 3)  # half of sex and ill, half of sex and pay, nothing of ill and pay
    assert [column.usable for column in error.columns] == [False, True, True]


def test_a_text_that_the_original_lacks_is_an_error_that_names_the_column() -> None:
    data = microdata([flat("sex", ["F", "M"])], [["F"], ["M"]])
    schema = Schema((Column("sex", Role.QUASI), Column("ill", Role.SENSITIVE)))
    original, rows = Table.of({"ill": ["a", "b"]}), Table.of({"ill": ["a", "secret"]})
    with pytest.raises(TableError, match="published column ill") as refused:
        spread_table(OriginalAndRelease(original, schema, data, release(data, [["F"], ["M"]]), rows))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("count", [2, 20, 21, 22, 48, 201, 500])
def test_pairs_are_few_and_every_column_is_in_equally_many(count: int) -> None:
    pairs = pairs_of(count)
    assert len(set(pairs)) == len(pairs) <= max(200, count)
    assert all(0 <= i < j < count for i, j in pairs)
    met = np.bincount(np.array(pairs).ravel(), minlength=count)
    assert met.min() == met.max() > 0
    if count * (count - 1) // 2 <= 200:
        assert len(pairs) == count * (count - 1) // 2


def test_bins_are_deciles_the_most_frequent_and_missing() -> None:
    assert deciles(np.full(100, 3)).tolist() == [i // 10 for i in range(100)]
    assert deciles(np.array([92, 1, 7])).tolist() == [0, 9, 9]
    assert most_frequent(np.array([1, 5, 5]), ["c", "b", "a"]).tolist() == [2, 1, 0]
    texts = Table.of({"x": ["1", "1.0", "", "2", "?", "10"]}).column("x")
    found = text_bins(Column("x", Role.SENSITIVE, Kind.NUMERIC), texts, frozenset({"", "?"}))
    assert found.of[texts.codes].tolist() == [0, 0, 3, 1, 3, 2]  # 1 and 1.0 are one number, "" and ? missing
    # a policy does not say of what kind a kept column is
    kept = text_bins(Column("x", Role.KEEP), texts, frozenset({"", "?"}))
    assert kept.of.tolist() == found.of.tolist()


# ---- raking


@st.composite
def raked_cases(draw: st.DrawFn) -> tuple[list[list[int]], list[int], list[int], list[int], list[int]]:
    """Cells over parts, rows of each, values of parts, and totals that somebody's real values give."""
    size = draw(st.integers(1, 6))
    cells = draw(st.lists(st.sets(st.integers(0, size - 1), min_size=1).map(sorted), min_size=1, max_size=6))
    rows = draw(st.lists(st.integers(1, 9), min_size=len(cells), max_size=len(cells)))
    values = draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    groups = draw(st.integers(1, size))
    of = draw(st.lists(st.integers(-1, groups - 1), min_size=size, max_size=size))
    totals = [0] * groups
    for cell, count in zip(cells, rows, strict=True):
        for _ in range(count):
            group = of[draw(st.sampled_from(cell))]
            if group >= 0:
                totals[group] += 1
    return cells, rows, values, of, totals


def as_parts(cells: list[list[int]], values: list[int]) -> Parts:
    runs = [(part, part) for cell in cells for part in cell]
    starts = np.concatenate([[0], np.cumsum([len(cell) for cell in cells])])
    first, last = np.array(runs, np.int64).T
    return Parts(np.array(values, float), starts, first, last)


@given(raked_cases(), st.integers(1, 30))
@settings(deadline=None, max_examples=200)
def test_raking_fits_as_its_definition_says(case: Any, rounds: int) -> None:
    cells, rows, values, of, totals = case
    found = rake(as_parts(cells, values), np.array(rows), np.array(of), np.array(totals), rounds)
    expected = naive.raked(cells, rows, values, of, totals, rounds)
    assert found.rounds <= rounds
    assert found.weights == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(raked_cases(), st.data())
@settings(deadline=None, max_examples=200)
def test_a_cell_lies_in_bins_by_the_values_and_weights_of_its_parts(case: Any, data: st.DataObject) -> None:
    """Runs may reach over several bins, and neighbours be of one bin or of others by turns."""
    cells, _, values, *_ = case
    each = data.draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 3])),
            min_size=len(values),
            max_size=len(values),
        )
    )
    of, weights = [b for b, _ in each], [weight for _, weight in each]
    runs = as_parts(cells, values)
    whole = Parts(runs.values, *_joined_runs(cells))
    for parts in (runs, whole):
        found = parts.shares(np.array(weights, float), np.array(of), 3)
        for cell, share in zip(cells, found.tolist(), strict=True):
            assert share == pytest.approx(naive.bin_shares(cell, values, weights, of, 3))


def test_a_cell_behind_a_very_long_stretch_keeps_its_place() -> None:
    """Ids of nineteen digits: 2^62 values before it, and the one value of the cell was lost in rounding."""
    cells, values = [[0], [2], [0, 1], [1, 2], [2, 3]], [3, 2**62, 1, 2]
    for of in ([0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]):
        found = as_parts(cells, values).shares(np.ones(4), np.array(of), 3)
        for cell, share in zip(cells, found.tolist(), strict=True):
            assert share == pytest.approx(naive.bin_shares(cell, values, [1] * 4, of, 3))


def _joined_runs(cells: list[list[int]]) -> tuple[Any, Any, Any]:
    """The same cells with neighbouring parts in one run."""
    runs = [[part for part in cell if part - 1 not in cell] for cell in cells]
    ends = [part for cell in cells for part in cell if part + 1 not in cell]
    starts = np.concatenate([[0], np.cumsum([len(begins) for begins in runs])])
    return starts, np.array([part for begins in runs for part in begins]), np.array(ends)


@given(raked_cases())
@settings(deadline=None, max_examples=200)
def test_raked_cells_reproduce_totals_that_can_be_true(case: Any) -> None:
    """Totals of real values are reached, up to values that only infinitely many rounds would exclude."""
    cells, rows, values, of, totals = case
    parts = as_parts(cells, values)
    found = rake(parts, np.array(rows), np.array(of), np.array(totals))
    assert found.off < 0.01
    group = np.where(np.array(of) < 0, len(totals), of)
    share = parts.shares(found.weights, group, len(totals) + 1)
    assert share.sum(axis=1) == pytest.approx(np.ones(len(cells)))
    estimated = np.array(rows) @ share
    wanted = [*totals, sum(rows) - sum(totals)]
    assert np.abs(estimated - wanted).sum() / 2 / sum(rows) < 0.01


def test_totals_that_contradict_the_cells_are_said_to_be_off_and_nothing_breaks() -> None:
    parts = as_parts([[0], [1]], [1, 1])
    found = rake(parts, np.array([5, 5]), np.array([0, 1]), np.array([10, 0]))
    assert found.off == pytest.approx(0.5)
    assert parts.shares(found.weights, np.arange(2), 2).tolist() == [[1, 0], [0, 1]]
    nothing = rake(parts, np.array([5, 5]), np.array([0, 1]), np.array([0, 0]), rounds=3)
    assert np.isfinite(nothing.weights).all()


def test_totals_of_stretches_of_numbers_pull_a_range_towards_them() -> None:
    age = ranged("age", [0, 10, 19], missing=True)
    data = microdata([age], [[0]] * 8 + [[19]] + [[""]])
    shown = release(data, [["{[0,19]|missing}"]] * 10)
    schema = Schema((Column("age", Role.QUASI),))
    only = Among(np.arange(4) == 0)
    totals = {"age": [OneWayTotal(Between(0, 9), 8), OneWayTotal(Between(10, 19), 1), OneWayTotal(only, 1)]}
    even = two_way_error(spread_table(OriginalAndRelease(Table.of({}), schema, data, shown, Table.of({}))))
    raked_ = two_way_error(
        spread_table(OriginalAndRelease(Table.of({}), schema, data, shown, Table.of({}), totals=totals))
    )
    assert even.columns[0].one_way > 0.3
    assert raked_.columns[0].one_way < 1e-5
    assert (raked_.error, raked_.skill) == (None, None)  # there is no pair
    column = parted(age, shown.cells[0], Bins(np.array([2, 0, 1, 1]), 3), [t.side for t in totals["age"]])
    assert column.side.tolist() == [2, 0, 1]
    assert column.parts.values.tolist() == [1, 10, 10]


def test_a_total_below_nobody_is_refused() -> None:
    with pytest.raises(TableError, match="none is below 0"):
        OneWayTotal(Between(0, 1), -1)


@pytest.mark.parametrize(
    ("truth", "cell", "message"),
    [
        ([0, 1, 1], [0, 1, 0, 1], "different numbers of rows"),
        ([0, 1, 1, 0], [0, 1, 0], "more or fewer rows"),
        ([0, 1, 1, 0], [0, 1, 0, 2], "a cell that its column has not"),
        ([0, 1, 1, -1], [0, 1, 0, 1], "below 0"),
        ([0, 1, 1, 0], [0, 1, 0, -1], "below 0"),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(
    truth: list[int], cell: list[int], message: str
) -> None:
    """Compiled loops would read what is none of theirs."""
    whole = SpreadColumn("a", np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1]), np.eye(2))
    other = SpreadColumn("b", np.array(truth), np.array(cell), np.eye(2))
    with pytest.raises(ValueError, match=message):
        SpreadTable((whole, other), np.ones(4))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(0, 9)), max_size=30), st.booleans())
def test_few_rows_are_counted_like_many(rows: list[tuple[int, int, float]], whole: bool) -> None:
    """Without a kernel to the same bits: people are added in the same order."""
    first, second = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    people = np.array([row[2] for row in rows], np.int64 if whole else np.float64)
    few = two_way._counted(first, second, people, (4, 5))
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(two_way, "WORTH_COMPILING", 0)
        many = two_way._counted(first, second, people, (4, 5))
        narrow = [
            two_way._counted_rows(first.astype(kind), second.astype(kind), (4, 5))
            for kind in (np.uint8, np.int64)
        ]
    assert few.dtype == many.dtype == people.dtype
    assert few.tolist() == many.tolist()
    each = two_way._counted(first, second, np.ones(len(rows), np.int64), (4, 5)).tolist()
    assert two_way._counted_rows(first, second, (4, 5)).tolist() == each
    assert [found.tolist() for found in narrow] == [each, each]


def test_many_bins_are_not_cut_to_a_byte() -> None:
    numbers = np.arange(300)
    column = SpreadColumn("a", numbers, numbers, np.eye(300))
    assert column.narrow_truth.tolist() == column.narrow_cell.tolist() == numbers.tolist()
