"""Tables come in as texts and go out as they came, whichever door they take."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import DATA

from incrowd import long_work
from incrowd.errors import TableError
from incrowd.flow import Table, TextColumn
from incrowd.schema import Kind
from incrowd.tables import (
    as_frame,
    csv_reader,
    csv_scan,
    csv_writer,
    protected,
    read,
    unprotected,
    unprotected_table,
    write_csv,
    write_parquet,
)
from incrowd.tables.csv_scan import WORD, Scanned, Scanner
from incrowd.tables.parquet_writer import Members, TypedSpan
from incrowd.tables.texts import column_of, float_text
from incrowd.verifier.columns import restored

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
TRICKY = st.text("aé\U0001f600,;|\t\"'\r\n=+-@ 1.", max_size=6)


def contents(table: Table) -> dict[str, list[str | None]]:
    return {name: column.rows() for name, column in zip(table.names, table.columns, strict=True)}


def from_bytes(data: bytes, name: str = "t.csv", **options: Any) -> Table:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        return read(path, **options)


def from_text(text: str, name: str = "t.csv", **options: Any) -> dict[str, list[str | None]]:
    return contents(from_bytes(text.encode(), name, **options))


# ---------------------------------------------------------------- CSV in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a,b\n1,2\n", {"a": ["1"], "b": ["2"]}, id="plain"),
        pytest.param("a,b\n1,2", {"a": ["1"], "b": ["2"]}, id="no-last-line-end"),
        pytest.param("a,b\r\n1,2\r\n", {"a": ["1"], "b": ["2"]}, id="crlf"),
        pytest.param("a,b\r\n1,\r\n3,4\n", {"a": ["1", "3"], "b": ["", "4"]}, id="mixed-line-ends"),
        pytest.param("\ufeffa,b\n1,2\n", {"a": ["1"], "b": ["2"]}, id="bom"),
        pytest.param("a;b\n1,5;2\n", {"a": ["1,5"], "b": ["2"]}, id="semicolon"),
        pytest.param("a\tb\n1\t2\n", {"a": ["1"], "b": ["2"]}, id="tab"),
        pytest.param("a|b\n1|2\n", {"a": ["1"], "b": ["2"]}, id="bar"),
        pytest.param('"a,x,y";b\n1;2\n', {"a,x,y": ["1"], "b": ["2"]}, id="comma-in-quoted-name"),
        pytest.param("a\n1\n2\n", {"a": ["1", "2"]}, id="one-column"),
        pytest.param('a\n""\n2\n', {"a": ["", "2"]}, id="one-column-empty-cell"),
        pytest.param('a,b\n,""\n', {"a": [""], "b": [""]}, id="empty-cells-quoted-or-not"),
        pytest.param('a,b\n"x",x\n', {"a": ["x"], "b": ["x"]}, id="quoted-for-nothing"),
        pytest.param('a,b\nx,1\n"x",2\n', {"a": ["x", "x"], "b": ["1", "2"]}, id="quoted-is-the-same-text"),
        pytest.param('a,b\n"x""y","l1\nl2"\n', {"a": ['x"y'], "b": ["l1\nl2"]}, id="quote-and-newline"),
        pytest.param('a,b\n"""",""""""\n', {"a": ['"'], "b": ['""']}, id="only-quotes"),
        pytest.param('a,b\n"x,\r\n;y",\r\n', {"a": ["x,\r\n;y"], "b": [""]}, id="delimiters-in-quotes"),
        pytest.param("a,b\n 01 ,NA\n", {"a": [" 01 "], "b": ["NA"]}, id="blanks-zeros-and-NA-kept"),
        pytest.param("a,b\né,日本\n", {"a": ["é"], "b": ["日本"]}, id="unicode"),
    ],
)
def test_csv_is_read_as_written(text: str, expected: dict[str, list[str | None]]) -> None:
    assert from_text(text) == expected


def test_tsv_is_split_at_tabs_whatever_the_header_says() -> None:
    assert from_text("a,b,c\td\n1\t2\n", "t.tsv") == {"a,b,c": ["1"], "d": ["2"]}


def test_txt_is_read_like_csv() -> None:
    assert from_text("a;b\n1;2\n", "t.txt") == {"a": ["1"], "b": ["2"]}


def test_only_the_wanted_columns_are_read_in_the_wanted_order() -> None:
    assert from_text("a,b,c\n1,2,3\n", columns=["c", "a"]) == {"c": ["3"], "a": ["1"]}


def test_an_unknown_column_is_named_with_a_guess() -> None:
    with pytest.raises(TableError, match="did you mean 'age'"):
        from_text("age,b\n1,2\n", columns=["agee"])


def test_texts_are_numbered_as_they_are_met() -> None:
    column = from_bytes(b"a,b\nz,1\na,1\nz,1\nm,1\n").column("a")
    assert column.texts == ("z", "a", "m")
    assert column.codes.tolist() == [0, 1, 0, 2]
    assert column.codes.dtype == np.int32


CELLS = st.lists(st.lists(TRICKY | TEXTS, min_size=3, max_size=3), min_size=1, max_size=20)


@settings(deadline=None)
@given(
    rows=CELLS,
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(1, 60),
    compiled=st.booleans(),
)
def test_csv_agrees_with_the_standard_library(
    rows: list[list[str]], delimiter: str, end: str, block: int, compiled: bool
) -> None:
    out = io.StringIO()
    # the standard library leaves a carriage return unquoted, which no reader can take back
    returns = any("\r" in cell for row in rows for cell in row)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([["x", "y", "z"], *rows])
    with pytest.MonkeyPatch.context() as patch:  # blocks of a few bytes: every cut is tried
        patch.setattr(csv_reader, "BLOCK", max(block, 8))
        patch.setattr(csv_reader, "WIDE_BLOCK", max(block, 8))
        patch.setattr(csv_reader, "WORTH_COMPILED", 0 if compiled else 1_000_000)
        table = from_bytes(out.getvalue().encode())
    assert list(table) == [tuple(row) for row in rows]


def outcome(data: bytes, threads: int = 1, **asked: Any) -> Table | str:
    """The table, or what is said instead."""
    with long_work.with_threads(threads):
        try:
            return from_bytes(data, **asked)
        except TableError as error:
            return str(error)


def same_columns(one: Table, other: Table, names: Sequence[str]) -> bool:
    pairs = [(one.column(name), other.column(name)) for name in names]
    return all(a.texts == b.texts and a.codes.tolist() == b.codes.tolist() for a, b in pairs)


SPOILT = st.lists(st.sampled_from([*b'ab,,,"\n\r;\xff\xc3\xa9\0']), max_size=25).map(bytes)
WELL_FORMED = st.lists(
    st.tuples(*[st.sampled_from([b"", b"a", b"\xc3\xa9", b"\xe9", b'"a,\n"', b'"a""b"'])] * 3), min_size=1
).map(lambda rows: b"".join(b",".join(row) + b"\n" for row in rows))


@settings(deadline=None)
@given(data=WELL_FORMED | SPOILT, needed=st.sets(st.sampled_from("xyz")), block=st.integers(8, 40))
def test_columns_that_nobody_needs_are_checked_and_stay_unread(
    data: bytes, needed: set[str], block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BLOCK", block)
        patch.setattr(csv_reader, "WIDE_BLOCK", block)
        patch.setattr(csv_reader, "CELL_LIMIT", 5)
        whole = outcome(b"x,y,z\n" + data)
        some = outcome(b"x,y,z\n" + data, needed=lambda names: needed)
    if isinstance(whole, str) or isinstance(some, str):
        assert whole == some
    else:
        assert (some.names, len(some), some.notes) == (whole.names, len(whole), whole.notes)
        # whether bytes look like cp1252, which a note says, all texts must tell
        assert some.unread == (set() if whole.notes else set(whole.names) - needed)
        assert same_columns(whole, some, sorted(needed))
        for name in some.unread:
            with pytest.raises(TableError, match="was not read"):
                some.column(name)


@settings(deadline=None)
@given(data=WELL_FORMED | SPOILT, threads=st.integers(2, 5))
def test_several_threads_read_what_one_reads(data: bytes, threads: int) -> None:
    one, several = outcome(b"x,y,z\n" + data), outcome(b"x,y,z\n" + data, threads)
    if isinstance(one, str) or isinstance(several, str):
        assert one == several
    else:
        assert same_columns(one, several, one.names)


def test_rows_and_choices_of_rows_have_nothing_in_unread_columns() -> None:
    table = from_bytes(b"a,b\n1,2\n3,4\n", needed=lambda names: ["b"])
    assert list(table) == [(None, "2"), (None, "4")]
    assert list(table.take(np.array([1]))) == [(None, "4")]
    assert table.take(np.array([1])).unread == {"a"}


CELL = rb'(?:[^",\r\n]*|"(?:[^"]|"")*")'
TWO_COLUMNS = re.compile(rb"(?:%b,%b(?:\r?\n|\r?\Z))+" % (CELL, CELL))
ANY_BYTES = st.lists(st.sampled_from([*b'a,"\n\r;']), max_size=25).map(bytes)
GOOD_CELLS = st.sampled_from(["", "a", ";", '""', '"a"', '"a,\n"', '"\r"', '"a""\r\n"'])
GOOD_BYTES = st.lists(
    st.tuples(GOOD_CELLS, st.just(","), GOOD_CELLS, st.sampled_from(["\n", "\r\n"])).map("".join), max_size=6
).map(lambda rows: "".join(rows).encode())


@settings(deadline=None)
@given(data=GOOD_BYTES | ANY_BYTES)
def test_any_bytes_are_read_like_the_standard_library_or_refused(data: bytes) -> None:
    if TWO_COLUMNS.fullmatch(data):
        rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
        assert list(from_bytes(b"x,y\n" + data)) == [tuple(row) for row in rows]
    else:
        with pytest.raises(TableError):
            from_bytes(b"x,y\n" + data)


# ---------------------------------------------------------------- codes


def scanned(data: bytes, width: int, wanted: Sequence[int], scanner: Scanner | None = None) -> Scanned | None:
    text = np.frombuffer(data + bytes(WORD), dtype=np.uint8)
    scanner = scanner or Scanner({place: own for own, place in enumerate(wanted)}, width)
    return scanner.scan(text, data.count(b"\n"), ord(","), 1000)


CELLS = st.sampled_from(
    [
        *("", "a", "b", "1234567", "12345678", "123456789", "12345678x"),
        "ééé",
        "éééé",
        'q"q',
        "x,y",
        "l\nf",
        "\r",
    ]
)


@settings(deadline=None)
@given(
    blocks=st.lists(
        st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=20), min_size=1, max_size=3
    ),
    wanted=st.sets(st.integers(0, 2)),
    end=st.sampled_from(["\n", "\r\n"]),
    every=st.booleans(),
    slots=st.sampled_from([1, 4, 64]),
    most=st.sampled_from([1, 16, 1024]),
    room=st.sampled_from([1, 40, 1000]),
)
def test_compiled_code_numbers_cells_as_they_are_met(
    blocks: list[list[tuple[str, str, str]]],
    wanted: set[int],
    end: str,
    every: bool,
    slots: int,
    most: int,
    room: int,
) -> None:
    """Quoted or not, in block after block, with too few slots at first and little room for long cells."""
    columns = sorted(wanted)
    texts: list[list[str]] = [[] for _ in columns]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FEW_SLOTS", slots), ("MOST_SLOTS", most)):
            patch.setattr(csv_scan, name, value)
        scanner = Scanner({place: own for own, place in enumerate(columns)}, 3)
    for rows in blocks:
        out = io.StringIO()
        returns = any("\r" in cell for row in rows for cell in row)
        quoting: Literal[0, 1] = csv.QUOTE_ALL if every or returns else csv.QUOTE_MINIMAL
        csv.writer(out, lineterminator=end, quoting=quoting).writerows(rows)
        data = out.getvalue().encode()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_scan, "ROOM", room)
            found = scanned(data, 3, columns, scanner)
        assert found is not None
        assert found.rows == len(rows)
        learnt = []
        for place, cells, known in zip(columns, found.columns, texts, strict=True):
            spans = zip(cells.starts, cells.ends, strict=True)
            met = [data[a:b].replace(b'""', b'"').decode() for a, b in spans]
            before = [known[number] for number in cells.known]
            assert len({*before, *met}) == len(before) + len(met)
            assert met == [text for text in dict.fromkeys(row[place] for row in rows) if text not in before]
            assert [(before + met)[code] for code in cells.codes] == [row[place] for row in rows]
            known += [text for text in met if text not in known]
            learnt.append(np.array([known.index(text) for text in before + met], np.int32))
        scanner.learn(learnt)


def test_cells_of_earlier_blocks_are_known_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = Scanner({0: 0}, 1)

    def new(*cells: bytes) -> int:
        """How many of a block's cells are new; they are numbered from 100 on."""
        found = scanned(b"".join(cell + b"\n" for cell in cells), 1, [0], scanner)
        assert found is not None
        ((_, starts, _, known),) = found.columns
        scanner.learn([np.concatenate([known, np.arange(starts.size, dtype=np.int32)])])
        return starts.size

    assert [new(b"a", b"123456789"), new(b"a", b"123456789", b"b"), new(b"b")] == [2, 1, 0]
    assert scanned(b"c,d\n", 1, [0], scanner) is None
    assert new(b"b", b"c") == 2  # what is odd makes it forget
    monkeypatch.setattr(csv_scan, "FEW_SLOTS", 8)
    monkeypatch.setattr(csv_scan, "MOST_SLOTS", 32)
    scanner = Scanner({0: 0}, 1)
    assert [new(b"a"), new(b"a", b"b"), new(b"a", b"c")] == [1, 1, 1]
    assert new(b"a", b"b", b"d", b"e") == 4  # there are 32 slots now, of which half may be taken
    assert [new(b"a", b"e"), new(b"abcdefghijkl")] == [0, 1]
    many = [b"%d" % number for number in range(14)]
    assert [new(*many[:5]), new(*many[:5], *many[5:9])] == [5, 4]
    assert [new(*many), new(*many)] == [14, 14]  # as many again as these would be too many: nothing is kept
    monkeypatch.setattr(csv_scan, "ALL_SLOTS", 31)
    scanner = Scanner({0: 0}, 1)
    assert [new(b"a"), new(b"a"), new(b"a", b"b"), new(b"b"), new(b"b", b"c")] == [1, 0, 1, 0, 1]
    assert new(b"a", b"b") == 2  # there are 8 slots, and will be no more


