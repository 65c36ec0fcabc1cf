"""What an adversary gets out of a table."""

from collections.abc import Callable

from incrowd.attacks.background import backgrounds
from incrowd.attacks.beliefs import Beliefs, Pools, Values, beliefs, codes_of_texts, pools, values_of
from incrowd.attacks.border import alone_at_border, alone_in_outline, outline, trimming
from incrowd.attacks.buckets import among_groups, lines_apart
from incrowd.attacks.candidates import degree, matching, order, probability
from incrowd.attacks.composition import compositions
from incrowd.attacks.corruption import corruption, known_counts
from incrowd.attacks.definetti import Guessed, definetti, learned
from incrowd.attacks.disclosure import closeness, disclosures, homogeneity, skewness
from incrowd.attacks.downcoding import downcoding
from incrowd.attacks.equijoin import equijoin, matched, reidentified
from incrowd.attacks.grouped import Lines, in_group
from incrowd.attacks.joined import JoinTarget
from incrowd.attacks.known import alone_in_both, fitting
from incrowd.attacks.link import joined
from incrowd.attacks.linked import Private, private_of
from incrowd.attacks.members import Fakes, fakes, membership, planted
from incrowd.attacks.outliers import (
    Distinguished,
    Inference,
    ShownClass,
    classes_of,
    distinguish,
    shown_classes,
)
from incrowd.attacks.presence import presence
from incrowd.attacks.rate import Rate
from incrowd.attacks.rebuild import GivenAway, claimed, given_away, rows
from incrowd.attacks.rerun import rerun
from incrowd.attacks.result import AttackResult
from incrowd.attacks.ring import AfterOne, after_one
from incrowd.attacks.singling import singling
from incrowd.attacks.target import Target, as_they_are

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
