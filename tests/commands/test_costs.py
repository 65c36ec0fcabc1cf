"""Costs of quasi-identifiers: against publishing twice, advice by what columns are, and improved policies."""

from __future__ import annotations

import random
import tomllib
from math import log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import DATA

import incrowd
from incrowd.cli.inspect import show_costs
from incrowd.commands.inspect import PolicyCosts, costs, policy_text
from incrowd.commands.inspect.costs import (
    MOST_ROWS,
    cost_of_columns,
    foretells,
    improved_policy,
    is_protected,
)
from incrowd.commands.inspect.improved_text import improved_text, toml_document
from incrowd.commands.inspect.profile import profiled
from incrowd.errors import InputError, PolicyError
from incrowd.examples import clinic
from incrowd.flow import Table
from incrowd.measures.demand import Demand
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_in_memory
from incrowd.schema import Kind, Role


def people(n: int = 240) -> Table:
    """Education twice, an unknown column that is noise, a clinical one, and sex, which follows from age."""
    noise = random.Random(5)
    ages, schools = ([noise.randrange(size) for _ in range(n)] for size in (12, 4))
    return Table.of(
        {
            "age": [str(20 + age) for age in ages],
            "sex": ["F" if age < 6 else "M" for age in ages],
            "education": [f"e{school}" for school in schools],
            "education-num": [str(school) for school in schools],
            "qzx": [str(noise.randrange(97)) for _ in range(n)],
            "diagnosis": [("flu", "cold", "flu")[(age + noise.randrange(2)) % 3] for age in ages],
        }
    )


def policy(**more: object) -> Policy:
    names = ["age", "sex", "education", "education-num", "qzx", "diagnosis"]
    return Policy.from_dict({"quasi_identifiers": names, "privacy": {"k": 4}, **more})


