"""Read CSV strictly: block by block, from bytes to dictionary codes.

RFC 4180 with one of five delimiters and LF or CRLF line ends: a cell is quoted from its first to its last
byte or holds no quote at all. Whether a byte lies inside quotes is the parity of the quotes before it, a
doubled quote being two. Everything is text; an empty cell is the empty text, quoted or not. Nothing is
guessed and nothing is skipped: what breaks a rule is refused with its line number.

A cell of up to 64 bytes becomes a few 64-bit words; equal cells are found by hashing the words and comparing
them in full, so a collision costs time and never a wrong code. Cells hold no NUL, so padding with zeros
distinguishes cells of different length. Of a large table, compiled code does the same byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError, option
from incrowd.flow import Codes, Table, TextColumn
from incrowd.kernels.compiling import compiling
from incrowd.long_work import side_by_side
from incrowd.tables.checked_files import (
    CELL_LIMIT,
    ROW_LIMIT,
    NotThisEncoding,
    Stream,
    check_beginning,
    check_names,
    check_size,
    check_width,
    chosen,
)

Needed = Callable[[Sequence[str]], Collection[str]]
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Offsets = NDArray[np.int32]
Words = NDArray[np.uint64]
# Numbers the distinct cells of a buffer as they are met: (codes (n,), row where each is met first).
_Number = Callable[[Bytes, Offsets, Offsets], "tuple[Offsets, NDArray[np.integer]]"]

BLOCK = 4 * 1024 * 1024  # bytes parsed at once: the working arrays stay near the processor's cache
WIDE_BLOCK = 32 * 1024 * 1024  # ... unless rows are so long that it would hold only a few
FEW_ROWS = 1000
WORTH_COMPILED = 1_000_000  # cells after which compiled code is worth loading
DELIMITERS = b",;\t|~"
_NAMED = {ord(";"): "semicolons", ord("\t"): "tabs", ord("|"): "bars (|)", ord("~"): "tildes (~)"}
_LF, _CR, _QUOTE = b'\n\r"'
_BOM = b"\xef\xbb\xbf"
PADDING = 64  # zero bytes that must follow the last cell in its buffer
_WIDEST = 64
_ROUNDS = 6
_KEEP = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)


def read_csv(
    stream: Stream,
    source: str,
    columns: Sequence[str] | None,
    delimiter: int | None,
    needed: Needed | None = None,
) -> Table:
    """Read a stream of CSV; without a delimiter, the header line decides it.

    Columns that are not `needed` are checked like the others, and stay unread.
    """
    blocks = blocks_of(stream, source)
    first = next(blocks, None)
    if first is None:
        raise TableError(f"{source} is empty")
    header, block = first.split_header()
    stated = delimiter is not None
    delimiter = header.delimiter() if delimiter is None else delimiter
    names = _names(header, delimiter)
    places = chosen(names, columns)
    wanted = None if needed is None else set(needed(names))
    table = read_rows(chain([block] if block else [], blocks), names, places, delimiter, wanted)
    check_size(len(table), source)
    if not stated and len(names) > 1 and delimiter in _NAMED:
        return replace(table, notes=(f"{source}: columns are separated by {_NAMED[delimiter]}",))
    return table


def read_rows(
    blocks: Iterable[Block],
    names: Sequence[str],
    places: Sequence[int],
    delimiter: int,
    needed: Collection[str] | None = None,
) -> Table:
    """The columns at some places of blocks without a header; those that are not `needed` stay unread."""
    unread = {place for place in places if needed is not None and names[place] not in needed}
    builders = {place: _Builder(names[place]) for place in places if place not in unread}
    rows = 0
    for block in blocks:
        ends = block.row_cells(delimiter, len(names))
        number = by_kernel if compiling.everything or rows * len(builders) >= WORTH_COMPILED else by_words
        rows += len(ends)
        if unread and not block.surely_sound(ends):
            for place in places:  # what is wrong is said of the first column in which it is
                _Builder(names[place]).take(block, *block.cells(ends, place), by_words)
        works = [partial(_take, builder, block, ends, place, number) for place, builder in builders.items()]
        side_by_side(works, len(ends))
    nothing = TextColumn(np.broadcast_to(np.zeros(1, np.int32), (rows,)), (None,))  # takes no memory
    columns = (builders[place].column() if place in builders else nothing for place in places)
    kept = tuple(names[place] for place in places)
    return Table(kept, tuple(columns), unread=frozenset(names[place] for place in unread))


def _take(builder: _Builder, block: Block, ends: Places, place: int, number: _Number) -> None:
    builder.take(block, *block.cells(ends, place), number)


def _names(header: Block, delimiter: int) -> list[str]:
    width = header.cell_ends(delimiter).size
    check_width(width, header.source)
    ends = header.row_cells(delimiter, width)
    places = (header.cells(ends, place) for place in range(width))
    try:
        names = [header.contents(start[:1], end[:1])[0].decode() for start, end in places]
    except UnicodeDecodeError:
        names = None
    if names is None:  # raised here, where no exception that holds the header is around
        raise NotThisEncoding(f"{header.source}: the header is not UTF-8; say {option('encoding')}")
    check_names(names, header.source)
    return names


class _Builder:
    """One column while it grows: every distinct cell once, in the order of appearance."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: dict[bytes, int] = {}
        self._texts: list[str] = []
        self._codes: list[Codes] = []

    def take(self, block: Block, starts: Codes, ends: Codes, number: _Number) -> None:
        """Add the cells of a block."""
        codes, leads = number(block.buffer, starts, ends)
        cells = block.contents(starts[leads], ends[leads])
        known = np.fromiter(map(self._known.get, cells, repeat(-1)), np.int32, leads.size)
        for new in np.flatnonzero(known < 0).tolist():
            known[new] = self._code(cells[new], block, int(starts[leads[new]]))
        self._codes.append(known[codes])

    def _code(self, cell: bytes, block: Block, start: int) -> int:
        code = self._known.get(cell)
        if code is None:
            code = self._known[cell] = len(self._texts)
            self._texts.append(self._decoded(cell, block, start))
        return code

    def _decoded(self, cell: bytes, block: Block, start: int) -> str:
        if len(cell) > CELL_LIMIT:
            block.refuse(start, f"holds a cell of more than {CELL_LIMIT} bytes in column {self._name!r}")
        try:
            return cell.decode()
        except UnicodeDecodeError:
            pass  # raised below, where no exception that holds the cell is around
        raise NotThisEncoding(
            block.said(start, f"is not UTF-8 in column {self._name!r}; say {option('encoding')}")
        )

    def column(self) -> TextColumn:
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, dtype=np.int32)
        return TextColumn(codes, tuple(self._texts))


