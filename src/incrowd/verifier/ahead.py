"""The original read before it is known what is published of it, so that it need not be waited for.

Every column that might be checked is numbered by its texts. If the file is not what it was when that began,
or anything at all is wrong with it, what was read is not used: then the file is read when it is checked, and
what is wrong is said there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from incrowd.verifier.cell_coder import Codes, TextNumbers
from incrowd.verifier.columns import Cells, CodedColumn, Numbering, Picks, RowSource, numbers_of
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.original import rows_of
from incrowd.verifier.threads import Threads

Needed = Callable[[Sequence[str]], Collection[str]]


def read_ahead(source: object, needed: Needed) -> RowSource | None:
    """A CSV file with its needed columns; None if the source is nothing of that kind, or cannot be read."""
    try:
        rows = rows_of(source, NoRows())
        return ReadAhead(rows, needed) if isinstance(rows, CsvRows) else None
    except Exception:
        return None


class NoRows:
    """A table without columns."""

    names: Sequence[str] = ()

    def __iter__(self) -> Iterator[Cells]:
        return iter(())


class ReadAhead:
    """A CSV file, with the numbers of some of its columns."""

    def __init__(self, rows: CsvRows, needed: Needed) -> None:
        self._rows, self._stamp = rows, _stamp(rows.path)
        wanted = set(needed(rows.names))
        picks = [(place, Numbering()) for place, name in enumerate(rows.names) if name in wanted]
        codes = numbers_of(rows, picks, "the original table")
        pairs = zip(picks, codes, strict=True)
        self._columns = {place: CodedColumn(column, list(met)) for (place, met), column in pairs}

    @property
    def names(self) -> Sequence[str]:
        return self._rows.names

    def __iter__(self) -> Iterator[Cells]:
        return iter(self._rows)

    def numbers(self, picks: Picks, what: str, threads: Threads) -> list[Codes]:
        """For each picked column, the number of each row's text; read once more unless it is as it was."""
        if _stamp(self._rows.path) != self._stamp or any(place not in self._columns for place, _ in picks):
            return numbers_of(self._rows, picks, what, threads)
        return [_numbered(self._columns[place], numbers) for place, numbers in picks]


def _numbered(column: CodedColumn, numbers: TextNumbers) -> Codes:
    return np.array(numbers.of_all(column.texts), np.int32)[column.codes]


def _stamp(path: Path) -> tuple[int, int, int, int]:
    """What tells a file from another that stands in its place, and from itself when it was written to."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
