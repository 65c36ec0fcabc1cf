"""The verifier on series: what is good passes, and every forgery is caught by the check that is for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from forgeries.series import AUDITS, FIRST, SECOND, STATES, leave_out_a_release
from support.series_tables import checked, failed, months, policy, rehash, table

from incrowd import cohorts
from incrowd.commands.publish import publish
from incrowd.errors import NotVerified
from incrowd.publishing import series as publishing
from incrowd.release.stage import LEDGER, audit_folder
from incrowd.schema import Column, Kind, Role, Schema, Shape
from incrowd.verifier.chain import LedgerChain, check_read_alike
from incrowd.verifier.failure import CheckFailed


def test_what_is_not_spoiled_passes(tmp_path: Path) -> None:
    releases = months(tmp_path, [FIRST, SECOND], policy())
    assert releases[1].manifest["series"] | {"id": "", "parent": ""} == {
        **{"id": "", "number": 1, "parent": "", "waiting": 1, "lingering": 1, "withheld": 0, "oldest": 0}
    }
    for asked in (None, policy()):
        verdict = checked(tmp_path, 1, SECOND, asked)
        assert verdict.passed
        assert verdict.facts["reached"]["series-k"] == 3
    assert checked(tmp_path, 0, FIRST).passed


@pytest.mark.parametrize("name", STATES)
def test_a_publisher_that_does_wrong_is_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_by, spoil = STATES[name]
    months(tmp_path, [FIRST], policy())

    def spoiled(*given: Any) -> cohorts.SeriesState:
        return spoil(cohorts.advanced(*given))

    monkeypatch.setattr(publishing, "advanced", spoiled)
    with pytest.raises(NotVerified, match=rf"(?m)^  {caught_by}: "):
        publish(table(SECOND), policy(), tmp_path / "m1", after=tmp_path / "m0")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m0", "m0.audit"]


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_that_was_rewritten_is_seen(name: str, tmp_path: Path) -> None:
    caught_by, spoil = AUDITS[name]
    months(tmp_path, [FIRST, SECOND], policy())
    spoil(tmp_path)
    assert failed(checked(tmp_path, 1, SECOND, policy()))[:1] == [caught_by]


@pytest.mark.parametrize("change", [{"version": 2}, {"more": 1}, {}], ids=str)
def test_a_ledger_says_what_it_is(change: dict[str, int], tmp_path: Path) -> None:
    """The commands look at it, too, when they open a ledger; the verifier does not rely on that."""
    months(tmp_path, [FIRST, SECOND], policy())
    rehash(tmp_path / "m1", **change)
    places = [(tmp_path / name, audit_folder(tmp_path / name)) for name in ("m0", "m1")]
    head = json.loads((places[1][1] / LEDGER).read_text())
    chain = LedgerChain(places, staged=False, files=frozenset(head["files"]))
    if not change:
        assert chain.check()["number"] == 0
        return
    with pytest.raises(CheckFailed, match="not that of a series, or of another version"):
        chain.check()


AGE = Column("age", Role.QUASI, Kind.NUMERIC, Shape.RANGE)
BORN = Column("born", Role.QUASI, Kind.DATE, Shape.RANGE, format="dd/mm/yyyy")


@pytest.mark.parametrize(
    ("columns", "missing", "alike"),
    [
        ((BORN, AGE), {""}, True),
        ((AGE, BORN, Column("note", Role.DROP, Kind.CATEGORICAL, Shape.SET)), {""}, True),
        ((AGE, BORN), {"", "?"}, False),
        ((AGE,), {""}, False),
        ((AGE, replace(BORN, format="mm/dd/yyyy")), {""}, False),
        ((replace(AGE, shape=Shape.SET), BORN), {""}, False),
    ],
)
def test_schemas_that_read_alike(columns: tuple[Column, ...], missing: set[str], alike: bool) -> None:
    first, other = Schema((AGE, BORN)), Schema(columns, frozenset(missing))
    for schemas in ([first, other], [other, first], [first, first, other]):
        if alike:
            check_read_alike(schemas)
            continue
        with pytest.raises(CheckFailed, match="read in another way"):
            check_read_alike(schemas)


def test_a_release_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    months(tmp_path, [FIRST, SECOND], policy())
    (tmp_path / "m0").rename(tmp_path / "elsewhere")
    with pytest.raises(NotVerified, match="m0"):
        checked(tmp_path, 1, SECOND, policy())


def test_a_retracted_release_cannot_be_left_out(tmp_path: Path) -> None:
    months(tmp_path, [FIRST, SECOND, SECOND], policy())
    leave_out_a_release(tmp_path)
    found = checked(tmp_path, 2, SECOND, policy())
    assert failed(found) == ["chain"]
    assert "forked" in next(check.detail for check in found.failures if check.name == "chain")


def test_another_table_than_that_of_the_day_is_seen(tmp_path: Path) -> None:
    months(tmp_path, [FIRST, SECOND], policy())
    assert failed(checked(tmp_path, 1, FIRST)) == ["effective"]
    older = SECOND | {"p20": (99, "a")}
    assert failed(checked(tmp_path, 1, older)) == ["effective"]


def test_values_that_were_not_diverse_in_the_past_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Today two and two could part; but in the first release two had one value and two the other."""
    first = {"p": (20, "a"), "q": (20, "a"), "r": (60, "b"), "s": (60, "b")}
    second = {"p": (20, "a"), "q": (20, "b"), "r": (60, "a"), "s": (60, "b")}
    asked = policy(2, privacy={"l": 2})
    (tmp_path / "good").mkdir()
    good = months(tmp_path / "good", [first, second], asked)
    assert [release.verdict.facts["classes"] for release in good] == [1, 1]
    monkeypatch.setattr(cohorts._Next, "_was_diverse", lambda *_: True)
    with pytest.raises(NotVerified, match=r"series-l \(ill\): in release 0") as refused:
        months(tmp_path, [first, second], asked)
    assert "frequency" not in str(refused.value)