def test_the_cost_of_a_column_is_the_error_of_the_others_with_it_minus_without_it() -> None:
    table = people()
    found = cost_of_columns(table, policy())
    assert (found.rows, found.sampled) == (240, 240)

    def mean_error(dropped: list[str], of: list[str]) -> float:
        parts = policy().to_dict()
        for name in dropped:
            del parts["quasi_identifiers"][name]
        parts["drop"] = dropped
        release = publish_in_memory(table, Policy.from_dict(parts))
        errors = release.two_way
        assert errors.pairs == errors.of_pairs
        # the mean over pairs of some columns, from the means by column: every pair is in two of them
        if {column.name for column in errors.columns} == set(of):
            assert errors.error is not None
            return errors.error
        inside = [c for c in errors.columns if c.name in of]
        outside = [c for c in errors.columns if c.name not in of]
        d = len(errors.columns)
        total = (errors.error or 0) * errors.pairs - sum((c.two_way or 0) * (d - 1) for c in outside)
        assert len(outside) == 1
        return total / (len(inside) * (len(inside) - 1) // 2)

    names = list(policy().quasi_identifiers)
    for column in found.columns:
        others = [name for name in names if name != column.name]
        expected = mean_error([], others) - mean_error([column.name], others)
        assert column.cost == pytest.approx(expected, abs=1e-9), column.name
    costs = [column.cost or 0 for column in found.columns]
    assert costs == sorted(costs, reverse=True)


def test_advice_is_by_what_columns_are_and_never_against_age_and_sex() -> None:
    found = cost_of_columns(people(), policy())
    advice = {column.name: column.advice for column in found.columns}
    assert advice == {
        "age": "",
        "sex": "",
        "education": "drop",
        "education-num": "",
        "qzx": "drop",
        "diagnosis": "sensitive",
    }
    assert "education-num says it already" in {column.reason for column in found.columns}
    assert found.before is not None
    assert found.after is not None
    assert found.after < found.before
    assert set(found.improved.drop) == {"education", "qzx"}
    assert set(found.improved.sensitive) == {"diagnosis"}
    assert set(found.improved.quasi_identifiers) == {"age", "sex", "education-num"}


def test_of_very_many_columns_what_coarser_ones_gain_is_not_measured_and_fewer_rows_are_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = people(2_400)
    few = cost_of_columns(table, policy())
    assert few.sampled == 2_400
    assert any(column.coarser is not None for column in few.columns)
    monkeypatch.setattr(costs, "WIDE", 5)
    many = cost_of_columns(table, policy())
    assert [column.coarser for column in many.columns] == [None] * 6
    assert [(c.name, c.cost, c.coarse_bits) for c in many.columns] == [
        (c.name, c.cost, c.coarse_bits) for c in few.columns
    ]
    show_costs(many, "table.csv", None, None, commented=True)
    assert "not measured with more than 5 of them" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(costs, "MOST_WORK", 1_500 * 36)
    assert cost_of_columns(table, policy()).sampled == 1_500
    monkeypatch.setattr(costs, "MOST_WORK", 1)
    assert cost_of_columns(table, policy()).sampled == 1_000


def test_columns_that_repeat_each_other_are_never_dropped_together() -> None:
    n = 200
    same = [str(i % 5) for i in range(n)]
    table = Table.of({"agex": same, "qa": same, "qb": same, "qc": same})
    asked = Policy.from_dict({"quasi_identifiers": ["agex", "qa", "qb", "qc"], "privacy": {"k": 3}})
    found = cost_of_columns(table, asked)
    assert [column.name for column in found.columns if not column.advice]
    assert found.improved.quasi_identifiers


def test_one_quasi_identifier_has_no_cost_and_stays() -> None:
    table = Table.of({"qzx": [str(i % 5) for i in range(30)], "ill": ["a", "b", "c"] * 10})
    asked = Policy.from_dict({"quasi_identifiers": ["qzx"], "sensitive": ["ill"], "privacy": {"k": 3}})
    found = cost_of_columns(table, asked)
    assert [(column.cost, column.advice) for column in found.columns] == [(None, "")]
    assert "nothing is advised" in found.headline()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40),
)
@settings(deadline=None)
def test_foretelling_is_what_it_says(rows: list[tuple[int, int]]) -> None:
    first, second = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    right = 0
    for a in set(first.tolist()):
        counts = [rows.count((a, b)) for b in range(4)]
        right += max(counts) if max(counts) > 1 else 0
    blind = max(second.tolist().count(b) for b in range(4))
    n = len(rows)
    expected = 100 * right >= 95 * n and 10 * (n - right) <= (n - blind) and blind < n
    assert foretells(first, second) == expected


@pytest.mark.parametrize("name", ["age", "AGEP", "Client_Gender", "date of birth", "zip", "birthDate"])
def test_what_people_are_known_by_is_protected(name: str) -> None:
    assert is_protected(name)
    assert not is_protected("wage")
    assert not is_protected("package")


COMMENTED = """\
# mine
sensitive = [  # secret
  "diagnosis",  # very
]
drop = ["a"]  # no
method = "mondrian"  # good

[quasi_identifiers]  # known
age = {type = "numeric"}  # years
"q x" = {}
education = {type = "categorical"}

[privacy]
k = 4  # enough
"""


def test_an_improved_policy_keeps_comments() -> None:
    asked = Policy.from_dict(tomllib.loads(COMMENTED))
    moved = {"q x": ("drop", "nobody knows"), "education": ("sensitive", "private")}
    improved = improved_policy(
        asked, {n: to for n, (to, _) in moved.items()}, {"education": Kind.CATEGORICAL}
    )
    text, commented = improved_text(COMMENTED, improved, moved)
    assert commented
    found = Policy.from_dict(tomllib.loads(text)).to_dict()
    assert set(found["drop"]) == {"a", "q x"}
    assert set(found["quasi_identifiers"]) == {"age"}
    for words in ("# mine", "# very", "# no", "# good", "# known", "# years", "# enough", "# nobody knows"):
        assert words in text


