"""Linkage: naming a row among a person's candidates, by degree, matching, probability, or by a re-run.

Whoever knows the algorithm runs it again on the original, and learns whose each published row is.

References
----------
Gionis, Mazza, Tassa, "k-Anonymization revisited", ICDE 2008, section IV: the first and the second adversary.
Wong, Mamoulis, Cheung, "Non-homogeneous generalization in privacy preserving data publishing", SIGMOD 2010,
section 4; re-run: section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from incrowd.attacks.registry import AttackResult, Details, attack
from incrowd.attacks.target import NO_ROW, Edges, Flags, Ints, Target, first_met
from incrowd.errors import TableError
from incrowd.flow import distinct_rows
from incrowd.graph import Chances, chances
from incrowd.long_work import Progress, silent
from incrowd.measures import CellCoverage, Published

PROSECUTOR = "prosecutor"  # knows that the victim is in the table
QUASI_IDENTIFIERS = "everyone's quasi-identifiers"
MEMBERS = "everyone's quasi-identifiers, and who is in the table"
METHOD_KNOWN = "everyone's quasi-identifiers, and the method with its options"


@attack("order", 10, ("release",))
def order(target: Target) -> AttackResult:
    """Row i is about record i: succeeds where rows were published in the order of the original."""
    blind = target.won(np.arange(len(target.data))[::-1])
    rates = target.guess(), blind, target.control.guess()
    return AttackResult("order", "unsorted matching", "the original in its order", *rates, target.bound)


@attack("degree", 20, ("records",))
def degree(target: Target) -> AttackResult:
    """A row among those whose cells hold the person."""
    return _any_of("degree", PROSECUTOR, QUASI_IDENTIFIERS, target, lambda at: at.graph.real)


@attack("matching", 30, ("records",))
def matching(target: Target) -> AttackResult:
    """A row among those that the person can be behind while everybody else has a row too."""
    return _any_of("matching", "second adversary", MEMBERS, target, lambda at: at.found.effective)


@attack("probability", 40, ("records",), watched=True)
def probability(target: Target, progress: Progress = silent) -> AttackResult:
    """The row that the person is most likely behind, if all assignments are equally likely."""
    found = chances(target.graph, target.found, progress=progress)
    control = target.control
    details = _likely(target, found)
    sizes = target.graph.tally(target.found.effective).records[target.graph.record_of]
    won = target.scored(likeliest(target, found), sizes, _alike(target, found))
    rates = won, target.blind(len(target.data)), control.chance(control.found.effective)
    return AttackResult("probability", "random worlds", MEMBERS, *rates, target.bound, details)


def _alike(target: Target, found: Chances) -> Flags:
    """Whose candidates are all as likely (n,), so that any will do. Nobody's, if some were left open."""
    graph = target.graph
    edges = np.flatnonzero(graph.real & target.found.effective)
    tails, chance = graph.tails[edges], np.round(found.value[edges], 12)
    alike = np.full(graph.record_weight.size, not found.open)
    alike[tails[1:][(np.diff(chance) != 0) & (np.diff(tails) == 0)]] = False
    return alike[graph.record_of]


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


def _any_of(
    name: str, adversary: str, knows: str, target: Target, rule: Callable[[Target], Edges]
) -> AttackResult:
    own, control = target.data.own, target.control
    won = target.chance(rule(target), own)
    rates = won, target.blind(won.tried), control.chance(rule(control), own)
    details = _counted(target, rule(target))
    return AttackResult(name, adversary, knows, *rates, target.bound, details)


def _counted(target: Target, edges: Edges) -> Details:
    """How many rows people have, and rows people."""
    graph, k = target.graph, target.k
    tally = graph.tally(edges)
    persons, rows = tally.records[graph.record_of], tally.rows[graph.row_of]
    counts: Details = {
        "fewest_candidates": int(persons.min()) if persons.size else 0,
        "persons_with_one": int((persons == 1).sum()),
    }
    if k is not None:
        counts["persons_below_k"] = int((persons < k).sum())
        counts["rows_below_k"] = int((rows < k).sum())
    return counts


def _likely(target: Target, found: Chances) -> Details:
    """How likely the likeliest match is, and how many persons have one above what was promised."""
    details: Details = {}
    if found.worst is not None:
        details["largest_posterior"] = found.worst.value
        details["largest_posterior_low"] = found.worst.low
        details["largest_posterior_high"] = found.worst.high
    if target.k is not None:
        graph = target.graph
        above = (found.value - found.spread > 1 / target.k + 1e-12) & graph.real
        records = np.zeros(graph.record_weight.size, np.bool_)
        records[graph.tails[above]] = True
        details["persons_above_1_in_k"] = int(records[graph.record_of].sum())
    details["persons_sampled"], details["persons_left_open"] = found.sampled, found.open
    return details


@attack("rerun", 50, ("records", "remade"))
def rerun(target: Target, remade: Published) -> AttackResult:
    """The first published row that says the same as the row that the method makes: i of `remade` for i."""
    if len(remade) != len(target.data):
        raise TableError("a method that is run again makes one row for each record")
    printed = replace(target, published=remade, truth=np.arange(len(remade)))
    rows = equal_rows(remade, target.published)
    alone = np.bincount(rows[rows >= 0], minlength=1) == 1
    control = printed.won(equal_rows(remade, remade))
    rates = target.scored(rows, *_equals(target, rows)), target.blind(len(target.data)), control
    details: Details = {
        "persons_whose_row_is_there": int((rows >= 0).sum()),
        "persons_with_a_row_of_their_own": int(alone.sum()),
    }
    return AttackResult("rerun", "algorithm-aware", METHOD_KNOWN, *rates, target.bound, details)


def _equals(target: Target, rows: Ints) -> tuple[Ints, Flags]:
    """How many published rows equal each of these (n,), and who is surely behind one of them.

    Whoever has no other candidates is. What is true may say so of everybody, but not of some: to count by
    chance those who are found, and by what is true those who are not, would be to peek.
    """
    graph, there = target.graph, rows >= 0
    kind = np.where(there, graph.row_of[rows], -1)
    equal, candidates = graph.row_weight[kind], graph.tally(target.found.effective).records[graph.record_of]
    sure = there & (candidates == equal)
    true = there & (target.truth >= 0) & (graph.row_of[target.truth] == kind)
    return equal, sure | (sure | true).all()


def equal_rows(remade: Published, published: Published) -> Ints:
    """For each row of one table the first row of another that says the same, -1 if there is none."""
    pairs = zip(remade.rows, published.rows, remade.cells, published.cells, strict=True)
    both = [np.concatenate([_translated(cells, shown)[mine], theirs]) for mine, theirs, cells, shown in pairs]
    sizes = [int(column.max(initial=0)) + 2 for column in both]
    of = distinct_rows([column + 1 for column in both], sizes, len(remade) + len(published))[1]
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