@pytest.mark.parametrize(
    "data",
    [
        *(b"a\n", b"a,b,c\n", b"a,b\nc\n", b"\n", b"a,b\n\n", b"a,b\r\n\r\n", b"a\r,b\n", b"a,b\rc\n"),
        *(b'"a,b\n', b'a"b,c\n', b'"a"b,c\n', b'a,"b"c\n', b'a,"b""\n', b'1234567",b\n', b'a,12345678"\n'),
        b"a," + b"b" * 1000 + b"\n",
    ],
)
def test_compiled_code_leaves_what_is_odd_to_a_closer_look(data: bytes) -> None:
    assert scanned(data, 2, [0, 1]) is None


def test_an_empty_row_of_one_column_is_odd() -> None:
    assert scanned(b'a\n""\n', 1, [0]) is not None
    for data in (b"a\n\n", b"\r\n"):
        assert scanned(data, 1, [0]) is None


def test_cells_that_collide_in_compiled_code_are_told_apart_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = 0x9E3779B97F4A7C15
    monkeypatch.setattr(csv_scan, "FEW_SLOTS", 256)
    monkeypatch.setattr(csv_reader, "WORTH_COMPILED", 0)

    def slot(cell: bytes) -> int:
        mixed = int.from_bytes(cell, "little") * odd % 2**64
        return ((mixed ^ (mixed >> 32)) * odd % 2**64 >> 32) % csv_scan.FEW_SLOTS

    cells = [cell for cell in (b"%07d" % number for number in range(20_000)) if slot(cell) == 7]
    assert 50 < len(cells) < 120  # of more, the slots would become more
    few, many = b"".join(cell + b"\n" for cell in cells[:8]), b"".join(cell + b"\n" for cell in cells)
    assert scanned(few, 1, [0]) is not None
    assert scanned(many, 1, [0]) is None
    assert from_bytes(b"a\n" + many).column("a").rows() == [cell.decode() for cell in cells]


