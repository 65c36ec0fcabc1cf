"""An interval around an estimated count that holds the true count in about 95 of 100 queries.

Two things make an estimate wrong. Which persons of a cell have the value that is asked for is chance: with n
persons of share s, the count has the variance n·s·(1-s). And shares themselves are wrong, since values do not
lie in cells as was assumed, and columns depend on each other: all cells may be wrong in the same direction.
The second is the larger part, and nothing in the release says how large it is. So it is an allowance that was
measured on real tables: the odds s/(1-s) of every cell may be too small or too large by one factor.

Single numbers inside ranges have no interval. People round: thousands earn 30,000, hardly anybody 30,001, and
no factor that is of use otherwise would allow for that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.predicate import Condition
from incrowd.queries.columns import PublishedColumn, RangeColumn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NORMAL = 1.96  # standard deviations to either side that 95 % of a normal distribution lie within
ODDS_EVENLY = 12.0  # the factor where values are taken to lie evenly in their cells
ODDS_RAKED = 4.0  # where they are spread by totals


def likely_count(share: Floats, count: Ints, least: int, most: int, raked: bool) -> tuple[float, float]:
    """Between which numbers a count probably lies, within its certain bounds.

    Parameters
    ----------
    share, count : array of shape (r,)
        For each distinct row how likely it is asked about, and how many rows are like it.
    least, most : int
        What is certain.
    raked : bool
        Shares follow totals.

    Examples
    --------
    >>> low, high = likely_count(np.array([1.0, 0.5]), np.array([20, 100]), 20, 120, raked=True)
    >>> round(low, 1), round(high, 1)
    (38.4, 101.6)
    """
    factor = ODDS_RAKED if raked else ODDS_EVENLY
    share = np.clip(share, 0.0, 1.0)
    guess = float((share * count).sum())
    by_chance = NORMAL**2 * float((count * share * (1 - share)).sum())
    few = guess - float((count * share / (share + factor * (1 - share))).sum())
    many = float((count * share * factor / (share * factor + 1 - share)).sum()) - guess
    low, high = guess - (few**2 + by_chance) ** 0.5, guess + (many**2 + by_chance) ** 0.5
    return min(max(low, least), most), max(min(high, most), least)


def single_numbers(column: PublishedColumn, conditions: Sequence[Condition]) -> bool:
    """Are single numbers or days asked for, and cells cut by that?"""
    if not isinstance(column, RangeColumn):
        return False
    single = [
        one
        for one in conditions
        if one.by_name or (one.operator == "BETWEEN" and len(set(one.literals)) == 1)
    ]
    if not single:
        return False
    found = column.match(single)
    return bool((found.possible & ~found.certain).any())
