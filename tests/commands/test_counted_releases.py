"""Commands that count a release with DuckDB say what they say in memory, and what they cannot say."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_tables import by_engine, engine_tables
from support.joined_tables import JoinCase
from support.night import NIGHT, combined

import incrowd
from incrowd import Policy
from incrowd.commands.audit_counted import audit_counted
from incrowd.commands.audited import AuditedTables
from incrowd.commands.measure import ASKED, evenly
from incrowd.commands.measure_counted import measure_counted
from incrowd.engines.resources import Resources
from incrowd.errors import IncrowdError, InputError
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.publishing.large import publish_large
from incrowd.publishing.pipeline import Form
from incrowd.queries.counted import ask_counted
from incrowd.release.folder import ReleaseFolder

COUNT = 120
PEOPLE = Table.of(
    {
        "age": [str(20 + i * 7 % 50) for i in range(COUNT)],
        "zip": [f"0{i % 4}{i % 7}00" for i in range(COUNT)],
        "sex": [("F", "M", "")[i % 3] for i in range(COUNT)],
        "ill": [("flu", "cold", "x,y", "=1", "")[i * i % 5] for i in range(COUNT)],
        "cost": [str(i % 9) for i in range(COUNT)],
        "=team": [f"t{i % 6}" for i in range(COUNT)],
    }
)
QUASI = {"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [5, 2]}}, "sex": {}}
ROLES: dict[str, Any] = {"quasi_identifiers": QUASI, "sensitive": ["ill", "cost"], "keep": ["=team"]}
QUESTIONS = (
    "SELECT COUNT(*)",
    "SELECT COUNT(*) WHERE age <= 33 AND sex = 'F'",
    "SELECT AVG(age) WHERE ill = '=1'",
    "SELECT SUM(cost) WHERE age BETWEEN 25 AND 44 GROUP BY ill",
    "SELECT MAX(cost) WHERE \"=team\" = 't1'",
    "SELECT COUNT(ill) GROUP BY sex",
    "SELECT COUNT(*) WHERE sex = 'X'",
)
LACKING = ("bound", "not_computed", "notes")
METHODS = ("mondrian", "hilbert", "ring")
SMALL: dict[str, Any] = {"engine": "duckdb", "memory": "512MB", "threads": 1}
IN_MEMORY: dict[str, Any] = {"engine": "memory"}


def alike(found: object, wanted: object) -> bool:
    """Are two facts the same, but for the last digits of floats, which depend on the order of adding?"""
    if isinstance(wanted, float) and isinstance(found, float | int):
        return found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return found.keys() == wanted.keys() and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, Sequence) and isinstance(found, Sequence) and not isinstance(wanted, str):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(alike(*pair) for pair in pairs)
    return found == wanted


def without(facts: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if name not in names}


def policy_for(method: str, totals: bool = False) -> Policy:
    return Policy(**ROLES, privacy={"k": 4}, method=method, totals=totals)


@pytest.fixture(scope="module", params=combined(METHODS, ("csv", "parquet"), (True, False)))
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A release that an engine has made, and its original."""
    method, form, totals = request.param
    folder = tmp_path_factory.mktemp("counted")
    release = by_engine(PEOPLE, policy_for(method, totals), folder, form)
    return release.folder, folder / f"table.{form}"


def test_queries_have_the_answers_of_memory(released: tuple[Path, Path]) -> None:
    """By night every question to each release, by day each question to one of them."""
    release, original = released
    turn = ("csv", "parquet").index(original.suffix[1:])
    for sql in QUESTIONS if NIGHT else QUESTIONS[turn::2]:
        way = "AVG" in sql
        found, wanted = (incrowd.query(release, sql, continuous=way, **how) for how in (SMALL, IN_MEMORY))
        assert alike(found.to_dict(), wanted.to_dict()), sql


def test_every_measure_is_that_of_memory(released: tuple[Path, Path]) -> None:
    found = incrowd.measure(*released, **SMALL).to_dict()
    wanted = incrowd.measure(*released, bound="none", engine="memory").to_dict()
    assert alike(without(found, *LACKING), without(wanted, *LACKING))
    (note,) = found["notes"]
    assert note.startswith("not computed: the lower bound on the information loss: ")
    assert [*found["not_computed"]] == ["the lower bound on the information loss"]


