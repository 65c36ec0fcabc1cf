"""Attribute disclosure: homogeneity, skewness and similarity, closeness, background knowledge.

All by everybody's candidates. With background knowledge, values of a person's candidates are ruled out, and
the commonest that is left is named.

References
----------
Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ICDE 2006: homogeneity, background
knowledge. Li, Li, Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007:
skewness, similarity. Martin, Kifer, Machanavajjhala, Gehrke, Halpern, "Worst-case background knowledge for
privacy-preserving data publishing", ICDE 2007.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from incrowd.attacks.beliefs import Beliefs, SensitiveValues, ValueCounts, beliefs, counted, homogeneous
from incrowd.attacks.candidates import MEMBERS
from incrowd.attacks.definetti import classes_as_groups
from incrowd.attacks.registry import AttackResult, Context, Details, Rate, attack
from incrowd.attacks.target import Floats, Ints, Target

ROUNDING = 1e-9
FREQUENCIES = f"{MEMBERS}, and how common each value is"


def column_context(target: Target, values: SensitiveValues) -> Context:
    """What attacks on one sensitive column may ask for."""
    context = Context(
        records=lambda: target,
        values=lambda: values,
        beliefs=lambda: beliefs(target, values),
        beliefs_within_t=lambda: None if values.t is None else context.get("beliefs"),
        control_beliefs=lambda: beliefs(target, homogeneous(target, values)),
        value_groups=lambda: classes_as_groups(target, values),
    )
    return context


@attack("homogeneity", 200, ("beliefs", "control_beliefs"), each_column=True)
def homogeneity(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """The value that most of a person's candidates have."""
    values, able = found.values, found.able
    common = int(values.prior.argmax()) if values.size else 0
    won, guess = found.right(found.top), found.right(np.full(able.size, common))
    rates = won, guess, None if control is None else control.right(control.top)
    details: Details = {
        "persons_with_one_value": int((found.different[able] == 1).sum()),
        "largest_share": _largest(found, found.share),
    }
    name = f"homogeneity-{values.name}"
    return AttackResult(name, "attribute linkage", MEMBERS, *rates, values.bound, details)


