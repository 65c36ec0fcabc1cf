"""Tables made to mislead, to exhaust or to leak: each is refused by name, and no cell is ever quoted."""

from __future__ import annotations

import datetime
import gzip
import os
import struct
import sys
import tempfile
import traceback
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.tables import as_frame, checked_files, csv_reader, read, write_csv, write_parquet
from incrowd.tables.checked_files import CELL_LIMIT, NAME_LIMIT, ROW_LIMIT
from incrowd.tables.parquet_child import connection

CANARY = "Jane-Roe-HIV"
SAID = CANARY.encode()


def told(error: BaseException) -> str:
    """All that a log could take from an error, chained errors and their buffers included."""
    said = [str(error), repr(error), *traceback.format_exception(error)]
    linked = [error.__cause__, None if error.__suppress_context__ else error.__context__]
    said += [repr(vars(error)), *(told(each) for each in linked if each)]
    return "\n".join(said)


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files, empty again at the end of the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))  # for child processes
    yield folder
    assert list(folder.iterdir()) == []


def refused(source: object, words: str) -> TableError:
    with pytest.raises(TableError, match=words) as caught:
        read(source)
    assert CANARY not in told(caught.value)
    return caught.value


def file_of(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


# ---------------------------------------------------------------- malformed CSV

HEAD, ROW = b"a,b\n", SAID + b"," + SAID + b"\n"
MALFORMED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "t.csv is empty"),
    "only-a-bom": (b"\xef\xbb\xbf", "t.csv is empty"),
    "header-only": (HEAD, "no rows"),
    "header-without-line-end": (b"a,b", "no rows"),
    "too-few-cells": (HEAD + ROW + SAID + b"\n", "line 3 has 1 cell where the header has 2"),
    "too-many-cells": (HEAD + ROW + ROW[:-1] + b",x\n" + ROW, "line 3 has 3 cells"),
    "ragged-both-ways": (HEAD + SAID + b"\nx,y,z\n" + ROW, "line 2 has 1 cell"),
    "delimiter-at-the-end": (HEAD + ROW[:-1] + b",\n", "line 2 has 3 cells"),
    "ragged-after-cell-over-lines": (HEAD + b'"x\n\ny",1\n' + SAID + b"\n", "line 5 has 1 cell"),
    "empty-line": (HEAD + ROW + b"\n" + ROW, "line 3 has 1 cell"),
    "empty-line-at-the-end": (HEAD + ROW + b"\r\n", "line 3 has 1 cell"),
    "empty-line-in-one-column": (b"a\n" + SAID + b"\n\nx\n", "line 3 is empty"),
    "empty-first-line": (b"\n" + HEAD + ROW, "line 1 is empty"),
    "quote-never-closed": (HEAD + ROW + b'"' + ROW + ROW, "line 3 opens a quote that is never closed"),
    "quote-at-the-very-end": (HEAD + ROW + SAID + b',"', "line 3 opens a quote"),
    "quote-closed-rows-later": (HEAD + b'"' + ROW + ROW + b'x,"' + SAID + b'"\n', "line 2 has a quote"),
    "quote-in-the-middle": (HEAD + b'x"' + SAID + b'",y\n', "line 2 has a quote that does not enclose"),
    "text-after-closing-quote": (HEAD + ROW + b'"x"' + ROW, "line 3 has a quote"),
    "blank-before-quote": (HEAD + b' "' + SAID + b'",y\n', "line 2 has a quote"),
    "backslash-escape": (HEAD + b'"x\\"' + SAID + b'",y\n', "line 2 has a quote"),
    "quote-in-the-header": (b'a,b"c"\n' + ROW, "line 1 has a quote"),
    "header-never-closed": (b'"a,b\n' + ROW, "line 1 opens a quote"),
    "mac-line-ends": (b"a,b\r" + SAID + b",x\r", "line 1 has a carriage return"),
    "return-in-cell": (HEAD + ROW + b"x\r" + ROW, "line 3 has a carriage return"),
    "nul": (HEAD + ROW + b"\0" + ROW, "line 3 holds a NUL"),
    "nul-in-name": (b"a\0,b\n" + ROW, "line 1 holds a NUL"),
    "half-a-utf-16": ("a,b\n".encode("utf-16") + ROW.decode().encode("utf-16-le") + b"x", "is not utf-16"),
    "surrogate-in-utf-16": ("a,b\n".encode("utf-16") + b"\0\xd8" + SAID * 2, "is not utf-16"),
    "utf-32": ((HEAD + ROW).decode().encode("utf-32"), "UTF-32"),
    "cyrillic": (HEAD + ROW + SAID + "Москва,x\n".encode("cp1251"), "is not UTF-8, and does not look like"),
    "cyrillic-header": ("Город,b\n".encode("cp1251") + ROW, "is not UTF-8, and does not look like cp1252"),
    "undefined-in-cp1252": (HEAD + SAID + b"\x81,x\n", "is not UTF-8, and does not look like cp1252"),
    "nearly-utf-8": (HEAD + ROW + SAID + "José,x\n".encode() + b"\xff,x\n", "is not UTF-8, and does not"),
    "overlong-utf-8": (HEAD + b"x," + SAID + b"\xc0\xaf\n", "is not UTF-8, and does not look like cp1252"),
    "surrogate-in-utf-8": (HEAD + SAID + b"\xed\xa0\x80,x\n", "is not UTF-8, and does not look like"),
    "undecided-delimiter": (b"a;b,c\n" + ROW, "does not tell which"),
    "zip-inside": (b"PK\x03\x04" + ROW, "is a zip archive"),
    "gzip-inside": (gzip.compress(HEAD + ROW), "is a gzip archive"),
    "parquet-inside": (b"PAR1" + ROW, "is a Parquet file"),
    "no-name": (b"a,\n" + ROW, "column 2 has no name"),
    "blank-name": (b"a, \n" + ROW, "column 2 has no name"),
    "twin-names": (b"a,a\n" + ROW, "columns 1 and 2 have the same name"),
    "case-twins": (b"Age,age\n" + ROW, "columns 1 and 2 have the same name"),
    "case-twins-sharp-s": ("Straße,STRASSE\n".encode() + ROW, "same name"),
    "blank-twins": (b"age, age \n" + ROW, "same name"),
    "accent-twins": ((unicodedata.normalize("NFC", "é") + ",e\u0301\n").encode() + ROW, "same name"),
    "second-bom": ("\ufeff\ufeffa,b\n".encode() + ROW, "a BOM"),
    "name-of-64-KB": (b"n" * 65536 + b",b\n" + ROW, "longer than 1024 characters"),
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_csv_is_refused_without_a_word_of_it(case: str, tmp_path: Path, private: Path) -> None:
    data, words = MALFORMED[case]
    refused(file_of(tmp_path, data), words)


