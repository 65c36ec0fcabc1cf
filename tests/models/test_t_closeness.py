"""Distances between a class and the table: the paper's examples, and the closed forms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from support.patients import PATHS, Values, close, coded, distance, microdata, tables
from twins import definitions as naive

from incrowd.errors import PolicyError
from incrowd.flow import Codes
from incrowd.hierarchy import Hierarchy
from incrowd.models import Closeness, t_closeness
from incrowd.schema import Kind

# t-closeness (Li, Li, Venkatasubramanian 2007): its salaries of 3K to 11K, with the distances it prints, and
# its diseases with their hierarchy, with its distances of leaves; those of classes are worked out by hand.
SALARIES = list(range(3, 12))
DISEASES = [
    ("flu", "respiratory infection", "respiratory", "*"),
    ("pneumonia", "respiratory infection", "respiratory", "*"),
    ("bronchitis", "respiratory infection", "respiratory", "*"),
    ("pulmonary edema", "vascular lung disease", "respiratory", "*"),
    ("pulmonary embolism", "vascular lung disease", "respiratory", "*"),
    ("gastric ulcer", "stomach disease", "digestive", "*"),
    ("stomach cancer", "stomach disease", "digestive", "*"),
    ("gastritis", "stomach disease", "digestive", "*"),
    ("colitis", "colon disease", "digestive", "*"),
    ("colon cancer", "colon disease", "digestive", "*"),
]
PATIENTS = [5, 7, 6, 7, 0, 2, 2, 1, 6]  # the nine patients, as leaves of the tree above


@pytest.mark.parametrize(
    ("rows", "expected"), [([0, 1, 2], Fraction(3, 8)), ([3, 5, 8], Fraction(1, 6))], ids=["0.375", "0.167"]
)
def test_salary_example(rows: Values, expected: Fraction) -> None:
    rule = close("0.375", "ordered").rule(microdata(SALARIES, kind=Kind.NUMERIC))
    assert rule.reached(coded(rows)) == expected


def test_equality_is_close_enough_and_no_more() -> None:
    data, rows = microdata(SALARIES), coded([0, 1, 2])
    assert close("0.375", "ordered").rule(data).allows(rows)
    assert not close("0.37499999999999999999", "ordered").rule(data).allows(rows)


def test_disease_example() -> None:
    tree = Hierarchy.from_rows(DISEASES)
    data = microdata(PATIENTS, tree=tree)
    rule = close("1", "hierarchical").rule(data)
    # In ninths: 2 move within the stomach and 2 within infections, a third of the way, and 1 all the way.
    assert rule.reached(coded([0, 2, 7])) == Fraction(2 * 1 + 2 * 1 + 1 * 3, 27)
    assert rule.reached(coded([3, 4, 5])) == Fraction(1 * 1 + 1 * 1 + 2 * 3, 27)
    paths = dict(enumerate(DISEASES))
    apart = [naive.node_distance(0, other, paths) for other in (2, 4, 6)]
    assert apart == [
        Fraction(1, 3),
        Fraction(2, 3),
        1,
    ]  # flu: bronchitis, pulmonary embolism, stomach cancer


# ---- the closed forms of the distances -------------------------------------------------------------------


def least_work(values: Values, table: Values, apart: Callable[[int, int], Fraction | float]) -> float:
    """The transport problem itself, solved as a linear program."""
    from scipy.optimize import linprog

    domain = sorted(set(table))
    m = len(domain)
    cost = [float(apart(a, b)) for a in domain for b in domain]
    leaves = np.kron(np.eye(m), np.ones(m))
    arrives = np.kron(np.ones(m), np.eye(m))
    supply = [float(p) for p in naive.shares(values, domain) + naive.shares(table, domain)]
    return float(linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=supply).fun)


@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical"])
@settings(deadline=None, max_examples=25)
@given(table=tables())
def test_distance_is_the_least_work(name: str, table: tuple[Values, list[Codes]]) -> None:
    values, (rows, _) = table
    domain = sorted(set(values))
    grounds: dict[str, Callable[[int, int], Fraction | float]] = {
        "equal": lambda a, b: float(a != b),
        "ordered": lambda a, b: abs(domain.index(a) - domain.index(b)) / max(len(domain) - 1, 1),
        "hierarchical": lambda a, b: naive.node_distance(a, b, PATHS),
    }
    model = close("1", name)
    found = model.rule(microdata(values)).reached(rows)
    assert found == distance(model, [values[i] for i in rows], values)
    assert float(found) == pytest.approx(
        least_work([values[i] for i in rows], values, grounds[name]), abs=1e-9
    )


@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical"])
def test_long_integers_say_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = close("0.1", name).rule(microdata([0, 1, 1, 3, 4, 4, 4, 6]))
    short = [rule.reached(coded(rows)) for rows in ([0], [1, 4, 7], [2, 3, 5, 6])]
    monkeypatch.setattr(t_closeness, "SAFE", 0)
    assert [rule.reached(coded(rows)) for rows in ([0], [1, 4, 7], [2, 3, 5, 6])] == short


def test_many_ranks_do_not_overflow() -> None:
    """All rows against ranks that fill up evenly: a work of about 2^64, in a table made of counts alone."""
    size, whole = 2**21, 2**22
    below = np.linspace(1, whole, size).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(below)])
    work = t_closeness._RankDistance(below, sums).work(np.array([0]), np.array([whole]))
    assert work == sum(whole * whole - whole * int(count) for count in below)


def test_long_edges_do_not_overflow() -> None:
    """Edges of 2^61 stand for tables of as many rows, which no machine holds."""
    values, length = np.arange(2, dtype=np.int32)[:, None], np.full(2, 2**61, dtype=np.int64)
    tree = t_closeness._TreeDistance.of(np.array([1, 3]), values, length, unit=2**62)
    assert Fraction(tree.work(np.array([0]), np.array([4])), 2**62 * 4 * 4) == Fraction(3, 4)


def test_absent_values_are_no_ranks() -> None:
    near = close("0.5", "ordered").rule(microdata([0, 1, 2])).reached(coded([0]))
    far = close("0.5", "ordered").rule(microdata([0, 500, 900])).reached(coded([0]))
    assert near == far == Fraction(1, 2)


@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical"])
def test_one_value_is_at_no_distance(name: str) -> None:
    assert close("0.1", name).rule(microdata([2, 2, 2])).reached(coded([1])) == 0


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (Closeness("0.2", "ordered", "illness"), Kind.CATEGORICAL, "illness is categorical and has no order"),
        (Closeness("0.2", "ordered", "branch"), Kind.ORDERED, "branch has a hierarchy"),
        (Closeness("0.2", "hierarchical", "illness"), Kind.ORDERED, "illness has no hierarchy"),
    ],
    ids=["no-order", "order-of-a-tree", "no-tree"],
)
def test_distances_that_the_column_lacks(model: Closeness, kind: Kind, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        model.infeasible(microdata([0, 1], kind=kind))
