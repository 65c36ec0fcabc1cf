"""Workloads: what is read, the truth against a slow twin, errors by hand, and what the command says."""

from __future__ import annotations

import json
import random
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd
from twins import query as naive

from incrowd import Policy, publish
from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.predicate.sql import parse
from incrowd.queries import Queryable
from incrowd.queries.workload import Original, WeightedQuery, Workload, relative_errors

PLACES = {"Ulm": "DE", "Bonn": "DE", "Nice": "FR", "Lyon": "FR", "?": "FR"}
UNDER = {"DE": ["Ulm", "Bonn"], "FR": ["Nice", "Lyon"]}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN")
LITERALS: dict[str, list[Any]] = {
    "age": [19, 25, Fraction("30.5"), 31, 44, 60],
    "born": [date(2024, 2, day) for day in (1, 3, 9, 28)],
    "seen": [date(2024, 2, day) for day in (1, 3, 9, 28)],
    "sex": ["F", "M", "Z"],
    "place": ["Ulm", "Bonn", "Nice", "DE", "FR"],
    "cost": [-5, 0, Fraction("2.5"), 10],
    "ill": ["flu", "ulcer", "?"],
}


def made(folder: Path, more: str = "") -> tuple[Table, Policy]:
    """Forty people with gaps everywhere; numbers and days are written in more than one way."""
    (folder / "places.csv").write_text("".join(f"{k};{v};*\n" for k, v in PLACES.items()), encoding="utf-8")
    (folder / "policy.toml").write_text(
        'keep = ["cost"]\nmissing = ["", "?"]\naccept = ["near-unique-keep"]\n'
        f"privacy = {{k = 3}}\n{more}\n[quasi_identifiers]\n"
        'age = {type = "numeric"}\nsex = {type = "categorical"}\nplace = {hierarchy = "places.csv"}\n'
        'born = {type = "date", format = "dd.mm.yyyy"}\n[sensitive]\n'
        'ill = {type = "categorical"}\nseen = {type = "date", format = "dd.mm.yyyy"}\n',
        encoding="utf-8",
    )
    dice = random.Random(11)
    columns = {
        "age": [dice.choice(["020", "25", "30.50", "31", "44.0", "59", ""]) for _ in range(40)],
        "sex": [dice.choice(["F", "M", "?"]) for _ in range(40)],
        "place": [dice.choice(list(PLACES)) for _ in range(40)],
        "born": [dice.choice(["1.2.2024", "03.02.2024", "9.2.2024", "?"]) for _ in range(40)],
        "ill": [dice.choice(["flu", "ulcer", "cold", "?"]) for _ in range(40)],
        "seen": [dice.choice(["01.02.2024", "3.2.2024", "9.2.2024", "?"]) for _ in range(40)],
        "cost": [dice.choice(["-5", "0", "2.50", "10", ""]) for _ in range(40)],
    }
    lines = [list(columns), *zip(*columns.values(), strict=True)]
    (folder / "people.csv").write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
    return Table.of(columns), Policy.load(folder / "policy.toml")


def written(table: Table, policy: Policy, folder: Path) -> tuple[Queryable, Original]:
    publish(table, policy).write(folder / "release")
    schema = policy.schema(table)
    original = Original(table, schema, encode(table, schema), schema.missing)
    return Queryable.load(folder / "release", policy), original


def said(name: str, text: str | None) -> Any:
    if text in (None, "", "?"):
        return None
    if name in ("born", "seen"):
        day, month, year = map(int, str(text).split("."))
        return date(year, month, day)
    return Fraction(str(text)) if name in ("age", "cost") else text


def random_question(dice: random.Random) -> tuple[str, str | None, list[Any]]:
    aggregate = dice.choice(["COUNT", "COUNT", "SUM", "AVG", "MIN", "MAX"])
    of: dict[str, list[Any]] = {"COUNT": [None, *LITERALS], "SUM": ["age", "cost"], "AVG": ["age", "cost"]}
    column = dice.choice(of.get(aggregate, ["age", "cost", "born", "seen"]))
    where = []
    for name in dice.sample(list(LITERALS), dice.randrange(4)):
        line = name in ("age", "cost", "born", "seen")
        operator = dice.choice(OPERATORS if line else ("=", "<>", "IN"))
        chosen = dice.sample(LITERALS[name], 2 if operator in ("BETWEEN", "IN") else 1)
        where.append((name, operator, sorted(chosen)))
    return aggregate, column, where


