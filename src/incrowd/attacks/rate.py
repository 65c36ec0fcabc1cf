"""How often something succeeded, and how far that can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

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
