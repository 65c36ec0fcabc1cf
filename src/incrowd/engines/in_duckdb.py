"""The engine that comes with incrowd: DuckDB, inside this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from incrowd.engines.resources import Resources
from incrowd.engines.session import duck_session, parquet_sql
from incrowd.engines.sql_engine import SqlEngine
from incrowd.engines.table_files import TableFiles

KEYS_AT_ONCE = 4_000_000


@contextmanager
def duck_engine(
    files: TableFiles, work: Path, folders: Sequence[Path], resources: Resources, wanted: Sequence[str]
) -> Iterator[DuckEngine]:
    """An engine that may read the table and touch these folders and its private one, `work`."""
    attached = files.files[0] if files.kind == "duckdb" else None
    reading = () if attached else files.files
    with duck_session(work, resources, reading, folders, attached) as session:
        yield DuckEngine(session, session, files, work, resources, wanted)


class DuckEngine(SqlEngine):
    """An `Engine` over a DuckDB session."""

    def _shuffle(self) -> None:
        keys, words = self._keys(), ", ".join(self._words)
        private = "".join(f", p{place}" for place in range(len(self.private)))
        self.session.save(
            f"SELECT g{private} FROM (SELECT * FROM {self.coded} POSITIONAL JOIN {keys}) c "
            f"JOIN {self.classes} m USING ({words}) ORDER BY key",
            self._shuffled.path,
        )
        for path in (self.folder / "keys").iterdir():
            path.unlink()

    def _keys(self) -> str:
        """A file of 64-bit numbers from the operating system, one for each row."""
        folder = self.folder / "keys"
        folder.mkdir(mode=0o700)
        for place, first in enumerate(range(0, self.table.rows, KEYS_AT_ONCE)):
            count = min(KEYS_AT_ONCE, self.table.rows - first)
            drawn = np.frombuffer(self._entropy(8 * count), np.uint64)
            self.local.load("drawn_", {"key": drawn})
            self.local.save(
                "SELECT * FROM drawn_", folder / f"{place:06}.parquet", compression="uncompressed"
            )
        self.local.run("DROP TABLE drawn_")
        return parquet_sql(folder / "*.parquet")
