"""Queries: what is read, what is refused, and that every answer holds for every table behind a release."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import incrowd
from support.golden import vectors
from support.method_names import ACCEPTED, APART, BESIDE_K, CROWDS, JOINS, PLAIN
from twins import query as naive

from incrowd import Policy, publish
from incrowd.algorithms.base import all_methods
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.predicate.sql import parse
from incrowd.queries import Answer, Queryable

AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")
AGE = {"name": "age", "role": "quasi_identifier", "kind": "numeric", "shape": "range"}
SEX = {"name": "sex", "role": "quasi_identifier", "kind": "categorical", "shape": "set"}
COST = {"name": "cost", "role": "sensitive", "kind": "numeric"}


def fraction(said: Any) -> Fraction:
    return Fraction(said["num"], said["den"]) if isinstance(said, dict) else Fraction(said)


def written(
    folder: Path,
    columns: Sequence[Mapping[str, Any]],
    lines: Sequence[Sequence[str]],
    buckets: Sequence[Sequence[str]] | None = None,
    **more: Any,
) -> Queryable:
    """A release folder with these rows, read."""
    folder.mkdir(exist_ok=True)
    shown = [
        name
        for c in columns
        if not c.get("apart")
        for name in (c["name"], *([f"{c['name']}_mean"] * ("mean" in c)))
    ]
    manifest = {"format": "incrowd-release", "version": 1, "columns": list(columns), **more}
    if buckets is not None:
        manifest["apart"] = {"file": "sensitive.csv"}
        shown.append("group")
        names = ["group", *(c["name"] for c in columns if c.get("apart")), "count"]
        (folder / "sensitive.csv").write_text(csv_of([names, *buckets]), encoding="utf-8")
    (folder / "release.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "data.csv").write_text(csv_of([shown, *lines]), encoding="utf-8")
    return Queryable.load(folder)


def csv_of(rows: Sequence[Sequence[str]]) -> str:
    return "".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row) + "\n" for row in rows)


# Golden examples


def ranged(text: str) -> str:
    return f"[{text.replace('-', ',')}]" if "-" in text else text


@pytest.mark.quick
def test_the_average_and_the_count_of_the_multidimensional_paper(tmp_path: Path) -> None:
    given_ = vectors("multidimensional")["table4_queries"]
    rows = [
        [ranged(age), f"{float(fraction(mean)):.1f}", sex, ranged(place)]
        for age, mean, sex, place in given_["input"]["table_corrected"]
    ]
    place = {**AGE, "name": "zip"}
    release = written(tmp_path / "t4", [{**AGE, "mean": True}, SEX, place], rows)
    average = release.ask("SELECT AVG(Age) FROM patients WHERE Sex = 'M'")
    expected = fraction(given_["expected"]["Q1_AVG_age_male"])
    assert average.estimate == pytest.approx(float(expected))
    half = Fraction(1, 20)  # means are rounded to one decimal
    assert (average.lower, average.upper) == (expected - half, expected + half)
    count = release.ask("SELECT COUNT(*) FROM patients WHERE sex = 'M' AND age <= 36")
    assert (count.lower, count.exact) == (given_["expected"]["Q2_COUNT_male_age<=36"], True)


@pytest.mark.quick
@pytest.mark.parametrize("table", ["table2", "table3"])
def test_which_predicates_match_which_release(table: str, tmp_path: Path) -> None:
    given_ = vectors("multidimensional")["predicate_match"]
    exact = vectors("multidimensional")["table3" if table == "table3" else "table2_corrected"]
    rows = [[ranged(age), sex] for age, sex, *_ in exact["input"]["table"]]
    release = written(tmp_path / table, [AGE, SEX], rows)
    men = release.ask("SELECT AVG(age) WHERE sex = 'M'")
    young = release.ask("SELECT COUNT(*) WHERE sex = 'M' AND age <= 36")
    assert men.matches == given_["expected"]["Q1_matches"][table]
    assert young.matches == given_["expected"]["Q2_matches"][table]
    if table == "table2":
        wanted = vectors("multidimensional")["table4_queries"]["expected"]["Q2_uniform_from_Table2"]
        assert (young.lower, young.upper, young.estimate) == (0, 4, float(fraction(wanted)))


@pytest.mark.quick
@pytest.mark.parametrize("how", ["continuous", "discrete"])
def test_range_counts_of_the_join_paper(how: str, tmp_path: Path) -> None:
    given_, expected = (vectors("kja")["range_count"][part] for part in ("input", "expected"))
    x, y, ill = {**AGE, "name": "x"}, {**AGE, "name": "y"}, {**COST, "apart": True}

    def rows(people: Mapping[str, Sequence[int]], groups: Sequence[Sequence[str]]) -> list[list[str]]:
        boxes = [[ranged_of([people[name][j] for name in group]) for j in (0, 1)] for group in groups]
        return [box for box, group in zip(boxes, groups, strict=True) for _ in group]

    written(tmp_path / "AT", [x, y], rows(given_["MT"], given_["AT"]))
    hosts = [
        str(host + 1) for host, group in zip(given_["host_sg"], given_["JAT"], strict=True) for _ in group
    ]
    joined = [[*row, host] for row, host in zip(rows(given_["JT"], given_["JAT"]), hosts, strict=True)]
    values = [[str(i + 1), "7", str(size)] for i, size in enumerate(given_["sg_sizes"])]
    written(tmp_path / "JAT_REF", [x, y, ill], joined, values, public={})
    for name in ("AT", "JAT_REF"):
        release = Queryable.load(tmp_path / name, continuous=how == "continuous")
        for said in expected["rows"]:
            (x0, x1), (y0, y1) = said["R"]
            answer = release.ask(f"SELECT COUNT(*) WHERE x BETWEEN {x0} AND {x1} AND y BETWEEN {y0} AND {y1}")
            assert answer.estimate == pytest.approx(float(fraction(said[f"{name}_{how}"])))
            assert answer.lower <= said["actual"] <= answer.upper


def ranged_of(side: Sequence[int]) -> str:
    return str(side[0]) if min(side) == max(side) else f"[{min(side)},{max(side)}]"


# Against every possible table

RANGES: dict[str, list[Any]] = {
    "2": [2],
    "[1,2]": [1, 1.5, 2],
    "[-1,1]": [-1, -0.5, 0, 0.5, 1],
    "missing": [None],
}
RANGES["{missing|[1,2]}"] = [None, 1, 1.5, 2]
SETS: dict[str, list[Any]] = {"F": ["F"], "{F|M}": ["F", "M"], "{missing|M}": [None, "M"]}
COSTS: dict[str, list[Any]] = {"-3": [-3], "5": [5], "": [None], "5.0": [5]}


@st.composite
def questions(draw: st.DrawFn, measured: Sequence[str]) -> tuple[str, str | None, list[Any]]:
    """An aggregate, its column, and up to two conditions."""
    aggregate = draw(st.sampled_from(AGGREGATES))
    column = draw(st.sampled_from(measured if aggregate != "COUNT" else [None, *measured, "sex"]))
    where: list[Any] = []
    for name in draw(st.lists(st.sampled_from([*measured, "sex"]), max_size=2)):
        if name == "sex":
            operator = draw(st.sampled_from(["=", "<>", "IN"]))
            where.append((name, operator, draw(st.lists(st.sampled_from("FMX"), min_size=1, max_size=2))))
        else:
            operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"]))
            literals = draw(st.lists(st.integers(-4, 6), min_size=2, max_size=2).map(sorted))
            where.append((name, operator, literals))
    return aggregate, column, where


def sql_of(aggregate: str, column: str | None, where: Sequence[Any]) -> str:
    def condition(name: str, operator: str, literals: Sequence[Any]) -> str:
        said = [repr(literal) for literal in literals]
        if operator == "BETWEEN":
            return f"{name} BETWEEN {said[0]} AND {said[-1]}"
        return f"{name} IN ({', '.join(said)})" if operator == "IN" else f"{name} {operator} {said[0]}"

    conditions = " AND ".join(condition(*one) for one in where)
    return f"SELECT {aggregate}({column or '*'})" + (f" WHERE {conditions}" if where else "")


def agrees(release: Queryable, every: Sequence[Any], asked: tuple[str, str | None, list[Any]]) -> None:
    """Bounds are those of all worlds; wider only where an open end cannot be reached."""
    answer = release.ask(sql_of(*asked))
    least, most, nobody = naive.bounds(every, *asked)
    if answer.aggregate == "COUNT" or not any(op in ("<", ">", "<>") for _, op, _ in asked[2]):
        assert (answer.lower, answer.upper) == (least, most)
    elif least is not None:
        assert answer.lower <= least <= most <= answer.upper
    if answer.aggregate not in ("COUNT", "SUM"):
        assert answer.nobody == nobody


@st.composite
def rows_of(draw: st.DrawFn, most: int) -> list[tuple[str, str]]:
    return draw(
        st.lists(
            st.tuples(st.sampled_from(list(RANGES)), st.sampled_from(list(SETS))), min_size=1, max_size=most
        )
    )


@settings(max_examples=25)
@given(st.data())
def test_rows_of_ones_own_against_all_worlds(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows = [(*row, data.draw(st.sampled_from(list(COSTS)))) for row in data.draw(rows_of(3))]
    release = written(tmp_path_factory.getbasetemp() / "own", [AGE, SEX, COST], rows)
    possible = [{"age": RANGES[a], "sex": SETS[s], "cost": COSTS[c]} for a, s, c in rows]
    every = list(naive.worlds(possible))
    for asked in data.draw(st.lists(questions(("age", "cost")), min_size=4, max_size=4)):
        agrees(release, every, asked)


@settings(max_examples=25)
@given(st.data())
def test_values_apart_against_all_worlds(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """With as many people as rows, as anatomy has, or fewer, as a join has."""
    rows = data.draw(rows_of(4).filter(lambda rows: len(rows) > 1))
    groups = [
        1,
        *data.draw(st.lists(st.sampled_from([1, 2]), min_size=len(rows) - 1, max_size=len(rows) - 1)),
    ]
    people: dict[int, list[Any]] = {}
    for group in sorted(set(groups)):
        size = data.draw(st.integers(1, min(groups.count(group), 3)))
        people[group] = data.draw(st.lists(st.sampled_from(list(COSTS)), min_size=size, max_size=size))
    lines = [
        [str(g), cost, str(costs.count(cost))] for g, costs in people.items() for cost in sorted(set(costs))
    ]
    place = tmp_path_factory.getbasetemp() / "apart"
    shown = [[*row, str(group)] for row, group in zip(rows, groups, strict=True)]
    numbers = {str(group): str(i + 1) for i, group in enumerate(people)}
    shown = [[*row[:-1], numbers[row[-1]]] for row in shown]
    lines = [[numbers[line[0]], *line[1:]] for line in lines]
    release = written(place, [AGE, SEX, {**COST, "apart": True}], shown, lines, public={})
    possible = [{"age": RANGES[a], "sex": SETS[s]} for a, s in rows]
    values = {group: [{"cost": COSTS[cost][0]} for cost in costs] for group, costs in people.items()}
    every = list(naive.grouped_worlds(possible, groups, values))
    for asked in data.draw(st.lists(questions(("age", "cost")), min_size=4, max_size=4)):
        agrees(release, every, asked)


@settings(max_examples=25)
@given(st.data())
def test_a_join_without_counts_against_all_worlds(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    rows = data.draw(rows_of(2))
    rows = [row for row in dict.fromkeys(rows) for _ in range(2)]
    place = tmp_path_factory.getbasetemp() / "direct"
    release = written(place, [AGE, SEX], rows, public={}, method={"name": "kja-direct"})
    possible = [{"age": RANGES[a], "sex": SETS[s]} for a, s in rows]
    every = list(naive.hidden_worlds(possible, [i // 2 for i in range(len(rows))]))
    for asked in data.draw(st.lists(questions(("age",)), min_size=4, max_size=4)):
        agrees(release, every, asked)
        answer = release.ask(sql_of(*asked))
        assert answer.estimate is None or not answer.rows


# Every method of the catalogue

PLACES = {"Ulm": "DE", "Bonn": "DE", "Nice": "FR", "Lyon": "FR", "?": "FR"}
SOME = {"sex": ["F", "M", "X"], "place": list(PLACES)[:-1], "ill": ["flu", "ulcer", "none", "cold"]}


def people_of(seed: int, n: int, missing: bool) -> dict[str, list[str]]:
    dice = random.Random(seed)
    gaps = [""] if missing else []
    return {
        "id": [f"p{i}" for i in range(n)],
        "age": [str(dice.choice([*range(20, 60), *gaps])) for _ in range(n)],
        "sex": [dice.choice([*"FMX", *gaps]) for _ in range(n)],
        "place": [dice.choice([*SOME["place"], *(["?"] if missing else [])]) for _ in range(n)],
        "ill": [SOME["ill"][i % 4] for i in dice.sample(range(n), n)],
        "cost": [str(dice.choice([-5, 0, 2.5, 10, 40, 40, *gaps])) for _ in range(n)],
    }


def policy_of(method: str, folder: Path, tree: bool) -> Policy:
    (folder / "places.csv").write_text("".join(f"{k};{v};*\n" for k, v in PLACES.items()), encoding="utf-8")
    quasi: dict[str, Any] = {"age": {"type": "numeric"}, "sex": {"type": "categorical"}}
    quasi["place"] = {"hierarchy": "places.csv"} if tree else {"type": "categorical"}
    if method not in (*CROWDS, *APART, *JOINS, *PLAIN):
        quasi["age"] = {"type": "numeric", "mean": True}
    privacy: dict[str, Any] = {"k": 3, **BESIDE_K[method]}
    if method in PLAIN:
        privacy |= {"plain": {"p": "0.9", "d": "1.5"}, "max_suppression": "0.9"}
    keep = {} if method in (*APART, *JOINS) else {"keep": ["cost"]}
    drop = {"drop": ["cost"]} if method in (*APART, *JOINS) else {}
    parts: dict[str, Any] = {
        "identifiers": ["id"],
        "quasi_identifiers": quasi,
        "sensitive": ["ill"],
        "missing": ["", "?"],
        "method": method,
        "privacy": privacy,
        "accept": [*ACCEPTED[method], "near-unique-keep"],
    }
    if method in JOINS:
        parts["public"] = {"table": "none.csv", "id": "id", "membership_secret": True}
    return Policy.from_dict({**parts, **keep, **drop}, folder)


def records_with_rows(
    method: str, columns: Mapping[str, list[str]], behind: Sequence[int]
) -> list[dict[str, Any]]:
    def value(name: str, text: str) -> Any:
        if text in ("", "?"):
            return None
        return Fraction(text) if name in ("age", "cost") else text

    rows = range(len(columns["id"])) if method in JOINS else behind
    return [{name: value(name, texts[i]) for name, texts in columns.items()} for i in rows]


def random_question(dice: random.Random, names: Sequence[str]) -> tuple[str, str | None, list[Any]]:
    aggregate = dice.choice(AGGREGATES)
    measured = [name for name in names if name in ("age", "cost")]
    column = dice.choice([None, *names]) if aggregate == "COUNT" else dice.choice(measured)
    where: list[Any] = []
    for name in dice.sample(names, dice.randrange(4)):
        if name in measured:
            operator = dice.choice(["=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"])
            literals: list[Any] = sorted(dice.sample(range(18, 62) if name == "age" else range(-6, 42), 2))
        else:
            operator, literals = dice.choice(["=", "<>", "IN"]), dice.sample(SOME[name], 2)
        where.append((name, operator, literals))
    return aggregate, column, where


def truths_and_answers(
    method: str, seed: int, folder: Path, questions: int
) -> Iterator[tuple[str, Any, Answer]]:
    """Publish a random table by a method, ask its files, and tell the truth beside each answer."""
    dice = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    n = dice.randrange(30, 60)
    joins = method in JOINS
    columns = people_of(seed, n, missing=not joins)
    policy = policy_of(method, folder, tree=dice.random() < 0.6)
    policy = policy.with_(accept=["certain-presence"]) if joins else policy  # the table is small
    own = {name: texts[: n // 2] for name, texts in columns.items()} if joins else columns
    public = Table.of({name: columns[name] for name in ("id", "age", "sex", "place")}) if joins else None
    release = publish(Table.of(own), policy, public=public)
    release.write(
        folder / "release", format=dice.choice(["csv", "parquet"]) if seed % 8 == 0 else "csv", replace=True
    )
    records = records_with_rows(method, own, release._draft.behind.tolist())
    asked = Queryable.load(folder / "release", policy if dice.random() < 0.7 else None)
    for _ in range(questions):
        question = random_question(dice, asked.published.names)
        yield sql_of(*question), naive.answer(records, *question), asked.ask(sql_of(*question))


def contains(answer: Answer, truth: Any) -> bool:
    if truth is None:
        return answer.nobody
    unknown = answer.lower is None and answer.rows > 0
    return unknown or answer.lower <= truth <= answer.upper


@pytest.mark.parametrize("method", all_methods())
def test_bounds_hold_the_truth_whatever_the_method(method: str, tmp_path: Path) -> None:
    asked = list(truths_and_answers(method, 5, tmp_path, 40))
    wrong = [(sql, truth, answer) for sql, truth, answer in asked if not contains(answer, truth)]
    assert not wrong
    assert any(answer.rows for _, _, answer in asked)


# What is read, and what is refused


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT COUNT(*) WHERE age < 3 OR age > 5", "OR is not supported"),
        ("SELECT COUNT(*) WHERE NOT age = 3", "NOT in WHERE is not supported"),
        ("SELECT COUNT(*) WHERE sex LIKE 'F%'", "LIKE in WHERE is not supported"),
        ("SELECT COUNT(*) WHERE age IS NULL", "IS in WHERE is not supported"),
        ("SELECT COUNT(*) WHERE age = cost", "anything but a column with numbers and texts"),
        ('SELECT COUNT(*) WHERE sex = "F"', "; a text stands in single quotes"),
        ("SELECT COUNT(*) WHERE day >= 2023-02-01", "; a day stands in single quotes: '2024-02-29'"),
        ("SELECT COUNT(*) WHERE job title = 'CEO'", "a name with blanks in double quotes"),
        ("SELECT COUNT(*) WHERE age + 1 = 3", "anything but a column with values"),
        ("SELECT COUNT(*) WHERE age IN (SELECT 1)", "IN of anything but a list"),
        ("SELECT COUNT(*) FROM a JOIN b ON a.x = b.x", "JOIN, or more than one table"),
        ("SELECT COUNT(*) FROM a, b", "JOIN, or more than one table"),
        ("SELECT COUNT(*) FROM (SELECT 1)", "a subquery is not supported"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*)", "WITH is not supported"),
        ("SELECT COUNT(DISTINCT age)", "COUNT of anything but a column"),
        ("SELECT SUM(age * 2)", "SUM of anything but a column"),
        ("SELECT COUNT(*), SUM(age)", "and this one for 2"),
        ("SELECT age", "and this one for 0"),
        ("SELECT sex, COUNT(*)", "not the one of GROUP BY"),
        ("SELECT UPPER(sex), COUNT(*) GROUP BY sex", "SELECT of anything but columns"),
        ("SELECT COUNT(*) GROUP BY sex, age", "GROUP BY more than one column"),
        ("SELECT COUNT(*) GROUP BY sex HAVING COUNT(*) > 1", "HAVING is not supported"),
        ("SELECT COUNT(*) FROM a ORDER BY 1", "ORDER BY is not supported"),
        ("SELECT COUNT(*) FROM a LIMIT 1", "LIMIT is not supported"),
        ("SELECT COUNT(*) FROM a UNION SELECT COUNT(*) FROM b", "anything but SELECT is not supported"),
        ("DROP TABLE a", "anything but SELECT is not supported"),
        ("SELECT COUNT(*); SELECT COUNT(*)", "there are 2"),
        ("", "there are 0"),
        ("SELECT COUNT( secret", "cannot be read as SQL"),
        ("(" * 9_000, "cannot be read as SQL"),
        ("SELECT COUNT(*) WHERE age = 1" + " AND age = 1" * 2_000, "at most 20,000 are read"),
    ],
)
def test_what_is_not_supported_is_said_in_one_sentence(sql: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(sql)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.fixture
def small(tmp_path: Path) -> Queryable:
    columns = [
        AGE,
        SEX,
        {"name": "edu", "role": "quasi_identifier", "kind": "categorical", "shape": "node"},
        {"name": "day", "role": "quasi_identifier", "kind": "date", "shape": "range"},
        {"name": "odd name", "role": "keep", "kind": "categorical"},
        {**COST, "kind": "ordered", "name": "grade"},
    ]
    rows = [
        ["[20,29]", "F", "Degree", "2024-02-28", "0.1", "low"],
        ["[20,29]", "{F|M}", "School", "[2024-02-28,2024-03-01]", "-0.2", "high"],
        ["30.5", "*", "*", "missing", "", "low"],
    ]
    return written(tmp_path / "small", columns, rows, rows={"suppressed": None, "max_suppression": "0.05"})


def bounds(release: Queryable, sql: str) -> tuple[Any, Any]:
    answer = release.ask(sql)
    return answer.lower, answer.upper


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select count(*) from x where AGE between 20 and 29.0", (2, 2)),
        ("SELECT COUNT(*) WHERE 30.50 = age", (1, 1)),
        ("SELECT COUNT(*) WHERE age > 28.999 AND age < 29", (0, 2)),
        ("SELECT COUNT(*) WHERE age > 25 AND age < 22", (0, 0)),
        ("SELECT COUNT(*) WHERE age <= 1e30", (3, 3)),
        ("SELECT SUM(age) WHERE age >= 28.25", (Fraction("30.5"), Fraction("88.5"))),
        ("SELECT COUNT(sex)", (2, 3)),
        ("SELECT COUNT(*) WHERE sex <> 'F'", (0, 2)),
        ("SELECT COUNT(*) WHERE sex = 'Z'", (0, 1)),
        ("SELECT COUNT(*) WHERE edu = 'Degree'", (1, 3)),
        ("SELECT COUNT(*) WHERE edu <> 'Degree'", (0, 2)),
        ("SELECT COUNT(*) WHERE day < '2024-03-01'", (1, 2)),
        ("SELECT COUNT(*) WHERE day > '2024-02-28' AND day < '2024-02-29'", (0, 0)),
        ('SELECT SUM("odd name")', (Fraction("-0.1"), Fraction("-0.1"))),
        ("SELECT MIN(\"odd name\") WHERE sex = 'F'", (Fraction("-0.2"), Fraction("0.1"))),
        ("SELECT COUNT(*) WHERE grade IN ('low', 'mid')", (2, 2)),
    ],
)
def test_bounds_of_a_few_rows(small: Queryable, sql: str, expected: tuple[Any, Any]) -> None:
    assert bounds(small, sql) == expected


def test_days_estimates_and_whom_an_answer_is_about(small: Queryable) -> None:
    day = small.ask("SELECT MAX(day)")
    assert (str(day.lower), str(day.upper)) == ("2024-02-28", "2024-03-01")
    assert "up to 0.05 of all records" in day.about
    assert small.ask("SELECT COUNT(*) WHERE day >= '2024-02-29'").estimate == pytest.approx(2 / 3)
    unknown = small.ask("SELECT COUNT(*) WHERE edu = 'Bachelor'")
    assert (unknown.estimate, unknown.rows) == (None, 3)
    assert "without the policy" in unknown.assumption
    groups = small.ask("SELECT sex, COUNT(*) GROUP BY sex").groups
    assert {value: (one.lower, one.upper) for value, one in groups.items()} == {"F": (1, 3), "M": (0, 2)}


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT MAX(agee)", "did you mean 'age'"),
        ('SELECT MAX("AGE")', "not in the release"),
        ("SELECT SUM(day)", "ask for MIN or MAX"),
        ("SELECT SUM(sex)", "sex is categorical"),
        ("SELECT COUNT(*) WHERE grade < 'low'", "grade is ordered"),
        ("SELECT COUNT(*) WHERE age = 'secret'", "age holds numbers"),
        ("SELECT COUNT(*) WHERE day = '29.2.2024'", "day holds days"),
        ("SELECT COUNT(*) GROUP BY age", "are ranges"),
        ("SELECT COUNT(*) GROUP BY edu", "pass the policy"),
    ],
)
def test_what_a_column_cannot_answer_is_refused(small: Queryable, sql: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        small.ask(sql)
    assert "secret" not in str(refused.value)


def test_a_hierarchy_from_the_policy_says_what_labels_hold(tmp_path: Path) -> None:
    edu = {"name": "edu", "role": "quasi_identifier", "kind": "categorical", "shape": "node"}
    written(tmp_path / "tree", [edu], [["Degree"], ["BSc"], ["School"], ["*"]])
    rows = "BSc;Degree;*\nMSc;Degree;*\nSchool;School;*\n?;Other;*\n"
    (tmp_path / "edu.csv").write_text(rows, encoding="utf-8")
    parts = {"quasi_identifiers": {"edu": {"hierarchy": "edu.csv"}}, "missing": ["?"]}
    release = Queryable.load(tmp_path / "tree", Policy.from_dict(parts, tmp_path))
    assert bounds(release, "SELECT COUNT(*) WHERE edu = 'BSc'") == (1, 3)
    assert bounds(release, "SELECT COUNT(*) WHERE edu = 'Degree'") == (2, 3)
    assert bounds(release, "SELECT COUNT(*) WHERE edu <> 'Degree'") == (1, 2)
    assert bounds(release, "SELECT COUNT(edu)") == (3, 4)
    assert release.ask("SELECT COUNT(*) WHERE edu = 'MSc'").estimate == pytest.approx(0.5 + 1 / 5)
    assert set(release.ask("SELECT COUNT(*) GROUP BY edu").groups) == {"BSc", "MSc", "School"}


def test_numbers_beyond_64_bits_stay_exact(tmp_path: Path) -> None:
    low, high = 10**38 + 1, 10**38 + 9
    rows = [[f"[{low},{high}]", "F"], [str(high), "M"]]
    release = written(tmp_path / "large", [AGE, SEX], rows)
    assert bounds(release, "SELECT SUM(age)") == (low + high, 2 * high)
    assert bounds(release, f"SELECT AVG(age) WHERE age >= {low + 4}") == (Fraction(low + 4 + high, 2), high)


def test_typed_parquet_answers_as_csv_does(tmp_path: Path) -> None:
    release = publish(Table.of(people_of(2, 50, missing=True)), policy_of("mondrian", tmp_path, tree=True))
    release.write(tmp_path / "csv")
    release.write(tmp_path / "typed", format="parquet", typed=True)
    one, other = Queryable.load(tmp_path / "csv"), Queryable.load(tmp_path / "typed")
    dice = random.Random(1)
    asked = [sql_of(*random_question(dice, one.published.names)) for _ in range(60)]
    for sql, here, there in zip(asked, one.ask_many(asked), other.ask_many(asked), strict=True):
        assert (sql, here.lower, here.upper, here.matches) == (sql, there.lower, there.upper, there.matches)
        assert here.estimate == pytest.approx(there.estimate)


ASK = """
import sys
opened = []
sys.addaudithook(lambda event, said: opened.append(str(said[0])) if event == "open" else None)
from incrowd.queries import Queryable
for folder in sys.argv[1:]:
    Queryable.load(folder).ask("SELECT COUNT(*) WHERE age > 30")