def test_a_column_forgets_texts_that_no_row_says() -> None:
    column = column_of(np.array([3, 1, 3]), ["never", "b", "b", "a", None])
    assert column.texts == ("a", "b")
    assert column.rows() == ["a", "b", "a"]


# ---------------------------------------------------------------- CSV out


@settings(deadline=None)
@given(
    names=st.lists(
        st.builds("{}n{}".format, TRICKY, TRICKY), min_size=1, max_size=3, unique_by=lambda n: n.strip()
    ),
    data=st.data(),
)
def test_a_table_survives_writing_and_reading(names: list[str], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 8))
    cell = st.none() | TRICKY | TEXTS
    columns = {name: data.draw(st.lists(cell, min_size=size, max_size=size)) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        write_csv(Table.of(columns), path)
        again = unprotected_table(read(path))
    assert contents(again) == {name: [text or "" for text in rows] for name, rows in columns.items()}


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.none() | TRICKY | TEXTS, st.none() | TEXTS), min_size=1, max_size=8),
    both=st.booleans(),
    chunk=st.integers(1, 9),
)
def test_compiled_or_not_the_bytes_are_the_same(rows: list[Any], both: bool, chunk: int) -> None:
    columns = {"a": [a for a, _ in rows]} | ({"b": [b for _, b in rows]} if both else {})
    written = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_writer, "CHUNK", chunk)
        for least in (0, 100):
            patch.setattr(csv_writer, "WORTH_COMPILED", least)
            write_csv(Table.of(columns), Path(folder, f"{least}.csv"))
            written.append(Path(folder, f"{least}.csv").read_bytes())
    assert written[0] == written[1]


