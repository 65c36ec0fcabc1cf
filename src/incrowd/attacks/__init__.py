"""What an adversary gets out of a table: one module for each attack or family of attacks."""

from incrowd.attacks.definetti import Guessed, definetti
from incrowd.attacks.linked import joined
from incrowd.attacks.rebuild import GivenAway, given_away
from incrowd.attacks.registry import AttackResult, Rate
from incrowd.attacks.ring import AfterOne, after_one

__all__ = [
    "AfterOne",
    "AttackResult",
    "GivenAway",
    "Guessed",
    "Rate",
    "after_one",
    "definetti",
    "given_away",
    "joined",
]
