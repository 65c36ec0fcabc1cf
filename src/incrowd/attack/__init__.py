"""What an adversary gets out of a table."""

from collections.abc import Callable

from incrowd.attack.algorithm import rerun
from incrowd.attack.apart import among_groups, lines_apart
from incrowd.attack.background import backgrounds
from incrowd.attack.beliefs import Beliefs, Pools, Values, beliefs, codes_of_texts, pools, values_of
from incrowd.attack.border import alone_at_border, alone_in_outline, outline, trimming
from incrowd.attack.candidates import degree, matching, order, probability
from incrowd.attack.composition import compositions
from incrowd.attack.corrupt import corruption, known_counts
from incrowd.attack.definetti import Guessed, definetti, learned
from incrowd.attack.disclosure import closeness, disclosures, homogeneity, skewness
from incrowd.attack.downcoding import downcoding
from incrowd.attack.equijoin import equijoin, matched, reidentified
from incrowd.attack.grouped import Lines, in_group
from incrowd.attack.joined import JoinTarget
from incrowd.attack.known import alone_in_both, fitting
from incrowd.attack.link import joined
from incrowd.attack.linked import Private, private_of
from incrowd.attack.members import Fakes, fakes, membership, planted
from incrowd.attack.outliers import (
    Distinguished,
    Inference,
    ShownClass,
    classes_of,
    distinguish,
    shown_classes,
)
from incrowd.attack.presence import presence
from incrowd.attack.rate import Rate
from incrowd.attack.rebuild import GivenAway, claimed, given_away, rows
from incrowd.attack.result import AttackResult
from incrowd.attack.ring import AfterOne, after_one
from incrowd.attack.singling import singling
from incrowd.attack.target import Target, as_they_are

# Attacks that name rows and need nothing but the release and the original. `rerun` also needs what the
# method makes of it; `rows`, `singling` and `downcoding` name nobody's row, and others read values.
ATTACKS: tuple[Callable[[Target], AttackResult], ...] = (order, degree, matching, probability, corruption)

__all__ = [
    "ATTACKS",
    "AfterOne",
    "AttackResult",
    "Beliefs",
    "Distinguished",
    "Fakes",
    "GivenAway",
    "Guessed",
    "Inference",
    "JoinTarget",
    "Lines",
    "Pools",
    "Private",
    "Rate",
    "ShownClass",
    "Target",
    "Values",
    "after_one",
    "alone_at_border",
    "alone_in_both",
    "alone_in_outline",
    "among_groups",
    "as_they_are",
    "backgrounds",
    "beliefs",
    "claimed",
    "classes_of",
    "closeness",
    "codes_of_texts",
    "compositions",
    "corruption",
    "definetti",
    "degree",
    "disclosures",
    "distinguish",
    "downcoding",
    "equijoin",
    "fakes",
    "fitting",
    "given_away",
    "homogeneity",
    "in_group",
    "joined",
    "known_counts",
    "learned",
    "lines_apart",
    "matched",
    "matching",
    "membership",
    "order",
    "outline",
    "planted",
    "pools",
    "presence",
    "private_of",
    "probability",
    "reidentified",
    "rerun",
    "rows",
    "shown_classes",
    "singling",
    "skewness",
    "trimming",
    "values_of",
]