def test_csv_is_written_with_as_few_quotes_as_possible(tmp_path: Path) -> None:
    write_csv(
        Table.of({"a": ["x", "x y", 'q"', "l\n", None], "=b": ["1,5", "=2", "-3", "\tz", ""]}),
        tmp_path / "o.csv",
    )
    assert (tmp_path / "o.csv").read_bytes() == (b'a,\'=b\nx,"1,5"\nx y,\'=2\n"q""",-3\n"l\n",\'\tz\n,\n')


def test_a_lonely_empty_cell_is_quoted_lest_its_line_be_skipped(tmp_path: Path) -> None:
    write_csv(Table.of({"a": ["x", "", None]}), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == 'a\nx\n""\n""\n'


@given(st.text(";\t\r\n'=+-@x1", max_size=12))
@settings(deadline=None, max_examples=500)
def test_nothing_that_a_spreadsheet_cuts_off_is_a_formula(text: str) -> None:
    """Wherever it cuts a cell or a line, no part starts like a formula; and the text comes back."""
    shown = protected(text)
    assert unprotected(shown) == text
    parts = re.split("[;\t\r\n]", shown)
    plain = re.fullmatch(r"[+-]?[0-9]+", shown) is not None
    assert plain or not any(part.startswith(("=", "+", "-", "@")) for part in parts)
    assert restored(shown) == text


@pytest.mark.parametrize(
    "text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "'=1", "''=1", "-1-1", "+1+cmd", "-١"]
)
def test_formulas_are_made_harmless_and_come_back(text: str) -> None:
    assert protected(text) == "'" + text
    assert unprotected(protected(text)) == text


@pytest.mark.parametrize("text", ["-1", "+1.5", "-1e-5", "-.5", "1", "x=1", "'x", "", " =1", "[-5,3]"])
def test_harmless_texts_stay(text: str) -> None:
    assert protected(text) == text == unprotected(text)


def test_taking_protection_back_keeps_each_text_once() -> None:
    table = unprotected_table(Table.of({"a": ["'=x", "=x", None]}))
    assert table.column("a").texts == ("=x", None)
    assert table.column("a").rows() == ["=x", "=x", None]


def test_writing_spares_texts_that_no_row_says(tmp_path: Path) -> None:
    table = Table(("a",), (TextColumn(np.zeros(2, dtype=np.int32), ("x", "CANARY")),))
    write_csv(table, tmp_path / "o.csv")
    write_parquet(table, tmp_path / "o.parquet")
    assert b"CANARY" not in (tmp_path / "o.csv").read_bytes() + (tmp_path / "o.parquet").read_bytes()
    assert "CANARY" not in as_frame(table, pd.DataFrame()).to_csv()


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_nothing_is_overwritten(tmp_path: Path, write: Any) -> None:
    path = tmp_path / "there"
    path.write_text("before")
    with pytest.raises(TableError, match="exists already"):
        write(Table.of({"a": ["x"]}), path)
    assert path.read_text() == "before"
    with pytest.raises(TableError, match="cannot be written"):
        write(Table.of({"a": ["x"]}), tmp_path / "no" / "folder")


def test_rows_are_told_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incrowd.flow._ROWS_AT_ONCE", 3)
    rows = [(str(row), None if row % 2 else "x") for row in range(8)]
    assert list(Table.of({"a": [r[0] for r in rows], "b": [r[1] for r in rows]})) == rows


# ---------------------------------------------------------------- gzip


def test_gzip_is_read_like_its_content(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert contents(read(path)) == {"a": ["1"], "b": ["2"]}


# ---------------------------------------------------------------- Parquet


def test_parquet_keeps_texts_nulls_and_names(tmp_path: Path) -> None:
    columns: dict[str, list[str | None]] = {'say "a"; --': ["=1", None, ""], "é,\n": ["01", 'x"y\n', "-"]}
    write_parquet(Table.of(columns), tmp_path / "t.parquet")
    assert contents(read(tmp_path / "t.parquet")) == columns
    assert contents(read(tmp_path / "t.parquet", columns=["é,\n"])) == {"é,\n": columns["é,\n"]}
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert file.schema_arrow.metadata is None
    assert file.read().to_pydict() == columns


def test_parquet_rows_keep_their_order(tmp_path: Path) -> None:
    texts = [str(row * 7919 % 100_003) for row in range(30_000)]
    pq.write_table(pa.table({"a": texts}), tmp_path / "t.parquet", row_group_size=1000)
    assert read(tmp_path / "t.parquet").column("a").rows() == texts


def test_a_column_of_nulls_is_written_as_text(tmp_path: Path) -> None:
    write_parquet(Table.of({"a": [None, None]}), tmp_path / "t.parquet")
    assert pq.read_schema(tmp_path / "t.parquet").field("a").type == pa.string()


def test_typed_parquet_has_ends_lists_and_missing(tmp_path: Path) -> None:
    table = Table.of(
        {"age": ["[20,40]", "7", "missing", "{missing|[20,40]}"], "sex": ["{F|M}", "F", "F", "F"]}
    )
    age = TypedSpan(Kind.NUMERIC, (("20", "40"), ("7", "7"), None, ("20", "40")), (False, False, True, True))
    write_parquet(table, tmp_path / "t.parquet", {"age": age, "sex": Members((("F", "M"), ("F",)))})
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {
        "age_lo": [20, 7, None, 20],
        "age_hi": [40, 7, None, 40],
        "age_missing": [False, False, True, True],
        "sex": [["F", "M"], ["F"], ["F"], ["F"]],
    }


@pytest.mark.parametrize(
    ("kind", "ends", "expected"),
    [
        (Kind.NUMERIC, ("-9223372036854775808", "9223372036854775807"), (-(2**63), 2**63 - 1)),
        (Kind.NUMERIC, ("0.1", "20.25"), (Decimal("0.10"), Decimal("20.25"))),
        (Kind.NUMERIC, ("9223372036854775808", "1e20"), (Decimal(2**63), Decimal(10**20))),
        (Kind.NUMERIC, ("1e-300", "1e+300"), (1e-300, 1e300)),
        (Kind.DATE, ("2024-02-29", "2024-03-01"), (datetime.date(2024, 2, 29), datetime.date(2024, 3, 1))),
        (
            Kind.DATE,
            ("2024-02-29", "2024-03-01T12:30:00"),
            (datetime.datetime(2024, 2, 29), datetime.datetime(2024, 3, 1, 12, 30)),
        ),
    ],
)
def test_typed_ends_are_exact(
    tmp_path: Path, kind: Kind, ends: tuple[str, str], expected: tuple[object, object]
) -> None:
    write_parquet(Table.of({"x": ["r"]}), tmp_path / "t.parquet", {"x": TypedSpan(kind, (ends,))})
    row = pq.read_table(tmp_path / "t.parquet").to_pylist()[0]
    assert (row["x_lo"], row["x_hi"]) == expected


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"x": TypedSpan(Kind.NUMERIC, (("1" + "0" * 40 + "1", "1e50"),))}, "too many digits"),
        ({"x": TypedSpan(Kind.NUMERIC, (("1", "many"),))}, "ends that are no numbers"),
        ({"x": TypedSpan(Kind.NUMERIC, (("1", "inf"),))}, "not finite"),
        ({"x": TypedSpan(Kind.NUMERIC, ())}, "1 texts, typed values for 0"),
        ({"x": TypedSpan(Kind.NUMERIC, (("1", "2"),))}, "same name"),
    ],
    ids=["digits", "no-number", "infinite", "length", "name-taken"],
)
def test_typed_columns_that_cannot_be(tmp_path: Path, typed: dict[str, Any], words: str) -> None:
    with pytest.raises(TableError, match=words):
        write_parquet(Table.of({"x": ["r"], "X_lo": ["s"]}), tmp_path / "t.parquet", typed)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- values as texts

