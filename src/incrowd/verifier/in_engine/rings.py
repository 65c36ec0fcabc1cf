"""Rings, where both tables are in a database: the witness says which records stand in which ring, and where.

Each line is one place of one ring: the record that stands there, the row that was made there, and at which
place of the ring the record stands that is behind this row. Nothing of it is trusted. Every place of a ring
is there once, and so is every record behind a row; together they are the records of the original and the rows
of the release, none twice. That every row holds the k records that stand from its place on shows a k-factor:
everybody is in exactly k rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.in_engine.parted import PartedTruth
from incrowd.verifier.in_engine.ranked_columns import ClassWitness

PLACES = ("part", "place", "behind")
ROWS_AT_ONCE = 500_000
IN_MEMORY = "the rings of the witness do not show it; verify in memory"


class RingTruth(PartedTruth):
    """The table ring_ of all places, and the table witness_ that follows from it."""

    def check_witness(self, witness: ClassWitness) -> None:
        session, d = self._session, self._columns
        self._read_lines(witness, ", ".join(f"TRY_CAST(w.{name} AS BIGINT) AS {name}" for name in PLACES))
        session.run("CREATE OR REPLACE TEMP TABLE ring_ AS SELECT * FROM lines_ ORDER BY part, place")
        session.run("DROP TABLE lines_")
        self._check_places()
        values = ", ".join([*(f"b.v{j}" for j in d), *(f"b.{name}" for name in self._parts.names("p"))])
        session.run(
            f"CREATE OR REPLACE TEMP TABLE behind_ AS SELECT {', '.join(f'a.c{j}' for j in d)}, {values} "
            "FROM ring_ a JOIN ring_ b ON b.part = a.part AND b.place = a.behind"
        )
        for j in d:
            self._check_held(j, f"SELECT v{j} AS v, c{j} AS c FROM behind_")
        session.run(
            f"CREATE OR REPLACE TEMP TABLE witness_ AS SELECT {self._ranks_of()}, {self._cells_of()}"
            f"{self._and_parts}, count(*) AS n FROM behind_ GROUP BY ALL"
        )
        session.run("DROP TABLE behind_")

    def _check_places(self) -> None:
        """The places of each ring are 0, 1, … without gaps, each once; and so are those of who is behind."""
        session = self._session
        for name in PLACES:
            none = session.number(f"SELECT count(*) FROM ring_ WHERE {name} IS NULL")
            require(not none, f"{none} lines of the witness have no {name}")
        for name in ("place", "behind"):
            torn = session.number(
                f"SELECT count(*) FROM (SELECT part FROM ring_ GROUP BY part "
                f"HAVING min({name}) <> 0 OR max({name}) <> count(*) - 1)"
            )
            twice = session.number(
                f"SELECT count(*) FROM (SELECT part FROM ring_ GROUP BY part, {name} HAVING count(*) > 1)"
            )
            require(
                not torn and not twice, f"{torn + twice} rings of the witness are torn, or name a place twice"
            )

    def shows_factor(self, k: int) -> bool:
        """Does every row hold the k records that stand from its place on, around the ring?"""
        found = self._session.arrays("SELECT part, count(*) AS n FROM ring_ GROUP BY part ORDER BY part")
        part, size = found["part"].astype(np.int64), found["n"].astype(np.int64)
        if k < 1 or not size.size or int(size.min()) < k:
            return False
        return all(self._pieces_hold(k, *piece) for piece in _pieces(part, size))

    def _pieces_hold(self, k: int, first: int, last: int, size: Ints) -> bool:
        shown = ", ".join(f"v{j}, c{j}" for j in self._columns)
        found = self._session.arrays(
            f"SELECT {shown} FROM ring_ WHERE part BETWEEN {first} AND {last} ORDER BY part, place"
        )
        ranks = [found[f"v{j}"].astype(np.int64) for j in self._columns]
        cells = [found[f"c{j}"].astype(np.int64) for j in self._columns]
        start = np.repeat(np.cumsum(size) - size, size)
        around, place = np.repeat(size, size), np.arange(start.size) - start
        for step in range(k):
            member = start + (place + step) % around
            for each, cell, rank in zip(self._quasi, cells, ranks, strict=True):
                if not each.regions.hold(cell, rank[member]).all():
                    return False
        return True


def _pieces(part: Ints, size: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Rings, some at a time: the numbers of the first and the last, and the size of each."""
    piece = np.cumsum(size) // ROWS_AT_ONCE
    for own in np.split(np.arange(part.size), np.flatnonzero(np.diff(piece)) + 1):
        yield int(part[own[0]]), int(part[own[-1]]), size[own]


class WitnessedRings:
    """In the place of the consistency graph of all rows, which would not fit: do rings show a k-factor?"""

    def __init__(self, truth: RingTruth) -> None:
        self._truth = truth
        self._known: dict[int, bool] = {}

    def witnessed(self, k: int) -> bool:
        if k not in self._known:
            self._known[k] = self._truth.shows_factor(k)
        return self._known[k]

    def __getattr__(self, name: str) -> Any:
        """Everything else would take the graph."""
        raise CheckFailed(IN_MEMORY)
