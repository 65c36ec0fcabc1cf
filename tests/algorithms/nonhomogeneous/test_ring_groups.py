"""Rings over the classes of any method, and over Anatomy's groups: slow twins, releases, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from algorithms.nonhomogeneous.test_ring import ORDERS, crowds_of
from algorithms.test_anatomy import Rule, Tape
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.method_names import ALONE, PARTITIONS
from support.night import NIGHT
from support.patients import microdata
from support.tables_of_codes import CodeTable, code_tables, ks, members_of, rare_values
from twins import anatomy as naive_anatomy
from twins import diverse as naive_diverse
from twins import ordering as naive_orders

from incrowd.algorithms.base import all_methods, method
from incrowd.algorithms.nonhomogeneous.ring import CLASSES, GROUPS, Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.lexicographic import Lexicographic
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Table
from incrowd.long_work import silent
from incrowd.policy import Policy

EXAMPLES = 200 if NIGHT else 5


def test_every_method_that_makes_classes_can_be_the_ground() -> None:
    by_k = [name for name in PARTITIONS if not all_methods()[name].needs_l]
    assert sorted(CLASSES) == sorted(by_k)
    assert {*GROUPS} <= {"order", *ALONE}


def row_of(table: CodeTable, order: str) -> list[int]:
    """All records in a row, by the slow twins: a single part."""
    n = len(table.points)
    if order == "lexicographic":
        by = sorted(range(len(table.axes)), key=lambda j: (naive_orders.domain(table.axes[j]), j))
        return sorted(range(n), key=lambda i: ([table.points[i][j] for j in by], i))
    bits = max(1, *((naive_orders.domain(axis) - 1).bit_length() for axis in table.axes))
    return sorted(range(n), key=lambda i: (naive_orders.curve_index(table.points[i], bits), i))


@pytest.mark.parametrize("groups", CLASSES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    table=code_tables(least=ks(2, 4), most=24),
    k=ks(2, 4),
    order=ORDERS,
)
def test_agrees_with_naive(groups: str, table: CodeTable, k: int, order: str) -> None:
    try:
        classes = method(groups)(k=k).group(table.data, (), silent)
    except Infeasible:
        with pytest.raises(Infeasible):
            Ring(k, order, groups).group(table.data, (), silent)
        reject()
    found = Ring(k, order, groups).group(table.data, (), silent)
    parts = members_of(classes.labels)
    assert crowds_of(found) == naive_diverse.ring_in_groups(parts, row_of(table, order), k)
    assert found.regular
    assert found.alike is not None
    for part in parts:
        assert set(found.alike[part].tolist()) == {len({table.points[i] for i in part}) == 1}


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(code_tables(least=ks(2, 4)), ks(2, 4))
def test_parts_of_the_row_are_what_they_were(table: CodeTable, k: int) -> None:
    """The default, and the two methods that make the same parts."""
    for order, recipe in (("lexicographic", Lexicographic(k)), ("hilbert", Hilbert(k))):
        parts = recipe.parts(table.data, (), silent)
        row = Ring(k, order).group(table.data, (), silent)
        same = Ring(k, order, groups=order).group(table.data, (), silent)
        naive = naive_diverse.ring([part.tolist() for part in np.split(parts.order, parts.starts[1:-1])], k)
        assert crowds_of(row) == crowds_of(same) == naive


# Anatomy's groups


@settings(max_examples=20 * EXAMPLES, deadline=None)
@given(
    code_tables(least=st.just(2), most=24),
    st.data(),
    st.integers(2, 6),
    st.integers(2, 4),
    st.integers(0, 9**9),
)
def test_rings_over_anatomy_agree_with_naive(
    table: CodeTable,
    data: st.DataObject,
    k: int,
    l: int,  # noqa: E741
    seed: int,
) -> None:
    n = len(table.points)
    values = data.draw(rare_values(n, max(n // l, 1)))
    dense = sorted(set(values))
    rule = Rule(np.array([dense.index(v) for v in values], np.int32), len(dense), l)
    k = -(-k // l) * l
    groups = naive_anatomy.anatomy(rule.codes.tolist(), l, k, Tape(seed)) if n >= k else None
    ring = Ring(k, groups="anatomy")
    if groups is None:
        with pytest.raises(Infeasible):
            ring.group(table.data, (rule,), silent, Tape(seed))
        reject()
    found = ring.group(table.data, (rule,), silent, Tape(seed))
    assert crowds_of(found) == naive_diverse.ring_in_groups(groups, row_of(table, "lexicographic"), k)
    assert found.regular
    assert found.whole is not None
    assert found.alike is not None
    for group in groups:
        often = naive_diverse.most_frequent([values[i] for i in group]) > k // l
        assert {tuple(found.whole[i].tolist()) for i in group} == {(often,) * len(table.axes)}
        assert set(found.alike[group].tolist()) == {often or len({table.points[i] for i in group}) == 1}


def sick(**more: Any) -> tuple[Table, Policy]:
    columns = {
        "age": [str(20 + i % 17) for i in range(61)],
        "sex": ["FM"[i % 5 > 2] for i in range(61)],
        "ill": ["abcdef"[i * i % 7 % 6] for i in range(61)],
    }
    policy = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], method="ring", **more)
    return Table.of(columns), policy


@pytest.mark.parametrize(("k", "l"), [(3, 3), (2, 2), (8, 2), (7, 3)])
def test_a_release_over_anatomy_is_confirmed_and_verified_again(tmp_path: Path, k: int, l: int) -> None:  # noqa: E741
    table, policy = sick(privacy={"k": k, "l": l}, options={"groups": "anatomy"})
    release = publish(table, policy, tmp_path / "out")
    k = -(-k // l) * l
    claims = {claim["model"]: claim["parameters"] for claim in release.manifest["claims"]}
    assert claims == {"k-factor": {"k": k}, "candidate-l-diversity": {"l": l}}
    assert verify(tmp_path / "out", table, policy).passed
    (tmp_path / "out.audit" / "links.json").unlink()
    verdict = verify(tmp_path / "out", table, policy)
    assert [check.name for check in verdict.failures] == ["candidate-l-diversity (ill)"]
    assert "only the links of the audit say" in verdict.failures[0].detail


@pytest.mark.parametrize("groups", CLASSES)
def test_a_release_over_classes_is_confirmed_and_loses_no_more(groups: str) -> None:
    """Lemma 2: rows of a ring lie within the row of their class."""
    table, policy = sick(privacy={"k": 4})
    release = publish(table, policy, options={"groups": groups})
    assert release.verdict.passed
    assert [claim["model"] for claim in release.manifest["claims"]] == ["k-factor"]
    assert release.loss()["gcp"] <= publish(table, policy, method=groups, options={}).loss()["gcp"] + 1e-12


@pytest.mark.parametrize(
    ("options", "privacy", "words"),
    [
        ({"groups": "anatomy"}, {"k": 3}, "these groups are there for l"),
        ({"groups": "mondrian"}, {"k": 3, "l": 3}, "made by looking at values"),
        ({"groups": "mondrian", "hide_rows": True}, {"k": 3}, "hide_rows goes with"),
        ({"groups": "mondrian", "rule": "pseudocode"}, {"k": 3}, "about groups"),
        ({"groups": "anatomy", "split": "printed"}, {"k": 3, "l": 3}, "about groups"),
        ({"groups": "kk"}, {"k": 3}, "groups must be one of"),
        ({"groups": "anatomy", "drawn": False}, {"k": 3, "l": 3}, "less was asked for"),
    ],
)
def test_what_does_not_go_together_is_refused(options: Any, privacy: Any, words: str) -> None:
    table, policy = sick(privacy=privacy, options=options)
    with pytest.raises(PolicyError, match=words):
        publish(table, policy.with_(accept=["unsafe-identity", "unsafe-order"]))


def test_an_engine_cuts_the_row_alone(tmp_path: Path) -> None:
    table, policy = sick(privacy={"k": 3}, options={"groups": "mondrian"})
    with pytest.raises(PolicyError, match="groups is not done by an engine"):
        publish(table, policy, tmp_path / "out", engine="duckdb")


def test_persons_with_several_rows_are_refused() -> None:
    from incrowd.models import CandidateDiversity

    with pytest.raises(PolicyError, match="counts rows, not persons"):
        CandidateDiversity(2, "illness").guards(microdata([0, 1], persons=[0, 0]))
