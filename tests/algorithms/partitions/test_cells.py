"""Cheapest cells first: what is kept whatever happens, and that more time never gives a worse result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.tables_of_codes import AXES, SMALL, UP, CodeTable, ks, members_of, mixed_tables, paths_of
from twins import local_search as naive

import incrowd as ic
from incrowd.algorithms import costs as priced_tables
from incrowd.algorithms import polish
from incrowd.algorithms.column_weights import weighted
from incrowd.algorithms.costs import groups_of, priced
from incrowd.algorithms.deadline import Deadline
from incrowd.algorithms.partitions import cells
from incrowd.algorithms.partitions.cells import Cells
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata, Table
from incrowd.long_work import silent
from incrowd.schema import Kind, Shape

ROUNDING = Fraction(1, 10**8)


def classes(table: CodeTable, k: int, *guards: Any, **options: Any) -> list[list[int]]:
    return members_of(Cells(k, **options).group(table.data, guards, silent).labels)


def loss(table: CodeTable, found: list[list[int]]) -> Fraction:
    return naive.loss(table.points, found, table.axes)


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    """Small tables are cut into blocks, as large ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "WHOLE", size)
        patch.setattr(cells, "BLOCK", size)
        patch.setattr(polish, "BLOCK", size)
        yield


def town(n: int, trees: bool, seed: int = 7) -> CodeTable:
    """People in columns of several kinds, or in trees alone."""
    rng = np.random.default_rng(seed)
    tree: tuple[str, Any] = ("tree", paths_of(((0, 1, 2), (3, 4, 5), (6, 7, 8))))
    others: list[tuple[str, Any]] = [("range", [i * i for i in range(9)]), ("set", 9)]
    axes = [tree, tree, tree] if trees else [tree, *others]
    skewed = np.minimum(rng.geometric(0.2, (n, 3)) - 1, 8)
    return CodeTable([tuple(map(int, row)) for row in skewed], axes)


# What is kept


@settings(max_examples=150)
@given(
    st.one_of(
        mixed_tables(kinds=SMALL, most=16, least=ks(1, 4)), mixed_tables(kinds=UP, most=16, least=ks(1, 4))
    ),
    ks(1, 4),
    st.sampled_from([5, 9, 10**6]),
)
def test_classes_keep_k_and_cost_no_more_than_those_of_mondrian(table: CodeTable, k: int, block: int) -> None:
    """With missing values, in trees and elsewhere, in one block or in several; twice the same."""
    with blocks_of(block):
        found, again = classes(table, k), classes(table, k)
    assert found == again
    assert min(map(len, found)) >= k
    begun = members_of(StrictMondrian(k).group(table.data, (), silent).labels)
    assert loss(table, found) <= loss(table, begun) + ROUNDING


@pytest.mark.parametrize("trees", [True, False])
def test_it_loses_less_than_polished_mondrian(trees: bool) -> None:
    """So filling cells does something, not polish alone."""
    table = town(200, trees)
    smooth = members_of(StrictMondrian(5, polish=True).group(table.data, (), silent).labels)
    assert loss(table, classes(table, 5)) < loss(table, smooth)


def test_small_cases() -> None:
    line: list[tuple[str, Any]] = [("range", list(range(9)))]
    table = CodeTable([(0,), (8,), (1,)], line)
    assert classes(table, 3) == [[0, 1, 2]]
    assert classes(table, 1) == [[0], [1], [2]] or loss(table, classes(table, 1)) == 0
    with pytest.raises(Infeasible, match=r"n=3 < k=4"):
        classes(table, 4)
    same = CodeTable([(4,)] * 7, line)
    assert loss(same, classes(same, 3)) == 0
    assert loss(CodeTable([(0,), (8,), (0,), (8,)], line), classes(CodeTable([(0,), (8,)] * 2, line), 2)) == 0
    gaps = CodeTable([(0,), (0,), (4,), (4,), (0,)], [("gapped", list(range(9)))])
    assert {frozenset(each) for each in classes(gaps, 2)} == {frozenset({0, 1, 4}), frozenset({2, 3})}


def test_a_cell_that_no_guard_allows_is_not_widened_for_ever() -> None:
    """Missing and the only number lie at one place: a cell may be grown over records that it lacks."""
    visits = Table.of(
        {
            "who": [f"w{i // 4}" for i in range(12)],
            "age": [""] * 11 + ["7"],
            "floor": [""] * 10 + ["1", ""],
            "ill": ["flu"] * 12,
        }
    )
    quasi = {"age": {"type": "numeric"}, "floor": {"type": "numeric", "publish": "set"}}
    policy = {"entity": "who", "quasi_identifiers": quasi, "sensitive": ["ill"]}
    release = ic.publish(visits, policy, method="cells", k=3)
    assert release.verdict.passed
    assert release.verdict.facts["smallest_class"] >= 3


def test_too_many_categories_are_refused() -> None:
    texts = tuple(f"v{i}" for i in range(65))
    job = Attribute("job", Kind.CATEGORICAL, Shape.SET, texts, np.arange(65, dtype=float))
    data = Microdata(np.array([[0], [1], [2]], np.int32), (job,))
    with pytest.raises(PolicyError, match="job is published as sets and has 65 different values"):
        Cells(2).group(data, (), silent)


@pytest.mark.parametrize("name", Cells.limits)
def test_limits_refuse_bad_values(name: str) -> None:
    for bad in Cells.limits[name].bad_values():
        with pytest.raises(PolicyError, match=name):
            Cells(**{"k": 2, name: bad})  # type: ignore[arg-type]


# Guards


