"""Totals of a release: against a naive count, their floor, what refuses them; values do not matter."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.night import combined

import incrowd as ic
from incrowd.encode import encode
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.totals import totals
from incrowd.schema import Role

LEVELS = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y", "f": "z"}


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, int]:
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["", *"123456789"]), st.sampled_from("ABCD"), st.sampled_from("abcdef")
            ),
            min_size=4,
            max_size=60,
        )
    )
    age, sex, place = zip(*rows, strict=True)
    k = draw(st.integers(2, 6))
    assume(len(rows) >= k)
    return Table.of({"age": age, "sex": sex, "place": place}), k


def policy(folder: Path, k: int, **more: object) -> Policy:
    (folder / "place.csv").write_text("".join(f"{leaf};{up};*\n" for leaf, up in LEVELS.items()))
    quasi = {"age": {"type": "numeric"}, "sex": {}, "place": {"hierarchy": "place.csv"}}
    parts = {"quasi_identifiers": quasi, "privacy": {"k": k}, "totals": True, **more}
    return Policy.from_dict(parts, folder)


def holds(column: str, cell: str, value: str) -> bool:
    """Does a cell of the file hold a value? By the words of the format, not by the program's reader."""
    if cell == "*":
        return True
    members = cell[1:-1].split("|") if cell.startswith("{") else [cell]
    if value == "":
        return "missing" in members
    for member in members:
        if member.startswith("["):
            low, high = member[1:-1].split(",")
            if float(low) <= float(value) <= float(high):
                return True
        elif member == value or (column == "place" and LEVELS[value] == member):
            return True
    return False


def width(column: str, cell: str) -> int:
    domain = {"age": ["", *"123456789"], "sex": list("ABCD"), "place": list("abcdef")}[column]
    return sum(holds(column, cell, value) for value in domain)


@given(tables())
def test_each_line_counts_those_whose_narrowest_cell_it_is(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[Table, int]
) -> None:
    table, k = drawn
    asked = policy(tmp_path_factory.mktemp("policy"), k)
    lines = list(totals(encode(table, asked.schema(table)), k))
    for column in table.names:
        mine = {str(cell): int(str(rows)) for name, cell, rows in lines if name == column}
        counted: Counter[str] = Counter()
        for value in table.column(column).rows():
            fitting = [cell for cell in mine if holds(column, cell, str(value))]
            counted[min(fitting, key=lambda cell: width(column, cell))] += 1
        assert mine == dict(counted)
        assert min(mine.values()) >= k
        assert sum(mine.values()) == len(table)


@given(tables())
def test_common_values_have_a_line_of_their_own(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[Table, int]
) -> None:
    table, k = drawn
    asked = policy(tmp_path_factory.mktemp("policy"), k)
    lines = {(name, cell) for name, cell, _ in totals(encode(table, asked.schema(table)), k)}
    count = Counter(map(str, table.column("sex").rows()))
    rest = sum(rows for rows in count.values() if rows < k)
    common = [value for value, rows in count.items() if rows >= k]
    lacking = [value for value in common if ("sex", value) not in lines]
    # only a rest that is too small takes a common value along, the smallest, and more only if it must
    assert len(lacking) <= (1 if 0 < rest < k else 0)
    assert all(count[value] == min(count[other] for other in common) for value in lacking)


