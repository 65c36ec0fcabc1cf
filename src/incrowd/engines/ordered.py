"""Rows in a row: an engine that sorts all of them, along the Hilbert curve or column by column.

A sorted row is read piece by piece, and each piece is handed back with what was decided on it. Which of equal
records comes first is drawn: the order of the table has no say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import ClassCells, Engine, Ints
from incrowd.engines.duckdb_engine import DuckEngine
from incrowd.engines.resources import check_room
from incrowd.engines.session import quoted_text
from incrowd.engines.writing import write_witness
from incrowd.flow import Codes
from incrowd.kernels import hilbert

ROWS_AT_ONCE = 1_000_000
BYTES_A_COLUMN = 20  # on the disk, for a row: its keys, the sorted rows, what is spilled, and the labels
OTHER_COLUMNS = 4
WORD = 63  # bits of the curve in one number
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Along the Hilbert curve with so many bits a column; or, with none, by these columns in turn."""

    bits: int = 0
    columns: Sequence[int] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """What was decided on a piece of the row: the class g of each record (m,).

    With `rings` also, for each place: part, place in it, the class of the row that was made here, and at
    which place of the part the record stands that is behind this row.
    """

    classes: Codes
    rings: Arrays = field(default_factory=dict)


@runtime_checkable
class OrderedEngine(Engine, Protocol):
    """An engine that can also put all rows in an order."""

    @property
    def folder(self) -> Path: ...

    def sort(self, order: RowOrder) -> None:
        """Sort all rows; of equal records, whose order is drawn, none comes before another for a reason."""
        ...

    def codes(self, first: int, last: int) -> Codes:
        """The quasi-identifiers of rows first..last-1 of the sorted row (m, d)."""
        ...

    def values(self, column: str, first: int, last: int) -> Codes:
        """The texts of a private column of the same rows, as numbers; equal texts have the same one."""
        ...

    def label(self, rows: LabelledRows) -> None:
        """What was decided on the next rows of the sorted row."""
        ...


