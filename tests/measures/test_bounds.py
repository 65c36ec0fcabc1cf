"""Lower bounds on information loss: what is computed is never above what is possible."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bounded_tables import KINDS, LAMINAR, BoundedTable, bounded_table
from support.measure_tables import flat, microdata, ranged, treed
from twins import bounds as naive

from incrowd.errors import InputError
from incrowd.flow import Microdata
from incrowd.measures import bounds
from incrowd.measures.bounds import CLASSES, LIMITS, QUICK, ROWS, TIGHT, Effort, LossBound, loss_bound
from incrowd.measures.relaxations import fitted, relaxations

TREE = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")]
SEEDS = st.integers(0, 2**32 - 1)
SMALL = Effort(in_levels=10**6, in_slabs=10**7, brackets=3, rounds=6)


def search(table: BoundedTable, k: int, effort: Effort = SMALL) -> bounds._Search:
    found = bounds._Search.of(table.data, k, effort)
    assert found is not None
    return found


def by_record(table: BoundedTable, values: np.ndarray) -> list[float]:
    """Values of distinct records, for every record."""
    distinct = sorted(set(table.records))
    assert len(distinct) == values.size
    return [float(values[distinct.index(record)]) for record in table.records]


def whole(table: BoundedTable) -> Fraction:
    return Fraction(sum(len(attribute) > 1 for attribute in table.attributes), len(table.attributes))


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4))
def test_cheapest_cells_of_trees_are_those_of_the_definition(seed: int, k: int) -> None:
    table = bounded_table(random.Random(seed), 9, LAMINAR)
    expected = [float(min(cost, whole(table))) for cost in naive.cheapest(table.records, table.columns, k)]
    assert by_record(table, search(table, k).alone()) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4))
def test_ratios_of_trees_are_those_of_the_definition(seed: int, k: int) -> None:
    rng = random.Random(seed)
    table = bounded_table(rng, 9, LAMINAR)
    of = {record: Fraction(rng.randint(1, 20), 20) for record in set(table.records)}
    y = np.array([float(of[record]) for record in sorted(of)])
    expected = naive.ratios(table.records, table.columns, k, [of[record] for record in table.records])
    found = by_record(table, np.minimum(search(table, k).ratios(y, 2 * y), 2))
    capped = [2.0 if one is None else min(float(one), 2.0) for one in expected]
    assert found == pytest.approx(capped, rel=1e-12)


@settings(max_examples=80)
@given(SEEDS, st.integers(1, 4))
def test_no_ratio_is_above_that_of_the_definition(seed: int, k: int) -> None:
    """Whatever the columns: relaxed cells make ratios smaller, and so the bound."""
    rng = random.Random(seed)
    table = bounded_table(rng, 8, KINDS, most=2)
    of = {record: Fraction(rng.randint(1, 20), 20) for record in set(table.records)}
    y = np.array([float(of[record]) for record in sorted(of)])
    effort = rng.choice([SMALL, Effort(10**4, 10**5, 1, 1), Effort(2000, 10**4, 0, 1)])
    found = by_record(table, np.minimum(search(table, k, effort).ratios(y, 2 * y), 2))
    expected = naive.ratios(table.records, table.columns, k, [of[record] for record in table.records])
    assert all(
        one <= min(2, other or 2) + 1e-9 for one, other in zip(found, expected, strict=True) if other != 0
    )
    assert all(one == 0 for one, other in zip(found, expected, strict=True) if other == 0)


@settings(max_examples=60)
@given(SEEDS, st.integers(2, 4), st.sampled_from([QUICK, TIGHT]))
def test_no_release_is_below_its_bound(seed: int, k: int, effort: str) -> None:
    rng = random.Random(seed)
    table = bounded_table(rng, rng.randint(k, 8), KINDS, most=2)
    classes = naive.best_classes(table.costs, k, whole(table))
    least, rows = (loss_bound(table.data, k, effort, kind).least for kind in (CLASSES, ROWS))
    assert least is not None
    assert rows is not None
    assert rows <= least <= classes
    assert rows <= naive.best_rows(table.costs, k)


@settings(max_examples=30)
@given(SEEDS, st.integers(2, 3))
def test_no_regular_release_is_below_the_bound_of_classes(seed: int, k: int) -> None:
    rng = random.Random(seed)
    table = bounded_table(rng, rng.randint(k, 5), KINDS, most=2)
    least = loss_bound(table.data, k, TIGHT).least
    assert least is not None
    assert least <= naive.best_regular(table.costs, k)


def test_raising_values_gives_more_than_the_cheapest_cells() -> None:
    """One record far away: whoever takes it in pays for it, k - 1 of those who are near."""
    age = ranged("age", [0, 1, 2, 100])
    tree = treed("t", [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*"), ("d", "d", "*")])
    data = microdata([tree], [["a"], ["a"], ["b"], ["c"]])
    rows, classes = (loss_bound(data, 2, TIGHT, kind).least for kind in (ROWS, CLASSES))
    assert rows == pytest.approx((0 + 0 + 1 / 3 + 1) / 4, rel=1e-6)
    assert classes is not None
    assert rows is not None
    assert classes > 1.1 * rows
    numbers = microdata([age], [[0], [1], [2], [100]])
    assert loss_bound(numbers, 2, TIGHT, ROWS).least == pytest.approx((0.01 * 3 + 0.98) / 4, rel=1e-6)


def test_whoever_is_left_out_costs_no_more_than_a_star_in_columns_that_can_be_lost() -> None:
    """A column with one value costs nothing, also where the record is suppressed."""
    data = microdata([flat("q", "ab"), flat("one", "x")], [["a", "x"], ["b", "x"]])
    assert loss_bound(data, 2, TIGHT).least == pytest.approx(0.5, rel=1e-6)


def test_missing_beside_a_node_is_cheaper_than_the_root() -> None:
    tree = treed("t", [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*"), ("d", "d", "*")], beside=True)
    data = microdata([tree], [["a"], [""]])
    assert loss_bound(data, 2, TIGHT).least == pytest.approx(0.25, rel=1e-6)
    without = microdata([tree], [["a"], ["c"]])
    assert loss_bound(without, 2, TIGHT).least == pytest.approx(0.75, rel=1e-6)


@given(SEEDS, st.integers(1, 40))
def test_relaxations_that_must_fit_do_and_account_for_every_cell(seed: int, most: int) -> None:
    """Some kind of the column has each cell in one part, at no more than it costs."""
    table = bounded_table(random.Random(seed), 4)
    columns = fitted(table.attributes, most, brackets=2)
    assert np.prod([len(kinds) for kinds in columns]) <= most
    for kinds, cells, attribute in zip(columns, table.columns, table.attributes, strict=True):
        for codes, cost in cells:
            at = sorted(codes)
            assert any(
                len({kind.part[code] for code in at}) == 1
                and max(kind.price[code] for code in at) <= float(cost) + 1e-12
                and (not kind.needs or attribute.missing in codes)
                for kind in kinds
            )


def test_brackets_tell_widths_of_ranges_apart() -> None:
    kinds = relaxations(ranged("age", range(0, 101, 5)), brackets=2)
    assert len(kinds) == 1 + 2 * 2 + 1
    assert [float(kind.price[0]) for kind in kinds] == [0, 0, 0, 0.0625, 0.0625, 0.125]


def test_a_table_without_k_records_or_with_too_many_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    data = microdata([flat("q", "ab")], [["a"], ["b"]])
    assert "fewer than k" in loss_bound(data, 3).sentence
    monkeypatch.setattr(bounds, "MOST_POINTS", 1)
    assert loss_bound(data, 2).why_not == "the table has too many different records"
    assert loss_bound(data, 2, "none").least is None
    with pytest.raises(InputError, match="none, quick or tight"):
        loss_bound(data, 2, "best")


def test_what_is_shown_is_rounded_down() -> None:
    assert LossBound(5, CLASSES, QUICK, least=0.05999999).shown == "0.0599"


@pytest.mark.parametrize("effort", [QUICK, TIGHT])
def test_effort_is_bounded_whatever_the_table(effort: str) -> None:
    """Thirty columns and many records: combinations of kinds times records stay within the limit."""
    rng = np.random.default_rng(3)
    attributes = tuple(flat(f"q{j}", "abcdefgh") for j in range(30))
    data = Microdata(rng.integers(0, 8, (300, 30), dtype=np.int32), attributes)
    found = bounds._Search.of(data, 5, LIMITS[effort])
    assert found is not None
    assert len(found.slabs) * (300 + bounds.PER_SLAB) <= LIMITS[effort].in_slabs
    trees = tuple(treed(f"q{j}", TREE) for j in range(30))
    levels = bounds._Search.of(Microdata(data.codes // 2, trees), 5, LIMITS[effort])
    assert levels is not None
    assert levels.levels is not None
    assert np.prod(levels.levels.options) * (300 + bounds.PER_CELL) <= LIMITS[effort].in_levels
