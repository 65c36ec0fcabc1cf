"""docs/papers.md: every item of the papers has a command and a test that exist."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main
from support.night import NIGHT
from support.places import ROOT, TESTS
from typer.testing import CliRunner

from incrowd.algorithms.base import all_methods
from incrowd.cli.app import app
from incrowd.examples import write_example, write_positions
from incrowd.reproduce.papers import PAPERS
from incrowd.reproduce.whole import ALL

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
HEADER = ["paper", "section", "item", "command", "test"]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


ROWS = [found for line in PAGE.splitlines() if (found := cells(line))[0] in PAPERS and len(found) > 2]


@cache
def functions_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_no_cell_is_empty_and_no_item_is_there_twice() -> None:
    assert {len(row) for row in ROWS} == {len(HEADER)}
    assert not [row for row in ROWS if not all(row)]
    assert not [key for key, many in Counter((row[0], row[2]) for row in ROWS).items() if many > 1]
    assert len(ROWS) >= 150
    assert {row[0] for row in ROWS} == set(PAPERS)


@pytest.mark.parametrize("shown", sorted({row[3] for row in ROWS}))
def test_commands_exist(shown: str) -> None:
    """The command, its options, the method and what is set of it, the paper."""
    program, name, *rest = shlex.split(shown.strip("`"))
    found: Any = typer.main.get_command(app)
    assert (program, name in found.commands) == ("incrowd", True)
    known = {flag for option in found.commands[name].params for flag in option.opts}
    assert not [word for word in rest if word.startswith("-") and word not in known]
    said = dict(pairwise(rest))
    if name == "reproduce":
        assert rest[0] in {*PAPERS, ALL}
    if method := said.get("--method"):
        assert method in all_methods()
        if chosen := said.get("--set"):
            option, value = chosen.split("=")
            limit = all_methods()[method].limits[option]
            refused = {row[3] for row in ROWS if "refused" in row[2]}
            assert shown in refused or any(
                limit.allows(read) for read in (value, value == "true", value.isdigit() and int(value))
            )


# What commands are followed by: the table at the top of the page, by name, with its paper where that matters
FOLLOWED = dict(re.findall(r"^\| ([a-z:, ]+) \| `(tour[^`]*|town[^`]*|out[^`]*)`", PAGE, re.MULTILINE))
ELSEWHERE = ("reproduce", "demo", "--after")  # other tests run these


def whole(paper: str, item: str, shown: str) -> str:
    """A command with its tables."""
    name = shown.split()[1]
    kind = next(kind for kind in FOLLOWED if name in kind.split(": ")[0].split(", "))
    if name == "publish":
        about = "positions" if "positions" in item else paper
        method = shown.partition("--method ")[2].split(" ")[0]
        joins = paper == "kja" and (not method or method.startswith("kja"))
        groups = paper == "outliers" and method not in ("incognito", "mondrian")
        kind = f"publish: {about}" if about == "positions" or joins or groups else "publish"
    return f"{shown} {FOLLOWED[kind]}"


COMMANDS = {
    whole(row[0], row[2], row[3].strip("`")): "refused" in row[2]
    for row in ROWS
    if not any(word in row[3] for word in ELSEWHERE)
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the tour, of the town, and a release."""
    home = tmp_path_factory.mktemp("papers")
    write_example(home / "tour")
    write_positions(home / "town")
    people = (home / "tour" / "patients.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (home / "tour" / "patients.csv").write_text("".join(people[:301]), encoding="utf-8")
    return home


@pytest.mark.parametrize(
    "command", [each for each, refused in COMMANDS.items() if NIGHT or refused], ids=lambda each: each[:80]
)
def test_commands_run(command: str, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On few people. What the page calls refused is; all else ends well, or says that an attack succeeds."""
    monkeypatch.chdir(tables)
    runner = CliRunner()
    shutil.rmtree("out", ignore_errors=True)
    shutil.rmtree("out.audit", ignore_errors=True)
    if " out" in command and " publish " not in command:
        made = runner.invoke(app, shlex.split(f"publish {FOLLOWED['publish']}"), catch_exceptions=False)
        assert made.exit_code == 0, made.output
    result = runner.invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    attacked = (0, 1, 3) if " attack " in command else (0,)  # held, broken, inconclusive
    assert result.exit_code in ((1, 2) if COMMANDS[command] else attacked), result.output


@pytest.mark.parametrize("shown", sorted({row[4] for row in ROWS}))
def test_tests_exist(shown: str) -> None:
    path, name = shown.strip("`").split("::")
    assert f"test_{name}" in functions_in(path)
