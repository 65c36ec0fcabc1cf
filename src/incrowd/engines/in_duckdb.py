"""The engine that comes with incrowd: DuckDB, inside this process; it also sorts all rows, on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.ordered import RowOrder
from incrowd.engines.resources import Resources, check_room
from incrowd.engines.session import duck_session, parquet_sql, quoted_text, remove
from incrowd.engines.sorted_rows import SortingEngine, parts_of
from incrowd.engines.table_files import Inputs
from incrowd.engines.writing import ROWS_A_GROUP
from incrowd.kernels import hilbert

KEYS_AT_ONCE = 4_000_000
ROWS_AT_ONCE = 1_000_000
BYTES_A_COLUMN = 20  # on the disk, for a row: its keys, the sorted rows, what is spilled, and the labels
OTHER_COLUMNS = 4
KEY_BITS, BUCKET_BITS = 64, 20  # of a random key: all, and those by which keys are counted
DRAWN_A_PIECE = 1000  # rows, to find out where pieces of sorted rows end
BYTES_A_KEY, BYTES_A_CELL = 32, 32  # in memory, of a row that is shuffled: key and class, and a private text


@contextmanager
def duck_engine(
    inputs: Inputs, work: Path, folders: Sequence[Path], resources: Resources
) -> Iterator[DuckEngine]:
    """An engine that may read the table and those beside it, and touch these folders and its own, `work`."""
    files = inputs.table
    attached = files.files[0] if files.kind == "duckdb" else None
    reading = [path for each in (inputs.beside if attached else inputs.all) for path in each.files]
    with duck_session(work, resources, reading, folders, attached) as session:
        yield DuckEngine(session, session, files, work, resources, inputs.columns)


class DuckEngine(SortingEngine):
    """An `OrderedEngine` over a DuckDB session."""

    def _shuffle(self) -> None:
        keys = self._keys()
        private = "".join(f", p{place}" for place in range(len(self.private)))
        if self._in_order:
            self._check(self._labelled, "cutting the sorted rows")
            rows = f"(SELECT * FROM {self._placed}) s POSITIONAL JOIN {keys}"
        else:
            keyed = f"(SELECT * FROM {self.coded} POSITIONAL JOIN {keys}) c"
            rows = f"{keyed} JOIN {self.classes} m USING ({self._class_key})"
        if (pieces := self._pieces_to_sort(BYTES_A_KEY + BYTES_A_CELL * len(self.private))) > 1:
            borders = self._whole_groups(keys, pieces)
            rows = f"SELECT key AS o0, g{private} FROM {rows}"
            piece, many = _piece_of(borders), len(borders) + 1
            self._sort_in_pieces(rows, piece, many, f"SELECT g{private}", "o0", self._shuffled.path)
        else:
            self.local.save(f"SELECT g{private} FROM {rows} ORDER BY key", self._shuffled.path)
        for path in (self.folder / "keys").iterdir():
            path.unlink()

    def _whole_groups(self, keys: str, pieces: int) -> list[tuple[int, ...]]:
        """Keys between which there are exactly as many rows as fill groups of a Parquet file.

        A file shows in which blocks its rows came: where a piece ended inside a group, the groups after it
        would have other sizes than those of the same rows that are written again.
        """
        rows = self.table.rows
        size = -(-rows // (pieces * ROWS_A_GROUP)) * ROWS_A_GROUP
        bucket = f"key >> {KEY_BITS - BUCKET_BITS}"
        counted = self.local.arrays(
            f"SELECT {bucket} AS bucket, count(*) AS n FROM {keys} GROUP BY 1 ORDER BY 1"
        )
        buckets, ends = counted["bucket"].astype(np.uint64), np.cumsum(counted["n"].astype(np.int64))
        ranks = np.arange(size, rows, size)
        inside = np.searchsorted(ends, ranks, "right")
        wanted = ", ".join(map(str, np.unique(buckets[inside]).tolist())) or "NULL"
        some = self.local.arrays(f"SELECT key FROM {keys} WHERE ({bucket}) IN ({wanted}) ORDER BY key")["key"]
        first = np.searchsorted(some.astype(np.uint64) >> np.uint64(KEY_BITS - BUCKET_BITS), buckets[inside])
        begins = np.concatenate(([0], ends))[inside]
        return [(key,) for key in some[first + ranks - begins].tolist()]

    def _pieces_to_sort(self, bytes_a_row: int) -> int:
        """In how many pieces all rows are sorted, each of which fits into memory with room to spare."""
        return -(-self.table.rows * bytes_a_row // (self._resources.for_database // 4))

    def _sort_in_pieces(
        self, rows: str, piece: str, pieces: int, shown: str, order: str, target: Path
    ) -> None:
        """Part rows by ranges of their keys, sort each piece in memory, and put them end to end.

        DuckDB can sort what does not fit into its memory, too. What it needs then depends on how its threads
        happen to be scheduled, and at times it is more than it may use.
        """
        parted, done = self.folder / "pieces", self.folder / "sorted_pieces"
        done.mkdir(mode=0o700)
        self.local.save(f"SELECT *, ({piece})::INTEGER AS piece FROM ({rows}) r", parted, by="piece")
        for number in range(pieces):
            if (folder := parted / f"piece={number}").exists():  # of few rows none may have such a key
                found = parquet_sql(folder / "*.parquet")
                self.local.save(f"{shown} FROM {found} ORDER BY {order}", done / f"{number:06}.parquet")
                remove(folder)
        listed = ", ".join(quoted_text(str(path)) for path in sorted(done.iterdir()))
        self.local.save(f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)", target)
        remove(parted)
        remove(done)

    def _keys(self) -> str:
        """A file of 64-bit numbers from the operating system, one for each row."""
        folder = self.folder / "keys"
        folder.mkdir(mode=0o700)
        for place, first in enumerate(range(0, self.table.rows, KEYS_AT_ONCE)):
            count = min(KEYS_AT_ONCE, self.table.rows - first)
            drawn = np.frombuffer(self._entropy(8 * count), np.uint64)
            self._save("drawn_", {"key": drawn}, folder / f"{place:06}.parquet", "uncompressed")
        return parts_of(folder)

    # Rows in an order

    def _sort(self, order: RowOrder) -> None:
        folder = self.folder / "order"
        folder.mkdir(mode=0o700)
        columns = self._curve_words(order) + len(self._kept) + OTHER_COLUMNS
        check_room(folder, BYTES_A_COLUMN * columns * self.table.rows)
        for place, (first, last) in enumerate(self._pieces()):
            self._write_keys(order, first, last, folder / f"{place:06}.parquet")
        keys = [self._fields[j].read for j in order.columns]
        keys = [*(keys or (f"h{w}" for w in range(self._curve_words(order)))), "tie"]
        kept, rows = ", ".join(self._kept), f"{self.coded} POSITIONAL JOIN {parts_of(folder)}"
        if (pieces := self._pieces_to_sort(BYTES_A_CELL * columns)) > 1:
            by = ", ".join(f"o{at}" for at in range(len(keys)))
            named = ", ".join(f"{key} AS o{at}" for at, key in enumerate(keys))
            rows = f"SELECT {kept}, {named} FROM {rows}"
            piece = _piece_of(self._borders(rows, by, pieces))
            self._sort_in_pieces(rows, piece, pieces, f"SELECT {kept}", by, self._sorted)
        else:
            self.local.save(f"SELECT {kept} FROM {rows} ORDER BY {', '.join(keys)}", self._sorted)
        for path in folder.iterdir():
            path.unlink()

    def _borders(self, rows: str, by: str, pieces: int) -> list[tuple[int, ...]]:
        """Keys between which there are about equally many rows, by a sample of them."""
        share = DRAWN_A_PIECE * pieces / self.table.rows
        drawn = sorted(self.local.rows(f"SELECT {by} FROM ({rows}) r WHERE random() < {share:.12f}"))
        return drawn[:: -(-len(drawn) // pieces) or 1][1:]

    def _pieces(self) -> Iterator[tuple[int, int]]:
        rows = self.table.rows
        return pairwise([*range(0, rows, ROWS_AT_ONCE), rows])

    def _write_keys(self, order: RowOrder, first: int, last: int, path: Path) -> None:
        """What rows are sorted by: their words on the curve, and a number from the operating system."""
        drawn = np.frombuffer(self._entropy(8 * (last - first)), np.uint64)
        columns: dict[str, NDArray[Any]] = {"tie": drawn}
        if order.bits:
            words = np.zeros((self._curve_words(order), last - first), np.int64)
            found = self._piece(self.folder / "coded.parquet", ", ".join(self._words), first, last)
            codes = self._unpacked([found[word].astype(np.int64, copy=False) for word in self._words])
            hilbert.curve_words(codes, order.bits, words)
            columns |= {f"h{w}": word for w, word in enumerate(words)}
        self._save("order_", columns, path, "uncompressed")


def _piece_of(borders: Sequence[tuple[int, ...]], first: int = 0) -> str:
    """The number of the piece between borders that keys o0, o1, … are in, as SQL.

    Examples
    --------
    >>> _piece_of([(3, 5)])
    'CASE WHEN (o0 < 3 OR o0 = 3 AND (o1 < 5)) THEN 0 ELSE 1 END'
    """
    if not borders:
        return str(first)
    middle = len(borders) // 2
    before, after = _piece_of(borders[:middle], first), _piece_of(borders[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {_below(borders[middle])} THEN {before} ELSE {after} END"


def _below(border: Sequence[int], at: int = 0) -> str:
    """Do keys o0, o1, … come before a border, compared one after the other?"""
    here = f"o{at} < {border[at]}"
    return (
        f"({here})"
        if at + 1 == len(border)
        else f"({here} OR o{at} = {border[at]} AND {_below(border, at + 1)})"
    )
