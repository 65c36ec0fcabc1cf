"""The table of sensitive values in buckets, as Anatomy publishes it: group, value, count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Table, TextColumn

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BucketTable:
    """The lines of the table: ``count[i]`` people of bucket ``group[i]`` have the values of line i.

    Buckets are numbered by their places in ``names``, the texts under which rows name them.
    """

    names: tuple[str | None, ...]
    group: Ints
    count: Ints
    values: Mapping[str, TextColumn]

    @classmethod
    def read(cls, table: Table, names: Sequence[str | None] | None = None) -> BucketTable:
        """Read the table; without `names`, buckets are numbered as it names them.

        Examples
        --------
        >>> table = Table.of({"group": ["2", "1", "1"], "ill": ["A", "A", "B"], "count": ["2", "1", "3"]})
        >>> BucketTable.read(table, ("1", "2")).people.tolist()
        [4, 2]
        """
        try:
            said, counts = table.column("group"), table.column("count")
            known = tuple(said.texts if names is None else names)
            place = {name: number for number, name in enumerate(known)}
            group = np.array([place[text] for text in said.texts], np.int64)[said.codes]
            count = np.array([_count(text) for text in counts.texts], np.int64)[counts.codes]
        except (KeyError, ValueError, OverflowError):
            raise TableError("the table of sensitive values does not fit the rows of the release") from None
        values = {name: table.column(name) for name in table.names if name not in ("group", "count")}
        return cls(known, group, count, values)

    @property
    def people(self) -> Ints:
        """How many people each bucket has."""
        return np.bincount(self.group, self.count, len(self.names)).astype(np.int64)


def _count(text: str | None) -> int:
    count = int(text or "")
    if count < 1:
        raise ValueError("nobody")
    return count
