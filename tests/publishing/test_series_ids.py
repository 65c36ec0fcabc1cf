"""The ids of a series: a table that writes them in another way is refused, in memory as with DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.large_series import ENGINE, written
from support.series_tables import policy

from incrowd.commands.publish import publish
from incrowd.commands.series import series
from incrowd.errors import InputError, Refused, TableError
from incrowd.publishing.series_ids import MOST_DIGITS, spellings
from incrowd.release.ledger import KeptLedger
from incrowd.release.stage import LEDGER, SUCCESSOR, audit_folder

PEOPLE = {f"{number:04}": (20 + 2 * number, "abc"[number % 3]) for number in range(26)}
NEW = {f"9{number:03}": (30 + number, "b") for number in range(4)}
ENGINES = pytest.mark.parametrize("engine", [{}, ENGINE], ids=["memory", "duckdb"])


def renamed(people: Any, name: Any, which: int = 26) -> Any:
    """The same people, so many of them under another id."""
    return {name(who) if place < which else who: said for place, (who, said) in enumerate(people.items())}


def begun(folder: Path, engine: dict[str, Any]) -> None:
    publish(str(written(folder / "t0.csv", PEOPLE)), policy(), folder / "m0", **engine)


def after_first(folder: Path, people: Any, engine: dict[str, Any], **more: Any) -> Any:
    table = str(written(folder / "t1.csv", people))
    return publish(table, policy(), folder / "m1", after=folder / "m0", **engine, **more)


@ENGINES
@pytest.mark.parametrize(
    ("people", "words"),
    [
        (renamed(PEOPLE, lambda who: str(int(who))), "none of the 26 people"),
        (renamed(PEOPLE, str.strip) | NEW, None),
        (renamed(PEOPLE, lambda who: f"{who} ", 3) | NEW, "3 new ids differ only by blanks"),
        (renamed(PEOPLE, lambda who: f" {who}", 1), "1 new ids differ only by blanks"),
        (renamed(PEOPLE, lambda who: str(int(who)), 2), "2 new ids"),
        (renamed(PEOPLE, lambda who: f"{int(who)}.0", 2) | NEW, "2 new ids"),
        (NEW, "none of the 26 people"),
        ({who: said for who, said in PEOPLE.items() if who > "0003"} | NEW, None),
        (PEOPLE | {"1": (40, "a")}, None),
    ],
    ids=["no zeros", "same", "blank after", "blank before", "some zeros", "floats", "others", "gone", "two"],
)
def test_a_table_that_writes_ids_in_another_way_is_refused(
    people: Any, words: str | None, engine: dict[str, Any], tmp_path: Path
) -> None:
    """Where the id of somebody who is there still resembles a new one, it is somebody else's."""
    begun(tmp_path, engine)
    if words is None:
        assert after_first(tmp_path, people, engine).verdict.passed
        return
    with pytest.raises(TableError, match=words):
        after_first(tmp_path, people, engine)
    assert not (audit_folder(tmp_path / "m0") / SUCCESSOR).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m0", "m0.audit", "t0.csv", "t1.csv"]


@ENGINES
def test_a_file_of_ids_without_a_header_is_refused(engine: dict[str, Any], tmp_path: Path) -> None:
    """Its first id would be taken for a header, and not be erased."""
    begun(tmp_path, engine)
    ids = tmp_path / "ids.csv"
    ids.write_text("0003\n0004\n")
    with pytest.raises(InputError, match="need a column id"):
        series(tmp_path / "m0", erase=ids)
    with pytest.raises(InputError, match="need a column id"):
        after_first(tmp_path, PEOPLE, engine, erase=ids)
    ids.write_text("reason,id\nasked,0003\nasked,0004\n")
    assert after_first(tmp_path, PEOPLE, engine, erase=ids).verdict.passed
    assert int(KeptLedger.open(tmp_path / "m1").read().erased.sum()) == 2


@ENGINES
def test_who_waits_lingers_or_is_erased_already_can_be_erased(engine: dict[str, Any], tmp_path: Path) -> None:
    """What it costs is what was said before, if the next table is as the last one."""
    begun(tmp_path, engine)
    second = {who: said for who, said in PEOPLE.items() if who != "0000"} | {"9000": (31, "b")}
    after_first(tmp_path, second, engine)
    gone = pd.DataFrame({"id": ["0000", "9000", "0020"]})
    cost = series(tmp_path / "m1", erase=gone).erasure
    assert cost is not None
    assert (cost.erased, cost.shown) == (3, 2)
    table = str(tmp_path / "t1.csv")
    third = publish(table, policy(), tmp_path / "m2", after=tmp_path / "m1", erase=gone, **engine)
    assert third.manifest["series"]["withheld"] == cost.others > 0
    assert third.manifest["series"]["waiting"] == 0
    again = publish(table, policy(), tmp_path / "m3", after=tmp_path / "m2", erase=gone, **engine)
    assert again.manifest["series"]["withheld"] == cost.others
    assert int(KeptLedger.open(tmp_path / "m3").read().erased.sum()) == 3


@pytest.mark.parametrize("begun_with", [{}, ENGINE], ids=["begun in memory", "begun in duckdb"])
@ENGINES
def test_a_second_series_about_the_same_people_is_refused(
    engine: dict[str, Any], begun_with: dict[str, Any], tmp_path: Path
) -> None:
    """Where somebody forgot `after`, and the first lies in the same folder. Others may begin one there."""
    begun(tmp_path, begun_with)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "release.json").write_text("{")
    audit_folder(tmp_path / "broken").mkdir()
    (audit_folder(tmp_path / "broken") / LEDGER).write_text("{")
    one = str(written(tmp_path / "t1.csv", NEW | {"0007": (50, "c")}))
    with pytest.raises(Refused, match=r"1 of 5 ids are those of people of m0, .* go on after it"):
        publish(one, policy(), tmp_path / "m1", **engine)
    assert not (tmp_path / "m1").exists()
    others = str(written(tmp_path / "t1.csv", NEW))
    assert publish(others, policy(), tmp_path / "m1", **engine).verdict.passed


@given(st.integers(0, 10**MOST_DIGITS - 1), st.integers(1, MOST_DIGITS), st.integers(1, MOST_DIGITS))
def test_every_number_of_zeros_is_a_spelling(number: int, before: int, now: int) -> None:
    one, other = str(number).zfill(before), str(number).zfill(now)
    assert (other in spellings(one)) == (one != other)
    assert one not in spellings(one)
    assert f"{number}.0" in spellings(one)
    assert one in spellings(f" {one}\t")
