"""Queries on a release that states totals: bounds stay true, whole lines are exact, estimates add up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.commands import incrowd

import incrowd as ic
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.queries import Queryable

LEVELS = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y", "f": "z", "g": "z", "h": "z"}
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["", *map(str, range(1, 30))]), st.sampled_from("ABCD"), st.sampled_from("abcdefgh")
    ),
    min_size=8,
    max_size=80,
)
CONDITIONS = st.sampled_from(
    [
        *("age <= 12", "age BETWEEN 5 AND 17", "age > 20", "age = 7", "age <> 7"),
        *("sex = 'A'", "sex <> 'B'", "sex IN ('A', 'C')", "sex = 'never'"),
        *(
            "place = 'a'",
            "place = 'x'",
            "place <> 'c'",
            "place IN ('a', 'y')",
            "place = 'never'",
            "place <> 'never'",
        ),
    ]
)


def truth(row: tuple[str, str, str], condition: str) -> bool:
    """Python's own reading of the few conditions above; a missing value satisfies none."""
    age, sex, place = row
    name = condition.split()[0]
    value = {"age": age, "sex": sex, "place": place}[name]
    if value == "":
        return False
    text = condition.replace("<>", "!=").replace(" = ", " == ").replace("IN", "in")
    if "BETWEEN" in text:
        text = "5 <= age <= 17"
    if name == "place":
        own = {value, LEVELS[value]}
        asked = set(text.split("'")[1::2])
        return bool(own & asked) if "!=" not in text else not own & asked
    return bool(eval(text, {}, {"age": int(age or 0), "sex": sex}))


def released(folder: Path, rows: list[tuple[str, str, str]], k: int, public: bool) -> Queryable:
    (folder / "place.csv").write_text("".join(f"{leaf};{up};*\n" for leaf, up in LEVELS.items()))
    quasi = {"age": {"type": "numeric"}, "sex": {}, "place": {"hierarchy": "place.csv", "public": public}}
    policy = Policy.from_dict({"quasi_identifiers": quasi, "privacy": {"k": k}, "totals": True}, folder)
    age, sex, place = zip(*rows, strict=True)
    ic.publish(Table.of({"age": age, "sex": sex, "place": place}), policy, folder / "release")
    return Queryable.load(folder / "release")


@settings(max_examples=50)
@given(
    rows=ROWS,
    k=st.integers(2, 5),
    conditions=st.lists(CONDITIONS, min_size=1, max_size=3),
    public=st.booleans(),
)
def test_the_truth_is_within_bounds_and_so_is_the_estimate(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str]],
    k: int,
    conditions: list[str],
    public: bool,
) -> None:
    assume(len(rows) >= k)
    release = released(tmp_path_factory.mktemp("release"), rows, k, public)
    answer = release.ask("SELECT COUNT(*) WHERE " + " AND ".join(conditions))
    count = sum(all(truth(row, condition) for condition in conditions) for row in rows)
    assert answer.lower is not None
    assert answer.upper is not None
    assert answer.lower <= count <= answer.upper  # type: ignore[operator]
    if answer.estimate is not None:
        assert answer.lower <= answer.estimate <= answer.upper  # type: ignore[operator]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[tuple[str, str, str]], Queryable]:
    """Most are 20, few are old; most live at a."""
    rows = [
        (str(20 if i % 3 else 20 + i % 29), "AB"[i % 7 == 0], "aaaaabcdefgh"[i * 5 % 12]) for i in range(400)
    ]
    return rows, released(tmp_path_factory.mktemp("release"), rows, 10, False)


@pytest.mark.parametrize("condition", ["sex = 'A'", "place = 'a'", "place = 'x'", "place <> 'y'"])
def test_a_condition_of_whole_lines_is_answered_exactly(
    release: tuple[list[tuple[str, str, str]], Queryable], condition: str
) -> None:
    rows, asked = release
    answer = asked.ask(f"SELECT COUNT(*) WHERE {condition}")
    assert answer.exact
    assert answer.lower == sum(truth(row, condition) for row in rows)


def test_cells_that_are_cut_are_not_denied_where_totals_settle_the_count(tmp_path: Path) -> None:
    rows = [(str(20 + i % 40), "AB"[i % 2], "abc"[i % 3]) for i in range(240)]
    released(tmp_path, rows, 40, False)
    asked = "SELECT COUNT(*) WHERE place = 'a'"
    answer = ic.query(tmp_path / "release", asked)
    assert answer.exact
    assert answer.rows > 80  # rows of other places may count as well: cells are cut
    shown = incrowd("query", tmp_path / "release", asked).out
    assert "cuts no cell" not in shown
    assert f"how many people fit the condition is certain; rows that may count: {answer.rows}" in shown


def test_estimates_follow_the_totals_and_not_the_width_of_cells(
    release: tuple[list[tuple[str, str, str]], Queryable],
) -> None:
    rows, asked = release
    average = asked.ask("SELECT AVG(age)")
    assert average.estimate == pytest.approx(sum(int(row[0]) for row in rows) / len(rows), abs=0.5)
    assert "totals" in average.assumption
    both = asked.ask("SELECT COUNT(*) WHERE age = 20 AND place = 'a'")
    count = sum(row[0] == "20" and row[2] == "a" for row in rows)
    assert both.estimate == pytest.approx(count, rel=0.15)


def test_a_value_without_a_name_has_bounds_and_no_estimate(
    release: tuple[list[tuple[str, str, str]], Queryable],
) -> None:
    answer = release[1].ask("SELECT COUNT(*) WHERE place = 'nowhere'")
    assert answer.estimate is None
    assert answer.lower == 0


def test_a_value_that_only_totals_name_is_counted_by_them(tmp_path: Path) -> None:
    """All cells are `*`, so no cell names the city."""
    table = Table.of({"sex": ["F"] * 5 + ["M"] * 5, "city": ["a", "b"] * 5})
    said = {"quasi_identifiers": {"sex": {}, "city": {}}, "privacy": {"k": 5}, "totals": True}
    ic.publish(table, Policy.from_dict({**said, "method": "single"}), tmp_path / "release")
    assert "*,\n" not in (tmp_path / "release" / "data.csv").read_text()
    release = Queryable.load(tmp_path / "release")
    for name, value in (("sex", "F"), ("city", "a")):
        answer = release.ask(f"SELECT COUNT(*) WHERE {name} = '{value}'")
        assert (answer.lower, answer.upper, answer.hints) == (5, 5, ())
