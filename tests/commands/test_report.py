"""Reports: one page about a release, for readers or for the publisher alone."""

from __future__ import annotations

import csv
import json
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.canaries import BLURRED, MARK, NUMBERS, found_in, write_table
from support.commands import incrowd
from support.example_rows import check_examples
from support.method_names import ACCEPTED, BESIDE_K, JOINS, PLAIN
from support.page_reading import check_page

from incrowd.algorithms.base import all_methods
from incrowd.cells import atoms
from incrowd.commands.report import Report, report
from incrowd.contracts import catalogue
from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.measures import published
from incrowd.measures.published import ClassSizes
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.reports.datasheet import MEANS, UNKNOWN, meaning
from incrowd.reports.released import MOST_BINS, classes_of, columns_of, size_facts
from incrowd.reports.spread import before_and_after

N = 48
EVIL = "<script>\"'&x</script>\x07\u202e"


def write(path: Path, columns: dict[str, list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def people(n: int, first: int = 0) -> dict[str, list[str]]:
    return {
        "id": [f"p{i}" for i in range(first, first + n)],
        "age": [str(20 + i * 7 % 41) for i in range(n)],
        "zip": [f"0{1 + i % 3}{i % 10}{i % 7}" for i in range(n)],
        "sex": ["FM"[i % 2] for i in range(n)],
    }


@cache
def policy_of(method: str) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "identifiers": ["id"],
        "quasi_identifiers": {
            "age": {"type": "numeric"},
            "zip": {"hierarchy": {"prefix": [4, 2]}},
            "sex": {"type": "categorical"},
        },
        "sensitive": ["ill"],
        "method": method,
        "accept": [*ACCEPTED[method], *(["certain-presence"] if method in JOINS else [])],
        "privacy": {"k": 3, **BESIDE_K[method]},
    }
    if method in PLAIN:
        plain = {"p": "0.8", "d": "1.3", "columns": ["age", "ill"]}
        parts["privacy"] = {"k": 3, "plain": plain, "max_suppression": "0.3"}
    if method in JOINS:
        parts["public"] = {
            "table": "public.csv",
            "id": "id",
            "membership_secret": True,
            "conflicts": "public",
        }
    return parts


def made(method: str, folder: Path, form: Form = Form()) -> tuple[Path, dict[str, Any]]:  # noqa: B008
    """A release of a few people, and what its private report needs."""
    table = write(folder / "t.csv", people(N) | {"ill": [str(i * 5 % 23) for i in range(N)]})
    write(folder / "public.csv", people(3 * N))
    policy = Policy.from_dict(policy_of(method), folder)
    written = publish_to(table, policy, folder / "out", form)
    return written.folder, {"original": table, "policy": policy, "attacks": False}


# Every kind of release


@pytest.mark.parametrize("method", all_methods())
def test_a_report_about_every_method(method: str, tmp_path: Path) -> None:
    folder, private = made(method, tmp_path)
    told = report(folder)
    page = check_page(told.html())
    assert told.sound
    assert told.facts["claims"]
    for claim in told.facts["claims"]:
        assert claim["model"] in page.text
        assert claim["means"] != UNKNOWN
        assert " ".join(claim["means"].split()) in page.text
        assert claim["adversary"] in page.text
        assert all(each in page.text for each in claim["assumptions"])
    assert all(each["name"] in page.text and each["meaning"] in page.text for each in told.facts["accepted"])
    assert all_methods()[method].paper in page.text
    assert "PRIVATE" not in page.text
    judged = report(folder, **private)
    page = check_page(judged.html())
    assert judged.sound
    assert page.text.index("PRIVATE") < 30
    assert "accepted" in page.text
    check_examples(judged.facts["examples"], folder, private["original"])
    assert set(judged.facts["distributions"]) == {"age", "zip", "sex"}
    assert all(0 <= spread["moved"] < 1 for spread in judged.facts["distributions"].values())


def test_the_form_of_the_file_changes_nothing(tmp_path: Path) -> None:
    facts = []
    for name, asked in (("csv", Form()), ("typed", Form("parquet", typed=True))):
        (tmp_path / name).mkdir()
        folder, _ = made("mondrian", tmp_path / name, asked)
        told = dict(report(folder).facts)
        for column in told["columns"]:
            column.get("cells", {}).pop("most_frequent", None)  # typed sets are written otherwise
        facts.append({key: value for key, value in told.items() if key != "files"})
    assert facts[0] == facts[1]


def test_left_out_people_are_counted_for_the_publisher_alone(tmp_path: Path) -> None:
    folder, private = made("expc", tmp_path)
    gone = N - len((folder / "data.csv").read_text().splitlines()) + 1
    readers, publisher = report(folder), report(folder, **private)
    assert "left_out" not in readers.facts
    assert readers.facts["rows"]["suppressed"] is None
    assert publisher.facts["left_out"] == gone


# What must not get out


WATCHED: list[str] = []
WATCHING = [False]


@cache
def watch_opening() -> None:
    """Once: what is watched this way is watched as long as the process lives."""
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if WATCHING[0] and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        WATCHED.append(arguments[0])


@pytest.mark.parametrize("form", [Form(), Form("parquet", typed=True)], ids=["csv", "typed"])
def test_readers_learn_nothing_that_is_not_published(form: Form, tmp_path: Path) -> None:
    table, policy = write_table(tmp_path)
    asked = Policy.load(policy)
    folder = publish_to(table, asked, tmp_path / "out", form).folder
    watch_opening()
    WATCHED.clear()
    WATCHING[0] = True
    try:
        html = report(folder).html()
    finally:
        WATCHING[0] = False
    opened = {Path(path) for path in WATCHED if path.startswith(str(tmp_path))}
    assert opened
    assert all(path.is_relative_to(folder) for path in opened)
    assert str(tmp_path) not in html
    assert not found_in((MARK, *BLURRED), html)
    data = "" if form.typed else (folder / "data.csv").read_text()
    inner = [number for number in NUMBERS if number not in data] if data else []
    assert not found_in(inner, html)
    if form.typed:
        return
    assert len(inner) > 10
    private = report(folder, table, asked, attacks=False).html()
    assert not found_in((f"{MARK}-name", f"{MARK}-note"), private)
    assert found_in([*inner, *BLURRED], private)  # so the scan does see what gets out


def test_no_text_of_a_table_becomes_a_part_of_the_page(tmp_path: Path) -> None:
    """Neither a value nor a name; names are put into the facts, in every place that has one."""
    columns = {
        "AAA": [f"{EVIL}{i % 3}" for i in range(N)],
        "BBB": [str(i) for i in range(N)],
        "CCC": ["y" * 50_000 if i % 2 else f"</svg>{EVIL}" for i in range(N)],
    }
    table = write(tmp_path / "t.csv", columns)
    parts = {"quasi_identifiers": ["AAA", "BBB"], "sensitive": ["CCC"], "privacy": {"k": 3, "l": 2}}
    policy = Policy.from_dict(parts)
    folder = publish_to(table, policy, tmp_path / "<i>").folder
    asked: tuple[dict[str, Any], ...] = ({}, {"original": table, "policy": policy})
    for private in asked:
        facts = json.dumps(report(folder, **private).facts)
        for name in columns:
            facts = facts.replace(name, json.dumps(EVIL)[1:-1])
        html = Report(json.loads(facts)).html()
        page = check_page(html)
        assert not {"i", "b"} & set(page.tags)
        assert page.text.count("<script>\"'&x</script>��") > 10
        assert "\x07" not in html
        assert "\u202e" not in html
        assert len(html) < 200_000


# Figures, by hand and by twins


def test_widths_of_cells_by_hand() -> None:
    rows = Table.of(
        {
            "age": ["[20,40]", "30", "[20,24]", "{missing|[30,60]}", "missing"],
            "day": ["2024-01-01", "[2024-01-01,2024-01-11]", "[2024-01-01,2024-04-10]", "missing", "missing"],
            "sex": ["F", "{F|M}", "*", "{F|X\\|Y}", "M"],
            "zip": ["04__", "*", "0410", "*", "{missing|04__}"],
            "ill": ["a", "b", "a", "", "a"],
        }
    )
    quasi = {"role": "quasi_identifier"}
    manifest = {
        "columns": [
            {
                "name": "age",
                "kind": "numeric",
                "shape": "range",
                "domain": {"low": "20", "high": "60"},
                **quasi,
            },
            {
                "name": "day",
                "kind": "date",
                "shape": "range",
                "domain": {"low": "2024-01-01", "high": "2024-04-10"},
                **quasi,
            },
            {
                "name": "sex",
                "kind": "categorical",
                "shape": "set",
                "domain": {"values": ["F", "M", "X|Y"]},
                **quasi,
            },
            {"name": "zip", "kind": "categorical", "shape": "node", "domain": {"labels": ["04__"]}, **quasi},
            {"name": "ill", "kind": "categorical", "role": "sensitive"},
        ],
        "levels": {"zip": 1},
    }
    age, day, sex, zip_, ill = columns_of(manifest, rows)
    shown = {
        name: {band["width"]: band["rows"] for band in column["cells"]["bands"] if band["rows"]}
        for name, column in (("age", age), ("day", day), ("sex", sex), ("zip", zip_))
    }
    assert shown["age"] == {
        "one value": 2,
        "up to a tenth of the domain": 1,
        "up to a half": 1,
        "more than a half": 1,
    }
    assert age["cells"]["mean_width"] == pytest.approx((20 + 4 + 30) / 40 / 5)
    assert age["cells"]["with_missing"] == 2
    assert shown["day"] == {"one value": 3, "up to a tenth of the domain": 1, "everything": 1}
    assert shown["sex"] == {"one value": 2, "up to a half": 2, "everything": 1}
    assert shown["zip"] == {"a value or label": 3, "everything": 2}
    assert (zip_["level"], zip_["cells"]["mean_width"]) == (1, None)
    assert ill["texts"]["distinct"] == 3
    assert ill["texts"]["most_frequent"][0] == {"text": "a", "rows": 3}


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60))
def test_the_histogram_of_sizes_counts_every_class_once(sizes: list[int]) -> None:
    told = size_facts(ClassSizes.of(np.array(sizes)))
    parts = told["histogram"]
    assert len(parts) <= MOST_BINS
    assert sum(part["classes"] for part in parts) == len(sizes)
    for part in parts:
        inside = [size for size in sizes if part["from"] <= size <= part["to"]]
        assert (part["classes"], part["rows"]) == (len(inside), sum(inside))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