@pytest.mark.parametrize("case", ["too-few-cells", "quote-never-closed", "nul", "return-in-cell"])
def test_line_numbers_hold_across_blocks(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, words = MALFORMED[case]
    shifted = words.replace("line 3", "line 103")
    monkeypatch.setattr(csv_reader, "BLOCK", 64)
    monkeypatch.setattr(csv_reader, "WIDE_BLOCK", 64)
    refused(file_of(tmp_path, HEAD + ROW * 100 + data.removeprefix(HEAD)), shifted)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoilt_bytes_never_leak_nor_escape(data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(HEAD + b'"' + SAID + b'","' + SAID + b'"\r\n' + ROW * 3)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from([*b'",\n\r\0\xff\xc3x;']))
    said = ""
    try:
        read(file_of(tmp_path, bytes(content)))
    except TableError as error:
        said = told(error)
    header, _, _ = bytes(content).partition(b"\n")  # a spoilt line end may make a cell a name
    assert CANARY not in said or SAID in header


# ---------------------------------------------------------------- limits, one less and one more


@pytest.mark.parametrize("quoted", [False, True], ids=["bare", "quoted"])
def test_a_cell_of_64_KiB_and_no_more(tmp_path: Path, quoted: bool) -> None:
    mark = b'"' if quoted else b""
    row = mark + b"x" * CELL_LIMIT + mark + b",1\n"
    table = read(file_of(tmp_path, HEAD + row))
    assert [len(text or "") for text in table.column("a").rows()] == [CELL_LIMIT]
    refused(
        file_of(tmp_path, HEAD + row + row.replace(b"x", b"xx", 1)),
        "line 3 holds a cell of more than 65536 bytes in column 'a'",
    )


def test_doubled_quotes_count_once(tmp_path: Path) -> None:
    assert len(read(file_of(tmp_path, HEAD + b'"' + b'""' * CELL_LIMIT + b'",1\n'))) == 1
    refused(file_of(tmp_path, HEAD + b'"' + b'""' * CELL_LIMIT + b'x",1\n'), "more than 65536 bytes")


def test_ten_thousand_columns_and_no_more(tmp_path: Path) -> None:
    def wide(columns: int) -> bytes:
        return b",".join(b"n%d" % place for place in range(columns)) + b"\n" + b"," * (columns - 1) + b"\n"

    assert len(read(file_of(tmp_path, wide(10_000))).names) == 10_000
    refused(file_of(tmp_path, wide(10_001)), "has 10001 columns; at most 10000")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""], ids=["lf", "crlf", "end-of-file"])
