"""All papers on one page: what it says, how it goes on if interrupted, and that a fault turns rows red."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduce.test_nonhomogeneous import write_tables
from support.night import NIGHT
from typer.testing import CliRunner

from incrowd.algorithms.kja import Direct
from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.mondrian import Mondrian
from incrowd.cli.app import app
from incrowd.errors import InputError
from incrowd.flow import Microdata, Neighbourhoods, Partition
from incrowd.long_work import Watch, silent
from incrowd.reports.chart import Chart, ChartLine
from incrowd.reproduce import kept, papers, whole
from incrowd.reproduce.judging import Claim, Tables, judged
from incrowd.reproduce.kept import Keeper
from incrowd.reproduce.kja import figures as kja
from incrowd.reproduce.kja import trials as joins
from incrowd.reproduce.kja.findings import CLAIMS as KJA
from incrowd.reproduce.multidimensional import figures as multidimensional
from incrowd.reproduce.multidimensional.claims import CLAIMS as MULTIDIMENSIONAL
from incrowd.reproduce.nonhomogeneous import figures as nonhomogeneous
from incrowd.reproduce.nonhomogeneous import trials as rings
from incrowd.reproduce.nonhomogeneous.claims import CLAIMS as NONHOMOGENEOUS
from incrowd.reproduce.outcome import Outcome, Sheet, check_destination, write
from incrowd.reproduce.papers import Paper
from incrowd.reproduce.revisited import figures as revisited
from incrowd.reproduce.revisited.claims import CLAIMS as REVISITED
from incrowd.reproduce.rules import Verdict, above, exact
from incrowd.reproduce.trial import run_each

CLAIMS: tuple[Claim[list[float]], ...] = (
    Claim("large", "II", "x is <large> & so on", lambda xs: above({"x": xs}, 1.0), "T", 1.5),
    Claim("proved", "III", "always", lambda _: exact(False, "7", counterexample="x = 7")),
    Claim("far", "IV", "elsewhere", lambda _: exact(True, ""), "ELSEWHERE", inferred=True),
)
KEYS = {"id", "paper", "section", "says", "printed", "ours", "data", "verdict", "reason", "command"}
runs: list[int] = []


def toy(quick: bool, _folder: Path | None, watch: Watch, keeper: Keeper) -> Outcome:
    def point(seed: int) -> float:
        runs.append(seed)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return 2.0 + seed / 10

    found = run_each(range(5), point, watch("measure"), kept=keeper.of("points"))
    tables = Tables({"T": "T, 5 samples"}, {"ELSEWHERE": "ELSEWHERE is not there"})
    statements = judged("toy", CLAIMS, [*found.values()], tables, quick)
    line = ChartLine("ours", ((0, 2.0), (1, 3.0)), band=((1.5, 2.5), (2.0, 4.0)))
    charts = {"figure.svg": Chart("Figure 1", "n: people", "loss", (line,))}
    return Outcome("toy", "A toy", (Sheet("A", ("",), ()),), statements, {"x": 1}, charts)


def missing(*_: Any) -> Outcome:
    raise InputError("no table")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    runs.clear()
    some = {"toy": Paper("toy", "A toy", toy), "other": Paper("other", "Another", missing)}
    monkeypatch.setattr(papers, "PAPERS", some)
    monkeypatch.setattr(whole, "PAPERS", some)
    monkeypatch.delenv("INCROWD_DATA", raising=False)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", "all", *arguments])


# The page


class Tags(HTMLParser):
    """Counts tags and gathers sources of images."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [] if tag in ("meta", "br", "img", "input") else [tag]
        self.images += [value or "" for name, value in attrs if (tag, name) == ("img", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.usefixtures("toys")
def test_an_interrupted_run_goes_on_and_writes_the_page(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("--quick", "-o", str(out))
    assert result.exit_code == 1
    assert "the same command goes on from there" in result.output
    work = kept.work_folder(out)
    assert (not out.exists(), oct(work.stat().st_mode)[-3:]) == (True, "700")
    result = run("--quick", "-o", str(out), "--json")
    assert result.exit_code == 0, result.output
    assert runs == [0, 1, 2, 2, 3, 4]  # the first two points were kept, the third was not there
    assert not work.exists()
    found = json.loads((out / "all.json").read_text(encoding="utf-8"))
    assert found == json.loads(result.stdout)
    assert all(set(each) >= KEYS for each in found["statements"])
    assert [each["verdict"] for each in found["statements"]] == ["held", "false as printed", "undecided"]
    assert (found["count"], found["not_run"]) == (3, {"other": "no table"})
    assert found["verdicts"] == {"held": 1, "not held": 0, "undecided": 1, "false as printed": 1}
    assert {path.name for path in (out / "toy").iterdir()} == {"toy.json", "toy.md", "figure.svg"}
    page = Tags()
    page.feed((out / "index.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert [image.startswith("data:image/svg+xml;base64,") for image in page.images] == [True]
    for words in (
        "x is <large> & so on",
        "Counterexample:",
        "x = 7",
        "incrowd reproduce toy --quick",
        "no table",
    ):
        assert words in page.words
    text = (out / "all.md").read_text(encoding="utf-8")
    assert "| toy.large | II | x is <large> & so on | 1.5 |" in text
    assert "other was not run: no table." in text


def _run_toys(out: Path) -> list[object]:
    """As the command does, but an interruption comes through."""
    with kept.kept_beside(out, kept.asked("all", True, None)) as keeper:
        return [whole.reproduce_all(True, None, lambda _step: silent, keeper)]


@pytest.mark.usefixtures("toys")
def test_points_of_other_settings_are_not_used(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        _run_toys(out)
    result = run("-o", str(out))  # not quick
    assert result.exit_code == 0, result.output
    assert runs == [0, 1, 2, 0, 1, 2, 3, 4]
    assert "3" in result.output


def test_what_a_run_depends_on_includes_the_program_and_the_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    before = kept.asked("all", True, tmp_path)
    (tmp_path / "a.csv").write_text("xy")
    after = kept.asked("all", True, tmp_path)
    assert before["tables"] != after["tables"]
    assert (before["code"], before["version"]) == (after["code"], after["version"])
    assert len(before["code"]) == 64


def test_a_copy_of_the_tables_goes_on_where_the_first_one_ended(tmp_path: Path) -> None:
    """Elsewhere, and written at another time."""
    for name, moment in (("one", 10**9), ("two", 2 * 10**9)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text("x")
        os.utime(tmp_path / name / "a.csv", (moment, moment))
    one, two = (kept.asked("all", True, tmp_path / name) for name in ("one", "two"))
    assert one == two
    (tmp_path / "two" / "a.csv").write_text("y")  # as long
    assert kept.asked("all", True, tmp_path / "two") != one


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    work = kept.work_folder(tmp_path / "out")
    work.mkdir()
    (work / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="was not made by"), kept.kept_beside(tmp_path / "out", {}):
        pass
    assert (work / "thesis.txt").exists()
    (work / "settings.json").write_text("{}")
    (work / "thesis.doc").write_text("years of work")
    with pytest.raises(InputError, match="was not made by"), kept.kept_beside(tmp_path / "out", {}):
        pass


def test_results_of_one_paper_are_not_replaced_by_all(tmp_path: Path) -> None:
    write("toy", {"toy.json": "{}"}, tmp_path / "out")
    with pytest.raises(InputError, match="holds no results of all"):
        check_destination(tmp_path / "out", "all", replace=True)


# Breaking an algorithm turns its rows red: one entry for each paper


def one_class(_self: Any, data: Microdata, *_rest: Any) -> Partition:
    return Partition(np.zeros(len(data), np.int32))


def whole_table(_self: Ring, data: Microdata, *_rest: Any) -> Neighbourhoods:
    n = len(data)
    return Neighbourhoods(np.arange(0, n * n + 1, n), np.tile(np.arange(n, dtype=np.int32), n))


def small_revisited(monkeypatch: pytest.MonkeyPatch, _home: Path) -> None:
    monkeypatch.setattr(revisited, "QUICK_ROWS", 200)


def small_rings(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in ("QUICK_ROWS", "ADULT_ROWS"):
        monkeypatch.setattr(nonhomogeneous, name, 200)
    monkeypatch.setattr(rings, "RUNS", 1)
    asked = [plan for plan in nonhomogeneous.plans(True) if plan.number in (9, 11)]
    monkeypatch.setattr(nonhomogeneous, "plans", lambda _quick: asked)
    write_tables(home, 300)


def small_cuts(monkeypatch: pytest.MonkeyPatch, _home: Path) -> None:
    monkeypatch.setattr(multidimensional, "QUICK", multidimensional.CutScale((2, 10), (2, 5), 200, 5))


def small_joins(monkeypatch: pytest.MonkeyPatch, _home: Path) -> None:
    monkeypatch.setattr(kja, "PEOPLE", 500)  # 100 of them in a quick run
    monkeypatch.setattr(joins, "compile_all", lambda: None)


BROKEN: dict[str, tuple[Any, Callable[[pytest.MonkeyPatch, Path], None], type, str, Any, set[str]]] = {
    "revisited": (
        *(revisited, small_revisited, Agglomerative, "group", one_class),
        {"variants.art", "order.art"},
    ),
    "nonhomogeneous": (
        *(nonhomogeneous, small_rings, Ring, "group", whole_table),
        {"figure9.lowest", "figure11.less"},
    ),
    "kja": (kja, small_joins, Direct, "grouped", one_class, {"16.below", "17.below"}),
    "multidimensional": (multidimensional, small_cuts, Mondrian, "group", one_class, {"often.uniform"}),
}


BY_NIGHT = ("revisited",)  # eight algorithms on five samples; by day see test_revisited.py


@pytest.mark.parametrize("name", [name for name in BROKEN if NIGHT or name not in BY_NIGHT])
def test_a_broken_algorithm_turns_its_rows_red(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of outliers see test_outliers.py. By night all statements are judged, by day those that turn."""
    figures, small, algorithm, does, broken, red = BROKEN[name]
    small(monkeypatch, tmp_path)
    if not NIGHT:
        monkeypatch.setattr(figures, "CLAIMS", [claim for claim in figures.CLAIMS if claim.id in red])

    def verdicts() -> dict[str, Verdict]:
        found = papers.reproduce(name, quick=True, data=tmp_path).statements
        return {each.id.removeprefix(f"{name}."): each.verdict for each in found}

    before = verdicts()
    assert {before[each] for each in red} == {Verdict.HELD}
    monkeypatch.setattr(algorithm, does, broken, raising=False)
    after = verdicts()
    assert {after[each] for each in red} == {Verdict.NOT_HELD}


# All of it


def test_there_are_many_statements_and_none_is_empty() -> None:
    declared = (REVISITED, NONHOMOGENEOUS, KJA, MULTIDIMENSIONAL)
    assert sum(map(len, declared)) >= 250
    assert all(claim.says and claim.section for claims in declared for claim in claims)


@pytest.mark.skipif(not NIGHT, reason="minutes: every paper, as --quick has it")
def test_the_quick_form_judges_every_paper(real_data: Path) -> None:
    found = whole.reproduce_all(quick=True, data=real_data)
    assert not found.not_run
    assert {each.paper for each in found.statements} == set(papers.PAPERS)
    assert found.html()