def test_an_audit_is_that_of_memory(released: tuple[Path, Path]) -> None:
    release, original = released
    for more in ({"k": 5}, {"quasi_identifiers": ["age", "sex"]}):
        found = incrowd.audit(original, release, **more, **SMALL).to_dict()
        wanted = incrowd.audit(original, release, **more, engine="memory").to_dict()
        assert alike(*(without(each, "ranges", "notes") for each in (found, wanted)))
        assert found["ranges"] == {}
        assert "not computed: how far the values of cost range in equal rows" in found["notes"][-1]


def test_reports_are_those_of_memory(released: tuple[Path, Path]) -> None:
    found, wanted = (incrowd.report(*released, attacks=False, **how) for how in (SMALL, IN_MEMORY))
    differing = ("examples", "measured", "assessment", "verdict")
    assert alike(*(without(each.to_dict(), *differing) for each in (found, wanted)))
    assert found.sound
    assert wanted.sound
    assert "not_computed" in found.facts["measured"]
    assert found.html()
    assert found.assessment()


@settings(max_examples=30 if NIGHT else 1)
@given(case=engine_tables(), form=st.sampled_from(("csv", "parquet")))
def test_counts_of_any_table_say_what_memory_says(case: tuple[Table, Policy], form: str) -> None:
    table, policy = case
    with TemporaryDirectory() as place:
        release, original = by_engine(table, policy, Path(place), form).folder, Path(place) / f"table.{form}"
        found = incrowd.measure(release, original, policy, **SMALL).to_dict()
        wanted = incrowd.measure(release, original, policy, bound="none", engine="memory").to_dict()
        assert alike(without(found, *LACKING), without(wanted, *LACKING))
        for name in policy.quasi_identifiers:
            sql = f"SELECT COUNT(\"{name}\") WHERE ill <> 'flu'"
            answers = [incrowd.query(release, sql, policy, **how) for how in (SMALL, IN_MEMORY)]
            assert alike(*(answer.to_dict() for answer in answers))
        audits = [incrowd.audit(original, release, policy, **how) for how in (SMALL, IN_MEMORY)]
        assert alike(*(without(each.to_dict(), "notes") for each in audits))


# What does not fit even so


def test_too_many_combinations_leave_what_columns_say(tmp_path: Path) -> None:
    release, original = by_engine(PEOPLE, policy_for("mondrian"), tmp_path).folder, tmp_path / "table.parquet"
    folder, few = ReleaseFolder.open(release, original), Resources(512_000_000, 1, tuples=8)
    found = measure_counted(folder, few, "none", {"range_counts": ASKED}, evenly, unwatched)
    wanted = incrowd.measure(release, original, bound="none", engine="memory").to_dict()
    same = ("rows", "classes", "smallest_class", "loss", "columns", "risk")
    assert alike({name: found[name] for name in same}, {name: wanted[name] for name in same})
    assert "anonymity" not in found
    assert found["range_counts"]["error"] is None
    assert found["two_way"]["why_not"].startswith("two columns have more than 8 pairs of cells")
    assert [*found["not_computed"]] == ["range counts and the level of anonymity"]
    given_tables = AuditedTables(original, release, folder, None, ())
    audit = audit_counted(given_tables, 5, None, few, unwatched)
    assert audit.classes == {"k": wanted["smallest_class"]}
    sizes = incrowd.report(release, engine="memory").facts["classes"]["histogram"]
    assert audit.below == {"rows_by_equal_rows": sum(part["rows"] for part in sizes if part["to"] < 5)}
    assert not audit.holds
    assert "equal rows alone were counted" in audit.notes[0]
    assert audit.headline().startswith(f"every person has at least {wanted['smallest_class']} rows")
    with pytest.raises(InputError, match="more than 8 different combinations of cells; ask about fewer"):
        ask_counted(release, "SELECT COUNT(*) WHERE age < 30 AND ill = 'flu'", None, False, few)


def test_tables_of_another_tool_are_audited_by_their_files(tmp_path: Path) -> None:
    release = incrowd.publish(PEOPLE, policy_for("mondrian"))
    table, shown = written(PEOPLE, tmp_path / "people.csv"), written(release.table, tmp_path / "shown.csv")
    named: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "k": 4}
    by_policy: dict[str, Any] = {"policy": policy_for("mondrian"), "k": 4}
    for more in (named, by_policy):
        found, wanted = (incrowd.audit(table, shown, **more, **how) for how in (SMALL, IN_MEMORY))
        assert alike(*(without(each.to_dict(), "notes", "ranges") for each in (found, wanted)))
    with pytest.raises(InputError, match="which columns outsiders know is not guessed"):
        incrowd.audit(table, shown, **SMALL)
    with pytest.raises(InputError, match="a table that another tool wrote"):
        incrowd.measure(shown, table, policy_for("mondrian"), **SMALL)


