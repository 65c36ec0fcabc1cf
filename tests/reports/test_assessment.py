"""Paragraphs for a data protection impact assessment: true to the facts, private, and safe to paste."""

from __future__ import annotations

import csv
import stat
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd
from support.page_reading import check_page

from incrowd.commands.publish import publish
from incrowd.commands.report import Report, report
from incrowd.errors import InputError
from incrowd.policy import Policy
from incrowd.release.audit import policy_digest

N = 60
EVIL = "a_ge<b>*"
COLUMNS = {
    EVIL: [str(20 + i % 13) for i in range(N)],
    "sex": ["FM"[i % 2] for i in range(N)],
    "ill": [("flu", "cold", "gout")[i % 3] for i in range(N)],
    "secret": [f"zzyzx {i}" for i in range(N)],
}
PARTS: dict[str, Any] = {
    "quasi_identifiers": [EVIL, "sex"],
    "sensitive": ["ill"],
    "drop": ["secret"],
    "privacy": {"k": 4},
    "population": {"fraction": "0.5"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its release, and nothing that a test may change."""
    folder = tmp_path_factory.mktemp("assessed")
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *zip(*COLUMNS.values(), strict=True)])
    publish(folder / "people.csv", Policy.from_dict(PARTS), folder / "out")
    return folder


@pytest.fixture(scope="module")
def made(place: Path) -> Report:
    return report(place / "out", place / "people.csv", attacks=False)


def test_every_fact_stands_in_the_text(made: Report) -> None:
    text, facts = made.assessment(), made.facts
    plain = text.replace("\\", "")
    for claim in facts["claims"]:
        assert claim["means"] in plain
        assert claim["adversary"] in plain
    for sentence in (*facts["measured"]["risk"]["sentences"], *facts["not_promised"]):
        assert sentence in plain
    assert facts["measured"]["two_way"]["headline"][0] in plain
    assert policy_digest(Policy.from_dict(PARTS)) in plain
    assert date.fromisoformat(facts["made"]["written"]).isoformat() in plain
    assert "No attack was tried: they were not asked for." in plain
    assert plain.splitlines()[2].startswith("Private: ")


def test_names_mean_nothing_to_markdown_and_cells_are_not_in_it(made: Report) -> None:
    text = made.assessment()
    assert r"a\_ge\<b\>\*" in text
    assert EVIL not in text
    assert "zzyzx" not in text


def test_the_private_page_has_the_same_parts(made: Report) -> None:
    page = made.html()
    check_page(page)
    for part in made.facts["assessment"]:
        assert f"<h3>{part['title']}</h3>" in page


def test_readers_get_none(place: Path) -> None:
    public = report(place / "out")
    assert "assessment" not in public.facts
    assert "impact assessment" not in public.html()
    with pytest.raises(InputError, match="needs what is measured on the original"):
        public.assessment()


def test_a_rejected_release_says_so_first(place: Path, tmp_path: Path) -> None:
    publish(place / "people.csv", Policy.from_dict(PARTS), tmp_path / "out")
    (tmp_path / "out" / "data.csv").write_text(
        (tmp_path / "out" / "data.csv").read_text().replace("flu", "gout")
    )
    text = report(tmp_path / "out", place / "people.csv", attacks=False).assessment()
    assert "REJECTED by the verifier: it must not be published." in text
    assert "checked every claim" not in text


def test_the_command_writes_or_prints_it(place: Path, tmp_path: Path) -> None:
    words = ("report", place / "out", "--original", place / "people.csv", "--assessment", "--no-attacks")
    printed = incrowd(*words)
    assert printed.code == 0, printed.err
    assert printed.out.startswith("# For a data protection impact assessment\n")
    ran = incrowd(*words, "-o", tmp_path / "dpia.md")
    assert ran.code == 0, ran.err
    assert (tmp_path / "dpia.md").read_text(encoding="utf-8") == printed.out
    assert stat.S_IMODE((tmp_path / "dpia.md").stat().st_mode) == 0o600
    assert incrowd(*words, "-o", tmp_path / "dpia.html").code == 2
    alone = incrowd("report", place / "out", "--assessment", "-o", tmp_path / "public.md")
    assert alone.code == 2
    assert "--original" in alone.err
    assert not (tmp_path / "public.md").exists()
