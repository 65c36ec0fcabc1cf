"""The verifier inside a database: a good release passes, and what memory rejects is rejected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from forgeries.classes import FORGERIES, METHOD, Release, good, manifest
from support.night import NIGHT

from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session
from incrowd.schema import Role, Schema, Verdict
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.in_engine import ClassWitness, EngineFiles, truth, verify_in_engine, whole_numbers

GAVE_UP = "more than it may use|needs more memory|stopped at a step|file cannot be read or written"
UNSPOILABLE = (ValueError, KeyError, StopIteration, IndexError)  # what is to be spoiled is not there


def plain() -> Release:
    """The good release without means and without claims of t, which no engine makes."""
    release = good()
    columns = tuple(replace(column, mean=False) for column in release.schema.columns)
    at = release.names.index("age_mean")
    names = [name for name in release.names if name != "age_mean"]
    rows = [[*row[:at], *row[at + 1 :]] for row in release.rows]
    schema = Schema(columns, release.schema.missing)
    claims = tuple(claim for claim in release.claims if claim.model != "t-closeness")
    shown = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    said = manifest(schema, claims, shown)
    return replace(release, names=names, rows=rows, schema=schema, claims=claims, manifest=said)


def _applicable(name: str) -> bool:
    try:
        FORGERIES[name][1](plain())
    except UNSPOILABLE:
        return False
    return True


SPOILERS = [name for name in FORGERIES if not name.startswith("t_") and _applicable(name)]
TRIED = SPOILERS if NIGHT else SPOILERS[::4]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckSession]:
    """One for all: tables of one verification are replaced by the next."""
    with duck_session(tmp_path_factory.mktemp("work"), Resources(512_000_000, 1)) as opened:
        yield opened


def witness_of(release: Release, session: DuckSession, parted: bool = False) -> ClassWitness:
    """The class of each record as the forger would like it: that of its row.

    If `parted`, each line also has the private part, and says that it is about one record.
    """
    quasi = [column.name for column in release.schema.having(Role.QUASI)]
    places = [release.original_names.index(name) for name in quasi]
    records: list[list[str | None]] = []
    for row, record in zip(release.rows, release.truth, strict=False):
        texts: list[str | None] = [release.original[record][place] or None for place in places]
        day = texts[quasi.index("day")] or ""
        texts[quasi.index("day")] = "-".join(reversed(day.split(".")))
        records.append([*texts, *(row[release.at(name)] for name in quasi if name in release.names)])
    width, d = max(map(len, records), default=2 * len(quasi)), len(quasi)
    whole = [[*each, *[""] * (width - len(each))] for each in records]
    table = np.array(whole, object).reshape(-1, width)
    number = np.arange(len(records))
    values = {f"v{j}": table[:, j] for j in range(d)}
    cells = {f"c{j}": table[:, d + j] for j in range(width - d)}
    if parted:
        values |= {"n": np.ones(len(records), np.int64), **private_of(release, len(records))}
    types = {name: "VARCHAR" for name in values if name != "n"}
    session.load("w_records", {**values, "class": number}, types)
    session.load("w_classes", {**cells, "class": number}, dict.fromkeys(cells, "VARCHAR"))
    return ClassWitness("w_records", "w_classes")


def rejected(verdict: Verdict, by: str) -> bool:
    """Was a release rejected by what it is, not since a database gave up, and by this check or before it?"""
    found = [check for check in verdict.failures if not check.detail.startswith("not checked")]
    assert not [check for check in found if re.search(GAVE_UP, check.detail)], found
    return bool(found) and by in [check.name for check in verdict.failures]


def private_of(release: Release, count: int) -> dict[str, np.ndarray]:
    """The sensitive and kept texts of the record behind each row."""
    found = {}
    names = [column.name for column in release.schema.having(Role.SENSITIVE, Role.KEEP)]
    for i, name in enumerate(names):
        found[f"p{i}"] = np.empty(count, object)
        at = release.original_names.index(name)
        found[f"p{i}"][:] = [release.original[record][at] for record in release.truth[:count]]
    return found


def verified(release: Release, folder: Path, session: DuckSession, parted: bool = False) -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    expected = Expected(release.schema, release.claims, release.accepted, None, METHOD, release.levels)
    files = EngineFiles(folder / "release")
    original = CsvRows(folder / "original.csv")
    return verify_in_engine(session, files, original, expected, witness_of(release, session, parted))


TOGETHER = pytest.mark.parametrize("joined", [truth.MOST_JOINED, 0], ids=["together", "one by one"])


@TOGETHER
@pytest.mark.parametrize("many", [whole_numbers.MANY, 0], ids=["texts", "whole numbers"])
@pytest.mark.parametrize("parted", [False, True], ids=["classes", "parted"])
def test_a_good_release_is_accepted(
    parted: bool,
    many: int,
    joined: int,
    tmp_path: Path,
    session: DuckSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(whole_numbers, "MANY", many)
    monkeypatch.setattr(truth, "MOST_JOINED", joined)
    verdict = verified(plain(), tmp_path, session, parted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["smallest_class"] == 4
    assert verdict.facts["reached"]["distinct-l-diversity (ill)"] == 4


@pytest.mark.parametrize("bad", [1, truth.SALTS - 1, truth.SALTS])
def test_a_hash_that_two_rows_share_is_not_used(
    bad: int, tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if so many hashes took all rows for one."""
    hashed = truth.TruthInEngine._hashed

    def worse(of: truth.TruthInEngine, texts: Sequence[str]) -> str:
        return "7" if of._salt < bad else hashed(of, texts)

    monkeypatch.setattr(truth, "MOST_JOINED", 0)
    monkeypatch.setattr(truth.TruthInEngine, "_hashed", worse)
    verdict = verified(plain(), tmp_path, session)
    assert verdict.passed is (bad < truth.SALTS)
    if not verdict.passed:
        assert [check.name for check in verdict.failures][:1] == ["private"]
        assert "cannot be told apart" in verdict.failures[0].detail


