"""Who has no row: people who are known to be in the table and fit no published row were left out of it.

Suppression is for those whom no class can hide. Whoever knows who is in the table looks for people without a
row; where outliers are hidden, they are the ones who stand out.
"""

from __future__ import annotations

import numpy as np

from incrowd.attacks.registry import AttackResult, Rate, attack
from incrowd.attacks.target import NO_ROW, Flags, Ints, Target, as_they_are

KNOWS = "everyone's quasi-identifiers, and who is in the table"


@attack("suppression", 290, ("left_out",))
def suppression(everyone: Target) -> AttackResult:
    """Names all who fit no row. They certainly have none: whoever has a row fits it.

    Nothing is promised about them, so there is no bound. The guess names as many at random; in the control
    the same rows are published unchanged.
    """
    gone = everyone.truth < 0
    kept, left_out = np.flatnonzero(~gone), int(gone.sum())
    named = _fitting_nothing(everyone)
    unchanged = Target(as_they_are(everyone.data.take(kept)), everyone.data, _rows_of(kept, gone.size))
    won, by_chance = int((named & gone).sum()), left_out * int(named.sum()) // gone.size
    control = int((_fitting_nothing(unchanged) & gone).sum())
    rates = Rate(won, left_out), Rate(by_chance, left_out), Rate(control, left_out)
    details = {"left_out": left_out, "fit_no_row": int(named.sum())}
    return AttackResult("suppression", "presence-aware", KNOWS, *rates, details=details)


def _fitting_nothing(target: Target) -> Flags:
    """Which records fit no published row."""
    graph = target.graph
    fits = np.zeros(graph.record_weight.size, np.bool_)
    fits[graph.tails[graph.real]] = True
    found: Flags = ~fits[graph.record_of]
    return found


def _rows_of(kept: Ints, size: int) -> Ints:
    """The row of each record where row i is that of the i-th who was kept."""
    truth = np.full(size, NO_ROW, np.int64)
    truth[kept] = np.arange(kept.size)
    return truth