def test_classes_are_the_different_rows(rows: list[tuple[int, int]]) -> None:
    table = Table.of({"a": [str(a) for a, _ in rows], "b": [str(b) for _, b in rows]})
    labels, sizes = classes_of(["a", "b"], table)
    assert [sizes[label] for label in labels] == [rows.count(row) for row in rows]
    assert sizes.size == len(set(rows))


CELLS = ["F", "M", "missing", "{F|M}", "{missing|F}", "*"]


@given(
    st.lists(st.tuples(st.sampled_from(["F", "M", "X", ""]), st.sampled_from(CELLS)), min_size=1, max_size=20)
)
def test_a_row_counts_evenly_for_what_its_cell_leaves_possible(pairs: list[tuple[str, str]]) -> None:
    """Against the definition, in fractions."""
    pairs = [*pairs, ("F", "*"), ("M", "*"), ("X", "*"), ("", "*")]
    original = Table.of({"sex": [value for value, _ in pairs]})
    data = encode(original, Policy.from_dict({"quasi_identifiers": ["sex"]}).schema(original))
    rows = published(Table.of({"sex": [cell for _, cell in pairs]}), data)
    told = before_and_after(data.attributes[0], np.bincount(data.codes[:, 0], minlength=4), rows, 0)
    every = {"F", "M", "X", "missing"}
    after = dict.fromkeys(every, Fraction(0))
    for _, cell in pairs:
        possible = every if cell == "*" else set(atoms(cell))
        for value in possible:
            after[value] += Fraction(1, len(possible) * len(pairs))
    before = {
        value: Fraction(sum((v or "missing") == value for v, _ in pairs), len(pairs)) for value in every
    }
    assert {part["label"]: part["after"] for part in told["bins"]} == pytest.approx(after)
    assert {part["label"]: part["before"] for part in told["bins"]} == pytest.approx(before)
    assert told["moved"] == pytest.approx(float(sum(abs(before[v] - after[v]) for v in every) / 2))