@attack("skewness", 210, ("beliefs", "control_beliefs"), each_column=True)
def skewness(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """The value whose share among a person's candidates rose most above that in the table.

    Blind is whoever says the same values of people at random: what they win is added up, not tried.
    """
    values, able = found.values, found.able
    prior = values.prior / max(int(values.prior.sum()), 1)
    details: Details = {
        "largest_gain": _largest(found, found.gain),
        "largest_ratio": _largest(found, found.ratio),
        "persons_whose_odds_double": int((found.ratio[able] >= 2 - ROUNDING).sum()),
        "largest_distance": _largest(found, found.distance),
    }
    if values.place is not None:
        details["persons_within_1_percent"] = int(found.near[able].sum())
    if values.tree is not None:
        details["persons_under_one_node"] = int(found.kin[able].sum())
    tried = int(able.sum())
    guess = Rate(min(round(float(prior[found.risen[able]].sum())), tried), tried)
    rates = found.right(found.risen), guess, None if control is None else control.right(control.risen)
    return AttackResult(f"skewness-{values.name}", "skewness", FREQUENCIES, *rates, None, details)


@attack("closeness", 220, ("beliefs_within_t", "control_beliefs"), each_column=True)
def closeness(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """How many people have candidates farther from the table than was promised: nobody may."""
    far, name = _farther(found), f"closeness-{found.values.name}"
    rates = far, Rate(0, far.tried, exact=True), None if control is None else _farther(control)
    details: Details = {
        "largest_distance": _largest(found, found.distance),
        "t": float(found.values.t or 0),
    }
    return AttackResult(name, "skewness", FREQUENCIES, *rates, Fraction(0), details)


def _farther(found: Beliefs) -> Rate:
    able = found.able
    won = (found.distance[able] > float(found.values.t or 0) + ROUNDING).sum()
    return Rate(int(won), int(able.sum()), exact=True)


def _largest(found: Beliefs, of: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(of[found.able].max(initial=0.0))


RULED_OUT = (1, 2, 3)


@attack("background", 240, ("records", "values"), each_column=True)
def backgrounds(target: Target, values: SensitiveValues) -> tuple[AttackResult, ...]:
    """One result for each number of values that are ruled out."""
    control = homogeneous(target, values)
    both = _commonest_of(target, values), _commonest_of(target, control)
    return tuple(_background(target, (values, control), both, known) for known in RULED_OUT)


def _background(
    target: Target,
    values: tuple[SensitiveValues, SensitiveValues],
    common: tuple[Commonest, Commonest],
    known: int,
) -> AttackResult:
    """Rule out the `known` commonest values of somebody's candidates but the first, and name that one.

    No other choice leaves any value likelier: whichever of the commonest is to be left, the others weigh
    less than they do beside the first. `values` and their commonest are those of the release and the control.
    """
    (own, _), held = values, target.pools
    won, share = _tried(target, own, common[0], known)
    able = np.diff(held.starts)[held.of] > 0
    details: Details = {
        "largest_posterior": float(share[held.of][able].max(initial=0.0)),
        "persons_with_one_value_left": int((share[held.of][able] == 1).sum()),
    }
    name, knows = f"background-{known}-{own.name}", f"{known} of the values that somebody does not have"
    guess, (control, _) = _blind(own, known), _tried(target, values[1], common[1], known)
    rates, bound = (won, guess, control), _bound(own, known)
    return AttackResult(name, "background knowledge", f"{MEMBERS}, and {knows}", *rates, bound, details)


def _bound(values: SensitiveValues, known: int) -> Fraction | None:
    """Where no value has more than 1/l of the candidates, one has at most 1/(l-b) of those that are left.

    A bound of 1 would bound nothing.
    """
    return None if values.l is None or values.l <= known + 1 else 1 / (values.l - known)


def _tried(target: Target, values: SensitiveValues, common: Commonest, known: int) -> tuple[Rate, Floats]:
    """How often the first value is that of a person who has none of the others; its share in each pool.

    People who have a value that would be ruled out are none of whom it can be known: they do not count.
    """
    held = target.pools
    top, out, share = ruled_out(common, known)
    top, out = top[held.of], out[held.of]
    counts_here = (share[held.of] > 0) & ~(out == values.own[:, None]).any(axis=1)
    won = (top == values.own)[counts_here].sum()
    return Rate(int(won), int(counts_here.sum()), target.closed), share


class Commonest(NamedTuple):
    """The commonest values of each pool (p, m), how many candidates have each, and how many there are (p,).

    Where there are fewer values, -1 takes their place. Of equally common values the first comes first.
    """

    value: Ints
    many: Ints
    total: Ints

    @classmethod
    def of(cls, counts: ValueCounts, most: int) -> Commonest:
        order = np.lexsort((-counts.count, counts.pool))  # values of a pool stand in their order
        rank = np.arange(order.size) - counts.starts[counts.pool]  # a pool has the same places as before
        kept = np.flatnonzero(rank < most)
        where = counts.pool[kept], rank[kept]
        value, many = np.full((len(counts), most), -1, np.int64), np.zeros((len(counts), most), np.int64)
        value[where], many[where] = counts.value[order[kept]], counts.count[order[kept]]
        return cls(value, many, counts.total)


def _commonest_of(target: Target, values: SensitiveValues) -> Commonest:
    most = max(RULED_OUT) + 1
    parts = [
        Commonest.of(some, most) for some in counted(target.graph, values.shown, values.size, target.pools)
    ]
    return Commonest(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def ruled_out(common: Commonest, known: int) -> tuple[Ints, Ints, Floats]:
    """The commonest value of each pool, the next ones, and its share without them.

    Examples
    --------
    >>> counts = ValueCounts.of_table(np.array([[1, 4, 3, 2], [0, 2, 0, 0]]))
    >>> top, out, share = ruled_out(Commonest.of(counts, 3), 2)
    >>> top.tolist(), out.tolist(), share.tolist()
    ([1, 1], [[2, 3], [-1, -1]], [0.8, 1.0])
    """
    left = common.total - common.many[:, 1 : known + 1].sum(axis=1)
    share: Floats = common.many[:, 0] / np.maximum(left, 1)
    return common.value[:, 0], common.value[:, 1 : known + 1], share


def _blind(values: SensitiveValues, known: int) -> Rate:
    """The same with all rows as candidates of everybody."""
    if not values.size:
        return Rate(0, 0)
    everybody = ValueCounts.of_table(values.prior[None, :])
    top, out, _ = ruled_out(Commonest.of(everybody, known + 1), known)
    counts = ~np.isin(values.own, out[0])
    return Rate(int((values.own[counts] == top[0]).sum()), int(counts.sum()))
