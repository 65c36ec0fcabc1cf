"""Every kind of file gives the same texts, says what it took for what, and publishes and verifies."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import pyreadstat
import pytest

import incrowd as ic
from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.schema import Source
from incrowd.tables import checked_files, read
from incrowd.tables.files import read_standard_input
from incrowd.verifier import rows_of

ROWS = [("31", "Zürich", "2012-01-29"), ("47", "Genève", "2012-02-03"), ("52", "Köln", "2012-03-01")] * 4
NAMES = ("age", "town", "seen")
TEXT = "\n".join([",".join(NAMES), *(",".join(row) for row in ROWS)]) + "\n"
TABBED = TEXT.replace(",", "\t").encode()
TYPED = [(int(age), town, date.fromisoformat(seen)) for age, town, seen in ROWS]
CANARY = "Jane-Roe-HIV"


def same(source: object) -> tuple[str, ...]:
    """The table is the one above; what was said about it."""
    table = read(source)
    assert table.names == NAMES
    assert list(table) == ROWS
    return table.notes


def workbook(path: Path, *sheets: str) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        for row in (NAMES, *TYPED):
            sheet.append(row)
    book.save(path)
    return path


def ods(path: Path) -> Path:
    def cells(row: tuple[str, ...]) -> str:
        start = "<table:table-cell office:value-type='string'><text:p>"
        return "".join(f"{start}{cell}</text:p></table:table-cell>" for cell in row)

    rows = "".join(f"<table:table-row>{cells(row)}</table:table-row>" for row in (NAMES, *ROWS))
    home = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{name}="{home}:{name}:1.0"' for name in ("office", "table", "text"))
    sheet = f"<table:table table:name='people'>{rows}</table:table>"
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")
    return path


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return path


def lines(path: Path) -> Path:
    objects = (dict(zip(NAMES, (int(age), town, seen), strict=True)) for age, town, seen in ROWS)
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    return path


def sqlite(path: Path) -> Path:
    with sqlite3.connect(path) as session:
        session.execute("CREATE TABLE people (age INTEGER, town TEXT, seen TEXT)")
        session.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    session.close()
    return path


def duck(path: Path) -> Path:
    with duckdb.connect(str(path)) as session:
        session.execute("CREATE TABLE people (age INTEGER, town VARCHAR, seen DATE)")
        session.executemany("INSERT INTO people VALUES (?, ?, ?)", TYPED)
    return path


def frame() -> pd.DataFrame:
    return pd.DataFrame(TYPED, columns=list(NAMES)).assign(
        seen=lambda f: pd.to_datetime(f["seen"]).astype("datetime64[ns]")
    )


def written(write: Callable[..., None], path: Path) -> Path:
    write(frame(), str(path))
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    frame().iloc[:5].to_parquet(path / "1.parquet")
    frame().iloc[5:].to_parquet(path / "2.parquet")
    return path


def text(path: Path, encoding: str = "utf-8", delimiter: str = ",") -> Path:
    path.write_bytes(TEXT.replace(",", delimiter).encode(encoding))
    return path


# By kind: what makes the file, and what is said about it.
KINDS: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "utf-8": (lambda p: text(p / "t.csv"), ()),
    "utf-8 with a mark": (lambda p: text(p / "t.csv", "utf-8-sig"), ()),
    "utf-16": (lambda p: text(p / "t.csv", "utf-16"), ("t.csv: read as utf-16",)),
    "utf-16 without a mark": (lambda p: text(p / "t.csv", "utf-16-be"), ("t.csv: read as utf-16-be",)),
    "cp1252": (
        lambda p: text(p / "t.csv", "cp1252"),
        (
            "t.csv: not UTF-8, so read as cp1252 (Windows, Western languages); "
            "if letters come out wrong, state the encoding",
        ),
    ),
    "stated": (lambda p: Source(text(p / "t.csv", "cp437"), encoding="CP437"), ("t.csv: read as cp437",)),
    "semicolons": (
        lambda p: text(p / "t.csv", delimiter=";"),
        ("t.csv: columns are separated by semicolons",),
    ),
    "tabs": (lambda p: text(p / "t.txt", delimiter="\t"), ("t.txt: columns are separated by tabs",)),
    "bars": (lambda p: text(p / "t.csv", delimiter="|"), ("t.csv: columns are separated by bars (|)",)),
    "tildes": (lambda p: text(p / "t.csv", delimiter="~"), ("t.csv: columns are separated by tildes (~)",)),
    "zip": (lambda p: zipped(p / "t.zip", t_csv=TEXT.encode()), ("t.zip: read t.csv",)),
    "zip of several": (
        lambda p: Source(zipped(p / "t.zip", a_csv=b"x\n1\n", t_tsv=TABBED), sheet="t.tsv"),
        ("t.zip: read t.tsv",),
    ),
    "xlsx": (lambda p: workbook(p / "t.xlsx", "people"), ("t.xlsx: sheet 'people'",)),
    "xlsx of several": (
        lambda p: Source(workbook(p / "t.xlsx", "people", "more"), sheet="more"),
        ("t.xlsx: sheet 'more'",),
    ),
    "ods": (lambda p: ods(p / "t.ods"), ("t.ods: sheet 'people'",)),
    "stata": (lambda p: written(pyreadstat.write_dta, p / "t.dta"), ()),
    "spss": (lambda p: written(pyreadstat.write_sav, p / "t.sav"), ()),
    "json lines": (lambda p: lines(p / "t.jsonl"), ()),
    "packed json lines": (
        lambda p: zipped(p / "t.zip", t_jsonl=lines(p / "t.jsonl").read_bytes()),
        ("t.zip: read t.jsonl",),
    ),
    "folder": (lambda p: folder(p / "t"), ("t: 2 Parquet files",)),
    "sqlite": (lambda p: sqlite(p / "t.db"), ("t.db: table people",)),
    "sqlite query": (
        lambda p: Source(sqlite(p / "t.sqlite"), sql="SELECT age, town, seen FROM people"),
        ("t.sqlite: the result of a query",),
    ),
    "duckdb": (lambda p: duck(p / "t.duckdb"), ("t.duckdb: table people",)),
    "duckdb query": (
        lambda p: Source(duck(p / "t.duckdb"), sql="SELECT * FROM people"),
        ("t.duckdb: the result of a query",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_is_read_published_and_verified(kind: str, tmp_path: Path) -> None:
    make, notes = KINDS[kind]
    source = make(tmp_path)
    assert same(source) == notes
    roles = {"quasi_identifiers": ["age", "seen"], "sensitive": ["town"]}
    release = ic.publish(source, roles, tmp_path / "release", k=3)
    assert release.reading == notes
    assert ic.verify(tmp_path / "release", source).passed
    assert ic.inspect(source).reading == notes


OWN_EYES = [
    *("utf-8", "utf-8 with a mark", "utf-16", "utf-16 without a mark", "cp1252", "stated", "semicolons"),
    *("tabs", "bars", "tildes", "zip", "zip of several", "json lines", "packed json lines", "sqlite"),
    "sqlite query",
]


@pytest.mark.parametrize("kind", OWN_EYES)
def test_the_verifier_reads_it_by_itself(kind: str, tmp_path: Path) -> None:
    nobody = read(text(tmp_path / "other.csv"))  # the rows at hand, which it must not take
    found = rows_of(KINDS[kind][0](tmp_path), nobody)
    assert found is not nobody
    assert tuple(found.names) == NAMES
    assert [tuple(row) for row in found] == ROWS


def test_a_pipe_is_csv_or_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(content: bytes, encoding: str = "") -> Table:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return read_standard_input(encoding)

    for content in (TEXT.encode(), TEXT.encode("utf-16"), lines(tmp_path / "t.jsonl").read_bytes()):
        table = piped(content)
        assert (table.names, list(table)) == (NAMES, ROWS)
    assert list(piped(TEXT.encode("cp850"), "cp850")) == ROWS


# What is refused, with what to do


def refused(source: object, words: str) -> None:
    with pytest.raises(TableError, match=words) as caught:
        read(source)
    assert CANARY not in repr(caught.value)


def test_what_needs_a_word_is_asked(tmp_path: Path) -> None:
    refused(
        zipped(tmp_path / "a.zip", a_csv=b"x\n1\n", b_csv=b"x\n1\n"), r"holds 2 files: a.csv, b.csv; .*sheet="
    )
    refused(workbook(tmp_path / "a.xlsx", "one", "two"), r"has 2 sheets: one, two; .*sheet=")
    refused(Source(tmp_path / "a.xlsx", sheet="on"), "did you mean 'one'")
    with sqlite3.connect(sqlite(tmp_path / "a.db")) as session:
        session.execute("CREATE TABLE more (x)")
    session.close()
    refused(tmp_path / "a.db", r"has 2 tables: more, people; .*sql=")
    refused(Source(text(tmp_path / "a.csv"), sheet="x"), "no file for which sheet=… can be said")
    refused(Source(text(tmp_path / "a.csv"), encoding="utf-7"), "not an encoding that is read: utf-7")
    refused(
        Source(text(tmp_path / "a.csv", "cp1252"), encoding="utf-8"), "line 2 is not UTF-8 in column 'town'"
    )
    polish = tmp_path / "polish.csv"
    polish.write_bytes(f"a,b\n{CANARY} Paweł,Łódź\n".encode("cp1250"))
    refused(polish, "is not UTF-8, and does not look like cp1252; say how .*encoding=")


def test_what_a_workbook_may_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"

    def book(*cells: tuple[str, object]) -> Path:
        made = openpyxl.Workbook()
        for place, value in (("A1", "age"), ("A2", 5), *cells):
            made.active[place] = value
        made.save(path)
        return path

    refused(book(("A3", "=A2*2")), "has 1 formulas without a stored result in sheet 'Sheet'")
    refused(book(("A3", "#N/A")), "cells that hold an error instead of a value")
    refused(book(("C7", CANARY)), "in no column with a name in its first row")
    refused(book(("XFD1048576", 1)), "in no column with a name in its first row")
    refused(book(("B1", 7), ("B2", 1)), "name in the first row is empty or no text")
    refused(book(("A4", 6)), "an empty row between others")
    path.write_bytes(TEXT.encode())
    refused(path, "is not a workbook of this kind")
    assert read(book(("A3", datetime(2012, 1, 29, 10, 30)))).column("age").texts == (
        "5",
        "2012-01-29T10:30:00",
    )


def test_a_formula_with_a_stored_result_is_said(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", "people")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'<c r="A2" t="n"><v>31</v>', b'<c r="A2"><f>30+1</f><v>31</v>')
    assert b"<f>30+1</f>" in parts[sheet]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert same(path) == (
        "t.xlsx: sheet 'people'",
        "t.xlsx: 1 cells are formulas; their stored results are taken",
    )


def test_archives_that_explode_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incrowd.tables.zip_archive.RATIO_FREE", 1000)
    refused(
        zipped(tmp_path / "bomb.zip", a_csv=b"a,b\n" + b"1,2\n" * 500_000), "unpacks to more than 100 times"
    )
    (tmp_path / "t.zip").write_bytes(b"PK\x03\x04" + TEXT.encode())
    refused(tmp_path / "t.zip", "not a sound zip archive")
    refused(zipped(tmp_path / "n.zip", a_zip=b"PK"), "unpack it")
    many = {f"f{place}_csv": b"x\n1\n" for place in range(checked_files.ZIP_LIMIT + 1)}
    refused(zipped(tmp_path / "many.zip", **many), "at most 1000 are looked at")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"a": 1, "a": 2}\n', "line 1 is not a JSON object"),
        ('{"a": 1}\n[1]\n', "line 2 is not a JSON object"),
        ('{"a": [1]}\n', "line 1 has a list, an object"),
        ('{"a": NaN}\n', "line 1 has a list, an object or a number that is none"),
        ('{"a": "\\ud800"}\n', "broken Unicode"),
        ('{"a": 1\n', "line 1 is not a JSON object"),
        ("\n", "has no columns"),
    ],
)
def test_json_lines_that_are_no_table(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    refused(path, words)


def test_numbers_of_json_keep_their_digits_and_gaps_are_null(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson.gz"
    path.write_bytes(
        gzip.compress(b'{"a": 1.50, "b": true}\n\n{"b": null, "c": "x"}\n{"a": 123456789012345678901}')
    )
    assert list(read(path)) == [
        ("1.50", "true", None),
        (None, None, "x"),
        ("123456789012345678901", None, None),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM people",
        "WITH x AS (SELECT 1) DELETE FROM people",
        "SELECT load_extension('x')",
        "WITH x AS (SELECT 1) INSERT INTO people SELECT 1, 2, 3",
        "VALUES (1); DROP TABLE people",
        "nobody",
    ],
)
def test_a_database_is_only_read(sql: str, tmp_path: Path) -> None:
    for path in (sqlite(tmp_path / "t.db"), duck(tmp_path / "t.duckdb")):
        before = path.read_bytes()
        with pytest.raises(TableError):
            read(Source(path, sql=sql))
        assert path.read_bytes() == before


def test_a_query_of_duckdb_opens_no_other_file(tmp_path: Path) -> None:
    other = text(tmp_path / "secret.csv")
    refused(
        Source(duck(tmp_path / "t.duckdb"), sql=f"SELECT * FROM read_csv('{other}')"), "the query is wrong"
    )


def test_a_folder_holds_one_table(tmp_path: Path) -> None:
    path = folder(tmp_path / "t")
    pd.DataFrame({"other": [1]}).to_parquet(path / "3.parquet")
    refused(path, r"3.parquet has other columns than 1.parquet")
    (path / "3.parquet").unlink()
    (path / "notes.txt").write_text("x")
    refused(path, "1 other entries")


# PostgreSQL


def rows(release: Path) -> list[str]:
    return (release / "data.csv").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that is started for these tests, if the machine has one."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: PostgreSQL is not tested")
    found = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        *map(Path, filter(None, [shutil.which("initdb")])),
    ]
    if not found:
        pytest.skip("this machine has no PostgreSQL server: reading from one is not tested")
    home, tools = tmp_path_factory.mktemp("postgres"), found[-1].resolve().parent
    as_user: list[str] = []
    if Path.home() == Path("/root"):  # a server does not run as root
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        shutil.chown(home, 65534, 65534)
        for above in home.parents[:3]:
            above.chmod(above.stat().st_mode | 0o011)
    data = home / "data"

    def run(*words: str) -> None:
        done = subprocess.run(
            [*as_user, *words], cwd=home, capture_output=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
        )
        if done.returncode:
            pytest.skip("no PostgreSQL server could be started here: reading from one is not tested")

    run(str(tools / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8")
    flags = f"-c listen_addresses= -c unix_socket_directories={home}"
    run(str(tools / "pg_ctl"), "-D", str(data), "-o", flags, "-l", str(home / "log"), "-w", "start")
    try:
        yield f"postgresql://tester:{CANARY}@/postgres?host={home}"
    finally:
        run(str(tools / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")


def test_a_table_and_a_query_of_postgres(server: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(server) as session:
        session.execute("CREATE TABLE people (age int, town text, seen date)")
        with session.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s)", TYPED)
        session.execute("CREATE TABLE odd (x interval)")
        session.execute("INSERT INTO odd VALUES ('1 day')")
    assert same(Source(server, sql="people")) == ("the database: table people",)
    assert same(Source(server, sql="SELECT age, town, seen FROM people")) == (
        "the database: the result of a query",
    )
    roles = {"quasi_identifiers": ["age", "seen"], "sensitive": ["town"]}
    source = Source(server, sql="people")
    ic.publish(source, roles, tmp_path / "release", k=3)
    assert ic.verify(tmp_path / "release", source).passed
    ic.publish(source, roles, tmp_path / "large", k=3, engine="duckdb")
    assert ic.verify(tmp_path / "large", source, engine="duckdb").passed
    assert sorted(rows(tmp_path / "large")) == sorted(rows(tmp_path / "release"))
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert CANARY.encode() not in everything
    refused(Source(server), r"has 2 tables: odd, people; .*sql=")
    refused(Source(server, sql="odd"), "column 'x' is not of a plain type")
    refused(
        Source(server, sql="WITH x AS (DELETE FROM people RETURNING 1) SELECT * FROM x"), "cannot be read"
    )
    refused(Source(server.replace("/postgres?", "/nobody?"), sql="people"), "cannot be read")
    assert len(read(source)) == len(ROWS)
