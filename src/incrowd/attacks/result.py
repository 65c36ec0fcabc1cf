"""What an attack achieved: with the release, blind, and where it must succeed; rates with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any

USUAL = 1.959964  # 95 % of a normal distribution lie this near its mean
CAREFUL = 3.290527  # 99.9 %


@dataclass(frozen=True, slots=True)
class Rate:
    """`won` of `tried`.

    Examples
    --------
    >>> [round(end, 3) for end in Rate(0, 100).interval()]
    [0.0, 0.037]
    """

    won: int
    tried: int

    def __post_init__(self) -> None:
        if not 0 <= self.won <= self.tried:
            raise ValueError("nobody wins more often than they try")

    @property
    def share(self) -> float:
        return self.won / self.tried if self.tried else 0.0

    def interval(self, z: float = USUAL) -> tuple[float, float]:
        """Wilson's interval, of 95 % unless told otherwise; from 0 to 1 if nothing was tried."""
        if not self.tried:
            return 0.0, 1.0
        n, p = self.tried, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        low = 0.0 if self.won == 0 else middle - reach
        return low, 1.0 if self.won == self.tried else middle + reach

    def as_dict(self) -> dict[str, float | int]:
        low, high = self.interval()
        return {"won": self.won, "tried": self.tried, "share": self.share, "low": low, "high": high}


Details = dict[str, int | float | str]


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
