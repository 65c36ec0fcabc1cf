"""Read CSV: block by block, straight to codes.

Everything is text; an empty cell is the empty text, quoted or not. Nothing is guessed and nothing is
skipped: what breaks a rule is refused with its line number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from incrowd.errors import TableError
from incrowd.flow import Codes, Table, TextColumn
from incrowd.tables.csvblock import Block, blocks_of
from incrowd.tables.factorise import first_rows, numbered
from incrowd.tables.opening import Stream
from incrowd.tables.rules import CELL_LIMIT, check_names, check_size, check_width, chosen


def read_csv(stream: Stream, source: str, columns: Sequence[str] | None, delimiter: int | None) -> Table:
    """Read a stream of CSV; without a delimiter, the header line decides it."""
    blocks = blocks_of(stream, source)
    first = next(blocks, None)
    if first is None:
        raise TableError(f"{source} is empty")
    header, block = first.split_header()
    delimiter = header.delimiter() if delimiter is None else delimiter
    names = _names(header, delimiter)
    places = chosen(names, columns)
    table = read_rows(chain([block] if block else [], blocks), names, places, delimiter)
    check_size(len(table), source)
    return table


def read_rows(blocks: Iterable[Block], names: Sequence[str], places: Sequence[int], delimiter: int) -> Table:
    """The columns at some places of blocks without a header."""
    builders = {place: _Builder(names[place]) for place in places}
    for block in blocks:
        grid = block.grid(delimiter, len(names))
        for place, builder in builders.items():
            builder.take(block, *block.cells(grid, place))
    return Table(tuple(names[place] for place in places), tuple(b.column() for b in builders.values()))


def _names(header: Block, delimiter: int) -> list[str]:
    width = header.cell_ends(delimiter).size
    check_width(width, header.source)
    grid = header.grid(delimiter, width)
    places = (header.cells(grid, place) for place in range(width))
    try:
        names = [header.cell(int(start[0]), int(end[0])).decode() for start, end in places]
    except UnicodeDecodeError:
        raise TableError(f"{header.source}: the header is not UTF-8; save the file as UTF-8") from None
    check_names(names, header.source)
    return names


class _Builder:
    """One column while it grows: every distinct cell once, in the order of appearance."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: dict[bytes, int] = {}
        self._texts: list[str] = []
        self._codes: list[Codes] = []

    def take(self, block: Block, starts: Codes, ends: Codes) -> None:
        """Add the cells of a block."""
        codes, leads = numbered(first_rows(block.buffer, starts, ends))
        met = zip(starts[leads].tolist(), ends[leads].tolist(), strict=True)
        known = np.fromiter((self._code(block, start, end) for start, end in met), np.int32, leads.size)
        self._codes.append(known[codes])

    def _code(self, block: Block, start: int, end: int) -> int:
        cell = block.cell(start, end)
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
        return block.refuse(start, f"is not UTF-8 in column {self._name!r}; save the file as UTF-8")

    def column(self) -> TextColumn:
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, dtype=np.int32)
        return TextColumn(codes, tuple(self._texts))
