"""Columns as numbers: each table is read once, and no table of texts is ever held in memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice, repeat
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.cell_coder import SPREAD, CellCoder, Codes, TextNumbers
from incrowd.verifier.csv_file import LARGEST_CELL, NOT_CANONICAL, CsvGrid, CsvRows, csv_text
from incrowd.verifier.failure import require
from incrowd.verifier.seen_lines import SeenRows
from incrowd.verifier.threads import ONE_THREAD, Threads

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Cells = Sequence[str | None]

ROWS_AT_ONCE = 256
PIECES_AT_ONCE = 2  # of a file: a column of all of them is numbered by one thread
FEW_KEYS = 8  # times as many as there are rows

# What a spreadsheet may run: at the start of a text, or after a sign at which some of them cut cells.
_SIGNS = "=+-@\t\r"
_SIGN = re.compile(f"[{re.escape(_SIGNS)}]")
_SUSPECT = re.compile(r"(?:^|[;\t\r\n])'*+[=+\-@\t\r]")
_BARE = re.compile(r"(?:^|[;\t\r\n])[=+\-@\t\r]")
_GUARD = re.compile(r"(^|[;\t\r\n])'(?='*+[=+\-@\t\r])")
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class RowSource(Protocol):
    """A table as texts. None is NULL."""

    @property
    def names(self) -> Sequence[str]: ...

    def __iter__(self) -> Iterator[Cells]: ...


class Numbering(dict[Any, int]):
    """Numbers things as they are met: 0, 1, 2, …"""

    def __missing__(self, thing: Hashable) -> int:
        number = self[thing] = len(self)
        return number

    def of_all(self, things: Sequence[Hashable]) -> list[int]:
        """The number of each."""
        new = dict(zip(things, count(len(self)), strict=False))
        if len(new) == len(things) and self.keys().isdisjoint(new):  # most who ask for many ask once for each
            self.update(new)
            return [*new.values()]
        return [*map(self.__getitem__, things)]


class Restoring(dict[str | None, int]):
    """Numbers texts by what they are once a protection is undone; NULL is `null`."""

    def __init__(self, numbers: Numbering, undo: Callable[[str], str], null: str = "") -> None:
        super().__init__()
        self.numbers = numbers
        self._undo, self._null = undo, null
        self._undo_all = _AT_ONCE.get(undo) or (lambda texts: [*map(undo, texts)])

    def __missing__(self, text: str | None) -> int:
        number = self[text] = self.numbers[self._null if text is None else self._undo(text)]
        return number

    def of_all(self, texts: Sequence[str]) -> list[int]:
        """The number of each. Remembered is only whether one is empty: that is not the same as NULL."""
        if "" in texts:
            _ = self[""]
        return self.numbers.of_all(self._undo_all(texts))


def restored(text: str) -> str:
    """A text of a published CSV file without its protection against being run as a formula.

    Examples
    --------
    >>> restored("'=1+1"), restored("-5"), restored("'s-Hertogenbosch"), restored("x;'=1")
    ('=1+1', '-5', "'s-Hertogenbosch", 'x;=1')
    """
    # most texts have none of the signs, and the first search is far quicker than the second
    if not _SIGN.search(text) or not _SUSPECT.search(text) or _PLAIN_NUMBER.fullmatch(text):
        return text
    bare = _BARE.search(text)
    require(not bare, "a text that a spreadsheet would run as a formula is not protected")
    plain = _GUARD.sub(r"\1", text)
    require(not _PLAIN_NUMBER.fullmatch(plain), "a number is protected like a formula")
    return plain


def as_is(text: str) -> str:
    """Outside CSV nothing is protected."""
    return text


def _all_restored(texts: Sequence[str]) -> Sequence[str]:
    """`restored` of each: no text of most columns has any of the signs, which is seen of all at once."""
    joined = "\n".join(texts)
    return [*map(restored, texts)] if any(sign in joined for sign in _SIGNS) else texts


_AT_ONCE: Mapping[Callable[[str], str], Callable[[Sequence[str]], Sequence[str]]] = {
    as_is: lambda texts: texts,
    restored: _all_restored,
}


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of texts, each distinct text once: row i has ``texts[codes[i]]``."""

    codes: Codes
    texts: Sequence[Any]