def test_every_promise_has_words() -> None:
    families = ("model", "matching model", "join model", "series model")
    assert set(MEANS) == {name for family in families for name in catalogue(family)}
    assert meaning("k-anonymity", {}, "") == UNKNOWN


# The command


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    made("mondrian", folder)
    return folder


def test_the_command_writes_one_new_file(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert incrowd("report", place / "out", "-o", out).code == 0
    check_page(out.read_text(encoding="utf-8"))
    again = incrowd("report", place / "out", "-o", out)
    assert (again.code, again.out) == (2, "")
    private = tmp_path / "private.html"
    ran = incrowd("report", place / "out", "--original", place / "t.csv", "-o", private)
    assert (ran.code, ran.err) == (0, "")
    assert "PRIVATE" in ran.out
    assert private.stat().st_mode & 0o777 == 0o600
    assert (
        "Held: every attack that has a bound stays within it." in check_page(private.read_text("utf-8")).text
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "-o report.html"),
        (("-o", "report.pdf"), ".html"),
        (("-o", "{place}/out/report.html"), "inside the release"),
        (("--json", "-p", "policy.toml"), "--original"),
    ],
)
def test_wrong_requests(words: tuple[str, ...], reason: str, place: Path) -> None:
    said = incrowd("report", place / "out", *(word.format(place=place) for word in words))
    assert said.code == 2
    assert reason in said.err + said.out
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "README.md",
        "data.csv",
        "hierarchies.csv",
        "release.json",
    ]


