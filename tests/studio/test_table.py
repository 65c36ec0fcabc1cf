"""The start page and the screen Table: files, a dropped file, rows to the last one, kinds, missing."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support.studio_visitor import BROWSER, Visitor
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.studio.pages import number
from incrowd.studio.questions.open_table import OpenTable
from incrowd.studio.questions.rows import CODES, DIGITS, WORDS, columns
from incrowd.studio.views.start import OTHERS, TEXTS, readable
from incrowd.studio.views.table import QUERY
from incrowd.tables import databases, files
from incrowd.values import read_number


def test_the_start_page_lists_tables_and_no_links(visitor: Visitor) -> None:
    folder = visitor.studio.folder
    (folder / "a.csv").write_text("x\n1\n")
    (folder / "notes.md").write_text("no")
    (folder / ".hidden.csv").write_text("x\n1\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.csv").write_text("x\n1\n")
    (folder / "link.csv").symlink_to(folder / "a.csv")
    (folder / "tree.csv").write_text("04101;0410_;*\n04102;0410_;*\n")  # a hierarchy in the form of ARX
    page = visitor.get("/").text
    assert "a.csv" in page
    for name in ("notes.md", ".hidden.csv", "b.csv", "link.csv", "tree.csv"):
        assert name not in page
    assert "Try the demo table" in page


def test_an_empty_folder_says_what_to_do(visitor: Visitor) -> None:
    page = visitor.get("/").text
    assert "There is no table in this folder" in page
    for path in ("/table", "/columns", "/risk", "/policy.toml"):
        assert visitor.get(path).url.path == "/"
    assert "not in the list any more" in visitor.post("/start/file", file="0").text
    assert "not in the list any more" in visitor.post("/start/file", file="../x").text
    assert "not in the list any more" in visitor.post("/start/project", project="7").text


def test_a_file_that_became_a_link_is_not_opened(visitor: Visitor, tmp_path: Path) -> None:
    table = visitor.studio.folder / "a.csv"
    table.write_text("x\n1\n")
    visitor.get("/")
    table.unlink()
    table.symlink_to("/etc/passwd")
    assert "a.csv is gone" in visitor.post("/start/file", file="0").text
    assert visitor.studio.opened is None


def test_the_demo_is_one_click(visitor: Visitor) -> None:
    visitor.post("/start/demo", follow=False)
    page = visitor.wait().text
    assert "3,000" in page
    visitor.post("/close")
    assert visitor.studio.opened is None


def test_every_page_of_rows_is_reached_and_is_what_the_file_says(at_table: Visitor) -> None:
    lines = (at_table.studio.folder / "patients.csv").read_text().splitlines()
    last = at_table.get("/table/rows?page=8").text
    cells = re.findall(r'<th scope="row" class="n soft">400</th>(.*?)</tr>', last)[0]
    shown = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", cells)]
    assert shown == [cell or "missing" for cell in lines[400].split(",")]
    assert at_table.get("/table/rows?page=999999999999").text.count('<th scope="row" class="n soft">') == 50
    assert 'class="asked"' in at_table.get("/table/rows?row=333").text
    for odd in ("page=-1", "page=x", "row=0", "page=" + "9" * 400, "columns=77"):
        assert at_table.get(f"/table/rows?{odd}").status_code == 200


def test_the_columns_are_those_of_the_command(at_table: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(at_table.studio.folder)
    found = json.loads(CliRunner().invoke(app, ["inspect", "patients.csv", "--json"]).output)
    page = at_table.get("/table").text
    for column in found["columns"]:
        (row,) = re.findall(rf'<tr><th scope="row">{column["name"]}</th>(.*?)</tr>', page, re.DOTALL)
        assert f"</span>{number(column['distinct'])}</td>" in row
        assert f"</span>{number(column['missing'])}</td>" in row


def test_a_kind_that_does_not_fit_is_refused_before_it_is_written(at_table: Visitor) -> None:
    before = at_table.policy.read_bytes()
    zip_, age = at_table.column("education"), at_table.column("age")
    assert "are no numbers" in at_table.post(f"/table/kind/{zip_}", kind="numeric", format="").text
    assert "not a known notation" in at_table.post(f"/table/kind/{age}", kind="date", format="kk").text
    assert (
        "give it another role first" in at_table.post(f"/table/kind/{at_table.column('ssn')}", kind="").text
    )
    assert at_table.policy.read_bytes() == before
    page = at_table.post(f"/table/kind/{age}", kind="categorical", format="").text
    assert "you said so" in page
    assert Policy.load(at_table.policy).quasi_identifiers["age"].type == "categorical"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda i: f"{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}", WORDS),
        (lambda i: f"P{i:05d}", DIGITS),
        (lambda i: f"2024-{1 + i % 12:02d}-{1 + i // 12 % 28:02d}" if i else "in spring", DIGITS),
        (lambda i: f"0{i}", CODES),
        (lambda i: f"{i}.5" if i else "about 3", "1 of {n} distinct values is not a number."),
        (lambda i: f"{i}e2" if i % 3 else f"{i}x", "{others} of {n} distinct values are not numbers."),
        (lambda i: f".{i}" if i % 2 else f"two\n{i}", "{others} of {n} distinct values are not numbers."),
        (lambda i: f"+{i}." if i % 2 else f"{i}\r", "{others} of {n} distinct values are not numbers."),
        (lambda i: "7" * (38 + i) if i < 5 else f"A{i}", "{others} of {n} distinct values are not numbers."),
    ],
)
@pytest.mark.parametrize("distinct", [30, 12_000])
def test_why_a_column_is_no_number_is_counted_in_all_its_values(
    made: Callable[[int], str], says: str, distinct: int
) -> None:
    """The counts are exact, however many distinct values there are; rows that repeat them do not count."""
    cells = [made(i) for i in range(distinct)]
    known = {*cells}
    table = Table.of({"x": [*cells, *cells[:7], ""]})
    (found,) = columns(OpenTable(table, size=0, digest=""))
    others = sum(read_number(text) is None for text in known)
    assert found["why"] == says.format(n=f"{len(known):,}", others=f"{others:,}")


def test_dates_in_two_ways_wait_for_an_answer(visitor: Visitor) -> None:
    rows = "\n".join(f"0{1 + i % 9}/0{1 + i % 7}/2020,{i % 5}" for i in range(40))
    (visitor.studio.folder / "d.csv").write_text(f"birth date,sex\n{rows}\n")
    page = visitor.open("d.csv").text
    assert "Say how it is read" in page
    assert "can be read in two ways" in page
    page = visitor.post("/table/kind/0", kind="date", format="dd/mm/yyyy").text
    assert "can be read in two ways" not in page


def test_what_means_missing_is_counted_again(at_table: Visitor) -> None:
    at_table.post("/table/missing", markers="Retired\r\n?\r\n")
    assert Policy.load(at_table.policy).missing == ("", "Retired", "?")
    page = at_table.get("/table").text
    (row,) = re.findall(r'<tr><th scope="row">occupation</th>(.*?)</tr>', page, re.DOTALL)
    lines = (at_table.studio.folder / "patients.csv").read_text().splitlines()
    place = lines[0].split(",").index("occupation")
    missing = sum(line.split(",")[place] in ("", "Retired") for line in lines[1:])
    assert f"</span>{missing}</td>" in row


def test_a_dropped_file_is_copied_told_and_removable(visitor: Visitor) -> None:
    rows = "\n".join(f"{20 + i % 50},{i % 2}" for i in range(80))
    answer = visitor.drop("My%20table.csv", f"age,sex\n{rows}\n".encode())
    assert answer.json() == {"go": "/table"}
    page = visitor.wait().text
    project = visitor.studio.open.project
    assert "A copy of My table.csv" in page
    copy = project.table.path
    assert copy.read_bytes().startswith(b"age,sex")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert project.folder.stat().st_mode & 0o777 == 0o700
    visitor.post("/table/copy")
    assert not copy.exists()
    assert project.policy.exists()


def test_a_dropped_file_that_is_too_large_or_no_table_leaves_nothing(tmp_path: Path) -> None:
    with Visitor(tmp_path, max_upload=100) as visitor:
        assert visitor.drop("a.csv", b"x" * 101).status_code == 413
        for name in ("a.exe", "..", "%2e%2e%2fx", "", "a.csv%00.sh", "/etc/passwd"):
            assert visitor.drop(name, b"x").status_code in (303, 422)
        assert not list(tmp_path.iterdir())
        assert visitor.drop("..%2f..%2fx.csv", b"age\n1\n").status_code == 200
        assert [path.name for path in tmp_path.iterdir()] == ["x.incrowd"]
        headers = {**BROWSER, "origin": "http://evil.example", "content-type": "application/octet-stream"}
        assert visitor.client.post("/drop", content=b"x", headers=headers).status_code == 403


def test_a_file_that_cannot_be_read_asks_how(visitor: Visitor) -> None:
    (visitor.studio.folder / "bad.csv").write_bytes(b'a,b\n1,"2\n')
    visitor.get("/")
    visitor.post("/start/file", follow=False, file="0")
    assert not visitor.run(visitor.studio.ready, 60)
    page = visitor.get("/table").text
    assert "bad.csv could not be read" in page
    assert visitor.get("/columns").url.path == "/table"
    (visitor.studio.folder / "bad.csv").write_bytes("größe\n1\n2\n3\n".encode("cp850"))
    visitor.post("/table/reading", follow=False, encoding="cp850", sheet="")
    assert visitor.run(visitor.studio.ready, 60)
    assert "größe" in visitor.get("/table").text
    assert "--encoding cp850" in visitor.get("/command").text


def test_a_database_asks_which_table_and_takes_no_query(visitor: Visitor) -> None:
    """What is asked is kept in the project, where no value of a person belongs: a query can hold one."""
    with contextlib.closing(sqlite3.connect(visitor.studio.folder / "clinic.sqlite")) as database:
        for name in ("patients", "select few"):
            database.execute(f'CREATE TABLE "{name}" (age INTEGER, sex TEXT)')
            database.executemany(
                f'INSERT INTO "{name}" VALUES (?, ?)', [(i % 40, "FM"[i % 2]) for i in range(80)]
            )
        database.commit()
    visitor.get("/")
    visitor.post("/start/file", follow=False, file="0")
    assert not visitor.run(visitor.studio.ready, 60)
    page = visitor.get("/table").text
    assert "clinic.sqlite has 2 tables" in page
    assert re.findall(r'name="sql" value="([^"]+)"', page) == ["patients", "select few"]
    assert "--sql" not in page
    assert 'name="encoding"' not in page  # nor what a database does not have
    for query in ("SELECT * FROM patients WHERE age = 39", "select few"):
        assert "make a view of this query first" in visitor.post("/table/reading", sql=query).text
    assert "patients WHERE" not in (visitor.studio.open.project.folder / "project.toml").read_text()
    visitor.post("/table/reading", follow=False, sql="patients")
    assert visitor.run(visitor.studio.ready, 60)
    assert "All 80 rows were read" in visitor.get("/table").text
    assert "inspect clinic.sqlite --sql patients" in visitor.get("/command").text
    assert QUERY.pattern == databases._QUERY.pattern


def test_the_studio_knows_the_names_that_the_reader_knows() -> None:
    assert set(TEXTS) == set(files.TEXTS)
    known = {files.PARQUET, *files.WORKBOOKS, *files.STATISTICS, *files.DATABASES, ".zip"}
    assert set(OTHERS) == known
    assert readable("A.CSV")
    assert readable("a.tsv.gz")
    assert not readable("a.md")
    assert not readable(".csv")
