"""Rows that have a label: the number of a person, or that of a cohort, by which they get their class.

What others decide by codes alone, a series decides by people: equal records may be in different classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import ClassCells
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.ordered import whole_parts
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, parquet_sql
from incrowd.engines.table_files import TableFiles, TextTable
from incrowd.engines.writing import write_classes
from incrowd.flow import Codes

Ints = NDArray[np.int64]
LABEL = "label_"  # the column of the table that holds it, a whole number of at least 0


class LabelledEngine(DuckEngine):
    """An engine over a table whose rows have labels; after `assign_labels` these give them their classes."""

    row_number = LABEL

    def __init__(
        self, session: DuckSession, files: TableFiles, folder: Path, resources: Resources, table: TextTable
    ) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        super().__init__(session, session, files, folder, resources, ())
        self.table = table
        self._by_label = False

    def labelled(self, sizes: Ints, most: int) -> Iterator[tuple[Codes, Codes]]:
        """All rows, those of whole labels together, at most so many at once -> label and codes of each.

        ``sizes[label]`` says how many rows have a label.
        """
        starts = np.concatenate([[0], np.cumsum(sizes)])
        shown, done = ", ".join([LABEL, *self._words]), 0
        for first, last in whole_parts(starts, most):
            found = self.local.arrays(
                f"SELECT {shown} FROM {self.coded} WHERE {LABEL} BETWEEN {first} AND {last - 1}"
            )
            words = [found[word].astype(np.int64, copy=False) for word in self._words]
            done += words[0].size
            yield found[LABEL].astype(np.int32), self._unpacked(words)
        self._check(done, "reading the rows of each class")

    def coded_rows(self) -> tuple[Codes, Codes, tuple[Codes, ...]]:
        """All rows: label, codes and sensitive codes; for few of them."""
        values = [f"s{place}" for place in range(self._values)]
        found = self.local.arrays(f"SELECT {', '.join([LABEL, *self._words, *values])} FROM {self.coded}")
        codes = self._unpacked([found[word].astype(np.int64, copy=False) for word in self._words])
        return found[LABEL].astype(np.int32), codes, tuple(found[name].astype(np.int32) for name in values)

    def classes_of_labels(self) -> str:
        """Where each label's class is that `assign` was told of its codes: a relation of label and g."""
        return f"{self.coded} c JOIN {super().classes} m USING ({super()._class_key})"

    def assign_labels(self, classes: Codes) -> None:
        """The class of each label."""
        labels = np.arange(classes.size, dtype=np.int32)
        self._save("labels_of", {LABEL: labels, "g": classes}, self.folder / "labelled.parquet")
        self._by_label = True

    @property
    def _class_key(self) -> str:
        return LABEL if self._by_label else super()._class_key

    @property
    def classes(self) -> str:
        return parquet_sql(self.folder / "labelled.parquet") if self._by_label else super().classes

    def witness(self, classes: ClassCells, target: Path) -> None:
        """The cells of each label: who has which label, the ledger says."""
        write_classes(self.local, classes, self.classes, LABEL, target)


def filled(table: TextTable, relation: str, names: Sequence[str], rows: int) -> TextTable:
    """Some rows of a table, with gaps as empty texts; `relation` has the columns of the other."""
    return FilledTable(
        table.names, relation, table.types, rows, [], dict(table.looked_up), frozenset(names), table.called
    )


class FilledTable(TextTable):
    """A table whose gaps are empty texts, as in the files of a ledger."""

    def text(self, name: str) -> str:
        return f"coalesce({super().text(name)}, '')"
