"""Intervals around estimated counts: inside the certain bounds, and how often they hold the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.interval_coverage import covered
from support.night import NIGHT
from support.random_counts import TABLES

import incrowd as ic
from incrowd.flow import Table
from incrowd.queries import Queryable
from incrowd.queries.intervals import likely_count


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 50)), min_size=1, max_size=8),
    st.booleans(),
)
def test_the_interval_is_around_the_estimate_and_inside_the_bounds(
    rows: list[tuple[float, int]], raked: bool
) -> None:
    share, count = np.array([s for s, _ in rows]), np.array([n for _, n in rows])
    least, most = int(count[share == 1].sum()), int(count[share > 0].sum())
    low, high = likely_count(share, count, least, most, raked)
    guess = float((share * count).sum())
    assert least <= low <= guess + 1e-9
    assert guess - 1e-9 <= high <= most


def test_totals_make_it_narrower() -> None:
    share, count = np.array([0.3]), np.array([100])
    evenly, raked = (likely_count(share, count, 0, 100, by_totals) for by_totals in (False, True))
    assert evenly[0] < raked[0] < 30 < raked[1] < evenly[1]


@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize("name", ["cmc", "census"] if NIGHT else ["cmc"])
def test_about_95_of_100_counts_lie_in_their_interval(real_data: Path, name: str, totals: bool) -> None:
    """The factors were fitted on adult, cmc and renters; census is another table."""
    if not TABLES[name].path.exists():
        pytest.skip(f"{TABLES[name].file} is not in {real_data}: coverage on it is not tested")
    found = covered(name, 10, totals)
    asked, inside = sum(each.asked for each in found), sum(each.inside for each in found)
    assert asked > 100
    assert inside >= 0.93 * asked


def test_single_numbers_inside_ranges_have_none(tmp_path: Path) -> None:
    """People round: half of all earn 30,000, and a range of 10,001 numbers does not show it."""
    earned = [str(30_000 if i % 2 else 25_000 + i * 37 % 10_000) for i in range(100)]
    table = Table.of({"income": earned, "sex": ["FM"[i % 2] for i in range(100)]})
    ic.publish(
        table,
        {"quasi_identifiers": {"income": {"type": "numeric"}}, "keep": ["sex"], "privacy": {"k": 100}},
        tmp_path / "r",
    )
    release = Queryable.load(tmp_path / "r")
    for condition in ("income = 30000", "income IN (30000, 31000)", "income BETWEEN 30000 AND 30000"):
        answer = release.ask(f"SELECT COUNT(*) WHERE {condition}")
        assert answer.estimate is not None
        assert answer.interval is None
    assert release.ask("SELECT COUNT(*) WHERE income > 30000").interval is not None


def test_only_counts_have_one(tmp_path: Path) -> None:
    table = Table.of({"age": [str(20 + i) for i in range(20)]})
    ic.publish(
        table, {"quasi_identifiers": {"age": {"type": "numeric"}}, "privacy": {"k": 5}}, tmp_path / "r"
    )
    release = Queryable.load(tmp_path / "r")
    for aggregate in ("SUM", "AVG", "MIN", "MAX"):
        assert release.ask(f"SELECT {aggregate}(age) WHERE age < 33").interval is None
    assert release.ask("SELECT COUNT(age) WHERE age < 33").interval is not None
    assert release.ask("SELECT COUNT(*)").interval == (20.0, 20.0)
