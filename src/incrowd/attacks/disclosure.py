"""Reading a sensitive value off somebody's candidates, without knowing which of them is theirs.

References
----------
Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ICDE 2006: homogeneity. Li, Li,
Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007: skewness,
similarity.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from incrowd.attacks.beliefs import Beliefs, Pools, Values, beliefs, planted, pools
from incrowd.attacks.candidates import MATCHER
from incrowd.attacks.definetti import learned
from incrowd.attacks.rate import Rate
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints, Target

ROUNDING = 1e-9


def disclosures(target: Target, values: Values, held: Pools | None = None) -> tuple[AttackResult, ...]:
    """Every attack on one sensitive column; closeness only where a distance was promised."""
    held = pools(target) if held is None else held
    found = beliefs(target, values, held)
    control = beliefs(target, planted(target, values), held)
    results = [homogeneity(found, control), skewness(found, control)]
    if values.t is not None:
        results.append(closeness(found, control))
    if len(target.data) == len(target.published):  # who was left out is in no group
        results.append(among_classes(target, values))
    return tuple(results)


def among_classes(target: Target, values: Values) -> AttackResult:
    """deFinetti's attack where groups are those who could have each other's rows: whole classes, mostly."""
    data = target.data
    group = target.found.record[target.graph.record_of]
    return learned(data.codes, [len(a) for a in data.attributes], group, values.own, column=values.name)


def homogeneity(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """The value that most of a person's candidates have."""
    values, able = found.values, found.able
    common = int(values.prior.argmax()) if values.size else 0
    return AttackResult(
        f"homogeneity-{values.name}",
        "attribute linkage",
        MATCHER,
        _right(found, found.top),
        _right(found, np.full(able.size, common)),
        None if control is None else _right(control, control.top),
        None if values.l is None else 1 / values.l,
        {
            "persons_with_one_value": int((found.different[able] == 1).sum()),
            "largest_share": _largest(found, found.share),
        },
    )


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
        f"{MATCHER}, and how common each value is",
        _right(found, found.risen),
        Rate(min(round(float(prior[found.risen[able]].sum())), tried), tried),
        None if control is None else _right(control, control.risen),
        None,
        details,
    )


def closeness(found: Beliefs, control: Beliefs | None = None) -> AttackResult:
    """How many people have candidates farther from the table than was promised: nobody may."""
    values = found.values
    far = _farther(found)
    details = {"largest_distance": _largest(found, found.distance), "t": float(values.t or 0)}
    blind = Rate(0, far.tried)
    measured = None if control is None else _farther(control)
    knows = f"{MATCHER}, and how common each value is"
    name = f"closeness-{values.name}"
    return AttackResult(name, "skewness", knows, far, blind, measured, Fraction(0), details)


def _farther(found: Beliefs) -> Rate:
    able = found.able
    return Rate(int((found.distance[able] > float(found.values.t or 0) + ROUNDING).sum()), int(able.sum()))


def _right(found: Beliefs, said: Ints) -> Rate:
    able = found.able
    return Rate(int((said[able] == found.values.own[able]).sum()), int(able.sum()))


def _largest(found: Beliefs, of: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(of[found.able].max(initial=0.0))