def test_a_row_of_16_MiB_and_no_more(tmp_path: Path, end: bytes) -> None:
    cells = 257
    head = b",".join(b"n%d" % place for place in range(cells)) + b"\n"
    room = ROW_LIMIT - (cells - 1)
    row = b",".join([b"x" * CELL_LIMIT] * 255 + [b"y" * (room - 255 * CELL_LIMIT - 9), b"z" * 9])
    assert len(row) == ROW_LIMIT
    assert len(read(file_of(tmp_path, head + row + end))) == 1
    refused(file_of(tmp_path, head + row + b"z" + end), "the row in line 2 is longer than 16777216 bytes")


def test_a_field_without_end_is_given_up_early(tmp_path: Path) -> None:
    class Endless:
        given = 0

        def read(self, size: int) -> bytes:
            self.given += size
            return b'a,b\n"' + SAID if self.given == size else b"x" * size

    from incrowd.tables.csv_reader import read_csv

    stream = Endless()
    with pytest.raises(TableError, match="the row in line 2 is longer than"):
        read_csv(stream, "t.csv", None, None)
    assert stream.given < 2 * ROW_LIMIT


@pytest.mark.parametrize(("extra", "fine"), [(0, True), (1, False)])
def test_a_name_of_1024_characters_and_no_more(tmp_path: Path, extra: int, fine: bool) -> None:
    path = file_of(tmp_path, ("é" * (NAME_LIMIT + extra) + ",b\n1,2\n").encode())
    if fine:
        assert len(read(path).names[0]) == NAME_LIMIT
    else:
        refused(path, "longer than 1024")


# ---------------------------------------------------------------- names

NAMES = [
    '"; DROP TABLE people; --', "'", '""', "]", "`", "a\nb", "\u202eevil", "\U0001f600", "ｓｅｌｅｃｔ",
    "rowid", "select", "c1", "c0", "rows_", "t", "<img onerror=x>", "../../etc/passwd", "$1", "?", "%s", "\\",
    "=cmd()",
]  # fmt: skip


def test_names_are_only_names(tmp_path: Path) -> None:
    rows = [[f"{row}-{place}" for place in range(len(NAMES))] for row in range(3)]
    table = Table.of({name: [row[place] for row in rows] for place, name in enumerate(NAMES)})
    plain = Table(tuple(f"c{place}" for place in range(len(NAMES))), table.columns)
    for each, name in ((table, "named"), (plain, "plain")):
        write_parquet(each, tmp_path / f"{name}.parquet")
    named, usual = read(tmp_path / "named.parquet"), read(tmp_path / "plain.parquet")
    assert named.names == tuple(NAMES)
    assert [column.rows() for column in named.columns] == [column.rows() for column in usual.columns]
    for like in (pd.DataFrame(), pl.DataFrame(), pa.table({})):
        again = read(as_frame(table, like))
        assert again.names == tuple(NAMES)
        assert [column.rows() for column in again.columns] == [column.rows() for column in table.columns]


def test_names_survive_csv(tmp_path: Path) -> None:
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in NAMES)
    table = read(file_of(tmp_path, (quoted + "\n" + "," * (len(NAMES) - 1) + "\n").encode()))
    assert table.names == tuple(NAMES)


