"""What must not get out does not: not into files, not onto the screen, not in temporary folders."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.canaries import (
    BLURRED,
    HEADER,
    MARK,
    NUMBERS,
    POLICY,
    ROWS,
    N,
    everything_in,
    found_in,
    inside_parquet,
    write_table,
)
from support.commands import Ran, incrowd, listing
from support.method_names import BESIDE_K, COUNT_PERSONS, PARTITIONS, SAFE
from support.night import combined

from incrowd import tables
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.errors import NotVerified
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing import draft as drafting
from incrowd.publishing import pipeline
from incrowd.publishing.render import published_table

EPOCH = 315532800
FORMS = {"csv": (), "parquet": ("--format", "parquet"), "typed": ("--format", "parquet", "--typed")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the table and its policy, and one for temporary files, which must be empty in the end."""
    work, spare = tmp_path / "work", tmp_path / "spare"
    work.mkdir()
    spare.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    write_table(work)
    yield work
    assert not list(spare.iterdir())


def publish(*words: object) -> Ran:
    return incrowd("publish", "kanari-source.csv", "-p", "policy.toml", "-o", "out", *words)


def ends_published(texts: list[str]) -> set[str]:
    """Numbers that a release names as the end of an interval: they are meant to be seen."""
    return {number for text in texts for number in re.findall(r"[0-9]{9,}", text)}


# A release


def publish_by(method: str, place: Path, *arguments: str) -> Ran:
    """Some take no entity: there the person is a name like another."""
    if method not in COUNT_PERSONS:
        text = POLICY.replace('entity = "person"\n', "").replace(
            'identifiers = ["name"]', 'identifiers = ["name", "person"]'
        )
        promised = "".join(f"{name} = {number}\n" for name, number in BESIDE_K[method].items())
        (place / "policy.toml").write_text(text + promised)
    return publish("--method", method, *arguments)


@pytest.mark.parametrize(("method", "form"), combined([*PARTITIONS, *SAFE], FORMS))
def test_nothing_of_the_private_columns_gets_out(method: str, form: str, place: Path) -> None:
    ran = publish_by(method, place, *FORMS[form])
    assert ran.code == 0, ran.err
    for name, text in everything_in(place / "out"):
        assert not found_in((MARK, *BLURRED), text), name
        assert str(place) not in text, name
    shown = ran.out.replace("kanari-source.csv", "") + ran.err  # the next step names the source
    assert not found_in((MARK, *BLURRED, *NUMBERS), shown)


@pytest.mark.parametrize("method", PARTITIONS)
def test_of_numbers_only_the_ends_of_intervals_get_out(method: str, place: Path) -> None:
    assert publish_by(method, place).code == 0
    with (place / "out" / "data.csv").open(newline="") as file:
        cells = [row["number"] for row in csv.DictReader(file)]
    inner = set(NUMBERS) - ends_published(cells)
    assert len(inner) > N / 4  # a class of five or more has at most two ends
    for name, text in everything_in(place / "out"):
        assert not found_in(sorted(inner), text), name


def test_typed_columns_say_no_more_than_cells(place: Path) -> None:
    assert publish("--format", "parquet", "--typed").code == 0
    said = list(inside_parquet(place / "out" / "data.parquet"))
    low_and_high = [text for text in said if re.fullmatch(r"[0-9]{9,}(\.0*)?", text)]
    inner = set(NUMBERS) - ends_published(low_and_high)
    assert len(inner) > N / 4
    assert not [text for text in said if found_in(sorted(inner), text)]


@pytest.mark.parametrize("form", FORMS)
def test_the_audit_is_private_and_knows_nobody_by_name(form: str, place: Path) -> None:
    assert publish(*FORMS[form]).code == 0
    audit = place / "out.audit"
    assert audit.stat().st_mode & 0o777 == 0o700
    for name, text in everything_in(audit):
        assert not found_in(("kanari-name", "kanari-person", "kanari-note"), text), name


def test_the_scan_does_see_what_gets_out(place: Path) -> None:
    """Published as it is, the name is found: in CSV, and packed inside Parquet."""
    policy = (
        (place / "policy.toml")
        .read_text()
        .replace('["name"]', "[]")
        .replace('["visit"]', '["visit", "name"]')
    )
    (place / "policy.toml").write_text(policy)
    for form in FORMS:
        assert publish(*FORMS[form], "--accept", "all", "--replace").code == 0
        assert [name for name, text in everything_in(place / "out") if MARK in text]


def test_the_manifest_does_not_depend_on_who_is_in_the_table(place: Path) -> None:
    said = []
    for mark in (MARK, "other"):
        write_table(place, mark)
        assert publish("--replace").code == 0
        manifest = json.loads((place / "out" / "release.json").read_text())
        said.append({key: value for key, value in manifest.items() if key != "files"})
    assert said[0] == said[1]


@pytest.mark.parametrize("form", FORMS)
def test_the_time_of_writing_is_not_told(form: str, place: Path) -> None:
    assert publish(*FORMS[form]).code == 0
    for folder in (place / "out", place / "out.audit"):
        assert {path.stat().st_mtime for path in (folder, *folder.iterdir())} == {EPOCH}


