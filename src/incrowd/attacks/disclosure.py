"""Attribute disclosure: homogeneity, skewness and similarity, closeness, by everybody's candidates.

References
----------
Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ICDE 2006: homogeneity. Li, Li,
Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007: skewness,
similarity.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from incrowd.attacks.beliefs import Beliefs, Pools, SensitiveValues, beliefs, homogeneous, pools
from incrowd.attacks.buckets import classes_as_groups
from incrowd.attacks.candidates import MEMBERS
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import Context, attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints, Target

ROUNDING = 1e-9
FREQUENCIES = f"{MEMBERS}, and how common each value is"


def column_context(target: Target, values: SensitiveValues, held: Pools | None = None) -> Context:
    """What attacks on one sensitive column may ask for; `held` serves all columns."""
    held = pools(target) if held is None else held
    context = Context(
        records=lambda: target,
        values=lambda: values,
        pools=lambda: held,
        beliefs=lambda: beliefs(target, values, held),
        beliefs_within_t=lambda: None if values.t is None else context.get("beliefs"),
        control_beliefs=lambda: beliefs(target, homogeneous(target, values), held),
        value_groups=lambda: classes_as_groups(target, values),
    )
    return context


@attack("homogeneity", 200, ("beliefs", "control_beliefs"), each_column=True)
def homogeneity(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """The value that most of a person's candidates have."""
    values, able = found.values, found.able
    common = int(values.prior.argmax()) if values.size else 0
    return AttackResult(
        f"homogeneity-{values.name}",
        "attribute linkage",
        MEMBERS,
        _right(found, found.top),
        _right(found, np.full(able.size, common)),
        None if control is None else _right(control, control.top),
        None if values.l is None else 1 / values.l,
        {
            "persons_with_one_value": int((found.different[able] == 1).sum()),
            "largest_share": _largest(found, found.share),
        },
    )


@attack("skewness", 210, ("beliefs", "control_beliefs"), each_column=True)
def skewness(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """The value whose share among a person's candidates rose most above that in the table.

    Blind is whoever says the same values of people at random: what they win is added up, not tried.
    """
    values, able = found.values, found.able
    prior = values.prior / max(int(values.prior.sum()), 1)
    details: dict[str, int | float | str] = {
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
    return AttackResult(
        f"skewness-{values.name}",
        "skewness",
        FREQUENCIES,
        _right(found, found.risen),
        Rate(min(round(float(prior[found.risen[able]].sum())), tried), tried),
        None if control is None else _right(control, control.risen),
        None,
        details,
    )


@attack("closeness", 220, ("beliefs_within_t", "control_beliefs"), each_column=True)
def closeness(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """How many people have candidates farther from the table than was promised: nobody may."""
    far, t = _farther(found), float(found.values.t or 0)
    return AttackResult(
        f"closeness-{found.values.name}",
        "skewness",
        FREQUENCIES,
        far,
        Rate(0, far.tried),
        None if control is None else _farther(control),
        Fraction(0),
        {"largest_distance": _largest(found, found.distance), "t": t},
    )


def _farther(found: Beliefs) -> Rate:
    able = found.able
    return Rate(int((found.distance[able] > float(found.values.t or 0) + ROUNDING).sum()), int(able.sum()))


def _right(found: Beliefs, guesses: Ints) -> Rate:
    able = found.able
    return Rate(int((guesses[able] == found.values.own[able]).sum()), int(able.sum()))


def _largest(found: Beliefs, of: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(of[found.able].max(initial=0.0))
