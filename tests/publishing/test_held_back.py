"""Columns that are not published, near-unique ones that are refused, and columns that say nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd

from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Exposure, PolicyError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.schema import Role

ROWS = 120
COLUMNS = {
    "age": [str(20 + i % 40) for i in range(ROWS)],
    "q17": [str(i % 5) for i in range(ROWS)],
    "colour": [["red", "blue"][i % 2] for i in range(ROWS)],
    "income": [str(1000 * (i % 9)) for i in range(ROWS)],
}
TABLE = Table.of(COLUMNS)


def asked(**more: Any) -> dict[str, Any]:
    return {"quasi_identifiers": ["age"], "sensitive": ["income"], "privacy": {"k": 5}, **more}


def written(folder: Path) -> Path:
    lines = [",".join(COLUMNS), *(",".join(row) for row in zip(*COLUMNS.values(), strict=True))]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "p.toml").write_text(
        'quasi_identifiers = ["age"]\nsensitive = ["income"]\nundecided = ["q17"]\n[privacy]\nk = 5\n',
        encoding="utf-8",
    )
    return folder


def test_undecided_columns_are_not_published_and_that_is_said() -> None:
    release = publish(TABLE, asked(undecided=["q17", "colour"]))
    assert release.table.names == ("age", "income")
    assert any(re.match("not published: q17, colour; undecided", line) for line in release.warnings)
    assert release.to_dict()["warnings"] == list(release.warnings)


def test_undecided_columns_stay_so_when_a_release_is_verified_again(tmp_path: Path) -> None:
    policy = asked(undecided=["q17"], drop=["colour"])
    publish(TABLE, policy, tmp_path / "out")
    assert verify(tmp_path / "out", TABLE).passed
    assert verify(tmp_path / "out", TABLE, policy).passed
    assert "q17" not in (tmp_path / "out" / "release.json").read_text(encoding="utf-8")


def test_a_column_cannot_be_undecided_and_something_else() -> None:
    with pytest.raises(PolicyError, match="two roles: sensitive and undecided"):
        Policy.from_dict(asked(undecided=["income"]))


def test_the_rest_is_dropped_where_the_policy_says_so() -> None:
    with pytest.raises(PolicyError, match=r"2 columns have no role.*\n.*rest = .drop.*drop_rest=True"):
        publish(TABLE, asked())
    for release in (publish(TABLE, asked(rest="drop")), publish(TABLE, asked(), drop_rest=True)):
        assert release.table.names == ("age", "income")
        assert any("not published: q17, colour; the policy does not mention" in w for w in release.warnings)
    schema = Policy.from_dict(asked(rest="drop")).schema(TABLE)
    assert [column.role for column in schema.columns] == [Role.QUASI, Role.DROP, Role.DROP, Role.SENSITIVE]
    with pytest.raises(PolicyError, match="rest must be one of"):
        Policy.from_dict(asked(rest="keep"))


def test_drop_rest_on_the_command_line(tmp_path: Path) -> None:
    place = written(tmp_path)
    words = (place / "t.csv", "-p", place / "p.toml", "-o", place / "out")
    refused = incrowd("publish", *words)
    assert refused.code == 2
    assert "--drop-rest" in refused.err
    assert "1 columns have no role" in refused.err
    ran = incrowd("publish", *words, "--drop-rest")
    assert ran.code == 0
    assert "not published: q17; undecided" in ran.out
    assert "not published: colour; the policy does not mention" in ran.out
    again = ("verify", place / "out", "--original", place / "t.csv", "-p", place / "p.toml")
    assert incrowd(*again).code == 2
    assert incrowd(*again, "--drop-rest").code == 0
    assert (place / "out" / "data.csv").read_text(encoding="utf-8").splitlines()[0] == "age,income"


def with_incomes(alone: int) -> Table:
    """So many rows have an income of their own."""
    return Table.of({**COLUMNS, "income": [str(10_000 + i if i < alone else 7) for i in range(ROWS)]})


@pytest.mark.parametrize(("alone", "refused"), [(61, True), (60, False), (19, False)])
def test_near_unique_sensitive_columns_are_refused_unless_accepted(alone: int, refused: bool) -> None:
    policy = asked(rest="drop")
    if refused:
        with pytest.raises(Exposure, match=f"income is sensitive .* {alone} of {ROWS} rows") as problem:
            publish(with_incomes(alone), policy)
        assert problem.value.name == "near-unique-sensitive"
        policy["accept"] = ["near-unique-sensitive"]
    release = publish(with_incomes(alone), policy)
    assert any("income" in line and "nobody else's" in line for line in release.warnings) == (alone >= 20)


def test_in_few_rows_values_of_ones_own_say_nothing() -> None:
    few = Table.of({"age": ["1", "2", "3", "4"], "ill": ["a", "b", "c", "d"]})
    assert publish(few, quasi_identifiers=["age"], sensitive=["ill"], k=2).warnings == ()


def test_a_verifier_with_a_policy_refuses_what_publish_would(tmp_path: Path) -> None:
    policy = asked(rest="drop")
    publish(with_incomes(100), {**policy, "accept": ["near-unique-sensitive"]}, tmp_path / "out")
    with pytest.raises(Exposure, match="income is sensitive"):
        verify(tmp_path / "out", with_incomes(100), policy)


DAYS = Table.of(
    {
        "born": [f"{1930 + (7 * i) % 80}-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(ROWS)],
        "sex": [["F", "M"][i % 2] for i in range(ROWS)],
        "ill": [["flu", "cold"][i // 2 % 2] for i in range(ROWS)],
    }
)


def test_columns_that_say_nothing_are_named_with_a_remedy() -> None:
    ladder = {"hierarchy": {"dates": ["month", "quarter", "year"]}}
    release = publish(DAYS, quasi_identifiers={"born": ladder, "sex": {}}, sensitive=["ill"], k=10)
    assert set(release.table.column("born").texts) == {"*"}
    assert any(
        line
        == "born says nothing in 100% of the rows; leave out its hierarchy (ranges say more), begin it with "
        "longer steps, or drop the column"
        for line in release.warnings
    )
    assert release.to_dict()["says_nothing"] == {"born": 1.0, "sex": 0.0}
    ranges = publish(DAYS, quasi_identifiers={"born": {}, "sex": {}}, sensitive=["ill"], k=10)
    assert ranges.to_dict()["says_nothing"]["born"] == 0
    assert not any("says nothing" in line for line in ranges.warnings)


def test_the_share_of_silent_cells_is_that_of_the_published_rows() -> None:
    """Ranges over the whole domain and sets of all values say as little as a star."""
    two = Table.of({"a": ["1", "9"] * 20, "b": ["x", "y"] * 20, "ill": ["flu", "cold"] * 20})
    release = publish(two, quasi_identifiers=["a", "b"], sensitive=["ill"], k=40)
    assert set(release.table.column("a").texts) == {"[1,9]"}
    assert release.to_dict()["says_nothing"] == {"a": 1.0, "b": 1.0}
    lone = Table.of({"a": ["1"] * 40, "b": ["x", "y"] * 20, "ill": ["flu", "cold"] * 20})
    assert publish(lone, quasi_identifiers=["a", "b"], sensitive=["ill"], k=2).to_dict()["says_nothing"] == {
        "a": 0.0,  # there is nothing to be said
        "b": 0.0,
    }
