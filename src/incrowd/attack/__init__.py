"""What an adversary gets out of a table."""

from collections.abc import Callable

from incrowd.attack.algorithm import rerun
from incrowd.attack.apart import among_groups
from incrowd.attack.beliefs import Beliefs, Pools, Values, beliefs, codes_of_texts, pools, values_of
from incrowd.attack.candidates import degree, matching, order, probability
from incrowd.attack.corrupt import corruption, known_counts
from incrowd.attack.definetti import Guessed, definetti, learned
from incrowd.attack.disclosure import closeness, disclosures, homogeneity, skewness
from incrowd.attack.link import joined
from incrowd.attack.rate import Rate
from incrowd.attack.rebuild import GivenAway, claimed, given_away, rows
from incrowd.attack.result import AttackResult
from incrowd.attack.ring import AfterOne, after_one
from incrowd.attack.target import Target, as_they_are

# Attacks that name rows and need nothing but the release and the original. `rerun` also needs what the
# method makes of it; `rows` names nobody's row, and `disclosures` and `definetti` read values.
ATTACKS: tuple[Callable[[Target], AttackResult], ...] = (order, degree, matching, probability, corruption)

__all__ = [
    "ATTACKS",
    "AfterOne",
    "AttackResult",
    "Beliefs",
    "GivenAway",
    "Guessed",
    "Pools",
    "Rate",
    "Target",
    "Values",
    "after_one",
    "among_groups",
    "as_they_are",
    "beliefs",
    "claimed",
    "closeness",
    "codes_of_texts",
    "corruption",
    "definetti",
    "degree",
    "disclosures",
    "given_away",
    "homogeneity",
    "joined",
    "known_counts",
    "learned",
    "matching",
    "order",
    "pools",
    "probability",
    "rerun",
    "rows",
    "skewness",
    "values_of",
]
