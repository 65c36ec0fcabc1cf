"""Rings inside a database: a good release passes, and no forgery of rows, claims or places does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from forgeries.classes import METHOD
from forgeries.nonhomogeneous import OVERLAP_FORGERIES, K, N, Overlapping, good, ring
from support.night import NIGHT

from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session
from incrowd.schema import Claim, Verdict
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.in_engine import ClassWitness, EngineFiles, rings, verify_in_engine

TWO = [*ring(N // 2, K), *ring(N // 2, K, N // 2)]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckSession]:
    with duck_session(tmp_path_factory.mktemp("work"), Resources(512_000_000, 1)) as opened:
        yield opened


def rings_of(release: Overlapping, session: DuckSession, parts: int = 2) -> ClassWitness:
    """Record i and the row that was made at its place; each is behind its own row."""
    n = len(release.original)
    row = dict(zip(release.truth, release.rows, strict=False))
    place = np.arange(n)
    size = n // parts

    def texts(words: list[str]) -> np.ndarray:
        found = np.empty(n, object)
        found[:] = words
        return found

    records: dict[str, Any] = {
        f"v{j}": texts([record[j + 1] for record in release.original]) for j in range(2)
    }
    records |= {"p0": texts([record[3] for record in release.original])}
    types = dict.fromkeys(records, "VARCHAR")
    where = {"part": place // size, "place": place % size, "behind": place % size}
    session.load("w_records", {**records, **where, "class": place}, types)
    cells = {f"c{j}": texts([row.get(i, ["", ""])[j] for i in range(n)]) for j in range(2)}
    session.load("w_classes", {**cells, "class": place}, dict.fromkeys(cells, "VARCHAR"))
    return ClassWitness("w_records", "w_classes")


def verified(release: Overlapping, folder: Path, session: DuckSession, lie: str = "") -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    expected = Expected(release.schema, release.claims, release.accepted, None, METHOD)
    witness = rings_of(release, session)
    if lie:
        session.run(lie)
    files, original = EngineFiles(folder / "release"), CsvRows(folder / "original.csv")
    return verify_in_engine(session, files, original, expected, witness)


def two_rings() -> Overlapping:
    return good(TWO, ("k-factor",))


def test_two_rings_are_accepted(
    tmp_path: Path, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if they are looked at one after the other."""
    verdict = verified(two_rings(), tmp_path, session)
    assert verdict.passed, verdict.failures
    assert verdict.facts["reached"] == {"k-factor": K}
    monkeypatch.setattr(rings, "ROWS_AT_ONCE", 5)
    (tmp_path / "again").mkdir()
    assert verified(two_rings(), tmp_path / "again", session).passed


def changed(name: str) -> Overlapping | None:
    """A forgery of two rings; None if it spoils nothing but the witness of the verifier in memory."""
    release, honest = two_rings(), two_rings()
    OVERLAP_FORGERIES[name][1](release)
    same = replace(release, neighbourhoods=None) == replace(honest, neighbourhoods=None)
    return None if same else release


SPOILERS = [name for name in OVERLAP_FORGERIES if changed(name) is not None]
TRIED = SPOILERS if NIGHT else SPOILERS[::4]


@pytest.mark.parametrize("name", TRIED)
def test_no_forgery_is_accepted(name: str, tmp_path: Path, session: DuckSession) -> None:
    release = changed(name)
    assert release is not None
    assert not verified(release, tmp_path, session).passed


def test_most_forgeries_are_tried() -> None:
    assert len(SPOILERS) >= 25


