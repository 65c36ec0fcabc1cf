"""ExpC and its rivals against their slow twins, the running example, and what every result must keep."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.night import NIGHT
from support.plain_tables import PlainTable, as_printed, plain_tables
from twins import plain as naive

from incrowd.algorithms.outliers.expc import Expanding, ExpC, NonOutliersFirst, OutliersFirst, RemoveOutliers
from incrowd.algorithms.outliers.expc_groups import LOSSES
from incrowd.distance_outliers import Setting
from incrowd.errors import Infeasible, PolicyError
from incrowd.long_work import silent

APPROACHES: dict[str, tuple[type[Expanding], Any]] = {
    "expc": (ExpC, naive.expc),
    "gnof": (NonOutliersFirst, naive.gnof),
    "gof": (OutliersFirst, naive.gof),
    "remove-outliers": (RemoveOutliers, naive.remove_outliers),
}
GOLDEN = vectors("algorithms", "outliers")


def sets(groups: Any) -> set[frozenset[int]]:
    return {frozenset(map(int, group)) for group in groups}


limits = st.fixed_dictionaries(
    {
        "k": st.integers(1, 4),
        "delta": st.integers(1, 6),
        "tries": st.sampled_from((0, 1, 3)),
        "patience": st.sampled_from((0, 2)),
        "merges": st.sampled_from((0, 2)),
        "values": st.sampled_from(("new", "any")),
        "strangers": st.sampled_from(("last", "any")),
    }
)


@pytest.mark.parametrize("name", APPROACHES)
@given(table=plain_tables(), limit=limits, printed=st.booleans())
@settings(max_examples=25, deadline=None)
def test_every_approach_equals_its_twin(
    name: str, table: PlainTable, limit: dict[str, Any], printed: bool
) -> None:
    make, slow = APPROACHES[name]
    table = as_printed(table) if printed else table
    recipe = make(**limit, loss="printed" if printed else "zero-based")
    found = recipe.grouping(table.data, (table.guard,))
    twin = slow(naive.ExpC(table.twin, **limit))
    assert found.removed.tolist() == twin.removed
    assert found.residue.tolist() == twin.residue
    assert found.suppressed.tolist() == twin.suppressed
    assert sets(found.groups) == sets(twin.groups)


PRIMES = [99_991, 99_989, 99_971, 99_961, 99_929, 99_923, 99_907, 36_523]


def odd_table(rng: np.random.Generator, spans: list[int]) -> PlainTable:
    """Twelve to eighteen people with few values on each span, so that losses tie often."""
    n = int(rng.integers(12, 19))
    columns: list[tuple[str, Any, bool]] = []
    for span in spans:
        inner = rng.choice(np.arange(1, span), min(int(rng.integers(1, 7)), span - 1), replace=False)
        columns.append(("range", [0, *sorted(inner.tolist()), span], False))
    sizes = [len(about) for _, about, _ in columns]
    rows = [tuple(map(int, rng.integers(0, sizes))) for _ in range(n)]
    setting = Setting(p="0.7", d="0.8", distinct=2, margin=0, form="corner")
    return PlainTable(columns, rows, [int(x) for x in rng.integers(0, 5, n)], setting)


def differs(table: PlainTable, loss: str = "zero-based") -> bool:
    limit: dict[str, Any] = {"k": 3, "delta": 3, "tries": 0, "patience": 0, "merges": 0, "values": "any"}
    table = as_printed(table) if loss == "printed" else table
    found = ExpC(**limit, strangers="any", loss=loss).grouping(table.data, (table.guard,))
    twin = naive.expc(naive.ExpC(table.twin, **limit, strangers="any"))
    return sets(found.groups) != sets(twin.groups) or found.suppressed.tolist() != twin.suppressed


@pytest.mark.parametrize(
    ("tables", "spans"), [(260, (17, 19, 74, 23, 101)), (150, (9,)), (150, (7, 15, 31))], ids=str
)
def test_ties_are_those_of_fractions(tables: int, spans: tuple[int, ...], rng: np.random.Generator) -> None:
    """None differs; a night tries as many tables as rounded places were tried on."""
    tables = tables if NIGHT else tables // 8
    chosen = [rng.choice(spans, int(rng.integers(1, 4))).tolist() for _ in range(tables)]
    assert sum(differs(odd_table(rng, each), str(rng.choice(LOSSES))) for each in chosen) == 0


def test_ties_are_exact_where_no_number_holds_the_denominator(rng: np.random.Generator) -> None:
    """Eight spans whose common denominator has 132 bits; corners are of three columns only."""
    for _ in range(10):
        table = odd_table(rng, PRIMES)
        table = replace(table, setting=replace(table.setting, columns=("a0", "a3", "s")))
        assert not differs(table)


def people() -> tuple[PlainTable, list[int]]:
    """The paper's nine people, in config A, with their ids."""
    rows = GOLDEN["figs_plain_configA"]["input"]["rows"]
    ages, zips = sorted({row[2] for row in rows}), sorted({row[4] for row in rows})
    codes = [(ages.index(row[2]), "MF".index(row[3]), zips.index(row[4])) for row in rows]
    setting = Setting(p="0.65", d="0.86", distinct=2, margin=0, form="corner", columns=("a0", "a2", "s"))
    columns = [("range", ages, False), ("tree", ((0,), (1,)), False), ("range", zips, False)]
    return PlainTable(columns, codes, [row[5] for row in rows], setting, True), [row[0] for row in rows]


