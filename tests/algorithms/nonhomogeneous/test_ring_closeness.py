"""t with rings: the rows that may be anybody's are as close to the table as promised, or rows are equal."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.night import NIGHT
from support.tables_of_codes import CodeTable, code_tables, ks
from twins import candidates as naive_candidates

from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Microdata, Sensitive, Table
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.models import CandidateCloseness
from incrowd.models.l_diversity import MINIMALITY
from incrowd.policy import Policy
from incrowd.schema import Kind


def farthest(beliefs: list[dict[Any, Fraction]], values: list[int]) -> Fraction:
    """Half the sum of differences between what is believed of somebody and the whole table."""
    table = {v: Fraction(values.count(v), len(values)) for v in set(values)}
    zero = Fraction(0)
    return max(
        sum((abs(own.get(v, zero) - share) for v, share in table.items()), zero) / 2 for own in beliefs
    )


@settings(max_examples=200 if NIGHT else 40, deadline=None)
@given(
    code_tables(least=ks(2, 4), most=24),
    st.data(),
    ks(2, 4),
    st.sampled_from(["0.3", "0.5", "0.7"]),
    st.sampled_from(["order", "mondrian"]),
)
def test_what_is_believed_is_close_to_the_table(
    table: CodeTable, data: st.DataObject, k: int, t: str, groups: str
) -> None:
    n = len(table.points)
    values = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    column = Sensitive("ill", Kind.CATEGORICAL, np.array(values, np.int32), 4)
    people = Microdata(table.data.codes, table.data.attributes, (column,))
    guards = CandidateCloseness(t, "equal", "ill").guards(people)
    try:
        found = Ring(k, groups=groups).group(people, guards, silent)
    except Infeasible:
        reject()
    assert found.regular
    assert found.row_of is not None
    assert sorted(found.row_of.tolist()) == list(range(n))
    around = found.members.reshape(n, k).tolist()
    shown = [values[i] for i in np.argsort(found.row_of)]
    assert all(i in around[row] for i, row in enumerate(found.row_of.tolist()))
    beliefs = naive_candidates.beliefs(around, generalize(people, found).of.tolist(), shown)
    assert farthest(beliefs, values) <= Fraction(t)


def sick(**more: Any) -> tuple[Table, Policy]:
    columns = {
        "age": [str(20 + i * i % 53) for i in range(120)],
        "ill": ["abcd"[i * 7 % 11 % 4] for i in range(120)],
        "pay": [str(i * 5 % 7) for i in range(120)],
    }
    quasi = {"age": {"type": "numeric"}}
    return Table.of(columns), Policy(quasi_identifiers=quasi, sensitive=["ill", "pay"], method="ring", **more)


def test_a_release_is_confirmed_and_says_against_whom(tmp_path: Path) -> None:
    table, policy = sick(privacy={"k": 6, "t": "0.6"})
    release = publish(table, policy, tmp_path / "out")
    claims = {(claim["model"], claim.get("column")): claim for claim in release.manifest["claims"]}
    close = "candidate-t-closeness"
    assert {*claims} == {("k-factor", None), (close, "ill"), (close, "pay")}
    assert all(MINIMALITY in claim["assumptions"] for claim in claims.values())
    assert any(MINIMALITY in warning for warning in release.warnings)
    assert len({*zip(*(release.table.column(name).rows() for name in ("age",)), strict=True)}) > 30
    assert verify(tmp_path / "out", table, policy).passed
    (tmp_path / "out.audit" / "links.json").unlink()
    failed = [check.name for check in verify(tmp_path / "out", table, policy).failures]
    assert failed == [f"{close} (ill, equal)", f"{close} (pay, equal)"]


@pytest.mark.parametrize(
    ("options", "privacy", "words"),
    [
        ({}, {"k": 3, "l": 2, "t": "0.5"}, "keeps l or t, not both"),
        ({"groups": "anatomy"}, {"k": 3, "t": "0.5"}, "these groups are there for l"),
        ({"hide_rows": True}, {"k": 3, "t": "0.5"}, "go without l and t"),
        ({"drawn": False}, {"k": 3, "t": "0.5"}, "t needs a randomized assignment"),
        ({"assignment": "shift"}, {"k": 3, "t": "0.5"}, "go without l and t"),
    ],
)
def test_what_does_not_go_together_is_refused(options: Any, privacy: Any, words: str) -> None:
    table, policy = sick(privacy=privacy, options=options)
    with pytest.raises(PolicyError, match=words):
        publish(table, policy.with_(accept=["all"]))


def test_an_engine_keeps_no_t(tmp_path: Path) -> None:
    table, policy = sick(privacy={"k": 3, "t": "0.5"})
    with pytest.raises(PolicyError, match="t"):
        publish(table, policy, tmp_path / "out", engine="duckdb")