LIES = {
    "a place is missing": ("truth", "DELETE FROM w_records WHERE class = 3"),
    "a place is there twice": ("truth", "INSERT INTO w_records SELECT * FROM w_records WHERE class = 3"),
    "two records stand at one place": ("truth", "UPDATE w_records SET place = 4 WHERE class = 3"),
    "two rings have one place each twice": ("truth", "UPDATE w_records SET part = 0"),
    "a record is behind two rows": ("truth", "UPDATE w_records SET behind = 4 WHERE class = 3"),
    "records are behind rows that do not hold them": (
        "truth",
        "UPDATE w_records SET behind = (behind + 5) % 12",
    ),
    "a ring has a gap": ("truth", "UPDATE w_records SET place = 12, behind = 12 WHERE class = 3"),
    "a ring begins below zero": ("truth", "UPDATE w_records SET place = place - 1, behind = behind - 1"),
    "a place is no number": ("truth", "UPDATE w_records SET place = NULL WHERE class = 3"),
    "a ring is none": ("truth", "UPDATE w_records SET part = NULL WHERE class = 3"),
    "records have other values": ("truth", "UPDATE w_records SET p0 = 'ill 1' WHERE class = 0"),
    "a record is there in the place of another": (
        "truth",
        "UPDATE w_records SET v0 = '21', v1 = 'code 01' WHERE class = 0",
    ),
    "rows are made elsewhere": ("truth", "UPDATE w_records SET class = (class + 12) % 24"),
    "a row is made of other cells": ("truth", "UPDATE w_classes SET c1 = 'code 00' WHERE class = 0"),
    "the places of a ring are shuffled": (
        "k-factor",
        "UPDATE w_records SET place = place * 5 % 12, behind = behind * 5 % 12",
    ),
    "two places of a ring are exchanged": (
        "k-factor",
        "UPDATE w_records SET place = 9 - place, behind = 9 - behind WHERE place IN (2, 7)",
    ),
    "a ring of two": (
        "k-factor",
        "UPDATE w_records SET part = 9, place = place - 10, behind = behind - 10 WHERE class IN (10, 11)",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_rings_are_not_trusted(name: str, tmp_path: Path, session: DuckSession) -> None:
    caught_by, lie = LIES[name]
    verdict = verified(two_rings(), tmp_path, session, lie)
    assert next(check.name for check in verdict.failures) == caught_by


def test_a_row_with_the_value_of_a_record_that_it_does_not_hold(tmp_path: Path, session: DuckSession) -> None:
    """Two rows of a ring exchange their values, and the witness says who would be behind them."""
    release = two_rings()
    rows = [release.rows[release.truth.index(record)] for record in (0, 6)]
    rows[0][2], rows[1][2] = rows[1][2], rows[0][2]
    verdict = verified(
        release, tmp_path, session, "UPDATE w_records SET behind = 6 - behind WHERE class IN (0, 6)"
    )
    failed = [(check.name, check.detail) for check in verdict.failures]
    assert failed[0] == ("truth", "2 values of code are not in the cells of their class")


@pytest.mark.parametrize("name", rings.PLACES)
def test_every_line_has_a_place(name: str, tmp_path: Path, session: DuckSession) -> None:
    lie = f"UPDATE w_records SET {name} = NULL WHERE class IN (3, 4)"
    failed = [(check.name, check.detail) for check in verified(two_rings(), tmp_path, session, lie).failures]
    assert failed[0] == ("truth", f"2 lines of the witness have no {name}")


# A k-factor

SIZES = {0: 5, 1: 3, 7: 4}  # of three rings, by their numbers


def shown_by(session: DuckSession, sizes: dict[int, int], holds: np.ndarray) -> rings.RingTruth:
    """Rings in which line i is of record i and row i, and which row holds which record."""
    part = np.repeat([*sizes], [*sizes.values()]).astype(np.int64)
    place = np.array([place for size in sizes.values() for place in range(size)], np.int64)
    line = np.arange(part.size)
    session.load("ring_", {"part": part, "place": place, "v0": line, "c0": line})
    found: Any = object.__new__(rings.RingTruth)
    regions = SimpleNamespace(hold=lambda cells, ranks: holds[cells, ranks])
    found._session, found._quasi = session, [SimpleNamespace(regions=regions)]
    return cast(rings.RingTruth, found)


def from_each_on(sizes: dict[int, int], k: int) -> np.ndarray:
    """Every row holds k records from its place on."""
    holds = np.zeros((sum(sizes.values()),) * 2, bool)
    first = 0
    for size in sizes.values():
        for row in range(size):
            holds[first + row, first + (row + np.arange(k)) % size] = True
        first += size
    return holds


@pytest.mark.parametrize("at_once", [1, 4, 6, 8, 9, 100])
def test_every_row_holds_the_k_records_from_its_place_on(
    at_once: int, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "ROWS_AT_ONCE", at_once)
    holds = from_each_on(SIZES, 2)
    assert shown_by(session, SIZES, holds).shows_factor(2)
    assert not shown_by(session, SIZES, holds).shows_factor(3)
    for row, record in np.argwhere(holds).tolist():
        one_less = holds.copy()
        one_less[row, record] = False
        assert not shown_by(session, SIZES, one_less).shows_factor(2)


def test_no_ring_shows_more_than_it_has_records(session: DuckSession) -> None:
    """Around a ring of three, the fourth record would be the first one again."""
    found = shown_by(session, SIZES, np.ones((12, 12), bool))
    assert [k for k in range(-1, 7) if found.shows_factor(k)] == [1, 2, 3]
    found = shown_by(session, {}, np.ones((1, 1), bool))
    assert not any(found.shows_factor(k) for k in range(3))


def test_rings_tell_nothing_else(session: DuckSession) -> None:
    found = rings.WitnessedRings(shown_by(session, SIZES, from_each_on(SIZES, 2)))
    assert [found.witnessed(k) for k in (1, 2, 3, 2)] == [True, True, False, True]
    with pytest.raises(CheckFailed, match="verify in memory"):
        found.degrees  # noqa: B018


def test_a_k_that_is_too_high_is_not_confirmed(tmp_path: Path, session: DuckSession) -> None:
    release = two_rings()
    release.say(Claim("k-factor", {"k": K + 1}))
    failures = [check.name for check in verified(release, tmp_path, session).failures]
    assert failures == ["k-factor", "odds"]


def test_who_is_behind_which_row_may_be_any_that_it_holds(tmp_path: Path, session: DuckSession) -> None:
    """The rows of a ring, drawn: the record behind each is one of the K from its place on."""
    release = two_rings()
    turned = {i: TWO[i][1] for i in range(N)}
    release.rows = [
        [*row[:2], f"ill {turned[p] % 5}"] for p, row in zip(release.truth, release.rows, strict=True)
    ]
    lie = "UPDATE w_records SET behind = (behind + 1) % 12"
    assert verified(release, tmp_path, session, lie).passed
