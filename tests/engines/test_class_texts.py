"""Texts of classes, all at once or row by row: both as the release format has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.engines import class_texts
from incrowd.engines.base import ClassCells, ListedCells, RangeCells
from incrowd.engines.class_texts import ShownClasses, csv_cell, whole_numbers
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session

DOMAINS = (
    ("", "-12", "0", "7", "1000000"),
    ("1", "2", "30"),
    ("0.5", "1.5", "2"),
    ("", "2024-02-29", "2025-01-01"),
)
SETS = ("a", "{a|b}", 'say "so"', "=1+1", "")


def naive(low: str | None, high: str | None, missing: bool, csv: bool) -> str:
    """A cell of a column of ranges, as docs/release-format.md says it."""
    if low is None or high is None:
        return "missing"
    low, high = (csv_cell(end, "") if csv else end for end in (low, high))
    if low == high:
        return f"{{missing|{low}}}" if missing else low
    text = f"[{low},{high}]"
    text = f"{{missing|{text}}}" if missing else text
    return f'"{text}"' if csv else text


@st.composite
def classes(draw: st.DrawFn) -> ClassCells:
    size = draw(st.integers(1, 6))
    columns: list[RangeCells | ListedCells] = []
    for domain in DOMAINS:
        first = int(domain[0] == "")
        ends = [sorted(draw(st.tuples(*[st.integers(first, len(domain) - 1)] * 2))) for _ in range(size)]
        gaps = draw(
            st.lists(
                st.sampled_from(["no", "also", "only"] if first else ["no"]), min_size=size, max_size=size
            )
        )
        low, high = (
            np.array(
                [-1 if gap == "only" else end[side] for end, gap in zip(ends, gaps, strict=True)], np.int32
            )
            for side in (0, 1)
        )
        columns.append(RangeCells(low, high, np.array([gap != "no" for gap in gaps]), domain))
    listed = draw(st.lists(st.integers(0, len(SETS) - 1), min_size=size, max_size=size))
    columns.append(ListedCells(np.array(listed, np.int32), SETS))
    return ClassCells(tuple("abcde"), tuple(columns), ((),) * 5)


def read(session: DuckSession, given_classes: ClassCells, csv: bool) -> list[list[str]]:
    shown = ShownClasses.load(session, given_classes, csv, '""')
    cells = ", ".join(f"{cell} AS c{j}" for j, cell in enumerate(shown.cells))
    rows = session.rows(f"SELECT g, {cells} FROM {shown.table}{shown.joins} ORDER BY g")
    shown.drop()
    assert session.number("SELECT count(*) FROM duckdb_tables() WHERE temporary") == 0
    return [list(row[1:]) for row in rows]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder: Path = tmp_path_factory.mktemp("session")
    with duck_session(folder, Resources.of("256MB", 1)) as opened:
        yield opened


@given(given_classes=classes(), csv=st.booleans())
def test_both_ways_say_what_the_format_says(
    session: DuckSession, given_classes: ClassCells, csv: bool
) -> None:
    def said(column: RangeCells | ListedCells, c: int) -> str:
        if isinstance(column, ListedCells):
            text = column.texts[column.cells[c]]
            return csv_cell(text, '""') if csv else text
        low, high = (None if side[c] < 0 else column.texts[side[c]] for side in (column.low, column.high))
        return naive(low, high, bool(column.missing[c]), csv)

    wanted = [[said(column, c) for column in given_classes.columns] for c in range(len(given_classes))]
    for share in (0, 10**9):  # always at once, never
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(class_texts, "SHARE_OF_MEMORY", share)
            assert read(session, given_classes, csv) == wanted


@pytest.mark.parametrize("texts", [["+1"], ["1_0"], [" 1"], ["٣"], ["-0"], ["1e3"], [str(2**70)], ["1", "x"]])
def test_only_plain_whole_numbers_are_numbers(texts: list[str]) -> None:
    assert whole_numbers(texts) is None
