"""The engine that comes with incrowd: DuckDB, inside this process; it also sorts all rows, on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import ClassCells, SampledRows
from incrowd.engines.ordered import LabelledRows, RowOrder
from incrowd.engines.resources import Resources, check_room
from incrowd.engines.session import duck_session, parquet_sql, quoted_text
from incrowd.engines.sql_engine import SqlEngine
from incrowd.engines.table_files import TableFiles
from incrowd.engines.writing import write_witness
from incrowd.flow import Codes
from incrowd.kernels import hilbert

KEYS_AT_ONCE = 4_000_000
ROWS_AT_ONCE = 1_000_000
BYTES_A_COLUMN = 20  # on the disk, for a row: its keys, the sorted rows, what is spilled, and the labels
OTHER_COLUMNS = 4
WORD = 63  # bits of the curve in one number


@contextmanager
def duck_engine(
    files: TableFiles,
    work: Path,
    folders: Sequence[Path],
    resources: Resources,
    wanted: Sequence[str],
    beside: Sequence[TableFiles] = (),
) -> Iterator[DuckEngine]:
    """An engine that may read the table and those beside it, and touch these folders and its own, `work`."""
    attached = files.files[0] if files.kind == "duckdb" else None
    reading = [*(() if attached else files.files), *(path for each in beside for path in each.files)]
    with duck_session(work, resources, reading, folders, attached) as session:
        yield DuckEngine(session, session, files, work, resources, wanted)


class DuckEngine(SqlEngine):
    """An `OrderedEngine` over a DuckDB session.

    After sorting, rows have their class by their place in the sorted row, else by their codes.
    """

    _in_order = False
    _labelled = 0
    _rings = False

    def _shuffle(self) -> None:
        keys, words = self._keys(), ", ".join(self._words)
        private = "".join(f", p{place}" for place in range(len(self.private)))
        if self._in_order:
            self._check(self._labelled, "cutting the sorted rows")
            rows = f"(SELECT * FROM {self._placed}) s POSITIONAL JOIN {keys}"
        else:
            keyed = f"(SELECT * FROM {self.coded} POSITIONAL JOIN {keys}) c"
            rows = f"{keyed} JOIN {self.classes} m USING ({words})"
        self.local.save(f"SELECT g{private} FROM {rows} ORDER BY key", self._shuffled.path)
        for path in (self.folder / "keys").iterdir():
            path.unlink()

    def _keys(self) -> str:
        """A file of 64-bit numbers from the operating system, one for each row."""
        folder = self.folder / "keys"
        folder.mkdir(mode=0o700)
        for place, first in enumerate(range(0, self.table.rows, KEYS_AT_ONCE)):
            count = min(KEYS_AT_ONCE, self.table.rows - first)
            drawn = np.frombuffer(self._entropy(8 * count), np.uint64)
            self._save("drawn_", {"key": drawn}, folder / f"{place:06}.parquet", "uncompressed")
        return _parts(folder)

    def _save(
        self, name: str, columns: Mapping[str, NDArray[Any]], path: Path, compression: str = ""
    ) -> None:
        """Write arrays to a file of the private folder."""
        self.local.load(name, columns)
        self.local.save(f"SELECT * FROM {name}", path, compression=compression)
        self.local.run(f"DROP TABLE {name}")

    # Rows in an order

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
        self.local.save(
            f"SELECT {shown} FROM {self.coded} POSITIONAL JOIN {_parts(folder)} "
            f"ORDER BY {', '.join(keys)}, tie",
            self._sorted,
        )
        self._check(self.local.number(f"SELECT count(*) FROM {self._row}"), "sorting the rows")
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
        self._save("order_", columns, path, "uncompressed")

    @property
    def _sorted(self) -> Path:
        return self.folder / "sorted.parquet"

    @property
    def _row(self) -> str:
        return parquet_sql(self._sorted)

    def _some(self, path: Path, shown: str, first: int, last: int) -> dict[str, NDArray[Any]]:
        return self.local.arrays(
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
        path = folder / f"{self._labelled:012}.parquet"
        self._save("labels_", {"g": rows.classes, **rows.rings}, path)
        self._labelled += rows.classes.size

    @property
    def _placed(self) -> str:
        """The sorted rows beside what was decided on them."""
        return f"{self._row} POSITIONAL JOIN {_parts(self.folder / 'labels')}"

    def sample(self, about: int) -> SampledRows:
        if not self._in_order:
            return super().sample(about)
        return self._sampled("{} s", f"(SELECT * FROM {self._placed})", about)

    def witness(self, classes: ClassCells, target: Path) -> None:
        """Which records are in which class, and how many; of rings, what each part has at each place."""
        if not self._in_order:
            return super().witness(classes, target)
        codes = ", ".join(f"{each.read} AS q{j}" for j, each in enumerate(self._fields))
        private = [f"p{place}" for place in range(len(self.private))]
        if self._rings:
            more = ["part", "place", "behind", *private]
            decoded = f"(SELECT {codes}, own AS g, {', '.join(more)} FROM {self._placed}) d"
            return write_witness(self.local, classes, decoded, target, more, ("part", "place"))
        shown = "".join(f", {name}" for name in private)
        decoded = f"(SELECT {codes}, g{shown}, count(*) AS n FROM {self._placed} GROUP BY ALL) d"
        return write_witness(self.local, classes, decoded, target, [*private, "n"])

    def forget(self) -> None:
        super().forget()
        self._sorted.unlink(missing_ok=True)
        for path in (self.folder / "labels").glob("*.parquet"):
            path.unlink()


def _parts(folder: Path) -> str:
    """Files whose names say their order, one after the other."""
    return parquet_sql(folder / "*.parquet")