@pytest.mark.parametrize(
    "source",
    [
        'quasi_identifiers = ["age", "q x", "education"]\n[privacy]\nk = 4\n',
        'quasi_identifiers.age = {}\nquasi_identifiers."q x" = {}\nquasi_identifiers.education={}\n'
        "privacy.k = 4\n",
        '[quasi_identifiers.age]\n[quasi_identifiers."q x"]\ntype="categorical"\n'
        "[quasi_identifiers.education]\n"
        '[sensitive]\nill = {type = "categorical"}\n[privacy]\nk = 4\n',
        "[privacy]\nk=4\n[quasi_identifiers]\nage={}\n'q x'={}\neducation={}\n",
    ],
)
def test_however_a_policy_is_written_the_improved_one_says_what_it_should(source: str) -> None:
    asked = Policy.from_dict(tomllib.loads(source))
    moved = {"q x": ("drop", "why"), "education": ("sensitive", "private")}
    improved = improved_policy(
        asked, {n: to for n, (to, _) in moved.items()}, {"education": Kind.CATEGORICAL}
    )
    text, _ = improved_text(source, improved, moved)
    found, wanted = Policy.from_dict(tomllib.loads(text)).to_dict(), improved.to_dict()
    assert found == wanted


def test_comments_stay_where_lines_alone_cannot_be_edited() -> None:
    source = 'quasi_identifiers = ["age", "q x", "education"]  # known\nprivacy = {k = 4}  # enough\n'
    moved = {"q x": ("drop", "why"), "education": ("sensitive", "private")}
    improved = improved_policy(
        Policy.from_text(source), {n: to for n, (to, _) in moved.items()}, {"education": Kind.CATEGORICAL}
    )
    text, commented = improved_text(source, improved, moved)
    assert commented
    assert "  # known\nprivacy = {k = 4}  # enough\n" in text


def test_a_written_document_is_the_policy() -> None:
    parts = policy(
        options={"choose": "widest"},
        quasi_identifiers={"age": {"hierarchy": {"prefix": [5, 3]}}, 'a "b"': {"mean": True}},
    ).to_dict()
    assert Policy.from_dict(tomllib.loads(toml_document(parts))).to_dict() == parts


def test_inspect_in_python_has_costs_and_refuses_halves_of_the_request() -> None:
    found = incrowd.inspect(people(), policy(), costs=True)
    assert isinstance(found, PolicyCosts)
    assert "quasi-identifiers; without 3 of them" in repr(found)
    assert found.to_dict()["improved"] == found.improved.to_dict()
    with pytest.raises(InputError, match="costs=True"):
        incrowd.inspect(people(), policy(), costs=True, preview=1)  # type: ignore[call-overload]
    with pytest.raises(PolicyError, match="policy"):
        incrowd.inspect(people(), None, costs=True)