# ---------------------------------------------------------------- files that are none


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(file_of(tmp_path, HEAD + ROW))
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    refused(tmp_path / "pipe.csv", "not a regular file")
    refused(tmp_path / "folder.csv", "is a folder; one that holds a table has Parquet files and nothing else")
    refused(tmp_path / "link.csv", "symbolic link; name the file itself")
    refused(tmp_path / "device.csv", "symbolic link")
    refused(tmp_path / "none.csv", "does not exist")
    refused("nul\0.csv", "NUL character")
    refused(tmp_path / ("x" * 300 + ".csv"), "cannot be opened")


@pytest.mark.skipif(
    os.geteuid() == 0, reason="root may read everything: the refusal of a forbidden file is not checked"
)
def test_a_forbidden_file_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, HEAD + ROW)
    path.chmod(0)
    refused(path, "Permission denied")


def test_a_device_is_refused() -> None:
    with pytest.raises(TableError, match="not a regular file"):
        checked_files.open_regular(Path("/dev/zero"))


@pytest.mark.parametrize("name", ["t", "t.xls", "t.zst", "t.parquet.gz", "t.gz", "t.pickle", "t.npy"])
def test_other_kinds_of_files_are_refused(tmp_path: Path, name: str) -> None:
    refused(file_of(tmp_path, HEAD + ROW, name), "the name must end in")


# ---------------------------------------------------------------- gzip

PACKED = gzip.compress(HEAD + ROW)
BAD_GZIP: dict[str, tuple[bytes, str]] = {
    "two-members": (PACKED + PACKED, "more than one gzip member"),
    "two-members-apart": (PACKED + bytes(checked_files._CHUNK) + PACKED, "more than one gzip member"),
    "trailing-bytes": (PACKED + b"x", "more than one gzip member"),
    "cut-short": (PACKED[:-9], "ends in the middle"),
    "no-bytes": (b"", "ends in the middle"),
    "wrong-checksum": (PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "not a sound gzip file"),
    "not-gzip": (HEAD + ROW, "not a sound gzip file"),
    "nested": (gzip.compress(PACKED), "is a gzip archive inside"),
    "nested-zip": (gzip.compress(b"PK\x03\x04" + ROW), "is a zip archive"),
}


@pytest.mark.parametrize("case", BAD_GZIP)
def test_bad_gzip_is_refused(case: str, tmp_path: Path) -> None:
    data, words = BAD_GZIP[case]
    refused(file_of(tmp_path, data, "t.csv.gz"), words)