MOMENT = datetime.datetime(2024, 2, 29, 12, 30)
BIG = 2**60 + 1
VALUES: dict[str, tuple[pa.DataType, list[Any], list[str | None]]] = {
    "int64": (pa.int64(), [BIG, None, -5], [str(BIG), None, "-5"]),
    "uint64": (pa.uint64(), [2**64 - 1, None], [str(2**64 - 1), None]),
    "int8": (pa.int8(), [-128, 0], ["-128", "0"]),
    "double": (pa.float64(), [3.0, -0.0, 0.1, None, 1e300], ["3", "0", "0.1", None, "1e+300"]),
    "infinite": (pa.float64(), [float("inf"), float("-inf")], ["inf", "-inf"]),
    "float": (pa.float32(), [0.1, None, 16777216.0], ["0.1", None, "16777216"]),
    "decimal": (pa.decimal128(38, 2), [Decimal("1.50"), None, Decimal("-0.01")], ["1.50", None, "-0.01"]),
    "text": (pa.string(), ["", None, "NaN", "é", "-", "=x"], ["", None, "NaN", "é", "-", "=x"]),
    "bool": (pa.bool_(), [True, None, False], ["true", None, "false"]),
    "date": (pa.date32(), [MOMENT.date(), None], ["2024-02-29", None]),
    "midnights": (pa.timestamp("us"), [datetime.datetime(2024, 2, 29), None], ["2024-02-29", None]),
    "moments": (
        pa.timestamp("us"),
        [MOMENT, datetime.datetime(1, 1, 1)],
        ["2024-02-29T12:30:00", "0001-01-01T00:00:00"],
    ),
    "fractions": (pa.timestamp("ms"), [MOMENT.replace(microsecond=5000)], ["2024-02-29T12:30:00.005"]),
    "time": (pa.time64("us"), [datetime.time(1, 2, 3, 500000), None], ["01:02:03.5", None]),
    "nothing": (pa.string(), [None, None], [None, None]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["x", None], ["x", None]),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_has_one_text_from_arrow_and_polars(case: str) -> None:
    kind, values, texts = VALUES[case]
    arrow = pa.table({"x": pa.array(values, kind)})
    assert read(arrow).column("x").rows() == texts
    assert read(pl.from_arrow(arrow)).column("x").rows() == texts


def test_a_value_has_the_same_text_from_parquet(tmp_path: Path) -> None:
    size = max(len(values) for _, values, _ in VALUES.values())
    columns = {n: pa.array(v + [None] * (size - len(v)), kind) for n, (kind, v, _) in VALUES.items()}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    if "Time(isAdjustedToUTC=true" in str(pq.ParquetFile(tmp_path / "t.parquet").schema):  # an older Arrow
        with pytest.raises(TableError, match="'time' has moments with a time zone"):
            read(tmp_path / "t.parquet")
        del columns["time"]
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    texts_of = {name: texts for name, (_, _, texts) in VALUES.items() if name in columns}
    expected = {name: texts + [None] * (size - len(texts)) for name, texts in texts_of.items()}
    assert contents(read(tmp_path / "t.parquet")) == expected


@settings(deadline=None)
@given(st.floats())
def test_float_texts_read_back_the_same(value: float) -> None:
    assert float(float_text(value)) == value or value != value
    assert float_text(np.float64(value)) == float_text(value)


def test_floats_are_the_same_text_from_parquet_and_frames(tmp_path: Path) -> None:
    bits = np.random.default_rng(7).integers(0, 2**64, 20_000, dtype=np.uint64)
    narrow = bits.astype(np.uint32).view(np.float32)
    arrow = pa.table({"wide": bits.view(np.float64), "narrow": narrow})
    pq.write_table(arrow, tmp_path / "t.parquet")
    assert contents(read(tmp_path / "t.parquet")) == contents(read(arrow))


def test_nanoseconds_are_kept(tmp_path: Path) -> None:
    arrow = pa.table({"x": pa.array([1, None], pa.timestamp("ns"))})
    pq.write_table(arrow, tmp_path / "t.parquet")
    for source in (arrow, arrow.to_pandas(), tmp_path / "t.parquet"):
        assert read(source).column("x").rows() == ["1970-01-01T00:00:00.000000001", None]


# ---------------------------------------------------------------- frames

PANDAS: dict[str, tuple[Any, list[str | None]]] = {
    "ints-with-gaps-as-floats": ([1, None, 3], ["1", None, "3"]),
    "nullable-int": (pd.array([BIG, None], dtype="Int64"), [str(BIG), None]),
    "nullable-bool": (pd.array([True, None], dtype="boolean"), ["true", None]),
    "big-int": ([BIG, BIG + 1], [str(BIG), str(BIG + 1)]),
    "objects-of-one-type": (pd.Series([2**70, None], dtype=object), [str(2**70), None]),
    "dates": ([MOMENT.date(), None], ["2024-02-29", None]),
    "nat": (pd.to_datetime(["2024-02-29", None]), ["2024-02-29", None]),
    "decimals": ([Decimal("1.50"), Decimal("-0.0"), None], ["1.50", "0.0", None]),
    "category-of-ints": (pd.Categorical([3, None], categories=[3, 4]), ["3", None]),
    "texts": (["NaN", "", None], ["NaN", "", None]),
    "none": (pd.Series([None, None], dtype=object), [None, None]),
}


@pytest.mark.parametrize("case", PANDAS)
def test_pandas_columns_as_texts(case: str) -> None:
    values, texts = PANDAS[case]
    assert read(pd.DataFrame({"x": values})).column("x").rows() == texts


def test_polars_tells_nan_from_null() -> None:
    frame = pl.DataFrame({"x": [float("nan"), None, 1.5], "y": ["nan", "", None]})
    assert contents(read(frame)) == {"x": ["NaN", None, "1.5"], "y": ["nan", "", None]}


def test_polars_wide_integers_and_enums() -> None:
    enum = pl.Series(["b", None], dtype=pl.Enum(["a", "b"]))
    frame = pl.DataFrame({"x": pl.Series([2**100, None], dtype=pl.Int128), "e": enum})
    assert contents(read(frame)) == {"x": [str(2**100), None], "e": ["b", None]}


FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_come_back_as_the_same_kind(kind: str) -> None:
    like = FRAMES[kind]({"x": [1, 2]})
    table = Table.of({"a": ["[20,40]", None], "b": ["", "=1"]})
    frame = as_frame(table, like)
    assert type(frame) is type(like)
    assert contents(read(frame)) == contents(table)


@pytest.mark.parametrize("kind", FRAMES)
def test_native_columns_keep_their_type_in_new_order(kind: str) -> None:
    like = FRAMES[kind]({"x": [5, 6, 7], "y": ["a", "b", "c"]})
    rows = np.array([2, 0])
    frame = as_frame(Table.of({"q": ["*", "*"], "z": ["7", "5"]}), like, {"z": ("x", rows)})
    assert list(FRAMES["pandas"](frame.to_pandas() if kind != "pandas" else frame)["z"]) == [7, 5]
    assert contents(read(frame)) == {"q": ["*", "*"], "z": ["7", "5"]}


def test_pandas_index_attributes_and_unused_categories_stay_behind() -> None:
    like = pd.DataFrame({"c": pd.Categorical(["x", "CANARY", "y"])}, index=["CANARY", "p", "q"])
    like.attrs["note"] = "CANARY"
    like["c"].attrs["note"] = "CANARY"
    frame = as_frame(Table.of({"c": ["y", "x"]}), like, {"c": ("c", np.array([2, 0]))})
    assert frame["c"].tolist() == ["y", "x"]
    assert frame["c"].cat.categories.tolist() == ["x", "y"]
    assert isinstance(frame.index, pd.RangeIndex)
    assert not frame.attrs
    assert not frame["c"].attrs


def test_polars_unused_categories_stay_behind() -> None:
    enum = pl.Series(["x", "CANARY", "y"], dtype=pl.Enum(["y", "CANARY", "x"]))
    like = pl.DataFrame({"e": enum, "c": enum.cast(pl.String).cast(pl.Categorical)})
    rows = np.array([2, 0])
    frame = as_frame(Table.of({"e": ["y", "x"], "c": ["y", "x"]}), like, {"e": ("e", rows), "c": ("c", rows)})
    assert frame["e"].dtype == pl.Enum(["y", "x"])
    assert frame["c"].dtype == pl.Categorical
    assert frame.rows() == [("y", "y"), ("x", "x")]
    out = io.BytesIO()
    frame.write_ipc(out)
    assert b"CANARY" not in out.getvalue()


def test_arrow_unused_dictionary_values_and_metadata_stay_behind() -> None:
    codes = pa.array(["x", "CANARY", "y"]).dictionary_encode()
    like = pa.table({"c": codes}).replace_schema_metadata({"note": "CANARY"})
    frame = as_frame(Table.of({"c": ["y", "x"]}), like, {"c": ("c", np.array([2, 0]))})
    assert frame.column("c").to_pylist() == ["y", "x"]
    assert pa.types.is_dictionary(frame.column("c").type)
    assert frame.column("c").combine_chunks().dictionary.to_pylist() == ["y", "x"]
    assert frame.schema.metadata is None


# ---------------------------------------------------------------- a real table, and lightness


def test_the_census_is_read_whole_and_written_back_byte_for_byte(tmp_path: Path) -> None:
    path = DATA / "acs2024_census" / "census.csv.gz"
    if not path.exists():
        pytest.skip("the census table is not here: reading 542,119 real rows is not checked")
    table = read(path)
    assert len(table) == 542_119
    write_csv(table, tmp_path / "o.csv")
    with gzip.open(path) as original:
        assert (tmp_path / "o.csv").read_bytes() == original.read()


def test_the_door_is_light() -> None:
    heavy = "{'duckdb', 'narwhals', 'pandas', 'polars', 'pyarrow', 'scipy', 'numba'}"
    doors = (
        "incrowd.tables, incrowd.tables.parquet_reader, incrowd.tables.parquet_writer, incrowd.tables.frames"
    )
    code = f"import sys, {doors}; print({heavy} & set(sys.modules))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "set()"


def test_the_child_that_opens_parquet_starts_with_little() -> None:
    """It is started for each file: numpy alone would take as long as all else that it does."""
    looked_for = "{'numpy', 'incrowd.flow', 'json'}"
    code = f"import sys, incrowd.tables.parquet_child; print({looked_for} & set(sys.modules))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "{'json'}"
