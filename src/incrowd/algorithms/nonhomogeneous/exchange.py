"""Exchanges: k-regular neighbourhoods made cheaper by local search.

Rows that lie near each other exchange members. After every single exchange each row is still over k records,
its own among them, and everyone is still in k rows, so the search can end anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.costs import Priced
from incrowd.flow import Codes, Neighbourhoods
from incrowd.kernels import boxtree, exchange
from incrowd.long_work import Progress, silent

SWEEPS, TURNS = 8, 3  # orders of the rows, and how often members are handed out in each
ENOUGH = 0.001  # a sweep that saves less than this share is the last
AT_ONCE = 1 << 13  # rows between two places where one could end


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Rows over k records each, in hand; k >= 2."""

    table: Priced
    rows: exchange.Rows
    desk: exchange.Desk

    @classmethod
    def of(cls, table: Priced, members: Codes) -> Exchange:
        """Begin with these members (n, k) of each row, its own record first."""
        n, k = members.shape
        rows = exchange.Rows(np.ascontiguousarray(table.codes), members.astype(np.int32), np.zeros(n))
        desk = exchange.desk_for(n, k, table.codes.shape[1])
        exchange.price_all(rows, desk, table.costs)
        return cls(table, rows, desk)

    @property
    def cost(self) -> float:
        """What all rows cost together."""
        return float(self.rows.cost.sum())

    def run(self, progress: Progress = silent) -> float:
        """Exchange until a sweep saves little -> what was saved."""
        saved = 0.0
        for sweep in range(SWEEPS):
            before, here = self.cost, sum(self.steps(sweep))
            saved += here
            progress((sweep + 1) / SWEEPS)
            if here <= ENOUGH * before:
                break
        return saved

    def steps(self, sweep: int) -> Iterator[float]:
        """One sweep, piece by piece: what each saved."""
        order, half = self._order(sweep), exchange.BLOCK // 2
        pieces = [order[first : first + AT_ONCE] for first in range(0, order.size, AT_ONCE)]
        for piece in pieces:
            for turn in range(TURNS * sweep, TURNS * (sweep + 1)):  # blocks overlap from turn to turn
                shift = half * (turn % 2)
                yield float(
                    exchange.hand_out_all(-shift, piece, turn, self.rows, self.desk, self.table.costs)
                )
            yield float(exchange.swap_all(piece, self.rows, self.desk, self.table.costs))

    def _order(self, sweep: int) -> NDArray[np.int64]:
        """The rows such that near ones stand together.

        Who is near whom has many answers: own records and middles of rows by turns, and every time without
        another column.
        """
        about, d = self.rows.codes, self.rows.codes.shape[1]
        if sweep % 2:
            about = np.empty_like(about)
            exchange.middles(self.rows, about)
        columns = [j for j in range(d) if j != sweep % d or d == 1]
        return boxtree.build(about[:, columns]).order.astype(np.int64)

    def neighbourhoods(self) -> Neighbourhoods:
        n, k = self.rows.members.shape
        return Neighbourhoods(np.arange(n + 1) * k, np.sort(self.rows.members, axis=1).ravel())
