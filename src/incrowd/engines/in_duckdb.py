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
from incrowd.kernels import hilbert

KEYS_AT_ONCE = 4_000_000
ROWS_AT_ONCE = 1_000_000
BYTES_A_COLUMN = 20  # on the disk, for a row: its keys, the sorted rows, what is spilled, and the labels
OTHER_COLUMNS = 4
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
        keys, words = self._keys(), ", ".join(self._words)
        private = "".join(f", p{place}" for place in range(len(self.private)))
        if self._in_order:
            self._check(self._labelled, "cutting the sorted rows")
            rows = f"(SELECT * FROM {self._placed}) s POSITIONAL JOIN {keys}"
        else:
            keyed = f"(SELECT * FROM {self.coded} POSITIONAL JOIN {keys}) c"
            rows = f"{keyed} JOIN {self.classes} m USING ({words})"
        size = self.table.rows * (BYTES_A_KEY + BYTES_A_CELL * len(self.private))
        if (pieces := -(-size // (self._resources.for_database // 4))) > 1:
            self._shuffle_in_pieces(f"SELECT key, g{private} FROM {rows}", f"g{private}", pieces)
        else:
            self.local.save(f"SELECT g{private} FROM {rows} ORDER BY key", self._shuffled.path)
        for path in (self.folder / "keys").iterdir():
            path.unlink()

    def _shuffle_in_pieces(self, rows: str, shown: str, pieces: int) -> None:
        """Part rows by ranges of their keys, sort each piece in memory, and put them end to end.

        DuckDB can sort what does not fit into its memory, too. What it needs then depends on how its threads
        happen to be scheduled, and at times it is more than it may use.
        """
        parted, done = self.folder / "pieces", self.folder / "sorted_pieces"
        done.mkdir(mode=0o700)
        piece = f"((key >> 32) * {pieces} >> 32)::INTEGER AS piece"
        self.local.save(f"SELECT *, {piece} FROM ({rows}) r", parted, by="piece")
        for number in range(pieces):
            if (folder := parted / f"piece={number}").exists():  # of few rows none may have such a key
                found = parquet_sql(folder / "*.parquet")
                self.local.save(f"SELECT {shown} FROM {found} ORDER BY key", done / f"{number:06}.parquet")
                remove(folder)
        # What a file looks like depends on the blocks that its rows come in: in one file they are whole.
        listed = ", ".join(quoted_text(str(path)) for path in sorted(done.iterdir()))
        self.local.save(
            f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)", self._shuffled.path
        )
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
        keys = [self._fields[j].read for j in order.columns] or [
            f"h{w}" for w in range(self._curve_words(order))
        ]
        self.local.save(
            f"SELECT {', '.join(self._kept)} FROM {self.coded} POSITIONAL JOIN {parts_of(folder)} "
            f"ORDER BY {', '.join(keys)}, tie",
            self._sorted,
        )
        for path in folder.iterdir():
            path.unlink()

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
