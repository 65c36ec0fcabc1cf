"""docs/papers.md: every item of the papers has a command and a test that exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import typer.main
from support.places import ROOT, TESTS

from incrowd.algorithms.base import all_methods
from incrowd.cli.app import app
from incrowd.reproduce.papers import PAPERS
from incrowd.reproduce.whole import ALL

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
HEADER = ["paper", "section", "item", "command", "test"]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


ROWS = [cells(line) for line in PAGE.splitlines() if line.startswith("| ") and cells(line) != HEADER]


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
            assert any(
                limit.allows(read) for read in (value, value == "true", value.isdigit() and int(value))
            )


@pytest.mark.parametrize("shown", sorted({row[4] for row in ROWS}))
def test_tests_exist(shown: str) -> None:
    path, name = shown.strip("`").split("::")
    assert f"test_{name}" in functions_in(path)