def printed_loss(table: PlainTable, group: list[int]) -> Fraction:
    """Definition 3.7: what a row of the group loses."""
    total = Fraction(0)
    for j, (kind, about, _) in enumerate(table.columns):
        codes = [table.rows[i][j] for i in group]
        if kind == "tree":
            total += len(set(codes)) - 1
        else:
            total += Fraction(about[max(codes)] - about[min(codes)] + 1, about[-1] - about[0] + 1)
    return total


@pytest.mark.quick
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_running_example(k: int) -> None:
    given_, expected = (GOLDEN["expc_running_example"][key] for key in ("input", "expected"))
    table, ids = people()
    table = PlainTable(
        table.columns,
        table.rows,
        table.values,
        Setting(p="0.65", d="0.86", distinct=k, margin=0, form="corner", columns=("a0", "a2", "s")),
        True,
    )
    limits = {"delta": given_["delta"], "tries": 0, "patience": 0, "merges": 0}
    recipe = ExpC(k, **limits, strangers="any", values="any", loss="printed")
    found, wanted = recipe.grouping(table.data, (table.guard,)), expected[f"k={k}"]
    named = sorted(sorted(ids[i] for i in group.tolist()) for group in found.groups)
    assert named == wanted["groups"]
    assert [ids[i] for i in found.residue] == wanted["residue"]
    assert [ids[i] for i in found.suppressed] == wanted["suppressed"]
    assert [ids[i] for i in found.removed] == [6]
    lost = sum(len(group) * printed_loss(table, group.tolist()) for group in found.groups) + 3
    assert float(lost / 9) == pytest.approx(wanted["IL_average_with_Bill_removed"], abs=1e-9)


@pytest.mark.quick
def test_the_loss_of_example_7_1() -> None:
    table, ids = people()
    losses = GOLDEN["example71_IL"]["expected"]["IL"]["range over all 9 (zip 06001-06022)"]
    for who, fraction in losses.items():
        group = [ids.index(i) for i in (1, 2, 3, int(who))]
        assert printed_loss(table, group) == Fraction(fraction["num"], fraction["den"])


@pytest.mark.quick
def test_an_outlier_whom_no_group_hides_is_left_out() -> None:
    """Theorem 6.2 is false: this one is no outlier by the sensitive value, and is in no plain group."""
    vector = GOLDEN["thm62_counterexample"]["input"]
    rows = list(vector["D(QI,S)"].values())
    places = sorted({row[0] for row in rows})
    setting = Setting(p=vector["p"], d=vector["d"], distinct=vector["k"], margin=0, form="corner")
    columns: list[tuple[str, Any, bool]] = [("range", places, False)]
    table = PlainTable(columns, [(places.index(row[0]),) for row in rows], [row[1] for row in rows], setting)
    found = ExpC(vector["k"], tries=0, patience=0, merges=0).grouping(table.data, (table.guard,))
    assert found.suppressed.tolist() == [vector["o"]]


@pytest.mark.parametrize("order", ["rows", "random"])
@pytest.mark.parametrize("form", ["corner", "candidate", "both"])
@pytest.mark.parametrize("name", ["expc", "gnof", "gof"])
def test_groups_are_plain_and_nobody_is_lost(name: str, form: str, order: str) -> None:
    rng = np.random.default_rng(5)
    columns = [("range", list(range(30)), False), ("set", 3, False)]
    rows = [*((i % 30, i % 3) for i in range(30)), *(tuple(rng.integers(0, (30, 3))) for _ in range(90))]
    values = [int(x) for x in rng.integers(0, 40, 119)] + [400]
    setting = Setting(p="0.75", d="0.8", distinct=4, margin="0.05", form=form)
    table = PlainTable(columns, [(int(a), int(b)) for a, b in rows], values, setting)
    guard = table.guard
    found = APPROACHES[name][0](4, order=order).grouping(table.data, (guard,))
    everyone = [i for group in found.groups for i in group.tolist()]
    everyone += [*found.removed.tolist(), *found.suppressed.tolist()]
    assert sorted(everyone) == list(range(120))
    assert found.groups
    assert all(guard.plain(group) and len(group) >= 4 for group in found.groups)
    assert (found.labels >= 0).sum() == sum(map(len, found.groups))


def test_other_guards_are_kept() -> None:
    table, _ = people()

    class Even:
        def allows(self, rows: Any) -> bool:
            return len(rows) % 2 == 0

    found = ExpC(2, values="any").grouping(table.data, (table.guard, Even()))
    assert found.groups
    assert all(len(group) % 2 == 0 for group in found.groups)


def test_nothing_says_what_an_outlier_is() -> None:
    table, _ = people()
    with pytest.raises(PolicyError, match=r"expc protects outliers: give \[privacy.plain\]"):
        ExpC(2).group(table.data, (), silent)
    with pytest.raises(Infeasible, match="too few records"):
        ExpC(10).group(table.data, (table.guard,), silent)
