"""The benchmark table can be asked what it measures; that also finds names that were moved away."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.places import TESTS

from incrowd.measures.population import MEASURED

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


def test_population_prints_the_tables_of_the_page_on_risk(real_data: Path) -> None:
    found = bench("population", "--tables", "toronto", "--draws", "1")
    assert found.returncode == 0, found.stderr
    header, _, *rows = found.stdout.splitlines()
    page = (TESTS.parent / "docs" / "risk.md").read_text(encoding="utf-8")
    assert page.count(header) == 2, "with and without --held-out"
    for row in rows:
        assert page.count(f"|{row.split('|')[1]}|") == 2


def test_the_page_on_risk_shows_no_larger_error_than_is_said() -> None:
    """What `measure` says about the errors of its estimates is what both tables of the page show."""
    page = (TESTS.parent / "docs" / "risk.md").read_text(encoding="utf-8")
    line = r"^\| ([0-9.]+)%(?:, uneven)? \|(?:[^|]*\|){4} [0-9.]+ \(([0-9.]+)-([0-9.]+)\)"
    shown = re.findall(line, page, re.MULTILINE)
    assert len(shown) == 24
    ranges: dict[float, list[float]] = {}
    for fraction, low, high in shown:
        ranges.setdefault(float(fraction) / 100, []).extend((float(low), float(high)))
    assert set(ranges) == set(MEASURED)
    for share, (low, high) in MEASURED.items():
        assert low <= min(ranges[share])
        assert high >= max(ranges[share])


def test_bounds_prints_the_table_of_its_page(real_data: Path) -> None:
    found = bench("bounds", "--table", "adult_arx, trees", "--k", "50", "--quick")
    assert found.returncode == 0, found.stderr
    header, _, row = found.stdout.splitlines()
    page = (TESTS.parent / "docs" / "bounds.md").read_text(encoding="utf-8")
    assert header in page
    assert row.split(" (")[0] in page


def test_minimality_prints_the_table_of_the_promise() -> None:
    found = bench("minimality", "--tables", "1")
    assert found.returncode == 0, found.stderr
    header, _, *rows = found.stdout.splitlines()
    page = (TESTS.parent / "docs" / "promise.md").read_text(encoding="utf-8")
    assert header in page
    assert [row.split("|")[1] for row in rows] == re.findall(
        r"^\|( `[a-z-]+` )\| 60 \|", page[page.index(header) :], re.MULTILINE
    )
