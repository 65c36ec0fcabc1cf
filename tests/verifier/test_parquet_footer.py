"""Whatever a Parquet file can hold beside its cells is refused by the verifier's own reading."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.flow import Table
from incrowd.schema import Kind
from incrowd.tables import write_parquet
from incrowd.tables.parquet_writer import Members, TypedSpan
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.parquet_footer import check_container

TABLE = Table.of({"a": ["1", "[2,3]"] * 20, "b": ["x", "{x|y}"] * 20, "c": [None, "v"] * 20})
TYPED: dict[str, dict[str, Any]] = {
    "texts": {},
    "whole numbers and lists": {
        "a": TypedSpan(Kind.NUMERIC, (("1", "1"), ("2", "3")), (False, True)),
        "b": Members((("x",), ("x", "y"))),
    },
    "decimals": {"a": TypedSpan(Kind.NUMERIC, (("1.5", "1.5"), ("2", "3.25")))},
    "floats": {"a": TypedSpan(Kind.NUMERIC, (("1e-30", "1e-30"), ("2e30", "3e30")))},
    "days": {"a": TypedSpan(Kind.DATE, (("2024-02-29", "2024-02-29"), ("2024-03-01", "2024-03-02")))},
    "moments": {
        "a": TypedSpan(Kind.DATE, (("2024-02-29 10:00:00", "2024-02-29 10:00:01"), None), (False, True))
    },
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "data.parquet"
    write_parquet(TABLE, path)
    return path


@pytest.mark.parametrize("form", TYPED)
def test_what_incrowd_writes_passes(form: str, tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    write_parquet(TABLE, path, TYPED[form])
    check_container(path)
    assert pq.ParquetFile(path).metadata.metadata is None


def test_several_row_groups_pass(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    write_parquet(Table.of({"a": ["x", "y"] * 130_000}), path)
    assert pq.ParquetFile(path).metadata.num_row_groups > 1
    check_container(path)


def footer_of(data: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(data[-8:-4], "little")
    return data[: len(data) - 8 - length], data[len(data) - 8 - length : -8]


def closed(body: bytes, footer: bytes) -> bytes:
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def bytes_before_the_footer(data: bytes) -> bytes:
    body, footer = footer_of(data)
    return closed(body + b"person 7 has flu", footer)


def bytes_after_the_footer(data: bytes) -> bytes:
    body, footer = footer_of(data)
    return closed(body, footer + b"flu")


def a_number_in_a_longer_form(data: bytes) -> bytes:
    body, footer = footer_of(data)
    assert footer[:2] == b"\x15\x02"  # version 1
    return closed(body, b"\x15\x82\x00" + footer[2:])


def free_words(data: bytes) -> bytes:
    """Key-value metadata, put where the format has it: between the row groups and the maker."""
    body, footer = footer_of(data)
    at = footer.rindex(b"\x28\x28DuckDB")  # field 6 is two steps from field 4
    words = b"\x19\x1c\x18\x01k\x18\x03flu\x00"  # field 5: a list of one pair
    return closed(body, footer[:at] + words + b"\x18" + footer[at + 1 :])


def another_maker(data: bytes) -> bytes:
    return data.replace(b"DuckDB version", b"DuckDB_version")


def another_schema(data: bytes) -> bytes:
    return data.replace(b"duckdb_schema", b"person_8_flu_")


def cut_short(data: bytes) -> bytes:
    return data[:-9]


FORGED = [
    *(bytes_before_the_footer, bytes_after_the_footer, a_number_in_a_longer_form, free_words),
    *(another_maker, another_schema, cut_short),
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_nothing_else_fits_into_the_file(forge: Any, good: Path) -> None:
    forged = forge(good.read_bytes())
    assert forged != good.read_bytes()
    good.write_bytes(forged)
    with pytest.raises(CheckFailed, match=r"^data.parquet ") as refusal:
        check_container(good)
    assert "flu" not in str(refusal.value)


def test_the_forged_words_are_such_as_other_readers_find(good: Path) -> None:
    """The control: this file is well-formed, and says more."""
    good.write_bytes(free_words(good.read_bytes()))
    assert pq.ParquetFile(good).metadata.metadata == {b"k": b"flu"}


@pytest.mark.parametrize(
    "options", ["KV_METADATA {note: 'flu'}", "FIELD_IDS {a: 7}"], ids=["free words", "numbers of fields"]
)
def test_the_same_writer_with_more_to_say_is_refused(options: str, tmp_path: Path) -> None:
    """Written again by the same writer with the same options, these would be the same bytes."""
    path = tmp_path / "data.parquet"
    duckdb.sql(f"COPY (SELECT 'x' AS a FROM range(9)) TO '{path}' (FORMAT parquet, {options})")
    with pytest.raises(CheckFailed):
        check_container(path)


def test_a_file_of_another_writer_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x"] * 9}), tmp_path / "data.parquet")
    with pytest.raises(CheckFailed):
        check_container(tmp_path / "data.parquet")


def test_a_spoilt_footer_passes_or_fails_as_a_check_does(good: Path) -> None:
    """Whatever its bytes: no hang, and nothing but what the checklist turns into a failed check."""
    data, rng, refused = good.read_bytes(), random.Random(7), 0
    body, footer = footer_of(data)
    for _ in range(400):
        spoilt = bytearray(footer)
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        good.write_bytes(closed(body, bytes(spoilt)))
        try:
            check_container(good)
        except (CheckFailed, TypeError, KeyError, AttributeError):
            refused += 1
    assert refused > 100
