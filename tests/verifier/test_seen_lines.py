"""Files that share lines are read as each of them would be alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from incrowd.verifier.columns import Numbering, numbers_of
from incrowd.verifier.csv_file import CsvRows, csv_text
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.seen_lines import LinesOfFiles, SeenRows

# Mostly signs that leave lines to be lines.
PLAIN = st.sampled_from(["", "a", "b", "é;", "a,b", '"', "a b"])
CELLS = PLAIN | st.text(st.sampled_from('a"\n\r'), max_size=2)
FILES = st.sampled_from([PLAIN, CELLS]).flatmap(
    lambda cells: st.lists(st.lists(st.tuples(cells, cells, cells), max_size=8), min_size=1, max_size=4)
)
NAMES = ("one", "two", "three")


def texts(rows: CsvRows | SeenRows) -> list[list[str]]:
    """Every column, by what is numbered."""
    met = [Numbering() for _ in NAMES]
    codes = numbers_of(rows, list(enumerate(met)), "a table")
    return [[list(known)[code] for code in column.tolist()] for known, column in zip(met, codes, strict=True)]


def quoted(rows: list[tuple[str, str, str]]) -> bytes:
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([NAMES, *rows])
    return lines.getvalue().encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(files=FILES, canonical=st.booleans(), apart=st.booleans())
@example(files=[[("", "a", "b"), ("x", "", "")]], canonical=True, apart=True)
@example(files=[[("a\nb", "a", "b")], [("a\nb", "a", "b")]], canonical=False, apart=True)
def test_shared_lines_say_what_each_file_says(
    files: list[list[tuple[str, str, str]]], canonical: bool, apart: bool, tmp_path: Path
) -> None:
    seen = LinesOfFiles(NAMES, apart)
    for number, rows in enumerate(files):
        path = tmp_path / f"{number}.csv"
        path.write_bytes(csv_text([NAMES, *rows]) if canonical else quoted(rows))
        read = CsvRows(path, ",", canonical=canonical)
        shared = SeenRows(read, seen)
        assert texts(shared) == texts(read) == [[row[place] for row in rows] for place in range(3)]
        assert texts(shared) == texts(read)  # once more, from lines that are known


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"a,b\n", "more or fewer cells"),
        (b"a,b,c,d\n", "more or fewer cells"),
        (b'a,"b",c\n', "not written in its one form"),
        (b"a,b,c\n\n", "not written in its one form"),
        (b"a,b,c", "not written in its one form"),
    ],
)
def test_what_is_wrong_with_a_line_is_seen(line: bytes, words: str, apart: bool, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"one,two,three\nx,y,z\n" + line)
    with pytest.raises(CheckFailed, match=words):
        texts(SeenRows(CsvRows(path, ",", canonical=True), LinesOfFiles(NAMES, apart)))