Picks = Sequence[tuple[int, TextNumbers]]
Cut = CsvGrid | Sequence[Cells]  # a piece of a file


@runtime_checkable
class Numbered(Protocol):
    """Rows whose columns may have been numbered before."""

    def numbers(self, picks: Picks, what: str, threads: Threads) -> list[Codes]: ...


def numbers_of(rows: RowSource, picks: Picks, what: str, threads: Threads = ONE_THREAD) -> list[Codes]:
    """Read all rows once; for each picked column, the number of each row's text."""
    if isinstance(rows, Numbered):
        return rows.numbers(picks, what, threads)
    parts: list[list[Codes]] = [[np.empty(0, np.int32)] for _ in picks]
    for block in blocks_of(rows, picks, what, threads):
        for part, codes in zip(parts, block, strict=True):
            part.append(codes)
    return [np.concatenate(part) for part in parts]


def blocks_of(
    rows: RowSource, picks: Picks, what: str, threads: Threads = ONE_THREAD
) -> Iterator[list[Codes]]:
    """Some rows at a time; for each picked column, the number of each row's text."""
    if isinstance(rows, SeenRows):
        found = rows.numbered(picks, what)
        if found is not None:
            yield found
            return
        rows = rows.rows
    if not isinstance(rows, CsvRows):
        yield from _blocks(rows, picks, what)
    else:
        yield from _csv_blocks(rows, picks, what, threads)


def _blocks(rows: RowSource, picks: Picks, what: str) -> Iterator[list[Codes]]:
    width, stream = len(rows.names), iter(rows)
    while block := list(islice(stream, ROWS_AT_ONCE)):
        _check_width(block, width, what)
        columns = list(zip(*block, strict=True)) or [()] * width
        yield [_numbered(numbers, columns[place]) for place, numbers in picks]


def _csv_blocks(rows: CsvRows, picks: Picks, what: str, threads: Threads) -> Iterator[list[Codes]]:
    """Pieces of a file are numbered column by column, and beside that the next ones are cut into cells."""
    columns = [_CsvColumn(place, numbers, CellCoder(numbers)) for place, numbers in picks]
    wrong = f"{what} {NOT_CANONICAL}" if rows.canonical else ""
    pieces, places = rows.pieces(), [place for place, _ in picks]

    def cutting() -> list[Callable[[], Cut]]:
        return [partial(_cut, rows, piece, places, what) for piece in islice(pieces, PIECES_AT_ONCE)]

    cut = threads.all(cutting())
    while cut:
        numbering: list[Callable[[], Any]] = [partial(column.codes, cut, wrong) for column in columns]
        sizes = [column.longest(cut[0]) for column in columns]
        after = cutting()
        found: list[Any] = threads.all([*after, *numbering], [*repeat(LARGEST_CELL, len(after)), *sizes])
        cut = found[: len(after)]
        yield found[len(after) :]


def _cut(rows: CsvRows, piece: bytes, places: Sequence[int], what: str) -> Cut:
    """Plain pieces of a file are cut into cells all at once, others row by row."""
    width = len(rows.names)
    grid = CsvGrid.of(piece, rows.delimiter, width, None if len(places) == width else places)
    blank = width == 1 and b"\n\n" in b"\n" + piece  # the one form of an empty text alone has quotes
    if grid is not None and not blank:
        return grid
    parsed = rows.parsed(piece)
    require(not rows.canonical or csv_text(parsed) == piece, f"{what} {NOT_CANONICAL}")
    _check_width(parsed, width, what)
    return parsed


