"""What columns say about each other: siblings, redundancy, and sensitive columns that isolate people."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.commands.inspect.policy_text import policy_text
from incrowd.commands.inspect.profile import profiled
from incrowd.commands.inspect.relations import redundant, rows_alone_in, siblings
from incrowd.flow import Table
from incrowd.schema import Role

STEPS = frozenset({"No", "Up", "Steady"})
Q, S, U = Role.QUASI, Role.SENSITIVE, Role.UNDECIDED


@pytest.mark.parametrize(
    ("roles", "values", "found"),
    [
        ({"metformin": S, "acarbose": S, "x": U}, STEPS, {"x": (S, "metformin")}),
        ({"metformin": S, "x": U}, STEPS, {}),  # two are no family
        ({"metformin": S, "acarbose": Q, "x": U}, STEPS, {}),  # they do not agree
        ({"smoker": S, "pregnant": S, "x": U}, frozenset({"yes", "no"}), {}),  # anything is yes or no
        ({"score_a": S, "score_b": S, "x": U}, frozenset({"1", "2", "3"}), {}),
        (
            {"item1": S, "item2": U, "item3": U},
            frozenset({"1", "2"}),
            {"item2": (S, "item1"), "item3": (S, "item1")},
        ),
    ],
)
def test_siblings(roles: dict[str, Role], values: frozenset[str], found: dict[str, tuple[Role, str]]) -> None:
    assert siblings(roles, dict.fromkeys(roles, values)) == found


CODES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=4, max_size=60)


@settings(deadline=None)
@given(CODES)
def test_redundancy_by_its_definition(pairs: list[tuple[int, int]]) -> None:
    """One column says another if it does in 95 % of the rows, and 90 % of the error of guessing is gone."""
    one, other = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    n = len(pairs)
    right = 0
    for value in {a for a, _ in pairs}:
        most = max(Counter(b for a, b in pairs if a == value).values())
        right += most if most >= 2 else 0
    blind = max(Counter(b for _, b in pairs).values())
    says = blind < n and right >= 0.95 * n and (n - right) <= 0.1 * (n - blind) + 1e-9
    finer = len(set(one.tolist())) >= len(set(other.tolist()))
    if finer:
        assert redundant({"one": one, "other": other}) == ({"other": "one"} if says else {})
    else:
        assert "other" not in redundant({"one": one, "other": other})


def test_the_finer_column_stays_and_values_of_one_row_say_nothing() -> None:
    district = np.arange(400, dtype=np.int32) % 20
    region, everyone = district // 5, np.arange(400, dtype=np.int32)
    assert redundant({"region": region, "district": district}) == {"region": "district"}
    assert redundant({"everyone": everyone, "region": region}) == {}
    same = {"a": region, "b": 3 - region}
    assert redundant(same) == {"b": "a"}  # of two that say the same, the first


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40))
def test_rows_alone_by_their_definition(rows: list[tuple[int, int, int]]) -> None:
    a, b, persons = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    holders: dict[tuple[int, int], set[int]] = {}
    for x, y, person in rows:
        holders.setdefault((x, y), set()).add(person)
    expected = sum(len(holders[x, y]) == 1 for x, y, _ in rows)
    assert rows_alone_in([a, b], persons.astype(np.int64)) == expected


def test_sensitive_columns_that_isolate_are_said() -> None:
    n = 200
    table = Table.of(
        {
            "age": [str(20 + i % 5) for i in range(n)],
            "income": [str(i if i < 30 else 1000 + i % 3) for i in range(n)],  # 30 rows have their own
            "rent": [str(i % 17) for i in range(n)],
            "debt": [str(i % 13) for i in range(n)],  # rent and debt together are everybody's own
        }
    )
    profile = profiled(table)
    found = {one.columns: one.unique for one in profile.isolating}
    assert found[("income",)] == 30
    assert found[("rent", "debt")] == n
    text = policy_text(profile)
    assert "# Whoever knows income finds 15% of the rows, since these are published unchanged." in text
    assert "# Whoever knows rent and debt finds 100% of the rows" in text


def test_nothing_is_said_where_nobody_is_isolated() -> None:
    table = Table.of({"age": ["1", "2"] * 50, "income": ["10", "20"] * 50})
    assert profiled(table).isolating == ()
