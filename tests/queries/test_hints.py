"""Hints for values that a release does not name: what was meant, and nothing that is not published."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import incrowd

import incrowd as ic
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.queries import Queryable
from incrowd.queries.hints import likely, one_edit

SECRET = "Secretia"  # a country of one: no cell, total or hierarchy may name it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = 60
    table = Table.of(
        {
            "age": [str(20 + i % 30) for i in range(rows)],
            "Sex": ["Male" if i % 2 else "Female" for i in range(rows)],
            "country": [
                SECRET if not i else ("Chile", "Norway", "Finland")[i % 10 and 1 + i % 2] for i in range(rows)
            ],
            "ill": [("asthma", "flu", "hay fever")[i % 3] for i in range(rows)],
        }
    )
    quasi = {"age": {"type": "numeric"}, "Sex": {}, "country": {}}
    said = {"quasi_identifiers": quasi, "sensitive": ["ill"], "privacy": {"k": 5}, "totals": True}
    home = tmp_path_factory.mktemp("hints")
    policy = Policy.from_dict({**said, "method": "single"})
    ic.publish(table, policy, home / "release")
    return home / "release"


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("Sex = 'male'", "'Male'"),
        ("Sex = 'F'", "'Female'"),
        ("Sex = ' Male '", "'Male'"),
        ("Sex = 'Mael'", "'Male'"),
        ("Sex = 'FEMALES'", "'Female'"),
        ("Sex IN ('Male', 'femal')", "'Female'"),
        ("Sex <> 'male'", "'Male'"),
        ("Sex = 2", "it has 'Female', 'Male'"),
        ("ill = 'hayfever'", "'hay fever'"),
        ("ill = 'Asthma'", "'asthma'"),
    ],
)
def test_a_value_that_is_not_named_gets_what_was_meant(folder: Path, condition: str, meant: str) -> None:
    answer = ic.query(folder, f"SELECT COUNT(*) WHERE {condition}")
    (hint,) = answer.hints
    assert meant in hint
    assert hint in answer.headline()
    assert answer.to_dict()["hints"] == [hint]
    words = ("query", folder, f"SELECT COUNT(*) WHERE {condition}")
    assert incrowd(*words, "--json").json["hints"] == [hint]
    assert hint in incrowd(*words).out


def test_nobody_is_told_zero_without_the_reason(folder: Path) -> None:
    ran = incrowd("query", folder, "SELECT COUNT(*) WHERE Sex = 'male'")
    first, second, *_ = ran.out.splitlines()
    assert first == "COUNT: exactly 0, because the release has no such value"
    assert "did you mean 'Male'?" in second


def test_a_range_outside_all_cells_is_called_that(folder: Path) -> None:
    (hint,) = ic.query(folder, "SELECT COUNT(*) WHERE age > 200").hints
    assert "from 20 to 49" in hint
    assert ic.query(folder, "SELECT COUNT(*) WHERE age BETWEEN 30 AND 40 AND Sex = 'Male'").hints == ()


def test_hints_never_name_what_is_not_published(folder: Path) -> None:
    published = "".join(path.read_text() for path in folder.glob("*.csv"))
    assert SECRET not in published
    asked = [SECRET.lower(), SECRET[:-1], SECRET, "norwya", "finlan"]
    hints = [ic.query(folder, f"SELECT COUNT(*) WHERE country = '{text}'").hints for text in asked]
    assert all(f"did you mean {SECRET!r}" not in hint for found in hints for hint in found)
    named = {part for found in hints for hint in found for part in hint.split("'")[3::2]}
    assert named == {"Norway", "Finland"}
    assert all(name in published for name in named)


@given(
    st.text(st.characters(codec="utf-8"), max_size=8), st.lists(st.text(min_size=1, max_size=8), max_size=6)
)
def test_what_is_proposed_is_one_of_the_names(text: str, names: list[str]) -> None:
    assert set(likely(text, names)) <= set(names)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_one_edit_is_what_trying_all_edits_finds(one: str, other: str) -> None:
    signs = "abc"
    cuts = [(one[:i], one[i:]) for i in range(len(one) + 1)]
    tried = {one}
    tried |= {a + b[1:] for a, b in cuts if b} | {a + c + b for a, b in cuts for c in signs}
    tried |= {a + c + b[1:] for a, b in cuts for c in signs if b}
    tried |= {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    assert one_edit(one, other) == (other in tried)


# GROUP BY


def test_groups_have_a_headline_of_their_own(folder: Path) -> None:
    sql = "SELECT COUNT(*) WHERE age < 33 GROUP BY ill"
    answer = Queryable.load(folder).ask(sql)
    certain = sum(one.exact for one in answer.groups.values())
    assert answer.headline().startswith(f"COUNT by ill: 3 groups, {certain or 'none'} of them")
    assert answer.to_dict()["by"] == "ill"
    shown = incrowd("query", folder, sql).out
    assert shown.startswith(answer.headline())
    assert "how many people fit the condition is certain" not in shown
    assert "no region" not in shown
    lines = [line.split() for line in shown.splitlines()]
    for value, one in answer.groups.items():
        (line,) = [cells for cells in lines if cells[: len(value.split())] == value.split()]
        assert [f"{one.lower:,}", f"{one.upper:,}"] == line[len(value.split()) :][:2]
        assert one.interval is not None
        assert one.lower <= one.interval[0] <= one.estimate <= one.interval[1] <= one.upper  # type: ignore[operator]


def test_groups_that_are_all_exact_say_so(folder: Path) -> None:
    assert (
        ic.query(folder, "SELECT COUNT(*) GROUP BY ill").headline()
        == "COUNT by ill: 3 groups, all of them exact"
    )
