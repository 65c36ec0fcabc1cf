"""What a report reads of published rows: in memory, or counted by DuckDB where they do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from incrowd.engines.counted import CodedRows, CountedTable
from incrowd.flow import Table
from incrowd.measures.counted import TextCounts
from incrowd.measures.published import ClassSizes
from incrowd.release.folder import ReleaseFolder
from incrowd.reports import released
from incrowd.reports.released import CountedTexts

SAMPLE = 200_000  # rows among which examples are chosen


class ReportedRows(Protocol):
    """Published rows by column, and by equivalence class."""

    @property
    def names(self) -> Sequence[str]: ...

    def __len__(self) -> int: ...

    def column(self, name: str) -> CountedTexts: ...

    def sizes(self, quasi: Sequence[str]) -> ClassSizes: ...

    def values_by_class(self, quasi: Sequence[str], name: str) -> Mapping[str, int]: ...

    def examples(self) -> Table:
        """Rows among which examples are chosen."""
        ...


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """All rows of a release."""

    table: Table

    @classmethod
    def of(cls, folder: ReleaseFolder) -> RowsInMemory:
        return cls(folder.rows)

    @property
    def names(self) -> Sequence[str]:
        return self.table.names

    def __len__(self) -> int:
        return len(self.table)

    def column(self, name: str) -> CountedTexts:
        return self.table.column(name)

    def sizes(self, quasi: Sequence[str]) -> ClassSizes:
        return ClassSizes.of(released.classes_of(quasi, self.table)[1])

    def values_by_class(self, quasi: Sequence[str], name: str) -> Mapping[str, int]:
        return released.values_by_class(*released.classes_of(quasi, self.table), self.table.column(name))

    def examples(self) -> Table:
        return self.table


@dataclass(eq=False)
class RowsCounted:
    """Rows that stay where they are. Examples are among the first, since rows stand in random order."""

    rows: CountedTable
    published: Sequence[str]

    @property
    def names(self) -> Sequence[str]:
        return self.rows.names

    def __len__(self) -> int:
        return self.rows.rows

    def column(self, name: str) -> CountedTexts:
        found = self.rows.texts(name)
        return TextCounts(found.texts, found.counts)

    @cached_property
    def _coded(self) -> CodedRows:
        return self.rows.coded([self.rows.lookup(name) for name in self.published], "reported")

    def sizes(self, quasi: Sequence[str]) -> ClassSizes:
        return ClassSizes(*self._coded.class_sizes(self._places(quasi)))

    def values_by_class(self, quasi: Sequence[str], name: str) -> Mapping[str, int]:
        fewest, alone = self._coded.values_by_class(self._places(quasi), self.published.index(name))
        return {"fewest_values": fewest, "rows_with_one_value": alone}

    def _places(self, names: Sequence[str]) -> list[int]:
        return [self.published.index(name) for name in names]

    def examples(self) -> Table:
        return self.rows.first(self.published, SAMPLE)
