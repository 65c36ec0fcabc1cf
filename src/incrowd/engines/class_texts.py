"""The cells of classes as texts, where DuckDB joins rows with them.

Mostly a table has the texts of each class. Where classes are so many that their texts would fill the memory,
it has numbers alone, and a text is put together when its row is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import ClassCells, RangeCells
from incrowd.engines.session import DuckSession
from incrowd.tables.csv_writer import protected

BYTES_A_CELL = 40  # of a text in a table and in the join with it
SHARE_OF_MEMORY = 4  # texts of all classes may take one part of so many
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


@dataclass(frozen=True, slots=True)
class ShownClasses:
    """A table with a line for each class g; ``cells[j]`` is its text in column j, after the `joins`."""

    session: DuckSession
    table: str
    cells: tuple[str, ...]
    joins: str
    others: tuple[str, ...]

    @classmethod
    def load(
        cls, session: DuckSession, classes: ClassCells, csv: bool = False, empty: str = ""
    ) -> ShownClasses:
        """The texts of all cells, or these as CSV writes them, where an empty one is written so."""
        loading = _Loading(session, classes, csv, empty)
        return loading.at_once() if loading.fit else loading.row_by_row()

    def drop(self) -> None:
        for name in (self.table, *self.others):
            self.session.run(f"DROP TABLE {name}")


class _Loading:
    """What is loaded for the cells of some classes, and how SQL says each of them."""

    def __init__(self, session: DuckSession, classes: ClassCells, csv: bool, empty: str) -> None:
        self._session, self._classes, self._csv, self._empty = session, classes, csv, empty
        self._numbers: dict[str, NDArray[Any]] = {"g": np.arange(len(classes), dtype=np.int32)}
        self._cells: list[str] = []
        self._joins = ""
        self._others: list[str] = []

    @property
    def fit(self) -> bool:
        cells = len(self._classes) * len(self._classes.columns)
        return cells * BYTES_A_CELL * SHARE_OF_MEMORY <= self._session.memory

    def at_once(self) -> ShownClasses:
        """A table of texts."""
        self._look_up(plain_numbers=False)
        self._session.load("cells_", self._numbers)
        cells = ", ".join(["g", *(f"{cell} AS c{j}" for j, cell in enumerate(self._cells))])
        self._session.run(f"CREATE OR REPLACE TEMP TABLE shown AS SELECT {cells} FROM cells_{self._joins}")
        for each in ("cells_", *self._others):
            self._session.run(f"DROP TABLE {each}")
        return ShownClasses(
            self._session, "shown", tuple(f"shown.c{j}" for j in range(len(self._cells))), "", ()
        )

    def row_by_row(self) -> ShownClasses:
        """A table of numbers, and what makes texts of them."""
        self._look_up(plain_numbers=True)
        self._session.load("shown", self._numbers)
        return ShownClasses(self._session, "shown", tuple(self._cells), self._joins, tuple(self._others))

    def _look_up(self, plain_numbers: bool) -> None:
        for j, column in enumerate(self._classes.columns):
            if isinstance(column, RangeCells):
                self._cells.append(self._range(j, column, plain_numbers))
            else:
                self._numbers[f"x{j}"] = column.cells
                self._joins += f" JOIN {self._words(j, column.texts)} ON words{j}_.x = x{j}"
                self._cells.append(f"words{j}_.t")

    def _range(self, j: int, column: RangeCells, plain_numbers: bool) -> str:
        whole = whole_numbers(column.texts) if plain_numbers else None
        if whole is not None and not (self._csv and whole.min(initial=0) < 0):  # "-1" is protected there
            low, high = (whole[codes] for codes in (column.low, column.high))
            a, b = f"lo{j}::VARCHAR", f"hi{j}::VARCHAR"
        else:
            low, high, words = column.low, column.high, self._words(j, column.texts)
            self._joins += (
                f" LEFT JOIN {words} a{j} ON a{j}.x = lo{j} LEFT JOIN {words} b{j} ON b{j}.x = hi{j}"
            )
            a, b = f"a{j}.t", f"b{j}.t"
        self._numbers |= {f"lo{j}": low, f"hi{j}": high}
        none = self._flag(f"none{j}", column.low < 0)
        gap = self._flag(f"gap{j}", column.missing)
        quote = '"' if self._csv else ""  # an interval has a comma
        several = f"'[', {a}, ',', {b}, ']'"
        # one call for a whole text: to put two parts together at a time takes longer
        return (
            f"CASE WHEN {none} THEN 'missing' "
            f"WHEN lo{j} = hi{j} AND {gap} THEN concat('{{missing|', {a}, '}}') "
            f"WHEN lo{j} = hi{j} THEN {a} "
            f"WHEN {gap} THEN concat('{quote}{{missing|', {several}, '}}{quote}') "
            f"ELSE concat('{quote}', {several}, '{quote}') END"
        )

    def _flag(self, name: str, flags: NDArray[np.bool_]) -> str:
        """A column of flags where there is one that is set."""
        if not flags.any():
            return "false"
        self._numbers[name] = flags
        return name

    def _words(self, j: int, texts: Sequence[str | None]) -> str:
        name = f"words{j}_"
        cells = [csv_cell(text, self._empty) for text in texts] if self._csv else texts
        load_words(self._session, name, cells)
        self._others.append(name)
        return name


def whole_numbers(texts: Sequence[str | None]) -> NDArray[Any] | None:
    """The numbers that these texts are, 0 for a gap; None unless each is written as a whole number is.

    Examples
    --------
    >>> whole_numbers(["", "-3", "20"]), whole_numbers(["1", "2.5"]), whole_numbers(["007"])
    (array([ 0, -3, 20], dtype=int8), None, None)
    """
    try:
        numbers = [int(text) if text else 0 for text in texts]
    except ValueError:
        return None
    if any(text and text != str(number) for text, number in zip(texts, numbers, strict=True)):
        return None
    least, most = min(numbers, default=0), max(numbers, default=0)
    for kind in (np.int8, np.int16, np.int32, np.int64):
        if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
            return np.array(numbers, kind)
    return None


def load_words(session: DuckSession, table: str, words: Sequence[str | None]) -> None:
    """A table of texts t by their places x."""
    texts = np.empty(len(words), object)
    texts[:] = words
    session.load(table, {"x": np.arange(len(words), dtype=np.int32), "t": texts}, {"t": "VARCHAR"})


def csv_cell(text: str | None, empty: str) -> str:
    """A text as CSV writes it, an empty one as it is said."""
    if not text:
        return empty
    safe = protected(text)
    return '"' + safe.replace('"', '""') + '"' if _NEEDS_QUOTES.search(safe) else safe