def sql_of(aggregate: str, column: str | None, where: list[Any]) -> str:
    def literal(value: Any) -> str:
        return str(float(value)) if isinstance(value, int | Fraction) else f"'{value}'"

    def condition(name: str, operator: str, values: list[Any]) -> str:
        texts = [literal(value) for value in values]
        if operator == "BETWEEN":
            return f"{name} BETWEEN {texts[0]} AND {texts[1]}"
        return f"{name} IN ({', '.join(texts)})" if operator == "IN" else f"{name} {operator} {texts[0]}"

    conditions = " AND ".join(condition(*one) for one in where)
    return f"SELECT {aggregate}({column or '*'})" + (f" WHERE {conditions}" if conditions else "")


def by_leaves(where: list[Any]) -> list[Any]:
    """The twin knows no labels: they become lists of the values under them."""
    spelt = []
    for name, operator, literals in where:
        values = [leaf for value in literals for leaf in UNDER.get(value, [value])]
        if operator == "<>":
            spelt += [(name, operator, [value]) for value in values]
        else:
            spelt.append((name, "IN" if operator == "=" else operator, values))
    return spelt


def test_the_truth_is_what_sql_says_of_the_original(tmp_path: Path) -> None:
    table, policy = made(tmp_path)
    release, original = written(table, policy, tmp_path)
    texts = {name: [table.column(name).texts[c] for c in table.column(name).codes] for name in table.names}
    records = [{name: said(name, column[i]) for name, column in texts.items()} for i in range(len(table))]
    dice = random.Random(5)
    questions = [random_question(dice) for _ in range(400)]
    queries = [WeightedQuery(sql_of(*question)) for question in questions]
    found = relative_errors(queries, release, original)  # which also checks all bounds
    for (aggregate, column, where), one in zip(questions, found.queries, strict=True):
        truth = naive.answer(records, aggregate, column, by_leaves(where))
        assert one.truth == truth, one.sql
        if truth and one.answer.estimate is not None:
            estimate = Fraction(one.answer.estimate)
            assert one.error == pytest.approx(float(abs(truth - estimate) / abs(truth)))
        else:
            assert one.error is None
    assert sum(one.error is not None and one.error > 0 for one in found.queries) > 50
    assert 0 < found.to_dict()["empty"] < 300
    assert found.to_dict()["unanswered"] > 0


AGES = [20, 20, 21, 29, 40, 49]  # as [20,29] and [40,49]


