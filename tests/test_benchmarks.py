"""The benchmark table can be asked what it measures; that also finds names that were moved away."""

from __future__ import annotations

import re
import subprocess
import sys

from support.places import TESTS

BENCH = TESTS.parent / "benchmarks" / "bench.py"


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(BENCH), *words], capture_output=True, text=True)


def test_help_names_every_figure() -> None:
    found = bench("--help")
    assert found.returncode == 0, found.stderr
    for name in ("mondrian kernels", "global (1,k)", "expc", "queries"):
        assert f"    {name}\n" in found.stdout


def test_an_unknown_figure_is_answered_by_the_names() -> None:
    found = bench("mondrain")
    assert found.returncode == 1
    assert "no figure has 'mondrain' in its name" in found.stderr
    assert "mondrian kernels" in found.stderr


def test_minimality_prints_the_table_of_the_promise() -> None:
    found = bench("minimality", "--tables", "1")
    assert found.returncode == 0, found.stderr
    header, _, *rows = found.stdout.splitlines()
    page = (TESTS.parent / "docs" / "promise.md").read_text(encoding="utf-8")
    assert header in page
    assert [row.split("|")[1] for row in rows] == re.findall(
        r"^\|( `[a-z-]+` )\| 60 \|", page[page.index(header) :], re.MULTILINE
    )