def written(table: Table, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([table.names, *table])
    return path


def joined_release(folder: Path) -> tuple[Path, Path, Path]:
    public = Table.of({"id": [f"p{i}" for i in range(40)], "age": [str(20 + i % 20) for i in range(40)]})
    private = Table.of(
        {
            "id": [f"p{i}" for i in range(0, 40, 2)],
            "age": [str(20 + i % 20) for i in range(0, 40, 2)],
            "ill": [("flu", "cold")[i % 2] for i in range(20)],
        }
    )
    policy = Policy.from_dict(
        {
            "identifiers": ["id"],
            "quasi_identifiers": {"age": {"type": "numeric"}},
            "drop": ["ill"],
            "privacy": {"k": 4},
            "method": "kja-direct",
            "public": {"table": "public.parquet", "id": "id", "membership_secret": True},
        },
        folder=folder,
    )
    places = JoinCase(private, public, None, policy).written(folder)
    publish_large(
        places[0], policy, folder / "joined", Form("parquet"), Resources(512_000_000, 1), public=places[1]
    )
    return folder / "joined", places[0], places[1]


def test_a_joined_release_is_queried_and_nothing_else(tmp_path: Path) -> None:
    release, private, public = joined_release(tmp_path)
    for sql in ("SELECT COUNT(*)", "SELECT COUNT(*) WHERE age < 30", "SELECT MAX(age)"):
        answers = [incrowd.query(release, sql, **how) for how in (SMALL, IN_MEMORY)]
        assert alike(*(answer.to_dict() for answer in answers))
    assert alike(*(incrowd.report(release, **how).to_dict() for how in (SMALL, IN_MEMORY)))
    for command in (incrowd.measure, incrowd.report):
        with pytest.raises(InputError, match=r"joined with a public table, and .* does not count such"):
            command(release, private, public=public, **SMALL)


MADE_IN_MEMORY: dict[str, dict[str, Any]] = {
    "means": {"quasi_identifiers": {**QUASI, "age": {"type": "numeric", "mean": True}}},
    "left out": {"privacy": {"k": 6, "max_suppression": "0.2"}},
    "anatomy": {
        "method": "anatomy",
        "privacy": {"k": 2, "l": 2},
        "sensitive": ["ill"],
        "keep": [],
        "accept": ["exact-rows"],
    },
}


@pytest.mark.parametrize("name", MADE_IN_MEMORY)
def test_releases_made_in_memory_are_counted_too(name: str, tmp_path: Path) -> None:
    original = written(PEOPLE, tmp_path / "people.csv")
    policy = Policy(**(ROLES | {"privacy": {"k": 6}} | MADE_IN_MEMORY[name]), rest="drop")
    incrowd.publish(original, policy, tmp_path / "release")
    published = [column.name for column in ReleaseFolder.open(tmp_path / "release").published_schema.columns]
    absent = [column for column in PEOPLE.names if column not in published]
    for sql in (each for each in QUESTIONS[1:5] if not any(column in each for column in absent)):
        answers = [incrowd.query(tmp_path / "release", sql, **how) for how in (SMALL, IN_MEMORY)]
        assert alike(*(answer.to_dict() for answer in answers)), sql
    assert alike(*(incrowd.report(tmp_path / "release", **how).to_dict() for how in (SMALL, IN_MEMORY)))
    if name == "anatomy":
        with pytest.raises(InputError, match="has sensitive values in buckets"):
            incrowd.measure(tmp_path / "release", original, **SMALL)
    else:
        found = incrowd.measure(tmp_path / "release", original, **SMALL).to_dict()
        wanted = incrowd.measure(tmp_path / "release", original, bound="none", **IN_MEMORY).to_dict()
        assert alike(without(found, *LACKING), without(wanted, *LACKING))


def test_what_duckdb_does_not_read_is_refused(tmp_path: Path) -> None:
    original = written(PEOPLE, tmp_path / "people.csv")
    incrowd.publish(original, policy_for("mondrian"), tmp_path / "typed", format="parquet", typed=True)
    with pytest.raises(IncrowdError, match=r"typed|not of a plain type"):
        incrowd.query(tmp_path / "typed", "SELECT COUNT(*)", **SMALL)
    with pytest.raises(InputError, match="one of auto, memory, duckdb"):
        incrowd.query(tmp_path / "typed", "SELECT COUNT(*)", engine="spark")
    with pytest.raises(InputError, match=r"memory.* is for"):
        incrowd.query(tmp_path / "typed", "SELECT COUNT(*)", engine="memory", memory="1GB")