print("\\n".join(sorted(path for path in opened if path.startswith(sys.argv[1].rsplit("/", 1)[0]))))
"""


def test_only_published_files_are_opened(tmp_path: Path) -> None:
    """Beside each release lies its audit, and the original; a hook tells of every file that is opened."""
    for method in ("mondrian", "anatomy"):
        columns = people_of(3, 40, missing=False)
        (tmp_path / "original.csv").write_text(csv_of([list(columns), *zip(*columns.values(), strict=True)]))
        publish(Table.of(columns), policy_of(method, tmp_path, tree=False)).write(tmp_path / method)
    folders = [str(tmp_path / "mondrian"), str(tmp_path / "anatomy")]
    ran = subprocess.run([sys.executable, "-c", ASK, *folders], capture_output=True, text=True)
    expected = ["anatomy/data.csv", "anatomy/release.json", "anatomy/sensitive.csv"]
    expected += ["mondrian/data.csv", "mondrian/release.json"]
    assert (ran.stdout.split(), ran.stderr) == ([str(tmp_path / path) for path in expected], "")


def test_the_command_answers_people_and_machines(tmp_path: Path) -> None:
    rows = [["[20,29]", "F", "1"], ["40", "M", "2"], ["40", "F", "4"]]
    written(tmp_path / "r", [AGE, SEX, COST], rows)
    ran = incrowd("query", tmp_path / "r", "SELECT AVG(age)")
    assert ran.out.startswith("AVG: from 33.3333 to 36.3334, estimated 34.8333\n")
    ran = incrowd("query", tmp_path / "r", "SELECT sex, AVG(cost) GROUP BY sex", "--json")
    assert (ran.json["lower"], ran.json["exact"]) == ("7/3", True)
    assert [(one["value"], one["lower"]) for one in ran.json["groups"]] == [("F", "5/2"), ("M", 2)]
    assert incrowd("query", tmp_path / "r", "SELECT AVG(age) WHERE age > 90").out.startswith("AVG: none")
    assert incrowd("query", tmp_path / "r", "SELECT 1").code == 2
    assert incrowd("query", tmp_path, "SELECT COUNT(*)").code == 2