def test_a_gzip_bomb_is_given_up(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(9, wbits=31)
    bomb = (
        squeeze.compress(HEAD)
        + b"".join(squeeze.compress(b"1,2\n" * 2**18) for _ in range(64))
        + squeeze.flush()
    )
    refused(file_of(tmp_path, bomb, "t.csv.gz"), "more than 100 times its size")


def test_small_repetitive_gzip_is_fine(tmp_path: Path) -> None:
    data = gzip.compress(HEAD + b"1,2\n" * 500_000)
    assert checked_files.RATIO_LIMIT * len(data) < 2_000_000
    assert len(read(file_of(tmp_path, data, "t.csv.gz"))) == 500_000


def test_gzip_has_an_absolute_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(HEAD + ROW)
    monkeypatch.setattr(checked_files, "GZIP_LIMIT", size)
    assert len(read(file_of(tmp_path, PACKED, "t.csv.gz"))) == 1
    monkeypatch.setattr(checked_files, "GZIP_LIMIT", size - 1)
    refused(file_of(tmp_path, PACKED, "t.csv.gz"), "unpacks to more than")


# ---------------------------------------------------------------- Parquet


def parquet_of(folder: Path, columns: dict[str, Any], name: str = "t.parquet") -> Path:
    pq.write_table(pa.table(columns), folder / name)
    return folder / name


UNREADABLE: dict[str, Any] = {
    "list": pa.array([[CANARY]]),
    "struct": pa.array([{"x": CANARY, "y": {"z": CANARY}}]),
    "map": pa.array([[(CANARY, CANARY)]], pa.map_(pa.string(), pa.string())),
    "bytes": pa.array([SAID]),
    "duration": pa.array([datetime.timedelta(1)]),
}


def test_columns_of_no_plain_type_are_named(tmp_path: Path, private: Path) -> None:
    for case, values in UNREADABLE.items():
        plain = pa.array([CANARY])
        if case != "duration":  # Parquet stores a duration as a plain number
            path = parquet_of(tmp_path, {"first": plain, case: values, "last": plain})
            refused(path, f"column '{case}' is not of a plain type")
        refused(pa.table({case: values}), f"column '{case}' has the type")


def test_moments_with_a_zone_are_named(tmp_path: Path, private: Path) -> None:
    zoned = pa.table({"when": pa.array([0], pa.timestamp("us", tz="Europe/Berlin"))})
    pq.write_table(zoned, tmp_path / "t.parquet")
    for source in (zoned, zoned.to_pandas(), pl.from_arrow(zoned), tmp_path / "t.parquet"):
        refused(source, "column 'when' has moments with a time zone")
    aware = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    refused(pd.DataFrame({"when": pd.Series([aware], dtype=object)}), "time zone")


def test_parquet_texts_and_names_keep_the_rules(tmp_path: Path, private: Path) -> None:
    plain = pa.array([CANARY])
    twins = pa.table([plain, plain], names=["Age", "age"])
    pq.write_table(twins, tmp_path / "twins.parquet")
    refused(tmp_path / "twins.parquet", "columns 1 and 2 have the same name")
    refused(parquet_of(tmp_path, {"a": [CANARY + "\0"]}), "NUL character")
    refused(parquet_of(tmp_path, {"a": [CANARY + "x" * CELL_LIMIT]}), "cell of more than")
    refused(parquet_of(tmp_path, {"a": pa.array([], pa.string())}), "no rows")
    refused(parquet_of(tmp_path, {"a": pa.array([-(2**56)], pa.timestamp("us"))}), "years 1 to 9999")


def test_a_path_is_no_pattern(tmp_path: Path) -> None:
    parquet_of(tmp_path, {"a": ["other"]}, "x1.parquet")
    path = parquet_of(tmp_path, {"a": ["wanted"]}, "x[0-9]*'\".parquet")
    assert read(path).column("a").rows() == ["wanted"]


def damaged(folder: Path) -> Iterator[tuple[str, bytes]]:
    sound = parquet_of(folder, {"a": [CANARY] * 50, "b": list(range(50))}, "sound.parquet").read_bytes()
    footer = struct.unpack("<I", sound[-8:-4])[0]
    yield "only-the-sign", b"PAR1"
    yield "cut-short", sound[: len(sound) // 2]
    yield "endless-footer", sound[:-8] + struct.pack("<I", 2**32 - 1) + b"PAR1"
    yield "zero-footer", sound[: -8 - footer] + bytes(footer) + sound[-8:]
    yield "data-lost", sound[:4] + bytes(len(sound) - 12 - footer) + sound[-8 - footer :]


def test_damaged_parquet_is_refused(tmp_path: Path, private: Path) -> None:
    refused(file_of(tmp_path, HEAD + ROW, "t.parquet"), "is not a Parquet file")
    for case, data in damaged(tmp_path):
        refused(file_of(tmp_path, data, f"{case}.parquet"), f"{case}.parquet is damaged")


def test_a_child_that_dies_is_an_error_and_no_crash(
    tmp_path: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    refused(parquet_of(tmp_path, {"a": [CANARY]}), "t.parquet is damaged")


def test_duckdb_reaches_nothing_else(tmp_path: Path, private: Path) -> None:
    import duckdb

    other = file_of(tmp_path, HEAD + ROW)
    mine = str(parquet_of(tmp_path, {"a": ["x"]}))
    with connection(mine) as session:
        assert session.execute("SELECT a FROM read_parquet(?)", [mine]).fetchall() == [("x",)]
        assert session.execute("SELECT current_setting('temp_directory')").fetchall() == [("",)]
        assert not list(private.iterdir())
        for statement in (
            f"SELECT * FROM read_csv('{other}')",
            f"SELECT * FROM read_text('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'new.csv'}'",
            f"ATTACH '{tmp_path / 'new.db'}'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET temp_directory = '.'",
        ):
            with pytest.raises(duckdb.Error):
                session.execute(statement)


def test_a_failed_write_leaves_nothing(
    tmp_path: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    table = Table.of({"a": [CANARY]})
    writers: list[tuple[Callable[[Table, Path], None], str]] = [
        (write_csv, "o.csv"),
        (write_parquet, "o.parquet"),
    ]
    for write, name in writers:
        with pytest.raises(TableError, match="cannot be written") as caught:
            write(table, tmp_path / name)
        assert CANARY not in told(caught.value)
        assert not (tmp_path / name).exists()


# ---------------------------------------------------------------- frames


class Awkward:
    def __repr__(self) -> str:
        return CANARY


def objects(*values: object, name: str = "a") -> pd.DataFrame:
    frame = pd.DataFrame({0: pd.Series(values, dtype=object)})
    frame.columns = pd.Index([name], dtype=object)
    return frame


FRAMES: dict[str, tuple[Callable[[], Any], str]] = {
    "mixture": (lambda: objects(None, CANARY, "x", 1), "column 'a' mixes types: row 2 is str, row 4 is int"),
    "bool-and-int": (lambda: objects(1, True), "row 1 is int, row 2 is bool"),
    "late-mixture": (lambda: pd.DataFrame({"a": [CANARY] * 500 + [1]}), "row 1 is str, row 501 is int"),
    "objects": (lambda: pd.DataFrame({"a": [Awkward()]}), "column 'a' has the type"),
    "lists": (lambda: pl.DataFrame({"a": [[CANARY]]}), "column 'a' has the type List"),
    "records": (lambda: pl.DataFrame({"a": [{"x": CANARY}]}), "column 'a' has the type Struct"),
    "bytes": (lambda: pd.DataFrame({"a": [SAID]}), "column 'a' has the type"),
    "complex": (lambda: pd.DataFrame({"a": [1j]}), "column 'a' has the type"),
    "periods": (lambda: pd.DataFrame({"a": pd.period_range("2024", periods=2)}), "column 'a' has the type"),
    "nul": (lambda: pd.DataFrame({"a": [CANARY + "\0"]}), "column 'a' holds a NUL"),
    "half-a-pair": (lambda: objects(CANARY + "\ud800"), "broken Unicode"),
    "long-cell": (lambda: objects("é" * (CELL_LIMIT // 2) + "x"), "cell of more than 65536"),
    "year-0": (lambda: pa.table({"a": pa.array([-720_000], pa.date32())}), "years 1 to 9999"),
    "no-rows": (lambda: pd.DataFrame({"a": []}), "no rows"),
    "no-columns": (pl.DataFrame, "has no columns"),
    "twins": (lambda: pd.DataFrame([[CANARY, CANARY]], columns=["a", "a"]), "two columns with the same name"),
    "case-twins": (lambda: pl.DataFrame({"A": [CANARY], "a": [CANARY]}), "columns 1 and 2 have the same"),
    "numbers-as-names": (lambda: pd.DataFrame([[CANARY]]), "the name of column 1 is not text"),
    "half-a-pair-in-name": (lambda: objects(CANARY, name="\ud800"), "broken Unicode"),
    "lazy": (lambda: pl.LazyFrame({"a": [CANARY]}), "a LazyFrame is not a table.*collect"),
    "list-of-rows": (lambda: [[CANARY]], "a list is not a table"),
    "none": (lambda: None, "a NoneType is not a table"),
    "series": (lambda: pd.Series([CANARY]), "a Series is not a table"),
}  # fmt: skip


@pytest.mark.parametrize("case", FRAMES)
def test_frames_that_cannot_be_read_are_refused(case: str) -> None:
    make, words = FRAMES[case]
    refused(make(), words)


def test_a_cell_of_64_KiB_in_a_frame_is_fine() -> None:
    assert len(read(pl.DataFrame({"a": ["é" * (CELL_LIMIT // 2)]}))) == 1


def test_asking_for_no_column_is_refused() -> None:
    with pytest.raises(TableError, match="at least one"):
        read(pl.DataFrame({"a": ["x"]}), columns=[])


def test_the_input_frame_is_not_changed() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", None]), "b": [1.5, np.nan]}, index=[5, 3])
    before = frame.copy(deep=True)
    read(frame)
    as_frame(Table.of({"a": ["x"]}), frame, {"a": ("a", np.array([0]))})
    pd.testing.assert_frame_equal(frame, before)
