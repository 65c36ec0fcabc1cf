"""What an engine reads is what memory reads: the same texts, or the same refusal."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from pathlib import Path

import duckdb
import pytest

from incrowd import tables
from incrowd.engines.resources import Resources, size_of
from incrowd.engines.session import duck_session
from incrowd.engines.sources import opened
from incrowd.engines.table_files import TableFiles
from incrowd.errors import IncrowdError, InputError, TableError
from incrowd.schema import Source

Rows = list[tuple[str | None, ...]]
RESOURCES = Resources(512_000_000, 1)
TEXTS = {
    "plain": b"a,b\n1,2\n3,4\n",
    "no line end": b"a,b\n1,2\n3,4",
    "carriage returns": b"a,b\r\n1,2\r\n",
    "quotes": b'a,b\n"1,5","x ""y"""\n"",2\n',
    "line breaks in cells": b'a,b\n"x\ny","\r\n"\n',
    "semicolons": b"a;b\n1,5;2\n",
    "tabs": b"a\tb\n 1\t\n",
    "blanks stay": b"a,b\n 1 ,\t2\n",
    "words for nothing": b"a,b\nNULL,NA\n\\N,nan\n",
    "leading zeros and signs": b"a,b\n007,+1\n-0,1e3\n",
    "a mark before the header": b"\xef\xbb\xbfa,b\n1,2\n",
    "western letters": "name,b\nJosé,2\n".encode("cp1252"),
    "utf-16": "a,b\n1,é\n".encode("utf-16"),
    "comment signs": b"a,b\n#1,2\n//,3\n",
    "quotes in the middle": b'a,b\nx"y,2\n',
    "an open quote": b'a,b\n"1,2\n',
    "an empty line": b"a,b\n1,2\n\n3,4\n",
    "too many cells": b"a,b\n1,2,3\n",
    "too few cells": b"a,b\n1\n",
    "a lone carriage return": b"a,b\n1\r2,3\n",
    "a nul": b"a,b\n1\x00,2\n",
    "broken letters": b"a,b\n\xff\xfe\xfd\xc3,2\n",
    "russian letters": "a,b\nпривет,2\n".encode("cp1251"),
    "names twice": b"a,A\n1,2\n",
    "no rows": b"a,b\n",
    "nothing": b"",
    "one column": b'a\n1\n""\n',
}


def by_memory(source: Path | Source) -> Rows | None:
    try:
        return list(tables.read(source))
    except IncrowdError:
        return None


def by_engine(source: Path | Source, folder: Path) -> Rows | None:
    """The rows as the engine has them; None if it refuses."""
    try:
        files = TableFiles.of(source)
        attached = files.files[0] if files.kind == "duckdb" else None
        with duck_session(
            folder, RESOURCES, files.files if attached is None else (), (), attached
        ) as session:
            table = opened(session, session, files, folder, ["a", "b", "name", "day", "x"])
            shown = ", ".join(map(table.text, table.names))
            return session.rows(f"SELECT {shown} FROM {table.joined(table.names)}")
    except IncrowdError:
        return None


@pytest.mark.parametrize("name", TEXTS)
def test_csv_has_the_same_cells_or_is_refused_by_both(name: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(TEXTS[name])
    assert by_engine(path, tmp_path) == by_memory(path)


def test_packed_files_and_stated_encodings(tmp_path: Path) -> None:
    content = "a;b\n1;ü\n".encode("cp1250")
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile(tmp_path / "table.zip", "w") as archive:
        archive.writestr("inside.csv", content)
    for name in ("table.csv.gz", "table.zip"):
        source = Source(tmp_path / name, encoding="cp1250")
        folder = tmp_path / f"of {name}"
        folder.mkdir()
        assert by_engine(source, folder) == by_memory(source) == [("1", "ü")]


TYPED = (
    "SELECT * FROM (VALUES (1::BIGINT, 1.5::DOUBLE, DATE '2024-02-29', TIMESTAMP '2024-01-01 10:30:00'), "
    "(NULL, 3.0, NULL, TIMESTAMP '2024-01-02 00:00:00'), (-7, 1e20, DATE '1900-01-01', NULL)) t(a, b, day, x)"
)


def test_typed_parquet_files_and_folders_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in ("1", "2"):
        duckdb.sql(f"COPY ({TYPED}) TO '{folder / part}.parquet'")
    rows, expected = by_engine(folder, tmp_path), by_memory(folder)
    assert rows is not None
    assert expected is not None
    assert sorted(rows, key=repr) == sorted(expected, key=repr)  # a join promises no order
    assert by_engine(folder / "1.parquet", tmp_path) == by_memory(folder / "1.parquet")
    duckdb.sql(f"COPY (SELECT 1 AS a, 2 AS z) TO '{folder / '3.parquet'}'")
    files = TableFiles.of(folder)
    refused = pytest.raises(TableError, match="other columns, or columns of other types")
    with duck_session(tmp_path, RESOURCES, files.files) as session, refused:
        opened(session, session, files, tmp_path, ["a"])


def test_databases(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as made:
        made.sql(f"CREATE TABLE people AS {TYPED}")
    with sqlite3.connect(tmp_path / "people.sqlite") as session:
        session.execute("CREATE TABLE people (a, b)")
        session.executemany("INSERT INTO people VALUES (?, ?)", [(1, "x"), (2.5, None), (3.0, "ä")])
    session.close()
    for name in ("people.duckdb", "people.sqlite"):
        folder = tmp_path / f"of {name}"
        folder.mkdir()
        assert by_engine(tmp_path / name, folder) == by_memory(tmp_path / name)
    query = Source(tmp_path / "people.duckdb", sql="SELECT a FROM people WHERE a > 0")
    assert by_engine(query, tmp_path) == [("1",)]


def test_what_an_engine_cannot_read_is_refused_with_a_way_out(tmp_path: Path) -> None:
    import pandas as pd

    with pytest.raises(InputError, match="write the frame to a Parquet file"):
        TableFiles.of(pd.DataFrame({"a": [1]}))
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(TableError, match="convert it to one of them"):
        TableFiles.of(tmp_path / "rows.jsonl")
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.jsonl")
    with pytest.raises(TableError, match="symbolic link"):
        TableFiles.of(tmp_path / "link.csv")


def test_a_session_touches_nothing_else(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("secret\n")
    (tmp_path / "work").mkdir()
    with duck_session(tmp_path / "work", RESOURCES) as session:
        for statement in (
            f"SELECT * FROM read_csv('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            "SET enable_external_access = true",
            "INSTALL sqlite",
        ):
            with pytest.raises(IncrowdError) as caught:
                session.run(statement)
            assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "3 apples", "-1GB", "1.2.3GB", "GB"])
def test_sizes_that_make_no_sense(text: str) -> None:
    with pytest.raises(InputError, match="a size such as 3GB"):
        size_of(text)


def test_too_little_memory_or_too_few_threads() -> None:
    for words in ({"memory": "10MB"}, {"threads": 0}, {"threads": True}):
        with pytest.raises(InputError, match="must be"):
            Resources.of(**words)
