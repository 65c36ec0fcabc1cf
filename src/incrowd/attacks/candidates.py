"""Linkage: naming a row among the candidates of a person, by degree, matching and probability.

References
----------
Gionis, Mazza, Tassa, "k-Anonymization revisited", ICDE 2008, section IV: the first and the second adversary.
Wong, Mamoulis, Cheung, "Non-homogeneous generalization in privacy preserving data publishing", SIGMOD 2010,
section 4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Edges, Ints, Target
from incrowd.contracts import Progress, silent
from incrowd.graph import Chances, chances

PROSECUTOR = "prosecutor"  # knows that the victim is in the table
QUASI_IDENTIFIERS = "everyone's quasi-identifiers"
MEMBERS = "everyone's quasi-identifiers, and who is in the table"


@attack("order", 10, ("release",))
def order(target: Target) -> AttackResult:
    """Row i is about record i: succeeds where rows were published in the order of the original."""
    n = len(target.data)
    return AttackResult(
        "order",
        "unsorted matching",
        "the original in its order",
        target.guess(),
        target.won(np.arange(n)[::-1]),
        target.control.guess(),
        target.bound,
    )


@attack("degree", 20, ("records",))
def degree(target: Target) -> AttackResult:
    """A row among those whose cells hold the person."""
    return _first_of("degree", PROSECUTOR, QUASI_IDENTIFIERS, target, lambda at: at.graph.real)


@attack("matching", 30, ("records",))
def matching(target: Target) -> AttackResult:
    """A row among those that the person can be behind while everybody else has a row too."""
    return _first_of("matching", "second adversary", MEMBERS, target, lambda at: at.found.effective)


@attack("probability", 40, ("records",), watched=True)
def probability(target: Target, progress: Progress = silent) -> AttackResult:
    """The row that the person is most likely behind, if all assignments are equally likely."""
    found = chances(target.graph, target.found, progress=progress)
    won, control = target.won(likeliest(target, found)), _control_of_likeliest(target.control)
    likely = _likely(target, found)
    return AttackResult(
        "probability", "random worlds", MEMBERS, won, target.guess(), control, target.bound, likely
    )


def likeliest(target: Target, found: Chances) -> Ints:
    """For each record the likeliest row, the first of equally likely ones; -1 if it has none."""
    graph = target.graph
    edges = np.flatnonzero(graph.real & (found.value > 0))
    tails, first = graph.tails[edges], target.first[graph.indices[edges]]
    # Equal fractions may be floats that differ in their last digit: they are equally likely all the same.
    chance = np.round(found.value[edges], 12)
    ranked = np.lexsort((first, -chance, tails))
    leads = ranked[np.flatnonzero(np.diff(tails[ranked], prepend=-1))]
    best = np.full(graph.record_weight.size, -1, dtype=np.int64)
    best[tails[leads]] = first[leads]
    return best[graph.record_of]


def _control_of_likeliest(control: Target) -> Rate:
    return control.won(likeliest(control, chances(control.graph, control.found)))


def _first_of(
    name: str, adversary: str, knows: str, target: Target, rule: Callable[[Target], Edges]
) -> AttackResult:
    control = target.control
    return AttackResult(
        name,
        adversary,
        knows,
        target.won(target.named(rule(target))),
        target.guess(),
        control.won(control.named(rule(control))),
        target.bound,
        _counted(target, rule(target)),
    )


def _counted(target: Target, edges: Edges) -> dict[str, int | float | str]:
    """How many rows people have, and rows people."""
    graph, k = target.graph, target.k
    tally = graph.tally(edges)
    persons, rows = tally.records[graph.record_of], tally.rows[graph.row_of]
    counts: dict[str, int | float | str] = {
        "fewest_candidates": int(persons.min()) if persons.size else 0,
        "persons_with_one": int((persons == 1).sum()),
    }
    if k is not None:
        counts["persons_below_k"] = int((persons < k).sum())
        counts["rows_below_k"] = int((rows < k).sum())
    return counts


def _likely(target: Target, found: Chances) -> dict[str, int | float | str]:
    """How likely the likeliest match is, and how many persons have one above what was promised."""
    details: dict[str, int | float | str] = {}
    if found.worst is not None:
        details["largest_posterior"] = found.worst.value
        details["largest_posterior_low"], details["largest_posterior_high"] = (
            found.worst.low,
            found.worst.high,
        )
    if target.k is not None:
        graph = target.graph
        above = (found.value - found.spread > 1 / target.k + 1e-12) & graph.real
        records = np.zeros(graph.record_weight.size, np.bool_)
        records[graph.tails[above]] = True
        details["persons_above_1_in_k"] = int(records[graph.record_of].sum())
    details["persons_sampled"], details["persons_left_open"] = found.sampled, found.open
    return details
