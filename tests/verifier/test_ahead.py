"""The original read ahead has the numbers of one that is read when it is checked, as the file is then."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.verifier import Threads, read_ahead
from incrowd.verifier.ahead import ReadAhead
from incrowd.verifier.columns import Numbering, Restoring, RowSource, as_is, numbers_of
from incrowd.verifier.csv_file import CsvRows

NAMES = ["a", "b", "c"]


def written(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([NAMES, *rows])
    return path


def texts(rows: RowSource, places: Sequence[int], threads: int = 1) -> list[list[str]]:
    """What each row says in some columns."""
    numbers = [Restoring(Numbering(), as_is) for _ in places]
    codes = numbers_of(rows, list(zip(places, numbers, strict=True)), "the original table", Threads(threads))
    return [[list(n.numbers)[c] for c in own] for n, own in zip(numbers, codes, strict=True)]


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.text('a,"\n', max_size=3), min_size=3, max_size=3), min_size=1, max_size=20),
    needed=st.sets(st.sampled_from(NAMES)),
    threads=st.sampled_from([1, 2]),
)
def test_what_was_read_ahead_is_what_is_there(
    rows: list[list[str]], needed: set[str], threads: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("ahead") / "t.csv", rows)
    ahead = read_ahead(path, lambda names: needed)
    assert isinstance(ahead, ReadAhead)
    assert list(ahead.names) == NAMES
    assert list(map(list, ahead)) == rows
    for places in ([0], [2, 1], [0, 1, 2]):
        expected = [[row[place] for row in rows] for place in places]
        assert texts(ahead, places, threads) == texts(CsvRows(path, ","), places, threads) == expected


def _written_to(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("7,8,9\n")


def _replaced(path: Path) -> None:
    kept = path.stat()
    other = written(path.with_name("other.csv"), [["7", "2", "3"]])
    os.utime(other, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [_written_to, _replaced])
def test_a_file_that_was_changed_is_read_again(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", [["1", "2", "3"]])
    ahead = read_ahead(path, lambda names: names)
    assert ahead is not None
    change(path)
    assert "7" in texts(ahead, [0])[0]


def test_what_cannot_be_read_is_not_read_ahead(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1\n", encoding="utf-8")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    for source in (tmp_path / "t.csv", tmp_path / "t.jsonl", tmp_path / "none.csv", object()):
        assert read_ahead(source, lambda names: names) is None