@pytest.mark.parametrize("method", [*PARTITIONS, *SAFE])
def test_rows_are_all_there_in_another_order_each_time(method: str, place: Path) -> None:
    original = [row[HEADER.index("ill")] for row in ROWS]
    orders, contents = [], []
    for _ in range(2):
        assert publish_by(method, place, "--replace").code == 0
        with (place / "out" / "data.csv").open(newline="") as file:
            rows = [tuple(row.values()) for row in csv.DictReader(file)]
        orders.append([row[-1] for row in rows])
        contents.append(sorted(rows))
    assert orders[0] != orders[1] != original != orders[0]
    assert sorted(orders[0]) == sorted(original)
    if method in COUNT_PERSONS:  # elsewhere who is behind which row, or in which class, is drawn anew
        assert contents[0] == contents[1]


def test_what_python_shows_of_a_release_names_nobody(place: Path) -> None:
    release = pipeline.publish_in_memory(place / "kanari-source.csv", Policy.load("policy.toml"))
    shown = f"{release!r} {release} {release.manifest} {release.warnings} {release.loss()} {release.table!r}"
    assert not found_in((MARK, *BLURRED), shown)


# Failures on the way


def boom(problem: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise problem

    return fail


OF_DRAFTING = (
    "encode",
    "generalize",
    "published_table",
    "manifest",
    "warnings_of",
    "check_exact_columns",
    "measure_all",
)
STEPS = (
    *OF_DRAFTING,
    *(
        "_write_release",
        "_verified",
        "fingerprint",
        "schema_as_dict",
        "commit",
        "typed_columns",
        "write_csv",
    ),
)
OF_TABLES = ("read", "write_parquet")
SECRET = "kanari-name-7"
PROBLEMS: dict[str, Callable[[], BaseException]] = {
    "a bug": lambda: RuntimeError(SECRET),
    "a text that cannot be written": lambda: UnicodeEncodeError("ascii", SECRET, 0, 1, SECRET),
    "a lookup": lambda: KeyError(SECRET),
    "a failed check": lambda: AssertionError(SECRET),
    "no memory": lambda: MemoryError(SECRET),
    "Ctrl-C": lambda: KeyboardInterrupt(SECRET),
    "a full disk": lambda: OSError(28, "No space left on device"),
    "a strange system error": lambda: OSError(SECRET),
}


def break_step(step: str, problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    if step == "hide":
        monkeypatch.setattr(StrictMondrian, "group", boom(problem))
    else:
        place = drafting if step in OF_DRAFTING else pipeline
        monkeypatch.setattr(tables if step in OF_TABLES else place, step, boom(problem))


def words_for(step: str) -> tuple[str, ...]:
    if step in ("write_parquet", "typed_columns"):
        return FORMS["typed"]
    return FORMS["csv"]


def check_nothing_happened(ran: Ran, problem: str, place: Path, before: object) -> None:
    assert ran.code == (1 if problem == "Ctrl-C" else 2)
    assert not ran.out
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.err
    assert not found_in((MARK, *BLURRED, *NUMBERS), ran.err)
    assert listing(place) == before


@pytest.mark.parametrize("step", [*STEPS, *OF_TABLES, "hide"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_failure_anywhere_leaves_nothing_and_quotes_nothing(
    step: str, problem: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_step(step, PROBLEMS[problem](), monkeypatch)
    before = listing(place)
    check_nothing_happened(publish(*words_for(step)), problem, place, before)


@pytest.mark.parametrize("problem", ["a bug", "Ctrl-C", "a full disk"])
@pytest.mark.parametrize("step", ["hide", "_write_release", "_verified", "commit"])
def test_a_failure_leaves_the_release_that_was_there(
    step: str, problem: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert publish().code == 0
    before = listing(place)
    break_step(step, PROBLEMS[problem](), monkeypatch)
    check_nothing_happened(publish("--replace"), problem, place, before)


def spoilt(change: Callable[[list[list[str | None]]], object]) -> Callable[..., Table]:
    """The published table with something wrong in it, as a bug in a stage might make it."""
    real = published_table

    def spoil(*words: Any) -> Table:
        table = real(*words)
        columns = [column.rows() for column in table.columns]
        change(columns)
        return Table.of(dict(zip(table.names, columns, strict=True)))

    return spoil


def say_the_exact_number(columns: list[list[str | None]]) -> None:
    columns[0][0] = NUMBERS[0]


def say_a_name(columns: list[list[str | None]]) -> None:
    columns[3][0] = SECRET


def lose_a_row(columns: list[list[str | None]]) -> None:
    for column in columns:
        column.pop()


def swap_illnesses(columns: list[list[str | None]]) -> None:
    columns[-1].sort(key=str)


@pytest.mark.parametrize("change", [say_the_exact_number, say_a_name, lose_a_row, swap_illnesses])
def test_the_judge_stops_a_bug_in_a_stage_and_quotes_nothing(
    change: Callable[[list[list[str | None]]], object], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafting, "published_table", spoilt(change))
    before = listing(place)
    ran = publish()
    assert (ran.code, ran.out) == (1, "")
    assert "the verifier rejected the release; nothing was written" in ran.err
    assert not found_in((MARK, *BLURRED, *NUMBERS), ran.err)
    assert listing(place) == before
    with pytest.raises(NotVerified) as refused:
        pipeline.publish_in_memory(place / "kanari-source.csv", Policy.load("policy.toml"))
    assert not found_in((MARK, *BLURRED, *NUMBERS), str(refused.value))
