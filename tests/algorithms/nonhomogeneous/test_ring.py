"""Rings over a row: against slow twins, the vectors of the paper, and what their rows give away."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import assign as naive_rings
from twins import diverse as naive_diverse
from twins import factor as naive_factor

from incrowd import assign, tables
from incrowd.algorithms.nonhomogeneous.ring import Ring, without_lists
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.lexicographic import CutRow, Lexicographic
from incrowd.assign import by_neighbourhoods, one_of_disjoint_matchings
from incrowd.commands.publish import publish
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Microdata, Neighbourhoods, Table
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.policy import Policy
from incrowd.schema import Shape

GOLDEN = vectors("nonhomogeneous_diversity", "nonhomogeneous_graphs")
ORDERS = st.sampled_from(["lexicographic", "hilbert"])


def listed(parts: CutRow) -> list[list[int]]:
    return [part.tolist() for part in np.split(parts.order, parts.starts[1:-1])]


def crowds_of(neighbourhoods: Neighbourhoods) -> dict[int, list[int]]:
    return {
        i: neighbourhoods.members[a:b].tolist()
        for i, (a, b) in enumerate(itertools.pairwise(neighbourhoods.starts))
    }


def row_of(order: str, k: int) -> Any:
    return Hilbert(k) if order == "hilbert" else Lexicographic(k)


# The ring


@settings(max_examples=300)
@given(code_tables(least=ks(1, 7)), ks(1, 7), ORDERS)
def test_agrees_with_naive(table: CodeTable, k: int, order: str) -> None:
    neighbourhoods = Ring(k, order).group(table.data, (), silent)
    parts = listed(row_of(order, k).parts(table.data, (), silent))
    assert crowds_of(neighbourhoods) == naive_diverse.ring(parts, k)
    assert neighbourhoods.regular
    assert neighbourhoods.parts is not None
    assert neighbourhoods.alike is not None
    for number, part in enumerate(parts):
        assert set(neighbourhoods.parts[part].tolist()) == {number}
        assert set(neighbourhoods.alike[part].tolist()) == {len({table.points[i] for i in part}) == 1}


def test_too_few_records_are_refused() -> None:
    table = CodeTable([(0,), (1,)], [("set", 2)])
    with pytest.raises(Infeasible, match="n=2 < k=3"):
        Ring(3).group(table.data, (), silent)


@pytest.mark.quick
def test_the_ring_of_figure_five() -> None:
    given_, expected = GOLDEN["figure5_ring"]["input"], GOLDEN["figure5_ring"]["expected"]
    n, k = given_["n"], given_["k"]
    table = CodeTable([(i,) for i in range(n)], [("range", list(range(n)))])
    neighbourhoods = Ring(k).group(table.data, (), silent)
    assert [[i + 1 for i in crowd] for crowd in crowds_of(neighbourhoods).values()] == expected["PS_1based"]
    assert len(naive_rings.assignments(naive_rings.ring(n, k))) == expected["n_assignments"]


def losses(table: CodeTable, partition: Any) -> list[int]:
    """How many values beyond one each row names, as sets."""
    regions = generalize(table.data, partition)
    sizes = [np.diff(cells.sets.starts) for cells in regions.cells if cells.sets is not None]
    assert len(sizes) == len(regions.cells)
    return [sum(int(size[regions.cell[r, j]]) - 1 for j, size in enumerate(sizes)) for r in regions.of]


@settings(max_examples=200)
@given(code_tables(kinds=("set",), least=ks(1, 6)), ks(1, 6), ORDERS)
def test_no_row_says_less_than_that_of_the_whole_part(table: CodeTable, k: int, order: str) -> None:
    """Lemma 2 of the paper; the vector lemma2_random counts no violation either."""
    whole = losses(table, row_of(order, k).group(table.data, (), silent))
    ring = losses(table, Ring(k, order).group(table.data, (), silent))
    worse = sum(mine > theirs for mine, theirs in zip(ring, whole, strict=True))
    assert worse == GOLDEN["lemma2_random"]["expected"]["violations"]


@pytest.mark.quick
def test_the_ring_is_no_local_optimum_of_two_columns() -> None:
    vector = GOLDEN["ring_local_optimality_sets"]
    points = [tuple(row) for row in vector["input"]["tuples_lexicographic"]]
    table = CodeTable(points, [("set", 2), ("set", 2)])
    parts = CutRow(np.arange(4, dtype=np.int32), np.array([0, 4]))
    neighbourhoods = Ring(vector["input"]["k"])._rings(table.data, parts, silent)
    regions = generalize(table.data, neighbourhoods)
    shown = [
        [cells.sets.of(regions.cell[r, j]).tolist() for j, cells in enumerate(regions.cells) if cells.sets]
        for r in regions.of
    ]
    assert shown == vector["expected"]["ring"]
    better = vector["expected"]["strictly_better"]
    assert sum(map(len, itertools.chain(*better))) < sum(map(len, itertools.chain(*shown)))


def fits(rows: list[set[int]], n: int) -> list[list[int]]:
    """The rows that each of the records 0..n-1 is in."""
    return [[row for row, values in enumerate(rows) if record in values] for record in range(n)]


@pytest.mark.quick
def test_the_ring_is_a_local_optimum_of_one_column_of_sets() -> None:
    """Whatever value is taken out of a row, no draw is even any more."""
    vector = GOLDEN["ring_local_optimality_1attr"]
    shrinks = []
    for n in range(2, 6):
        for k in range(2, n + 1):
            table = CodeTable([(i,) for i in range(n)], [("set", n)])
            parts = CutRow(np.arange(n, dtype=np.int32), np.array([0, n]))
            rows = [set(crowd) for crowd in crowds_of(Ring(k)._rings(table.data, parts, silent)).values()]
            assert naive_factor.has_factor(fits(rows, n), k)
            for short, value in [(row, value) for row, values in enumerate(rows) for value in values]:
                less = [values - {value} if row == short else values for row, values in enumerate(rows)]
                shrinks.append(naive_factor.has_factor(fits(less, n), k))
    assert (not any(shrinks)) == vector["expected"]["locally_optimal"]


@pytest.mark.quick
def test_the_ring_is_no_local_optimum_of_ranges_in_a_bad_order() -> None:
    vector = GOLDEN["ring_local_optimality_range"]
    order, k = vector["input"]["order"], vector["input"]["k"]
    table = CodeTable([(value - 1,) for value in order], [("range", [1, 2, 3, 4])])
    parts = CutRow(np.arange(4, dtype=np.int32), np.array([0, 4]))
    regions = generalize(table.data, Ring(k)._rings(table.data, parts, silent))
    (cells,) = regions.cells
    shown = [[int(cells.low[c]) + 1, int(cells.high[c]) + 1] for c in regions.cell[regions.of, 0]]
    assert shown == vector["expected"]["ring"]
    better = vector["expected"]["better"]
    assert sum(high - low for low, high in better) < sum(high - low for low, high in shown)
    holding = [set(range(low, high + 1)) for low, high in better]
    assert naive_factor.has_factor([[row for row, held in enumerate(holding) if v in held] for v in order], k)


# Records that are all alike


def test_who_is_alike_stays_and_others_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    points: list[tuple[int, ...]] = [*([(0, 0)] * 7), *((1, value) for value in range(5))]
    table = CodeTable(points, [("set", 2), ("set", 5)])
    neighbourhoods = Ring(3).group(table.data, (), silent)
    drawn = []

    def counted(edges: Any, source: Any) -> Any:
        drawn.append(len(edges))
        return one_of_disjoint_matchings(edges, source)

    monkeypatch.setattr(assign, "one_of_disjoint_matchings", counted)
    moved = 0
    for _ in range(40):
        found = by_neighbourhoods(neighbourhoods)
        row = np.empty(12, np.int64)
        row[found.private] = found.region
        assert row[:7].tolist() == list(range(7))
        assert all(int(i) in crowds_of(neighbourhoods)[int(row[i])] for i in range(12))
        moved += int((row[7:] != np.arange(7, 12)).any())
    assert set(drawn) == {5}
    assert moved


# What rows of a ring give away


def kinds_of(data: Microdata) -> list[str]:
    return [{Shape.RANGE: "range", Shape.TREE: "tree", Shape.SET: "set"}[a.shape] for a in data.attributes]


def cells_of(data: Microdata, neighbourhoods: Neighbourhoods) -> list[list[frozenset[int]]]:
    """The codes that each row was made of, column by column."""
    whole = neighbourhoods.whole if neighbourhoods.whole is not None else np.zeros(data.codes.shape, np.bool_)
    assert neighbourhoods.parts is not None
    shown = []
    for i, members in crowds_of(neighbourhoods).items():
        part = np.flatnonzero(neighbourhoods.parts == neighbourhoods.parts[i])
        row = [part if whole[i, j] else members for j in range(data.codes.shape[1])]
        shown.append([frozenset(data.codes[rows, j].tolist()) for j, rows in enumerate(row)])
    return shown


@settings(max_examples=300)
@given(code_tables(least=ks(2, 5)), ks(2, 5))
def test_with_hide_rows_no_two_rows_of_a_part_name_a_record(table: CodeTable, k: int) -> None:
    neighbourhoods = Ring(k, hide_rows=True).group(table.data, (), silent)
    assert neighbourhoods.regular
    assert neighbourhoods.parts is not None
    shown, kinds = cells_of(table.data, neighbourhoods), kinds_of(table.data)
    for part in np.unique(neighbourhoods.parts).tolist():
        members = np.flatnonzero(neighbourhoods.parts == part)
        codes = table.data.codes[members]
        varying = [j for j in range(codes.shape[1]) if len(set(codes[:, j].tolist())) > 1]
        if len(varying) < 2:  # all alike, or nothing is left to merge it with
            continue
        assert not naive_diverse.given_away([shown[i] for i in members], kinds)


@settings(max_examples=200)
@given(code_tables(least=ks(2, 5)), ks(2, 5))
def test_only_one_part_may_be_left_that_lists_its_records(table: CodeTable, k: int) -> None:
    parts = without_lists(table.data, Lexicographic(k).parts(table.data, (), silent))
    assert sorted(parts.order.tolist()) == list(range(len(table.points)))
    varied = [part for part in listed(parts) if len({table.points[i] for i in part}) > 1]
    lists = [
        part for part in varied if naive_diverse.lists([table.points[i] for i in part], kinds_of(table.data))
    ]
    assert not lists or len(varied) == 1


def test_hide_rows_goes_with_the_lexicographic_order_alone() -> None:
    table, policy = Table.of({"age": list("1234")}), Policy(quasi_identifiers=["age"], privacy={"k": 2})
    options = {"order": "hilbert", "hide_rows": True}
    with pytest.raises(PolicyError, match="hide_rows goes with"):
        publish(table, policy, method="ring", options=options)


@pytest.mark.parametrize("numbers", ["set", "range"])
def test_of_real_people_fewer_than_one_in_a_hundred_is_given_away(real_data: Path, numbers: str) -> None:
    columns = ["age", "workclass", "education", "marital-status"]
    quasi: dict[str, dict[str, str]] = {name: {"type": "categorical"} for name in columns}
    quasi["age"] = {"type": "numeric", "publish": numbers}
    table = tables.read(real_data / "adult" / "adult.csv")
    table = table.take(np.arange(0, len(table), 3))
    drop = [name for name in table.names if name not in quasi]
    policy = Policy(quasi_identifiers=quasi, drop=drop, privacy={"k": 10}, method="ring")
    open_ = publish(table, policy).told
    hidden = publish(table, policy, options={"hide_rows": True}).told
    assert open_ is not None
    assert hidden is not None
    assert open_["share"] > 0.3
    assert hidden["share"] < 0.01
    assert 1 / 9 <= hidden["after_one_known"]["share"] < 1.3 / 9


def test_what_cannot_be_hidden_is_refused() -> None:
    """With one column, sets name everybody's value, however parts are merged."""
    ages = [str(20 + i % 30) for i in range(60)]
    policy = Policy(quasi_identifiers={"age": {"type": "numeric", "publish": "set"}}, privacy={"k": 3})
    with pytest.raises(Infeasible, match="hide_rows: the rows still reveal 60 of 60 records"):
        publish(Table.of({"age": ages}), policy, method="ring", options={"hide_rows": True})


def test_without_the_setting_rows_name_records() -> None:
    points: list[tuple[int, ...]] = [(a, b) for a in range(5) for b in range(5)]
    table = CodeTable(points, [("set", 5), ("set", 5)])
    parts = CutRow(np.random.default_rng(3).permutation(25).astype(np.int32), np.array([0, 25]))
    open_, hidden = (Ring(4, hide_rows=hide)._rings(table.data, parts, silent) for hide in (False, True))
    named = naive_diverse.given_away(cells_of(table.data, open_), ["set", "set"])
    assert len(named & set(points)) > 5
    assert not naive_diverse.given_away(cells_of(table.data, hidden), ["set", "set"])
