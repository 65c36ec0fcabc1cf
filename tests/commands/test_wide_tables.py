"""Wide tables that nobody prepared, from `inspect` to a release, as a new user goes about it."""

from __future__ import annotations

import csv
import re
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.commands import incrowd
from support.roles_by_hand import Judged, Scores, wide_tables

from incrowd.commands.inspect.profile import Profile, profiled
from incrowd.flow import Table
from incrowd.schema import Kind, Role

WRITTEN = {"hospital": (";", "utf-8"), "staff": (";", "cp1252")}  # how people export them; else plainly
TABLES = wide_tables()
DAYS = re.compile(r"\d{4}-\d\d-\d\d|\[\d{4}-\d\d-\d\d,\d{4}-\d\d-\d\d\]|missing")


@cache
def inspected(name: str) -> Profile:
    return profiled(Table.of({column: values for column, values, _ in TABLES[name]}))


def judged(name: str) -> list[Judged]:
    found = {column.name: column.role for column in inspected(name).columns}
    return [Judged(f"{name} {column}", letters, found[column]) for column, _, letters in TABLES[name]]


def test_roles_reach_the_bar() -> None:
    scores = Scores.of(one for name in TABLES for one in judged(name))
    assert scores.quasi[0] >= 0.95 * scores.quasi[1], scores.wrong
    assert scores.known[0] >= 0.95 * scores.known[1], scores.wrong
    assert scores.sensitive[0] >= 0.9 * scores.sensitive[1], scores.wrong
    assert scores.identifiers[0] == scores.identifiers[1], scores.wrong
    assert scores.raw == (0, scores.raw[1]), scores.wrong


def exported(folder: Path, name: str) -> Path:
    sign, encoding = WRITTEN.get(name, (",", "utf-8"))
    path = folder / f"{name}.csv"
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=sign)
        writer.writerow([column for column, _, _ in TABLES[name]])
        writer.writerows(zip(*(values for _, values, _ in TABLES[name]), strict=True))
    return path


@pytest.mark.parametrize("name", TABLES)
def test_what_is_suggested_is_published_without_a_change(tmp_path: Path, name: str) -> None:
    table, policy, release = exported(tmp_path, name), tmp_path / "p.toml", tmp_path / "release"
    looked = incrowd("inspect", table, "-o", policy)
    assert looked.code == 0, looked.err
    ran = incrowd("publish", table, "-p", policy, "-o", release)
    assert ran.code == 0, ran.err
    with (release / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = {column for column, _, letters in TABLES[name] if column in rows[0]}
    named = {column for column, _, letters in TABLES[name] if letters[0] in "ID"}
    assert not shown & named
    dates = [c.name for c in inspected(name).columns if c.kind is Kind.DATE and c.role is Role.QUASI]
    assert all(DAYS.fullmatch(row[column]) for row in rows for column in dates)
    for column in shown:
        assert any(row[column] != "*" for row in rows), column


# Moments


def test_moments_are_days_in_the_suggested_policy_and_that_is_said(tmp_path: Path) -> None:
    """Whoever accepts the suggestions gets ranges of days, not sets of exact moments."""
    table, policy = exported(tmp_path, "hospital"), tmp_path / "p.toml"
    said = " ".join(incrowd("inspect", table, "-o", policy).out.split())
    assert "Entlassungszeitpunkt: read as date yyyy-mm-dd, times of day left out, though they differ" in said
    described = tomllib.loads(policy.read_text(encoding="utf-8"))["quasi_identifiers"]["Entlassungszeitpunkt"]
    assert described == {"type": "date", "format": "yyyy-mm-dd time"}


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([f"0{i % 9 + 1}/0{i // 9 + 1}/20{i % 20 + 10}" for i in range(80)], "day and month"),
        ([f"2023-01-{i % 28 + 1:02}T0{i % 9}:{i % 60:02}:00+0{i % 2}:00" for i in range(80)], "time zones"),
        ([f"{i % 28 + 1:02}-Jan-{i % 60 + 10}" for i in range(80)], "century"),
    ],
)
def test_a_date_that_can_be_read_in_two_ways_is_held_back_until_somebody_says(
    texts: list[str], why: str, tmp_path: Path
) -> None:
    """It is neither guessed nor published as so many texts."""
    table = Table.of({"seen": texts, "age": [str(20 + i % 40) for i in range(80)]})
    seen, _ = profiled(table).columns
    assert seen.role is Role.UNDECIDED
    assert why in seen.reason
    path, policy = tmp_path / "t.csv", tmp_path / "p.toml"
    path.write_text("seen,age\n" + "".join(f"{day},{20 + i % 40}\n" for i, day in enumerate(texts)))
    said = " ".join(incrowd("inspect", path, "-o", policy).out.split())
    assert f"To be decided: seen: {seen.note}" in said
    assert all(f"#   seen = {way}" in policy.read_text() for way in seen.readings)
    assert seen.readings


