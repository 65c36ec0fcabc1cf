"""Polish: cheaper classes that keep k and what guards ask for, until no step saves anything."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.tables_of_codes import SMALL, UP, CodeTable, ks, members_of, mixed_tables
from twins import local_search as naive

import incrowd as ic
from incrowd.algorithms import polish
from incrowd.algorithms.base import Polishable, all_methods
from incrowd.algorithms.costs import priced
from incrowd.algorithms.polish import Polish, polished
from incrowd.contracts import Guard
from incrowd.encode import encode
from incrowd.errors import PolicyError
from incrowd.flow import Microdata, Table
from incrowd.long_work import silent
from incrowd.publishing.request import requested

POLISHABLE = sorted(name for name, method in all_methods().items() if issubclass(method, Polishable))
ROUNDING = Fraction(1, 10**8)


@st.composite
def classed(
    draw: st.DrawFn, kinds: Sequence[str] = SMALL, most: int = 12, least: int = 1, large: int = 4
) -> tuple[CodeTable, int, NDArray[np.int32]]:
    """A table, k, and classes of at least k without any sense."""
    k = draw(ks(least, large))
    table = draw(mixed_tables(kinds=kinds, most=most, least=st.just(k)))
    n = len(table.points)
    order = draw(st.permutations(range(n)))
    count = draw(st.integers(1, n // k))
    labels = np.empty(n, np.int32)
    labels[order] = np.arange(n) % count
    return table, k, labels


# What is kept


@settings(max_examples=200)
@given(classed(), st.sampled_from([4, 7, 10**6]))
def test_polished_classes_keep_k_and_never_cost_more(
    case: tuple[CodeTable, int, NDArray[np.int32]], block: int
) -> None:
    """As one block, and in several that are cut anew; twice the same."""
    table, k, labels = case
    costs = priced(table.data, "lm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polish, "BLOCK", block)
        shares: list[float] = []

        def heard(done: float) -> None:
            shares.append(done)

        found = polished(k, costs, labels, (), heard)
        again = polished(k, costs, labels, (), silent)
    assert np.array_equal(found, again)
    assert min(map(len, members_of(found))) >= k
    before, after = (naive.loss(table.points, members_of(each), table.axes) for each in (labels, found))
    assert after <= before + ROUNDING
    assert all(a <= b for a, b in pairwise(shares))
    assert shares[-1] == 1.0


def town(n: int) -> CodeTable:
    """So many people, with columns of several kinds."""
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, size, n) for size in (60, 5, 7)]
    axes: list[tuple[str, Any]] = [("range", [i * i for i in range(60)]), ("set", 5), ("gapped", [*range(6)])]
    return CodeTable([tuple(map(int, row)) for row in zip(*columns, strict=True)], axes)


class NotAlone:
    """Allows classes with records of even and of odd number."""

    def allows(self, rows: NDArray[np.int32]) -> bool:
        assert (np.diff(rows) > 0).all()  # as every guard may expect
        return bool((rows % 2 == 0).any() and (rows % 2 == 1).any())


@pytest.mark.parametrize("guards", [(), (NotAlone(),)])
def test_a_table_of_many_blocks_keeps_everything(guards: tuple[Guard, ...]) -> None:
    """More records than are polished at once."""
    table, k = town(polish.BLOCK + 1000), 6
    n = len(table.points)
    costs = priced(table.data, "lm")
    labels = np.empty(n, np.int32)
    labels[np.lexsort(costs.codes.T)] = np.arange(n) // 8
    labels = np.minimum(labels, n // 8 - 1).astype(np.int32)
    labels = merged_until(labels, guards)
    found = polished(k, costs, labels, guards, silent, sweeps=2)
    classes = members_of(found)
    assert min(map(len, classes)) >= k
    assert all(guard.allows(np.array(each, np.int32)) for guard in guards for each in classes)
    before, after = (naive.loss(table.points, members_of(each), table.axes) for each in (labels, found))
    assert after < before * Fraction(9, 10)


def merged_until(labels: NDArray[np.int32], guards: tuple[Guard, ...]) -> NDArray[np.int32]:
    """Classes that are not allowed join the first one."""
    for rows in members_of(labels):
        if not all(guard.allows(np.array(rows, np.int32)) for guard in guards):
            labels[rows] = 0
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int32)


# Where it ends


def settled(k: int, table: CodeTable, labels: NDArray[np.int32]) -> list[list[int]]:
    """Steps of all kinds until none saves anything."""
    costs = priced(table.data, "lm")
    while True:
        work = Polish.of(k, costs, labels)
        before = work.cost
        saved = work.relocate() + work.swap() + work.dissolve()
        assert work.cost == pytest.approx(before - saved, abs=1e-9)
        labels = work.labels()
        if saved == 0.0:
            return members_of(labels)


@settings(max_examples=200)
@given(classed(kinds=("range", "gapped", "set"), most=9, large=3))
def test_no_single_step_saves_anything_at_the_end(case: tuple[CodeTable, int, NDArray[np.int32]]) -> None:
    table, k, labels = case
    classes = settled(k, table, labels)
    about = table.points, classes, table.axes
    assert max(naive.relocations(*about, k), default=0) <= ROUNDING
    assert max(naive.swaps(*about), default=0) <= ROUNDING
    assert max(naive.dissolutions(*about, polish.DISSOLVED * k), default=0) <= ROUNDING


@settings(max_examples=120)
@given(classed(kinds=UP, most=9, large=3))
def test_with_trees_a_swap_may_be_missed_but_nothing_else(
    case: tuple[CodeTable, int, NDArray[np.int32]],
) -> None:
    """Two records that leave a node together free more than either alone."""
    table, k, labels = case
    classes = settled(k, table, labels)
    assert max(naive.relocations(table.points, classes, table.axes, k), default=0) <= ROUNDING
    most = polish.DISSOLVED * k
    assert max(naive.dissolutions(table.points, classes, table.axes, most), default=0) <= ROUNDING


def test_each_kind_of_step_is_needed() -> None:
    """Three tables of one column, each with one step that saves something, of one kind."""
    line: list[tuple[str, Any]] = [("range", list(range(11)))]
    cases = {
        "relocate": ([0, 0, 10, 10, 10], [0, 0, 0, 1, 1]),
        "swap": ([0, 10, 10, 0], [0, 0, 1, 1]),
        "dissolve": ([0, 0, 10, 10, 0, 10], [0, 0, 1, 1, 2, 2]),
    }
    for name, (values, labels) in cases.items():
        costs = priced(CodeTable([(value,) for value in values], line).data, "lm")
        saved = {
            step: getattr(Polish.of(2, costs, np.array(labels)), step)()
            for step in ("relocate", "swap", "dissolve")
        }
        assert {step for step, each in saved.items() if each > 0} == {name}
        work = Polish.of(2, costs, np.array(labels))
        assert work.run() == pytest.approx(saved[name])
        assert work.cost == 0.0


# Guards

ASKED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "distinct": {"l": 2},
        "frequency": {"l": 2, "l_kind": "frequency"},
        "entropy": {"l": "1.7", "l_kind": "entropy"},
        "recursive": {"l": 2, "l_kind": "recursive", "c": 2},
        "t": {"t": "0.35"},
        "plain": {"plain": {"p": "0.95", "d": "0.5", "columns": ["age", "cost"]}},
        "persons": {},
    }
)


def clinic(n: int = 90) -> Table:
    """What somebody costs follows from their age, and neighbours are often one person."""
    rng = random.Random(5)
    ages = [rng.randrange(20, 80) for _ in range(n)]
    columns = {
        "age": [str(age) for age in ages],
        "sex": [rng.choice(["F", "M"]) for _ in range(n)],
        "cost": [str(age // 20 * 100) for age in ages],
        "who": [f"{age // 3}-{rng.randrange(3)}" for age in ages],
    }
    return Table.of({name: list(texts) for name, texts in columns.items()})


def policy_for(guard: str, method: str = "mondrian", **options: Any) -> ic.Policy:
    parts: dict[str, Any] = {
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {"type": "categorical"}},
        "sensitive": {"cost": {"type": "numeric"}},
        "privacy": {"k": 3, **ASKED[guard]},
        "method": method,
        "options": options,
    }
    parts |= {"entity": "who"} if guard == "persons" else {"drop": ["who"]}
    return ic.Policy.from_dict(parts)


def guarded(guard: str) -> tuple[Microdata, tuple[Guard, ...]]:
    table, policy = clinic(), policy_for(guard)
    data = encode(table, policy.schema(table))
    return data, tuple(each for model in requested(policy).promised for each in model.guards(data))


def kept(labels: NDArray[np.int32], guards: tuple[Guard, ...]) -> bool:
    return all(each.allows(np.array(rows, np.int32)) for each in guards for rows in members_of(labels))


def neighbours_and_some(ages: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """Classes of neighbours, and six of people who have nothing to do with each other, or only such."""
    order = np.random.default_rng(seed).permutation(ages.size)
    if seed % 2:
        order[18:] = order[18:][np.argsort(ages[order[18:]], kind="stable")]
    size = 3 + seed % 4
    number = np.where(
        np.arange(ages.size) < 18, np.arange(ages.size) // 3, 6 + np.arange(-18, ages.size - 18) // size
    )
    labels = np.empty(ages.size, np.int32)
    labels[order] = np.minimum(number, 5 + (ages.size - 18) // size)
    return labels


# Whoever joins adds values: what asks for different ones cannot be broken by dissolving.
STEPS = [
    *((step, guard) for step in ("relocate", "swap") for guard in ASKED),
    *(("dissolve", guard) for guard in ("frequency", "t", "persons")),
]


@pytest.mark.parametrize(("step", "guard"), STEPS)
def test_every_step_asks_the_guards(step: str, guard: str) -> None:
    """The control: without them the same steps break what was kept before."""
    data, guards = guarded(guard)
    costs = priced(data, "lm")
    broken = asked = 0
    for seed in range(12):
        labels = merged_until(neighbours_and_some(costs.codes[:, 0], seed), guards)
        if not kept(labels, guards):
            continue
        free, work = Polish.of(3, costs, labels), Polish.of(3, costs, labels, guards)
        getattr(free, step)()
        saved = getattr(work, step)()
        assert kept(work.labels(), guards)
        assert saved >= 0.0
        broken += not kept(free.labels(), guards)
        asked += saved > 0
    assert broken
    assert asked


@pytest.mark.parametrize("guard", ASKED)
def test_a_polished_release_keeps_what_was_asked_for(guard: str) -> None:
    for method in ("mondrian", "hilbert"):
        release = ic.publish(clinic(), policy_for(guard, method, polish=True))
        assert release.verdict.passed
        assert release.manifest["method"]["options"] == {"polish": True}


# The option


def test_these_methods_can_be_polished() -> None:
    assert (
        sorted(
            ["mondrian", "mondrian-relaxed", "topdown", "forest", "hilbert", "lexicographic", "agglomerative"]
        )
        == POLISHABLE
    )


@pytest.mark.parametrize("method", POLISHABLE)
def test_a_polished_method_loses_less_than_it_does_alone(method: str) -> None:
    table = town(120)
    chosen = all_methods()[method]
    groups = [chosen.configured(4, {"polish": each}).group(table.data, (), silent) for each in (False, True)]
    plain, smooth = (naive.loss(table.points, members_of(each.labels), table.axes) for each in groups)
    assert smooth < plain
    assert min(map(len, members_of(groups[1].labels))) >= 4


def test_it_is_true_or_false() -> None:
    for bad in Polishable.limits["polish"].bad_values():
        with pytest.raises(PolicyError, match="polish must be true or false"):
            all_methods()["mondrian"].configured(2, {"polish": bad})