class Varied:
    """Two values at least, as the records have them."""

    def __init__(self, values: list[int]) -> None:
        self.values = np.array(values)

    def allows(self, rows: NDArray[np.int32]) -> bool:
        assert (np.diff(rows) > 0).all()  # as every guard may expect
        return len(set(self.values[rows].tolist())) > 1


@pytest.mark.parametrize("trees", [True, False])
@pytest.mark.parametrize("block", [40, 10**6])
def test_guards_are_kept_and_not_only_by_merging(trees: bool, block: int) -> None:
    """Values go with the cells: without the guard many classes would have one value."""
    table = town(200, trees)
    guard = Varied([point[0] // 3 for point in table.points])
    kept = [guard.allows(np.array(each, np.int32)) for each in classes(table, 4)]
    assert not all(kept)
    with blocks_of(block):
        found = classes(table, 4, guard)
    assert all(guard.allows(np.array(each, np.int32)) for each in found)
    assert min(map(len, found)) >= 4
    smooth = StrictMondrian(4, polish=True).group(table.data, (guard,), silent).labels
    assert loss(table, found) < loss(table, members_of(smooth)) * Fraction(11, 10)


def patients(n: int = 150) -> Table:
    rng = np.random.default_rng(3)
    ages = rng.integers(20, 80, n)
    return Table.of(
        {
            "age": [str(age) if age % 9 else "" for age in ages],
            "sex": [["F", "M", ""][i] for i in rng.integers(0, 3, n)],
            "ill": [f"i{age // 15}" for age in ages],
        }
    )


def asked(**more: Any) -> ic.Policy:
    quasi = {"age": {"type": "numeric"}, "sex": {"type": "categorical"}}
    policy = {"quasi_identifiers": quasi, "sensitive": ["ill"], "method": "cells", "privacy": {"k": 4}}
    return ic.Policy.from_dict({**policy, **more})


@pytest.mark.parametrize("privacy", [{"k": 4}, {"k": 4, "l": 2}, {"k": 4, "t": "0.5"}])
def test_the_verifier_accepts_its_releases(privacy: dict[str, Any]) -> None:
    release = ic.publish(patients(), asked(privacy=privacy, options={"weights": {"age": 2, "sex": "0.5"}}))
    assert release.verdict.passed
    assert release.manifest["method"]["name"] == "cells"
    assert release.manifest["method"]["options"] == {"weights": {"age": 2, "sex": "0.5"}}


# Weights


@settings(max_examples=120)
@given(mixed_tables(kinds=sorted(AXES), most=8, least=st.just(2)), st.booleans(), st.data())
def test_weighted_costs_are_weighted_losses(table: CodeTable, small: bool, data: st.DataObject) -> None:
    said = data.draw(
        st.dictionaries(
            st.integers(0, len(table.axes) - 1), st.sampled_from([2, "0.25", 0.1, "7.5"]), min_size=1
        )
    )
    weights = {f"a{j}": weight for j, weight in said.items()}
    n = len(table.points)
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priced_tables, "SMALL", priced_tables.SMALL if small else 0)
        groups = groups_of(labels, weighted(priced(table.data, "lm"), table.data, weights))
    exact = {j: Fraction(str(weight)) for j, weight in said.items()}
    for g in set(labels.tolist()):
        members = np.flatnonzero(labels == g).tolist()
        expected = naive.row_loss(table.points, members, table.axes, exact)
        assert groups.cost[g] == pytest.approx(float(expected), abs=1e-9)


@pytest.mark.parametrize("trees", [True, False])
def test_a_heavy_column_gets_narrower(trees: bool) -> None:
    table = town(200, trees)

    def width(j: int, **weights: Any) -> Fraction:
        found = classes(table, 5, weights=weights)
        axis = table.axes[j]
        shares = [len(each) * naive.share(axis, [table.points[i][j] for i in each]) for each in found]
        return sum(shares, Fraction(0))

    for j in (1, 2):
        assert width(j, **{f"a{j}": 50}) < width(j) < width(j, **{f"a{j}": "0.02"})


def test_an_unknown_column_is_refused_by_name() -> None:
    with pytest.raises(PolicyError, match=r"agee(.|\n)*did you mean 'age'"):
        ic.publish(patients(), asked(options={"weights": {"agee": 2}}))
    with pytest.raises(PolicyError, match="ill"):  # a column of the table, but no quasi-identifier
        ic.publish(patients(), asked(options={"weights": {"ill": 2}}))


# Time


@pytest.mark.parametrize("trees", [True, False])
@pytest.mark.parametrize("block", [40, 10**6])
def test_more_time_never_gives_a_worse_result(trees: bool, block: int) -> None:
    """The time is over after so many questions: whenever that is, the classes are valid."""
    table, k = town(200, trees), 3
    questions = 0

    def stopped(after: int) -> list[list[int]]:
        nonlocal questions
        questions = 0

        def over(_self: Deadline) -> bool:
            nonlocal questions
            questions += 1
            return questions > after

        with blocks_of(block), pytest.MonkeyPatch.context() as patch:
            patch.setattr(Deadline, "over", over)
            return classes(table, k, seconds=1)

    best = loss(table, stopped(10**6))
    needed = questions
    steps = sorted({*range(8), *range(needed - 8, needed + 2), *range(0, needed, 1 + needed // 12)})
    results = [stopped(after) for after in steps if after >= 0]
    assert all(min(map(len, found)) >= k for found in results)
    losses = [loss(table, found) for found in results]
    assert all(later <= earlier + ROUNDING for earlier, later in pairwise(losses))
    assert losses[0] == loss(table, members_of(StrictMondrian(k).group(table.data, (), silent).labels))
    assert losses[-1] == best < losses[0]
    assert len(set(losses)) > 2