def test_moments_of_one_day_say_the_same() -> None:
    """The day on which a call ends adds nothing to that on which it began."""
    begun = [f"2023-{i % 9 + 1:02}-{i % 25 + 1:02} {i % 20:02}:{i % 60:02}" for i in range(900)]
    ended = [moment.replace(":", f":{i % 4}")[:-1] for i, moment in enumerate(begun)]
    found = roles_of(begun=begun, ended=ended, age=[str(20 + i % 41) for i in range(900)])
    assert found == {"begun": Role.QUASI, "ended": Role.DROP, "age": Role.QUASI}


def test_nobody_is_asked_how_to_read_what_is_never_published(tmp_path: Path) -> None:
    """The numbers of cases may be seconds since 1970; they are not published either way."""
    path = tmp_path / "t.csv"
    path.write_text("case_no,age\n" + "".join(f"{1_700_000_000 + 7 * i},{20 + i % 40}\n" for i in range(80)))
    said = incrowd("inspect", path).out
    assert "identifier" in said
    assert "To be decided" not in said


def test_a_birth_date_keeps_something_to_say(tmp_path: Path) -> None:
    draw = Random(4)
    days = [
        f"{draw.randrange(1, 29):02}/{draw.randrange(1, 13):02}/{draw.randrange(1930, 2010)}"
        for _ in range(600)
    ]
    path, policy = tmp_path / "t.csv", tmp_path / "p.toml"
    path.write_text(
        "birth_date,sex,diagnosis\n"
        + "".join(f"{d},{'FM'[i % 2]},{'abc'[i % 3]}\n" for i, d in enumerate(days))
    )
    assert incrowd("inspect", path, "-o", policy).code == 0
    assert '"year", "5 years", "10 years"' in policy.read_text()  # offered, not used
    ran = incrowd("publish", path, "-p", policy, "-o", tmp_path / "r", "--json")
    assert ran.json["says_nothing"]["birth_date"] == 0


def test_the_warning_about_too_much_detail_is_the_same_before_and_after(tmp_path: Path) -> None:
    """However dates and numbers are written: their detail is counted, not that of their texts."""
    table, policy = exported(tmp_path, "hospital"), tmp_path / "p.toml"
    before = incrowd("inspect", table, "-o", policy, "--json").json["demand"]
    ran = incrowd("publish", table, "-p", policy, "-o", tmp_path / "r")
    (said,) = re.findall(r"quasi-identifiers hold ([\d.]+) bits", " ".join(ran.out.split()))[:1]
    assert f"{before['asked']:.1f}" == said


# What else was misread


def roles_of(**columns: list[str]) -> dict[str, Role]:
    return {column.name: column.role for column in profiled(Table.of(columns)).columns}


def test_sex_and_age_never_give_way_to_a_column_that_happens_to_determine_them() -> None:
    sex = ["F", "M"] * 100
    cycle = [str(1 + i % 29) if i % 2 == 0 else "" for i in range(200)]
    found = roles_of(sex=sex, cycle=cycle, city=[f"town {i % 7}" for i in range(200)])
    assert found["sex"] is Role.QUASI
    twice = roles_of(sex=sex, gender=["female", "male"] * 100)
    assert sorted(twice.values()) == [Role.DROP, Role.QUASI]


def test_a_weight_that_is_nobodys_is_one_of_the_sample() -> None:
    age = [str(20 + i % 50) for i in range(300)]
    for numbers, role in (
        ([f"{0.5 + i % 97 / 100}" for i in range(300)], Role.DROP),
        ([f"{1500 + 7 * (i % 97)}" for i in range(300)], Role.DROP),
        ([f"{50 + i % 60}" for i in range(300)], Role.SENSITIVE),
        ([f"{110 + i % 97}" for i in range(300)], Role.SENSITIVE),  # pounds
    ):
        assert roles_of(weight=numbers, age=age)["weight"] is role


