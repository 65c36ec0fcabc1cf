"""What an adversary gets out of a table."""

from collections.abc import Callable

from incrowd.attack.algorithm import rerun
from incrowd.attack.candidates import degree, matching, order, probability
from incrowd.attack.corrupt import corruption, known_counts
from incrowd.attack.link import joined
from incrowd.attack.rate import Rate
from incrowd.attack.result import AttackResult
from incrowd.attack.target import Target, as_they_are

# Attacks that need nothing but the release and the original; `rerun` also needs what the method makes of it.
ATTACKS: tuple[Callable[[Target], AttackResult], ...] = (order, degree, matching, probability, corruption)

__all__ = [
    "ATTACKS",
    "AttackResult",
    "Rate",
    "Target",
    "as_they_are",
    "corruption",
    "degree",
    "joined",
    "known_counts",
    "matching",
    "order",
    "probability",
    "rerun",
]
