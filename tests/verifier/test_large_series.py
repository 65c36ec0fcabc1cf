"""The verifier of series in DuckDB: what is good passes, and every forgery is caught by the check for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.large_series import LARGE_AUDITS, settled_wrongly
from forgeries.series import FIRST, SECOND, STATES, leave_out_a_release
from support.large_series import large_checked, large_months, next_month, written
from support.night import NIGHT
from support.series_tables import failed, policy

from incrowd import cohorts, publish, verify
from incrowd.engines.series_people import SeriesPeople
from incrowd.errors import NotVerified
from incrowd.flow import Regions
from incrowd.generalize import generalize
from incrowd.publishing import large_stages
from incrowd.verifier.in_engine import truth

BY_DAY = 6  # forgeries of audits; by night all


@pytest.fixture(scope="module")
def two_months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("months")
    large_months(folder, [FIRST, SECOND], policy())
    return folder


@pytest.fixture
def copied(two_months: Path, tmp_path: Path) -> Path:
    shutil.copytree(two_months, tmp_path / "months")
    return tmp_path / "months"


@pytest.mark.parametrize("joined", [truth.MOST_JOINED, 0], ids=["together", "one by one"])
def test_what_is_not_spoiled_passes(joined: int, two_months: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth, "MOST_JOINED", joined)
    verdict = large_checked(two_months, 1, policy())
    assert verdict.passed
    assert verdict.facts["reached"]["series-k"] == 3
    assert large_checked(two_months, 1).passed
    assert large_checked(two_months, 0).passed


def test_rows_that_do_not_describe_their_cohort_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells of two cohorts are exchanged, in the release as in the witness: all counts agree."""

    def exchanged(*given: Any) -> Regions:
        regions = generalize(*given)
        return replace(regions, cell=np.roll(regions.cell, 1, axis=0))

    monkeypatch.setattr(large_stages, "generalize", exchanged)
    with pytest.raises(NotVerified, match=r"(?m)^  truth: \d+ values of age are not in the cells"):
        large_months(tmp_path, [FIRST], policy())


@pytest.mark.parametrize("name", STATES)
def test_a_publisher_that_does_wrong_is_stopped(
    name: str, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_by, spoil = STATES[name]
    shutil.rmtree(copied / "m1")
    shutil.rmtree(copied / "m1.audit")
    (copied / "m0.audit" / "successor.json").unlink()
    monkeypatch.setattr(SeriesPeople, "settle", settled_wrongly(spoil))
    with pytest.raises(NotVerified, match=rf"(?m)^  {caught_by}: "):
        next_month(copied, 1, SECOND, policy())
    assert sorted(path.name for path in copied.iterdir()) == ["m0", "m0.audit", "t0.csv", "t1.csv"]


@pytest.mark.parametrize("name", [*LARGE_AUDITS][:: 1 if NIGHT else len(LARGE_AUDITS) // BY_DAY])
def test_an_audit_that_was_rewritten_is_seen(name: str, copied: Path) -> None:
    caught_by, spoil = LARGE_AUDITS[name]
    spoil(copied)
    try:
        found = failed(large_checked(copied, 1, policy()))
    except NotVerified:
        found = ["chain"]  # it is not even opened
    assert found[:1] == [caught_by]


def test_a_retracted_release_cannot_be_left_out(copied: Path) -> None:
    next_month(copied, 2, SECOND, policy())
    leave_out_a_release(copied)
    assert failed(large_checked(copied, 2, policy())) == ["chain"]


def test_another_table_than_that_of_the_day_is_seen(copied: Path) -> None:
    written(copied / "t1.csv", SECOND | {"p20": (99, "a")})
    assert failed(large_checked(copied, 1)) == ["effective"]
    written(copied / "t1.csv", SECOND | {"stranger": (99, "a")})
    assert failed(large_checked(copied, 1)) == ["effective"]


def test_values_that_were_not_diverse_in_the_past_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Today two and two could part; but in the first release two had one value and two the other."""
    first = {"p": (20, "a"), "q": (20, "a"), "r": (60, "b"), "s": (60, "b")}
    second = {"p": (20, "a"), "q": (20, "b"), "r": (60, "a"), "s": (60, "b")}
    asked = policy(2, privacy={"l": 2})
    monkeypatch.setattr(cohorts._Next, "_was_diverse", lambda *_: True)
    with pytest.raises(NotVerified, match=r"series-l \(ill\): in release 0") as refused:
        large_months(tmp_path, [first, second], asked)
    assert "frequency" not in str(refused.value)


def test_cells_of_several_columns_are_looked_up_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(truth, "MOST_JOINED", 0)
    table = tmp_path / "t0.csv"
    lines = [f"p{who},{20 + who},{'FM'[who % 2]},a{who % 3}\n" for who in range(40)]
    table.write_text("".join(["id,age,sex,ill\n", *lines]), encoding="utf-8")
    asked = {
        "entity": "id",
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
        "sensitive": ["ill"],
        "privacy": {"k": 3},
        "series": {},
    }
    publish(str(table), asked, tmp_path / "m0", engine="duckdb")
    assert verify(tmp_path / "m0", str(table), asked).passed
