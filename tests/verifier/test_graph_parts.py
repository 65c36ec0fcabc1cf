"""The consistency graph part by part: the tree of records, the search, witnesses, flows and odds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.cell_regions import CellRegion, CellRegions, ListedSets
from incrowd.verifier.claims import consistency_graph, kd_tree, nonhomogeneous
from incrowd.verifier.claims.consistency_graph import ConsistencyGraph, DegreeCounts
from incrowd.verifier.failure import CheckFailed

NONE = np.empty(0, np.int64)
NO_SETS = ListedSets(NONE, np.zeros(1, np.int64), NONE, frozenset())


# The tree of records


def naive_cut(ranks: list[list[int]], weights: list[float]) -> dict[str, Any]:
    """Halve all parts, level by level, each along the column in which it is widest; the first of several."""
    n = len(ranks[0])
    depth = next(depth for depth in range(64) if n <= kd_tree.LEAF * 2**depth)
    order, start, stop = list(range(n)), list(range(n)), list(range(1, n + 1))
    low: list[list[int]] = [[] for _ in ranks]
    high: list[list[int]] = [[] for _ in ranks]
    above: list[int] = []
    for level in range(depth + 1):
        ends = [n * i // 2**level for i in range(2**level + 1)]
        after = []
        for i, (first, last) in enumerate(itertools.pairwise(ends)):
            people = order[first:last]
            start.append(first)
            stop.append(last)
            above.append(n if not level else n + 2 ** (level - 1) - 1 + i // 2)
            for j, column in enumerate(ranks):
                low[j].append(min(column[p] for p in people))
                high[j].append(max(column[p] for p in people))
            width = [(high[j][-1] - low[j][-1]) * weights[j] for j in range(len(ranks))]
            widest = ranks[width.index(max(width))]
            after += sorted(people, key=widest.__getitem__) if level < depth else people
        order = after
    leaf = {p: n + 2**depth - 1 + i for i in range(2**depth) for p in range(ends[i], ends[i + 1])}
    above = [leaf[p] for p in range(n)] + above
    return {
        **{"order": order, "start": start, "stop": stop, "above": above},
        **{"low": low, "high": high, "depth": depth},
    }


@pytest.mark.parametrize("n", [1, 15, 16, 17, 32, 33, 100])
def test_records_are_halved_where_they_lie_widest_apart(n: int, rng: np.random.Generator) -> None:
    ranks = [rng.integers(0, 9, n), rng.integers(5, 50, n), rng.integers(30, 33, n)]
    weights = [1.0, 0.2, 0.9]
    found = kd_tree.cut(ranks, weights)
    wanted = naive_cut([column.tolist() for column in ranks], weights)
    for name, value in wanted.items():
        own = getattr(found, name)
        assert (own if name == "depth" else np.array(own).tolist()) == value
    assert found.whole == n
    assert [found.first_of(level) for level in range(3)] == [n, n + 1, n + 3]


# What classes hold


def search(rng: np.random.Generator, records: int) -> tuple[kd_tree.RegionSearch, np.ndarray[Any, Any]]:
    """Random records and classes of ranges, missing or not, in two columns; and who holds whom."""
    size, classes = 9, 12
    ranks = [rng.integers(0, size, records) for _ in range(2)]
    cells, regions, holds = [], [], np.ones((classes, records), np.bool_)
    for column in ranks:
        ends = np.sort(rng.integers(1, size, (classes, 2)), axis=1).tolist()
        found = [CellRegion(low, high, bool(rng.integers(2))) for low, high in ends]
        found[0] = CellRegion(1, 0, missing=True)
        found[1] = CellRegion(0, size - 1, missing=True)
        cells.append(rng.permutation(classes))
        regions.append(CellRegions.of(found, NO_SETS, size))
        for c, at in enumerate(cells[-1].tolist()):
            inside = (found[at].low <= column) & (column <= found[at].high)
            holds[c] &= inside | (found[at].missing & (column == 0))
    return kd_tree.RegionSearch(ranks, cells, regions), holds


@pytest.mark.parametrize("records", [10, 40, 200])
@pytest.mark.parametrize("pairs", [1, 7, 400_000])
def test_all_that_is_held_is_found_once(
    records: int, pairs: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kd_tree, "PAIRS_AT_ONCE", pairs)
    looked, holds = search(rng, records)
    runs = looked.runs()
    found = np.zeros_like(holds, np.int64)
    for row, first, last in zip(runs.row, runs.start, runs.stop, strict=True):
        found[row, runs.parts.order[first:last]] += 1
    assert found.tolist() == holds.astype(int).tolist()


def test_as_many_runs_as_may_be_are_looked_at(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, _ = search(rng, 40)
    monkeypatch.setattr(kd_tree, "MOST_RUNS", looked.runs().row.size)
    assert looked.runs().row.size == kd_tree.MOST_RUNS
    monkeypatch.setattr(kd_tree, "MOST_RUNS", kd_tree.MOST_RUNS - 1)
    with pytest.raises(CheckFailed, match="too many records to look at them all"):
        looked.runs()


def test_a_column_with_narrow_cells_is_cut_first() -> None:
    """Where cells say nothing a cut keeps no class out; only missing is as narrow as one value."""
    ranks = [np.arange(40) % 8 + 1, np.arange(40) // 5 + 1]
    everything, one = [CellRegion(0, 8, missing=True)], [CellRegion(1, 0, missing=True)]
    orders = []
    for first, second in ((everything, one), (one, everything)):
        regions = [CellRegions.of(found, NO_SETS, 9) for found in (first, second)]
        looked = kd_tree.RegionSearch(ranks, [np.array([0])] * 2, regions)
        orders.append(looked.parts.order.tolist())
    assert orders[0] == kd_tree.cut(ranks, [0.1, 1.0]).order.tolist()
    assert orders[1] == kd_tree.cut(ranks, [1.0, 0.1]).order.tolist()
    assert orders[0] != orders[1]


# Witnesses and edges


def graph(rows: int, records: int, neighbourhoods: Any = None) -> ConsistencyGraph:
    """Every row is consistent with every record."""
    tables: Any = SimpleNamespace(
        row_class=np.arange(rows),
        record_private=np.zeros(records, np.int64),
        consistent=lambda _rows, named: np.ones(named.shape, np.bool_),
    )
    return ConsistencyGraph(tables, np.arange(rows), neighbourhoods)


def test_those_without_a_row_are_left_out() -> None:
    assert graph(3, 5).left_out == 2


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ([[0, 1], [1, 2], [2, 0]], True),
        ([[0, 1], [1, 2], [2, 2]], False),
        ([[0, -1], [1, 2], [2, 0]], False),
        ([[0, 1], [1, 2], [2, 3]], False),
        ([[0, 1], [0, 2], [0, 1]], False),
        ([[0, 1], [1, 2]], False),
    ],
    ids=["right", "twice", "negative", "beyond", "too often", "too few"],
)
def test_a_witness_is_looked_at(named: list[list[int]], shown: bool) -> None:
    assert graph(3, 3, np.array(named)).witnessed(2) == shown


def test_as_many_edges_as_may_be_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = graph(2, 3)
    parts = SimpleNamespace(order=np.array([2, 0, 1]))
    found.__dict__["runs"] = SimpleNamespace(
        parts=parts, row=np.array([0, 1]), start=np.array([0, 1]), stop=np.array([3, 2])
    )
    monkeypatch.setattr(consistency_graph, "MOST_EDGES", 4)
    assert [side.tolist() for side in found.edges()] == [[2, 0, 1, 0], [0, 0, 0, 1]]
    monkeypatch.setattr(consistency_graph, "MOST_EDGES", 3)
    with pytest.raises(CheckFailed, match="too many records to search without a witness"):
        found.edges()


# Claims about degrees, and flows


def counted(records: Sequence[int], rows: Sequence[int]) -> DegreeCounts:
    weights = (np.ones(len(side), np.int64) for side in (records, rows))
    return DegreeCounts(np.array(records), np.array(rows), *weights)


def subject(records: Sequence[int], rows: Sequence[int], **more: Any) -> Any:
    schema = Schema((Column("q", Role.QUASI),))
    found = SimpleNamespace(degrees=counted(records, rows), matches=counted(records, rows), **more)
    return SimpleNamespace(graph=found, classes=SimpleNamespace(schema=schema))


def test_what_is_reached_is_the_fewest_of_either_side() -> None:
    claim = Claim("kk-anonymity", {"k": 2})
    for records, rows in (([2, 4], [5, 3]), ([5, 3], [4, 2])):
        assert nonhomogeneous.k_k(claim, subject(records, rows)) == 2
        assert nonhomogeneous.one_k(claim, subject(records, rows)) == min(records)
        assert nonhomogeneous.k_one(claim, subject(records, rows)) == min(rows)
        assert nonhomogeneous.global_one_k(claim, subject(records, rows)) == min(records)
        assert nonhomogeneous.global_k_one(claim, subject(records, rows)) == min(rows)


def test_who_may_have_been_left_out_may_serve_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Claim("k-factor", {"k": 2})
    monkeypatch.setattr(nonhomogeneous, "reaches", lambda *_: True)
    few: dict[str, Any] = {"witnessed": lambda _: False}
    with pytest.raises(CheckFailed, match="1 records fit fewer than 2 rows"):
        nonhomogeneous.k_factor(claim, subject([1, 2], [2, 2], left_out=0, **few))
    assert nonhomogeneous.k_factor(claim, subject([1, 2], [2, 2], left_out=1, **few)) == 2
    with pytest.raises(CheckFailed, match="1 rows fit fewer than 2 records"):
        nonhomogeneous.k_factor(claim, subject([2, 2], [1, 2], left_out=1, **few))


def flows(record: Sequence[int], row: Sequence[int], records: int, rows: int) -> Any:
    """Single records and rows, joined by these edges."""
    return SimpleNamespace(
        rows=rows,
        left_out=records - rows,
        record_weight=np.ones(records, np.int64),
        row_weight=np.ones(rows, np.int64),
        edges=lambda: (np.array(record), np.array(row)),
    )


def test_flows_pass_as_often_as_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three records, two rows: one record fits both, the others one each."""
    found = flows([0, 0, 1, 2], [0, 1, 0, 1], 3, 2)
    assert nonhomogeneous.reaches(found, Fraction(1, 2))
    assert not nonhomogeneous.reaches(found, Fraction(1, 3))
    lonely = flows([0, 1, 1], [0, 0, 1], 2, 2)
    assert nonhomogeneous.reaches(lonely, Fraction(1))
    assert not nonhomogeneous.reaches(lonely, Fraction(1, 2))
    monkeypatch.setattr(nonhomogeneous, "MOST_FLOW", 6)
    assert nonhomogeneous.reaches(found, Fraction(1, 2))
    monkeypatch.setattr(nonhomogeneous, "MOST_FLOW", 5)
    with pytest.raises(CheckFailed, match="too large to search"):
        nonhomogeneous.reaches(found, Fraction(1, 2))


