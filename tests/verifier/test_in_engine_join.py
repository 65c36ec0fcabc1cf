"""People of two tables, verified in a database: good releases pass, and what memory rejects is rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.classes import METHOD
from forgeries.join import JOIN_FORGERIES, OWN, Joined, checked, good
from support.night import NIGHT
from verifier.test_join import verified_folder

from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session
from incrowd.schema import Column, Kind, Role, Schema, Verdict
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.in_engine import (
    ClassWitness,
    EngineFiles,
    JoinedOriginals,
    checks,
    verify_in_engine,
)
from incrowd.verifier.in_engine.people import CountedPeople, read_people
from incrowd.verifier.in_engine.relations import Relation

UNSPOILABLE = (ValueError, KeyError, StopIteration, IndexError, TypeError)
OTHER_WORDS = {
    "cells",
    "rows",
    "truth",
    "k-join-anonymity",
}  # of what cannot be, one of these finds fault first


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckSession]:
    with duck_session(tmp_path_factory.mktemp("work"), Resources(512_000_000, 1)) as opened:
        yield opened


def spoiled(name: str, make: Callable[[], Joined] = good) -> Joined | None:
    """A forged release without sensitive values, which kja-direct does not publish; None if that is none."""
    release = make()
    if name:
        try:
            JOIN_FORGERIES[name][1](release)
            release.without_values()
        except UNSPOILABLE:
            return None
    else:
        release.without_values()
    return release


def witness_of(release: Joined, session: Any) -> ClassWitness:
    """The class of each person as the forger would like it: that of the row which is said to be theirs."""
    records: dict[tuple[str, ...], int] = {}
    cells = sorted({tuple(row[:2]) for row in release.rows})
    number = {cell: place for place, cell in enumerate(cells)}
    for row, person in zip(release.rows, release.truth, strict=False):
        if 0 <= person < len(release.people):
            age, sex = release.people[person]
            records.setdefault((age.removesuffix(".0"), sex), number[tuple(row[:2])])
    values = np.array([*records], object).reshape(-1, 2)
    shown = np.array(cells, object).reshape(-1, 2) if cells else np.zeros((0, 2), object)
    of_class = np.array([*records.values()], np.int64)
    session.load(
        "w_records",
        {"v0": values[:, 0], "v1": values[:, 1], "class": of_class},
        {"v0": "VARCHAR", "v1": "VARCHAR"},
    )
    places = np.arange(len(cells), dtype=np.int64)
    session.load(
        "w_classes",
        {"c0": shown[:, 0], "c1": shown[:, 1], "class": places},
        {"c0": "VARCHAR", "c1": "VARCHAR"},
    )
    return ClassWitness("w_records", "w_classes")


def verified(release: Joined, folder: Path, session: Any, witness: Any = witness_of) -> Verdict:
    """By the engine, of files that `verified_folder` has written."""
    second = CsvRows(folder / "second.csv") if release.second is not None else None
    originals = JoinedOriginals(
        CsvRows(folder / "original.csv"), CsvRows(folder / "public.csv"), "id", second, blind=False
    )
    expected = Expected(release.schema, release.claims, ("unsafe-join",), method=METHOD)
    files = EngineFiles(folder / "release")
    return verify_in_engine(session, files, originals, expected, witness(release, session))


@pytest.mark.parametrize("make", [good, checked])
def test_a_good_release_is_accepted(make: Callable[[], Joined], tmp_path: Path, session: DuckSession) -> None:
    release = spoiled("", make)
    assert release is not None
    by_memory = verified_folder(release, tmp_path, hinted=True)
    verdict = verified(release, tmp_path, session)
    assert verdict.passed, verdict.failures
    assert verdict.facts == by_memory.facts
    assert verdict.facts["own"] == OWN


def test_the_order_of_a_large_table_is_seen_on_whole_classes(
    tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = spoiled("")
    assert release is not None
    verified_folder(release, tmp_path)

    def remark(most: int) -> str:
        monkeypatch.setattr(checks, "MOST_IN_ORDER", most)
        verdict = verified(release, tmp_path, session)
        assert verdict.passed
        return next(check.detail for check in verdict.checks if check.name == "order")

    rows = len(release.rows)
    assert remark(rows) == ""
    sizes = session.arrays("SELECT n FROM numbered_ ORDER BY number")["n"]
    assert remark(rows // 3) == f"seen on {sizes[:: -(-rows // (rows // 3))].sum()} rows of whole classes"
    assert remark(3) == "not tested: fewer than 20 rows"


FORGED = [name for name in JOIN_FORGERIES if spoiled(name) is not None]


@pytest.mark.parametrize("name", FORGED if NIGHT else FORGED[::2])
def test_what_memory_rejects_is_rejected(name: str, tmp_path: Path, session: DuckSession) -> None:
    release = spoiled(name)
    assert release is not None
    in_memory = verified_folder(release, tmp_path, hinted=True)
    verdict = verified(release, tmp_path, session)
    if in_memory.passed:  # the fault was in the sensitive values
        return
    assert not verdict.passed
    first = [next(check.name for check in each.failures) for each in (in_memory, verdict)]
    assert first[0] == first[1] or set(first) <= OTHER_WORDS


def test_most_forgeries_are_tried(tmp_path: Path) -> None:
    """Else the test above would show little."""
    rejected = 0
    for place, name in enumerate(FORGED):
        release = spoiled(name)
        assert release is not None
        rejected += not verified_folder(release, tmp_path / str(place), hinted=True).passed
    assert rejected >= 30


# Who counts

IDS = Schema((Column("id", Role.IDENTIFIER), Column("age", Role.QUASI, Kind.NUMERIC)), frozenset(["", "?"]))


def people_of(
    session: DuckSession,
    own: Sequence[tuple[str | None, str]],
    public: Sequence[tuple[str | None, str]],
    **more: Any,
) -> CountedPeople:
    """Who counts of two tables of ids and ages."""
    tables = {}
    for name, lines in (("mine_", own), ("theirs_", public)):
        cells = np.empty((len(lines), 2), object)
        for place, line in enumerate(lines):
            cells[place] = line
        session.load(name, {"id": cells[:, 0], "age": cells[:, 1]}, {"id": "VARCHAR", "age": "VARCHAR"})
        tables[name] = Relation(name, ("id", "age"), {"id": f"{name}.id", "age": f"{name}.age"})
    return read_people(session, JoinedOriginals(tables["mine_"], tables["theirs_"], "id", **more), IDS)


def test_unless_it_was_accepted_everybody_is_in_the_public_table(session: DuckSession) -> None:
    public = [("a", "30"), ("b", "40"), ("c", "50")]
    found = people_of(session, [("a", "30"), ("b", "40")], public)
    assert (found.own, found.everyone, found.public_rows, found.second_rows) == (2, 3, 3, None)
    own = [("a", "30"), ("d", "40")]
    with pytest.raises(CheckFailed, match="1 records of the original table are not, or not beyond doubt"):
        people_of(session, own, public)
    found = people_of(session, own, public, blind=False)
    assert (found.own, found.everyone) == (2, 4)


@pytest.mark.parametrize("nobody", ["", "?", None])
@pytest.mark.parametrize("blind", [False, True])
def test_everybody_of_the_original_has_an_id(nobody: str | None, blind: bool, session: DuckSession) -> None:
    with pytest.raises(CheckFailed, match="a record of the original table has no id"):
        people_of(session, [("a", "30"), (nobody, "40")], [("a", "30"), (nobody, "40")], blind=blind)


@pytest.mark.parametrize("blind", [False, True])
def test_everybody_of_the_original_has_an_id_alone(blind: bool, session: DuckSession) -> None:
    with pytest.raises(CheckFailed, match="two records of the original table have the same id"):
        people_of(session, [("a", "30"), ("a", "40")], [("a", "30"), ("b", "40")], blind=blind)


def nobody(release: Joined, session: Any) -> ClassWitness:
    """A witness that does not know one of the private people."""
    found = witness_of(release, session)
    arrays = session.arrays("SELECT * FROM w_records")
    age, sex = release.people[0]
    kept = ~((arrays["v0"] == age) & (arrays["v1"] == sex))
    session.load(
        "w_records", {name: array[kept] for name, array in arrays.items()}, {"v0": "VARCHAR", "v1": "VARCHAR"}
    )
    return found


def in_the_next_class(release: Joined, session: Any) -> ClassWitness:
    found = witness_of(release, session)
    arrays = session.arrays("SELECT * FROM w_records")
    arrays["class"] = (arrays["class"] + 1) % session.number("SELECT count(*) FROM w_classes")
    session.load("w_records", arrays, {"v0": "VARCHAR", "v1": "VARCHAR"})
    return found


@pytest.mark.parametrize("witness", [nobody, in_the_next_class])
def test_a_witness_is_not_trusted(witness: Any, tmp_path: Path, session: DuckSession) -> None:
    release = spoiled("")
    assert release is not None
    verified_folder(release, tmp_path)
    verdict = verified(release, tmp_path, session, witness)
    assert next(check.name for check in verdict.failures) == "truth"