def test_amounts_are_numbers_also_where_the_name_is_that_of_a_code() -> None:
    amounts = [str(37 * i % 5003) for i in range(3000)]
    table = Table.of({"unemployment": amounts, "occupation": [str(100 + i % 90) for i in range(3000)]})
    assert [column.kind for column in profiled(table).columns] == [Kind.NUMERIC, Kind.CATEGORICAL]


def test_several_rows_of_one_id_are_one_person() -> None:
    assert (
        roles_of(id=[str(i // 2) for i in range(200)], age=[str(i % 60) for i in range(200)])["id"]
        is Role.ENTITY
    )


def survey(questions: int, rows: int = 200) -> dict[str, list[str]]:
    draw = Random(9)
    answers = {
        f"q{i}": [draw.choice(["-9", "-8", *"12345"]) for _ in range(rows)] for i in range(1, questions + 1)
    }
    born = {"q_born": [str(1930 + draw.randrange(70)) for _ in range(rows)]}
    return {"age": [str(18 + draw.randrange(70)) for _ in range(rows)], **answers, **born}


def test_codes_below_zero_that_many_columns_have_mean_missing() -> None:
    profile = profiled(Table.of(survey(6)))
    assert profile.missing == ("-8", "-9")
    assert all(column.distinct == 5 for column in profile.columns if re.fullmatch(r"q\d", column.name))
    balance = {"balance": [str(i % 30 - 12) for i in range(200)]}  # here -9 is a number like any other
    assert profiled(Table.of({**survey(6), **balance})).missing == ()
    assert profiled(Table.of(survey(2))).missing == ()


def test_many_numbered_columns_are_named_as_one_series(tmp_path: Path) -> None:
    columns = survey(120, 60)
    path, policy = tmp_path / "t.csv", tmp_path / "p.toml"
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    said = incrowd("inspect", path, "-o", policy).out
    assert "until you say what they are: q1 to q120" in " ".join(said.split())
    assert "Taken for missing: -8, -9" in said
    ran = incrowd("publish", path, "-p", policy, "-o", tmp_path / "r")
    assert ran.code == 0
    assert ran.out.count("q60") == 0
    assert "not published: q1 to q120" in " ".join(ran.out.split())


# The headline


def related(rows: int) -> dict[str, list[str]]:
    """People whose scores hang together, and on what is known about them."""
    draw = Random(2)
    able = [draw.gauss(0, 1) for _ in range(rows)]
    ages = [min(79, max(18, round(45 + 10 * a + draw.gauss(0, 8)))) for a in able]
    return {
        "seen": [
            f"{draw.randrange(1, 29):02}.{draw.randrange(1, 13):02}.2023 {draw.randrange(24):02}:15"
            for _ in able
        ],
        "age": [str(age) for age in ages],
        "sex": [draw.choice("FM") for _ in able],
        "region": [f"R{min(5, max(0, round(2.5 + a)))}" for a in able],
        **{
            f"{name}_score": [str(round(50 + 12 * a + draw.gauss(0, 5))) for a in able]
            for name in ("mathematics", "reading", "science")
        },
    }


def test_a_release_of_the_suggestions_is_useful_and_its_headline_is_true(tmp_path: Path) -> None:
    columns = related(5000)
    path, policy, release = tmp_path / "t.csv", tmp_path / "p.toml", tmp_path / "r"
    lines = [";".join(columns), *(";".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    assert incrowd("inspect", path, "-o", policy).code == 0
    shown = " ".join(incrowd("publish", path, "-p", policy, "-o", release).out.split())
    found: dict[str, Any] = incrowd("measure", release, "--original", path, "--json").json["two_way"]
    assert found["error"] <= 0.025
    assert found["skill"] >= 0.65
    sentence = f"In a two-column table {100 * found['error']:.1f} % of people stand in the wrong cell"
    assert sentence in shown
    assert shown.index(sentence) < shown.index("information loss (GCP)")  # the honest figure first
