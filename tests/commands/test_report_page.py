"""The page of a report: what comes first, what folds out, and values in their order."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from commands.test_report import made, write
from support.page_reading import check_page, read_page

from incrowd.commands.report import Report, report
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to

READERS = [
    *("examples", "questions", "loss", "promise", "not-promised"),
    *("classes", "cells", "values", "columns", "method", "check"),
]
FOLDED = ("All measures", "Distributions by column", "Equivalence classes", "Published cells")


def sections(html: str) -> list[str]:
    return re.findall('<section aria-labelledby="([^"]+)">', html)


def section(html: str, name: str) -> str:
    return html.partition(f'<section aria-labelledby="{name}">')[2].partition("</section>")[0]


def words(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    folder, private = made("mondrian", tmp_path_factory.mktemp("page"))
    return {"readers": report(folder), "publisher": report(folder, **private)}


def test_rows_come_first_then_use_loss_and_promise(reports: dict[str, Report]) -> None:
    assert sections(reports["readers"].html()) == READERS
    private = [*READERS[:5], "attacks", "assessment", "measures", "spread", *READERS[5:]]
    assert sections(reports["publisher"].html()) == private
    for told in reports.values():
        page = read_page(told.html())
        assert set(page.values("href")) >= {f"#{name}" for name in sections(told.html())}


def test_ten_measures_fold_out(reports: dict[str, Report]) -> None:
    html = reports["publisher"].html()
    open_text = words(re.sub("<details>.*?</details>", "", html, flags=re.DOTALL))
    assert "ncp_perimeter" not in open_text
    assert "ncp_perimeter" in words(html)
    assert "people in the wrong cell of a two-column table (E2)" in open_text
    assert all(title in open_text for title in FOLDED)
    use = section(html, "questions")
    two = reports["publisher"].facts["measured"]["two_way"]
    assert all(line.replace(" %", "%") in words(use) for line in two["headline"])


@pytest.mark.parametrize("who", ["readers", "publisher"])
def test_every_column_has_one_bar_or_is_unchanged(reports: dict[str, Report], who: str) -> None:
    told = reports[who]
    loss = section(told.html(), "loss")
    labels = [unescape(label) for label in re.findall("<span class='label'>([^<]*)</span>", loss)]
    unchanged = re.search(r"Published unchanged: ([^<]*)\.", loss)
    assert unchanged is not None
    assert sorted([*labels, *unchanged[1].split(", ")]) == ["age", "ill", "sex", "zip"]
    assert labels == [column["name"] for column in told.facts["losses"]]
    known = [column["loss"] for column in told.facts["losses"] if column["loss"] is not None]
    assert known == sorted(known, reverse=True)
    assert all(f"typical: {column['typical']}" in words(loss) for column in told.facts["losses"])
    if who == "publisher":
        measured = told.facts["measured"]["columns"]
        assert {c["name"]: c["loss"] for c in told.facts["losses"]} == {
            name: values["gcp"] for name, values in measured.items()
        }


def test_readers_see_rows_of_the_file_and_no_record(reports: dict[str, Report]) -> None:
    for example in reports["readers"].facts["examples"]:
        assert all("before" not in cell and cell["means"] for cell in example["cells"])
    assert "before" not in words(section(reports["readers"].html(), "examples"))


def test_values_stand_in_their_order(tmp_path: Path) -> None:
    """Years and bands by size however frequent, dates by time; words by how frequent they are."""
    n = 60
    columns = {
        "age": [str(20 + i % 30) for i in range(n)],
        "band": ["[70-80)" if i % 3 else "[8-10)" for i in range(n)],
        "year": [("2024", "1999", "2010")[min(i % 5, 2)] for i in range(n)],
        "word": ["rare" if i % 4 else "usual" for i in range(n)],
        "cost": [str(100 * (i % 25)) for i in range(n)],
    }
    table = write(tmp_path / "t.csv", columns)
    parts = {"quasi_identifiers": ["age", "band"], "sensitive": ["year", "word", "cost"], "privacy": {"k": 3}}
    policy = Policy.from_dict(parts)
    folder = publish_to(table, policy, tmp_path / "out").folder
    told = report(folder, table, policy, attacks=False)
    facts = {column["name"]: column for column in told.facts["columns"]}
    assert [part["text"] for part in facts["year"]["texts"]["most_frequent"]] == ["1999", "2010", "2024"]
    assert [part["text"] for part in facts["word"]["texts"]["most_frequent"]] == ["rare", "usual"]
    assert [bin["label"] for bin in told.facts["distributions"]["band"]["bins"]] == ["[8-10)", "[70-80)"]
    bins = facts["cost"]["texts"]["bins"]
    ends = [int(bin["label"].split()[0]) for bin in bins if bin["label"]]
    assert ends == sorted(ends)
    assert sum(bin["rows"] for bin in bins) == n
    assert facts["year"]["texts"]["bins"] == []
    page = check_page(told.html()).text
    assert page.index("1999") < page.index("2010") < page.index("2024")
