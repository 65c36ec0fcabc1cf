"""Sorted rows of an engine, in files of the private folder: read piece by piece, and labelled in their order.

Whatever engine has sorted them, DuckDB beside the program reads the pieces that kernels cut, and puts what
was decided beside the rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import ClassCells, SampledRows
from incrowd.engines.ordered import LabelledRows, RowOrder
from incrowd.engines.session import parquet_sql, quoted_text, remove
from incrowd.engines.sql_engine import SqlEngine
from incrowd.engines.writing import write_witness
from incrowd.flow import Codes

WORD = 63  # bits of the curve in one number
ROWS_AT_ONCE = 1_000_000


class SortingEngine(SqlEngine):
    """An `OrderedEngine`: after sorting, rows have their class by their place, else by their codes."""

    _in_order = False
    _labelled = 0
    _rings = False
    _files: Sequence[
        tuple[Path, int]
    ] = ()  # of the sorted rows, in order, with the place of the first of each

    def sort(self, order: RowOrder) -> None:
        self._sort(order)
        self._find_sorted("sorting the rows")
        remove(self.folder / "coded.parquet")
        self._in_order = True

    def _find_sorted(self, step: str) -> None:
        """The files of the sorted rows; none may be missing."""
        first, found = 0, []
        for path in sorted(self._sorted.glob("*.parquet")) if self._sorted.is_dir() else [self._sorted]:
            found.append((path, first))
            first += self.local.number(f"SELECT count(*) FROM {parquet_sql(path)}")
        self._files = found
        self._check(first, step)

    @abstractmethod
    def _sort(self, order: RowOrder) -> None:
        """Write `sorted.parquet`, a file or a folder of files whose names say their order."""

    def _curve_words(self, order: RowOrder) -> int:
        return -(-order.bits * len(self._fields) // WORD)

    def _save(
        self, name: str, columns: Mapping[str, NDArray[Any]], path: Path, compression: str = ""
    ) -> None:
        """Write arrays to a file of the private folder."""
        self.local.load(name, columns)
        self.local.save(f"SELECT * FROM {name}", path, compression=compression)
        self.local.run(f"DROP TABLE {name}")

    @property
    def _sorted(self) -> Path:
        return self.folder / "sorted.parquet"

    @property
    def _row(self) -> str:
        """All sorted rows, in order."""
        listed = ", ".join(quoted_text(str(path)) for path, _ in self._files)
        return f"read_parquet([{listed}], hive_partitioning = false)"

    def _piece(self, path: Path, shown: str, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Rows first..last-1 of one file."""
        return self.local.arrays(
            f"SELECT {shown} FROM read_parquet({quoted_text(str(path))}, file_row_number = true) "
            f"WHERE file_row_number BETWEEN {first} AND {last - 1} ORDER BY file_row_number"
        )

    def _some(self, shown: str, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Rows first..last-1 of all sorted rows."""
        ends = [start for _, start in self._files[1:]] + [self.table.rows]
        found = [
            self._piece(path, shown, max(first, start) - start, min(last, end) - start)
            for (path, start), end in zip(self._files, ends, strict=True)
            if start < last and first < end
        ]
        return {name: np.concatenate([piece[name] for piece in found]) for name in found[0]}

    def codes(self, first: int, last: int) -> Codes:
        found = self._some(", ".join(self._words), first, last)
        return self._unpacked([found[word].astype(np.int64, copy=False) for word in self._words])

    def values(self, column: str, first: int, last: int) -> Codes:
        text = f"coalesce(p{self.private.index(column)}, '')"
        found = self._some(f"hash({text}) AS h", first, last)["h"]
        return np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.int32)

    def guarded(self, place: int, first: int, last: int) -> Codes:
        return self._some(f"s{place}", first, last)[f"s{place}"].astype(np.int32, copy=False)

    def regroup(self, groups: Codes) -> None:
        """By DuckDB beside the program, whatever engine has sorted them: groups come from there, too."""
        folder, target = self.folder / "groups", self.folder / "grouped.parquet"
        folder.mkdir(mode=0o700)
        for first in range(0, groups.size, ROWS_AT_ONCE):
            some = groups[first : first + ROWS_AT_ONCE]
            self._save("groups_", {"group_": some}, folder / f"{first:012}.parquet", "uncompressed")
        self.local.save(
            f"SELECT {', '.join(self._kept)} FROM {self._row} POSITIONAL JOIN {parts_of(folder)} "
            "ORDER BY group_",
            target,
        )
        remove(folder)
        remove(self._sorted)
        target.rename(self._sorted)
        self._find_sorted("sorting the rows by their groups")

    @property
    def _kept(self) -> list[str]:
        """The columns of a sorted row: codes of quasi-identifiers, those that guard cuts, private texts."""
        guarding = [f"s{place}" for place in range(self._values)]
        return [*self._words, *guarding, *(f"p{place}" for place in range(len(self.private)))]

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
        return f"{self._row} POSITIONAL JOIN {parts_of(self.folder / 'labels')}"

    def sample(self, about: int) -> SampledRows:
        if not self._in_order:
            return super().sample(about)
        return self._sampled("{} s", f"(SELECT * FROM {self._placed})", about, self.local)

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
        remove(self._sorted)
        for path in (self.folder / "labels").glob("*.parquet"):
            path.unlink()


def parts_of(folder: Path) -> str:
    """Files whose names say their order, one after the other."""
    return parquet_sql(folder / "*.parquet")