def by_hand(folder: Path, ages: list[int]) -> tuple[Queryable, Original]:
    column = {"name": "age", "role": "quasi_identifier", "kind": "numeric", "shape": "range"}
    manifest = {"format": "incrowd-release", "version": 1, "columns": [column]}
    (folder / "release.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "data.csv").write_text("age\n" + '"[20,29]"\n' * 4 + '"[40,49]"\n' * 2, encoding="utf-8")
    table = Table.of({"age": [str(age) for age in ages]})
    schema = Policy.from_dict({"quasi_identifiers": ["age"], "privacy": {"k": 2}}).schema(table)
    return Queryable.load(folder), Original(table, schema, encode(table, schema), schema.missing)


def test_errors_and_their_weighted_mean_by_hand(tmp_path: Path) -> None:
    release, original = by_hand(tmp_path, AGES)
    asked = [
        WeightedQuery("SELECT COUNT(*) WHERE AGE <= 24", 3),  # 3 people, estimated 4 * 5/10 = 2
        WeightedQuery("SELECT COUNT(*) WHERE age >= 40"),  # no cut: 2
        WeightedQuery("SELECT COUNT(*) WHERE age = 25", 50),  # nobody: left out
        WeightedQuery("SELECT MAX(age)", 50),  # no estimate
    ]
    found = relative_errors(asked, release, original)
    assert [one.error for one in found.queries] == [pytest.approx(1 / 3), 0, None, None]
    assert found.mean == pytest.approx((3 * (1 / 3) + 0) / 4)
    told = found.to_dict()
    assert (told["empty"], told["unanswered"]) == (1, 1)
    first = {"truth": 3, "lower": 0, "upper": 4, "estimate": 2.0, "weight": 3}
    assert told["queries"][0].items() >= first.items()
    assert relative_errors(asked[2:], release, original).mean is None


def test_an_answer_that_cannot_be_true_is_no_error_of_measurement(tmp_path: Path) -> None:
    """The bounds hold for whatever table was published, so this is another one."""
    release, original = by_hand(tmp_path, [20, 20, 40, 40, 40, 49])
    young, all_ = WeightedQuery("SELECT COUNT(*) WHERE age < 30"), WeightedQuery("SELECT COUNT(*)")
    with pytest.raises(InputError, match="answers to 1 of 2 queries lie outside"):
        relative_errors([young, all_], release, original)


@pytest.mark.parametrize(("left_out", "fits"), [(0, False), (1, False), (2, True)])
def test_records_without_a_row_may_be_anywhere(left_out: int, fits: bool, tmp_path: Path) -> None:
    release, original = by_hand(tmp_path, [*AGES, 29, 29])
    asked = [WeightedQuery("SELECT COUNT(*) WHERE age < 30"), WeightedQuery("SELECT SUM(age)")]
    if fits:  # 4 instead of 6, and 187 instead of 237, which is more than 6 rows can have
        errors = relative_errors(asked, release, original, left_out)
        assert errors.mean == pytest.approx((2 / 6 + 50 / 237) / 2)
        return
    with pytest.raises(InputError, match="outside"):
        relative_errors(asked, release, original, left_out)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"either tables \[\[query\]\] or random"),
        ("query = []", "either tables"),
        ("random = {boxes = 5, share = 0.1}\n[[query]]\nsql = 'SELECT COUNT(*)'", "either tables"),
        ("[[query]]\nweight = 2", "query 1 of the workload needs a text 'sql'"),
        ("[[query]]\nsql = 'secret'\nwieght = 2", "did you mean 'weight'"),
        ("[[query]]\nsql = 'secret'\nweight = 0", "weight of query 1"),
        ("[[query]]\nsql = 'secret'\nweight = nan", "weight of query 1"),
        ("[[query]]\nsql = 'secret'\nweight = true", "weight of query 1"),
        ("random = {boxes = 5}", "need 'boxes'"),
        ("random = {boxes = 0, share = 0.1}", "whole number from 1"),
        ("random = {boxes = 5, share = 1.5}", "above 0 and at most 1"),
        ("random = {boxes = 5, share = nan}", "above 0 and at most 1"),
        ("[[query]", "not valid TOML"),
    ],
)
def test_what_is_no_workload(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says) as refused:
        Workload.load(tmp_path / "w.toml")
    assert "secret" not in str(refused.value)


def test_by_groups_nothing_is_asked(tmp_path: Path) -> None:
    release, original = by_hand(tmp_path, AGES)
    assert parse("SELECT COUNT(*) GROUP BY age").group is not None
    with pytest.raises(InputError, match="query 1 of the workload has GROUP BY"):
        relative_errors([WeightedQuery("SELECT COUNT(*) GROUP BY age")], release, original)


def made_from(folder: Path) -> tuple[object, ...]:
    return "--original", folder / "people.csv", "-p", folder / "policy.toml"


def test_measure_tells_of_a_workload(tmp_path: Path) -> None:
    table, policy = made(tmp_path)
    publish(table, policy).write(tmp_path / "release")
    queries, boxes = tmp_path / "queries.toml", tmp_path / "boxes.toml"
    queries.write_text(
        "[[query]]\nsql = \"SELECT COUNT(*) WHERE place = 'DE' AND age < 40\"\nweight = 2\n"
        "[[query]]\nsql = 'SELECT COUNT(*)'\n",
        encoding="utf-8",
    )
    boxes.write_text("random = {boxes = 100, share = 0.1}\n", encoding="utf-8")
    words = ("measure", tmp_path / "release", *made_from(tmp_path))
    told = incrowd(*words, "--workload", queries, "--json").json["workload"]
    first, all_ = told["queries"]
    assert (all_["truth"], all_["error"], first["weight"]) == (40, 0.0, 2.0)
    assert told["error"] == pytest.approx(2 / 3 * first["error"])
    again = incrowd(*words, "--workload", boxes, "--json").json
    assert again["workload"] == again["range_counts"]
    shown = incrowd(*words, "--workload", queries)
    assert f"Average relative error of the workload: {told['error']:.1%}" in shown.out
    rows = tmp_path / "release" / "data.csv"
    refused = incrowd("measure", rows, *made_from(tmp_path), "--workload", queries)
    assert (refused.code, "answered by a release" in refused.err) == (2, True)
    assert incrowd(*words, "--workload", tmp_path / "none.toml").code == 2
