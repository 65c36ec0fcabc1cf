"""The grammar of CSV, on blocks of whole rows as arrays of bytes.

RFC 4180 with one of four delimiters and LF or CRLF line ends, read strictly: a cell is quoted from its
first to its last byte or holds no quote at all. Whether a byte lies inside quotes is the parity of the
quotes before it, a doubled quote being two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.tables.factorise import PADDING
from incrowd.tables.opening import Stream, check_beginning
from incrowd.tables.rules import ROW_LIMIT

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Offsets = NDArray[np.int32]

BLOCK = 4 * 1024 * 1024  # bytes parsed at once: the working arrays stay near the processor's cache
WIDE_BLOCK = 32 * 1024 * 1024  # ... unless rows are so long that it would hold only a few
FEW_ROWS = 1000
DELIMITERS = b",;\t|"
_LF, _CR, _QUOTE = b'\n\r"'
_BOM = b"\xef\xbb\xbf"


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
        line = self.line + self.data.count(b"\n", 0, place)
        raise TableError(f"{self.source}: line {line} {why}")

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
                f"{self.source}: the header does not tell which of , ; | or tab separates the columns; "
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

    def grid(self, delimiter: int, width: int) -> Offsets:
        """Where each cell ends: (width, n), for rows that all have `width` cells."""
        ends = self.cell_ends(delimiter)
        row_ends = self.content[ends] == _LF
        expected = np.arange(1, ends.size + 1) % width == 0
        if not np.array_equal(row_ends, expected):
            self._refuse_ragged(ends, row_ends, expected, width)
        grid = np.ascontiguousarray(ends.reshape(-1, width).T, dtype=np.int32)
        self._check_rows(grid[-1])
        return grid

    def _refuse_ragged(
        self, ends: Places, row_ends: NDArray[np.bool_], expected: NDArray[np.bool_], width: int
    ) -> NoReturn:
        first = int((row_ends != expected).argmax()) // width * width
        cells = int(row_ends[first:].argmax()) + 1
        # a row ends where its last cell does: a quoted cell may span lines, and the row starts at the first
        start = int(ends[first - 1]) + 1 if first else 0
        self.refuse(start, f"has {cells} cells where the header has {width}")

    def _check_rows(self, row_ends: Offsets) -> None:
        starts = np.concatenate(([0], row_ends[:-1] + 1))
        sizes = row_ends - starts
        sizes = sizes - ((sizes > 0) & (self.buffer[row_ends - 1] == _CR))
        if sizes.max() > ROW_LIMIT:
            place = int(starts[sizes.argmax()])
            raise TableError(_too_long(self.source, self.line + self.data.count(b"\n", 0, place)))
        if not sizes.min():
            self.refuse(int(starts[sizes.argmin()]), 'is empty; delete it, or write "" for an empty cell')

    def cells(self, grid: Offsets, place: int) -> tuple[Offsets, Offsets]:
        """Starts and ends of the cells of one column, quotes and line ends left out."""
        ends = grid[place]
        starts = grid[place - 1] + np.int32(1)
        if place == 0:
            starts = np.concatenate((np.zeros(1, dtype=np.int32), starts[:-1]))
        if place == grid.shape[0] - 1 and b"\r" in self.data:
            ends = ends - ((ends > starts) & (self.buffer[ends - 1] == _CR))
        if self.quotes.size:
            quoted = (ends > starts) & (self.buffer[starts] == _QUOTE)
            starts, ends = starts + quoted, ends - quoted
        return starts.astype(np.int32, copy=False), ends.astype(np.int32, copy=False)

    def cell(self, start: int, end: int) -> bytes:
        """The content of a cell; two quotes in a row can only be a doubled quote."""
        content = self.data[start:end]
        return content.replace(b'""', b'"') if self.quotes.size else content
