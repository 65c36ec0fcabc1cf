"""Re-run: whoever knows the algorithm runs it on the original, and learns whose each published row is.

References
----------
Wong, Mamoulis, Cheung, "Non-homogeneous generalization in privacy preserving data publishing", SIGMOD 2010,
section 4.2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import NO_ROW, Ints, Target, first_met
from incrowd.errors import TableError
from incrowd.measures import CellCoverage, Published


@attack("rerun", 50, ("records", "remade"))
def rerun(target: Target, remade: Published) -> AttackResult:
    """The first published row that says the same as the row that the method makes for a person.

    Parameters
    ----------
    target : Target
        The release.
    remade : Published
        What the method makes of the original: row i for record i.
    """
    if len(remade) != len(target.data):
        raise TableError("a method that is run again makes one row for each record")
    printed = replace(target, published=remade, truth=np.arange(len(remade)))
    rows = equal_rows(remade, target.published)
    alone = np.bincount(rows[rows >= 0], minlength=1) == 1
    return AttackResult(
        "rerun",
        "algorithm-aware",
        "everyone's quasi-identifiers, and the method with its options",
        target.won(rows),
        target.guess(),
        printed.won(equal_rows(remade, remade)),
        target.bound,
        {
            "persons_whose_row_is_there": int((rows >= 0).sum()),
            "persons_with_a_row_of_their_own": int(alone.sum()),
        },
    )


def equal_rows(remade: Published, published: Published) -> Ints:
    """For each row of one table the first row of another that says the same, -1 if there is none."""
    pairs = zip(remade.rows, published.rows, remade.cells, published.cells, strict=True)
    both = [np.concatenate([_translated(cells, shown)[mine], theirs]) for mine, theirs, cells, shown in pairs]
    stacked = np.stack(both, axis=1)
    of = np.unique(stacked, axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = of[: len(remade)], of[len(remade) :]
    first = first_met(theirs, int(of.max(initial=-1)) + 1)
    rows = first[mine]
    return np.where(rows < len(published), rows, NO_ROW)


def _translated(cells: CellCoverage, shown: CellCoverage) -> Ints:
    """Each cell's number among the other table's cells, -1 if none of them says the same."""
    known: dict[tuple[object, ...], int] = {}
    for cell in range(len(shown)):
        known.setdefault(_meaning(shown, cell), int(shown.same[cell]))
    return np.array([known.get(_meaning(cells, cell), NO_ROW) for cell in range(len(cells))], dtype=np.int64)


def _meaning(cells: CellCoverage, cell: int) -> tuple[object, ...]:
    runs = slice(cells.starts[cell], cells.starts[cell + 1])
    ends = (float(cells.lower[cell]), float(cells.upper[cell]))
    return (*cells.first[runs].tolist(), -1, *cells.last[runs].tolist(), *ends)