def whole_parts(starts: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Runs of parts with at most so many rows together, or one part, as places in `starts`.

    Examples
    --------
    >>> list(whole_parts(np.array([0, 2, 5, 9, 20]), 6))
    [(0, 2), (2, 3), (3, 4)]
    """
    first = 0
    while first < starts.size - 1:
        last = int(np.searchsorted(starts, starts[first] + most, "right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


class OrderedDuckEngine(DuckEngine):
    """DuckDB with an external sort. After it, rows have their class by their place in the sorted row."""

    _in_order = False
    _labelled = 0
    _rings = False

    def sort(self, order: RowOrder) -> None:
        folder = self.folder / "order"
        folder.mkdir(mode=0o700)
        columns = self._curve_words(order) + len(self._words) + len(self.private) + OTHER_COLUMNS
        check_room(folder, BYTES_A_COLUMN * columns * self.table.rows)
        for place, (first, last) in enumerate(self._pieces()):
            self._write_keys(order, first, last, folder / f"{place:06}.parquet")
        keys = [self._fields[j].read for j in order.columns] or [
            f"h{w}" for w in range(self._curve_words(order))
        ]
        shown = ", ".join([*self._words, *(f"p{place}" for place in range(len(self.private)))])
        self.session.run(
            f"COPY (SELECT {shown} FROM {self.coded} POSITIONAL JOIN {_parts(folder)} "
            f"ORDER BY {', '.join(keys)}, tie) TO {quoted_text(str(self._sorted))} (FORMAT parquet)"
        )
        self._check(self.session.number(f"SELECT count(*) FROM {self._row}"), "sorting the rows")
        for path in (*folder.iterdir(), self.folder / "coded.parquet"):
            path.unlink()
        self._in_order = True

    def _pieces(self) -> Iterator[tuple[int, int]]:
        rows = self.table.rows
        return pairwise([*range(0, rows, ROWS_AT_ONCE), rows])

    def _curve_words(self, order: RowOrder) -> int:
        return -(-order.bits * len(self._fields) // WORD)

    def _write_keys(self, order: RowOrder, first: int, last: int, path: Path) -> None:
        """What rows are sorted by: their words on the curve, and a number from the operating system."""
        drawn = np.frombuffer(self._entropy(8 * (last - first)), np.uint64)
        columns: dict[str, NDArray[Any]] = {"tie": drawn}
        if order.bits:
            words = np.zeros((self._curve_words(order), last - first), np.int64)
            hilbert.curve_words(self._read(self.folder / "coded.parquet", first, last), order.bits, words)
            columns |= {f"h{w}": word for w, word in enumerate(words)}
        self.session.load("order_", columns)
        self.session.run(
            f"COPY order_ TO {quoted_text(str(path))} (FORMAT parquet, COMPRESSION uncompressed)"
        )
        self.session.run("DROP TABLE order_")

    @property
    def _sorted(self) -> Path:
        return self.folder / "sorted.parquet"

    @property
    def _row(self) -> str:
        return f"read_parquet({quoted_text(str(self._sorted))})"

    def _some(self, path: Path, shown: str, first: int, last: int) -> dict[str, NDArray[Any]]:
        return self.session.arrays(
            f"SELECT {shown} FROM read_parquet({quoted_text(str(path))}, file_row_number = true) "
            f"WHERE file_row_number BETWEEN {first} AND {last - 1} ORDER BY file_row_number"
        )

    def _read(self, path: Path, first: int, last: int) -> Codes:
        found = self._some(path, ", ".join(self._words), first, last)
        return self._unpacked([found[word].astype(np.int64, copy=False) for word in self._words])

    def codes(self, first: int, last: int) -> Codes:
        return self._read(self._sorted, first, last)

    def values(self, column: str, first: int, last: int) -> Codes:
        text = f"coalesce(p{self.private.index(column)}, '')"
        found = self._some(self._sorted, f"hash({text}) AS h", first, last)["h"]
        return np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.int32)

    def label(self, rows: LabelledRows) -> None:
        folder = self.folder / "labels"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._rings = bool(rows.rings)
        self.session.load("labels_", {"g": rows.classes, **rows.rings})
        path = folder / f"{self._labelled:012}.parquet"
        self.session.run(f"COPY labels_ TO {quoted_text(str(path))} (FORMAT parquet)")
        self.session.run("DROP TABLE labels_")
        self._labelled += rows.classes.size

    @property
    def _placed(self) -> str:
        """The sorted rows beside what was decided on them."""
        return f"{self._row} POSITIONAL JOIN {_parts(self.folder / 'labels')}"

    def shuffle(self) -> None:
        if not self._in_order:
            return super().shuffle()
        self._check(self._labelled, "cutting the sorted rows")
        private = "".join(f", p{place}" for place in range(len(self.private)))
        keys = self._keys()
        self.session.run(
            f"COPY (SELECT g{private} FROM (SELECT * FROM {self._placed}) s POSITIONAL JOIN {keys} "
            f"ORDER BY key) TO {quoted_text(str(self._shuffled.path))} (FORMAT parquet)"
        )
        self._check(self.session.number(f"SELECT count(*) FROM {self._shuffled.sql}"), "shuffling the rows")
        for path in (self.folder / "keys").iterdir():
            path.unlink()

    def witness(self, classes: ClassCells, target: Path) -> None:
        """Which records are in which class, and how many; of rings, what each part has at each place."""
        if not self._in_order:
            return super().witness(classes, target)
        codes = ", ".join(f"{each.read} AS q{j}" for j, each in enumerate(self._fields))
        private = [f"p{place}" for place in range(len(self.private))]
        if self._rings:
            more = ["part", "place", "behind", *private]
            decoded = f"(SELECT {codes}, own AS g, {', '.join(more)} FROM {self._placed}) d"
            return write_witness(self.session, classes, decoded, target, more, ("part", "place"))
        shown = "".join(f", {name}" for name in private)
        decoded = f"(SELECT {codes}, g{shown}, count(*) AS n FROM {self._placed} GROUP BY ALL) d"
        return write_witness(self.session, classes, decoded, target, [*private, "n"])

    def forget(self) -> None:
        super().forget()
        self._sorted.unlink(missing_ok=True)
        for path in (self.folder / "labels").glob("*.parquet"):
            path.unlink()


def _parts(folder: Path) -> str:
    """Files whose names say their order, one after the other."""
    return f"read_parquet({quoted_text(str(folder / '*.parquet'))})"
