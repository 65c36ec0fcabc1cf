"""How it is known who is behind which row, so that attacks can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.target import Ints, Target
from incrowd.flow import Table, TextColumn


def alone_in_both(table: Table, shown: Table, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Records and rows whose private part nobody else has, in the same order."""
    columns = [_joint_codes(table.column(name), shown.column(name)) for name in names]
    of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = of[: len(table)], of[len(table) :]
    size = int(of.max(initial=-1)) + 1
    once = (np.bincount(mine, minlength=size) == 1) & (np.bincount(theirs, minlength=size) == 1)
    records, rows = np.flatnonzero(once[mine]), np.flatnonzero(once[theirs])
    return records[np.argsort(mine[records])], rows[np.argsort(theirs[rows])]


def _joint_codes(mine: TextColumn, theirs: TextColumn) -> Ints:
    """Both columns numbered alike, one after the other; an empty cell is a gap."""
    number: dict[str, int] = {}
    codes = [
        np.array([number.setdefault(text or "", len(number)) for text in column.texts], dtype=np.int64)
        for column in (mine, theirs)
    ]
    return np.concatenate([codes[0][mine.codes], codes[1][theirs.codes]])


def fitting(target: Target, behind: NDArray[Any]) -> bool:
    """Can these be the records behind the rows: one for each row, each another, and each inside its row?"""
    if behind.shape != (len(target.published),) or behind.dtype != np.int64:
        return False
    if np.unique(behind).size != behind.size or behind.min(initial=0) < 0:
        return False
    if behind.max(initial=-1) >= len(target.data):
        return False
    graph = target.graph
    return bool((graph.edge(graph.record_of[behind], graph.row_of) >= 0).all())