@dataclass(frozen=True, slots=True, eq=False)
class _CsvColumn:
    """A column of a CSV file, and how its cells are numbered."""

    place: int
    numbers: TextNumbers
    coder: CellCoder

    def longest(self, cut: Cut) -> int:
        """How many bytes its longest cell has: long ones take longer."""
        return cut.longest(self.place) if isinstance(cut, CsvGrid) else 0

    def codes(self, cut: Sequence[Cut], wrong: str) -> Codes:
        """The numbers of its cells in some pieces; if `wrong` is not empty, quotes are only where needed."""
        found = []
        for part in cut:
            if isinstance(part, CsvGrid):
                codes = part.codes(self.place, self.coder)
                require(not wrong or part.quoted_as_needed(self.place, self.coder, codes), wrong)
            else:
                codes = _numbered(self.numbers, [row[self.place] for row in part])
            found.append(codes)
        return np.concatenate(found)


def _numbered(numbers: TextNumbers, cells: Cells) -> Codes:
    return np.fromiter(map(numbers.__getitem__, cells), np.int32, len(cells))


def _check_width(block: Sequence[Cells], width: int, what: str) -> None:
    require(set(map(len, block)) <= {width}, f"{what} has rows with more or fewer cells than its header")


def fold(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> Ints:
    """One number for each distinct combination of columns, 0..m-1 in the order of the combinations."""
    key, size = np.zeros(columns[0].size, np.int64), 1
    for codes, radix in zip(columns, sizes, strict=True):
        if size * radix >= 2**62:
            key, size = _ranked(key, size)
        key *= radix
        key += codes
        size *= radix
    return _ranked(key, size)[0]


def combined(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> Ints:
    """One number for each distinct combination of columns, 0..m-1 in no order that means anything.

    Rows are sorted once, by numbers that combinations are mixed into; those that stand together are compared
    column by column. Should different ones be mixed alike, they are told apart as `fold` does.
    """
    if math.prod(sizes) < 2**62 or not columns[0].size:
        return fold(columns, sizes)
    mixed = np.zeros(columns[0].size, np.uint64)
    for codes in columns:
        mixed += codes.astype(np.uint64)
        mixed *= SPREAD
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    in_order = mixed[order]
    new = np.concatenate([[False], in_order[1:] != in_order[:-1]])
    again = np.flatnonzero(~new)[1:]
    this, before = order[again], order[again - 1]
    if not all((codes[this] == codes[before]).all() for codes in columns):
        return fold(columns, sizes)
    found = np.empty(mixed.size, np.int64)
    found[order] = np.cumsum(new)
    return found


def folded(columns: Sequence[NDArray[Any]]) -> Ints:
    """The same of columns of whole numbers from 0 on, however large."""
    return fold(columns, [int(codes.max(initial=0)) + 1 for codes in columns])


def _ranked(key: Ints, size: int) -> tuple[Ints, int]:
    """The rank of each key below `size` among those that occur, and how many occur."""
    if size <= FEW_KEYS * key.size:  # room for all that there could be: nothing needs to be sorted
        occurs = np.zeros(size, np.bool_)
        occurs[key] = True
        ranks = np.cumsum(occurs) - 1
        return ranks[key], int(occurs.sum())
    distinct, place = np.unique(key, return_inverse=True)
    return place.astype(np.int64, copy=False), distinct.size


def first_of_each(kind: NDArray[Any]) -> Ints:
    """Where each distinct number stands first, in the order of the numbers."""
    if kind.size and kind.min() >= 0 and kind.max() < FEW_KEYS * kind.size:
        first = np.full(int(kind.max()) + 1, -1, np.int64)
        first[kind[::-1]] = np.arange(kind.size)[::-1]  # of several the last stays: backwards, the first
        return first[first >= 0]
    found: Ints = np.unique(kind, return_index=True)[1]
    return found


def sums(place: NDArray[Any], amount: Ints, size: int) -> Ints:
    """The sum of the amounts at each place; floats are exact up to 2^53, which no count here reaches."""
    return np.bincount(place, amount, size).astype(np.int64)


def within(start: Ints, size: Ints) -> Ints:
    """The places of runs one after another: ``start[i], start[i] + 1, …``, ``size[i]`` of them."""
    ends = np.cumsum(size)
    places: Ints = np.arange(ends[-1] if ends.size else 0) + np.repeat(start - (ends - size), size)
    return places


def text_ranks(texts: Sequence[str]) -> Ints:
    """The place of each text among all, sorted."""
    place = np.empty(len(texts), np.int64)
    place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return place
