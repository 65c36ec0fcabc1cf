"""Background knowledge: ruling out values of a person's candidates, and naming the commonest that is left.

References
----------
Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ICDE 2006: background knowledge.
Martin, Kifer, Machanavajjhala, Gehrke, Halpern, "Worst-case background knowledge for privacy-preserving data
publishing", ICDE 2007.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.beliefs import Floats, Pools, SensitiveValues, counted, homogeneous, pools
from incrowd.attacks.candidates import MEMBERS
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints, Target

RULED_OUT = (1, 2, 3)


@attack("background", 240, ("records", "values", "pools"), each_column=True)
def backgrounds(
    target: Target, values: SensitiveValues, held: Pools | None = None
) -> tuple[AttackResult, ...]:
    """One result for each number of values that are ruled out."""
    held = pools(target) if held is None else held
    return tuple(background(target, values, known, held) for known in RULED_OUT)


def background(
    target: Target, values: SensitiveValues, known: int, held: Pools | None = None
) -> AttackResult:
    """Rule out the `known` commonest values of somebody's candidates but the first, and name that one.

    No other choice leaves any value likelier: whichever of the commonest is to be left, the others weigh
    less than they do beside the first.
    """
    held = pools(target) if held is None else held
    won, share = _tried(target, values, known, held)
    able = np.diff(held.starts)[held.of] > 0
    largest = float(share[held.of][able].max(initial=0.0))
    certain = int((share[held.of][able] == 1).sum())
    return AttackResult(
        f"background-{known}-{values.name}",
        "background knowledge",
        f"{MEMBERS}, and {known} of the values that somebody does not have",
        won,
        _blind(values, known),
        _tried(target, homogeneous(target, values), known, held)[0],
        _bound(values, known),
        {"largest_posterior": largest, "persons_with_one_value_left": certain},
    )


def _bound(values: SensitiveValues, known: int) -> Fraction | None:
    """Where no value has more than 1/l of the candidates, one has at most 1/(l-b) of those that are left."""
    return None if values.l is None or values.l <= known else 1 / (values.l - known)


def _tried(target: Target, values: SensitiveValues, known: int, held: Pools) -> tuple[Rate, Floats]:
    """How often the first value is that of a person who has none of the others; its share in each pool.

    People who have a value that would be ruled out are none of whom it can be known: they do not count.
    """
    tops, outs, shares = [], [], []
    for counts in counted(target.graph, values.shown, values.size, held):
        top, out, share = ruled_out(counts, known)
        tops.append(top)
        outs.append(out)
        shares.append(share)
    top, out, share = np.concatenate(tops)[held.of], np.concatenate(outs)[held.of], np.concatenate(shares)
    counts_here = (share[held.of] > 0) & ~(out == values.own[:, None]).any(axis=1)
    return Rate(int((top == values.own)[counts_here].sum()), int(counts_here.sum())), share


def ruled_out(counts: Ints, known: int) -> tuple[Ints, Ints, Floats]:
    """The commonest value of each row of counts (p, size), the next ones, and its share without them.

    Where there are fewer others, -1 takes their place. Of equally common values the first comes first.

    Examples
    --------
    >>> top, out, share = ruled_out(np.array([[1, 4, 3, 2], [0, 2, 0, 0]]), 2)
    >>> top.tolist(), out.tolist(), share.tolist()
    ([1, 1], [[2, 3], [-1, -1]], [0.8, 1.0])
    """
    order = np.argsort(-counts, axis=1, kind="stable")[:, : known + 1]
    many = np.take_along_axis(counts, order, axis=1)
    out = np.where(many[:, 1:] > 0, order[:, 1:], -1)
    left = counts.sum(axis=1) - many[:, 1:].sum(axis=1)
    share: NDArray[np.float64] = many[:, 0] / np.maximum(left, 1)
    return order[:, 0], out, share


def _blind(values: SensitiveValues, known: int) -> Rate:
    """The same with all rows as candidates of everybody."""
    if not values.size:
        return Rate(0, 0)
    top, out, _ = ruled_out(values.prior[None, :], known)
    counts = ~np.isin(values.own, out[0])
    return Rate(int((values.own[counts] == top[0]).sum()), int(counts.sum()))
