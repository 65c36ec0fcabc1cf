"""Singling out: a description that exactly one person of the table fits, made without knowing anybody.

References
----------
Cohen, Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS 2020.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.linked import people_of
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints, Target

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio


@attack("singling", 80, ("records",))
def singling(target: Target) -> AttackResult:
    """For each distinct row: whoever fits it and has a hash that one in c people has, c being its rows.

    The hash is of a person's number, which stands for all that can be known of somebody. About
    (1 - 1/c)^(c-1) of the descriptions fit exactly one person, at least 1/e, though hardly anybody fits one
    by chance.
    """
    sizes = target.graph.row_weight[: target.graph.published]
    formula = (1 - 1 / sizes) ** (sizes - 1)
    return AttackResult(
        "singling",
        "predicate singling out",
        "the release alone",
        isolated(target),
        _blind(sizes, len(target.data)),
        isolated(target.control),
        None,
        {"descriptions": sizes.size, "by_the_formula": float(formula.mean()) if sizes.size else 0.0},
    )


def isolated(target: Target) -> Rate:
    """How many distinct rows, each with its hash, describe exactly one person."""
    sizes = target.graph.row_weight[: target.graph.published]
    starts, who = people_of(target)
    row = np.repeat(np.arange(sizes.size), np.diff(starts))
    chosen = hashed(who, row) % sizes[row].astype(np.uint64) == 0
    return Rate(int((np.bincount(row[chosen], minlength=sizes.size) == 1).sum()), sizes.size)


def hashed(who: Ints, row: Ints) -> NDArray[np.uint64]:
    """A number for each person and row that looks like chance, and is the same each time.

    Examples
    --------
    >>> int((hashed(np.arange(6000), np.zeros(6000, np.int64)) % np.uint64(6) == 0).sum()) // 100
    9
    """
    return splitmix(who.astype(np.uint64) * GOLDEN + row.astype(np.uint64))


def splitmix(mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Whole numbers turned into others that look like chance (the last steps of splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    found: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found


def _blind(sizes: Ints, people: int) -> Rate:
    """The hash without the row: what it would win is added up, not tried."""
    share = people / sizes * (1 - 1 / sizes) ** (people - 1)
    return Rate(min(round(float(share.sum())), sizes.size), sizes.size)