def blocks_of(stream: Stream, name: str) -> Iterator[Block]:
    """Cut a stream into blocks that end where a row ends."""
    data = stream.read(BLOCK)
    check_beginning(data, name)
    rest, data, line, size = b"", data.removeprefix(_BOM), 1, BLOCK
    while data:
        data = rest + data
        cut = _last_row_end(data)
        if cut:
            yield Block(data[:cut], line, name)
            lines = data.count(b"\n", 0, cut)
            line, size = line + lines, min(max(BLOCK, cut // lines * FEW_ROWS), WIDE_BLOCK)
        rest = data[cut:]
        if len(rest) > ROW_LIMIT + 1:  # one more for the CR of an unfinished line end
            raise TableError(_too_long(name, line))
        data = stream.read(size)
    if rest:
        yield Block(rest + b"\n", line, name)


def _last_row_end(data: bytes) -> int:
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    content = np.frombuffer(data, dtype=np.uint8)
    lines = _outside(np.flatnonzero(content == _LF), np.flatnonzero(content == _QUOTE))
    return int(lines[-1]) + 1 if lines.size else 0


def _outside(places: Places, quotes: Places) -> Places:
    """Those of the places that do not lie inside quotes."""
    inside = np.searchsorted(quotes, places) % 2 == 1
    return np.asarray(places[~inside], dtype=np.int64)


def _too_long(name: str, line: int) -> str:
    return f"{name}: the row in line {line} is longer than {ROW_LIMIT} bytes; is a quote left open there?"


class Block:
    """Some whole rows of a CSV file, the last one ended by LF."""

    def __init__(self, data: bytes, line: int, source: str) -> None:
        self.data = data
        self.line = line  # number of its first line in the file
        self.source = source
        self.buffer: Bytes = np.zeros(len(data) + PADDING, dtype=np.uint8)
        self.content = self.buffer[: len(data)]
        self.content[:] = np.frombuffer(data, dtype=np.uint8)
        self.quotes = np.flatnonzero(self.content == _QUOTE) if b'"' in data else np.empty(0, dtype=np.int64)
        if b"\0" in data:
            self.refuse(data.index(b"\0"), "holds a NUL character; is the file UTF-16? Save it as UTF-8")

    def refuse(self, place: int, why: str) -> NoReturn:
        """Say what is wrong in the line of a byte."""
        raise TableError(self.said(place, why))

    def said(self, place: int, why: str) -> str:
        line = self.line + self.data.count(b"\n", 0, place)
        return f"{self.source}: line {line} {why}"

    def split_header(self) -> tuple[Block, Block | None]:
        """The first row, and the others if there are any."""
        lines = _outside(np.flatnonzero(self.content == _LF), self.quotes)
        end = int(lines[0]) + 1 if lines.size else len(self.data)
        header = Block(self.data[:end], self.line, self.source)
        if end == len(self.data):
            return header, None
        return header, Block(self.data[end:], self.line + header.data.count(b"\n"), self.source)

    def delimiter(self) -> int:
        """The delimiter that a header uses; a header of one name may use any."""
        places = {sign: np.flatnonzero(self.content == sign) for sign in DELIMITERS}
        counts = {sign: _outside(where, self.quotes).size for sign, where in places.items()}
        best = max(counts, key=lambda sign: counts[sign])
        if counts[best] and list(counts.values()).count(counts[best]) > 1:
            raise TableError(
                f"{self.source}: the header does not tell which of , ; | ~ or tab separates the columns; "
                "quote the names that hold one of them"
            )
        return best

    def cell_ends(self, delimiter: int) -> Places:
        """Where each cell ends (the place of its delimiter or LF), all rows one after another."""
        marks = np.flatnonzero((self.content == delimiter) | (self.content == _LF))
        if self.quotes.size:
            self._check_quotes(delimiter)
            marks = _outside(marks, self.quotes)
        if b"\r" in self.data:
            self._check_returns()
        return marks

    def _check_quotes(self, delimiter: int) -> None:
        """Every quote opens or closes a whole cell, or is doubled inside one."""
        closing = self.quotes[1::2]
        opening = self.quotes[::2][: closing.size]
        before = np.where(opening > 0, self.buffer[opening - 1], _LF)
        after = self.buffer[closing + 1]
        ended = np.isin(after, (delimiter, _LF, _QUOTE)) | (after == _CR) & (self.buffer[closing + 2] == _LF)
        wrong = ~(np.isin(before, (delimiter, _LF, _QUOTE)) & ended)
        if wrong.any():
            place = int(opening[wrong.argmax()])
            self.refuse(place, "has a quote that does not enclose a whole cell; double quotes inside a cell")
        if self.quotes.size % 2:
            self.refuse(int(self.quotes[-1]), "opens a quote that is never closed")

    def _check_returns(self) -> None:
        returns = _outside(np.flatnonzero(self.content == _CR), self.quotes)
        alone = self.buffer[returns + 1] != _LF
        if alone.any():
            place = int(returns[alone.argmax()])
            self.refuse(place, "has a carriage return outside quotes that does not end the line")

    def row_cells(self, delimiter: int, width: int) -> Places:
        """Where each cell ends: (n, width), for rows that all have `width` cells."""
        ends = self.cell_ends(delimiter)
        row_ends = self.content[ends] == _LF
        rows = ends.size // width
        # as many rows as line ends, and each line end the last of a row: then no other cell has one
        even = rows * width == ends.size and int(np.count_nonzero(row_ends)) == rows
        if not even or not row_ends[width - 1 :: width].all():
            self._refuse_ragged(ends, row_ends, width)
        found = ends.reshape(-1, width)
        self._check_rows(found[:, -1])
        return found

    def surely_sound(self, ends: Places) -> bool:
        """Is it seen at a glance that no cell is too long, and none anything but UTF-8?"""
        widest = int(np.diff(ends[:, -1], prepend=-1).max())
        return widest <= CELL_LIMIT and _is_utf_8(self.data)

    def _refuse_ragged(self, ends: Places, row_ends: NDArray[np.bool_], width: int) -> NoReturn:
        expected = np.arange(1, ends.size + 1) % width == 0
        first = int((row_ends != expected).argmax()) // width * width
        cells = int(row_ends[first:].argmax()) + 1
        # a row ends where its last cell does: a quoted cell may span lines, and the row starts at the first
        start = int(ends[first - 1]) + 1 if first else 0
        self.refuse(start, f"has {cells} cells where the header has {width}")

    def _check_rows(self, row_ends: Places) -> None:
        starts = np.concatenate(([0], row_ends[:-1] + 1))
        sizes = row_ends - starts
        sizes = sizes - ((sizes > 0) & (self.buffer[row_ends - 1] == _CR))
        if sizes.max() > ROW_LIMIT:
            place = int(starts[sizes.argmax()])
            raise TableError(_too_long(self.source, self.line + self.data.count(b"\n", 0, place)))
        if not sizes.min():
            self.refuse(int(starts[sizes.argmin()]), 'is empty; delete it, or write "" for an empty cell')

    def cells(self, grid: Places, place: int) -> tuple[Offsets, Offsets]:
        """Starts and ends of the cells of one column, quotes and line ends left out."""
        ends = grid[:, place].astype(np.int32)
        starts = np.zeros_like(ends)
        if place:
            starts[:] = grid[:, place - 1]
            starts += 1
        else:
            starts[1:] = grid[:-1, -1]
            starts[1:] += 1
        if place == grid.shape[1] - 1 and b"\r" in self.data:
            ends -= (ends > starts) & (self.buffer[ends - 1] == _CR)
        if self.quotes.size:
            quoted = (ends > starts) & (self.buffer[starts] == _QUOTE)
            starts += quoted
            ends -= quoted
        return starts, ends

    def contents(self, starts: Offsets, ends: Offsets) -> list[bytes]:
        """What cells hold; two quotes in a row can only be a doubled quote."""
        data = self.data
        found = [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        return [cell.replace(b'""', b'"') for cell in found] if self.quotes.size else found


def _is_utf_8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def by_kernel(buffer: Bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, NDArray[np.integer]]:
    """Number cells by compiled code, which takes its time to load."""
    from incrowd.kernels.csv_cells import number_cells

    codes, leads = np.empty_like(starts), np.empty_like(starts)
    slots = np.full(1 << (2 * starts.size - 1).bit_length(), -1, np.int32)
    count = number_cells(buffer, starts, ends, slots, codes, leads)
    return by_words(buffer, starts, ends) if count < 0 else (codes, leads[:count])


def by_words(buffer: Bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, NDArray[np.integer]]:
    """Number cells without compiled code."""
    return numbered(first_rows(buffer, starts, ends))


def first_rows(buffer: Bytes, starts: Offsets, ends: Offsets) -> Places:
    """For each cell the first row that holds the same bytes: (n,) -> (n,)."""
    widest = int((ends - starts).max(initial=0))
    if widest > _WIDEST:
        return _by_dictionary(
            [buffer[a:b].tobytes() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        )
    return _by_hashing(_packed(buffer, starts, ends, max(1, -(-widest // 8))))


def _packed(buffer: Bytes, starts: Offsets, ends: Offsets, width: int) -> list[Words]:
    """The cells as `width` words of eight bytes each, zeros after the end."""
    windows = np.lib.stride_tricks.sliding_window_view(buffer, 8)
    words = []
    for offset in range(0, 8 * width, 8):
        # a start may lie up to 64 bytes behind the last cell: that is what the padding is for
        word = windows[starts + offset].view(np.uint64)[:, 0]
        words.append(word & _KEEP[np.clip(ends - starts - offset, 0, 8)])
    return words


def _by_hashing(words: list[Words]) -> Places:
    """First equal rows, in rounds: the first row in a slot stands for all equal to it.

    Places that only share the slot go on to the next round, with another hash. Input made to collide
    ends in a dictionary, whose hash nobody can foresee.
    """
    first = np.empty(words[0].size, dtype=np.int64)
    rows = np.arange(first.size)
    hashes = np.zeros(first.size, dtype=np.uint64)
    for round_ in range(_ROUNDS):
        hashes = _mixed(hashes, words)
        found = _same_slot(hashes, 14 if round_ == 0 else rows.size.bit_length() + 1)
        same = np.logical_and.reduce([word[found] == word for word in words])
        first[rows[same]] = rows[found[same]]
        if same.all():
            return first
        rest = ~same
        rows, hashes, words = rows[rest], hashes[rest], [word[rest] for word in words]
    first[rows] = rows[_by_dictionary([key.tobytes() for key in np.stack(words, axis=1)])]
    return first


def _mixed(hashes: Words, words: list[Words]) -> Words:
    for word in words:
        hashes = ((hashes ^ (hashes >> _SHIFT)) * _MIX + word) * _ODD
        hashes ^= hashes >> np.uint64(32)
    return hashes * _ODD


def _same_slot(hashes: Words, bits: int) -> Places:
    """The first row that shares each row's slot, the slot being the top bits of the hash."""
    slots = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    first = np.empty(1 << bits, dtype=np.int64)
    # of several rows written to one slot the last stays: backwards, that is the first
    first[slots[::-1]] = np.arange(slots.size - 1, -1, -1)
    return first[slots]


def _by_dictionary(keys: list[bytes]) -> Places:
    first: dict[bytes, int] = {}
    return np.fromiter((first.setdefault(key, row) for row, key in enumerate(keys)), np.int64, len(keys))


def numbered(first: Places) -> tuple[Offsets, Places]:
    """Number the distinct cells as they are met: (codes (n,), row where each is met first)."""
    leads = first == np.arange(first.size)
    rank = np.cumsum(leads, dtype=np.int32) - np.int32(1)
    return rank[first], np.flatnonzero(leads)
