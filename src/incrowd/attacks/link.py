"""Linking: joining a table with a public list that names people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from incrowd.errors import TableError, unknown
from incrowd.flow import Table


def joined(public: Table, released: Table, on: Sequence[str]) -> list[tuple[int, int]]:
    """Rows of the public list that have exactly one equal row in the released table, with that row.

    Each such person is re-identified: this is the attack that k-anonymity answers.

    Examples
    --------
    >>> voters = Table.of({"name": ["Lee", "Zan"], "age": ["35", "38"]})
    >>> patients = Table.of({"age": ["35", "36", "36"], "disease": ["flu", "cold", "flu"]})
    >>> joined(voters, patients, ["age"])
    [(0, 0)]
    """
    for table, what in ((public, "in the public list"), (released, "in the released table")):
        lacking = [name for name in on if name not in table.names]
        if lacking:
            raise TableError(unknown(what, lacking, table.names))
    there = defaultdict(list)
    for row, key in enumerate(_keys(released, on)):
        there[key].append(row)
    found = [(person, there.get(key, [])) for person, key in enumerate(_keys(public, on))]
    return [(person, rows[0]) for person, rows in found if len(rows) == 1]


def _keys(table: Table, on: Sequence[str]) -> list[tuple[str | None, ...]]:
    return list(zip(*(table.column(name).rows() for name in on), strict=True))