def test_nobody_has_more_than_one_in_k_rows_of_a_line() -> None:
    table = Table.of({"id": [str(i // 3) for i in range(36)], "sex": ["ABC"[i // 12] for i in range(36)]})
    asked = Policy(quasi_identifiers=["sex"], entity="id", privacy={"k": 4}, totals=True)
    assert [line[1:] for line in totals(encode(table, asked.schema(table)), 4)] == [
        ("A", "12"),
        ("B", "12"),
        ("C", "12"),
    ]
    with pytest.raises(Infeasible, match="totals: somebody has 3 of 36 rows"):
        totals(encode(table, asked.schema(table)), 13)


def lines_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def patients(n: int = 60) -> Table:
    ages = [str(20 + i * 7 % 40) for i in range(n)]
    return Table.of(
        {"age": ages, "sex": ["FM"[i % 2] for i in range(n)], "ill": [str(i % 5) for i in range(n)]}
    )


@pytest.mark.parametrize(
    ("method", "format"),
    combined(["mondrian", "ring", "kfactor", "incognito", "transparent"], ["csv", "parquet"]),
)
def test_a_release_with_totals_is_written_and_verified_from_disk(
    tmp_path: Path, method: str, format: str
) -> None:
    asked = {
        "quasi_identifiers": {
            "age": {"hierarchy": {"intervals": [10, 20]}} if method == "incognito" else {},
            "sex": {},
        },
        "sensitive": ["ill"],
        "privacy": {"k": 4, **({"l": 2} if method == "transparent" else {})},
        "method": method,
        "totals": True,
        "descriptions": {"age": "Age in years | at admission"},
    }
    table = patients()
    written = ic.publish(table, asked, tmp_path / "release", format=format)
    assert ic.verify(written.folder, table, asked).passed  # type: ignore[attr-defined]
    assert ic.verify(written.folder, table).passed  # type: ignore[attr-defined]
    without = {**asked, "totals": False}
    assert not ic.verify(written.folder, table, without).passed  # type: ignore[attr-defined]
    stated = lines_of(tmp_path / "release" / "totals.csv")
    assert {line["value"]: line["rows"] for line in stated if line["column"] == "sex"} == {
        "F": "30",
        "M": "30",
    }
    assert r"Age in years \| at admission" in (tmp_path / "release" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("k", [3, 5])
def test_totals_are_about_as_many_persons_as_the_largest_k_that_is_promised(tmp_path: Path, k: int) -> None:
    """A ring of tuples of l persons promises a multiple of l."""
    table = Table.of({"age": list("11122233344455566677"), "ill": [str(i % 5) for i in range(20)]})
    asked = {
        "quasi_identifiers": {"age": {"type": "categorical"}},
        "sensitive": ["ill"],
        "privacy": {"k": k, "l": 2},
        "method": "ring",
        "totals": True,
    }
    ic.publish(table, asked, tmp_path / "release")
    stated = lines_of(tmp_path / "release" / "totals.csv")
    assert min(int(line["rows"]) for line in stated) >= k + 1


def test_totals_do_not_depend_on_sensitive_values(tmp_path: Path) -> None:
    """Whoever re-runs the program on other values gets the same totals: they say nothing about values."""
    one = patients()
    other = Table(one.names, (*one.columns[:2], one.columns[2].take(one.columns[2].codes[::-1].argsort())))
    asked = {
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["ill"],
        "privacy": {"k": 4, "l": 3},
        "totals": True,
    }
    for name, table in (("one", one), ("other", other)):
        ic.publish(table, asked, tmp_path / name)
    assert (tmp_path / "one" / "totals.csv").read_bytes() == (tmp_path / "other" / "totals.csv").read_bytes()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"method": "kja-direct", "public": {"table": "p.csv", "id": "id", "membership_secret": True}},
            "likelier",
        ),
        ({"privacy": {"k": 4, "plain": {"p": "0.9", "d": "0.9"}}}, "outliers"),
        ({"method": "anatomy", "privacy": {"k": 4, "l": 2}, "accept": ["exact-rows"]}, "exact"),
    ],
)
def test_totals_are_refused_where_they_would_say_more(more: dict[str, object], why: str) -> None:
    asked = {
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["ill"],
        "privacy": {"k": 4},
        "totals": True,
        **more,
    }
    with pytest.raises(PolicyError, match=f"totals: .*{why}"):
        ic.publish(patients(), asked)


def test_a_description_is_one_printable_line_for_a_published_column() -> None:
    with pytest.raises(PolicyError, match="one line of text"):
        Policy(quasi_identifiers=["age"], descriptions={"age": "two\nlines"})
    with pytest.raises(PolicyError, match="not in the table: ag"):
        Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], descriptions={"ag": "x"}).schema(
            patients()
        )


def test_a_public_hierarchy_is_part_of_the_release(tmp_path: Path) -> None:
    places = list("aaaabbbbccccdddd")
    table = Table.of({"place": places, "ill": [str(i % 4) for i in range(16)]})
    for public, labels in ((False, {"x", "y"}), (True, {*LEVELS, "x", "y", "z"})):
        asked = policy(tmp_path, 8, sensitive=["ill"], totals=False)
        quasi = {"place": {"hierarchy": "place.csv", "public": public}}
        asked = Policy.from_dict({**asked.to_dict(), "quasi_identifiers": quasi}, tmp_path)
        ic.publish(table, asked, tmp_path / f"release-{public}")
        lines = lines_of(tmp_path / f"release-{public}" / "hierarchies.csv")
        assert {line["label"] for line in lines} == labels
        assert ic.verify(tmp_path / f"release-{public}", table, asked).passed
    assert asked.schema(table).having(Role.QUASI)[0].public
