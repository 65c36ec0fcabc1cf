"""The original table by the verifier's own readers: packed, in other encodings, JSON lines, SQLite."""

from __future__ import annotations

import codecs
import csv
import gzip
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from incrowd.errors import TableError
from incrowd.schema import Source
from incrowd.verifier import csv_file, original, rows_of
from incrowd.verifier.csv_file import CsvRows

TEXT = "name,town\nZoë,Åbo\nb,2\n"
ROWS = [["Zoë", "Åbo"], ["b", "2"]]
NOBODY: Any = object()


def read(source: object) -> tuple[list[str], list[list[str | None]]]:
    found = rows_of(source, NOBODY)
    assert found is not NOBODY
    return list(found.names), [list(row) for row in found]


@pytest.mark.parametrize(
    ("content", "stated"),
    [
        (TEXT.encode(), ""),
        (codecs.BOM_UTF8 + TEXT.encode(), ""),
        (TEXT.encode("cp1252"), ""),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), ""),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), ""),
        (TEXT.encode("utf-16-le"), ""),
        (TEXT.encode("utf-16-be"), ""),
        (TEXT.encode("latin-1"), "latin-1"),
        (TEXT.encode(), "utf8"),
        (TEXT.encode("utf-16"), "utf-16"),
    ],
    ids=[
        "utf8",
        "mark",
        "cp1252",
        "le",
        "be",
        "le bare",
        "be bare",
        "latin-1",
        "utf8 stated",
        "utf-16 stated",
    ],
)
@pytest.mark.parametrize("at_once", [3, 2**20])
def test_every_encoding_is_told(
    content: bytes, stated: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(original, "AT_ONCE", at_once)
    monkeypatch.setattr(csv_file, "BYTES_AT_ONCE", at_once)
    monkeypatch.setattr(csv_file, "LINES_AT_ONCE", 0)
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert read(Source(path, encoding=stated)) == (["name", "town"], ROWS)


def test_half_a_letter_at_the_end_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"name\nZo\xc3")
    assert read(tmp_path / "t.csv") == (["name"], [["Zo\u00c3"]])


def test_a_mark_is_skipped_at_the_beginning_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "BYTES_AT_ONCE", 2)
    monkeypatch.setattr(csv_file, "LINES_AT_ONCE", 0)
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffa,b\n\ufeffc,\ufeff\n".encode("utf-16-le"))
    assert read(Source(path, encoding="utf-16-le")) == (["a", "b"], [["\ufeffc", "\ufeff"]])


def test_tabs_part_the_cells_of_a_tsv(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a,b\tc\n1,2\t3\n", encoding="utf-8")
    assert read(tmp_path / "t.tsv") == (["a,b", "c"], [["1,2", "3"]])


def test_packed_files_are_opened(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "t.csv.gz", "wb") as file:
        file.write(TEXT.encode())
    with gzip.open(tmp_path / "t.tsv.GZ", "wb") as file:
        file.write(b"a\tb\n1\t2\n")
    assert read(tmp_path / "t.csv.gz") == (["name", "town"], ROWS)
    assert read(tmp_path / "t.tsv.GZ") == (["a", "b"], [["1", "2"]])
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("folder/", "")
        archive.writestr("__MACOSX/._t.csv", "x")
        archive.writestr("folder/t.csv", TEXT)
        archive.writestr("folder/u.csv", "c\n3\n")
    assert read(tmp_path / "t.zip") == (["name", "town"], ROWS)
    assert read(Source(tmp_path / "t.zip", sheet="folder/u.csv")) == (["c"], [["3"]])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("at_once", [3, 2**20])
def test_json_lines_are_read_as_they_are_written(
    encoding: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(original, "AT_ONCE", at_once)
    lines = '{"a": 1.50, "b": "é"}\n\n{"c": true, "a": null}\n{"c": false, "b": -0}\n'
    (tmp_path / "t.jsonl").write_text(lines, encoding=encoding)
    names, rows = read(Source(tmp_path / "t.jsonl"))
    assert names == ["a", "b", "c"]
    assert rows == [["1.50", "é", None], [None, None, "true"], [None, "-0", "false"]]


def test_tables_of_sqlite_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    session = sqlite3.connect(path)
    session.execute('CREATE TABLE "o""ne" (a, b)')
    values: list[tuple[Any, Any]] = [(1, 2.0), (None, 2.5), ("x", float(2**53)), (-3, -float(2**53) + 1)]
    session.executemany('INSERT INTO "o""ne" VALUES (?, ?)', values)
    session.commit()
    wanted = [["1", "2"], [None, "2.5"], ["x", "9007199254740992.0"], ["-3", "-9007199254740991"]]
    assert read(path) == (["a", "b"], wanted)
    session.execute("CREATE TABLE other (c)")
    session.execute("INSERT INTO other VALUES (5)")
    session.commit()
    session.close()
    assert read(Source(path, sql='o"ne')) == (["a", "b"], wanted)
    assert read(Source(path, sql="SELECT c + 1 AS d FROM other")) == (["d"], [["6"]])
    with pytest.raises(TableError, match="does not have exactly one table"):
        read(path)


def test_a_database_is_opened_to_be_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, bool]] = []
    connect = sqlite3.connect

    def watched(name: str, uri: bool = False) -> sqlite3.Connection:
        opened.append((name.partition("?")[2], uri))
        return connect(name, uri=uri)

    path = tmp_path / "a b.db"
    with closing(connect(path)) as session:
        session.execute("CREATE TABLE one (a)")
    monkeypatch.setattr(sqlite3, "connect", watched)
    assert read(path) == (["a"], [])
    assert set(opened) == {("mode=ro&immutable=1", True)}


def test_anything_else_is_taken_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "t.xyz").write_bytes(b"SQLite format 2\0")
    (tmp_path / "t.csv").mkdir()
    for source in (tmp_path / "t.xyz", tmp_path / "t.csv", tmp_path / "gone.csv", 7, "postgresql://x/y"):
        assert rows_of(source, NOBODY) is NOBODY


# Headers and long cells of a CSV file


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)
    long = 'x"' + "a" * 200_000
    (tmp_path / "t.csv").write_bytes(csv_file.csv_text([["a", "b"], [long, "1"]]))
    assert list(CsvRows(tmp_path / "t.csv", ",")) == [[long, "1"]]


def test_a_name_with_the_sign_of_another_delimiter_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'"a;b",c\n1,2\n')
    assert CsvRows(tmp_path / "t.csv", ",", canonical=True).names == ["a;b", "c"]
    (tmp_path / "t.csv").write_bytes(b"a;b,c\n1,2\n")
    with pytest.raises(TableError, match="not one as releases write it"):
        _ = CsvRows(tmp_path / "t.csv", ",", canonical=True).names
