"""The footer of a Parquet file byte by byte: every value has one form, and nothing stands beside columns."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from incrowd.flow import Table
from incrowd.tables import write_parquet
from incrowd.verifier import parquet_footer
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.parquet_footer import _check_fields, _check_tiles, _Compact, check_container

ONE_FORM = "has a footer that is not written in its one form"


def compact(*data: int) -> _Compact:
    return _Compact(bytes(data), "f")


def varint(number: int) -> list[int]:
    found = []
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return [*found, number]


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**14, 2**63, 2**64 - 1])
def test_numbers_have_one_form(number: int) -> None:
    reader = compact(*varint(number), 7)
    assert (reader.varint(), reader.at) == (number, len(varint(number)))
    longer = [*varint(number)[:-1], varint(number)[-1] | 0x80, 0]
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(*longer).varint()
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(*varint(number)[:-1]).varint()


def test_numbers_have_ten_bytes_at_most() -> None:
    assert compact(*[0x80] * 9, 1).varint() == 2**63
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(*[0x80] * 10, 1).varint()


def test_signs_are_folded() -> None:
    assert [compact(folded).number() for folded in range(5)] == [0, -1, 1, -2, 2]


def test_texts_are_as_long_as_they_say() -> None:
    assert compact(2, 65, 66).binary() == b"AB"
    assert compact(0).binary() == b""
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(3, 65, 66).binary()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ((0x11, 0), {1: True}),
        ((0x12, 0), {1: False}),
        ((0x13, 9, 0), {1: 9}),
        ((0x14, 2, 0), {1: 1}),
        ((0x15, 3, 0), {1: -2}),
        ((0x26, 4, 0), {2: 2}),
        ((0x18, 1, 65, 0), {1: b"A"}),
        ((0x15, 2, 0x25, 4, 0), {1: 1, 3: 2}),
        ((0x1C, 0x15, 2, 0, 0), {1: {1: 1}}),
        ((0x19, 0x23, 7, 8, 0), {1: [7, 8]}),
        ((0x19, 0xE3, *range(14), 0), {1: [*range(14)]}),
        ((0x19, 0xF3, 15, *range(15), 0), {1: [*range(15)]}),
        ((0x19, 0xF3, 16, *range(16), 0), {1: [*range(16)]}),
        ((0x19, 0x1C, 0x15, 2, 0, 0), {1: [{1: 1}]}),
    ],
)
def test_structures_are_read(data: tuple[int, ...], found: dict[int, Any]) -> None:
    reader = compact(*data)
    assert (reader.struct(), reader.at) == (found, len(data))


@pytest.mark.parametrize(
    "data",
    [
        (0x05, 2, 2, 0),
        (0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (0x1A, 0, 0),
        (0x1D, 0, 0),
        (0x19, 0xF3, 14, *range(14), 0),
        (0x19, 0x21, 1, 1, 0),
        (0x19, 0x22, 1, 1, 0),
        (0x15, 2),
        (),
    ],
    ids=["long field", "double", "set", "beyond", "short list", "true", "false", "no end", "empty"],
)
def test_other_forms_are_refused(data: tuple[int, ...]) -> None:
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(*data).struct()


def test_a_list_is_no_longer_than_what_follows() -> None:
    assert compact(0x23, 7, 8).list(0) == [7, 8]
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(0x33, 7, 8).list(0)


def test_structures_are_no_deeper_than_sixteen() -> None:
    def nested(depth: int) -> tuple[int, ...]:
        return (*[0x1C] * depth, *[0] * (depth + 1))

    assert compact(*nested(15)).struct()
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(*nested(16)).struct()
    # a list is a step down as well
    assert compact(*[0x19, 0x1C] * 7, *[0] * 8).struct()
    with pytest.raises(CheckFailed, match=ONE_FORM):
        compact(*[0x19, 0x1C] * 8, *[0] * 9).struct()


# A whole file


def checked(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    try:
        check_container(path)
    except CheckFailed as fault:
        return str(fault)
    return ""


def test_a_file_begins_and_ends_as_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.parquet"

    def file(footer: bytes, length: int) -> bytes:
        return b"PAR1" + footer + length.to_bytes(4, "little") + b"PAR1"

    fields = "f.parquet says more, or less, about the file than a release does"
    assert checked(path, file(b"", 0)) == "f.parquet does not begin as a Parquet file does"
    assert checked(path, b"PAR2" + file(b"\0", 1)[4:]) == "f.parquet does not begin as a Parquet file does"
    assert checked(path, file(b"\0", 1)) == fields
    assert checked(path, file(b"\0", 2)) == "f.parquet does not end as a Parquet file does"
    assert checked(path, file(b"\0", 1)[:-1] + b"2") == "f.parquet does not end as a Parquet file does"
    assert checked(path, file(b"\0\0", 2)) == "f.parquet has bytes after its footer"
    monkeypatch.setattr(parquet_footer, "MOST", 2)
    assert checked(path, file(b"\x11\0", 2)) == fields
    assert checked(path, file(b"\x11\x11\0", 3)) == "f.parquet does not end as a Parquet file does"


@pytest.fixture
def read(tmp_path: Path) -> dict[int, Any]:
    """The footer of a good file."""
    path = tmp_path / "data.parquet"
    write_parquet(Table.of({"a": ["1", "2"] * 9, "b": ["x", "y"] * 9}), path)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    found = _Compact(data[len(data) - 8 - length : -8], "f").struct()
    _check_fields(found, "f")
    return found


# By number: fields of the file, of an element of the schema, of a group, of a column's place, and of a column
ALLOWED = {
    "the file": {1, 2, 3, 4, 6, 7},
    "a column's type": {1, 2, 3, 4, 5, 6, 7, 8, 10},
    "a row group": {1, 2, 3, 5, 6, 7},
    "a column's place": {2, 3},
    "a column": {1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 14, 15},
}
NEEDED = {
    "the file": {1, 2, 3, 4, 6},
    "a column's type": {4},
    "a row group": {1, 2, 3},
    "a column's place": {3},
    "a column": {1, 2, 3, 4, 5, 6, 7, 9},
}


def part(found: dict[int, Any], what: str) -> dict[int, Any]:
    group = found[4][0]
    chunk = group[1][0]
    parts = {"the file": found, "a column's type": found[2][1], "a row group": group}
    own: dict[int, Any] = {**parts, "a column's place": chunk, "a column": chunk[3]}[what]
    return own


@pytest.mark.parametrize("what", ALLOWED)
def test_exactly_these_fields_may_be_there(what: str, read: dict[int, Any]) -> None:
    words = f"says more, or less, about {what} than a release does"
    for field in range(1, 20):
        found = copy.deepcopy(read)
        there = part(found, what)
        if field in there and field in NEEDED[what]:
            del there[field]
            with pytest.raises(CheckFailed, match=words):
                _check_fields(found, "f")
            continue
        there.setdefault(field, 1)
        if field in ALLOWED[what]:
            _check_fields(found, "f")
        else:
            with pytest.raises(CheckFailed, match=words):
                _check_fields(found, "f")


def test_every_part_of_a_footer_is_looked_at(read: dict[int, Any]) -> None:
    def refused(words: str, **_: Any) -> None:
        with pytest.raises(CheckFailed, match=words):
            _check_fields(found, "f")

    for made in (
        b"somebody",
        "DuckDB version v1 (build abcdef)",
        b"DuckDB version v1 (build abcdef) and flu",
    ):
        found = {**read, 6: made}
        refused("names an unknown writer")
    found = copy.deepcopy(read)
    found[2][0][4] = b"flu"
    refused("has a schema of another name")
    for empty in ([], 7, [7], [*read[2], 7]):
        found = {**read, 2: empty}
        refused("has a schema of another name")
        found = {**read, 4: empty}
        refused("has no row groups")
        found = copy.deepcopy(read)
        found[4][0][1] = empty
        refused("has a row group without columns")
    for rows in (17, 19):
        found = {**read, 3: rows}
        refused("counts its rows in two ways")


def chunk(begins: int, length: int, **more: int) -> dict[int, Any]:
    return {3: {9: begins, 7: length, **{int(key[1:]): value for key, value in more.items()}}}


@pytest.mark.parametrize(
    ("chunks", "end"),
    [
        ([chunk(4, 6), chunk(10, 5)], 15),
        ([chunk(10, 5), chunk(4, 6)], 15),
        ([chunk(7, 6, f11=4)], 10),
        ([chunk(4, 6, f11=9)], 10),
        ([chunk(4, 6, f14=10, f15=3)], 13),
        ([chunk(4, 1)], 5),
    ],
    ids=["two", "in any order", "dictionary first", "dictionary later", "filter", "one byte"],
)
def test_pages_lie_end_to_end(chunks: list[dict[int, Any]], end: int) -> None:
    _check_tiles({4: [{1: chunks}]}, end, "f")
    for other in (end - 1, end + 1):
        with pytest.raises(CheckFailed, match="belong to no column"):
            _check_tiles({4: [{1: chunks}]}, other, "f")


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(4, 6), chunk(11, 4)],
        [chunk(4, 6), chunk(9, 6)],
        [chunk(5, 10)],
        [chunk(4, 11), chunk(15, 0)],
        [chunk(4, 12), chunk(16, -1)],
        [chunk(4, 11, f14=15)],
        [chunk(4, 10, f14=14)],
    ],
    ids=["gap", "overlap", "late", "empty", "negative", "filter of no length", "nor of one"],
)
def test_nothing_fits_between_pages(chunks: list[dict[int, Any]]) -> None:
    with pytest.raises(CheckFailed, match="belong to no column"):
        _check_tiles({4: [{1: chunks}]}, 15, "f")
