"""docs/reproduced: pages of full runs, and the table that counts their verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import reproduced

from incrowd.reproduce.papers import PAPERS
from incrowd.reproduce.rules import Verdict

OURS = "# Toy\n\n## Numbers\n\n| | k |\n| --- | --- |\n| a | 5 |\n\n![A picture](a.svg)\n![B](b.svg)\n"
STATED = "| verdict | says |\n| held | x |\n| false as printed | y |\n| held | z |\n"


def test_the_table_of_runs_counts_what_pages_say() -> None:
    """If not: python tests/support/reproduced.py DIR SECONDS"""
    rows = reproduced.rows()
    pages = {path.stem: path for path in reproduced.FOLDER.glob("*.md") if path.stem != "README"}
    assert pages
    assert set(pages) <= set(rows) <= set(PAPERS)
    for paper, path in pages.items():
        assert reproduced.counted(path.read_text(encoding="utf-8")) == rows[paper][:-1], paper
    assert not [row for row in rows.values() if row[0] != sum(row[1:-1])]


def test_verdicts_are_those_that_there_are() -> None:
    assert tuple(map(str, Verdict)) == reproduced.VERDICTS


def test_a_run_becomes_a_page_and_a_row_where_there_was_one_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, run, pages = tmp_path / "reproduce.md", tmp_path / "run", tmp_path / "reproduced"
    page.write_text(
        "| `toy` | words |\n\n| `one` | 2 | 1 | 1 | 0 | 0 | 5 |\n| `toy` | 7 | 7 | 0 | 0 | 0 | 9 |\n\nEnd.\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(reproduced, "PAGE", page)
    monkeypatch.setattr(reproduced, "FOLDER", pages)
    run.mkdir()
    pages.mkdir()
    (pages / "README.md").write_text("| [one](one.md) | One |\n\nMore.\n", encoding="utf-8")
    (run / "toy.json").write_text(json.dumps({"paper": "toy", "title": "Toy"}), encoding="utf-8")
    (run / "toy.md").write_text(OURS + STATED, encoding="utf-8")
    for seconds in (1234, 99):
        reproduced.main(run, seconds)
        assert reproduced.rows() == {"one": (2, 1, 1, 0, 0, 5), "toy": (3, 2, 0, 0, 1, seconds)}
        assert page.read_text(encoding="utf-8").endswith(" |\n\nEnd.\n")
        listed = (pages / "README.md").read_text(encoding="utf-8")
        assert listed == "| [one](one.md) | One |\n| [toy](toy.md) | Toy |\n\nMore.\n"
    text = (pages / "toy.md").read_text(encoding="utf-8")
    assert text.startswith("# Toy\n\nAs `incrowd reproduce toy -o DIR` wrote it")
    assert "| false as printed | y |" in text
    assert ".svg" not in text
