"""Who has no row: people who are known to be in the table and fit no published row were left out of it.

Suppression is for those whom no class can hide, or who would make the rows of others too coarse. Whoever
knows who is in the table looks for people without a row; where outliers are hidden, they are the ones who
stand out. Where quasi-identifiers alone decide, running the program again names all of them.
"""

from __future__ import annotations

import numpy as np

from incrowd.attacks.registry import AttackResult, Details, Rate, attack
from incrowd.attacks.target import NO_ROW, Flags, Ints, Target, as_they_are

KNOWS = "everyone's quasi-identifiers, and who is in the table"


@attack("suppression", 290, ("left_out",), ("left_out_again",))
def suppression(everyone: Target, again: Flags | None = None) -> tuple[AttackResult, ...]:
    """Names all who fit no row, and all who have none when the method is `again` run, without any value.

    The first certainly have none: whoever has a row fits it. Who the second are follows from what this
    adversary knows. Nothing is promised about them, so there is no bound. The guess names as many at random;
    in the control the same rows are published unchanged.
    """
    lonely = _fitting_nothing(everyone)
    first = _named("suppression", KNOWS, everyone, lonely, {"fit_no_row": int(lonely.sum())})
    if again is None:
        return (first,)
    told: Details = {"named": int(again.sum())}
    return first, _named("suppression-rerun", f"{KNOWS}; re-runs the program", everyone, again, told)


def _named(name: str, knows: str, everyone: Target, named: Flags, details: Details) -> AttackResult:
    """How many of those who were left out are among the named."""
    gone = everyone.truth < 0
    kept, left_out = np.flatnonzero(~gone), int(gone.sum())
    unchanged = Target(as_they_are(everyone.data.take(kept)), everyone.data, _rows_of(kept, gone.size))
    won, by_chance = int((named & gone).sum()), left_out * int(named.sum()) // gone.size
    control = int((_fitting_nothing(unchanged) & gone).sum())
    rates = Rate(won, left_out), Rate(by_chance, left_out), Rate(control, left_out)
    told = {"left_out": left_out, **details}
    return AttackResult(name, "presence-aware", knows, *rates, details=told)


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
