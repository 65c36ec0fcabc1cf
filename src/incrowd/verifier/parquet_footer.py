"""What a Parquet file holds beside its columns: by the verifier's own reading of the footer, it is nothing.

The cells of a Parquet file come from a reader that the publisher uses, too. Here the verifier looks by itself
where in the file anything could stand that is no cell: metadata of the file or of a column, bytes between
pages, fields and forms that the format allows and nobody needs. Pages are not decoded here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incrowd.verifier.failure import require

MAGIC = b"PAR1"
MOST = 64 * 1024 * 1024  # bytes of a footer
DEEPEST = 16
MADE_BY = re.compile(rb"DuckDB version v[0-9][0-9A-Za-z.+-]{0,30} \(build [0-9a-f]{6,40}\)")
ROOT = b"duckdb_schema"

# Fields of the format's structures, by number, that a release may have: (needed, others).
FILE = ({1, 2, 3, 4, 6}, {7})  # version, schema, rows, row groups, maker; orders. Not 5, free words
ELEMENT = ({4}, {1, 2, 3, 5, 6, 7, 8, 10})  # Not 9, a number of one's choice
GROUP = ({1, 2, 3}, {5, 6, 7})
CHUNK = ({3}, {2})  # Not 1, another file
COLUMN = ({1, 2, 3, 4, 5, 6, 7, 9}, {11, 12, 13, 14, 15})  # Not 8, free words of a column

Struct = Mapping[int, Any]


def check_container(path: Path) -> None:
    """Fail if anything in a Parquet file is neither a page of a column nor about its pages."""
    name, size = path.name, path.stat().st_size
    with path.open("rb") as file:
        start = file.read(len(MAGIC))
        require(size > 12 and start == MAGIC, f"{name} does not begin as a Parquet file does")
        file.seek(size - 8)
        length, end = int.from_bytes(file.read(4), "little"), file.read(4)
        require(
            end == MAGIC and length <= min(size - 12, MOST), f"{name} does not end as a Parquet file does"
        )
        file.seek(size - 8 - length)
        footer = file.read(length)
    reader = _Compact(footer, name)
    found = reader.struct()
    require(reader.at == len(footer), f"{name} has bytes after its footer")
    _check_fields(found, name)
    _check_tiles(found, size - 8 - length, name)


def _check_fields(found: Struct, name: str) -> None:
    _only(found, FILE, name, "the file")
    made, root = found[6], found[2][0].get(4) if _structs(found[2]) else None
    require(
        isinstance(made, bytes) and MADE_BY.fullmatch(made) is not None, f"{name} names an unknown writer"
    )
    require(root == ROOT, f"{name} has a schema of another name")
    for element in found[2]:
        _only(element, ELEMENT, name, "a column's type")
    require(_structs(found[4]), f"{name} has no row groups")
    for group in found[4]:
        _only(group, GROUP, name, "a row group")
        require(_structs(group[1]), f"{name} has a row group without columns")
        for chunk in group[1]:
            _only(chunk, CHUNK, name, "a column's place")
            _only(chunk[3], COLUMN, name, "a column")
    require(sum(group[3] for group in found[4]) == found[3], f"{name} counts its rows in two ways")


def _structs(things: object) -> bool:
    return isinstance(things, list) and bool(things) and all(isinstance(each, dict) for each in things)


def _only(found: object, fields: tuple[set[int], set[int]], name: str, what: str) -> None:
    needed, others = fields
    kept = isinstance(found, dict) and needed <= set(found) <= needed | others
    require(kept, f"{name} says more, or less, about {what} than a release does")


def _check_tiles(found: Struct, end: int, name: str) -> None:
    """Pages and filters lie end to end from the first byte to the footer: nothing fits in between."""
    at = len(MAGIC)
    for begins, length in sorted(_places(found)):
        require(begins == at and length > 0, f"{name} has bytes that belong to no column")
        at += length
    require(at == end, f"{name} has bytes that belong to no column")


def _places(found: Struct) -> Iterator[tuple[int, int]]:
    for group in found[4]:
        for chunk in group[1]:
            column = chunk[3]
            yield min(column[9], column.get(11, column[9])), column[7]
            if 14 in column:
                yield column[14], column.get(15, 0)


@dataclass
class _Compact:
    """Thrift's compact protocol, as strictly as it can be written: every value in its one shortest form."""

    data: bytes
    name: str
    at: int = 0

    def _need(self, kept: bool) -> None:
        require(kept, f"{self.name} has a footer that is not written in its one form")

    def byte(self) -> int:
        self._need(self.at < len(self.data))
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                self._need(byte > 0 or shift == 7)
                return found
            self._need(shift < 70)

    def number(self) -> int:
        folded = self.varint()
        return (folded >> 1) ^ -(folded & 1)

    def binary(self) -> bytes:
        length = self.varint()
        self._need(length <= len(self.data) - self.at)
        self.at += length
        return self.data[self.at - length : self.at]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        self._need(depth < DEEPEST)
        found: dict[int, Any] = {}
        field = 0
        while head := self.byte():
            self._need(head >> 4 > 0)  # a field's number is written as the step from the last
            field += head >> 4
            found[field] = self.value(head & 0x0F, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # true, false: the kind says it
            return kind == 1
        if kind in (4, 5, 6):
            return self.number()
        if kind == 3:
            return self.byte()
        if kind == 8:
            return self.binary()
        if kind == 9:
            return self.list(depth)
        self._need(kind == 12)
        return self.struct(depth + 1)

    def list(self, depth: int) -> list[Any]:
        head = self.byte()
        size = head >> 4
        if size == 15:
            size = self.varint()
            self._need(size >= 15)
        self._need(size <= len(self.data) - self.at)
        kind = head & 0x0F
        self._need(kind not in (1, 2))
        return [self.value(kind, depth + 1) for _ in range(size)]