def test_facts_for_machines(place: Path) -> None:
    ran = incrowd("report", place / "out", "--json")
    assert (ran.code, ran.err) == (0, "")
    readers = ran.json
    ran = incrowd("report", place / "out", "--original", place / "t.csv", "--no-attacks", "--json")
    assert set(ran.json) - set(readers) == {
        *("original", "verdict", "left_out", "measured", "measures", "distributions"),
        *("measured_why_not", "attacks", "attacks_why_not", "made", "assessment"),
    }
    assert ran.json["attacks"] is None
    assert ran.json["verdict"]["passed"]


def test_a_spoilt_release_is_told(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for path in (place / "out").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join([*lines[:-1], lines[1]]) + "\n")
    told: Report = report(folder)
    assert not told.sound
    assert "NO" in check_page(told.html()).text.split()
    ran = incrowd("report", folder, "--original", place / "t.csv", "-p", "none.toml", "--json")
    assert ran.code == 2
    assert incrowd("report", folder, "-o", tmp_path / "r.html").code == 1
    judged = report(folder, place / "t.csv", policy_of("mondrian"), attacks=False)
    assert "REJECTED" in check_page(judged.html()).text
    said = json.loads((folder / "release.json").read_text())
    said["claims"][0]["parameters"]["k"] = 40
    (folder / "release.json").write_text(json.dumps(said))
    assert report(folder).facts["claims"][0]["counted"]["agrees"] is False
    shorter = said["rows"] | {"published": 7}
    for broken in (
        {**said, "version": 2},
        {**said, "rows": shorter},
        {**said, "columns": 7},
        {**said, "files": {"../x": 1}},
        {**said, "rows": None},
    ):
        (folder / "release.json").write_text(json.dumps(broken))
        with pytest.raises(InputError):
            report(folder)
