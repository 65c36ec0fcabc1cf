"""Totals: what they add for somebody who has found a person's row and does not know the rest of it.

The adversary of the promises knows every quasi-identifier, and totals say nothing new to it. Somebody who
knows less, but has the row, guesses which value of a generalized cell is the person's. Totals say which is
the most common one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.attacks.registry import AttackResult, Rate, attack, one_of
from incrowd.attacks.target import Floats, Ints, Target
from incrowd.flow import Codes, Table
from incrowd.measures import CellCoverage
from incrowd.measures.parts import Parts
from incrowd.measures.raking import rake
from incrowd.measures.totals import line_of_codes, lines_by_column

KNOWS = "the person's row, and which values the columns have"


@dataclass(frozen=True, slots=True, eq=False)
class StatedTotals:
    """A release that states totals: for each quasi-identifier which line counts each code, and how many."""

    target: Target
    lines: Mapping[str, tuple[Ints, Ints]]

    @classmethod
    def of(cls, target: Target, table: Table) -> StatedTotals:
        """Read the lines of a file of totals against the domains of the original."""
        by_column = lines_by_column(table)
        stated = [attribute for attribute in target.data.attributes if attribute.name in by_column]
        return cls(target, {each.name: line_of_codes(each, by_column[each.name]) for each in stated})


@attack("totals", 295, ("stated",))
def totals(stated: StatedTotals) -> AttackResult:
    """Guesses each value of a person's row: the most common one of its cell, by the totals.

    Nothing is promised about it, so there is no bound. The guess takes any value of the cell; in the control
    rows are published as they are. People whose row is known are scored, in every column.
    """
    target = stated.target
    won = by_chance = Fraction(0)
    details: dict[str, int | float | str] = {}
    who = target.known
    rows = target.truth[who]
    for attribute, cells, shown, codes in zip(
        target.data.attributes,
        target.published.cells,
        target.published.rows,
        target.data.codes.T,
        strict=True,
    ):
        cell, own = shown[rows], codes[who].astype(np.int64)
        mean = Fraction(one_of(cells.count[cell]).won)
        if attribute.name in stated.lines:
            weight = _weights(cells, shown, *stated.lines[attribute.name])
            right = _best(cells, weight, cell, own)
        else:
            right = mean
        won, by_chance = won + right, by_chance + mean
        details[attribute.name] = float(right / max(who.size, 1))
    tried = who.size * len(target.data.attributes)
    rates = Rate(won, tried, exact=True), Rate(by_chance, tried, exact=True), Rate(tried, tried, exact=True)
    return AttackResult("totals", "row-aware", KNOWS, *rates, details=details)


def _weights(cells: CellCoverage, shown: Codes, of: Ints, counts: Ints) -> Floats:
    carried = np.bincount(shown, minlength=len(cells))
    parts = Parts(np.ones(of.size), cells.starts, cells.first.astype(np.int64), cells.last.astype(np.int64))
    return rake(parts, carried, of, counts).weights


def _best(cells: CellCoverage, weight: Floats, cell: Codes, own: Ints) -> Fraction:
    """How many are guessed by the heaviest code of their cell; of equally heavy ones any is taken."""
    found = Fraction(0)
    order = np.argsort(cell, kind="stable")
    met, starts = np.unique(cell[order], return_index=True)
    for place, people in zip(met.tolist(), np.split(own[order], starts[1:]), strict=True):
        runs = range(cells.starts[place], cells.starts[place + 1])
        codes = np.concatenate([np.arange(cells.first[run], cells.last[run] + 1) for run in runs])
        heaviest = codes[weight[codes] >= weight[codes].max() * (1 - 1e-9)]
        found += Fraction(int(np.isin(people, heaviest).sum()), heaviest.size)
    return found
