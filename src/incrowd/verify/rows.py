"""The judge's own reading: rows of texts in, numbers out, without ever holding a table of texts."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.verify.fault import Fault, need

Ints = NDArray[np.int64]
Cells = Sequence[str | None]

BLOCK = 256  # rows at a time: few enough to stay in the processor's cache
DELIMITERS = ",;\t|"
LARGEST_CELL = 2**31 - 1
BETWEEN = "\x1f"

_STARTS = tuple("'=+-@\t\r")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_DANGEROUS = re.compile(r"[=+\-@\t\r]")
_RISKY_STARTS = [BETWEEN + sign for sign in _STARTS]
_RISKY_CELL = re.compile(rf"(?:^|{BETWEEN})['=+\-@\t\r]")
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Rows(Protocol):
    """A table as texts. None is NULL."""

    @property
    def names(self) -> Sequence[str]: ...

    def __iter__(self) -> Iterator[Cells]: ...


class CsvRows:
    """A CSV file, gzipped if its name ends in .gz.

    Parameters
    ----------
    path : path
        A file with a header.
    delimiter : str
        Without one, the header decides: the one of ``, ; tab |`` that cuts it into most names.
    encoding : str
        UTF-8, with or without a byte order mark.
    """

    def __init__(self, path: str | Path, delimiter: str = "", encoding: str = "utf-8-sig") -> None:
        self.path = Path(path)
        self._delimiters = delimiter or DELIMITERS
        self._encoding = encoding

    @property
    def names(self) -> Sequence[str]:
        return self._layout[1]

    def __iter__(self) -> Iterator[Cells]:
        return islice(self._lines(self._layout[0]), 1, None)

    @cached_property
    def _layout(self) -> tuple[str, list[str]]:
        """The delimiter and the header."""
        csv.field_size_limit(LARGEST_CELL)
        headers = {mark: self._header(mark) for mark in self._delimiters}
        return max(headers.items(), key=lambda found: len(found[1]))

    def _header(self, delimiter: str) -> list[str]:
        header = next(self._lines(delimiter), None)
        if not header:
            raise TableError(f"{self.path.name} has no header")
        return header

    def _lines(self, delimiter: str) -> Iterator[list[str]]:
        try:
            with self._open() as file:
                yield from csv.reader(file, delimiter=delimiter, strict=True)
        except UnicodeDecodeError:
            raise TableError(f"{self.path.name} is not UTF-8; save it as UTF-8") from None
        except (csv.Error, OSError, EOFError, zlib.error) as problem:
            reason = type(problem).__name__
            raise TableError(f"{self.path.name} cannot be read as CSV ({reason})") from None

    def _open(self) -> TextIO:
        opened: Any = gzip.open if self.path.suffix == ".gz" else open
        file: TextIO = opened(self.path, "rt", newline="", encoding=self._encoding)
        return file


class Numbering(dict[Any, int]):
    """Numbers things as they are met: 0, 1, 2, …"""

    def __missing__(self, thing: Hashable) -> int:
        number = self[thing] = len(self)
        return number


class Restoring(dict[str | None, int]):
    """Numbers texts by what they say once a protection is undone; NULL says `null`."""

    def __init__(self, undo: Callable[[str], str], null: str = "") -> None:
        super().__init__()
        self._numbers = Numbering()
        self._undo, self._null = undo, null

    def __missing__(self, text: str | None) -> int:
        number = self[text] = self._numbers[self._null if text is None else self._undo(text)]
        return number

    @property
    def met(self) -> list[str]:
        return list(self._numbers)


def restored(text: str) -> str:
    """A text of a published CSV file without its protection against being run as a formula.

    Examples
    --------
    >>> restored("'=1+1"), restored("-5"), restored("'s-Hertogenbosch")
    ('=1+1', '-5', "'s-Hertogenbosch")
    """
    if not text.startswith(_STARTS):
        return text
    if _GUARDED.match(text):
        return text[1:]
    if _DANGEROUS.match(text) and not _PLAIN_NUMBER.fullmatch(text):
        raise Fault("a text that a spreadsheet would run as a formula is not protected")
    return text


def as_is(text: str) -> str:
    """Outside CSV nothing is protected."""
    return text


Picker = Callable[[list[Cells]], Iterable[Hashable]]


def numbers_of(rows: Rows, pickers: Sequence[tuple[Picker, Mapping[Any, int]]], what: str) -> list[Ints]:
    """Read all rows once; for each picker, the number of what it picked from each row."""
    parts: list[list[NDArray[np.int32]]] = [[] for _ in pickers]
    for block in _blocks(rows, what):
        for part, (pick, numbers) in zip(parts, pickers, strict=True):
            part.append(np.fromiter(map(numbers.__getitem__, pick(block)), np.int32, len(block)))
    return [np.concatenate([np.empty(0, np.int32), *part]).astype(np.int64) for part in parts]


def _blocks(rows: Rows, what: str) -> Iterator[list[Cells]]:
    width = len(rows.names)
    stream = iter(rows)
    while block := list(islice(stream, BLOCK)):
        if not all(block):  # blank lines are no rows, unless a row is one empty cell
            block = [row or ("",) for row in block if row or width == 1]
        need(set(map(len, block)) <= {width}, f"{what} has rows with more or fewer cells than its header")
        if block:
            yield block


def column(place: int) -> Picker:
    """Pick the cells of one column."""
    return partial(map, itemgetter(place))


def joined(places: Sequence[int], undo: Callable[[str], str]) -> Picker:
    """Pick several columns as one text that no other combination of cells gives.

    Cells are put end to end with a rare sign between them: one text takes a tenth of the memory of a
    tuple of texts. Where a cell itself holds that sign there are more signs than gaps, and the cells'
    lengths are added. NULL is written as an empty cell, so it is one here.
    """
    # A slice keeps a single cell in a sequence, as several cells are.
    pick = itemgetter(*places) if len(places) > 1 else itemgetter(slice(places[0], places[0] + 1))

    def texts_of(block: list[Cells]) -> Sequence[str]:
        picked: list[Any] = list(map(pick, block))
        with suppress(TypeError):  # a NULL
            texts = list(map(BETWEEN.join, picked))
            whole = BETWEEN + BETWEEN.join(texts)
            if whole.count(BETWEEN) == len(places) * len(texts):
                risky = undo is not as_is and any(start in whole for start in _RISKY_STARTS)
                return _undone(texts, undo) if risky else texts
        return [_spelled([undo(cell or "") for cell in cells]) for cells in picked]

    return texts_of


def _undone(texts: list[str], undo: Callable[[str], str]) -> list[str]:
    return [
        BETWEEN.join(map(undo, text.split(BETWEEN))) if _RISKY_CELL.search(text) else text for text in texts
    ]


def _spelled(cells: list[str]) -> str:
    text = BETWEEN.join(cells)
    if text.count(BETWEEN) == len(cells) - 1:
        return text
    return text + BETWEEN + ",".join(str(len(cell)) for cell in cells)


def fold(columns: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """One number for each distinct combination of columns, 0..m-1 in the order of the combinations."""
    key, size = np.zeros(columns[0].size, np.int64), 1
    for codes, radix in zip(columns, sizes, strict=True):
        if size * radix >= 2**62:
            key, size = ranked(key)
        key, size = key * radix + codes, size * radix
    return ranked(key)[0]


def ranked(key: Ints) -> tuple[Ints, int]:
    """Numbers 0..m-1 for the distinct values of an array, in their order, and m."""
    distinct, place = np.unique(key, return_inverse=True)
    return place.reshape(-1).astype(np.int64, copy=False), distinct.size
