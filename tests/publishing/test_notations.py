"""Columns that are not written plainly, from the table to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import incrowd as ic
from incrowd.commands.inspect import policy_text
from incrowd.commands.inspect.profile import profiled
from incrowd.errors import PolicyError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier import Expected, PublishedTables, Stated, verify_rows

VISITS = ["31/01/2012 00:00", "05/02/2012 00:00", "17/03/2012 00:00", "18/03/2012 00:00"] * 3
COSTS = ["1.234,50 EUR", "999 EUR", "-3,25 EUR", "2.000.000 EUR"] * 3
BORN = ["January 3, 1950", "Feb 29, 1952", "May 5, 1990", "Sept 9, 1999"] * 3
ILL = ["flu", "cold", "asthma"] * 4
TABLE = {"visit": VISITS, "cost": COSTS, "born": BORN, "ill": ILL}


def published(**quasi: Any) -> ic.Release:
    rest = [name for name in TABLE if name not in quasi]
    policy = Policy(quasi_identifiers=quasi, sensitive=rest, privacy={"k": 3})
    return ic.publish(Table.of(TABLE), policy)


def ends(release: ic.Release, name: str) -> set[str]:
    return {end for cell in release.table.column(name).texts for end in cell.strip("{[]}").split(",")}


def test_cells_are_canonical_however_the_original_is_written() -> None:
    release = published(visit={}, cost={"mean": True}, born={})
    assert ends(release, "visit") <= {"2012-01-31", "2012-02-05", "2012-03-17", "2012-03-18"}
    assert ends(release, "cost") <= {"1234.5", "999", "-3.25", "2000000"}
    assert ends(release, "born") <= {"1950-01-03", "1952-02-29", "1990-05-05", "1999-09-09"}
    assert release.reading == (
        "visit: read as date dd/mm/yyyy, time 00:00 ignored",
        "cost: read as number 1.234,56 EUR",
        "born: read as date Mon dd, yyyy",
    )
    assert "format" not in str(release.manifest["columns"])


def test_hierarchies_over_notations() -> None:
    release = published(
        visit={"hierarchy": {"dates": ["month", "year"]}},
        cost={"hierarchy": {"intervals": [100_000, 1_000_000]}},
    )
    assert set(release.table.column("visit").texts) <= {
        *(
            "2012-01-31",
            "2012-02-05",
            "2012-03-17",
            "2012-03-18",
            "2012-01",
            "2012-02",
            "2012-03",
            "2012",
            "*",
        ),
    }
    assert {"999", "1234.5"} & set(release.table.column("cost").texts)


def test_a_hierarchy_file_is_plain_or_as_the_column(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("1234.5;low;*\n999;low;*\n-3.25;low;*\n2000000;high;*\n")
    (tmp_path / "own.csv").write_text(
        "1.234,50 EUR;low;*\n999 EUR;low;*\n-3,25 EUR;low;*\n2.000.000 EUR;high;*\n"
    )
    for name in ("plain.csv", "own.csv"):
        parts = {"quasi_identifiers": {"cost": {"hierarchy": name}}, "sensitive": ["visit", "born", "ill"]}
        policy = Policy.from_dict({**parts, "privacy": {"k": 6}}, folder=tmp_path)
        assert set(ic.publish(Table.of(TABLE), policy).table.column("cost").texts) <= {"low", "*"}


def test_a_stated_notation_is_taken_and_a_wrong_one_refused() -> None:
    release = published(visit={"format": "dd/mm/yyyy time"})
    assert release.reading == ("visit: read as date dd/mm/yyyy, times ignored", *release.reading[1:])
    with pytest.raises(
        ic.errors.TableError, match=r"visit is declared date, but 4 of its 4 .* \(dd/mm/yyyy\)"
    ):
        published(visit={"format": "dd/mm/yyyy"})
    with pytest.raises(PolicyError, match="not a known notation of dates"):
        published(visit={"format": "%d/%m/%Y"})


def test_what_is_open_stays_text_and_is_said() -> None:
    table = Table.of({"visit": ["01/02/2012", "03/04/2012"] * 3, "ill": ["a", "b", "c"] * 2})
    release = ic.publish(table, quasi_identifiers=["visit"], sensitive=["ill"], k=3)
    assert release.reading == (
        "visit: taken as text: day and month can be told apart in no value; say how it is read: "
        '{type = "date", format = "dd/mm/yyyy"} or {type = "date", format = "mm/dd/yyyy"}',
    )
    assert set(release.table.column("visit").texts) == {"01/02/2012", "03/04/2012"}
    with pytest.raises(PolicyError, match=r'visit is declared date.*format = "dd/mm/yyyy" or format = "mm'):
        ic.publish(table, Policy(quasi_identifiers={"visit": {"type": "date"}}, sensitive=["ill"]), k=3)


def test_the_verifier_reads_the_original_by_the_notation_that_it_is_given() -> None:
    """By another notation, the same release is not true of the same table."""
    table = Table.of({"visit": ["01/02/2012", "03/04/2012", "05/06/2012"] * 2})
    rows = Table.of({"visit": ["[2012-02-01,2012-06-05]"] * 6})
    verdicts = {}
    for notation in ("dd/mm/yyyy", "mm/dd/yyyy"):
        column = Column("visit", Role.QUASI, Kind.DATE, format=notation)
        expected = Expected(Schema((column,)), [Claim("k-anonymity", {"k": 2})])
        verdicts[notation] = verify_rows(table, PublishedTables(rows, None, Stated()), expected).passed
    assert verdicts == {"dd/mm/yyyy": True, "mm/dd/yyyy": False}


def test_inspect_says_what_it_took_for_what_and_its_policy_can_be_used() -> None:
    moments = [f"2012-01-{day:02}T{day:02}:15:00" for day in range(1, 13)]
    table = Table.of({**TABLE, "seen": moments, "asked": [f"0{i % 9 + 1}/05/2012" for i in range(12)]})
    profile = profiled(table)
    found = {column.name: column for column in profile.columns}
    assert found["visit"].note == "read as date dd/mm/yyyy, time 00:00 ignored"
    assert (found["visit"].format, found["cost"].format) == ("dd/mm/yyyy time", "1.234,56 EUR")
    assert found["asked"].readings == (
        '{type = "date", format = "dd/mm/yyyy"}',
        '{type = "date", format = "mm/dd/yyyy"}',
    )
    assert found["seen"].role is Role.QUASI
    text = policy_text(profile)
    assert '#   asked = {type = "date", format = "mm/dd/yyyy"}' in text.splitlines()
    assert 'format = "dd/mm/yyyy time"' in text


def test_a_moment_is_no_identifier_whatever_its_column_is_called() -> None:
    moments = [f"2012-01-{day % 28 + 1:02}T{day % 24:02}:{day % 60:02}:00" for day in range(200)]
    for name in ("record_time", "patient_admitted", "id", "x", "address_since"):
        (column,) = profiled(Table.of({name: moments})).columns
        assert column.role is Role.QUASI


def test_both_tables_of_a_join_must_be_written_alike() -> None:
    policy = Policy(quasi_identifiers=["born"], identifiers=["id"])
    private = Table.of({"id": ["1", "2"], "born": ["31/01/1950", "05/02/1960"]})
    public = Table.of({"id": ["1", "2"], "born": ["1950-01-31", "1960-02-05"]})
    with pytest.raises(PolicyError, match="the same, but written differently in the public table"):
        policy.schema(private, public)
    other = Table.of({"id": ["1", "2"], "born": ["05/02/1950", "06/02/1960"]})  # alone, it would be asked
    assert policy.schema(private, other).column("born").format == "dd/mm/yyyy"
    assert policy.schema(private, other).column("born") == policy.schema(private).column("born")