def test_too_much_detail_is_said_before_the_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many columns; of few it is said at the end."""
    monkeypatch.setattr("incrowd.publishing.draft.MANY_COLUMNS", 0)
    heard: list[str] = []

    def never(step: str) -> object:
        assert step != "group" or heard, "the work began"
        return lambda _: None

    table = Table.of(clinic(400)[0])
    asked = Policy.from_dict(tomllib.loads(policy_text(profiled(table))))
    release = incrowd.publish(table, asked, watch=never, notice=heard.append)  # type: ignore[arg-type]
    assert len(heard) == 1
    assert "bits of detail" in heard[0]
    assert heard[0] in release.warnings
    assert "bits of detail" not in str(release.manifest)
    profile = incrowd.inspect(table)
    assert profile.demand is not None
    assert profile.demand.too_much
    few = Table.of({"sex": ["F", "M"] * 20, "ill": ["a", "b"] * 20})
    quiet: list[str] = []
    incrowd.publish(few, quasi_identifiers=["sex"], sensitive=["ill"], k=2, notice=quiet.append)
    assert quiet == []


def test_demand_is_entropy_against_the_number_of_classes() -> None:
    assert Demand(2, 4.0, 2.0).ratio == 2
    assert not Demand(2, 4.0, 2.0).too_much
    assert Demand(2, 4.1, 2.0).too_much
    assert Demand(1, 1.0, 0.0).ratio is None
    profile = incrowd.inspect(Table.of({"sex": ["F", "M"] * 20}))
    assert profile.demand is not None
    assert (profile.demand.asked, profile.demand.room) == (1.0, 2.0)  # 40 rows are 4 classes of 10


@pytest.mark.skipif(not (DATA / "adult").exists(), reason="adult is not there")
def test_a_large_table_is_sampled() -> None:
    from incrowd import tables

    table = tables.read(DATA / "adult" / "adult.csv")
    said = tomllib.loads(policy_text(profiled(table)))
    said["drop"].remove("education-num")  # which education says already
    said["quasi_identifiers"]["education-num"] = {"type": "numeric"}
    asked = Policy.from_dict(said)
    found = cost_of_columns(table, asked)
    assert found.sampled == MOST_ROWS
    assert found.demand.room == pytest.approx(log2(len(table) / asked.k))  # of all rows
    advised = {column.name for column in found.advised}
    assert "education" in advised or "education-num" in advised
    assert not advised & {"age", "sex", "native-country"}
    assert {column.name for column in found.columns} == {
        column.name for column in asked.schema(table).having(Role.QUASI)
    }


def test_the_command_writes_a_policy_that_publishes(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from incrowd.cli.app import app
    from incrowd.tables import write_csv

    write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(
        "[quasi_identifiers]\nage = {}  # years\nsex = {}\neducation = {}\neducation-num = {}\nqzx = {}\n"
        "diagnosis = {}\n[privacy]\nk = 4\n"
    )
    run = CliRunner()
    names = [str(tmp_path / name) for name in ("people.csv", "policy.toml", "better.toml")]
    made = run.invoke(app, ["inspect", names[0], "-p", names[1], "--costs", "-o", names[2]])
    assert made.exit_code == 0, made.output
    assert "Advice: publish as sensitive diagnosis" in made.output
    assert "# years" in Path(names[2]).read_text()
    assert "dropping it loses" in made.output
    again = run.invoke(app, ["publish", names[0], "-p", names[2], "-o", str(tmp_path / "release")])
    assert again.exit_code == 0, again.output
    assert "can be asked about: " in again.output
    assert run.invoke(app, ["inspect", names[0], "--costs"]).exit_code == 2


def test_stated_totals_make_two_column_tables_better_and_measure_says_the_same(tmp_path: Path) -> None:
    table = Table.of(clinic(600)[0])
    text = policy_text(profiled(table))
    mondrian = {"method": "mondrian", "options": {}}  # which costs are measured with
    plain = Policy.from_dict({**tomllib.loads(text), **mondrian, "totals": False})
    even, raked = (incrowd.publish(table, plain, totals=stated).two_way for stated in (False, True))
    assert even.error is not None
    assert raked.error is not None
    assert raked.error < even.error / 1.3
    assert (even.totals, raked.totals) == (False, True)
    assert any("state totals" in line for line in even.sentences()) == ((even.skill or 0) < 0)
    incrowd.publish(table, plain, tmp_path / "release", totals=True)
    measured = incrowd.measure(tmp_path / "release", table)
    assert measured["two_way"]["error"] == pytest.approx(raked.error, abs=1e-6)
    cheaper = cost_of_columns(table, plain.with_(totals=True))
    assert cheaper.error is not None
    assert cheaper.error == pytest.approx(raked.error, abs=1e-6)


def test_a_joined_release_that_does_not_count_people_says_why_there_is_no_error(tmp_path: Path) -> None:
    from incrowd.examples import write_example

    write_example(tmp_path)
    asked = Policy.load(tmp_path / "join.toml")
    found = incrowd.publish(tmp_path / "patients.csv", asked, method="kja-refine").two_way
    assert found.error is not None
    assert 0 < found.error < 1
    parts = asked.to_dict()
    parts["privacy"] = {"k": parts["privacy"]["k"]}
    direct = Policy.from_dict({**parts, "method": "kja-direct", "options": {}}, folder=tmp_path)
    silent = incrowd.publish(tmp_path / "patients.csv", direct).two_way
    assert (silent.error, silent.columns) == (None, ())
    assert "does not say how many people" in silent.why_not
    assert silent.sentences()[0].startswith("How far two-column tables are off is not known")
