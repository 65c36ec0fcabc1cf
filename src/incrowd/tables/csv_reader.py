"""Read CSV strictly: block by block, from bytes to dictionary codes.

RFC 4180 with one of five delimiters and LF or CRLF line ends: a cell is quoted from its first to its last
byte or holds no quote at all. Whether a byte lies inside quotes is the parity of the quotes before it, a
doubled quote being two. Everything is text; an empty cell is the empty text, quoted or not. Nothing is
guessed and nothing is skipped: what breaks a rule is refused with its line number.

Equal cells are found by a dictionary; of a large table by compiled code (`csv_scan`), which cuts blocks into
cells, too. Where that finds anything odd, the block is looked at again here, and refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, count, islice, repeat
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError, option
from incrowd.flow import Codes, Table, TextColumn
from incrowd.kernels.compiling import compiling
from incrowd.long_work import side_by_side, threads
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
from incrowd.tables.csv_scan import WORD, Scanned, Scanner

Needed = Callable[[Sequence[str]], Collection[str]]
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Offsets = NDArray[np.int32] | Places

BLOCK = 4 * 1024 * 1024  # bytes parsed at once: the working arrays stay near the processor's cache
WIDE_BLOCK = 32 * 1024 * 1024  # ... unless rows are so long that it would hold only a few
FEW_ROWS = 1000
WORTH_COMPILED = 300_000  # cells for which compiled code is worth loading
DELIMITERS = b",;\t|~"
_NAMED = {ord(";"): "semicolons", ord("\t"): "tabs", ord("|"): "bars (|)", ord("~"): "tildes (~)"}
_LF, _CR, _QUOTE = b'\n\r"'
_BOM = b"\xef\xbb\xbf"
_NONE: Codes = np.empty(0, np.int32)


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
    blocks: Iterable[RowBlock],
    names: Sequence[str],
    places: Sequence[int],
    delimiter: int,
    needed: Collection[str] | None = None,
) -> Table:
    """The columns at some places of blocks without a header; those that are not `needed` stay unread."""
    unread = {place for place in places if needed is not None and names[place] not in needed}
    builders = {place: _Builder(names[place]) for place in places if place not in unread}
    own = {place: number for number, place in enumerate(builders)}
    scanners: list[Scanner] = []
    rows, waiting, problem = 0, iter(blocks), None
    while problem is None:
        some, problem = _next(waiting, max(len(scanners), 1))
        if not some:
            break
        lines = rows + sum(block.feeds for block in some)
        worth = bool(scanners) or compiling.everything or lines * len(builders) >= WORTH_COMPILED
        if worth and not scanners:
            scanners = [Scanner(own, len(names)) for _ in range(threads())]
        works = [partial(_scanned, *each, delimiter, unread) for each in zip(some, scanners, strict=False)]
        results = side_by_side(works) if worth else [None]
        for number, (block, found) in enumerate(zip(some, results, strict=True)):
            if found is None:
                rows += _read_block(block, names, places, builders, delimiter)
                continue
            rows += found.rows
            both = zip(builders.values(), found.columns, strict=True)
            scanners[number].learn([builder.take(block, *cells) for builder, cells in both])
    if problem is not None:
        raise problem
    nothing = TextColumn(np.broadcast_to(np.zeros(1, np.int32), (rows,)), (None,))  # takes no memory
    columns = (builders[place].column() if place in builders else nothing for place in places)
    kept = tuple(names[place] for place in places)
    return Table(kept, tuple(columns), unread=frozenset(names[place] for place in unread))


def _next(blocks: Iterator[RowBlock], most: int) -> tuple[list[RowBlock], Exception | None]:
    """The next blocks; if something is wrong with one, those before it, and what it is."""
    some: list[RowBlock] = []
    try:
        some.extend(islice(blocks, most))
    except Exception as problem:
        return some, problem
    return some, None


def _scanned(block: RowBlock, scanner: Scanner, delimiter: int, unread: Collection[int]) -> Scanned | None:
    """The cells of a block by compiled code; None if a closer look must tell what is wrong with it."""
    if unread and not _is_utf_8(block.data):
        return None
    text = block.buffer[: block.content.size + WORD]
    return scanner.scan(text, block.feeds, delimiter, CELL_LIMIT)


def _read_block(
    block: RowBlock,
    names: Sequence[str],
    places: Sequence[int],
    builders: Mapping[int, _Builder],
    delimiter: int,
) -> int:
    """Add the cells of a block without compiled code; how many rows it has."""
    ends = block.row_cells(delimiter, len(names))
    if len(builders) < len(places) and not block.surely_sound(ends):
        for place in places:  # what is wrong is said of the first column in which it is
            _take(_Builder(names[place]), block, ends, place)
    works = [partial(_take, builder, block, ends, place) for place, builder in builders.items()]
    side_by_side(works, len(ends))
    return len(ends)


def _take(builder: _Builder, block: RowBlock, ends: Places, place: int) -> None:
    starts, stops = block.cells(ends, place)
    first: dict[bytes, int] = {}
    cells = block.contents(starts, stops)
    met = np.fromiter(map(first.setdefault, cells, count()), np.int64, starts.size)
    leads = np.fromiter(first.values(), np.int64, len(first))
    number = np.empty(starts.size, np.int32)
    number[leads] = np.arange(leads.size)
    codes = number[met]
    builder.take(block, codes, starts[leads], stops[leads])


def _names(header: RowBlock, delimiter: int) -> list[str]:
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

    def take(
        self, block: RowBlock, codes: Codes, starts: Offsets, ends: Offsets, before: Codes = _NONE
    ) -> Codes:
        """Add the cells of a block, by the numbers that it has for them; returns the number of each here.

        The first numbers may be of cells that were taken before: `before` are their numbers here. Of each of
        the others it is given where such a cell starts and ends.
        """
        cells = block.contents(starts, ends)
        known = np.fromiter(map(self._known.get, cells, repeat(-1)), np.int32, starts.size)
        new = np.flatnonzero(known < 0)
        if new.size:
            known[new] = np.arange(len(self._texts), len(self._texts) + new.size)
            met = [cells[place] for place in new.tolist()]
            self._known.update(zip(met, known[new].tolist(), strict=True))
            self._texts += self._all_decoded(met, block, starts[new])
        known = np.concatenate([before, known])
        self._codes.append(known[codes])
        return known

    def _all_decoded(self, cells: list[bytes], block: RowBlock, starts: Offsets) -> list[str]:
        """What cells say; all at once, unless one of them might have to be refused."""
        joined = b"\0".join(cells)  # no cell has a NUL in it
        if max(map(len, cells)) <= CELL_LIMIT and _is_utf_8(joined):
            return joined.decode().split("\0")
        return [self._decoded(cell, block, start) for cell, start in zip(cells, starts.tolist(), strict=True)]

    def _decoded(self, cell: bytes, block: RowBlock, start: int) -> str:
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


def blocks_of(stream: Stream, name: str) -> Iterator[RowBlock]:
    """Cut a stream into blocks that end where a row ends."""
    data = stream.read(BLOCK)
    check_beginning(data, name)
    rest, data, line, size = b"", data.removeprefix(_BOM), 1, BLOCK
    while data:
        data = rest + data
        cut = _last_row_end(data)
        if cut:
            block = RowBlock(data[:cut], line, name)
            yield block
            lines = block.feeds
            line, size = line + lines, min(max(BLOCK, cut // lines * FEW_ROWS), WIDE_BLOCK)
        rest = data[cut:]
        if len(rest) > ROW_LIMIT + 1:  # one more for the CR of an unfinished line end
            raise TableError(_too_long(name, line))
        data = stream.read(size)
    if rest:
        yield RowBlock(rest + b"\n", line, name)


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


class RowBlock:
    """Some whole rows of a CSV file, the last one ended by LF."""

    def __init__(self, data: bytes, line: int, source: str) -> None:
        self.data = data
        self.line = line  # number of its first line in the file
        self.source = source
        self.buffer: Bytes = np.zeros(len(data) + WORD, dtype=np.uint8)
        self.content = self.buffer[: len(data)]
        self.content[:] = np.frombuffer(data, dtype=np.uint8)
        self.quotes = np.flatnonzero(self.content == _QUOTE) if b'"' in data else np.empty(0, dtype=np.int64)
        if b"\0" in data:
            self.refuse(data.index(b"\0"), "holds a NUL character; is the file UTF-16? Save it as UTF-8")

    @cached_property
    def feeds(self) -> int:
        """How many line feeds there are, inside quotes or not."""
        return int(np.count_nonzero(self.content == _LF))

    def refuse(self, place: int, why: str) -> NoReturn:
        """Say what is wrong in the line of a byte."""
        raise TableError(self.said(place, why))

    def said(self, place: int, why: str) -> str:
        line = self.line + self.data.count(b"\n", 0, place)
        return f"{self.source}: line {line} {why}"

    def split_header(self) -> tuple[RowBlock, RowBlock | None]:
        """The first row, and the others if there are any."""
        lines = _outside(np.flatnonzero(self.content == _LF), self.quotes)
        end = int(lines[0]) + 1 if lines.size else len(self.data)
        header = RowBlock(self.data[:end], self.line, self.source)
        if end == len(self.data):
            return header, None
        return header, RowBlock(self.data[end:], self.line + header.data.count(b"\n"), self.source)

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
        self.refuse(start, f"has {cells} cell{'' if cells == 1 else 's'} where the header has {width}")

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