@pytest.mark.parametrize("joined", range(0, 80, 4))
def test_any_columns_may_be_looked_up_together(
    joined: int, tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run("DROP TABLE IF EXISTS shown_")  # what an earlier verification left is no help
    monkeypatch.setattr(truth, "MOST_JOINED", joined)
    assert verified(plain(), tmp_path, session).passed


@pytest.mark.parametrize("name", TRIED)
def test_no_forgery_is_accepted(name: str, tmp_path: Path, session: DuckSession) -> None:
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    verdict = verified(release, tmp_path, session)
    assert rejected(verdict, caught_by)


@pytest.mark.parametrize("name", SPOILERS if NIGHT else SPOILERS[2::8])
def test_no_forgery_is_accepted_where_cells_are_looked_up_one_by_one(
    name: str, tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if columns had so many cells that they do not fit into memory together."""
    monkeypatch.setattr(truth, "MOST_JOINED", 0)
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    verdict = verified(release, tmp_path, session)
    assert rejected(verdict, caught_by)


@pytest.mark.parametrize("room", [1, 7, 30])
def test_records_may_be_placed_in_any_number_of_parts(
    room: int, tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if memory had room for so many of the sixty records."""
    monkeypatch.setattr(DuckSession, "joined_at_once", room)
    assert verified(plain(), tmp_path, session).passed
    assert not session.rows("SELECT * FROM duckdb_tables() WHERE starts_with(table_name, 'placed')")


@pytest.mark.parametrize(
    "name", [name for name in SPOILERS if NIGHT or FORGERIES[name][0] in ("private", "truth")]
)
def test_no_forgery_is_accepted_where_records_are_placed_in_parts(
    name: str, tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckSession, "joined_at_once", 7)
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    assert rejected(verified(release, tmp_path, session), caught_by)


@pytest.mark.parametrize("name", TRIED[1::3])
def test_no_forgery_is_accepted_where_records_are_parted(
    name: str, tmp_path: Path, session: DuckSession
) -> None:
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    verdict = verified(release, tmp_path, session, parted=True)
    assert rejected(verdict, caught_by)


@TOGETHER
@pytest.mark.parametrize("name", [name for name in TRIED if FORGERIES[name][0] in ("cells", "truth")][::3])
def test_no_forgery_of_whole_numbers_is_accepted(
    name: str, joined: int, tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the column had so many values that the database reads them."""
    monkeypatch.setattr(whole_numbers, "MANY", 0)
    monkeypatch.setattr(truth, "MOST_JOINED", joined)
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    verdict = verified(release, tmp_path, session)
    assert rejected(verdict, caught_by)


def test_most_forgeries_are_tried() -> None:
    assert len(SPOILERS) >= 90


WITNESSES = {
    "a record is in no class": "DELETE FROM w_records WHERE class = 3",
    "a record is in two classes": (
        "INSERT INTO w_records SELECT * REPLACE (4 AS class) FROM w_records WHERE class = 3"
    ),
    "a record is in the class of another": "UPDATE w_records SET class = (class + 1) % 60",
    "a class has other cells": "UPDATE w_classes SET c2 = 'F' WHERE class < 9",
    "nobody is anywhere": "DELETE FROM w_records",
}


PARTED = {
    "a line is missing": "DELETE FROM w_records WHERE class = 3",
    "a line is there twice": "INSERT INTO w_records SELECT * FROM w_records WHERE class = 3",
    "a line counts two": "UPDATE w_records SET n = 2 WHERE class = 3",
    "a line counts nobody": "UPDATE w_records SET n = 0 WHERE class = 3",
    "a line takes back what another says": (
        "INSERT INTO w_records SELECT * EXCLUDE (s) REPLACE (n * s AS n, 4 AS class) "
        "FROM w_records, (VALUES (1), (-1)) t(s) WHERE class = 3"
    ),
    "a line has no number": "UPDATE w_records SET n = NULL WHERE class = 3",
    "records are in the classes of others": "UPDATE w_records SET class = (class + 1) % 60",
    "a private part is another one": "UPDATE w_records SET p0 = 'flu' WHERE class % 2 = 0",
    "two classes have one number": (
        "INSERT INTO w_classes SELECT * REPLACE (3 AS class) FROM w_classes WHERE class = 4"
    ),
    "a class has other cells": "UPDATE w_classes SET c2 = 'F' WHERE class < 9",
    "nobody is anywhere": "DELETE FROM w_records",
}
LIES = [(name, False) for name in WITNESSES] + [(name, True) for name in PARTED]


@TOGETHER
@pytest.mark.parametrize(("name", "parted"), LIES)
def test_a_witness_is_not_trusted(
    name: str,
    parted: bool,
    joined: int,
    tmp_path: Path,
    session: DuckSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(truth, "MOST_JOINED", joined)
    release = plain()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    witness = witness_of(release, session, parted)
    session.run((PARTED if parted else WITNESSES)[name])
    expected = Expected(release.schema, release.claims, (), None, METHOD)
    files, original = EngineFiles(tmp_path / "release"), CsvRows(tmp_path / "original.csv")
    verdict = verify_in_engine(session, files, original, expected, witness)
    assert next(check.name for check in verdict.failures) == "truth"