# What a manifest states of odds


def asked(
    stated: Any,
    k: Any = None,
    witnessed: Callable[[int], bool] = lambda _: True,
    degrees: DegreeCounts | None = None,
    left_out: int = 0,
) -> None:
    claims = [Claim("k-factor", {"k": k})] if k is not None else [Claim("kk-anonymity", {"k": 2})]
    degrees = degrees or counted([2, 3], [2, 2])
    found: Any = SimpleNamespace(witnessed=witnessed, degrees=degrees, left_out=left_out)
    nonhomogeneous.check_match_probability(stated, claims, found)


@pytest.mark.parametrize(
    ("stated", "k", "words"),
    [
        ({"drawn": "3/2"}, 1, "not one in a whole number of rows"),
        ({"drawn": "2/3"}, 1, "not one in a whole number of rows"),
        ({"drawn": "1/2"}, 3, "above 1/k"),
        ({"drawn": "1"}, 2, "above 1/k"),
        ({"drawn": "0.5"}, 2, "not a fraction"),
        ({"drawn": 1}, 1, "not a fraction"),
        ({"drawn": "1/2", "least": "1/2"}, 2, "exactly these match probabilities: drawn"),
        ({"drawn": "1/2", "least": "1"}, None, "less than the stated least one"),
        ({"drawn": "1/3", "least": "1/3"}, None, "lower than is possible"),
    ],
)
def test_odds_that_cannot_be(stated: dict[str, Any], k: int | None, words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        asked(stated, k)


def test_least_odds_are_those_of_the_fewest_neighbours() -> None:
    """Of rows; of records only where none was left out."""
    third = {"drawn": "1/3", "least": "1/3"}
    for records, rows in (([5, 4], [2, 3]), ([2, 4], [3, 5])):
        with pytest.raises(CheckFailed, match="lower than is possible"):
            asked(third, degrees=counted(records, rows))
    asked(third, degrees=counted([2, 4], [3, 5]), left_out=1)
    asked(third, degrees=counted([3, 4], [5, 3]))


def test_least_odds_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonhomogeneous, "reaches", lambda _, level: level > Fraction(1, 2))
    with pytest.raises(CheckFailed, match="no randomized assignment has the stated least"):
        asked({"drawn": "1", "least": "1/2"})
    asked({"drawn": "1", "least": "2/3"})
    with pytest.raises(CheckFailed, match="no randomized assignment has the stated match"):
        asked({"drawn": "1/2"}, 2, lambda _: False)


def test_odds_that_can_be() -> None:
    asked({"drawn": "1/3"}, 3)
    asked({"drawn": "1/2", "least": "1/2"})
    for odd in (0, "2", -1):  # the check of the claim itself refuses these
        asked({"drawn": "1/2"}, odd)

    def never(_: int) -> bool:
        raise AssertionError("nothing is drawn, so there is nothing to look for")

    asked({"drawn": "1"}, 1, never)
