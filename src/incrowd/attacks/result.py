"""What an attack achieved, told three ways: with the release, blind, and where it must succeed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from incrowd.attacks.rate import CAREFUL, Rate


@dataclass(frozen=True)
class AttackResult:
    """One adversary against one release.

    ``attack`` is the success with the release, ``guess`` without looking at it, ``control`` on a release
    that the attack must break. ``bound`` is what the promise allows; None if nothing is promised about this
    adversary.
    """

    name: str
    adversary: str
    knows: str
    attack: Rate
    guess: Rate
    control: Rate | None = None
    bound: Fraction | None = None
    details: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Is the success one that the bound allows?

        By an interval of 99.9 %: each release meets several attacks, and one that keeps its promise to the
        letter would else be accused at every tenth look.
        """
        return self.bound is None or self.attack.interval(CAREFUL)[0] <= self.bound

    @property
    def works(self) -> bool:
        """Does the attack beat blind guessing where it must? If not, its failure elsewhere proves nothing."""
        return self.control is not None and self.control.interval()[0] > self.guess.interval()[1]

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "adversary": self.adversary,
            "knows": self.knows,
            "attack": self.attack.as_dict(),
            "guess": self.guess.as_dict(),
            "control": None if self.control is None else self.control.as_dict(),
            "bound": None if self.bound is None else str(self.bound),
            "holds": self.holds,
            "works": self.works,
            "details": dict(self.details),
        }
